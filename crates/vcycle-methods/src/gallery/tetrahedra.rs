//! Diffusion on an unstructured mesh of tetrahedra.

use super::assemble::{Rows, assemble};
use super::entry::Given;
use super::finite_element::Lattice;
use super::grid::{PATHS, check_rows};
use super::problem::Problem;
use super::stencil::coefficient;
use crate::executor::check_memory;
use crate::grid::Grid;
use crate::prelude::*;

/// How far a vertex is moved at most, in widths of a cell. The six tetrahedra of a cube are
/// `1/sqrt(3)` wide in their narrowest direction: none of them turns over as long as no vertex moves
/// by more than half of that.
const JITTER: f64 = 0.25;
/// Vertices along the edge of a box that is numbered in no order.
const BOX: usize = 4;

/// Linear finite elements for `-div(k grad u) = 1` in the unit cube, `u = 0` on its boundary, on a
/// mesh of tetrahedra that is on no grid.
///
/// The cube is cut into `cells` cells along each axis and every cell into the six tetrahedra around its
/// diagonal (Kuhn 1960). Every vertex inside is moved, by a hash of its place, up to a quarter of the
/// width of a cell in any direction. `k` is `contrast` or 1 in blocks of 8x8x8 cells, those of
/// `jump7`. Vertices of the boundary are eliminated; the right-hand side is the load.
///
/// Rows are numbered as a mesh generator would: neighbours have numbers that are close as a rule, but
/// follow no lines. Boxes of 4x4x4 vertices come in Morton's order (1966), and the vertices of a box
/// in the order of a hash.
pub(super) fn tet(given: &Given<'_>, executor: &Executor) -> Result<Problem> {
    let (cells, contrast) = (given.size[0], given.numbers[0]);
    let vertices = check_rows("size", [cells.saturating_add(1); 3], 1, u32::MAX as usize)?;
    check_memory(
        executor,
        vertices,
        size_of::<[f64; 3]>() + 2 * size_of::<u64>(),
    )?;
    let mesh = Mesh::new(cells, contrast);
    let matrix = assemble(executor, &mesh)?;
    let coordinates = mesh.order.iter().map(|&v| mesh.points[v as usize]);
    Ok(Problem {
        rhs: mesh.load(),
        coordinates: Some(coordinates.collect()),
        ..Problem::new(given.name(), matrix)
    })
}

struct Mesh {
    cells: usize,
    contrast: f64,
    vertices: Grid,
    /// Where each vertex lies.
    points: Vec<[f64; 3]>,
    /// The vertex of every row.
    order: Vec<u32>,
    /// The row of every vertex that has one.
    rows: Vec<Option<u32>>,
}

/// A tetrahedron around a vertex: which corner that is, the gradients of the four basis functions and
/// the volume, times the coefficient.
struct Element {
    corners: [usize; 4],
    gradients: [[f64; 3]; 4],
    volume: f64,
    coefficient: f64,
}

impl Mesh {
    fn new(cells: usize, contrast: f64) -> Self {
        let vertices = Grid::unchecked([cells + 1; 3]);
        let count = vertices.cells();
        let point = |v| moved(vertices.cell(v), cells);
        let inside = |&v: &u32| vertices.is_inner(vertices.cell(v as usize));
        let mut order: Vec<u32> = (0..count as u32).filter(inside).collect();
        order.sort_by_cached_key(|&v| {
            let place = vertices.cell(v as usize);
            (morton(place.map(|along| along / BOX)), hash(place, 3))
        });
        let mut rows = vec![None; count];
        for (row, &vertex) in (0..).zip(&order) {
            rows[vertex as usize] = Some(row);
        }
        Self {
            cells,
            contrast,
            vertices,
            points: (0..count).map(point).collect(),
            order,
            rows,
        }
    }

    /// The corners of a tetrahedron of a cell.
    fn corners(&self, cell: [usize; 3], path: [usize; 3]) -> [usize; 4] {
        let mut corner = cell;
        let mut corners = [self.vertices.index(cell); 4];
        for (step, axis) in path.into_iter().enumerate() {
            corner[axis] += 1;
            corners[step + 1] = self.vertices.index(corner);
        }
        corners
    }

    fn element(&self, cell: [usize; 3], corners: [usize; 4]) -> Element {
        let [a, b, c, d] = corners.map(|vertex| self.points[vertex]);
        let (ab, ac, ad) = (minus(b, a), minus(c, a), minus(d, a));
        let six_volumes = dot(ab, cross(ac, ad));
        let over = |[x, y, z]: [f64; 3]| [x / six_volumes, y / six_volumes, z / six_volumes];
        let (b, c, d) = (
            over(cross(ac, ad)),
            over(cross(ad, ab)),
            over(cross(ab, ac)),
        );
        let a = [
            -(b[0] + c[0] + d[0]),
            -(b[1] + c[1] + d[1]),
            -(b[2] + c[2] + d[2]),
        ];
        Element {
            corners,
            gradients: [a, b, c, d],
            volume: six_volumes.abs() / 6.0,
            coefficient: coefficient(cell, self.contrast),
        }
    }

    /// `visit(element, corner)` for the tetrahedra around a vertex, always in the order of the cells:
    /// both rows of an entry add the same numbers in the same order.
    fn each_around(&self, vertex: usize, mut visit: impl FnMut(&Element, usize)) {
        let lattice = Lattice {
            cells: [self.cells; 3],
            order: [1; 3],
        };
        for cell in lattice.cells_around(self.vertices.cell(vertex)).iter() {
            for path in PATHS {
                let corners = self.corners(cell, path);
                if let Some(corner) = corners.iter().position(|&v| v == vertex) {
                    visit(&self.element(cell, corners), corner);
                }
            }
        }
    }

    /// The integrals of the basis functions.
    fn load(&self) -> Vec<f64> {
        let of_vertex = |&vertex: &u32| {
            let mut volume = 0.0;
            self.each_around(vertex as usize, |element, _| volume += element.volume);
            volume / 4.0
        };
        self.order.iter().map(of_vertex).collect()
    }

    /// `visit(other)` for the vertices inside that share a tetrahedron with one, itself included.
    fn each_neighbour(&self, vertex: usize, mut visit: impl FnMut(usize)) {
        let place = self.vertices.cell(vertex);
        for corner in 0..8_usize {
            let shift = [0, 1, 2].map(|axis| corner >> axis & 1);
            let after = [0, 1, 2].map(|axis| place[axis] + shift[axis]);
            let before = [0, 1, 2].map(|axis| place[axis] - shift[axis]);
            visit(self.vertices.index(after));
            if corner > 0 {
                visit(self.vertices.index(before));
            }
        }
    }
}

impl Rows for Mesh {
    fn rows(&self) -> usize {
        self.order.len()
    }

    fn each_entry(&self, row: usize, mut visit: impl FnMut(usize, f64)) {
        let vertex = self.order[row] as usize;
        let mut entries = Vec::with_capacity(15);
        self.each_neighbour(vertex, |other| {
            entries.extend(self.rows[other].map(|column| (column, other, 0.0)));
        });
        self.each_around(vertex, |element, here| {
            let scale = element.coefficient * element.volume;
            for (there, &other) in element.corners.iter().enumerate() {
                let gradients = (element.gradients[here], element.gradients[there]);
                if let Some(entry) = entries.iter_mut().find(|entry| entry.1 == other) {
                    entry.2 += scale * dot(gradients.0, gradients.1);
                }
            }
        });
        entries.sort_unstable_by_key(|entry| entry.0);
        entries
            .iter()
            .for_each(|&(column, _, value)| visit(column as usize, value));
    }

    fn count(&self, row: usize) -> usize {
        let mut count = 0;
        let is_row = |other: usize| usize::from(self.rows[other].is_some());
        self.each_neighbour(self.order[row] as usize, |other| count += is_row(other));
        count
    }
}

/// Where a vertex of the grid lies once it is moved.
fn moved(place: [usize; 3], cells: usize) -> [f64; 3] {
    let width = 1.0 / cells as f64;
    let fixed = place.iter().any(|&along| along == 0 || along == cells);
    let unit = |axis: u32| f64::from(hash(place, axis)) / f64::from(u32::MAX) * 2.0 - 1.0;
    let shift = [unit(0), unit(1), unit(2)];
    let length = dot(shift, shift).sqrt().max(1.0);
    [0, 1, 2].map(|axis| match fixed {
        true => place[axis] as f64 * width,
        false => (place[axis] as f64 + JITTER * shift[axis] / length) * width,
    })
}

/// A number for a vertex that looks random, one of several.
fn hash(place: [usize; 3], which: u32) -> u32 {
    let mut h = which.wrapping_mul(0x9e37_79b9);
    for along in place {
        h ^= along as u32;
        h = (h ^ h >> 16).wrapping_mul(0x7feb_352d);
        h = (h ^ h >> 15).wrapping_mul(0x846c_a68b);
        h ^= h >> 16;
    }
    h
}

/// The bits of three numbers by turns: boxes with close numbers are close.
fn morton(place: [usize; 3]) -> u64 {
    let bit = |at: usize| (place[at % 3] as u64 >> (at / 3) & 1) << at;
    (0..63).map(bit).sum()
}

#[inline(always)]
fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

#[inline(always)]
fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline(always)]
fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery::build;

    /// The mesh with rows for all vertices.
    fn whole(cells: usize, contrast: f64) -> Mesh {
        let mesh = Mesh::new(cells, contrast);
        let count = mesh.points.len() as u32;
        Mesh {
            order: (0..count).collect(),
            rows: (0..count).map(Some).collect(),
            ..mesh
        }
    }

    #[test]
    fn tetrahedra_fill_the_cube_and_none_is_turned_over() {
        let mesh = Mesh::new(9, 1.0);
        let (mut volume, mut least) = (0.0, f64::INFINITY);
        let cells = Grid::unchecked([9; 3]);
        for cell in (0..cells.cells()).map(|cell| cells.cell(cell)) {
            for path in PATHS {
                let element = mesh.element(cell, mesh.corners(cell, path));
                volume += element.volume;
                least = element.volume.min(least);
            }
        }
        // One turned over would count twice what it takes from its neighbours.
        assert!((volume - 1.0).abs() < 1e-12);
        assert!(least > 0.05 / 729.0 / 6.0, "{least}");
    }

    #[test]
    fn linear_functions_have_no_source() {
        let mesh = whole(5, 1.0);
        let value = |v: usize| dot(mesh.points[v], [1.0, -2.0, 3.0]) + 0.5;
        for &vertex in &Mesh::new(5, 1.0).order {
            let vertex = vertex as usize;
            let (mut source, mut sum, mut scale) = (0.0, 0.0, 0.0_f64);
            mesh.each_entry(vertex, |column, entry| {
                source += entry * value(column);
                sum += entry;
                scale = scale.max(entry.abs());
            });
            assert!(source.abs() < 1e-13 * scale.max(1.0), "{source}");
            assert!(sum.abs() < 1e-13 * scale.max(1.0), "{sum}");
        }
    }

    #[test]
    fn the_numbering_follows_no_grid() {
        let problem = build("tet:17,3", &Executor::reference()).unwrap();
        assert_eq!(problem.name, "tet:17,3");
        let (a, points) = (&problem.matrix, problem.coordinates.unwrap());
        assert_eq!((a.size().rows, a.row(2000).0.len()), (4096, 15));
        let ordered = points.windows(2).filter(|pair| pair[0][0] < pair[1][0]);
        assert!((1900..2200).contains(&ordered.count()));
        let close = |row: usize| a.row(row).0.iter().all(|&c| row.abs_diff(c as usize) < 64);
        let local = (0..4096).filter(|&row| close(row)).count();
        assert!(local > 300, "{local}");
    }

    #[test]
    fn the_load_is_the_volume_of_the_inside_and_energies_are_positive() {
        let problem = build("tet:6", &Executor::reference()).unwrap();
        let load: f64 = problem.rhs.iter().sum();
        assert!(load > (4.0_f64 / 6.0).powi(3) && load < 1.0);
        let a = &problem.matrix;
        for seed in 0..5 {
            let x = |row: u32| f64::from(hash([row as usize, 0, 0], seed)) / 4e9 - 0.5;
            let entries = (0..a.size().rows).flat_map(|row| {
                let (columns, values) = a.row(row);
                let entry = move |(&c, &v): (&u32, &f64)| x(row as u32) * v * x(c);
                columns.iter().zip(values).map(entry)
            });
            assert!(entries.sum::<f64>() > 0.0);
        }
    }
}
