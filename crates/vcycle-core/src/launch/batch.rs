//! Launches of solves of many small systems.

use vcycle_gpu::Argument;

use super::scalars::number;
use crate::arrays::Vector;
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::gpu::{File, Gpu, kernel_file};
use crate::scalar::{Field, Real, Scalar};

pub(super) const FILE: File = kernel_file!("batch.c", 64);

/// Matrices of one pattern whose rows are padded to one length. Entry `slot` of a row lies `slot * rows` behind its first one;
/// a matrix lies behind the other.
#[derive(Debug)]
pub struct BatchArrays<T> {
    /// How many there are.
    pub systems: usize,
    /// Rows of each.
    pub rows: usize,
    /// Entries of a row.
    pub width: usize,
    /// Columns, the same for all; padding has its own row.
    pub columns: Buffer<u32>,
    /// Values; padding is zero.
    pub values: Buffer<T>,
}

/// The iterations that devices have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchIteration {
    /// Conjugate gradients.
    Cg,
    /// Stabilised biconjugate gradients.
    Bicgstab,
    /// Generalised minimal residuals.
    Gmres,
}

/// How every system is solved.
#[derive(Clone, Copy, Debug)]
pub struct BatchRun {
    /// The iteration.
    pub method: BatchIteration,
    /// Whether the diagonal preconditions it.
    pub jacobi: bool,
    /// Vectors that GMRES keeps, at most; no more than 30 are.
    pub restart: usize,
    /// Residual to reach, relative to the right-hand side.
    pub rtol: f64,
    /// Or residual norm to reach.
    pub atol: f64,
    /// Iterations that a system may take.
    pub most: usize,
}

/// Why the iterations of a system ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchEnding {
    /// The true residual is small enough.
    Converged,
    /// It is not finite.
    NonFinite,
    /// A divisor is zero.
    Breakdown,
    /// There were too many iterations.
    IterationLimit,
    /// A new start does not make it smaller.
    AccuracyLimit,
    /// The matrix is not positive definite.
    Indefinite,
}

/// How one system ended.
#[derive(Clone, Copy, Debug)]
pub struct BatchEnded {
    /// Converged, or why not.
    pub status: BatchEnding,
    /// Iterations made.
    pub iterations: usize,
    /// The norm of the right-hand side.
    pub size: f64,
    /// The norm of the true residual.
    pub residual: f64,
    /// The row that has no pivot.
    pub row: Option<usize>,
}

/// Rooms of a vector that kernels are compiled for; more do not fit local memory everywhere.
const ROOMS: [(usize, &str); 6] = [
    (32, "32"),
    (64, "64"),
    (128, "128"),
    (192, "192"),
    (256, "256"),
    (512, "512"),
];
/// Vectors that GMRES may keep, likewise.
const RESTARTS: [(usize, &str); 3] = [(10, "10"), (20, "20"), (30, "30")];
/// Blocks of one compute unit.
const BLOCKS_PER_UNIT: usize = 16;

/// How each system ended.
pub(crate) fn solve<T: Scalar>(
    gpu: &Gpu,
    run: &BatchRun,
    a: &BatchArrays<T>,
    b: &Vector<T>,
    x: &mut Vector<T>,
) -> Result<Vec<BatchEnded>> {
    let Some(&(_, room)) = ROOMS.iter().find(|(room, _)| a.rows <= *room) else {
        let operation = format!("systems of {} rows; {} at most", a.rows, ROOMS[5].0);
        return Err(gpu.lacks("a batch", &operation));
    };
    let (method, restart) = match run.method {
        BatchIteration::Cg => ("0", (1, "1")),
        BatchIteration::Bicgstab => ("1", (1, "1")),
        BatchIteration::Gmres => ("2", restart(run.restart)),
    };
    let types = [
        ("T", gpu.real(T::KIND)?),
        ("ROWS", room),
        ("METHOD", method),
        ("RESTART", restart.1),
    ];
    let threads = if a.rows <= 64 { 32 } else { FILE.block };
    let file = File {
        block: threads,
        ..FILE
    };
    let kernel = gpu.kernel(file, "batch_solve", &types)?;
    let units = gpu.device().properties().compute_units;
    let blocks = (units * BLOCKS_PER_UNIT).min(a.systems).max(1);
    let at: &Executor = x.executor();
    let bases = Buffer::<T::Arith>::room(at, blocks * (restart.0 + 1) * a.rows)?;
    let mut norms = Buffer::<T::Arith>::room(at, 2 * a.systems)?;
    let mut ended = Buffer::<u32>::room(at, 3 * a.systems)?;
    let arguments = [
        Argument::U32(a.systems as u32),
        Argument::U32(a.rows as u32),
        Argument::U32(a.width as u32),
        Argument::Address(a.columns.device()?),
        Argument::Address(a.values.device()?),
        Argument::Address(b.device()?),
        Argument::Address(x.device_mut()?),
        Argument::U32(u32::from(run.jacobi)),
        number(T::Arith::from_f64(run.rtol)),
        number(T::Arith::from_f64(run.atol)),
        Argument::U32(u32::try_from(run.most).unwrap_or(u32::MAX)),
        Argument::U32(run.restart.min(restart.0) as u32),
        Argument::Address(bases.device()?),
        Argument::Address(norms.device_mut()?),
        Argument::Address(ended.device_mut()?),
    ];
    gpu.launch_blocks(&kernel, blocks as u32, threads, &arguments)?;
    let systems = norms
        .host()?
        .chunks_exact(2)
        .zip(ended.host()?.chunks_exact(3));
    Ok(systems
        .map(|(norms, ended)| BatchEnded {
            status: ending(ended[0]),
            iterations: ended[1] as usize,
            size: norms[0].real().to_f64(),
            residual: norms[1].real().to_f64(),
            row: Some(ended[2] as usize).filter(|&row| row < a.rows),
        })
        .collect())
}

/// The room for a basis of GMRES, the largest one where more is asked for.
fn restart(asked: usize) -> (usize, &'static str) {
    let fitting = RESTARTS.iter().find(|(room, _)| *room >= asked);
    *fitting.unwrap_or(&RESTARTS[2])
}

/// What the kernels call it.
fn ending(code: u32) -> BatchEnding {
    match code {
        0 => BatchEnding::Converged,
        1 => BatchEnding::NonFinite,
        3 => BatchEnding::IterationLimit,
        4 => BatchEnding::AccuracyLimit,
        5 => BatchEnding::Indefinite,
        _ => BatchEnding::Breakdown,
    }
}
