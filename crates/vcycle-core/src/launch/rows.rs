//! Launches of matrix products, and of what is made of their sums: scaled results, residuals, sweeps.

use vcycle_gpu::{Address, Argument};

use super::scalars::{coefficient_arguments, number};
use crate::arrays::Sweep;
use crate::arrays::{Coefficient, Vector};
use crate::error::Result;
use crate::gpu::{BLOCK, Define, File, Gpu};
use crate::scalar::{Field, Kind, Mixes, Scalar};
use crate::size::Size;

/// Threads that keep a large device busy.
const BUSY: usize = 1 << 18;
/// Most columns of the vectors that a thread holds sums of.
const COLUMNS: usize = 4;

/// What becomes of the sums of a product, as in `kernels/rows.h`.
#[derive(Clone, Copy, Debug)]
pub enum Finish<'a, Y: Scalar> {
    /// `y = A x`.
    Apply,
    /// `y = alpha A x + beta z`; without `z` it is `y` itself.
    Combine {
        /// The factor of the product.
        alpha: Coefficient<'a, Y>,
        /// The factor of `z`.
        beta: Coefficient<'a, Y>,
        /// What is added; the old `y` where there is none.
        z: Option<&'a Vector<Y>>,
    },
    /// `y = alpha d (b - A x) + beta x + gamma y`.
    Relax(Sweep<'a, Y>),
}

impl<'a, Y: Scalar> Finish<'a, Y> {
    /// `y = b - A x`.
    pub fn residual(b: &'a Vector<Y>) -> Self {
        Finish::Combine {
            alpha: Coefficient::real(-1.0),
            beta: Coefficient::one(),
            z: Some(b),
        }
    }

    /// What adds the product with another part of the matrix to a product that is finished.
    pub(crate) fn more(&self) -> Self {
        let alpha = match self {
            Finish::Combine { alpha, .. } => *alpha,
            _ => Coefficient::one(),
        };
        Finish::Combine {
            alpha,
            beta: Coefficient::one(),
            z: None,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Finish::Apply => "APPLY",
            Finish::Combine { .. } => "COMBINE",
            Finish::Relax(_) => "RELAX",
        }
    }

    /// What `FINISH_PARAMETERS` stands for.
    fn arguments(&self, y: &mut Vector<Y>) -> Result<Vec<Argument>> {
        let zero = Coefficient::zero();
        let to = y.device_mut()?;
        let (alpha, beta, gamma, z, d) = match self {
            Finish::Apply => (zero, zero, 0.0, 0, 0),
            Finish::Combine { alpha, beta, z } => {
                let z = z.map_or(Ok(to), Vector::device)?;
                (*alpha, *beta, 0.0, z, 0)
            }
            Finish::Relax(sweep) => {
                let [alpha, beta] = [sweep.alpha, sweep.beta].map(Coefficient::real);
                let (b, d) = (sweep.b.device()?, sweep.d.device()?);
                (alpha, beta, sweep.gamma, b, d)
            }
        };
        let mut arguments = Vec::with_capacity(24);
        arguments.extend(coefficient_arguments(alpha)?);
        arguments.extend(coefficient_arguments(beta)?);
        arguments.push(number(Y::Arith::from_f64(gamma)));
        arguments.extend([z, d, to].map(Argument::Address));
        Ok(arguments)
    }
}

/// A matrix as `kernels/by_rows.c` or `kernels/sliced.c` take it.
pub struct Operand {
    /// The file of the format.
    pub file: File,
    /// The kernel of the file.
    pub kernel: &'static str,
    /// Definitions of the format.
    pub defines: Vec<Define>,
    /// Blocks of threads.
    pub blocks: usize,
    /// What comes before the values.
    pub arguments: Vec<Argument>,
    /// The values.
    pub values: Address,
}

/// What a matrix is multiplied with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inputs {
    /// Columns of the vectors.
    pub cols: usize,
    /// The type they are stored in.
    pub kind: Kind,
}

impl Inputs {
    /// For products with a vector.
    pub fn of<X: Scalar>(x: &Vector<X>) -> Self {
        Self {
            cols: x.cols(),
            kind: X::KIND,
        }
    }
}

/// Queues the product and what becomes of it.
pub(crate) fn multiply<M, X, Y>(
    gpu: &Gpu,
    a: Operand,
    x: &Vector<X>,
    finish: &Finish<'_, Y>,
    y: &mut Vector<Y>,
) -> Result<()>
where
    M: Mixes<X, Y>,
    X: Scalar,
    Y: Scalar,
{
    multiply_in(gpu, a, [M::KIND, M::Accumulator::KIND], x, finish, y)
}

/// The same for a matrix and with arithmetic of types that are known by their names only.
pub(crate) fn multiply_in<X: Scalar, Y: Scalar>(
    gpu: &Gpu,
    a: Operand,
    [matrix, arithmetic]: [Kind; 2],
    x: &Vector<X>,
    finish: &Finish<'_, Y>,
    y: &mut Vector<Y>,
) -> Result<()> {
    let mut defines = vec![
        ("M", matrix.name()),
        ("X", X::KIND.name()),
        ("Y", Y::KIND.name()),
        ("ACC", arithmetic.name()),
        ("FINISH", finish.name()),
    ];
    defines.extend(a.defines);
    let kernel = gpu.kernel(a.file, a.kernel, &defines)?;
    let mut arguments = a.arguments;
    arguments.extend([a.values, x.device()?].map(Argument::Address));
    arguments.extend(finish.arguments(y)?);
    match a.blocks {
        0 => Ok(()),
        blocks => {
            // What is left is done by the same blocks.
            let blocks = blocks.min(i32::MAX as usize) as u32;
            gpu.launch_blocks(&kernel, blocks, a.file.block, &arguments)
        }
    }
}

/// A format whose rows `kernels/by_rows.c` walks along.
pub(crate) struct ByRows {
    /// The file of the format, with the kernel behind.
    pub file: File,
    pub size: Size,
    /// Entries of a row that neighbouring threads share, in the mean.
    pub length: usize,
    /// Definitions of the format.
    pub defines: Vec<Define>,
    /// What `MATRIX_PARAMETERS` stands for.
    pub arguments: Vec<Argument>,
    pub values: Address,
}

impl ByRows {
    /// For vectors of so many columns, with neighbouring threads on a row.
    pub(crate) fn operand(mut self, gpu: &Gpu, cols: usize) -> Operand {
        let threads = threads_for(gpu, self.length);
        self.defines.extend([
            ("THREADS", power(threads)),
            ("COLUMNS", power(columns_for(cols))),
        ]);
        let mut arguments = vec![
            Argument::U32(self.size.rows as u32),
            Argument::U32(cols as u32),
        ];
        arguments.extend(self.arguments);
        Operand {
            file: self.file,
            kernel: "by_rows",
            defines: self.defines,
            blocks: (self.size.rows * threads).div_ceil(BLOCK as usize) * groups_for(cols),
            arguments,
            values: self.values,
        }
    }
}

/// Threads for rows of so many entries, each with a few of them.
pub(crate) fn threads_for(gpu: &Gpu, length: usize) -> usize {
    let few = length.div_ceil(4).next_power_of_two();
    few.clamp(1, gpu.width().min(32))
}

/// How many of so many columns a thread holds sums of.
pub(crate) fn columns_for(cols: usize) -> usize {
    if cols == 1 { 1 } else { COLUMNS }
}

/// How often so many columns are shared among blocks.
pub(crate) fn groups_for(cols: usize) -> usize {
    cols.div_ceil(columns_for(cols))
}

/// How threads share the columns of vectors.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    /// Those of a thread, which divide all.
    pub each: usize,
    /// Threads side by side, as `shift_of` in `kernels/rows.h` finds them.
    pub spread: usize,
}

impl Columns {
    /// For so many columns and values of so many bytes: a thread has no more than come in 16 bytes, and a power of two shares them all.
    pub fn new(cols: usize, bytes: usize) -> Self {
        let most = if bytes == 8 { 2 } else { 4 };
        let each = (1 << cols.trailing_zeros().min(2)).min(most);
        let spread = (cols / each).next_power_of_two().min(32);
        Self { each, spread }
    }

    /// Of the lanes of so many rows, `lanes` each, how many threads of a block share: no more than keep a device busy, because neighbouring rows
    /// find more of the input in common than the entries of a row.
    pub fn shared_lanes(&self, block: usize, rows: usize, lanes: usize) -> usize {
        if self.spread == 1 {
            return lanes;
        }
        let mut shared = 1;
        while shared < lanes.min(block / self.spread) && rows * self.spread * shared < BUSY {
            shared *= 2;
        }
        shared
    }

    /// How often the threads have to come for all of them.
    pub fn groups(&self, cols: usize) -> usize {
        cols.div_ceil(self.each * self.spread)
    }
}

/// A power of two up to 64, as a definition.
pub(crate) fn power(value: usize) -> &'static str {
    const POWERS: [&str; 7] = ["1", "2", "4", "8", "16", "32", "64"];
    POWERS[value.trailing_zeros() as usize]
}

/// Includes the files of `kernels/` that make up a product by rows in a format.
macro_rules! product_file {
    ($block:expr, $name:literal $(, $more:literal)?) => {
        crate::gpu::File {
            name: $name,
            text: concat!(
                include_str!("../gpu/kernels/rows.h"),
                include_str!(concat!("../gpu/kernels/", $name)),
                $(include_str!(concat!("../gpu/kernels/", $more)),)?
            ),
            block: $block,
        }
    };
}
pub(crate) use product_file;

#[cfg(test)]
mod tests {
    use super::Columns;

    #[test]
    fn few_rows_share_lanes() {
        let columns = Columns::new(32, 4);
        assert_eq!(columns.shared_lanes(128, 1 << 16, 8), 1);
        assert_eq!(columns.shared_lanes(128, 1 << 13, 8), 4);
        assert_eq!(columns.shared_lanes(128, 100, 32), 16);
        assert_eq!(columns.shared_lanes(128, 100, 2), 2);
        assert_eq!(Columns::new(2, 8).shared_lanes(128, 1 << 20, 8), 8);
    }

    #[test]
    fn neighbours_share_columns() {
        let of = |cols, bytes| {
            let columns = Columns::new(cols, bytes);
            [columns.each, columns.spread]
        };
        assert_eq!([of(1, 8), of(8, 8), of(32, 8)], [[1, 1], [2, 4], [2, 16]]);
        assert_eq!([of(4, 4), of(8, 2), of(32, 4)], [[4, 1], [4, 2], [4, 8]]);
        assert_eq!([of(5, 4), of(12, 4), of(100, 8)], [[1, 8], [4, 4], [2, 32]]);
    }
}
