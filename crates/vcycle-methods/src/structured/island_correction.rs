//! Corrections by a function for each island.

use std::sync::Arc;

use super::StencilMatrix;
use super::island_basis::IslandFunction;
use crate::error::{ConfigError, Result};
use crate::executor::{Executor, Workspace};
use crate::linop::{Footprint, LinOp, Size, check_apply};
use crate::matrix::Csr;
use crate::operations::some_rows::SomeRows;
use crate::text;
use crate::vector::{Coefficient, Vector};

/// Whether structured multigrid corrects what is constant on islands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IslandCorrections {
    /// Where the diagonal of a symmetric matrix jumps along all axes.
    #[default]
    Auto,
    /// Nowhere.
    Off,
}

impl IslandCorrections {
    /// Every choice.
    pub const ALL: [Self; 2] = [Self::Auto, Self::Off];

    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Off => "off",
        }
    }
}

text::named!(IslandCorrections, "island correction");

/// A cycle between two corrections `x += Z D^-1 Z^T (b - A x)`: a column of `Z` is one on an island and decreases around it, and
/// `D` is the diagonal of `Z^T A Z`, with what couples islands added to it.
///
/// An error that is constant on an island stays there when a level is smoothed, and cells of a coarse grid that hold
/// more than the island cannot correct it. All of it is in double precision: what cancels within an
/// island is as large as the jump around it.
#[derive(Debug)]
pub(super) struct IslandCorrection {
    cycle: Arc<dyn LinOp<f64>>,
    /// `D^-1 Z^T`.
    sums: Csr<f64>,
    /// `D^-1 Z^T A`.
    couplings: Csr<f64>,
    /// `Z`.
    functions: SomeRows,
    /// `A Z`.
    products: SomeRows,
}

impl IslandCorrection {
    /// Around the cycle of a symmetric matrix; the cycle itself where there are no islands.
    pub(super) fn around(
        cycle: Arc<dyn LinOp<f64>>,
        a: &StencilMatrix<f64>,
    ) -> Result<Arc<dyn LinOp<f64>>> {
        let functions = a.island_functions(&a.islands()?)?;
        let [z, az] = [
            entries(functions.iter().map(|one| &one.z)),
            entries(functions.iter().map(|one| &one.az)),
        ];
        let diagonal = diagonal(functions.len(), &z, &az);
        let are_positive = diagonal.iter().all(|&value| value > 0.0);
        if functions.is_empty() || !are_positive {
            return Ok(cycle);
        }
        let (executor, cells) = (cycle.executor().clone(), a.grid().cells());
        let divided = |part: fn(&IslandFunction) -> &Vec<(u32, f64)>| {
            let rows = functions.iter().map(part).zip(&diagonal);
            of_rows(&executor, cells, rows)
        };
        Ok(Arc::new(Self {
            sums: divided(|one| &one.z),
            couplings: divided(|one| &one.az),
            functions: SomeRows::new(&executor, &z),
            products: SomeRows::new(&executor, &az),
            cycle,
        }))
    }

    fn bytes(&self) -> usize {
        let rows = [&self.sums, &self.couplings].map(|one| LinOp::<f64>::footprint(one).held);
        rows[0] + rows[1] + self.functions.bytes() + self.products.bytes()
    }
}

impl LinOp<f64> for IslandCorrection {
    fn size(&self) -> Size {
        self.cycle.size()
    }

    fn executor(&self) -> &Executor {
        self.cycle.executor()
    }

    fn apply(&self, b: &Vector<f64>, x: &mut Vector<f64>, ws: &Workspace) -> Result<()> {
        check_apply("struct-mg", self.size(), self.executor(), b, x)?;
        let islands = self.sums.size().rows;
        let mut first = ws.vector::<f64>(b.executor(), islands, b.cols())?;
        let mut second = ws.vector::<f64>(b.executor(), islands, b.cols())?;
        let mut r = ws.vector_like::<f64, f64>(b)?;
        LinOp::<f64>::apply(&self.sums, b, &mut first, ws)?;
        r.copy_from(b)?;
        self.products.add(-1.0, &first, &mut r)?;
        self.cycle.apply(&r, x, ws)?;
        // D^-1 Z^T (r - A x), on top of the first correction.
        LinOp::<f64>::apply(&self.sums, &r, &mut second, ws)?;
        first.axpy(Coefficient::one(), &second)?;
        LinOp::<f64>::apply(&self.couplings, x, &mut second, ws)?;
        first.axpy(Coefficient::real(-1.0), &second)?;
        self.functions.add(1.0, &first, x)
    }

    fn label(&self) -> &'static str {
        "struct-mg"
    }

    fn footprint(&self) -> Footprint {
        let (cycle, own) = (self.cycle.footprint(), self.bytes());
        Footprint {
            held: cycle.held + own,
            moved: cycle.moved + 2 * own,
        }
    }
}

/// Cell, island and number of all functions, by cells.
fn entries<'f>(functions: impl Iterator<Item = &'f Vec<(u32, f64)>>) -> Vec<(u32, u32, f64)> {
    let of_one = |(island, numbers): (usize, &'f Vec<(u32, f64)>)| {
        let numbers = numbers.iter();
        numbers.map(move |&(cell, value)| (cell, island as u32, value))
    };
    let mut all: Vec<_> = functions.enumerate().flat_map(of_one).collect();
    // The cells of each function ascend: a stable sort merges them, and keeps the order of islands.
    all.sort_by_key(|&(cell, ..)| cell);
    all
}

/// The diagonal of `Z^T A Z` and, so that corrections of islands beside each other do not add up to too much, absolute
/// values of what is beside it.
fn diagonal(islands: usize, z: &[(u32, u32, f64)], az: &[(u32, u32, f64)]) -> Vec<f64> {
    let (mut diagonal, mut others) = (vec![0.0; islands], std::collections::BTreeMap::new());
    let mut from = 0;
    for &(cell, island, product) in az {
        from += z[from..].iter().take_while(|entry| entry.0 < cell).count();
        for &(_, other, value) in z[from..].iter().take_while(|entry| entry.0 == cell) {
            match other == island {
                true => diagonal[island as usize] += product * value,
                false => *others.entry((island, other)).or_insert(0.0) += product * value,
            }
        }
    }
    for ((island, _), value) in others {
        diagonal[island as usize] += f64::abs(value);
    }
    diagonal
}

/// A matrix of rows, each divided by a number.
fn of_rows<'f>(
    executor: &Executor,
    columns: usize,
    rows: impl Iterator<Item = (&'f Vec<(u32, f64)>, &'f f64)>,
) -> Csr<f64> {
    let (mut offsets, mut places, mut values) = (vec![0], Vec::new(), Vec::new());
    for (row, divisor) in rows {
        places.extend(row.iter().map(|entry| entry.0));
        values.extend(row.iter().map(|entry| entry.1 / divisor));
        offsets.push(places.len());
    }
    let size = Size::new(offsets.len() - 1, columns);
    Csr::from_canonical(executor, size, offsets, places, values)
}

#[cfg(test)]
mod tests {
    use vcycle_core::testing::device;

    use super::super::island_search::pair;
    use super::*;
    use crate::linop::Identity;

    #[test]
    fn residuals_have_no_part_in_the_function_of_an_island_that_is_corrected() {
        let here = pair(1e4);
        let cells = here.grid().cells();
        let numbers: Vec<f64> = (0..cells).map(|cell| (cell % 7) as f64 + 1.0).collect();
        let function = &here.island_functions(&here.islands().unwrap()).unwrap()[0];
        assert!(function.z.contains(&(37, 1.0)) && function.z.contains(&(38, 1.0)));
        let around = function.z.iter().filter(|entry| entry.1 != 1.0);
        assert!(around.clone().count() > 10 && around.clone().all(|entry| entry.1 < 0.5));
        for executor in [Some(here.executor().clone()), device()]
            .into_iter()
            .flatten()
        {
            let a = here.copy_to(&executor).unwrap();
            let identity: Arc<dyn LinOp<f64>> = Arc::new(Identity::new(&executor, cells));
            let islands = IslandCorrection::around(identity, &a).unwrap();
            let b = Vector::from_column(&executor, numbers.clone());
            let (mut x, mut r) = (b.clone(), b.clone());
            islands.apply(&b, &mut x, &Workspace::new()).unwrap();
            a.residual(&b, &x, &mut r, &Workspace::new()).unwrap();
            let r = r.to_vec();
            let part: f64 = function
                .z
                .iter()
                .map(|&(cell, z)| z * r[cell as usize])
                .sum();
            assert!(part.abs() < 1e-8, "{part}");
            assert!(islands.footprint().held > 0);
        }
    }
}
