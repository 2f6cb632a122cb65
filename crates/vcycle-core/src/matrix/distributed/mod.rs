//! Matrices whose rows several ranks share.
//!
//! Every rank has consecutive rows, with columns in the local numbers of a [`Halo`], which keep the order of the global
//! ones. So each row is the row of the whole matrix, in the same order, and what a set-up makes of it has the same bits
//! on any number of ranks. In products the interior rows, which refer to own columns only, are computed while the values
//! of other ranks travel.

mod cell_box;
mod cell_moves;
mod cells;
mod device_halo;
mod exchange;
mod fetch;
mod galerkin;
mod gathered;
mod grid_order;
mod grid_part;
mod halo;
mod local_numbers;
mod nodes;
mod on_device;
mod overlap;
mod partition;
mod placement;
mod product;
#[cfg(test)]
mod recorded_tests;
mod renumber;
mod rows;
mod split;
mod spread;
mod symmetry;
#[cfg(any(test, feature = "testing"))]
pub(super) mod testing;
#[cfg(test)]
mod tests;
mod transpose;

use std::sync::OnceLock;

pub use cell_box::CellBox;
pub use cell_moves::CellOrder;
pub use cells::CellMoves;
pub use device_halo::DeviceHalo;
pub use galerkin::{galerkin_in_blocks, galerkin_shared};
pub use gathered::Gathered;
pub use grid_order::GridOrder;
pub use grid_part::GridPart;
pub use halo::Halo;
pub use local_numbers::LocalNumbers;
pub use overlap::Overlap;
pub use partition::Partition;

use vcycle_kernels::compiled;

use self::local_numbers::{others_among, renumbered};
use self::split::{Parts, Shapes};
use super::csr::{Csr, Duplicates};
use crate::communicator::Communicator;
use crate::operations::entries::has_empty_rows;
use crate::prelude::*;

/// The rows that this rank has of a matrix that several ranks share.
///
/// ```
/// use vcycle::communicator::threads;
/// use vcycle::executor::Executor;
/// use vcycle::matrix::{Distributed, Duplicates};
/// threads::run(2, |team| {
///     let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
///     // Rank 0 has the first row of a matrix of order 2, rank 1 the second.
///     let a = Distributed::from_rows(&rank, vec![0, 2], vec![0, 1], vec![2.0, -1.0], Duplicates::Refuse)?;
///     assert_eq!(a.rows().total(), 2);
///     Ok(())
/// })?;
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Distributed<T> {
    executor: Executor,
    rows: Arc<Partition>,
    columns: Arc<Halo>,
    /// Own rows, columns in local numbers; on the executor without its team: that of the host, or that of the device while
    /// levels are set up there.
    local: Arc<Csr<T>>,
    /// How products cut the rows, the same for all types of values.
    shapes: Arc<Shapes>,
    /// What products take.
    parts: Arc<Parts<T>>,
    /// Whether it is symmetric, and whether its diagonal is positive, once that was asked for.
    definite: OnceLock<[bool; 2]>,
}

impl<T: Scalar> Distributed<T> {
    /// A square matrix of the rows of every rank, given with global columns. All ranks call it together.
    ///
    /// # Errors
    /// For an executor without a team, arrays that do not fit, columns that are out of range or stand twice (unless
    /// summed); when another rank has failed.
    pub fn from_rows(
        executor: &Executor,
        offsets: Vec<usize>,
        columns: Vec<u64>,
        values: Vec<T>,
        duplicates: Duplicates,
    ) -> Result<Self> {
        let own = offsets.len().saturating_sub(1);
        let rows = Arc::new(Partition::of_counts(team_of(executor)?.as_ref(), own)?);
        let of = Arc::clone(&rows);
        Self::of_columns(executor, &rows, &of, (offsets, columns, values), duplicates)
    }

    /// A matrix of the rows of every rank, whose columns have a partition of their own.
    fn of_columns(
        executor: &Executor,
        rows: &Arc<Partition>,
        of_columns: &Arc<Partition>,
        (offsets, columns, values): (Vec<usize>, Vec<u64>, Vec<T>),
        duplicates: Duplicates,
    ) -> Result<Self> {
        let team = team_of(executor)?;
        let own = of_columns.range(team.rank());
        let mut others: Vec<u64> = columns.clone();
        others.retain(|column| !own.contains(column));
        let halo = Arc::new(Halo::new(team, of_columns, others)?);
        let local = |&column: &u64| halo.local(column).expect("every column is numbered");
        let columns = columns.iter().map(local).collect();
        let size = Size::new(offsets.len().saturating_sub(1), halo.len());
        let local = Csr::from_arrays(
            &executor.alone(),
            size,
            offsets,
            columns,
            values,
            duplicates,
        );
        let first = rows.range(team.rank()).start;
        let local = local.map_err(|error| match error {
            Error::DuplicateEntry { row, column } => Error::DuplicateEntry {
                row: first as usize + row,
                column: halo.global(column) as usize,
            },
            other => other,
        });
        Ok(Self::of_local(
            executor,
            rows,
            &halo,
            Arc::new(team.agree(local)?),
        ))
    }

    /// A matrix of own rows whose columns have some numbering; only columns with entries are kept. All ranks call it
    /// together.
    pub fn of_numbered(
        executor: &Executor,
        rows: &Arc<Partition>,
        of_columns: &Arc<Partition>,
        numbers: &LocalNumbers,
        made: Csr<T>,
    ) -> Result<Self> {
        compiled!(any T: fn(&Executor, &Arc<Partition>, &Arc<Partition>, &LocalNumbers, Csr<T>) -> Result<Distributed<T>>
            = Distributed::of_own_numbers)(executor, rows, of_columns, numbers, made)
    }

    fn of_own_numbers(
        executor: &Executor,
        rows: &Arc<Partition>,
        of_columns: &Arc<Partition>,
        numbers: &LocalNumbers,
        made: Csr<T>,
    ) -> Result<Self> {
        let others = others_among(made.pattern(), numbers)?.into_iter();
        let others = others
            .map(|column| numbers.global(column as usize))
            .collect();
        let halo = Arc::new(Halo::new(team_of(executor)?, of_columns, others)?);
        if halo.len() == numbers.len() {
            return Ok(Self::of_local(executor, rows, &halo, Arc::new(made)));
        }
        let by = halo.renumbering(numbers);
        let pattern = renumbered(made.pattern(), &by, halo.len())?;
        let made = Csr::of_buffers(&pattern, made.values);
        Ok(Self::of_local(executor, rows, &halo, Arc::new(made)))
    }

    /// The same with ones on the diagonal of own rows that have no entry.
    pub fn without_empty_rows(self) -> Result<Self> {
        if has_empty_rows(self.local.pattern())? == Some(false) {
            return Ok(self);
        }
        let is_empty = |row: usize| self.local.pattern().range(row).is_empty();
        let rows = self.local.size().rows;
        let empty: Vec<usize> = (0..rows).filter(|&row| is_empty(row)).collect();
        if empty.is_empty() {
            return Ok(self);
        }
        let mut offsets = vec![0; rows + 1];
        empty.iter().for_each(|row| offsets[row + 1] = 1);
        (0..rows).for_each(|row| offsets[row + 1] += offsets[row]);
        let first = self.columns.own().start;
        let columns = empty.iter().map(|row| (first + row) as u32).collect();
        let ones = vec![T::store(num_traits::One::one()); empty.len()];
        let (alone, size) = (self.local.executor(), self.local.size());
        let ones = Csr::from_canonical(alone, size, offsets, columns, ones);
        let one = || num_traits::One::one();
        Ok(self.with_local(self.local.add(one(), one(), &ones)?))
    }

    /// Every value times a number.
    pub fn scale(&self, factor: T::Arith) -> Result<Self> {
        Ok(self.with_local(self.local.scale(factor)?))
    }

    /// The same rows and columns with other entries.
    fn with_local(&self, local: Csr<T>) -> Self {
        Self::of_local(&self.executor, &self.rows, &self.columns, Arc::new(local))
    }

    /// The same with other values for the entries of own rows, in the order of [`local`](Self::local).
    pub fn with_values(&self, values: Vec<T>) -> Result<Self> {
        let local = Csr::with_pattern(self.local.pattern(), values)?;
        Ok(Self {
            shapes: Arc::clone(&self.shapes),
            ..self.with_local(local)
        })
    }

    /// The place of the entry of an own row, counted from the first, in a column of the whole matrix.
    pub fn place(&self, row: usize, column: u64) -> Option<usize> {
        let column = self.columns.local(column)?;
        let range = self.local.pattern().range(row);
        let found = self.local.columns()[range.clone()].binary_search(&column);
        found.ok().map(|place| range.start + place)
    }

    /// A matrix of local rows with the columns of a halo.
    pub(super) fn of_local(
        executor: &Executor,
        rows: &Arc<Partition>,
        columns: &Arc<Halo>,
        local: Arc<Csr<T>>,
    ) -> Self {
        Self {
            executor: executor.clone(),
            rows: Arc::clone(rows),
            columns: Arc::clone(columns),
            local,
            shapes: Arc::default(),
            parts: Arc::default(),
            definite: OnceLock::new(),
        }
    }

    /// The rank that has it.
    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    /// All ranks.
    pub fn team(&self) -> &Arc<dyn Communicator> {
        self.columns.team()
    }

    /// Which rank has which rows.
    pub fn rows(&self) -> &Arc<Partition> {
        &self.rows
    }

    /// The columns that own rows refer to.
    pub fn columns(&self) -> &Arc<Halo> {
        &self.columns
    }

    /// Own rows, with columns in the local numbers of [`columns`](Self::columns).
    pub fn local(&self) -> &Arc<Csr<T>> {
        &self.local
    }

    /// Own rows, and own columns: the size of the vectors of this rank.
    pub fn size(&self) -> Size {
        Size::new(self.local.size().rows, self.columns.own_count())
    }

    /// Entries of all ranks.
    pub fn total_nonzeros(&self) -> Result<u64> {
        self.team().total(self.local.nonzeros() as u64)
    }

    /// Bytes held by this rank.
    pub fn bytes(&self) -> usize {
        self.local.bytes() + self.parts.bytes()
    }

    /// The same matrix with values of another type.
    ///
    /// # Errors
    /// When complex values would become real.
    pub fn convert<S: Scalar>(&self) -> Result<Distributed<S>> {
        compiled!(any T, S: fn(&Distributed<T>) -> Result<Distributed<S>> = |a| {
            let local = Arc::new(a.local.convert()?);
            let shapes = Arc::clone(&a.shapes);
            let made = Distributed::of_local(&a.executor, &a.rows, &a.columns, local);
            Ok(Distributed { shapes, ..made })
        })(self)
    }
}

/// The team of an executor, or an error that says that it has none.
fn team_of(executor: &Executor) -> Result<&Arc<dyn Communicator>> {
    executor.team().ok_or_else(|| {
        let reason = "a distributed matrix needs an executor with a team, `Executor::with_team`";
        Error::Team(reason.to_owned())
    })
}
