//! The smoothers of structured multigrid.

use super::factor::{Factor, factorised};
use super::scaling::stored;
use super::survey::Survey;
use super::{Direction, StencilMatrix, Storage};
use crate::cpu::stencil::Vectors;
use crate::eigen::{radius_from, scattered, spectral_radius};
use crate::linop::Sweep;
use crate::matrix::GridPart;
use crate::operations::Finish;
use crate::precond::{ChebyshevPolynomial, Diagonal};
use crate::prelude::*;
use crate::reference::stencil::Start;
use crate::scalar::convert;
use crate::text;

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

/// The [polynomial](ChebyshevPolynomial) in `D^-1 A`, with `D` the diagonal of `a`; of degree one it is Jacobi with the best
/// weight. Vectors are unknown by unknown, and `product` is the one with the matrix as it is stored.
fn polynomial<V: Vectors + Mixes<V, V>>(
    degree: usize,
    a: &StencilMatrix<f64>,
    product: &Arc<dyn LinOp<V>>,
    executor: &Executor,
    ws: &Workspace,
) -> Result<Arc<dyn LinOp<V>>> {
    let inverse = |value: f64| 1.0 / value;
    let rows = a.diagonal().into_iter().map(inverse).collect();
    let rows = Vector::from_column(a.executor(), rows);
    let upper = match a.part() {
        None => spectral_radius::<f64>(a, &rows, f64::INFINITY, ws)?,
        Some(part) => radius_of_ranks(a, part, &rows, ws)?,
    };
    let fields = a.diagonal_fields().into_iter().map(inverse);
    let fields = fields.map(convert::<f64, V>).collect();
    let inverses = Diagonal::of_values(Vector::from_column(executor, fields));
    let polynomial = ChebyshevPolynomial {
        degree,
        ..ChebyshevPolynomial::default()
    };
    Ok(polynomial.over(product, inverses, upper))
}

/// [`spectral_radius`] of `D A` on a grid that ranks share; vectors are cell by cell, of near ones.
fn radius_of_ranks(
    a: &StencilMatrix<f64>,
    part: &GridPart,
    d: &Vector<f64>,
    ws: &Workspace,
) -> Result<f64> {
    let r = a.unknowns();
    let start = (0..d.rows()).map(|place| scattered(a.row_of_all(place / r, place % r)));
    let start = Vector::from_column(a.executor(), start.collect());
    let length = r * a.grid().length();
    let norm = |v: &Vector<f64>| {
        let values = v.host()?;
        let lines = part.own_lines();
        let own = lines.flat_map(|lines| &values[lines.start * length..lines.end * length]);
        let mut sum = [own.map(|value| value * value).sum::<f64>()];
        part.team().sum(&mut sum)?;
        Ok(sum[0].sqrt())
    };
    let step = |sweep: Sweep<'_, f64>, v: &Vector<f64>, next: &mut Vector<f64>| {
        a.relax(sweep, v, next, ws)?;
        part.refresh([1, r], next.host_mut()?)
    };
    radius_from(start, d, f64::INFINITY, step, norm)
}
