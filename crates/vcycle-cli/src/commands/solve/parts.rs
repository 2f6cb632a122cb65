//! What ranks know of a system before each has its part.

use std::cell::Cell;
use std::sync::Arc;

use vcycle::Error;
use vcycle::config::{AnySystem, Config, SharedSystem, System};
use vcycle::executor::Executor;
use vcycle::gallery;
use vcycle::matrix::{Csr, Distributed, GridOrder, Partition, Permutation};
use vcycle::multigrid::NearNullspace;
use vcycle::vector::Vector;

use super::file_parts::FileParts;
use super::order::{Renumbered, order};
use super::task::{Reading, Task};
use crate::args::{PartitionKind, SolveArgs};
use crate::error::{CliError, Result};

/// A system as one rank or all of them have read it.
pub struct Whole {
    pub matrix: Arc<Csr<f64>>,
    near_nullspace: Option<NearNullspace>,
    b: Vector<f64>,
    guess: Option<Vector<f64>>,
    /// The order that all of these are in, if not their own.
    order: Option<Permutation>,
    pub reading: Reading,
}

/// How ranks are told of what a rank has read.
pub enum Known<'w> {
    /// Every rank knows it.
    ByAll(&'w Whole),
    /// Rank 0 knows it, and spreads it.
    ByFirst(Option<&'w Whole>),
    /// Every rank makes its own rows, and gets others where these are in another order.
    InParts(&'w str, Option<GridOrder>),
    /// Every rank reads its part of a file.
    OfFile(&'w FileParts),
}

/// Reads a system, and numbers its rows as a partition asks for.
pub fn read(
    args: &SolveArgs,
    config: &Config,
    kind: PartitionKind,
    host: &Executor,
) -> Result<Whole> {
    let task = Task {
        args,
        config: config.clone(),
        executor: host.clone(),
        made: Cell::default(),
        led: None,
    };
    let (system, mut reading) = task.read(&args.input.source)?;
    let AnySystem::Real(system) = system else {
        return Err(CliError::Library(Error::Unsupported {
            component: "a complex matrix".to_owned(),
            operation: "several ranks".to_owned(),
        }));
    };
    reading.end();
    let b = reading.right_hand_side(&system.matrix, args.rhs.as_deref())?;
    let System {
        matrix,
        near_nullspace,
        guess,
        ..
    } = task.known(&system, &b)?;
    let order = order(kind, &args.input.source, &matrix, near_nullspace.as_ref())?;
    let mut all = Renumbered {
        matrix,
        near_nullspace,
        b,
        guess,
    };
    if let Some(order) = &order {
        all = all.by(order)?;
    }
    Ok(Whole {
        matrix: all.matrix,
        near_nullspace: all.near_nullspace,
        b: all.b,
        guess: all.guess,
        order,
        reading,
    })
}

impl Known<'_> {
    pub fn whole(&self) -> Option<&Whole> {
        match self {
            Self::ByAll(whole) => Some(whole),
            Self::ByFirst(whole) => *whole,
            Self::InParts(..) | Self::OfFile(_) => None,
        }
    }

    /// The solution in the order of the rows as they are given.
    pub fn in_order(&self, x: Vector<f64>) -> vcycle::Result<Vector<f64>> {
        let mut own = x.clone();
        match (self, self.whole().and_then(|whole| whole.order.as_ref())) {
            (_, Some(order)) => order.apply_inverse(&x, &mut own)?,
            (Self::InParts(_, Some(order)), _) => {
                let (from, to) = (x.host()?, own.host_mut()?);
                let values = (0..).zip(to.iter_mut());
                values.for_each(|(row, value)| *value = from[order.place(row) as usize]);
            }
            _ => {}
        }
        Ok(own)
    }

    /// The own part of the system and of the right-hand side.
    pub fn part(&self, rank: &Executor) -> vcycle::Result<(SharedSystem, Vector<f64>)> {
        if let Self::InParts(problem, order) = self
            && let Some((a, b)) = gallery::build_part(problem, rank)?
        {
            let (a, b) = match order {
                None => (a, b),
                Some(order) => {
                    let (a, mut vectors) = a.renumbered(|row| order.place(row), &[b])?;
                    (a, vectors.swap_remove(0))
                }
            };
            let b = Vector::from_column(rank, b);
            return Ok((SharedSystem::new(Arc::new(a)), b));
        }
        if let Self::OfFile(file) = self {
            return file.part(rank);
        }
        let team = rank.team().expect("a rank has a team");
        let whole = self.whole();
        let near = whole.and_then(|whole| whole.near_nullspace.as_ref());
        let counts = [
            near.map_or(1, NearNullspace::block_size),
            near.map_or(0, |near| near.vectors().len()),
            usize::from(near.is_some()),
            whole.map_or(0, |whole| whole.b.cols()),
            usize::from(whole.is_some_and(|whole| whole.guess.is_some())),
        ];
        let counts = counts.map(|count| count as u64);
        let mut told = [0; 5];
        for (told, count) in told.iter_mut().zip(counts) {
            *told = team.all_numbers(count)?[0] as usize;
        }
        let [block, vectors, is_known, cols, is_guessed] = told;
        let matrix = match self {
            Self::ByAll(whole) => {
                let rows = whole.matrix.size().rows as u64;
                let rows = Partition::even(rows, block as u64, team.size());
                Distributed::part_of(rank, &whole.matrix, rows)?
            }
            Self::ByFirst(_) | Self::InParts(..) | Self::OfFile(_) => {
                let matrix = whole.map(|whole| whole.matrix.as_ref());
                Distributed::spread(rank, matrix, block)?
            }
        };
        let leads = |values: Option<Vec<f64>>| values.filter(|_| team.rank() == 0);
        let spread = |values: Option<Vec<f64>>, cols| {
            let values = leads(values);
            matrix.spread_values(values.as_deref(), cols)
        };
        let b = spread(whole.map(|whole| whole.b.to_vec()), cols)?;
        let b = Vector::from_rows(rank, cols, b)?;
        let mut modes = Vec::new();
        for number in 0..vectors {
            modes.push(spread(near.map(|near| near.vectors()[number].clone()), 1)?);
        }
        let guess = match is_guessed {
            0 => None,
            _ => {
                let guess = whole.and_then(|whole| whole.guess.as_ref());
                Some(spread(guess.map(Vector::to_vec), cols)?)
            }
        };
        let mut system = SharedSystem::new(Arc::new(matrix));
        if is_known > 0 {
            system = system.with_near_nullspace(NearNullspace::new(block, modes)?);
        }
        if let Some(guess) = guess {
            system = system.with_guess(Vector::from_rows(rank, cols, guess)?);
        }
        Ok((system, b))
    }
}
