//! Functions of islands over ranks.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::islands::{SharedFunction, own_functions};
use crate::error::Result;
use crate::executor::{Executor, Scratch, Workspace};
use crate::linop::LinOp;
use crate::matrix::{Distributed, GridPart, Halo, Partition};
use crate::structured::StencilMatrix;
use crate::structured::island_correction::{CorrectingFunctions, IslandCorrection};
use crate::vector::Vector;

/// Functions of islands at own rows. Corrections by them have the bits they have without ranks: an island is that of the
/// rank with the row of its first cell, which sums up over all of its cells, in their order.
#[derive(Debug)]
pub(in crate::structured) struct SharedIslandFunctions {
    executor: Executor,
    own: Vec<OwnIsland>,
    /// Own rows, and those of other ranks that functions of own islands reach.
    rows: Halo,
    /// Own islands, and those of other ranks that reach own rows.
    islands: Halo,
    /// `Z` and `A Z` at own rows.
    z: Vec<Entry>,
    az: Vec<Entry>,
}

/// A number of a function at an own row, with the place of its island.
type Entry = (u32, u32, f64);
/// Own row, island of all ranks and number.
type OfAll = (u32, u64, f64);

/// An island whose sums this rank forms.
#[derive(Debug)]
struct OwnIsland {
    /// One over the diagonal of `Z^T A Z` with what is beside it.
    weight: f64,
    z: Lines,
    az: Lines,
}

/// The numbers of a function with the places of their rows, and where lines of the grid end.
#[derive(Debug)]
struct Lines {
    entries: Vec<(u32, f64)>,
    ends: Vec<u32>,
}

/// Own numbers, `cols` for each place, and behind them those of other ranks.
struct Near<'v> {
    own: &'v [f64],
    others: &'v [f64],
    cols: usize,
}

impl Near<'_> {
    fn at(&self, place: u32, column: usize) -> f64 {
        let place = place as usize * self.cols + column;
        let other = place.checked_sub(self.own.len());
        other.map_or_else(|| self.own[place], |other| self.others[other])
    }
}

impl Lines {
    fn new(function: &[(u64, f64)], rows: &Halo, length: usize) -> Self {
        let line = |at: usize| function[at].0 / length as u64;
        let ends =
            (1..=function.len()).filter(|&end| end == function.len() || line(end) != line(end - 1));
        let entries = function.iter();
        Self {
            ends: ends.map(|end| end as u32).collect(),
            entries: entries
                .map(|&(row, value)| (place(rows, row), value))
                .collect(),
        }
    }

    /// The product with a column of a vector, line by line as it is without ranks.
    fn dot(&self, v: &Near<'_>, column: usize) -> f64 {
        let mut first = 0;
        let of_line = |&end: &u32| -> f64 {
            let entries = self.entries[first..end as usize].iter();
            first = end as usize;
            entries.map(|&(row, z)| z * v.at(row, column)).sum()
        };
        self.ends.iter().map(of_line).sum()
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.entries[..]) + size_of_val(&self.ends[..])
    }
}

/// Where a row is: own ones come first.
fn place(rows: &Halo, row: u64) -> u32 {
    let own = rows.own_rows();
    match own.contains(&row) {
        true => (row - own.start) as u32,
        false => {
            let other = rows.others().binary_search(&row);
            (rows.own_count() + other.expect("a row that is numbered")) as u32
        }
    }
}

impl SharedIslandFunctions {
    /// The cycle of a symmetric matrix between corrections; the cycle itself where there are no islands. All ranks call it
    /// together.
    pub(in crate::structured) fn around(
        cycle: Arc<dyn LinOp<f64>>,
        rows: &Distributed<f64>,
        (a, part): (&StencilMatrix<f64>, &GridPart),
    ) -> Result<Arc<dyn LinOp<f64>>> {
        let team = part.team();
        let functions = at_rows(own_functions(a, part)?, rows)?;
        let partition = Arc::new(Partition::of_counts(team.as_ref(), functions.len())?);
        if partition.total() == 0 {
            return Ok(cycle);
        }
        let first = partition.range(team.rank()).start;
        let z = entries(functions.iter().map(|one| &one.z), first, rows)?;
        let az = entries(functions.iter().map(|one| &one.az), first, rows)?;
        let weights = weights((&z, &az), &partition, rows)?;
        if team.any(weights.iter().any(|&weight| weight <= 0.0))? {
            return Ok(cycle);
        }
        let all = z.iter().chain(&az).map(|entry| entry.1);
        let islands = Halo::new(team, &partition, all.collect())?;
        let placed = |entries: Vec<OfAll>| -> Vec<Entry> {
            let entries = entries.into_iter();
            entries
                .map(|(row, island, value)| (row, place(&islands, island), value))
                .collect()
        };
        let (z, az) = (placed(z), placed(az));
        let cells = functions.iter().flat_map(|one| one.z.iter().chain(&one.az));
        let reached = Halo::new(team, rows.rows(), cells.map(|entry| entry.0).collect())?;
        let length = part.grid().length();
        let own = functions.iter().zip(weights);
        let own = own.map(|(function, weight)| OwnIsland {
            weight,
            z: Lines::new(&function.z, &reached, length),
            az: Lines::new(&function.az, &reached, length),
        });
        let functions = Self {
            executor: cycle.executor().clone(),
            own: own.collect(),
            rows: reached,
            islands,
            z,
            az,
        };
        Ok(IslandCorrection::by(cycle, functions))
    }

    /// Adds functions to own rows, each times a number of its island.
    fn add_some(
        &self,
        (sign, functions): (f64, &[Entry]),
        sums: &Vector<f64>,
        y: &mut Vector<f64>,
        ws: &Workspace,
    ) -> Result<()> {
        let (others, cols) = (others(&self.islands, sums, ws)?, sums.cols());
        let sums = Near {
            own: sums.host()?,
            others: others.host()?,
            cols,
        };
        let y = y.host_mut()?;
        for &(row, island, value) in functions {
            for column in 0..cols {
                y[row as usize * cols + column] += sign * value * sums.at(island, column);
            }
        }
        Ok(())
    }
}

/// The numbers of other ranks.
fn others<'w>(
    halo: &Halo,
    own: &Vector<f64>,
    ws: &'w Workspace,
) -> Result<Scratch<'w, Vector<f64>>> {
    let (host, cols) = (own.executor().alone(), own.cols());
    let mut others = ws.vector::<f64>(&host, halo.others().len(), cols)?;
    halo.exchange(cols, own.host()?, others.host_mut()?, &mut || Ok(()))?;
    Ok(others)
}

impl CorrectingFunctions for SharedIslandFunctions {
    fn count(&self) -> usize {
        self.own.len()
    }

    fn sums(
        &self,
        b: &Vector<f64>,
        before: Option<[&Vector<f64>; 2]>,
        sums: &mut Vector<f64>,
        ws: &Workspace,
    ) -> Result<()> {
        let cols = b.cols();
        let others_b = others(&self.rows, b, ws)?;
        let others_x = before.map(|[_, x]| others(&self.rows, x, ws)).transpose()?;
        let near = |own, others| Near { own, others, cols };
        let b = near(b.host()?, others_b.host()?);
        let x = match (before, &others_x) {
            (Some([_, x]), Some(others)) => Some(near(x.host()?, others.host()?)),
            _ => None,
        };
        let before = before.map(|[before, _]| before.host()).transpose()?;
        let work = |place: usize| {
            let (island, column) = (&self.own[place / cols], place % cols);
            let rest = x.as_ref().map_or(0.0, |x| island.az.dot(x, column));
            let sum = island.z.dot(&b, column) - rest;
            before.map_or(0.0, |before| before[place]) + island.weight * sum
        };
        let tasks = (0..self.own.len() * cols).collect();
        let found = self.executor.run(self.bytes(), tasks, work);
        sums.host_mut()?.copy_from_slice(&found);
        Ok(())
    }

    fn add(&self, sums: &Vector<f64>, x: &mut Vector<f64>, ws: &Workspace) -> Result<()> {
        self.add_some((1.0, &self.z), sums, x, ws)
    }

    fn subtract_products(
        &self,
        sums: &Vector<f64>,
        r: &mut Vector<f64>,
        ws: &Workspace,
    ) -> Result<()> {
        self.add_some((-1.0, &self.az), sums, r, ws)
    }

    fn bytes(&self) -> usize {
        let own = self.own.iter().map(|one| one.z.bytes() + one.az.bytes());
        own.sum::<usize>() + size_of_val(&self.z[..]) + size_of_val(&self.az[..])
    }
}

/// The functions of islands whose first cells are in own rows, in the order of these.
fn at_rows(found: Vec<SharedFunction>, rows: &Distributed<f64>) -> Result<Vec<SharedFunction>> {
    let mut sent = vec![Vec::new(); rows.team().size()];
    let is_own = |one: &SharedFunction| rows.columns().own_rows().contains(&one.first);
    let (mut functions, others): (Vec<_>, Vec<_>) = found.into_iter().partition(is_own);
    for SharedFunction { first, z, az } in others {
        let words = &mut sent[rows.rows().rank_of(first)];
        words.extend([first, z.len() as u64, az.len() as u64]);
        let numbers = z.into_iter().chain(az);
        words.extend(numbers.flat_map(|(cell, value)| [cell, value.to_bits()]));
    }
    for words in rows.team().all_to_all_numbers(sent)? {
        let mut words = words.into_iter();
        while let Some(first) = words.next() {
            let mut next = || words.next().expect("functions are told as a whole");
            let [z, az] = [next(), next()];
            let mut numbers = |count: u64| {
                (0..count)
                    .map(|_| (next(), f64::from_bits(next())))
                    .collect()
            };
            let (z, az) = (numbers(z), numbers(az));
            functions.push(SharedFunction { first, z, az });
        }
    }
    functions.sort_by_key(|function| function.first);
    Ok(functions)
}

/// Row, island and number of all functions at own rows, by rows, of each by islands. Rows count from the first own one; own
/// islands are numbered from `first` on.
fn entries<'f>(
    functions: impl Iterator<Item = &'f Vec<(u64, f64)>>,
    first: u64,
    rows: &Distributed<f64>,
) -> Result<Vec<OfAll>> {
    let (team, partition) = (rows.team(), rows.rows());
    let (mut entries, mut sent) = (Vec::new(), vec![Vec::new(); team.size()]);
    let own = partition.range(team.rank());
    for (island, function) in (first..).zip(functions) {
        for &(cell, value) in function {
            match own.contains(&cell) {
                true => entries.push(((cell - own.start) as u32, island, value)),
                false => sent[partition.rank_of(cell)].extend([cell, island, value.to_bits()]),
            }
        }
    }
    let told = team.all_to_all_numbers(sent)?;
    let words = told.iter().flat_map(|words| words.as_chunks().0);
    let entry = |&[cell, island, value]: &[u64; 3]| {
        let row = (cell - own.start) as u32;
        (row, island, f64::from_bits(value))
    };
    entries.extend(words.map(entry));
    entries.sort_by_key(|&(row, island, _)| (row, island));
    Ok(entries)
}

/// One over the diagonal of `Z^T A Z` with what is beside it, of own islands; zero where that is not positive. The products
/// of two islands are added in the order of the rows: those of ranks before, own ones, those of ranks behind.
fn weights(
    (z, az): (&[OfAll], &[OfAll]),
    islands: &Partition,
    rows: &Distributed<f64>,
) -> Result<Vec<f64>> {
    let (team, own) = (rows.team(), islands.range(rows.team().rank()));
    let is_own = |entry: &OfAll| own.contains(&entry.1);
    let (own_az, others_az): (Vec<_>, Vec<_>) = az.iter().copied().partition(is_own);
    let mut sent = vec![Vec::new(); team.size()];
    each_product(z, &others_az, |island, other, product| {
        sent[islands.rank_of(island)].extend([island, other, product.to_bits()]);
    });
    let mut sums = BTreeMap::new();
    let mut add = |island: u64, other: u64, product: f64| {
        *sums.entry((island, other)).or_insert(0.0) += product;
    };
    for (rank, words) in team.all_to_all_numbers(sent)?.iter().enumerate() {
        for &[island, other, product] in words.as_chunks().0 {
            add(island, other, f64::from_bits(product));
        }
        if rank == team.rank() {
            each_product(z, &own_az, &mut add);
        }
    }
    let of_one = |island: u64| {
        let products = sums.range((island, 0)..=(island, u64::MAX));
        let beside = products.filter(|((_, other), _)| *other != island);
        let beside: f64 = beside.map(|(_, product)| product.abs()).sum();
        let sum = sums.get(&(island, island)).map_or(0.0, |own| own + beside);
        if sum > 0.0 { 1.0 / sum } else { 0.0 }
    };
    Ok(own.clone().map(of_one).collect())
}

/// Tells, row by row, `A z` of an island times `z` of the same or another one.
fn each_product(z: &[OfAll], az: &[OfAll], mut tell: impl FnMut(u64, u64, f64)) {
    let mut from = 0;
    for &(row, island, product) in az {
        from += z[from..].iter().take_while(|entry| entry.0 < row).count();
        for &(_, other, value) in z[from..].iter().take_while(|entry| entry.0 == row) {
            tell(island, other, product * value);
        }
    }
}
