//! A clamped block of elastic material.

use super::assemble::{Rows, assemble};
use super::finite_element::{Basis, Lattice};
use super::grid::{Grid, check_rows, size_label};
use super::jump::coefficient;
use super::spec::check_range;
use super::{Entry, Problem};
use crate::error::Result;
use crate::executor::Executor;
use crate::multigrid::NearNullspace;

/// Unknowns of a node and of a cell with its eight nodes.
const COMPONENTS: usize = 3;
const CELL_UNKNOWNS: usize = 8 * COMPONENTS;

pub(super) const ENTRY: Entry = Entry {
    name: "elasticity",
    usage: "elasticity:N[,nu[,c]] or elasticity:NxMxK[,nu[,c]]",
    description: "linear elasticity of NxMxK cubes clamped at x=0, stiffness 1 or c in 8x8x8 blocks",
    example: "elasticity:3x2x2",
    build: |spec, executor| {
        spec.at_most(3)?;
        let usual = Material::default();
        let material = Material {
            poisson: spec.number_or(1, "nu", usual.poisson)?,
            contrast: spec.number_or(2, "contrast", usual.contrast)?,
        };
        elasticity_of(material, spec.size()?, executor)
    },
};

/// What an elastic block is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Material {
    /// Poisson's ratio: 0.3 for many metals, near 0.5 for what keeps its volume.
    pub poisson: f64,
    /// Young's modulus is 1 or this in blocks of 8x8x8 cubes, those of [`jump7`](super::jump7).
    pub contrast: f64,
}

impl Default for Material {
    fn default() -> Self {
        Self {
            poisson: 0.3,
            contrast: 1.0,
        }
    }
}

/// Linear elasticity (`E = 1`, `nu = 0.3`) of a block of unit cubes, `size` of them along each
/// axis, clamped at `x = 0`.
///
/// Trilinear (Q1) elements, integrated exactly, as 2x2x2 Gauss points do. The clamped nodes are
/// removed; the others are numbered with x fastest and unknown `3 node + component`. Entries that
/// cancel to zero stay stored, so that all 3x3 blocks are full.
///
/// [`coordinates`](Problem::coordinates) has a point for each node, in widths of a cube;
/// [`near_nullspace`](Problem::near_nullspace) has the six rigid-body modes, neither normalised
/// nor orthogonalised: the translations along x, y and z and the rotations about those axes
/// through the mean of the nodes.
///
/// ```
/// use vcycle::{executor::Executor, gallery};
/// let problem = gallery::elasticity([8, 4, 4], &Executor::cpu())?;
/// assert_eq!((problem.matrix.size().rows, problem.block_size), (600, 3));
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// As for [`poisson5`](super::poisson5).
pub fn elasticity(size: [usize; 3], executor: &Executor) -> Result<Problem> {
    elasticity_of(Material::default(), size, executor)
}

/// [`elasticity`] of a given material.
///
/// ```
/// use vcycle::{executor::Executor, gallery};
/// let nearly_incompressible = gallery::Material { poisson: 0.45, ..Default::default() };
/// let problem = gallery::elasticity_of(nearly_incompressible, [8, 4, 4], &Executor::cpu())?;
/// assert_eq!(problem.name, "elasticity:8x4x4,0.45");
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// As for [`elasticity`], a ratio not from 0 to 0.4999 and a contrast not from 1e-100 to 1e100.
pub fn elasticity_of(material: Material, size: [usize; 3], executor: &Executor) -> Result<Problem> {
    check_range("nu", material.poisson, 0.0..=0.4999)?;
    check_range("contrast", material.contrast, 1e-100..=1e100)?;
    check_rows("size", size, COMPONENTS)?;
    let [nx, ny, nz] = size;
    let free = Grid {
        size: [nx, ny + 1, nz + 1],
    };
    check_rows("size", free.size, COMPONENTS)?;
    let block = Elasticity {
        lattice: Lattice {
            cells: size,
            order: [1; 3],
        },
        free,
        cell_matrix: cell_matrix(material.poisson),
        contrast: material.contrast,
    };
    let matrix = assemble(executor, &block)?;
    let coordinates = block.coordinates();
    Ok(Problem {
        name: format!("elasticity:{}{}", size_label(&size), material.label()),
        rhs: vec![1.0; block.rows()],
        near_nullspace: Some(NearNullspace::rigid_body_modes(3, &coordinates)?),
        coordinates: Some(coordinates),
        block_size: COMPONENTS,
        grid: None,
        matrix,
    })
}

impl Material {
    /// As specifications have it, without what is usual.
    fn label(self) -> String {
        let usual = Self::default();
        match self {
            _ if self == usual => String::new(),
            _ if self.contrast == usual.contrast => format!(",{}", self.poisson),
            _ => format!(",{},{}", self.poisson, self.contrast),
        }
    }
}

struct Elasticity {
    lattice: Lattice,
    /// The nodes that are not clamped: those of the lattice with `x > 0`.
    free: Grid,
    /// For Young's modulus 1.
    cell_matrix: Vec<[f64; CELL_UNKNOWNS]>,
    contrast: f64,
}

impl Elasticity {
    /// The lattice node of a free node.
    fn node(&self, index: usize) -> [usize; 3] {
        let [x, y, z] = self.free.point(index);
        [x + 1, y, z]
    }

    fn coordinates(&self) -> Vec<[f64; 3]> {
        (0..self.free.points())
            .map(|index| self.node(index).map(|along| along as f64))
            .collect()
    }
}

impl Rows for Elasticity {
    fn rows(&self) -> usize {
        COMPONENTS * self.free.points()
    }

    fn each_entry(&self, row: usize, mut visit: impl FnMut(usize, f64)) {
        let node = self.node(row / COMPONENTS);
        self.lattice.each_neighbour(node, |other, cells| {
            let [x, y, z] = other;
            if x == 0 {
                return;
            }
            let mut sums = [0.0; COMPONENTS];
            for cell in cells.iter() {
                let here = COMPONENTS * self.lattice.local(cell, node) + row % COMPONENTS;
                let there = COMPONENTS * self.lattice.local(cell, other);
                let stiffness = coefficient(cell, self.contrast);
                for (sum, value) in sums.iter_mut().zip(&self.cell_matrix[here][there..]) {
                    *sum += stiffness * value;
                }
            }
            let first = COMPONENTS * self.free.index([x - 1, y, z]);
            for (component, sum) in sums.into_iter().enumerate() {
                visit(first + component, sum);
            }
        });
    }
}

/// The stiffness of a unit cube. For basis functions `a`, `b` and directions `i`, `j` it is
/// `∫ λ ∂i a ∂j b + μ ∂j a ∂i b`, and `∫ μ grad a . grad b` besides where `i = j`; Young's modulus
/// is 1.
fn cell_matrix(poisson: f64) -> Vec<[f64; CELL_UNKNOWNS]> {
    let lambda = poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson));
    let mu = 1.0 / (2.0 * (1.0 + poisson));
    let basis = Basis::new(1);
    let entry = |a: usize, i: usize, b: usize, j: usize| {
        let slopes = |i, j| slopes(&basis, a, i, b, j);
        let grad: f64 = (0..3).map(|axis| slopes(axis, axis)).sum();
        let shear = if i == j { mu * grad } else { 0.0 };
        lambda * slopes(i, j) + mu * slopes(j, i) + shear
    };
    (0..CELL_UNKNOWNS)
        .map(|row| {
            std::array::from_fn(|column| {
                let (a, i) = (row / COMPONENTS, row % COMPONENTS);
                entry(a, i, column / COMPONENTS, column % COMPONENTS)
            })
        })
        .collect()
}

/// `∫ ∂i a ∂j b` over the unit cube, for its corners `a` and `b`: a product over the axes.
fn slopes(basis: &Basis, a: usize, i: usize, b: usize, j: usize) -> f64 {
    (0..3)
        .map(|axis| {
            let (a, b) = (a >> axis & 1, b >> axis & 1);
            match (axis == i, axis == j) {
                (true, true) => basis.stiffness[a][b],
                (true, false) => basis.gradient[a][b],
                (false, true) => basis.gradient[b][a],
                (false, false) => basis.mass[a][b],
            }
        })
        .product()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery::build;

    fn assert_rigid_bodies_feel_no_force(problem: &Problem) {
        let coordinates = problem.coordinates.as_ref().unwrap();
        for mode in problem.near_nullspace.as_ref().unwrap().vectors() {
            assert!(mode.iter().any(|&value| value != 0.0));
            for row in 0..mode.len() {
                let (columns, values) = problem.matrix.row(row);
                let entries = columns.iter().zip(values);
                let force: f64 = entries.map(|(&c, &v)| v * mode[c as usize]).sum();
                let scale = problem.matrix.entry(row, row).unwrap();
                assert!(force.abs() < 1e-13 * scale || coordinates[row / 3][0] == 1.0);
            }
        }
    }

    #[test]
    fn rigid_bodies_feel_no_force_away_from_the_clamp() {
        for spec in ["elasticity:3x2x2", "elasticity:17x2x2,0.45,1e3"] {
            assert_rigid_bodies_feel_no_force(&build(spec, &Executor::reference()).unwrap());
        }
    }

    #[test]
    fn blocks_are_stiffer_by_the_contrast() {
        let of = |spec| build(spec, &Executor::reference()).unwrap().matrix;
        let (plain, mixed) = (of("elasticity:16x1x1"), of("elasticity:16x1x1,0.3,100"));
        let last = plain.size().rows - 1;
        // The first block of eight cubes is soft, the second one stiff.
        assert_eq!(mixed.entry(0, 0), plain.entry(0, 0));
        let ratio = mixed.entry(last, last).unwrap() / plain.entry(last, last).unwrap();
        assert!((ratio - 100.0).abs() < 1e-10, "{ratio}");
    }

    #[test]
    fn impossible_materials_are_named() {
        let error = |spec| build(spec, &Executor::reference()).unwrap_err().to_string();
        for (spec, part) in [
            ("elasticity:2,0.5", "nu"),
            ("elasticity:2,nan", "nu"),
            ("elasticity:2,0.3,0", "contrast"),
            ("elasticity:2,0.3,1,1", "parameters"),
        ] {
            assert!(error(spec).contains(part), "{}", error(spec));
        }
    }
}
