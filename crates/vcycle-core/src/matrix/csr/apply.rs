//! Products with a CSR matrix, in every combination of precisions.

use std::borrow::Cow;
use std::sync::Arc;

use super::Csr;
use crate::cpu::Threads;
use crate::cpu::csr::Product;
use crate::error::Result;
use crate::executor::Executor;
use crate::gpu::Gpu;
use crate::launch::bsr;
use crate::launch::rows::{self, Finish, Operand};
use crate::launch::setup::Queue;
use crate::linop::{Footprint, LinOp, Size, Sweep, Transpose, check_apply};
use crate::reference::csr::{CsrArrays, SweepArrays};
use crate::scalar::{Mixes, Scalar};
use crate::vector::{Coefficient, Vector};
use crate::workspace::{Scratch, Workspace};
use crate::{cpu, reference};

/// Scratch for the sums of a transposed product.
type Sums<'w, M, X, Y> = Scratch<'w, Vector<<M as Mixes<X, Y>>::Accumulator>>;

impl<T: Scalar> Csr<T> {
    /// The arrays, for kernels of host executors.
    #[doc(hidden)]
    pub fn arrays(&self) -> Result<CsrArrays<'_, T>> {
        Ok(CsrArrays {
            offsets: self.offsets(),
            columns: self.columns(),
            values: self.values.host()?,
        })
    }

    /// The arrays, for loops over rows: looked up once, not for every row.
    ///
    /// # Panics
    /// When a device fails, from which values are copied to the host.
    #[doc(hidden)]
    pub fn at_hand(&self) -> CsrArrays<'_, T> {
        self.arrays().expect("the device still answers")
    }

    /// The matrix as kernels of its device take it, for vectors of so many columns.
    #[doc(hidden)]
    pub fn operand(&self, cols: usize) -> Result<Operand> {
        if let (true, Executor::Gpu(gpu)) = (self.copies.plain, self.executor()) {
            let [offsets, columns] = self.pattern.device()?;
            let entries = bsr::Blocks {
                size: self.size(),
                block: Size::square(1),
                count: self.nonzeros(),
                offsets,
                columns,
                values: self.values.device()?,
            };
            return Ok(bsr::rows(entries).operand(gpu, cols));
        }
        let layout = self.pattern.layout()?;
        if self.copies.placed.get().is_none() {
            let queue = Queue::of(self.executor()).expect("only devices have a layout");
            let values = layout.values(&queue, &self.pattern, &self.values)?;
            // Where two threads come here at once both have made the same.
            let _ = self.copies.placed.set(values);
        }
        layout.operand(self.copies.placed.get().expect("made just now"), cols)
    }

    /// Whether the layout for products with it is made already.
    #[doc(hidden)]
    pub fn is_placed(&self) -> bool {
        self.copies.placed.get().is_some()
    }

    /// The values on a device, as they are.
    #[doc(hidden)]
    pub fn device_values(&self) -> Result<vcycle_gpu::Address> {
        self.values.device()
    }

    /// A product on the device that has the matrix.
    pub(crate) fn multiply_on<X: Scalar, Y: Scalar>(
        &self,
        gpu: &Gpu,
        x: &Vector<X>,
        finish: &Finish<'_, Y>,
        y: &mut Vector<Y>,
    ) -> Result<()>
    where
        T: Mixes<X, Y>,
    {
        gpu.real(T::KIND)?;
        rows::multiply::<T, X, Y>(gpu, self.operand(x.cols())?, x, finish, y)
    }

    /// A product wherever the matrix is; operands were checked.
    fn multiply_by<X: Scalar, Y: Scalar>(
        &self,
        x: &Vector<X>,
        finish: &Finish<'_, Y>,
        y: &mut Vector<Y>,
    ) -> Result<()>
    where
        T: Mixes<X, Y>,
    {
        let threads = match self.executor() {
            Executor::Gpu(gpu) => return self.multiply_on(gpu, x, finish, y),
            Executor::Reference => return self.multiply_plainly(x, finish, y),
            Executor::Cpu(threads) => threads,
        };
        let product = Product::new(self.arrays()?, x.host()?, x.cols());
        let product = match finish {
            Finish::Apply => product,
            Finish::Combine { alpha, beta, z } => Product {
                alpha: alpha.on_host()?,
                beta: beta.on_host()?,
                z: z.map(Vector::host).transpose()?,
                ..product
            },
            Finish::Relax(sweep) => Product {
                sweep: Some(sweep_arrays(sweep)?),
                ..product
            },
        };
        self.run(product, threads, y.host_mut()?);
        Ok(())
    }

    /// The product as its definition reads.
    fn multiply_plainly<X: Scalar, Y: Scalar>(
        &self,
        x: &Vector<X>,
        finish: &Finish<'_, Y>,
        y: &mut Vector<Y>,
    ) -> Result<()>
    where
        T: Mixes<X, Y>,
    {
        let (a, cols) = (self.arrays()?, x.cols());
        let (x, y) = (x.host()?, y.host_mut()?);
        match finish {
            Finish::Apply => reference::csr::apply(a, x, y, cols),
            Finish::Combine { z: Some(b), .. } => {
                reference::csr::residual(b.host()?, a, x, y, cols);
            }
            Finish::Combine { alpha, beta, .. } => {
                let (alpha, beta) = (alpha.on_host()?, beta.on_host()?);
                reference::csr::apply_advanced(alpha, a, x, beta, y, cols);
            }
            Finish::Relax(sweep) => {
                reference::csr::relax(sweep_arrays(sweep)?, a, x, y, cols);
            }
        }
        Ok(())
    }

    /// The transpose, kept for the next time.
    fn kept_transpose(&self) -> Result<&Self> {
        if let Some(transposed) = self.copies.transposed.get() {
            return Ok(transposed);
        }
        let transposed = Arc::new(self.transpose()?);
        Ok(self.copies.transposed.get_or_init(|| transposed))
    }

    /// Runs a product with this matrix on threads.
    fn run<X: Scalar, Y: Scalar>(
        &self,
        product: Product<'_, T, X, Y>,
        threads: &Threads,
        y: &mut [Y],
    ) where
        T: Mixes<X, Y>,
    {
        let runs = match product.cols {
            1 => self.pattern.runs(),
            _ => &[],
        };
        product.run(threads, self.pattern.pieces(), runs, y);
    }

    fn sums<'w, X: Scalar, Y: Scalar>(
        &self,
        rows: usize,
        cols: usize,
        ws: &'w Workspace,
    ) -> Result<Sums<'w, T, X, Y>>
    where
        T: Mixes<X, Y>,
    {
        ws.vector(self.executor(), rows, cols)
    }
}

/// A sweep as kernels of the host take it.
fn sweep_arrays<'a, Y: Scalar>(sweep: &Sweep<'a, Y>) -> Result<SweepArrays<'a, Y>> {
    Ok(SweepArrays {
        b: sweep.b.host()?,
        d: sweep.d.host()?,
        alpha: sweep.alpha,
        beta: sweep.beta,
        gamma: sweep.gamma,
    })
}

impl<M, X, Y> LinOp<X, Y> for Csr<M>
where
    M: Mixes<X, Y> + Mixes<Y, X>,
    X: Scalar,
    Y: Scalar,
{
    fn size(&self) -> Size {
        self.size()
    }

    fn executor(&self) -> &Executor {
        self.executor()
    }

    fn apply(&self, x: &Vector<X>, y: &mut Vector<Y>, _ws: &Workspace) -> Result<()> {
        check_apply("csr product", self.size(), self.executor(), x, y)?;
        self.multiply_by(x, &Finish::Apply, y)
    }

    fn apply_advanced(
        &self,
        alpha: Coefficient<'_, Y>,
        x: &Vector<X>,
        beta: Coefficient<'_, Y>,
        y: &mut Vector<Y>,
        _ws: &Workspace,
    ) -> Result<()> {
        check_apply("csr product", self.size(), self.executor(), x, y)?;
        let z = None;
        self.multiply_by(x, &Finish::Combine { alpha, beta, z }, y)
    }

    fn residual(
        &self,
        b: &Vector<Y>,
        x: &Vector<X>,
        r: &mut Vector<Y>,
        _ws: &Workspace,
    ) -> Result<()> {
        check_apply("csr residual", self.size(), self.executor(), x, r)?;
        check_apply("csr residual", self.size(), self.executor(), x, b)?;
        self.multiply_by(x, &Finish::residual(b), r)
    }

    fn relax(
        &self,
        sweep: Sweep<'_, Y>,
        x: &Vector<X>,
        y: &mut Vector<Y>,
        _ws: &Workspace,
    ) -> Result<()>
    where
        Y: Mixes<Y, Y>,
    {
        self.executor().check_same(x.executor(), "csr relaxation")?;
        sweep.check(self.size(), x, y)?;
        self.multiply_by(x, &Finish::Relax(sweep), y)
    }

    fn apply_transposed(
        &self,
        mode: Transpose,
        x: &Vector<Y>,
        y: &mut Vector<X>,
        ws: &Workspace,
    ) -> Result<()> {
        let size = self.size().transposed();
        check_apply("transposed csr product", size, self.executor(), x, y)?;
        if let Executor::Gpu(gpu) = self.executor() {
            let transposed = self.kept_transpose()?;
            return transposed.multiply_on(gpu, x, &Finish::Apply, y);
        }
        let (a, cols) = (self.arrays()?, x.cols());
        let (x, y) = (x.host()?, y.host_mut()?);
        let conjugate = mode == Transpose::Conjugate;
        match self.executor() {
            Executor::Gpu(_) => unreachable!("devices have kernels of their own"),
            Executor::Reference => {
                let mut sums = self.sums::<Y, X>(size.rows, cols, ws)?;
                let sums = sums.host_mut()?;
                reference::csr::apply_transposed(conjugate, a, x, y, cols, sums);
            }
            Executor::Cpu(threads) => {
                let slices = self.pattern.slices();
                let rows = slices.iter().map(|slice| slice.columns.len()).sum();
                let mut sums = self.sums::<Y, X>(rows, cols, ws)?;
                let sums = sums.host_mut()?;
                cpu::csr::apply_transposed(threads, slices, conjugate, a, x, y, cols, sums);
            }
        }
        Ok(())
    }

    fn csr(&self) -> Option<Cow<'_, Csr<X>>> {
        if let Some(same) = (self as &dyn std::any::Any).downcast_ref::<Csr<X>>() {
            return Some(Cow::Borrowed(same));
        }
        self.convert().ok().map(Cow::Owned)
    }

    fn footprint(&self) -> Footprint {
        Footprint {
            held: self.bytes(),
            moved: self.bytes(),
        }
    }
}
