//! A preconditioner applied several times.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::executor::{Executor, Workspace};
use crate::linop::{Footprint, LinOp, Size, Transpose};
use crate::scalar::Scalar;
use crate::vector::{Coefficient, Vector};

/// `sweeps` steps `z += M (r - A z)` from `z = 0`; `once` itself for one sweep.
pub(super) fn repeated<T: Scalar>(
    component: &'static str,
    a: &Arc<dyn LinOp<T>>,
    once: Arc<dyn LinOp<T>>,
    sweeps: usize,
) -> Result<Arc<dyn LinOp<T>>> {
    match sweeps {
        0 => Err(Error::bad_parameter(
            "sweeps",
            format!("{component} needs at least 1"),
        )),
        1 => Ok(once),
        _ => Ok(Arc::new(Sweeps {
            a: Arc::clone(a),
            once,
            sweeps,
        })),
    }
}

#[derive(Debug)]
struct Sweeps<T: Scalar> {
    a: Arc<dyn LinOp<T>>,
    once: Arc<dyn LinOp<T>>,
    sweeps: usize,
}

impl<T: Scalar> LinOp<T> for Sweeps<T> {
    fn size(&self) -> Size {
        self.once.size()
    }

    fn executor(&self) -> &Executor {
        self.once.executor()
    }

    fn apply(&self, r: &Vector<T>, z: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        let [mut residual, mut step] = [ws.vector_like(r)?, ws.vector_like(r)?];
        self.once.apply(r, z, ws)?;
        for _ in 1..self.sweeps {
            self.a.residual(r, z, &mut residual, ws)?;
            self.once.apply(&residual, &mut step, ws)?;
            z.axpy(Coefficient::one(), &step)?;
        }
        Ok(())
    }

    /// The transpose of the sum of all sweeps is that of the same sweeps with `M^T` and `A^T`.
    fn apply_transposed(
        &self,
        mode: Transpose,
        r: &Vector<T>,
        z: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        let [mut residual, mut step] = [ws.vector_like(r)?, ws.vector_like(r)?];
        self.once.apply_transposed(mode, r, z, ws)?;
        for _ in 1..self.sweeps {
            self.a.apply_transposed(mode, z, &mut residual, ws)?;
            residual.axpby(Coefficient::one(), r, Coefficient::real(-1.0))?;
            self.once.apply_transposed(mode, &residual, &mut step, ws)?;
            z.axpy(Coefficient::one(), &step)?;
        }
        Ok(())
    }

    fn footprint(&self) -> Footprint {
        let (a, once) = (self.a.footprint(), self.once.footprint());
        Footprint {
            held: once.held,
            moved: self.sweeps * once.moved + (self.sweeps - 1) * a.moved,
        }
    }
}
