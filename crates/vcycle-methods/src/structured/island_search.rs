//! Which cells of a grid are islands.

use std::collections::BTreeMap;

use super::StencilMatrix;
use crate::error::Result;

/// Cells of an island, at most: a larger one is an island of the next grid, too.
pub(super) const MOST_CELLS: usize = 16;
/// Cells are one island whose coupling is this part of the larger diagonal entry of the two.
const STRONG: f64 = 0.01;
/// An island is coupled with all else by less than this part of its diagonal entries.
const WEAK: f64 = 0.03;
/// Cells of a grid on a device that the host looks at.
const MOST_COPIED: usize = 1 << 16;
/// Lines that one task looks at.
const LINES: usize = 32;

/// A few cells that are coupled strongly with one another and weakly with all else.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Island {
    /// In ascending order.
    pub(super) cells: Vec<u32>,
    /// The sum of their rows: how strongly the island is coupled with each cell.
    pub(super) couplings: BTreeMap<u32, f64>,
}

impl Island {
    /// How strongly the island is coupled with its own cells, in sum.
    pub(super) fn own_coupling(&self) -> f64 {
        let own = |cell: &u32| self.couplings.get(cell).copied();
        self.cells.iter().filter_map(own).sum()
    }
}

impl StencilMatrix<f64> {
    /// The islands of a grid with one unknown a cell, by their first cells.
    pub(super) fn islands(&self) -> Result<Vec<Island>> {
        match self.executor().is_device() {
            false => Ok(self.islands_on_host()),
            true if self.grid().cells() > MOST_COPIED => Ok(Vec::new()),
            true => Ok(self.copy_to(&self.executor().on_host())?.islands_on_host()),
        }
    }

    fn islands_on_host(&self) -> Vec<Island> {
        let (lines, length) = (self.grid().lines(), self.grid().length());
        let tasks = (0..lines).step_by(LINES).collect();
        let found = self.executor().run(self.bytes(), tasks, |first: usize| {
            let cells = first * length..(first + LINES).min(lines) * length;
            let islands = cells.filter_map(|cell| self.island_from(cell));
            islands.collect::<Vec<_>>()
        });
        found.into_iter().flatten().collect()
    }

    /// The island whose first cell this is.
    fn island_from(&self, first: usize) -> Option<Island> {
        let is_strong = |&(other, value): &(usize, f64)| self.is_strong([first, other], value);
        let mut strong = self.neighbours(first).filter(is_strong);
        if strong.next()?.0 < first {
            return None;
        }
        let (mut cells, mut place) = (vec![first], 0);
        while place < cells.len() {
            for (other, value) in self.neighbours(cells[place]) {
                if !self.is_strong([cells[place], other], value) || cells.contains(&other) {
                    continue;
                }
                if other < first || cells.len() == MOST_CELLS {
                    return None;
                }
                cells.push(other);
            }
            place += 1;
        }
        cells.sort_unstable();
        let island = self.summed(&cells);
        let diagonal: f64 = cells.iter().map(|&cell| self.diagonal_at(cell)).sum();
        let own = island.own_coupling();
        (own > 0.0 && own < WEAK * diagonal).then_some(island)
    }

    fn summed(&self, cells: &[usize]) -> Island {
        let mut couplings = BTreeMap::new();
        for &cell in cells {
            *couplings.entry(cell as u32).or_insert(0.0) += self.diagonal_at(cell);
            for (other, value) in self.neighbours(cell) {
                *couplings.entry(other as u32).or_insert(0.0) += value;
            }
        }
        Island {
            cells: cells.iter().map(|&cell| cell as u32).collect(),
            couplings,
        }
    }

    fn is_strong(&self, cells: [usize; 2], value: f64) -> bool {
        let [here, there] = cells.map(|cell| self.diagonal_at(cell).abs());
        value.abs() > STRONG * here.max(there)
    }

    fn diagonal_at(&self, cell: usize) -> f64 {
        self.entry_at(cell, self.stencil().centre())
    }

    fn entry_at(&self, cell: usize, point: usize) -> f64 {
        let (line, x) = (cell / self.grid().length(), cell % self.grid().length());
        self.line_of([0, 0], line, point)[x]
    }

    /// The cells around one, and its couplings with them.
    fn neighbours(&self, cell: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let (grid, centre) = (self.grid(), self.stencil().centre());
        let offsets = self.stencil().offsets().iter().enumerate();
        let others = offsets.filter(move |(point, _)| *point != centre);
        others.filter_map(move |(point, &offset)| {
            let value = self.entry_at(cell, point);
            (value != 0.0).then(|| {
                let other = cell.wrapping_add_signed(grid.distance(offset));
                (other, value)
            })
        })
    }
}

/// A Laplacian of 6x4x4 cells whose cells 37 and 38 are coupled by so much.
#[cfg(test)]
pub(super) fn pair(strength: f64) -> StencilMatrix<f64> {
    use super::{Grid, Stencil};
    let (stencil, cpu) = (Stencil::star(3), crate::executor::Executor::cpu());
    let (offsets, grid) = (stencil.offsets().to_vec(), Grid::new([6, 4, 4]).unwrap());
    let made = StencilMatrix::from_cells(&cpu, grid, stencil, 1, |[x, y, z], entries| {
        let in_pair = [y, z] == [2, 1] && (x == 1 || x == 2);
        for (offset, entry) in offsets.iter().zip(entries) {
            let is_within = in_pair && *offset == [if x == 1 { 1 } else { -1 }, 0, 0];
            *entry = match offset {
                [0, 0, 0] if in_pair => 5.0 + strength,
                [0, 0, 0] => 6.0,
                _ if is_within => -strength,
                _ => -1.0,
            };
        }
    });
    made.unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_coupled_strongly_with_one_another_alone_are_an_island() {
        let found = pair(1e4).islands().unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].cells, [37, 38]);
        assert_eq!(found[0].couplings.len(), 12);
        assert_eq!(found[0].own_coupling(), 10.0);
        assert_eq!(found[0].couplings[&36], -1.0);
        assert!(pair(20.0).islands().unwrap().is_empty());
        assert!(pair(1.0).islands().unwrap().is_empty());
    }
}
