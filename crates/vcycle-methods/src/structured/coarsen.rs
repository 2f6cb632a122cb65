//! The next grid of a hierarchy: transfers along several axes, and the Galerkin product with all of them.
//!
//! A matrix that has been coarsened along some of the axes only is larger than what is kept in the end. Such matrices
//! are made a few planes at a time, in memory that stays in the cache, and coarsened along the next axis right away.

use std::borrow::Cow;
use std::ops::Range;

use super::exchange::LevelExchange;
use super::halving::{Halving, Lines, widened};
use super::{StencilMatrix, Transfer};
use crate::matrix::{CellMoves, GridPart, zeroed};
use crate::prelude::*;

/// Cells that are done at a time, at least.
const CELLS: usize = 32 * 1024;

/// Transfers, and the matrix on the grid that they lead to.
type Coarsened = (Vec<Transfer<f64>>, StencilMatrix<f64>);
/// The same on near cells, and what ranks exchange between the two levels.
type CoarsenedByRanks = (Vec<Transfer<f64>>, StencilMatrix<f64>, Arc<LevelExchange>);

/// The next level of ranks that share a grid, halved along some axes. None where a rank would have no cells of it.
///
/// Weights along an axis come from the matrix that is halved along those before, and products need those of the planes
/// beside: ranks exchange what they have made after each axis.
pub(super) fn coarsened_by_ranks(
    a: &StencilMatrix<f64>,
    part: &Arc<GridPart>,
    axes: &[usize],
) -> Result<Option<CoarsenedByRanks>> {
    if part.halved(axes).is_none() {
        return Ok(None);
    }
    let (mut here, mut part_here) = (Cow::Borrowed(a), Arc::clone(part));
    let mut transfers = Vec::new();
    for (place, axis) in axes.iter().enumerate() {
        let axis = std::slice::from_ref(axis);
        let (made, coarse) = coarsened(&here, axis)?;
        let next = part_here.halved(axis);
        let next = Arc::new(next.expect("more cells than the last one"));
        let boxes = [
            part_here.near_box().halved(axis),
            part.near_box().halved(&axes[..=place]),
        ];
        let kept = CellMoves::kept(part.team(), next.grid(), boxes);
        let fine = part.near_box().halved(&axes[..place]).grid();
        transfers.push(made[0].on_some_cells(fine, &kept)?);
        let near = coarse.moved(next.near(), &part_here.to_coarse(axis, &next))?;
        here = Cow::Owned(near.with_part(Some(&next)));
        part_here = next;
    }
    let exchange = LevelExchange::new(part, axes, &part_here, a.unknowns());
    Ok(Some((transfers, here.into_owned(), Arc::new(exchange))))
}

/// The transfers along some axes, one after the other, z first, and the matrix on the grid that they lead to.
pub(super) fn coarsened(a: &StencilMatrix<f64>, axes: &[usize]) -> Result<Coarsened> {
    match on_device(a, axes)? {
        Some(made) => Ok(made),
        None => in_groups(a, axes, CELLS),
    }
}

/// The same where a device has kernels for it, axis by axis: its bandwidth is what caches of the host have.
fn on_device(a: &StencilMatrix<f64>, axes: &[usize]) -> Result<Option<Coarsened>> {
    let (mut made, mut transfers, r) = (Cow::Borrowed(a), Vec::new(), a.unknowns());
    for &axis in axes {
        let (fine, coarse) = (made.grid(), made.grid().halved(axis));
        let widened = widened(made.stencil(), axis, coarse);
        let Some([weights, values]) = made.operand().halved(axis, widened.offsets())? else {
            return Ok(None);
        };
        transfers.push(Transfer::of_buffer(fine, axis, r, weights));
        made = Cow::Owned(StencilMatrix::of_buffer(coarse, widened, r, values));
    }
    Ok(Some((transfers, made.into_owned())))
}

/// The same, `cells` at a time, and those that complete their planes.
fn in_groups(a: &StencilMatrix<f64>, axes: &[usize], cells: usize) -> Result<Coarsened> {
    let (executor, r) = (a.executor(), a.unknowns());
    let (mut grid, mut stencil) = (a.grid(), a.stencil().clone());
    let mut halvings = Vec::new();
    for &axis in axes {
        let halving = Halving::new(executor, grid, stencil, r, axis)?;
        (grid, stencil) = (halving.coarse(), halving.stencil().clone());
        halvings.push(halving);
    }
    let mut groups = PlaneGroups::new(a.values(), &halvings, cells);
    let last = halvings.last().expect("some axis is halved");
    let mut values = zeroed(executor, last.numbers(0..groups.planes).end)?;
    groups.run(&mut halvings, &mut values);
    let transfers = halvings.into_iter().map(Halving::into_transfer);
    let coarse = StencilMatrix::with_unknowns(executor, grid, stencil, r, values)?;
    Ok((transfers.collect::<Result<_>>()?, coarse))
}

/// What the halvings of a grid are made of, groups of planes at a time. Weights come from the matrix itself, and a
/// product needs those of the planes beside its own: every matrix is one group ahead of the next one, and two
/// groups of it are kept.
struct PlaneGroups<'a> {
    a: &'a [f64],
    /// Planes of all grids but the first.
    planes: usize,
    per_group: usize,
    /// Lines of a plane of each matrix behind the first, and its groups by parity.
    kept: Vec<(usize, [Vec<f64>; 2])>,
}

impl<'a> PlaneGroups<'a> {
    fn new(a: &'a [f64], halvings: &[Halving<'_>], cells: usize) -> Self {
        let [nx, ny, planes] = halvings[0].coarse().size();
        let between = halvings[..halvings.len() - 1].iter();
        Self {
            a,
            planes,
            per_group: cells.div_ceil(nx * ny),
            kept: between
                .map(|halving| (halving.coarse().size()[1], Default::default()))
                .collect(),
        }
    }

    fn run(&mut self, halvings: &mut [Halving<'_>], values: &mut [f64]) {
        let (count, groups) = (halvings.len(), self.planes.div_ceil(self.per_group));
        for step in 0..groups + count {
            for stage in (0..=count.min(step)).filter(|stage| step - stage < groups) {
                let group = step - stage;
                if stage > 0 {
                    self.multiply(&halvings[stage - 1], stage - 1, group, values);
                }
                if stage < count {
                    halvings[stage].weigh(self.lines(stage, group), self.planes(group));
                }
            }
        }
    }

    fn planes(&self, group: usize) -> Range<usize> {
        let first = group * self.per_group;
        first..(first + self.per_group).min(self.planes)
    }

    /// What a group behind a halving is made of.
    fn lines(&self, stage: usize, group: usize) -> Lines<'_> {
        let (first, values) = match stage.checked_sub(1) {
            None => (0, self.a),
            Some(place) => {
                let (lines, groups) = &self.kept[place];
                (
                    self.planes(group).start * lines,
                    groups[group % 2].as_slice(),
                )
            }
        };
        Lines { first, values }
    }

    /// Forms a group of the matrix behind a halving, which is kept, or part of the last one's `values`.
    fn multiply(&mut self, halving: &Halving<'_>, stage: usize, group: usize, values: &mut [f64]) {
        let planes = self.planes(group);
        let numbers = halving.numbers(planes.clone());
        if stage == self.kept.len() {
            return halving.multiply(self.lines(stage, group), planes, &mut values[numbers]);
        }
        let mut out = std::mem::take(&mut self.kept[stage].1[group % 2]);
        out.resize(numbers.len(), 0.0);
        halving.multiply(self.lines(stage, group), planes, &mut out);
        self.kept[stage].1[group % 2] = out;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery;

    /// Axis by axis, a whole grid at a time.
    fn step_by_step(mut a: StencilMatrix<f64>, axes: &[usize]) -> (Vec<f64>, Vec<f64>) {
        let mut weights = Vec::new();
        for &axis in axes {
            let host = a.executor().clone();
            let (grid, stencil, r) = (a.grid(), a.stencil().clone(), a.unknowns());
            let mut halving = Halving::new(&host, grid, stencil, r, axis).unwrap();
            let (grid, planes) = (halving.coarse(), 0..halving.coarse().size()[2]);
            let from = Lines {
                first: 0,
                values: a.values(),
            };
            let mut values = vec![0.0; halving.numbers(planes.clone()).end];
            halving.weigh(from, planes.clone());
            halving.multiply(from, planes, &mut values);
            let stencil = halving.stencil().clone();
            a = StencilMatrix::with_unknowns(&host, grid, stencil, r, values).unwrap();
            weights.extend_from_slice(halving.into_transfer().unwrap().weights());
        }
        (weights, a.values().to_vec())
    }

    #[test]
    fn groups_make_what_whole_grids_make() {
        let host = Executor::reference();
        for (spec, axes) in [
            ("jump7:5x4x61,100", &[2, 1, 0][..]),
            ("laplace27:4x5x39", &[2, 0]),
            ("jump7:6x5x29,10", &[1, 0]),
            ("oil-4C:3x4x37", &[2, 1, 0]),
            ("poisson5:8x5", &[1, 0]),
            ("poisson7:5x4x20", &[2]),
        ] {
            let a = gallery::build_stencil(spec, &host).unwrap();
            let (transfers, coarse) = in_groups(&a, axes, 40).unwrap();
            let weights: Vec<f64> = transfers
                .iter()
                .flat_map(|transfer| transfer.weights().to_vec())
                .collect();
            assert_eq!(
                (weights, coarse.values().to_vec()),
                step_by_step(a, axes),
                "{spec}"
            );
        }
    }
}
