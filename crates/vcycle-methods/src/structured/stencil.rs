//! Stencils: which neighbours a cell is coupled with.

use super::Grid;
use crate::prelude::*;

/// The place of a neighbour relative to a cell: -1, 0 or 1 along x, y and z.
pub type Offset = [i8; 3];

/// The offsets of the entries of a row, in the order of their columns; with each its opposite, and
/// the centre among them.
///
/// ```
/// use vcycle::structured::Stencil;
/// assert_eq!(Stencil::star(3).to_string(), "3d7");
/// assert_eq!(Stencil::full(2).to_string(), "2d9");
/// assert_eq!(Stencil::full(3).offsets().len(), 27);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stencil {
    offsets: Vec<Offset>,
}

impl Stencil {
    /// The stencil of some offsets and their opposites.
    ///
    /// # Errors
    /// For an offset of more than one cell along an axis.
    pub fn new(offsets: &[Offset]) -> Result<Self> {
        let far = |offset: &&Offset| offset.iter().any(|&step| !(-1..=1).contains(&step));
        if let Some(offset) = offsets.iter().find(far) {
            return Err(Error::BadParameter {
                parameter: "stencil",
                reason: format!("{offset:?} is more than one cell away"),
            });
        }
        let wanted =
            |offset: &Offset| offsets.contains(offset) || offsets.contains(&opposite(*offset));
        Ok(Self::of(&|offset| offset == [0; 3] || wanted(&offset)))
    }

    /// The offsets that are wanted; the choice has to be symmetric.
    pub(crate) fn of(wanted: &dyn Fn(Offset) -> bool) -> Self {
        let offsets = (-1..=1)
            .flat_map(|z| (-1..=1).flat_map(move |y| (-1..=1).map(move |x| [x, y, z])))
            .filter(|&offset| wanted(offset))
            .collect();
        Self { offsets }
    }

    /// A cell and the cells that share a face with it: 3, 5 or 7 points.
    pub fn star(dimension: usize) -> Self {
        Self::of(&|offset| flat(offset, dimension) && steps(offset) <= 1)
    }

    /// 3d15: a cell, those that share a face with it and those that share a corner only.
    pub fn faces_and_corners() -> Self {
        Self::of(&|offset| steps(offset) != 2)
    }

    /// 3d19: a cell and those that share a face or an edge with it.
    pub fn faces_and_edges() -> Self {
        Self::of(&|offset| steps(offset) <= 2)
    }

    /// A cell and all around it: 3, 9 or 27 points.
    pub fn full(dimension: usize) -> Self {
        Self::of(&|offset| flat(offset, dimension))
    }

    /// The offsets in the order of columns.
    pub fn offsets(&self) -> &[Offset] {
        &self.offsets
    }

    /// Entries of a row.
    pub fn points(&self) -> usize {
        self.offsets.len()
    }

    /// The place of the diagonal among the entries of a row.
    pub fn centre(&self) -> usize {
        self.points() / 2
    }

    /// The place of an offset among the entries of a row.
    pub fn position(&self, offset: Offset) -> Option<usize> {
        self.offsets.iter().position(|&other| other == offset)
    }

    /// Without offsets along axes that have one cell only.
    pub(crate) fn within(&self, grid: Grid) -> Self {
        let size = grid.size();
        let inside = |offset: Offset| (0..3).all(|axis| size[axis] > 1 || offset[axis] == 0);
        Self::of(&|offset| inside(offset) && self.position(offset).is_some())
    }
}

/// What a matrix on a grid is like.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Structure {
    /// The cells.
    pub grid: Grid,
    /// The neighbours of a cell.
    pub stencil: Stencil,
    /// The unknowns of a cell.
    pub unknowns: usize,
}

pub(super) fn opposite([x, y, z]: Offset) -> Offset {
    [-x, -y, -z]
}

fn steps(offset: Offset) -> i8 {
    offset.iter().map(|step| step.abs()).sum()
}

fn flat(offset: Offset, dimension: usize) -> bool {
    offset[dimension.min(3)..].iter().all(|&step| step == 0)
}

/// `3d7`: dimensions and points.
impl std::fmt::Display for Stencil {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let used = |axis: &usize| self.offsets.iter().any(|offset| offset[*axis] != 0);
        let dimension = (0..3).filter(used).count().max(1);
        f.pad(&format!("{dimension}d{}", self.points()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stencils_are_symmetric_and_have_a_centre() {
        let named = [
            (Stencil::star(2), "2d5"),
            (Stencil::full(1), "1d3"),
            (Stencil::faces_and_corners(), "3d15"),
            (Stencil::faces_and_edges(), "3d19"),
            (Stencil::full(3), "3d27"),
            (Stencil::new(&[[1, 1, 0]]).unwrap(), "2d3"),
        ];
        for (stencil, name) in named {
            assert_eq!(stencil.to_string(), name);
            assert_eq!(stencil.offsets()[stencil.centre()], [0; 3]);
            for &offset in stencil.offsets() {
                assert!(stencil.position(opposite(offset)).is_some());
            }
        }
        assert!(Stencil::new(&[[2, 0, 0]]).is_err());
    }

    #[test]
    fn flat_grids_have_flat_stencils() {
        let grid = Grid::new([4, 1, 4]).unwrap();
        assert_eq!(Stencil::full(3).within(grid).to_string(), "2d9");
    }
}
