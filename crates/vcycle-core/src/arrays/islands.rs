//! Functions on boxes of cells.

use std::ops::Range;

use crate::executor::Buffer;
use crate::grid::Grid;

/// Cells of a box, at most.
const MOST_CELLS: usize = 1 << 16;
/// Cells of all boxes together for each cell of the grid, at most.
const MOST_BOXES: usize = 16;
/// Numbers of each box that kernels read.
pub(crate) const WORDS: usize = 10;

/// Some cells of a grid along each axis.
pub type Ranges = [Range<usize>; 3];

/// A box of cells around an island.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IslandBox {
    /// Its cells along each axis.
    pub ranges: Ranges,
    /// Where its numbers begin, among those of all boxes.
    pub(crate) from: usize,
    /// The other boxes that have cells of it, in ascending order.
    pub(crate) near: Vec<u32>,
}

impl IslandBox {
    /// Cells along each axis.
    pub fn size(&self) -> [usize; 3] {
        size(&self.ranges)
    }

    /// Where its numbers are, among those of all boxes.
    pub fn places(&self) -> Range<usize> {
        self.from..self.from + self.size().iter().product::<usize>()
    }

    /// The first cell of each of its lines, numbered as in the grid.
    pub(crate) fn lines(&self, grid: Grid) -> impl Iterator<Item = usize> {
        let ([nx, ny, _], [xs, ys, zs]) = (grid.size(), self.ranges.clone());
        zs.flat_map(move |z| ys.clone().map(move |y| xs.start + nx * (y + ny * z)))
    }

    /// Its cells, numbered as in the grid.
    pub fn cells(&self, grid: Grid) -> impl Iterator<Item = usize> {
        let length = self.ranges[0].len();
        self.lines(grid)
            .flat_map(move |first| first..first + length)
    }

    /// Where the number of a cell is among those of all boxes, if the box has it.
    pub(crate) fn place(&self, cell: [usize; 3]) -> Option<usize> {
        let ([nx, ny, _], [xs, ys, zs]) = (self.size(), &self.ranges);
        let [x, y, z] = cell;
        let is_inside = xs.contains(&x) && ys.contains(&y) && zs.contains(&z);
        is_inside.then(|| self.from + x - xs.start + nx * (y - ys.start + ny * (z - zs.start)))
    }

    fn has_cells_of(&self, other: &Self) -> bool {
        let mut axes = self.ranges.iter().zip(&other.ranges);
        axes.all(|(one, other)| one.start < other.end && other.start < one.end)
    }

    fn words(&self) -> [usize; 7] {
        let ([xs, ys, zs], [nx, ny, nz]) = (&self.ranges, self.size());
        [xs.start, ys.start, zs.start, nx, ny, nz, self.from]
    }
}

fn size(ranges: &Ranges) -> [usize; 3] {
    [0, 1, 2].map(|axis| ranges[axis].len())
}

/// Boxes of a grid around islands.
#[derive(Clone, Debug)]
pub struct IslandBoxes {
    pub(crate) grid: Grid,
    pub(crate) boxes: Vec<IslandBox>,
}

impl IslandBoxes {
    /// The box that has `margin` cells more than an island on all sides, up to the boundary of the grid; none where it would be
    /// very large.
    pub fn around(grid: Grid, island: &Ranges, margin: usize) -> Option<Ranges> {
        let ranges = [0, 1, 2].map(|axis| {
            let Range { start, end } = island[axis];
            start.saturating_sub(margin)..(end + margin).min(grid.size()[axis])
        });
        (size(&ranges).iter().product::<usize>() <= MOST_CELLS).then_some(ranges)
    }

    /// Whether boxes of so many cells in all do not take several times the memory of the matrix.
    pub fn is_worth(grid: Grid, cells: u64) -> bool {
        cells <= (MOST_BOXES * grid.cells()) as u64 && u32::try_from(cells).is_ok()
    }

    /// Boxes in the order in which they begin along z. None are left of so many that they would take several times the memory
    /// of the matrix.
    pub fn new(grid: Grid, ranges: Vec<Ranges>) -> Self {
        let (mut boxes, mut from) = (Vec::with_capacity(ranges.len()), 0);
        for ranges in ranges {
            let near = Vec::new();
            let one = IslandBox { ranges, from, near };
            from = one.places().end;
            boxes.push(one);
        }
        if !Self::is_worth(grid, from as u64) {
            boxes.clear();
        }
        find_near(&mut boxes);
        Self { grid, boxes }
    }

    /// Every box.
    pub fn boxes(&self) -> &[IslandBox] {
        &self.boxes
    }

    /// Numbers that a function on all boxes has.
    pub fn cells(&self) -> usize {
        self.boxes.last().map_or(0, |last| last.places().end)
    }

    /// What kernels read, with two more numbers for each box.
    pub(crate) fn table(&self, further: impl Fn(usize) -> [u32; 2]) -> Vec<u32> {
        let (mut table, mut near) = (Vec::new(), Vec::<u32>::new());
        let first = WORDS * (self.boxes.len() + 1);
        for (place, one) in self.boxes.iter().enumerate() {
            table.extend(one.words().map(|word| word as u32));
            table.push((first + near.len()) as u32);
            table.extend(further(place));
            near.extend(&one.near);
        }
        table.resize(first, 0);
        table[first - 3] = (first + near.len()) as u32;
        table.extend(near);
        table
    }
}

/// Finds boxes that have cells in common.
fn find_near(boxes: &mut [IslandBox]) {
    for one in 0..boxes.len() {
        let end = boxes[one].ranges[2].end;
        let later = boxes[one + 1..].iter();
        let count = later.take_while(|it| it.ranges[2].start < end).count();
        for other in one + 1..=one + count {
            if boxes[one].has_cells_of(&boxes[other]) {
                boxes[one].near.push(other as u32);
                boxes[other].near.push(one as u32);
            }
        }
    }
}

/// A function `z` for each island, on the box around it, and `A z`.
#[derive(Debug)]
pub struct IslandFunctions {
    pub(crate) boxes: IslandBoxes,
    /// What kernels read of the boxes.
    pub(crate) table: Buffer<u32>,
    pub(crate) z: Buffer<f64>,
    pub(crate) az: Buffer<f64>,
    /// One over the diagonal of `Z^T A Z`, with absolute values of what couples islands added to it.
    pub(crate) weights: Buffer<f64>,
}

impl IslandFunctions {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.boxes.boxes.len()
    }

    /// The boxes.
    pub fn boxes(&self) -> &IslandBoxes {
        &self.boxes
    }

    /// The functions, box by box.
    pub fn z(&self) -> &Buffer<f64> {
        &self.z
    }

    /// Their products with the matrix, box by box.
    pub fn az(&self) -> &Buffer<f64> {
        &self.az
    }

    /// What corrections are multiplied by.
    pub fn weights(&self) -> &Buffer<f64> {
        &self.weights
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.table.bytes() + self.z.bytes() + self.az.bytes() + self.weights.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_know_those_beside_them() {
        let grid = Grid::new([20, 20, 20]).unwrap();
        let at = |x: usize, z: usize| [x..x + 2, 9..10, z..z + 1];
        let ranges = [at(4, 2), at(15, 4), at(3, 6), at(10, 6)];
        let around = ranges.map(|it| IslandBoxes::around(grid, &it, 3).unwrap());
        assert_eq!(around[0], [1..9, 6..13, 0..6]);
        let boxes = IslandBoxes::new(grid, around.to_vec());
        let near: Vec<&[u32]> = boxes.boxes.iter().map(|it| &it.near[..]).collect();
        assert_eq!(near, [&[2, 3][..], &[3], &[0, 3], &[0, 1, 2]]);
        let second = &boxes.boxes[1];
        assert_eq!(second.place([12, 7, 1]), Some(second.from + 8));
        assert_eq!(second.place([11, 7, 1]), None);
        assert_eq!(boxes.cells(), boxes.boxes[3].places().end);
        let table = boxes.table(|_| [7, 8]);
        assert_eq!((table[WORDS], table[WORDS + 9]), (12, 8));
        assert_eq!(table[5 * WORDS..].len(), 8);
        assert_eq!(table[4 * WORDS + 7] as usize, table.len());
        let many = vec![around[0].clone(); 400];
        assert!(IslandBoxes::new(grid, many).boxes.is_empty());
    }
}
