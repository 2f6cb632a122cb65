//! A function for each island: one there, and less and less around it.

use std::ops::Range;

use super::{Grid, Stencil, StencilMatrix};
use crate::error::Result;

/// Steps of Jacobi's method that make the function smooth around the island.
const STEPS: usize = 3;
/// Numbers below this are none.
const LEAST: f64 = 0.01;
/// Cells of the box around an island, at most.
const MOST_CELLS: usize = 1 << 16;

/// A function `z` and `A z`, cell by cell, without zeros; cells ascend.
pub(super) struct IslandFunction {
    pub(super) z: Vec<(u32, f64)>,
    pub(super) az: Vec<(u32, f64)>,
}

impl StencilMatrix<f64> {
    /// The functions of islands; those of very long ones are left out.
    pub(super) fn island_functions(&self, islands: &[Vec<u32>]) -> Result<Vec<IslandFunction>> {
        let patches: Vec<Patch<'_>> = islands
            .iter()
            .map(|cells| Patch::around(self.grid(), cells))
            .filter(|patch| patch.size().iter().product::<usize>() <= MOST_CELLS)
            .collect();
        let cells: Vec<u32> = patches.iter().flat_map(Patch::cells).collect();
        let rows = match self.operand().rows_of(&cells)? {
            Some(rows) => rows,
            None => self.rows_on_host(&cells),
        };
        let (mut tasks, mut rest) = (Vec::new(), &rows[..]);
        for patch in patches {
            let (own, others) = rest.split_at(patch.cells().count() * self.stencil().points());
            tasks.push((patch, own));
            rest = others;
        }
        let work = |(patch, rows): (Patch<'_>, &[f64])| patch.function(self.stencil(), rows);
        Ok(self.executor().run(size_of_val(&rows[..]), tasks, work))
    }

    fn rows_on_host(&self, cells: &[u32]) -> Vec<f64> {
        let (length, points) = (self.grid().length(), self.stencil().points());
        let row = |&cell: &u32| {
            let (line, x) = (cell as usize / length, cell as usize % length);
            (0..points).map(move |point| self.line_of([0; 2], line, point)[x])
        };
        cells.iter().flat_map(row).collect()
    }
}

/// A box of cells around an island.
struct Patch<'i> {
    grid: Grid,
    island: &'i [u32],
    ranges: [Range<usize>; 3],
}

impl<'i> Patch<'i> {
    /// So large that the function is zero beside its border, unless that is the border of the grid.
    fn around(grid: Grid, island: &'i [u32]) -> Self {
        let ranges = [0, 1, 2].map(|axis| {
            let along = island.iter().map(|&cell| grid.cell(cell as usize)[axis]);
            let (low, high) = along.fold((usize::MAX, 0), |(low, high), at| {
                (low.min(at), high.max(at))
            });
            low.saturating_sub(STEPS + 1)..(high + STEPS + 2).min(grid.size()[axis])
        });
        Self {
            grid,
            island,
            ranges,
        }
    }

    fn size(&self) -> [usize; 3] {
        [0, 1, 2].map(|axis| self.ranges[axis].len())
    }

    /// Its cells, numbered as in the grid.
    fn cells(&self) -> impl Iterator<Item = u32> + '_ {
        let [nx, ny, _] = self.grid.size();
        let [xs, ys, zs] = self.ranges.clone();
        zs.flat_map(move |z| {
            let xs = xs.clone();
            ys.clone().flat_map(move |y| {
                let line = nx * (y + ny * z);
                xs.clone().map(move |x| (line + x) as u32)
            })
        })
    }

    /// Where a cell of the box is in one that is wider by a cell on all sides.
    fn wide(&self, [x, y, z]: [usize; 3]) -> usize {
        let [nx, ny, _] = self.size();
        x + 1 + (nx + 2) * (y + 1 + (ny + 2) * (z + 1))
    }

    /// The places of its cells in that wider box, in their order.
    fn places(&self) -> Vec<usize> {
        let [nx, ny, nz] = self.size();
        let lines = (0..nz).flat_map(|z| (0..ny).map(move |y| [y, z]));
        lines
            .flat_map(|[y, z]| {
                let first = self.wide([0, y, z]);
                first..first + nx
            })
            .collect()
    }

    /// How far a neighbour is in the wider box.
    fn distance(&self, [x, y, z]: [i8; 3]) -> isize {
        let [nx, ny, _] = self.size().map(|cells| cells as isize + 2);
        isize::from(x) + nx * (isize::from(y) + ny * isize::from(z))
    }

    /// One on the island; the box is the wider one, so that every cell has all neighbours.
    fn indicator(&self) -> Vec<f64> {
        let mut z = vec![0.0; self.size().map(|cells| cells + 2).iter().product()];
        for &cell in self.island {
            let at = self.grid.cell(cell as usize);
            let at = [0, 1, 2].map(|axis| at[axis] - self.ranges[axis].start);
            z[self.wide(at)] = 1.0;
        }
        z
    }

    fn function(&self, stencil: &Stencil, rows: &[f64]) -> IslandFunction {
        let distances: Vec<isize> = stencil
            .offsets()
            .iter()
            .map(|&it| self.distance(it))
            .collect();
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
        let sparse = |values: &mut dyn Iterator<Item = f64>| -> Vec<(u32, f64)> {
            let all = self.cells().zip(values);
            all.filter(|&(_, value)| value != 0.0).collect()
        };
        IslandFunction {
            az: sparse(&mut cells().map(|cell| product(cell, &z))),
            z: sparse(&mut places.iter().map(|&place| z[place])),
        }
    }
}
