//! Batches in the memory of a device.

use super::matrix::{One, check_dense, check_structure, full_structure};
use super::{BatchMatrix, BatchMethod, BatchOutcome, BatchPreconditioner, BatchSolver};
use crate::linop::check_size;
use crate::operations::batch::{
    self, BatchArrays, BatchEnded, BatchEnding, BatchEndings, BatchInverse, BatchIteration,
    BatchPattern, BatchRun,
};
use crate::prelude::*;
use crate::stop::{Part, Status};

/// The matrices of a batch in the memory of a device, for many right-hand sides or without the way from the host.
///
/// A block of threads solves a system from its first to its last iteration, with its vectors in local memory, and factors
/// there, too, where they fit. Devices have every method and preconditioner that processors have, for systems of up to 512
/// rows (384 complex ones in double precision by `bicgstab`): blocks of `block-jacobi` have up to 32 rows, rows of `isai` up to 64 entries, and `gmres` keeps 30 vectors. Where no entry
/// is more than four diagonals from the main one, `direct` solves a system of any number of rows with a single thread.
///
/// ```
/// use vcycle::{batch::{BatchDense, BatchSolver, DeviceBatch}, executor::Executor, vector::Vector};
/// # fn run(device: &str) -> vcycle::Result<()> {
/// let device = Executor::gpu(device)?; // `cuda:0`, say
/// let a = BatchDense::new(2, vec![2.0, 1.0, 1.0, 2.0, 4.0, 0.0, 0.0, 1.0])?;
/// let on_device = DeviceBatch::new(&device, &a)?;
/// let b = Vector::from_column(&device, vec![3.0, 3.0, 4.0, 1.0]);
/// let mut x = Vector::zeros_like(&b)?;
/// let outcomes = BatchSolver::default().solve_on_device(&on_device, &b, &mut x)?;
/// assert!(outcomes.iter().all(|one| one.converged()));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct DeviceBatch<A> {
    arrays: BatchArrays<A>,
}

impl<A: Field> DeviceBatch<A> {
    /// Copies matrices to the device.
    ///
    /// # Errors
    /// On the host, and when memory is short.
    pub fn new(device: &Executor, matrix: &dyn BatchMatrix<A>) -> Result<Self> {
        let (offsets, columns) = matrix.structure();
        let entries = columns.len();
        let mut values = vec![A::zero(); matrix.systems() * entries];
        for (system, values) in values.chunks_exact_mut(entries.max(1)).enumerate() {
            One { matrix, system }.collect(&offsets, &columns, values);
        }
        Self::of_pattern(&offsets, &columns, &Buffer::from_vec(device, values))
    }

    /// Matrices of one pattern whose values are on the device: row by row, one matrix after the other. Row offsets and columns,
    /// which increase within a row, are those of each.
    ///
    /// # Errors
    /// For arrays that are not those of square matrices, on the host, and when memory is short.
    pub fn from_values(offsets: &[usize], columns: &[u32], values: &Buffer<A>) -> Result<Self> {
        let rows = offsets.len().saturating_sub(1);
        check_structure(rows, offsets, columns, values.len())?;
        Self::of_pattern(offsets, columns, values)
    }

    /// Dense matrices whose values are on the device: row by row, one matrix after the other.
    ///
    /// # Errors
    /// For values that are not those of matrices of so many rows, on the host, and when memory is short.
    pub fn from_dense(rows: usize, values: &Buffer<A>) -> Result<Self> {
        check_dense(rows, values.len())?;
        let (offsets, columns) = full_structure(rows);
        Self::of_pattern(&offsets, &columns, values)
    }

    fn of_pattern(offsets: &[usize], columns: &[u32], values: &Buffer<A>) -> Result<Self> {
        let device = values.executor();
        if !device.is_device() {
            return Err(device.lacks("a batch of a device", "its memory"));
        }
        let pattern = BatchPattern::new(device, offsets, columns);
        let arrays = batch::arrays(pattern, values)?;
        Ok(Self { arrays })
    }

    /// How many matrices there are.
    pub fn systems(&self) -> usize {
        self.arrays.systems
    }

    /// Rows of each.
    pub fn rows(&self) -> usize {
        self.arrays.pattern.rows
    }
}

/// The outcomes of a batch that a device is solving, or has solved: [`BatchSolver::queue_on_device`].
#[derive(Debug)]
pub struct QueuedBatch {
    endings: Option<BatchEndings>,
}

impl QueuedBatch {
    /// Waits for all systems and copies their outcomes to the host.
    ///
    /// # Errors
    /// When the device fails.
    pub fn outcomes(&self) -> Result<Vec<BatchOutcome>> {
        match &self.endings {
            Some(endings) => endings.read(outcome),
            None => Ok(Vec::new()),
        }
    }
}

impl BatchSolver {
    /// [`solve`](Self::solve) with matrices and vectors in the memory of a device. Vectors lie one after the other in one column, or
    /// side by side: a column for every system.
    ///
    /// # Errors
    /// For vectors of another length or place, parameters out of range, and what is too large for a device: see
    /// [`DeviceBatch`].
    pub fn solve_on_device<A: Field>(
        &self,
        batch: &DeviceBatch<A>,
        b: &Vector<A>,
        x: &mut Vector<A>,
    ) -> Result<Vec<BatchOutcome>> {
        self.queue_on_device(batch, b, x)?.outcomes()
    }

    /// [`solve_on_device`](Self::solve_on_device) without waiting for it: outcomes stay on the device until they are read.
    ///
    /// # Errors
    /// As of [`solve_on_device`](Self::solve_on_device).
    pub fn queue_on_device<A: Field>(
        &self,
        batch: &DeviceBatch<A>,
        b: &Vector<A>,
        x: &mut Vector<A>,
    ) -> Result<QueuedBatch> {
        self.check()?;
        let arrays = &batch.arrays;
        let fitting = match b.cols() {
            1 => Size::new(batch.systems() * batch.rows(), 1),
            _ => Size::new(batch.rows(), batch.systems()),
        };
        check_size("right-hand sides of a batch", fitting, b.size())?;
        check_size("solutions of a batch", fitting, x.size())?;
        let place = arrays.values.executor();
        place.check_same(b.executor(), "right-hand sides of a batch")?;
        place.check_same(x.executor(), "solutions of a batch")?;
        let run = BatchRun {
            method: self.iteration(),
            inverse: self.inverse(),
            restart: self.restart,
            rtol: self.rtol,
            atol: self.atol,
            most: self.max_iterations,
        };
        if batch.systems() == 0 {
            return Ok(QueuedBatch { endings: None });
        }
        let endings = Some(batch::solve(&run, arrays, b, x)?);
        Ok(QueuedBatch { endings })
    }

    fn iteration(&self) -> BatchIteration {
        match self.method {
            BatchMethod::Cg => BatchIteration::Cg,
            BatchMethod::Bicgstab => BatchIteration::Bicgstab,
            BatchMethod::Gmres => BatchIteration::Gmres,
            BatchMethod::Direct => BatchIteration::Direct,
        }
    }

    fn inverse(&self) -> BatchInverse {
        match self.preconditioner {
            BatchPreconditioner::None => BatchInverse::None,
            BatchPreconditioner::Jacobi => BatchInverse::Jacobi,
            BatchPreconditioner::BlockJacobi => BatchInverse::Blocks(self.block_size),
            BatchPreconditioner::Ilu0 => BatchInverse::Ilu0,
            BatchPreconditioner::Isai => BatchInverse::Isai,
        }
    }

    /// Takes matrices and vectors of the host to the device and solutions back.
    pub(super) fn solve_there<A: Field>(
        &self,
        device: &Executor,
        matrix: &dyn BatchMatrix<A>,
        b: &[A],
        x: &mut [A],
    ) -> Result<Vec<BatchOutcome>> {
        let batch = DeviceBatch::new(device, matrix)?;
        let sides = Vector::from_column(device, b.to_vec());
        let mut solutions = Vector::from_column(device, x.to_vec());
        let outcomes = self.solve_on_device(&batch, &sides, &mut solutions)?;
        x.copy_from_slice(&solutions.to_vec());
        Ok(outcomes)
    }
}

fn outcome(ended: BatchEnded) -> BatchOutcome {
    BatchOutcome {
        status: status(ended.status),
        iterations: ended.iterations,
        relative_residual: ended.residual,
        row: ended.row,
    }
}

fn status(ending: BatchEnding) -> Status {
    match ending {
        BatchEnding::Converged => Status::Converged,
        BatchEnding::NonFinite => Status::NonFinite,
        BatchEnding::Breakdown => Status::Breakdown,
        BatchEnding::IterationLimit => Status::IterationLimit,
        BatchEnding::AccuracyLimit => Status::AccuracyLimit,
        BatchEnding::Indefinite => Status::Indefinite(Part::Operator),
    }
}
