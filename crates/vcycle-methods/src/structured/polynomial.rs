//! Jacobi, and Chebyshev polynomials over it.

use std::sync::Arc;

use super::StencilMatrix;
use crate::cpu::stencil::Vectors;
use crate::eigen::{radius_from, scattered, spectral_radius};
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::{LinOp, Sweep};
use crate::matrix::GridPart;
use crate::precond::{ChebyshevPolynomial, Diagonal};
use crate::scalar::{Mixes, convert};
use crate::vector::Vector;

/// The [polynomial](ChebyshevPolynomial) in `D^-1 A`, with `D` the diagonal of `a`; of degree one it is Jacobi with the best
/// weight. Vectors are unknown by unknown, and `product` is the one with the matrix as it is stored.
pub(super) fn polynomial<V: Vectors + Mixes<V, V>>(
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
