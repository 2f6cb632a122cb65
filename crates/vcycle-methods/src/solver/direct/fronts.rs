//! Factors on a device, by dense fronts.

use std::fmt::{Debug, Formatter};
use std::sync::Arc;

use super::checks::Quality;
use super::tree::tree;
use crate::error::Result;
use crate::executor::{Buffer, Executor, Workspace};
use crate::linop::{Footprint, LinOp, Size, Transpose, check_apply};
use crate::matrix::Csr;
use crate::operations::multifrontal::{self, Fronts};
use crate::scalar::{Field, Scalar};
use crate::vector::Vector;

/// The factors of a matrix on a device.
pub(super) struct Eliminated<F> {
    executor: Executor,
    n: usize,
    fronts: Arc<Fronts>,
    values: Buffer<F>,
}

impl<F> Debug for Eliminated<F> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "direct solver (fronts, {} rows)", self.n)
    }
}

impl<F: Field> Eliminated<F> {
    /// Of a matrix on a device, with the fronts of another one of the same pattern. None where pivots are too small.
    ///
    /// # Errors
    /// For a matrix that is singular whatever its values are, and when memory is short.
    pub fn new(
        a: &Csr<F>,
        is_hermitian: bool,
        known: Option<&Arc<Fronts>>,
        ws: &Workspace,
    ) -> Result<Option<Self>> {
        if let Some(fronts) = known
            && let Some(made) = Self::with_fronts(a, Arc::clone(fronts), ws)?
        {
            return Ok(Some(made));
        }
        // Other values may need another matching.
        let tree = {
            let _stage = ws.stage("order and fill", 0);
            tree(&a.copy_to(&a.executor().on_host())?, is_hermitian)?
        };
        let what = || "the factorisation of solver `direct`".to_owned();
        let executor = a.executor();
        executor.check_need(what, tree.values().saturating_mul(size_of::<F>()))?;
        match multifrontal::fronts(executor, tree) {
            Some(fronts) => Self::with_fronts(a, Arc::new(fronts), ws),
            None => Ok(None),
        }
    }

    fn with_fronts(a: &Csr<F>, fronts: Arc<Fronts>, ws: &Workspace) -> Result<Option<Self>> {
        let values = {
            let _stage = ws.stage("factors", 0);
            fronts.factorise(a.values_buffer())?
        };
        let Some(values) = values else {
            return Ok(None);
        };
        let made = Self {
            executor: a.executor().clone(),
            n: a.size().rows,
            fronts,
            values,
        };
        let is_good = Quality::of::<F>(&made, a, ws)?.is_good();
        Ok(is_good.then_some(made))
    }

    /// `x = A^-1 b`, or with the transposed matrix.
    fn solve<T: Scalar>(
        &self,
        transposed: Option<Transpose>,
        b: &Vector<T>,
        x: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        check_apply("direct", Size::square(self.n), &self.executor, b, x)?;
        let (rows, cols) = (b.rows(), b.cols());
        let mut given = ws.vector::<F>(&self.executor, rows, cols)?;
        let mut ordered = ws.vector::<F>(&self.executor, rows, cols)?;
        let mut work = ws.vector::<F>(&self.executor, self.fronts.work_rows(), cols)?;
        let mut solution = ws.vector::<F>(&self.executor, rows, cols)?;
        given.copy_from(b)?;
        let scratch = (&mut *work, &mut *ordered);
        self.fronts
            .solve(&self.values, transposed, &given, scratch, &mut solution)?;
        x.copy_from(&*solution)
    }

    /// What matrices of the same pattern share.
    pub fn fronts(&self) -> Arc<Fronts> {
        Arc::clone(&self.fronts)
    }
}

impl<F: Field, T: Scalar> LinOp<T> for Eliminated<F> {
    fn size(&self) -> Size {
        Size::square(self.n)
    }

    fn executor(&self) -> &Executor {
        &self.executor
    }

    fn apply(&self, b: &Vector<T>, x: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        self.solve(None, b, x, ws)
    }

    fn apply_transposed(
        &self,
        mode: Transpose,
        b: &Vector<T>,
        x: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        self.solve(Some(mode), b, x, ws)
    }

    fn footprint(&self) -> Footprint {
        let moved = self.values.bytes();
        Footprint {
            held: moved + self.fronts.bytes(),
            moved,
        }
    }
}
