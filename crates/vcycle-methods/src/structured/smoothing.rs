//! The smoothers of structured multigrid.

use std::sync::Arc;

use super::factor::{Factor, factorised};
use super::polynomial::polynomial;
use super::scaling::stored;
use super::survey::Survey;
use super::{Direction, StencilMatrix, Storage};
use crate::cpu::stencil::Vectors;
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::LinOp;
use crate::operations::Finish;
use crate::reference::stencil::Start;
use crate::scalar::{Mixes, Scalar};
use crate::text;
use crate::vector::Vector;

/// What smooths on the levels of structured multigrid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StencilSmoother {
    /// Gauss-Seidel, forward before the correction and backward after it.
    #[default]
    GaussSeidel,
    /// Jacobi, damped by the spectral radius.
    Jacobi,
    /// The Chebyshev polynomial of degree two over Jacobi.
    Chebyshev,
    /// Incomplete factorisation that changes the diagonal only.
    Dilu,
    /// Incomplete factorisation without fill-in. Twice the memory.
    Ilu0,
}

text::named!(StencilSmoother, "smoother": GaussSeidel = "gs", Jacobi = "jacobi", Chebyshev = "chebyshev", Dilu = "dilu", Ilu0 = "ilu0");

/// A smoother of one level.
#[derive(Debug)]
pub(super) enum StencilSmoothing<M, V: Scalar> {
    GaussSeidel,
    Polynomial {
        m: Arc<dyn LinOp<V>>,
        /// The product with the matrix of the level.
        product: Arc<dyn LinOp<V>>,
    },
    Factor(Box<Factor<M>>),
}

impl<M: Storage, V: Vectors + Mixes<V, V>> StencilSmoothing<M, V> {
    /// That of the level `number`, whose matrix is `a`, and of whose vectors there is a `product`.
    pub(super) fn new(
        smoother: StencilSmoother,
        a: &StencilMatrix<f64>,
        number: usize,
        product: &Arc<dyn LinOp<V>>,
        (executor, ws): (&Executor, &Workspace),
    ) -> Result<Self> {
        let of_degree = |degree| {
            Ok(Self::Polynomial {
                m: polynomial(degree, a, product, executor, ws)?,
                product: Arc::clone(product),
            })
        };
        let full = match smoother {
            StencilSmoother::GaussSeidel => return Ok(Self::GaussSeidel),
            StencilSmoother::Jacobi => return of_degree(1),
            StencilSmoother::Chebyshev => return of_degree(2),
            StencilSmoother::Dilu => false,
            StencilSmoother::Ilu0 => true,
        };
        let factor = factorised(a, full, number)?;
        let factor = stored(&factor, number, &Survey::new(&factor, M::KIND)?)?;
        factor.check_diagonal("struct-mg (incomplete factorisation)")?;
        Ok(Self::Factor(Box::new(Factor::new(factor, executor)?)))
    }

    /// One sweep with the matrix of the level.
    pub(super) fn smooth(
        &self,
        a: &StencilMatrix<M>,
        (direction, start): (Direction, Start),
        b: &Vector<V>,
        x: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        match (self, start) {
            (Self::GaussSeidel, _) => a.sweep((direction, start), b, x, ws),
            (Self::Polynomial { m, .. }, Start::Zero) => m.apply(b, x, ws),
            (Self::Polynomial { m, product }, Start::Guess) => {
                m.improve(1, product.as_ref(), b, x, ws)
            }
            (Self::Factor(factor), Start::Zero) => {
                x.fill(V::zero())?;
                factor.correct(b, x, ws)
            }
            (Self::Factor(factor), Start::Guess) => {
                let mut r = ws.vector_like::<V, V>(b)?;
                a.column(&Finish::residual(b), x, &mut r)?;
                factor.correct(&r, x, ws)
            }
        }
    }

    pub(super) fn is_gauss_seidel(&self) -> bool {
        matches!(self, Self::GaussSeidel)
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::GaussSeidel => 0,
            Self::Polynomial { m, .. } => m.footprint().held,
            Self::Factor(factor) => factor.bytes(),
        }
    }
}
