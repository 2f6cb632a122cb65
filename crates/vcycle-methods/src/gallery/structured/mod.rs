//! Problems with the numerical features of those that structured multigrid in half precision was
//! published with (Zong et al. 2024, table 3): stencil, unknowns a cell, range of the entries beside that
//! of half precision, anisotropy. The originals are data of applications; these are made from formulas,
//! and from measured permeabilities where a folder with them is given.

mod constant;
mod permeability;
mod radiation;
mod reservoir;
mod solid;
mod weather;

use super::Problem;
use super::spec::Spec;
use crate::error::Result;
use crate::executor::Executor;
use crate::structured::{Grid, Stencil, StencilMatrix};

pub(super) use constant::{LAPLACE27, LAPLACE27E8};
pub(super) use radiation::{RHD, RHD3T};
pub(super) use reservoir::{OIL, OIL4C};
pub(super) use solid::SOLID3D;
pub(super) use weather::WEATHER;

type Make = fn(&Spec<'_>, &Executor) -> Result<StencilMatrix<f64>>;

const MADE: [(&str, Make); 8] = [
    (LAPLACE27.name, constant::laplace27),
    (LAPLACE27E8.name, constant::laplace27e8),
    (RHD.name, radiation::one_temperature),
    (OIL.name, reservoir::pressure),
    (WEATHER.name, weather::helmholtz),
    (RHD3T.name, radiation::three_temperatures),
    (OIL4C.name, reservoir::components),
    (SOLID3D.name, solid::elasticity),
];

/// The matrix of a specification, if it is one of these problems.
pub(super) fn stencil(spec: &Spec<'_>, executor: &Executor) -> Option<Result<StencilMatrix<f64>>> {
    let (_, make) = MADE.iter().find(|(name, _)| *name == spec.name)?;
    Some(make(spec, executor))
}

/// The problem of a specification that is one of these.
fn problem(spec: &Spec<'_>, executor: &Executor) -> Result<Problem> {
    let a = stencil(spec, executor).expect("a problem of this catalogue")?;
    let matrix = a.to_csr();
    Ok(Problem {
        name: spec.text(),
        rhs: vec![1.0; matrix.size().rows],
        matrix,
        coordinates: None,
        near_nullspace: None,
        block_size: a.unknowns(),
        grid: (a.unknowns() == 1).then(|| a.grid().size()),
    })
}

/// The grid of a specification, without axes of one cell in a stencil.
fn on_grid(spec: &Spec<'_>, unknowns: usize, stencil: Stencil) -> Result<(Grid, Stencil)> {
    let size = spec.size()?;
    super::grid::check_rows("size", size, unknowns)?;
    let grid = Grid::new(size)?;
    Ok((grid, stencil.within(grid)))
}

/// A number from 0 to 1 that depends on cell and seed.
fn noise(cell: [usize; 3], seed: u64) -> f64 {
    let mut state = seed;
    for place in cell {
        state = scrambled(state ^ place as u64);
    }
    (state >> 11) as f64 / (1_u64 << 53) as f64
}

/// A step of splitmix64.
fn scrambled(state: u64) -> u64 {
    let mut bits = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// What flows through the face between two cells.
fn harmonic(a: f64, b: f64) -> f64 {
    2.0 * a * b / (a + b)
}

/// The cell `offset` away; at the boundary the cell itself.
fn beside(grid: Grid, cell: [usize; 3], offset: [i8; 3]) -> [usize; 3] {
    let mut moved = cell;
    for axis in 0..3 {
        let there = cell[axis].checked_add_signed(offset[axis].into());
        moved[axis] = there
            .filter(|&place| place < grid.size()[axis])
            .unwrap_or(cell[axis]);
    }
    moved
}

/// Where the middle of a cell lies in the unit cube.
fn position(grid: Grid, cell: [usize; 3]) -> [f64; 3] {
    [0, 1, 2].map(|axis| (cell[axis] as f64 + 0.5) / grid.size()[axis] as f64)
}

/// The axis of an offset to a face.
fn axis_of(offset: [i8; 3]) -> usize {
    offset.iter().position(|&step| step != 0).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::{build, build_stencil};
    use super::*;

    /// Name, stencil, unknowns, and what the largest value is between.
    const FEATURES: [(&str, &str, usize, [f64; 2]); 8] = [
        ("laplace27", "3d27", 1, [1e0, 1e2]),
        ("laplace27e8", "3d27", 1, [1e8, 1e10]),
        ("rhd", "3d7", 1, [1e9, 1e15]),
        ("oil", "3d7", 1, [1e0, 6e4]),
        ("weather", "3d19", 1, [7e4, 1e7]),
        ("rhd-3T", "3d7", 3, [1e9, 1e15]),
        ("oil-4C", "3d7", 4, [7e4, 1e8]),
        ("solid-3D", "3d15", 3, [1e8, 1e12]),
    ];

    #[test]
    fn problems_have_the_features_they_are_named_for() {
        let host = Executor::reference();
        for (name, stencil, unknowns, [least, most]) in FEATURES {
            let a = build_stencil(&format!("{name}:12x10x8"), &host).unwrap();
            assert_eq!(a.stencil().to_string(), stencil, "{name}");
            assert_eq!(a.unknowns(), unknowns, "{name}");
            let largest = a.largest();
            assert!(least <= largest && largest <= most, "{name}: {largest:e}");
            assert!(a.diagonal().iter().all(|&value| value > 0.0), "{name}");
            a.check_diagonal("test").unwrap();
            a.check_finite().unwrap();
        }
    }

    #[test]
    fn stencil_and_csr_are_the_same_matrix() {
        let host = Executor::reference();
        for (name, ..) in FEATURES {
            let spec = format!("{name}:5x4x3");
            let problem = build(&spec, &host).unwrap();
            assert_eq!(problem.name, spec);
            let found = StencilMatrix::from_csr(&problem.matrix).unwrap();
            let made = build_stencil(&spec, &host).unwrap();
            assert_eq!(found.grid(), made.grid(), "{name}");
            assert_eq!(found.to_csr().values(), made.to_csr().values(), "{name}");
        }
        let other = build_stencil("poisson5:4x3", &host).unwrap();
        assert_eq!(other.stencil().points(), 5);
    }

    #[test]
    fn flat_grids_are_grids() {
        for (name, ..) in FEATURES {
            let a = build_stencil(&format!("{name}:6x1x4"), &Executor::reference()).unwrap();
            assert!(a.diagonal().iter().all(|&value| value > 0.0), "{name}");
        }
    }
}
