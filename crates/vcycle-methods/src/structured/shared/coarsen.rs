//! The next grid of ranks that share one.

use std::borrow::Cow;
use std::sync::Arc;

use super::way::GridWay;
use crate::error::Result;
use crate::matrix::{CellMoves, GridPart};
use crate::structured::coarsen::coarsened;
use crate::structured::{StencilMatrix, Transfer};

/// Transfers from near cells, the matrix of the near cells of the next level, and the way there.
pub(in crate::structured) type SharedCoarse =
    (Vec<Transfer<f64>>, StencilMatrix<f64>, Arc<GridWay>);

/// The next level, halved along some axes. None where a rank would have no cells of it.
///
/// Weights along an axis come from the matrix that is halved along those before, and products need those of the planes
/// beside: ranks tell each other what they have made after each axis.
pub(in crate::structured) fn coarsened_by_ranks(
    a: &StencilMatrix<f64>,
    part: &Arc<GridPart>,
    axes: &[usize],
) -> Result<Option<SharedCoarse>> {
    if part.halved(axes).is_none() {
        return Ok(None);
    }
    let (mut here, mut part_here) = (Cow::Borrowed(a), Arc::clone(part));
    let mut transfers = Vec::new();
    for (place, axis) in axes.iter().enumerate() {
        let axis = std::slice::from_ref(axis);
        let (made, coarse) = coarsened(&here, axis)?;
        let next = part_here
            .halved(axis)
            .expect("more cells than the last one");
        let boxes = [
            part_here.near_box().halved(axis),
            part.near_box().halved(&axes[..=place]),
        ];
        let kept = CellMoves::kept(part.team(), next.grid(), boxes);
        let fine = part.near_box().halved(&axes[..place]).grid();
        transfers.push(made[0].on_some_cells(fine, &kept)?);
        let next = Arc::new(next);
        here = Cow::Owned(told(&coarse, &part_here.to_coarse(axis, &next), &next)?);
        part_here = next;
    }
    let way = GridWay::new(part, axes, &part_here, a.unknowns());
    Ok(Some((transfers, here.into_owned(), Arc::new(way))))
}

/// The matrix of all near cells, of which this rank has made some.
fn told(
    made: &StencilMatrix<f64>,
    moves: &CellMoves,
    part: &Arc<GridPart>,
) -> Result<StencilMatrix<f64>> {
    Ok(made.moved(part.near(), moves)?.with_part(Some(part)))
}
