//! The next grid of a hierarchy: transfers along several axes, and the Galerkin product with all of them.
//!
//! Matrices that are coarse along some axes only are larger than all that is kept. They are made some planes at
//! a time, always in the same memory.

use std::ops::Range;

use super::galerkin::{galerkin, interpolation};
use super::{StencilMatrix, Transfer};
use crate::error::Result;
use crate::executor::Executor;
use crate::matrix::zeroed;

/// Planes on either side without which those of a slab cannot be made: weights come from the matrix before,
/// and products need those of the planes beside them.
const BESIDE: usize = 2;
/// Planes of a slab, and bytes of its matrices, at least.
const PLANES: usize = 8;
const BYTES: usize = 48 << 20;

/// The transfers along some axes, one after the other, z first, and the matrix on the grid that they lead to.
pub(super) fn coarsened(
    a: &StencilMatrix<f64>,
    axes: &[usize],
) -> Result<(Vec<Transfer<f64>>, StencilMatrix<f64>)> {
    let (executor, r) = (a.executor(), a.unknowns());
    let first = interpolation(a, axes[0])?;
    let planes = first.coarse().size()[2];
    let beside = if axes.len() == 1 { 0 } else { BESIDE };
    let mut gathered: Vec<Planes> = Vec::new();
    let (mut memory, mut stencil) = ([Vec::new(), Vec::new()], None);
    for slab in slabs(a, &first) {
        let wide = slab.start.saturating_sub(beside)..(slab.end + beside).min(planes);
        let own = slab.start - wide.start..slab.end - wide.start;
        let mut gather = |number: usize, fields: usize, numbers: &[f64]| -> Result<()> {
            if gathered.len() == number {
                let per_plane = numbers.len() / fields / wide.len();
                gathered.push(Planes::new(executor, fields, per_plane, planes)?);
            }
            gathered[number].copy(numbers, own.clone(), slab.start);
            Ok(())
        };
        let [one, other] = &mut memory;
        let mut made = galerkin(a, &first, wide.clone(), std::mem::take(one))?;
        for (number, &axis) in axes[1..].iter().enumerate() {
            let transfer = interpolation(&made, axis)?;
            gather(number, r, transfer.weights())?;
            let next = galerkin(&made, &transfer, 0..wide.len(), std::mem::take(other))?;
            *other = std::mem::replace(&mut made, next).into_values();
        }
        gather(axes.len() - 1, 1, made.values())?;
        stencil = Some(made.stencil().clone());
        *one = made.into_values();
    }
    let mut transfers = vec![first];
    let mut gathered = gathered.into_iter().map(|planes| planes.numbers);
    let mut grid = transfers[0].coarse();
    for (&axis, weights) in axes[1..].iter().zip(gathered.by_ref()) {
        transfers.push(Transfer::with_unknowns(executor, grid, axis, r, weights)?);
        grid = grid.halved(axis);
    }
    let values = gathered.next().unwrap_or_default();
    let stencil = stencil.expect("grids have planes");
    let coarse = StencilMatrix::with_unknowns(executor, grid, stencil, r, values)?;
    Ok((transfers, coarse))
}

/// Ranges of planes of the grid that the first transfer leads to.
fn slabs(a: &StencilMatrix<f64>, first: &Transfer<f64>) -> impl Iterator<Item = Range<usize>> {
    let (grid, planes) = (first.coarse(), first.coarse().size()[2]);
    let per_plane = a.bytes() / a.grid().cells() * (grid.cells() / planes);
    let length = (BYTES / per_plane.max(1)).max(PLANES);
    let starts = (0..planes).step_by(length);
    starts.map(move |start| start..(start + length).min(planes))
}

/// Numbers of all planes, field after field, put together from slabs.
struct Planes {
    fields: usize,
    per_plane: usize,
    planes: usize,
    numbers: Vec<f64>,
}

impl Planes {
    fn new(executor: &Executor, fields: usize, per_plane: usize, planes: usize) -> Result<Self> {
        Ok(Self {
            fields,
            per_plane,
            planes,
            numbers: zeroed(executor, fields * per_plane * planes)?,
        })
    }

    /// Copies some planes of a slab to those from `first` on.
    fn copy(&mut self, slab: &[f64], own: Range<usize>, first: usize) {
        let (count, in_slab) = (
            own.len() * self.per_plane,
            slab.len() / self.fields / self.per_plane,
        );
        for field in 0..self.fields {
            let from = (field * in_slab + own.start) * self.per_plane;
            let to = (field * self.planes + first) * self.per_plane;
            self.numbers[to..to + count].copy_from_slice(&slab[from..from + count]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery;

    /// Axis by axis, without slabs.
    fn step_by_step(mut a: StencilMatrix<f64>, axes: &[usize]) -> (Vec<f64>, Vec<f64>) {
        let mut weights = Vec::new();
        for &axis in axes {
            let transfer = interpolation(&a, axis).unwrap();
            weights.extend_from_slice(transfer.weights());
            let planes = 0..transfer.coarse().size()[2];
            a = galerkin(&a, &transfer, planes, Vec::new()).unwrap();
        }
        (weights, a.values().to_vec())
    }

    #[test]
    fn slabs_make_what_whole_grids_make() {
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
            let (transfers, coarse) = coarsened(&a, axes).unwrap();
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
