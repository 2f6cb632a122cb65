//! A function for each island: one there, and less and less around it.

use super::island_search::{STRONG, WEAK};
use super::{Grid, StencilMatrix};
use crate::arrays::{IslandBox, IslandBoxes, IslandFunctions, Ranges};
use crate::operations::islands::IslandRules;
use crate::prelude::*;

/// Steps of Jacobi's method that make the function smooth around the island.
const STEPS: usize = 3;
/// Cells around an island that its function or the product with it may reach.
pub(super) const REACH: usize = STEPS + 1;
/// Numbers below this are none.
const LEAST: f64 = 0.01;

impl StencilMatrix<f64> {
    /// The functions of islands; those of very long ones are left out.
    pub(super) fn island_functions(&self) -> Result<IslandFunctions> {
        let found = self.island_functions_there(0)?;
        Ok(found.unwrap_or_else(|| self.island_functions_on_host()))
    }

    /// The same where a device finds them, of a grid that goes on beyond some of its [sides](IslandRules::cut).
    pub(super) fn island_functions_there(&self, cut: u32) -> Result<Option<IslandFunctions>> {
        self.operand().island_functions(&IslandRules {
            strong: STRONG,
            weak: WEAK,
            steps: STEPS,
            least: LEAST,
            cut,
        })
    }

    fn island_functions_on_host(&self) -> IslandFunctions {
        self.functions_of(self.islands_on_host())
    }

    /// The functions of some islands, by the host.
    pub(super) fn functions_of(&self, islands: Vec<Vec<u32>>) -> IslandFunctions {
        let grid = self.grid();
        // So large that functions are zero beside the border of their boxes, unless that is the border of the grid.
        let boxed = islands.into_iter().filter_map(|cells| {
            let ranges = IslandBoxes::around(grid, &extents(grid, &cells), REACH)?;
            Some((ranges, cells))
        });
        let (ranges, islands): (Vec<Ranges>, Vec<Vec<u32>>) = boxed.unzip();
        let boxes = IslandBoxes::new(grid, ranges);
        let patches = boxes.boxes().iter().zip(&islands);
        let patches = patches.map(|(within, island)| Patch {
            grid,
            island,
            within,
        });
        let work = |patch: Patch<'_>| patch.function(self);
        let bytes = boxes.cells() * size_of::<f64>() * self.stencil().points();
        let made = self.executor().run(bytes, patches.collect(), work);
        let (z, az): (Vec<Vec<f64>>, Vec<Vec<f64>>) = made.into_iter().unzip();
        IslandFunctions::new(self.executor(), boxes, z.concat(), az.concat())
    }
}

/// The cells between which an island is along each axis.
pub(super) fn extents(grid: Grid, island: &[u32]) -> Ranges {
    [0, 1, 2].map(|axis| {
        let along = island.iter().map(|&cell| grid.cell(cell as usize)[axis]);
        let (low, high) = along.fold((usize::MAX, 0), |(low, high), at| {
            (low.min(at), high.max(at))
        });
        low..high + 1
    })
}

/// A box of cells around an island.
struct Patch<'i> {
    grid: Grid,
    island: &'i [u32],
    within: &'i IslandBox,
}

impl Patch<'_> {
    /// The box that is wider by a cell on all sides.
    fn around(&self) -> Grid {
        let size = self.within.size().map(|cells| cells + 2);
        Grid::new(size).expect("little more than the box of an island")
    }

    /// Where a cell of the box is in the wider one.
    fn wide(&self, cell: [usize; 3]) -> usize {
        self.around().index(cell.map(|place| place + 1))
    }

    /// The places of its cells in that wider box, in their order.
    fn places(&self) -> Vec<usize> {
        let [nx, ny, nz] = self.within.size();
        let lines = (0..nz).flat_map(|z| (0..ny).map(move |y| [y, z]));
        lines
            .flat_map(|[y, z]| {
                let first = self.wide([0, y, z]);
                first..first + nx
            })
            .collect()
    }

    /// One on the island; the box is the wider one, so that every cell has all neighbours.
    fn indicator(&self) -> Vec<f64> {
        let mut z = vec![0.0; self.around().cells()];
        for &cell in self.island {
            let at = self.grid.cell(cell as usize);
            let at = [0, 1, 2].map(|axis| at[axis] - self.within.ranges[axis].start);
            z[self.wide(at)] = 1.0;
        }
        z
    }

    /// Its rows, all neighbours of a cell side by side.
    fn rows(&self, a: &StencilMatrix<f64>) -> Vec<f64> {
        let (length, points) = (self.grid.length(), a.stencil().points());
        let row = |cell: usize| {
            let (line, x) = (cell / length, cell % length);
            (0..points).map(move |point| a.line_of([0; 2], line, point)[x])
        };
        self.within.cells(self.grid).flat_map(row).collect()
    }

    /// `z` and `A z`.
    fn function(&self, a: &StencilMatrix<f64>) -> (Vec<f64>, Vec<f64>) {
        let (stencil, rows) = (a.stencil(), self.rows(a));
        let offsets = stencil.offsets().iter();
        let distances: Vec<isize> = offsets.map(|&it| self.around().distance(it)).collect();
        let (places, centre) = (self.places(), stencil.centre());
        // (A z) of a cell: entries of neighbours outside the grid are zero.
        let product = |(place, row): (usize, &[f64]), z: &[f64]| -> f64 {
            let entries = distances.iter().zip(row);
            entries
                .map(|(&distance, value)| value * z[place.wrapping_add_signed(distance)])
                .sum()
        };
        let cells = || places.iter().copied().zip(rows.chunks(stencil.points()));
        let island = self.indicator();
        let mut z = island.clone();
        for _ in 0..STEPS {
            let old = z.clone();
            for (place, row) in cells().filter(|&(place, _)| island[place] == 0.0) {
                let new = old[place] - product((place, row), &old) / row[centre];
                if new > LEAST {
                    z[place] = new;
                }
            }
        }
        let az = cells().map(|cell| product(cell, &z)).collect();
        (places.iter().map(|&place| z[place]).collect(), az)
    }
}

#[cfg(test)]
mod tests {
    use super::super::island_search::pair;
    use super::super::mg_tests::{is_in_boxes, jumps};
    use super::*;
    use crate::multigrid::testing::assert_near;

    #[test]
    fn devices_find_the_islands_of_the_host() {
        let Some(there) = device() else { return };
        // Two and more cells of any shape.
        let is_high = |[x, y, z]: [usize; 3]| {
            (x < 16 && y < 14 && z < 10) && (7 * (x / 2) + 5 * y * y + 3 * z * z * x) % 29 < 3
        };
        let boxes = jumps([16, 12, 12], is_in_boxes);
        for (a, islands) in [
            (pair(1e4), 1),
            (pair(20.0), 0),
            (boxes, 18),
            (jumps([16, 14, 10], is_high), 35),
        ] {
            let here = a.island_functions_on_host();
            assert_eq!(here.count(), islands);
            let [one, again] = [0; 2].map(|_| a.copy_to(&there).unwrap().island_functions());
            let (one, again) = (one.unwrap(), again.unwrap());
            assert_eq!(one.boxes().boxes(), here.boxes().boxes());
            for part in [
                IslandFunctions::z,
                IslandFunctions::az,
                IslandFunctions::weights,
            ] {
                let [one, here] = [&one, &here].map(|of| part(of).host().unwrap());
                assert_near(one, here, 1e-12, "functions");
            }
            assert_eq!(one.az().host().unwrap(), again.az().host().unwrap());
            assert_eq!(
                one.weights().host().unwrap(),
                again.weights().host().unwrap()
            );
        }
    }
}
