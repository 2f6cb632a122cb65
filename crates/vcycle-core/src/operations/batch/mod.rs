//! Many small systems at once, on devices: a block of threads each.

mod arrays;
mod direct;
mod narrow;

use vcycle_kernels::compiled_fn;

pub use self::arrays::{BatchArrays, BatchPattern};
use crate::gpu::{Given, kernels::batch as kernels};
use crate::launch::prelude::*;
use crate::scalar::RealOf;

/// What solves a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchIteration {
    /// Conjugate gradients.
    Cg,
    /// Stabilised biconjugate gradients.
    Bicgstab,
    /// Generalised minimal residuals.
    Gmres,
    /// LU factorisation with partial pivoting, in the band.
    Direct,
}

/// What preconditions an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchInverse {
    /// Nothing.
    None,
    /// The diagonal.
    Jacobi,
    /// Blocks of so many rows.
    Blocks(usize),
    /// Incomplete factors on the pattern.
    Ilu0,
    /// The approximate inverse on the pattern.
    Isai,
}

/// How every system is solved.
#[derive(Clone, Copy, Debug)]
pub struct BatchRun {
    /// The iteration.
    pub method: BatchIteration,
    /// What preconditions it.
    pub inverse: BatchInverse,
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
    /// The norm of the true residual over that of the right-hand side, where that is not zero.
    pub residual: f64,
    /// The row that has no pivot.
    pub row: Option<usize>,
}

/// How the systems of a batch ended, in the memory of the device.
#[derive(Debug)]
pub struct BatchEndings {
    rows: usize,
    ended: Buffer<u32>,
}

impl BatchEndings {
    /// What is made of each, on the host, once all are solved.
    pub fn read<R>(&self, make: impl Fn(BatchEnded) -> R) -> Result<Vec<R>> {
        let systems = self.ended.host()?.chunks_exact(4);
        Ok(systems.map(|words| make(ended(self.rows, words))).collect())
    }
}

/// Rooms of a vector that kernels are compiled for; more do not fit local memory everywhere.
const ROOMS: [usize; 7] = [32, 64, 128, 192, 256, 384, 512];
/// Rooms of factors, likewise.
const FACTORS: [usize; 12] = [
    1, 64, 128, 256, 512, 1024, 1536, 2048, 2688, 3072, 4096, 5120,
];
/// Vectors that GMRES may keep, likewise.
const RESTARTS: [usize; 3] = [10, 20, 30];
/// Blocks of one compute unit.
const BLOCKS_PER_UNIT: usize = 16;
/// Bytes of local memory that every program may have: CUDA allows no more without being asked.
const LOCAL_BYTES: usize = 48 << 10;
/// Bytes of global memory that all blocks have at most for what does not fit local memory.
const ROOM_BYTES: usize = 1 << 29;
/// `MOST_OF_BLOCK` of `batch_inverse.h`.
const MOST_OF_BLOCK: usize = 32;
/// Entries of a row for which a thread solves a system of its own.
const MOST_OF_ROW: usize = 64;

compiled_fn! {
    /// Queues the solves of all systems, starting from `x`; right-hand sides and solutions lie one behind the other, or side by side:
    /// row after row, a column for every system.
    pub fn solve[any T: Scalar](run: &BatchRun, a: &BatchArrays<T>, b: &Vector<T>, x: &mut Vector<T>) -> Result<BatchEndings> {
        match x.executor().clone() {
            Executor::Gpu(gpu) => solve_on(&gpu, run, a, b, x),
            host => Err(host.lacks("batches of devices", "any of them")),
        }
    }
}

compiled_fn! {
    /// Matrices of a pattern with these values, row by row and one matrix after the other, in the memory of a device.
    pub fn arrays[any T: Scalar](pattern: BatchPattern, values: &Buffer<T>) -> Result<BatchArrays<T>> {
        arrays::padded(pattern, values)
    }
}

fn solve_on<T: Scalar>(
    gpu: &Gpu,
    run: &BatchRun,
    a: &BatchArrays<T>,
    b: &Vector<T>,
    x: &mut Vector<T>,
) -> Result<BatchEndings> {
    let is_direct = run.method == BatchIteration::Direct;
    if let Some(narrow) = narrow::Narrow::new::<T>(&a.pattern).filter(|_| is_direct) {
        return narrow.solve(gpu, run, a, b, x);
    }
    if x.cols() == 1 {
        return by_blocks(gpu, run, a, b, x);
    }
    let (rows, systems) = (a.pattern.rows, a.systems);
    let sides = arrays::turned(b.buffer(), rows, systems)?;
    let guesses = arrays::turned(x.buffer(), rows, systems)?;
    let sides = Vector::from_buffer(1, sides)?;
    let mut solutions = Vector::from_buffer(1, guesses)?;
    let endings = by_blocks(gpu, run, a, &sides, &mut solutions)?;
    *x = Vector::from_buffer(systems, arrays::turned(solutions.buffer(), systems, rows)?)?;
    Ok(endings)
}

fn by_blocks<T: Scalar>(
    gpu: &Gpu,
    run: &BatchRun,
    a: &BatchArrays<T>,
    b: &Vector<T>,
    x: &mut Vector<T>,
) -> Result<BatchEndings> {
    match run.method == BatchIteration::Direct {
        true => direct::solve(gpu, run, a, b, x),
        false => iterate(gpu, run, a, b, x),
    }
}

/// What a kernel has to know of a preconditioner.
struct Preconditioner {
    /// `INVERSE` of the kernel.
    inverse: &'static str,
    /// Rows of a block.
    size: usize,
    /// Numbers of its factors.
    factors: usize,
    /// Numbers that a thread needs for a row.
    of_row: usize,
}

impl Preconditioner {
    fn new(inverse: BatchInverse, pattern: &BatchPattern) -> Self {
        let (rows, width) = (pattern.rows, pattern.width);
        let (inverse, size, factors, of_row) = match inverse {
            BatchInverse::None => ("0", 1, 1, 0),
            BatchInverse::Jacobi => ("1", 1, rows, 0),
            BatchInverse::Blocks(size) => ("2", size.min(rows), size.min(rows) * rows, 0),
            BatchInverse::Ilu0 => ("3", 1, rows * width, 0),
            BatchInverse::Isai => ("4", 1, rows * width, width * (width + 1)),
        };
        Self {
            inverse,
            size,
            factors,
            of_row,
        }
    }
}

fn iterate<T: Scalar>(
    gpu: &Gpu,
    run: &BatchRun,
    a: &BatchArrays<T>,
    b: &Vector<T>,
    x: &mut Vector<T>,
) -> Result<BatchEndings> {
    let (pattern, item) = (&a.pattern, size_of::<T::Arith>());
    let rows = pattern.rows;
    check(gpu, run, pattern)?;
    let (method, vectors, restart) = match run.method {
        BatchIteration::Cg => ("0", 3, 1),
        BatchIteration::Gmres => ("2", 1, restart(run.restart)),
        _ => ("1", 5, 1),
    };
    let Preconditioner {
        inverse,
        size,
        factors,
        of_row,
    } = Preconditioner::new(run.inverse, pattern);
    let threads = if rows <= 64 { 32 } else { kernels::FILE.block };
    let small = restart * (restart + 4) + 1;
    let used = |room: usize| ((2 + vectors) * room + small + threads as usize) * item;
    let room = room(gpu, rows, used)?;
    let held = factor_room(gpu, factors, used(room), item);
    let global = if held == 0 { factors } else { 0 };
    let of_rows = of_row * threads as usize;
    let basis = (restart + 1) * rows;
    let blocks = blocks(gpu, a.systems, (basis + global + of_rows) * item);
    let at: &Executor = &x.executor().clone();
    let mut bases = Buffer::<T::Arith>::room(at, blocks * basis)?;
    let mut rooms = Buffer::<T::Arith>::room(at, (blocks * global).max(1))?;
    let mut row_rooms = Buffer::<T::Arith>::room(at, (blocks * of_rows).max(1))?;
    let defines = [
        ("ROWS", literal(room)),
        ("FACTORS", literal(held)),
        ("METHOD", method),
        ("RESTART", literal(restart)),
        ("INVERSE", inverse),
    ];
    let levels = &pattern.levels;
    let mut endings = BatchEndings::new(a, at)?;
    kernels::batch_solve::<T>(
        endings.parts(run, a, b, x)?,
        run.restart.min(restart),
        &mut bases,
        size,
        pattern.left,
        levels.forward,
        levels.backward,
        &levels.order,
        &levels.starts,
        factors,
        &mut rooms,
        of_rows,
        &mut row_rooms,
    )?
    .block(threads)
    .with(&defines)
    .run(gpu, blocks)?;
    Ok(endings)
}

/// Fails for preconditioners that need more than a device has for them.
fn check(gpu: &Gpu, run: &BatchRun, pattern: &BatchPattern) -> Result<()> {
    let refuse = |what: String| Err(gpu.lacks("a batch", &what));
    match run.inverse {
        BatchInverse::Blocks(size) if size > MOST_OF_BLOCK => refuse(format!(
            "block-jacobi with blocks of {size} rows; {MOST_OF_BLOCK} at most"
        )),
        BatchInverse::Isai if pattern.width > MOST_OF_ROW => refuse(format!(
            "isai with {} entries in a row; {MOST_OF_ROW} at most",
            pattern.width
        )),
        _ => Ok(()),
    }
}

/// What `BATCH` of the kernels stands for.
type BatchParts<T> = (
    u32,
    u32,
    u32,
    Read<u32>,
    Read<u32>,
    Read<u32>,
    Read<T>,
    Read<T>,
    Write<T>,
    RealOf<T>,
    RealOf<T>,
    u32,
    Write<u32>,
);

impl BatchEndings {
    /// Room for how the systems of a batch end.
    fn new<T: Scalar>(a: &BatchArrays<T>, executor: &Executor) -> Result<Self> {
        Ok(Self {
            rows: a.pattern.rows,
            ended: Buffer::room(executor, 4 * a.systems)?,
        })
    }

    /// What all kernels are given.
    fn parts<T: Scalar>(
        &mut self,
        run: &BatchRun,
        a: &BatchArrays<T>,
        b: &Vector<T>,
        x: &mut Vector<T>,
    ) -> Result<Given<BatchParts<T>>> {
        let pattern = &a.pattern;
        Ok(Given((
            a.systems as u32,
            pattern.rows as u32,
            pattern.width as u32,
            pattern.columns.pointer()?,
            pattern.lengths.pointer()?,
            pattern.diagonal.pointer()?,
            a.values.pointer()?,
            b.pass()?,
            x.pass()?,
            RealOf::<T>::from_f64(run.rtol),
            RealOf::<T>::from_f64(run.atol),
            u32::try_from(run.most).unwrap_or(u32::MAX),
            self.ended.pointer_mut()?,
        )))
    }
}

fn ended(rows: usize, words: &[u32]) -> BatchEnded {
    BatchEnded {
        status: ending(words[0]),
        iterations: words[1] as usize,
        residual: f64::from(f32::from_bits(words[3])),
        row: Some(words[2] as usize).filter(|&row| row < rows),
    }
}

/// The room of a vector where a kernel uses so many bytes of local memory for a room.
fn room(gpu: &Gpu, rows: usize, used: impl Fn(usize) -> usize) -> Result<usize> {
    let bytes = local_bytes(gpu);
    let fits = |&room: &usize| used(room) + 64 <= bytes;
    let largest = ROOMS.into_iter().rfind(fits).unwrap_or(0);
    match ROOMS.into_iter().find(|&room| rows <= room) {
        Some(room) if room <= largest => Ok(room),
        _ => {
            let operation = format!("systems of {rows} rows; {largest} at most");
            Err(gpu.lacks("a batch", &operation))
        }
    }
}

/// Local memory that a program may have.
fn local_bytes(gpu: &Gpu) -> usize {
    gpu.device().properties().local_memory.min(LOCAL_BYTES)
}

/// The room of factors in local memory beside what is used of it; none where they do not fit.
fn factor_room(gpu: &Gpu, factors: usize, used: usize, item: usize) -> usize {
    let bytes = local_bytes(gpu);
    let fits = |&room: &usize| room >= factors && used + room * item + 64 <= bytes;
    FACTORS.into_iter().find(fits).unwrap_or(0)
}

/// Blocks that keep the device busy, as many as there is memory for what each has of it.
fn blocks(gpu: &Gpu, systems: usize, bytes: usize) -> usize {
    let busy = gpu.device().properties().compute_units * BLOCKS_PER_UNIT;
    busy.min(systems).min(ROOM_BYTES / bytes.max(1)).max(1)
}

/// The size of a basis of GMRES, the largest one where more is requested.
fn restart(requested: usize) -> usize {
    let fitting = |&size: &usize| size >= requested;
    RESTARTS.into_iter().find(fitting).unwrap_or(RESTARTS[2])
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
