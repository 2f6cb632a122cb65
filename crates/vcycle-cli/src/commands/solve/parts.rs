//! What ranks know of a system before each has its part.

use std::cell::Cell;

use vcycle::gallery;
use vcycle::matrix::{Distributed, GridOrder, Permutation, recursive_bisection};
use vcycle::multigrid::NearNullspace;
use vcycle::scalar::c64;

use super::task::{Reading, Task};
use crate::args::{PartitionKind, SolveArgs};
use crate::prelude::*;

/// A system as one rank or all of them have read it.
pub struct Whole<T> {
    pub system: System<T>,
    b: Vector<T>,
    /// The order that all of these are in, if not their own.
    order: Option<Permutation>,
    pub reading: Reading,
}

/// The same, its numbers as the source has them.
pub enum AnyWhole {
    Real(Whole<f64>),
    Complex(Whole<c64>),
}

/// Own rows of a system and of a right-hand side.
pub type Own<T> = (System<T>, Vector<T>);

/// How ranks get to know their rows.
#[derive(Clone, Copy)]
pub enum Known<'w, T> {
    /// Rank 0 has read all rows, and spreads them; other threads see them, too.
    Whole(Option<&'w Whole<T>>),
    /// Every rank makes or reads its own rows: the name of the source, the order of the rows if not their own, and what makes
    /// those of a rank.
    InParts(&'w str, Option<GridOrder>, &'w RowsOf<'w, T>),
}

type RowsOf<'w, T> = dyn Fn(&Executor) -> vcycle::Result<Own<T>> + Sync + 'w;

/// Own rows of a problem that is made in parts; others come where these are in another order.
pub fn made(problem: &str, order: Option<GridOrder>, rank: &Executor) -> vcycle::Result<Own<f64>> {
    let (a, b) = gallery::build_part(problem, rank)?.expect("it is made in parts");
    let (a, b) = match order {
        None => (a, b),
        Some(order) => {
            let (a, mut vectors) = a.renumbered(|row| order.place(row), &[b])?;
            (a, vectors.swap_remove(0))
        }
    };
    let b = Vector::from_column(rank, b);
    Ok((System::new(Arc::new(a)), b))
}

/// Reads a system, and numbers its rows as a partition asks for.
pub fn read(
    args: &SolveArgs,
    config: &Config,
    kind: PartitionKind,
    host: &Executor,
) -> Result<AnyWhole> {
    let task = Task {
        args,
        config: config.clone(),
        executor: host.clone(),
        made: Cell::default(),
    };
    let (system, reading) = task.read(&args.input.source)?;
    reading.progress.end();
    Ok(match system {
        AnySystem::Real(system) => AnyWhole::Real(whole(&task, kind, &system, reading)?),
        AnySystem::Complex(system) => AnyWhole::Complex(whole(&task, kind, &system, reading)?),
    })
}

/// What is to be shared of a system.
fn whole<T: Wide>(
    task: &Task<'_>,
    kind: PartitionKind,
    system: &System<T>,
    mut reading: Reading,
) -> Result<Whole<T>> {
    let args = task.args;
    let b = reading
        .source
        .right_hand_side(system.matrix.whole()?, args.rhs.as_deref())?;
    let system = task.known(system, &b)?;
    let near = system.near_nullspace.as_ref();
    let order = order(kind, &args.input.source, system.matrix.whole()?, near)?;
    let (system, b) = match &order {
        None => (system, b),
        Some(order) => renumbered(&system, &b, order)?,
    };
    Ok(Whole {
        system,
        b,
        order,
        reading,
    })
}

impl<'w, T: Wide> Known<'w, T> {
    pub fn whole(&self) -> Option<&'w Whole<T>> {
        match self {
            Self::Whole(whole) => *whole,
            Self::InParts(..) => None,
        }
    }

    /// The solution in the order of the rows as they are given.
    pub fn in_order(&self, x: Vector<T>) -> vcycle::Result<Vector<T>> {
        let mut own = x.clone();
        match (self, self.whole().and_then(|whole| whole.order.as_ref())) {
            (_, Some(order)) => order.apply_inverse(&x, &mut own)?,
            (Self::InParts(_, order, _), _) => {
                let (from, to) = (x.host()?, own.host_mut()?);
                for (row, value) in (0..).zip(to.iter_mut()) {
                    let place = order.as_ref().map_or(row, |order| order.place(row));
                    *value = from[place as usize];
                }
            }
            _ => {}
        }
        Ok(own)
    }

    /// The own part of the system and of the right-hand side.
    pub fn part(&self, rank: &Executor) -> vcycle::Result<Own<T>> {
        if let Self::InParts(_, _, of_rank) = self {
            return of_rank(rank);
        }
        let team = rank.team().expect("a rank has a team");
        let whole = self.whole();
        let near = whole.and_then(|whole| whole.system.near_nullspace.as_ref());
        let counts = [
            near.map_or(1, NearNullspace::block_size),
            near.map_or(0, |near| near.vectors().len()),
            usize::from(near.is_some()),
            whole.map_or(0, |whole| whole.b.cols()),
            usize::from(whole.is_some_and(|whole| whole.system.guess.is_some())),
        ];
        let counts = counts.map(|count| count as u64);
        let mut of_first = [0; 5];
        for (of_first, count) in of_first.iter_mut().zip(counts) {
            *of_first = team.all_numbers(count)?[0] as usize;
        }
        let [block, vectors, is_known, cols, is_guessed] = of_first;
        let leads = team.rank() == 0;
        let matrix = whole.map(|whole| whole.system.matrix.whole()).transpose()?;
        let matrix = matrix.filter(|_| leads).map(Arc::as_ref);
        let matrix = Distributed::spread(rank, matrix, block)?;
        let spread = |values: Option<Vec<T>>, cols| {
            let values = values.filter(|_| leads);
            matrix.spread_values(values.as_deref(), cols)
        };
        let b = spread(whole.map(|whole| whole.b.to_vec()), cols)?;
        let b = Vector::from_rows(rank, cols, b)?;
        let mut modes = Vec::new();
        for number in 0..vectors {
            let near = near.filter(|_| leads);
            let mode = near.map(|near| &near.vectors()[number][..]);
            modes.push(matrix.spread_values(mode, 1)?);
        }
        let guess = match is_guessed {
            0 => None,
            _ => {
                let guess = whole.and_then(|whole| whole.system.guess.as_ref());
                Some(spread(guess.map(Vector::to_vec), cols)?)
            }
        };
        let mut system = System::new(Arc::new(matrix));
        if is_known > 0 {
            system = system.with_near_nullspace(NearNullspace::new(block, modes)?);
        }
        if let Some(guess) = guess {
            system = system.with_guess(Vector::from_rows(rank, cols, guess)?);
        }
        Ok((system, b))
    }
}

/// The order of a grid's points.
pub fn of_grid(problem: &str) -> Result<(GridOrder, usize)> {
    let grid = match gallery::is_problem(problem) {
        true => gallery::grid(problem)?,
        false => None,
    };
    let (size, unknowns) = grid.ok_or_else(|| {
        let reason = format!("`{problem}` is on no grid that can be cut into boxes; use graph");
        CliError::option("--partition", reason)
    })?;
    Ok((GridOrder::new(size), unknowns))
}

/// The order that a partition asks for; none where rows stay as they are.
fn order<T: Wide>(
    kind: PartitionKind,
    source: &str,
    a: &Csr<T>,
    near: Option<&NearNullspace>,
) -> Result<Option<Permutation>> {
    match kind {
        PartitionKind::Rows => Ok(None),
        PartitionKind::Graph => {
            let block = near.map_or(1, NearNullspace::block_size);
            Ok(Some(recursive_bisection(a.pattern(), block)?))
        }
        PartitionKind::Boxes => {
            let (order, unknowns) = of_grid(source)?;
            let unknowns = unknowns as u64;
            let row = |place: u64| order.point(place / unknowns) * unknowns + place % unknowns;
            let rows = (0..a.size().rows as u64).map(|place| row(place) as u32);
            Ok(Some(Permutation::new(rows.collect())?))
        }
    }
}

/// A system and its right-hand side in another order.
fn renumbered<T: Wide>(
    system: &System<T>,
    b: &Vector<T>,
    order: &Permutation,
) -> Result<(System<T>, Vector<T>)> {
    let moved = |vector: &Vector<T>| -> vcycle::Result<Vector<T>> {
        let mut moved = vector.clone();
        order.apply(vector, &mut moved)?;
        Ok(moved)
    };
    let of_order = |values: &Vec<f64>| {
        let rows = order.order().iter();
        rows.map(|&row| values[row as usize]).collect()
    };
    let matrix = system.matrix.whole()?.permute_symmetric(order)?;
    let mut other = System::new(Arc::new(matrix));
    if let Some(near) = &system.near_nullspace {
        let vectors = near.vectors().iter().map(of_order).collect();
        other.near_nullspace = Some(NearNullspace::new(near.block_size(), vectors)?);
    }
    other.guess = system.guess.as_ref().map(moved).transpose()?;
    Ok((other, moved(b)?))
}
