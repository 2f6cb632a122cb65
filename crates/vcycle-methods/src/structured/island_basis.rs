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

    /// Where a neighbour is among the cells, for those that have one.
    fn neighbour(&self, place: usize, offset: [i8; 3]) -> Option<usize> {
        let [nx, ny, _] = self.size();
        let at = [place % nx, place / nx % ny, place / nx / ny];
        let there = [0, 1, 2].map(|axis| at[axis].wrapping_add_signed(offset[axis].into()));
        let is_inside = (0..3).all(|axis| there[axis] < self.size()[axis]);
        is_inside.then(|| there[0] + nx * (there[1] + ny * there[2]))
    }

    /// `(A z)` at a place, without the diagonal, and the diagonal entry.
    fn around_cell(&self, stencil: &Stencil, row: &[f64], place: usize, z: &[f64]) -> [f64; 2] {
        let (mut sum, mut diagonal) = (0.0, 0.0);
        for (&offset, &value) in stencil.offsets().iter().zip(row) {
            match offset {
                [0, 0, 0] => diagonal = value,
                _ if value == 0.0 => {}
                _ => {
                    sum += self
                        .neighbour(place, offset)
                        .map_or(0.0, |at| value * z[at])
                }
            }
        }
        [sum, diagonal]
    }

    fn function(&self, stencil: &Stencil, rows: &[f64]) -> IslandFunction {
        let cells: Vec<u32> = self.cells().collect();
        let is_island = |cell: &u32| self.island.binary_search(cell).is_ok();
        let fixed: Vec<bool> = cells.iter().map(is_island).collect();
        let row = |place: usize| &rows[place * stencil.points()..][..stencil.points()];
        let mut z: Vec<f64> = fixed.iter().map(|&one| f64::from(u8::from(one))).collect();
        for _ in 0..STEPS {
            let old = z.clone();
            for place in (0..cells.len()).filter(|&place| !fixed[place]) {
                let [sum, diagonal] = self.around_cell(stencil, row(place), place, &old);
                let new = -sum / diagonal;
                if new > LEAST {
                    z[place] = new;
                }
            }
        }
        let product = |place: usize| {
            let [sum, diagonal] = self.around_cell(stencil, row(place), place, &z);
            sum + diagonal * z[place]
        };
        let sparse = |value: &dyn Fn(usize) -> f64| -> Vec<(u32, f64)> {
            let all = cells.iter().enumerate();
            let all = all.map(|(place, &cell)| (cell, value(place)));
            all.filter(|&(_, value)| value != 0.0).collect()
        };
        IslandFunction {
            az: sparse(&product),
            z: sparse(&|place| z[place]),
        }
    }
}
