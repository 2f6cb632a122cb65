//! Box-shaped grids of cells.

use crate::error::Refusal;

/// Cells along x, y and z, numbered with x fastest: cell `(x, y, z)` is row `x + nx (y + ny z)`.
///
/// A line is a row of cells along x. Lines are numbered `y + ny z`; kernels go over a line at a time.
///
/// ```
/// use vcycle::structured::Grid;
/// let grid = Grid::new([4, 3, 2])?;
/// assert_eq!((grid.cells(), grid.lines()), (24, 6));
/// assert_eq!(grid.cell(13), [1, 0, 1]);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    size: [usize; 3],
}

impl Grid {
    /// A grid of this many cells along each axis; one cell along axes that it does not extend in.
    ///
    /// # Errors
    /// For an extent of zero, and for more cells than rows of a matrix can be numbered.
    pub fn new(size: [usize; 3]) -> Result<Self, Refusal> {
        let cells = size
            .iter()
            .try_fold(1_usize, |n, &extent| n.checked_mul(extent));
        match cells {
            Some(1..=0xFFFF_FFFF) => Ok(Self { size }),
            _ => Err(Refusal::Parameter {
                parameter: "grid",
                reason: format!(
                    "{size:?} must be at least 1 cell along each axis, below 2^32 in all"
                ),
            }),
        }
    }

    /// A grid of points that no matrix of one rank has a row for each of: of any number of them.
    pub const fn unchecked(size: [usize; 3]) -> Self {
        Self { size }
    }

    /// Cells along x, y and z.
    #[inline]
    pub fn size(self) -> [usize; 3] {
        self.size
    }

    /// Cells in all; the largest number there is where they are more.
    #[inline]
    pub fn cells(self) -> usize {
        let [nx, ny, nz] = self.size;
        nx.saturating_mul(ny).saturating_mul(nz)
    }

    /// Lines along x.
    #[inline]
    pub fn lines(self) -> usize {
        self.size[1] * self.size[2]
    }

    /// Cells of a line.
    #[inline]
    pub fn length(self) -> usize {
        self.size[0]
    }

    /// Axes along which there is more than one cell.
    #[inline]
    pub fn dimension(self) -> usize {
        self.size.iter().filter(|&&extent| extent > 1).count()
    }

    /// Where a row's cell lies.
    #[inline]
    pub fn cell(self, row: usize) -> [usize; 3] {
        let [nx, ny, _] = self.size;
        [row % nx, row / nx % ny, row / (nx * ny)]
    }

    /// The row of a cell.
    #[inline]
    pub fn index(self, [x, y, z]: [usize; 3]) -> usize {
        let [nx, ny, _] = self.size;
        x + nx * (y + ny * z)
    }

    /// The cell `offset` away from one, if it is in the grid.
    #[inline]
    pub fn shifted(self, cell: [usize; 3], offset: [i8; 3]) -> Option<[usize; 3]> {
        let mut shifted = cell;
        for axis in 0..3 {
            let place = cell[axis].checked_add_signed(offset[axis].into());
            shifted[axis] = place.filter(|&place| place < self.size[axis])?;
        }
        Some(shifted)
    }

    /// Whether all neighbours of a cell are in the grid.
    #[inline]
    pub fn is_inner(self, cell: [usize; 3]) -> bool {
        (0..3).all(|axis| cell[axis] > 0 && cell[axis] + 1 < self.size[axis])
    }

    /// Lines that no stencil couples with those of the planes beside the next: a plane of constant z,
    /// or in two dimensions a line.
    #[inline]
    pub fn lines_per_plane(self) -> usize {
        if self.size[2] > 1 { self.size[1] } else { 1 }
    }

    /// Where a line lies along y and z.
    #[inline]
    pub fn place(self, line: usize) -> [usize; 2] {
        [line % self.size[1], line / self.size[1]]
    }

    /// The line `offset` away from one at a place along y and z, if it is in the grid.
    #[inline]
    pub fn beside(self, [y, z]: [usize; 2], offset: [i8; 3]) -> Option<usize> {
        let [_, ny, nz] = self.size;
        let y = y.checked_add_signed(offset[1].into())?;
        let z = z.checked_add_signed(offset[2].into())?;
        (y < ny && z < nz).then_some(y + ny * z)
    }

    /// The line `offset` away from a line along y and z, if it is in the grid.
    #[inline]
    pub fn neighbour(self, line: usize, offset: [i8; 3]) -> Option<usize> {
        self.beside(self.place(line), offset)
    }

    /// How much larger the row of the cell `offset` away is.
    #[inline]
    pub fn distance(self, [x, y, z]: [i8; 3]) -> isize {
        let [nx, ny, _] = self.size.map(usize::cast_signed);
        isize::from(x) + nx * (isize::from(y) + ny * isize::from(z))
    }

    /// The grid with half the cells, rounded up, along an axis.
    #[inline]
    pub fn halved(self, axis: usize) -> Self {
        let mut size = self.size;
        size[axis] = size[axis].div_ceil(2);
        Self { size }
    }
}

/// `64x32x16`, without a last axis of one cell.
impl std::fmt::Display for Grid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let used = if self.size[2] > 1 { 3 } else { 2 };
        let extents: Vec<String> = self.size[..used].iter().map(usize::to_string).collect();
        f.pad(&extents.join("x"))
    }
}

impl std::str::FromStr for Grid {
    type Err = Refusal;

    /// Two or three numbers with an `x` between them.
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let extents: Option<Vec<usize>> = text.split('x').map(|part| part.parse().ok()).collect();
        match extents.as_deref() {
            Some(&[nx, ny]) => Self::new([nx, ny, 1]),
            Some(&[nx, ny, nz]) => Self::new([nx, ny, nz]),
            _ => Err(Refusal::Parameter {
                parameter: "grid",
                reason: format!("`{text}` is not of the form 64x32x16"),
            }),
        }
    }
}

crate::as_text!(Grid);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_and_huge_grids_are_refused() {
        assert!(Grid::new([4, 0, 1]).is_err());
        assert!(Grid::new([1 << 20, 1 << 20, 1]).is_err());
        assert!(Grid::new([usize::MAX, 2, 1]).is_err());
    }

    #[test]
    fn neighbours_end_at_the_boundary() {
        let grid = Grid::new([5, 3, 2]).unwrap();
        assert_eq!(grid.neighbour(4, [0, 1, -1]), Some(2));
        assert_eq!(grid.neighbour(2, [0, 1, 0]), None);
        assert_eq!(grid.neighbour(0, [0, 0, -1]), None);
        assert_eq!(grid.distance([1, -1, 1]), 1 - 5 + 15);
    }

    #[test]
    fn grids_are_read_and_written() {
        for text in ["5x3x2", "5x1", "1x1", "1x1x7"] {
            assert_eq!(text.parse::<Grid>().unwrap().to_string(), text);
        }
        for text in ["", "5", "5x", "0x3", "axb", "2x2x2x2"] {
            assert!(text.parse::<Grid>().is_err(), "{text}");
        }
    }
}
