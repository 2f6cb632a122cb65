//! Launches of matrix products, and of what is made of their sums: scaled results, residuals, sweeps.

use vcycle_gpu::Argument;

use crate::arrays::{CoefficientParts, Sweep};
use crate::gpu::{BLOCK, Bits, Define, Gpu, Launch, Passes, Read, Write, literal, number};
use crate::prelude::*;

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

    /// What `FINISH` of `kernels/rows.h` is.
    fn name(&self) -> &'static str {
        match self {
            Finish::Apply => "APPLY",
            Finish::Combine { .. } => "COMBINE",
            Finish::Relax(_) => "RELAX",
        }
    }

    /// What `FINISH_PARAMETERS` stands for.
    fn parts(&self, y: &mut Vector<Y>) -> Result<FinishParts> {
        let zero = Coefficient::zero();
        let to: Write<Y> = y.pass()?;
        let (alpha, beta, gamma, z, d) = match self {
            Finish::Apply => (zero, zero, 0.0, Read::default(), None),
            Finish::Combine { alpha, beta, z } => {
                let z = z.map_or_else(|| to.pass(), Passes::pass)?;
                (*alpha, *beta, 0.0, z, None)
            }
            Finish::Relax(sweep) => {
                let [alpha, beta] = [sweep.alpha, sweep.beta].map(Coefficient::real);
                (alpha, beta, sweep.gamma, sweep.b.pass()?, Some(sweep.d))
            }
        };
        let (alpha, beta) = (by_name(alpha)?, by_name(beta)?);
        let gamma = number(Y::Arith::from_f64(gamma));
        let d: Read<Y> = d.pass()?;
        Ok((alpha, beta, gamma, z.bits(), d.bits(), to.bits()))
    }
}

/// A coefficient whose type kernels know by its name.
fn by_name<T: Scalar>(coefficient: Coefficient<'_, T>) -> Result<CoefficientParts<Argument, Bits>> {
    let (factor, a, b, c, d, e): CoefficientParts<T::Arith> = coefficient.pass()?;
    Ok((
        number(factor),
        a.bits(),
        b.bits(),
        c.bits(),
        d.bits(),
        e.bits(),
    ))
}

/// What `FINISH_PARAMETERS` of `kernels/rows.h` stands for.
pub(crate) type FinishParts = (
    CoefficientParts<Argument, Bits>,
    CoefficientParts<Argument, Bits>,
    Argument,
    Read<Bits>,
    Read<Bits>,
    Write<Bits>,
);

/// The input of a product on a device and what becomes of it. Kernels know types by their names, so that launches are compiled once for all types.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceProduct<'a> {
    pub gpu: &'a Gpu,
    /// The types, and what becomes of the sums.
    pub defines: [Define; 5],
    /// Whether numbers are complex.
    pub is_complex: bool,
    /// The input, of so many columns.
    pub x: Read<Bits>,
    pub cols: usize,
    pub to: FinishParts,
}

impl<'a> DeviceProduct<'a> {
    /// With a matrix of a type, in arithmetic of another one.
    pub(crate) fn new<X: Scalar, Y: Scalar>(
        gpu: &'a Gpu,
        [matrix, arithmetic]: [&'static str; 2],
        x: &Vector<X>,
        finish: &Finish<'_, Y>,
        y: &mut Vector<Y>,
    ) -> Result<Self> {
        let input: Read<X> = x.pass()?;
        Ok(Self {
            gpu,
            defines: [
                ("M", matrix),
                ("X", X::NAME),
                ("Y", Y::NAME),
                ("ACC", arithmetic),
                ("FINISH", finish.name()),
            ],
            is_complex: X::KIND.is_complex(),
            x: input.bits(),
            cols: x.cols(),
            to: finish.parts(y)?,
        })
    }

    /// Runs a kernel of `kernels/by_rows.h` whose neighbouring threads share rows of `length` entries.
    pub(crate) fn by_rows(&self, launch: Launch, (rows, length): (usize, usize)) -> Result<()> {
        let threads = threads_for(self.gpu, length);
        let each = if self.cols == 1 { 1 } else { COLUMNS };
        let blocks = (rows * threads).div_ceil(BLOCK as usize) * self.cols.div_ceil(each);
        launch
            .with(&self.defines)
            .with(&[("THREADS", literal(threads)), ("COLUMNS", literal(each))])
            .run(self.gpu, blocks)
    }
}

/// Threads for rows of so many entries, each with a few of them.
pub(crate) fn threads_for(gpu: &Gpu, length: usize) -> usize {
    let few = length.div_ceil(4).next_power_of_two();
    few.clamp(1, gpu.width().min(32))
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
