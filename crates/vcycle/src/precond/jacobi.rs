//! The diagonal of the matrix, inverted.

use std::sync::Arc;

use num_traits::{One, Zero};

use crate::error::{Error, Result};
use crate::executor::{Executor, Workspace};
use crate::linop::{Factory, Footprint, LinOp, Size, Transpose, check_square, entries};
use crate::scalar::{Field, Mixes, Scalar};
use crate::vector::Vector;

/// `M = omega D^-1` with the diagonal `D` of the matrix.
///
/// **Choose it** when nothing better is affordable: it costs one vector and repairs bad scaling.
/// As a smoother it needs damping (`omega` near 2/3 for Poisson problems).
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Jacobi {
    /// The damping `omega`.
    pub weight: f64,
}

impl Default for Jacobi {
    fn default() -> Self {
        Self { weight: 1.0 }
    }
}

impl<T: Mixes<T, T>> Factory<T> for Jacobi {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("jacobi set-up", 0);
        check_square(a.as_ref(), "jacobi")?;
        let weight = T::Arith::from_f64(self.weight);
        let mut inverse = entries(a.as_ref(), "jacobi")?.diagonal();
        for (row, value) in inverse.iter_mut().enumerate() {
            if value.load().is_zero() {
                return Err(Error::ZeroDiagonal {
                    component: "jacobi",
                    row,
                });
            }
            *value = T::store(weight * (T::Arith::one() / value.load()));
        }
        Ok(Arc::new(Diagonal {
            values: Vector::from_column(a.executor(), inverse),
        }))
    }
}

/// A diagonal matrix as an operator.
#[derive(Clone, Debug)]
pub struct Diagonal<T> {
    values: Vector<T>,
}

impl<D: Mixes<T, T>, T: Scalar> LinOp<T> for Diagonal<D> {
    fn size(&self) -> Size {
        Size::square(self.values.rows())
    }

    fn executor(&self) -> &Executor {
        self.values.executor()
    }

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>, _ws: &Workspace) -> Result<()> {
        y.scale_rows(&self.values, false, x)
    }

    fn apply_transposed(
        &self,
        mode: Transpose,
        x: &Vector<T>,
        y: &mut Vector<T>,
        _ws: &Workspace,
    ) -> Result<()> {
        y.scale_rows(&self.values, mode == Transpose::Conjugate, x)
    }

    fn footprint(&self) -> Footprint {
        Footprint {
            held: self.values.bytes(),
            moved: self.values.bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Csr;

    #[test]
    fn a_zero_diagonal_is_named() {
        let host = Executor::reference();
        let a: Arc<dyn LinOp<f64>> = Arc::new(Csr::diagonal_matrix(&host, vec![1.0, 0.0]));
        let result = Jacobi::default().generate(&a, &Workspace::new());
        assert!(matches!(result, Err(Error::ZeroDiagonal { row: 1, .. })));
    }
}
