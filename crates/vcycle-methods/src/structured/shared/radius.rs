//! The spectral radius of a matrix on a grid that several ranks share.

use crate::eigen::{radius_from, scattered};
use crate::error::Result;
use crate::executor::Workspace;
use crate::linop::LinOp;
use crate::matrix::GridPart;
use crate::structured::StencilMatrix;
use crate::vector::Vector;

/// [`spectral_radius`](crate::eigen::spectral_radius) of `D A`; vectors are cell by cell, of near ones.
pub(in crate::structured) fn radius_of_ranks(
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
    radius_from(
        start,
        d,
        f64::INFINITY,
        |sweep, v, next| {
            a.relax(sweep, v, next, ws)?;
            part.refresh([1, r], next.host_mut()?)
        },
        norm,
    )
}
