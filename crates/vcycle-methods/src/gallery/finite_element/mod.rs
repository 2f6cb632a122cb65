//! Diffusion with high-order finite elements.
//!
//! The domains are made of a few equal squares or cubes, each with its coefficient; refining cuts
//! every one into equal cells. So the matrix of a cell is one matrix up to a factor, and an entry
//! is the sum over the cells its two nodes share.

mod basis;
mod diffusion;
mod lattice;

pub(super) use basis::Basis;
use diffusion::{Diffusion, Domain};
pub(super) use lattice::Lattice;

use super::grid::check_rows;
use super::spec::{Spec, check_range};
use super::{Entry, Problem};
use crate::error::Result;
use crate::executor::Executor;
use vcycle_core::size::Extent;

/// The mesh `beam-hex.mesh` of MFEM: eight unit cubes in a row, of two materials.
const BEAM_DOMAIN: Domain = Domain {
    blocks: [8, 1, 1],
    dimension: 3,
    width: 1.0,
    coefficients: &[0.1, 0.1, 0.1, 0.1, 1.0, 1.0, 1.0, 1.0],
};

/// The mesh `l-shape.mesh` of MFEM: the unit square without its upper right quarter.
const LSHAPE_DOMAIN: Domain = Domain {
    blocks: [2, 2, 1],
    dimension: 2,
    width: 0.5,
    coefficients: &[1.0, 1.0, 1.0, 0.0],
};

pub(super) const BEAM: Entry = Entry {
    name: "beam",
    usage: "beam:oP,lL",
    description: "diffusion in a beam of two materials, elements of order P, L refinements",
    example: "beam:o2,l0",
    build: |spec, executor| {
        let [order, levels] = order_and_levels(spec)?;
        beam(order, levels, executor)
    },
};

pub(super) const LSHAPE: Entry = Entry {
    name: "lshape",
    usage: "lshape:oP,lL",
    description: "diffusion in an L-shaped domain, elements of order P, L refinements",
    example: "lshape:o3,l1",
    build: |spec, executor| {
        let [order, levels] = order_and_levels(spec)?;
        lshape(order, levels, executor)
    },
};

/// `-div(c grad u) = 1` in the beam `[0, 8] x [0, 1] x [0, 1]` of MFEM's `beam-hex.mesh`, with
/// `c` 0.1 in the half `x < 4` and 1 in the other, `u = 0` on the whole surface.
///
/// Hexahedral Lagrange elements of `order` on Gauss-Lobatto nodes, the eight unit cubes refined
/// `levels` times. Nodes are numbered over the whole mesh, x fastest. Boundary unknowns are
/// eliminated in place: their rows and columns keep their stored entries, all zero beside a unit
/// diagonal.
///
/// ```
/// use vcycle::{executor::Executor, gallery};
/// let problem = gallery::beam(2, 0, &Executor::cpu())?;
/// assert_eq!(problem.matrix.size().rows, 17 * 3 * 3);
/// assert_eq!(problem.matrix.entry(0, 0), Some(1.0));
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// An `order` not between 1 and 8, or `levels` too many for 32-bit columns or for the memory.
pub fn beam(order: usize, levels: usize, executor: &Executor) -> Result<Problem> {
    problem("beam", &BEAM_DOMAIN, order, levels, executor)
}

/// `-Laplace(u) = 1` in the unit square without its upper right quarter (MFEM's `l-shape.mesh`),
/// `u = 0` on the whole boundary.
///
/// Quadrilateral elements; everything else as for [`beam`].
///
/// # Errors
/// As for [`beam`].
pub fn lshape(order: usize, levels: usize, executor: &Executor) -> Result<Problem> {
    problem("lshape", &LSHAPE_DOMAIN, order, levels, executor)
}

fn order_and_levels(spec: &Spec<'_>) -> Result<[usize; 2]> {
    spec.at_most(2)?;
    Ok([
        spec.lettered(0, 'o', "order")?,
        spec.lettered(1, 'l', "levels")?,
    ])
}

/// Rows and entries of a problem of this folder.
pub(super) fn extent(spec: &Spec<'_>) -> Result<Extent> {
    let [order, levels] = order_and_levels(spec)?;
    let domain = match spec.name {
        "beam" => &BEAM_DOMAIN,
        _ => &LSHAPE_DOMAIN,
    };
    let lattice = checked_lattice(domain, order, levels)?;
    Ok(domain.extent(&lattice))
}

fn checked_lattice(domain: &Domain, order: usize, levels: usize) -> Result<Lattice> {
    check_range("order", order, 1..=8)?;
    check_range("levels", levels, 0..=24)?;
    let lattice = domain.lattice(order, levels);
    check_rows("levels", lattice.nodes().size, 1)?;
    Ok(lattice)
}

fn problem(
    name: &str,
    domain: &Domain,
    order: usize,
    levels: usize,
    executor: &Executor,
) -> Result<Problem> {
    let lattice = checked_lattice(domain, order, levels)?;
    let diffusion = Diffusion::new(domain, lattice, levels, executor)?;
    Ok(Problem {
        name: format!("{name}:o{order},l{levels}"),
        matrix: diffusion.matrix(executor)?,
        rhs: diffusion.load(),
        coordinates: Some(diffusion.coordinates()),
        near_nullspace: None,
        block_size: 1,
        grid: None,
    })
}
