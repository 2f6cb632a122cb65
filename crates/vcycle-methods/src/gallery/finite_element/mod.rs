//! Diffusion with high-order finite elements.
//!
//! The domains are made of a few equal squares or cubes, each with its coefficient; refining cuts
//! every one into equal cells. So the matrix of a cell is one matrix up to a factor, and an entry
//! is the sum over the cells its two nodes share.

mod basis;
mod diffusion;
mod lattice;

pub(super) use basis::{Basis, slopes};
use diffusion::Diffusion;
pub(super) use diffusion::Domain;
pub(super) use lattice::Lattice;

use super::assemble::assemble;
use super::grid::check_rows;
use super::problem::Problem;
use super::spec::check_range;
use crate::prelude::*;
use vcycle_core::size::Extent;

/// `-div(c grad u) = 1` in the beam `[0, 8] x [0, 1] x [0, 1]` of MFEM's `beam-hex.mesh`, with
/// `c` 0.1 in the half `x < 4` and 1 in the other, `u = 0` on the whole surface.
///
/// Hexahedral Lagrange elements on Gauss-Lobatto nodes, the eight unit cubes refined some times. Nodes are numbered over the
/// whole mesh, x fastest. Boundary unknowns are eliminated in place: their rows and columns keep their stored entries, all zero
/// beside a unit diagonal.
pub(super) static BEAM: Domain = Domain {
    blocks: [8, 1, 1],
    dimension: 3,
    width: 1.0,
    coefficients: &[0.1, 0.1, 0.1, 0.1, 1.0, 1.0, 1.0, 1.0],
};

/// `-Laplace(u) = 1` in the unit square without its upper right quarter (MFEM's `l-shape.mesh`), `u = 0` on the whole boundary.
pub(super) static LSHAPE: Domain = Domain {
    blocks: [2, 2, 1],
    dimension: 2,
    width: 0.5,
    coefficients: &[1.0, 1.0, 1.0, 0.0],
};

/// Rows and entries for an order and so many refinements.
pub(super) fn extent(domain: &Domain, [order, levels, _]: [usize; 3]) -> Result<Extent> {
    check_range("order", order, 1, 8)?;
    check_range("levels", levels, 0, 24)?;
    let lattice = domain.lattice(order, levels);
    check_rows("levels", lattice.nodes().size(), 1, u32::MAX as usize)?;
    Ok(domain.extent(&lattice))
}

/// The problem of a domain whose [`extent`] was found to be possible.
pub(super) fn problem(
    name: &str,
    domain: &Domain,
    [order, levels, _]: [usize; 3],
    executor: &Executor,
) -> Result<Problem> {
    let diffusion = Diffusion::new(domain, domain.lattice(order, levels), levels, executor)?;
    Ok(Problem {
        rhs: diffusion.load(),
        coordinates: Some(diffusion.coordinates()),
        ..Problem::new(
            format!("{name}:o{order},l{levels}"),
            assemble(executor, &diffusion)?,
        )
    })
}
