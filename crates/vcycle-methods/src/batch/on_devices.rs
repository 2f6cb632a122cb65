//! Batches in the memory of a device.

use super::{BatchMatrix, BatchMethod, BatchOutcome, BatchPreconditioner, BatchSolver};
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::linop::{Size, check_size};
use crate::operations::batch::{
    self, BatchArrays, BatchEnded, BatchEnding, BatchIteration, BatchRun,
};
use crate::scalar::Field;
use crate::stop::{Part, Status};
use crate::vector::Vector;

/// The matrices of a batch in the memory of a device, for many right-hand sides or without the way from the host.
///
/// A block of threads solves a system from its first to its last iteration, with its vectors in local memory. Devices have
/// `cg`, `bicgstab` and `gmres`, with `jacobi` or none, for systems of up to 512 rows.
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
        if !device.is_device() {
            return Err(device.lacks("a batch of a device", "its memory"));
        }
        let (systems, rows) = (matrix.systems(), matrix.rows());
        let (offsets, columns) = matrix.structure();
        let length = |row: usize| offsets[row + 1] - offsets[row];
        let width = (0..rows).map(length).max().unwrap_or(0);
        let column = |slot: usize| {
            let (at, row) = (slot / rows, slot % rows);
            match at < length(row) {
                true => columns[offsets[row] + at],
                false => row as u32,
            }
        };
        let mut values = vec![A::zero(); systems * width * rows];
        for (system, values) in values.chunks_exact_mut((width * rows).max(1)).enumerate() {
            matrix.visit(system, &mut |row, column, value| {
                let of_row = &columns[offsets[row]..offsets[row + 1]];
                if let Ok(at) = of_row.binary_search(&(column as u32)) {
                    values[at * rows + row] = value;
                }
            });
        }
        let columns = (0..width * rows).map(column).collect();
        Ok(Self {
            arrays: BatchArrays {
                systems,
                rows,
                width,
                columns: Buffer::from_vec(device, columns),
                values: Buffer::from_vec(device, values),
            },
        })
    }

    /// How many matrices there are.
    pub fn systems(&self) -> usize {
        self.arrays.systems
    }

    /// Rows of each.
    pub fn rows(&self) -> usize {
        self.arrays.rows
    }
}

impl BatchSolver {
    /// [`solve`](Self::solve) with matrices and vectors in the memory of a device; vectors lie one after the other.
    ///
    /// # Errors
    /// For vectors of another length or place, parameters out of range, methods and preconditioners that devices do not
    /// have, and more than 512 rows.
    pub fn solve_on_device<A: Field>(
        &self,
        batch: &DeviceBatch<A>,
        b: &Vector<A>,
        x: &mut Vector<A>,
    ) -> Result<Vec<BatchOutcome>> {
        self.check()?;
        let arrays = &batch.arrays;
        let fitting = Size::new(arrays.systems * arrays.rows, 1);
        check_size("right-hand sides of a batch", fitting, b.size())?;
        check_size("solutions of a batch", fitting, x.size())?;
        let place = arrays.values.executor();
        place.check_same(b.executor(), "right-hand sides of a batch")?;
        place.check_same(x.executor(), "solutions of a batch")?;
        let run = BatchRun {
            method: self.iteration(place)?,
            jacobi: self.is_jacobi(place)?,
            restart: self.restart,
            rtol: self.rtol,
            atol: self.atol,
            most: self.max_iterations,
        };
        let ended = batch::solve(&run, arrays, b, x)?;
        Ok(ended.into_iter().map(outcome).collect())
    }

    fn iteration(&self, place: &Executor) -> Result<BatchIteration> {
        match self.method {
            BatchMethod::Cg => Ok(BatchIteration::Cg),
            BatchMethod::Bicgstab => Ok(BatchIteration::Bicgstab),
            BatchMethod::Gmres => Ok(BatchIteration::Gmres),
            other => Err(place.lacks(
                "a batch",
                &format!("{other}; use cg, bicgstab or gmres, or the executor cpu"),
            )),
        }
    }

    fn is_jacobi(&self, place: &Executor) -> Result<bool> {
        match self.preconditioner {
            BatchPreconditioner::None => Ok(false),
            BatchPreconditioner::Jacobi => Ok(true),
            other => Err(place.lacks(
                "a batch",
                &format!("{other}; use jacobi or none, or the executor cpu"),
            )),
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
    let (size, residual) = (ended.size, ended.residual);
    BatchOutcome {
        status: status(ended.status),
        iterations: ended.iterations,
        relative_residual: if size > 0.0 {
            residual / size
        } else {
            residual
        },
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
