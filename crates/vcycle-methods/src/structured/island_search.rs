//! Which cells of a grid are islands.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use super::decode::ALL;
use super::lines::map_lines;
use super::{Grid, StencilMatrix};
use crate::operations::islands::MOST_CELLS;
use crate::prelude::*;

/// Cells are one island whose coupling is this part of the larger diagonal entry of the two.
pub(super) const STRONG: f64 = 0.01;
/// All else that a cell of an island is coupled with comes to less than this part of its diagonal entry.
pub(super) const WEAK: f64 = 0.01;
/// Set for cells that are tied to more than strong neighbours; the bits below it are those neighbours.
pub(super) const TIED: u32 = 1 << 31;
/// Neighbours that come before a cell.
const BEFORE: u32 = (1 << 13) - 1;

impl StencilMatrix<f64> {
    /// Groups of cells, one unknown each, that are coupled strongly with one another and weakly with all else, by their first
    /// cells; the cells of each ascend.
    pub(super) fn islands_on_host(&self) -> Vec<Vec<u32>> {
        let all = std::iter::once(0..self.grid().lines());
        islands_from(self.executor(), self.grid(), &self.links(), all)
    }

    /// Which neighbours each own cell is coupled with strongly, a bit for each, and whether all else is more than weak; zeros for
    /// others.
    pub(super) fn links(&self) -> Vec<u32> {
        let (lines, length) = (self.grid().lines(), self.grid().length());
        let tasks = (0..lines).collect();
        let is_own = |line: usize| self.part().is_none_or(|part| part.is_own_line(line));
        let of_line = |line: usize| match is_own(line) {
            true => (0..length).map(|x| self.links_of(line, x)).collect(),
            false => vec![0; length],
        };
        let found = self.executor().run(self.bytes(), tasks, of_line);
        found.into_iter().flatten().collect()
    }

    fn links_of(&self, line: usize, x: usize) -> u32 {
        let (grid, stencil) = (self.grid(), self.stencil());
        let diagonal = |line: usize, x: usize| self.line_of([0; 2], line, stencil.centre())[x];
        let here = diagonal(line, x);
        let (mut rest, mut links) = (here, 0);
        for (point, &offset) in stencil.offsets().iter().enumerate() {
            let value = self.line_of([0; 2], line, point)[x];
            // Entries of neighbours outside are zero.
            if point == stencil.centre() || value == 0.0 {
                continue;
            }
            let other = grid.neighbour(line, offset).expect("a neighbour inside");
            let there = diagonal(other, x.wrapping_add_signed(offset[0].into()));
            if value.abs() > STRONG * here.abs().max(there.abs()) {
                links |= 1 << step(offset);
                rest += value;
            }
        }
        links
            | if rest.abs() > WEAK * here.abs() {
                TIED
            } else {
                0
            }
    }
}

/// The bit of a neighbour: its place among [`ALL`].
fn step([x, y, z]: [i8; 3]) -> i32 {
    13 + i32::from(x) + 3 * i32::from(y) + 9 * i32::from(z)
}

/// The islands whose first cells are on some lines.
pub(super) fn islands_from(
    executor: &Executor,
    grid: Grid,
    links: &[u32],
    lines: impl Iterator<Item = Range<usize>>,
) -> Vec<Vec<u32>> {
    let found = map_lines(executor, size_of_val(links), lines, |lines| {
        let cells = lines.start * grid.length()..lines.end * grid.length();
        let islands = cells.filter_map(|cell| island_from(grid, links, cell as u32));
        islands.collect::<Vec<_>>()
    });
    found.into_iter().flatten().collect()
}

/// The island whose first cell this is.
fn island_from(grid: Grid, links: &[u32], first: u32) -> Option<Vec<u32>> {
    let here = links[first as usize];
    if here == 0 || here & (TIED | BEFORE) != 0 {
        return None;
    }
    let (mut cells, mut place) = (vec![first], 0);
    let mut known =
        HashSet::with_capacity_and_hasher(64, BuildHasherDefault::<CellHasher>::default());
    known.insert(first);
    while place < cells.len() {
        let mut bits = links[cells[place] as usize];
        if bits & TIED != 0 {
            return None;
        }
        while bits != 0 {
            let distance = grid.distance(ALL[bits.trailing_zeros() as usize]);
            bits &= bits - 1;
            let other = (cells[place] as usize).wrapping_add_signed(distance) as u32;
            if other < first {
                return None;
            }
            if known.insert(other) {
                cells.push(other);
            }
        }
        // Coarse grids do better for larger ones.
        if cells.len() > MOST_CELLS {
            return None;
        }
        place += 1;
    }
    cells.sort_unstable();
    Some(cells)
}

/// Spreads numbers of cells many times as fast as the usual hash, which guards against keys chosen to collide.
#[derive(Default)]
struct CellHasher(u64);

impl Hasher for CellHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(byte.into()));
    }

    fn write_u32(&mut self, cell: u32) {
        // The golden ratio of 64 bits; the table looks at the highest and the lowest bits.
        let product = (self.0 ^ u64::from(cell)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ product >> 32;
    }
}

/// A Laplacian of 6x4x4 cells whose cells 37 and 38 are coupled by so much.
#[cfg(test)]
pub(super) fn pair(strength: f64) -> StencilMatrix<f64> {
    use super::Stencil;
    let (stencil, cpu) = (Stencil::star(3), Executor::cpu());
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
        assert_eq!(pair(1e4).islands_on_host(), [[37, 38]]);
        assert!(pair(20.0).islands_on_host().is_empty());
        assert!(pair(1.0).islands_on_host().is_empty());
    }
}
