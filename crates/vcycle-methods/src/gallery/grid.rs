//! Box-shaped grids of points.

use super::spec::bad;
use crate::error::Result;
use crate::executor::Executor;

/// Points `0..size` along x, y and z, numbered with x fastest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    pub(super) size: [usize; 3],
}

impl Grid {
    pub(super) fn points(self) -> usize {
        self.size.iter().product()
    }

    #[inline]
    pub(super) fn point(self, index: usize) -> [usize; 3] {
        let [nx, ny, _] = self.size;
        [index % nx, index / nx % ny, index / (nx * ny)]
    }

    pub(super) fn index(self, [x, y, z]: [usize; 3]) -> usize {
        let [nx, ny, _] = self.size;
        x + nx * (y + ny * z)
    }

    /// Whether all eight corners around `point` are inside, and so every shift by one.
    pub(super) fn is_inner(self, point: [usize; 3]) -> bool {
        (0..3).all(|axis| point[axis] > 0 && point[axis] + 1 < self.size[axis])
    }

    /// The point `shift` away, if it is in the grid.
    #[inline]
    pub(super) fn shifted(self, point: [usize; 3], shift: [isize; 3]) -> Option<[usize; 3]> {
        let mut moved = point;
        for axis in 0..3 {
            moved[axis] = point[axis].checked_add_signed(shift[axis])?;
            if moved[axis] >= self.size[axis] {
                return None;
            }
        }
        Some(moved)
    }
}

/// The steps along the axes from the first corner of a cell to the opposite one, for its six
/// tetrahedra (Kuhn 1960).
pub(super) const PATHS: [[usize; 3]; 6] = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
];

/// A size as specifications write it.
pub(super) fn size_label(size: &[usize]) -> String {
    if size.iter().all(|extent| *extent == size[0]) {
        return size[0].to_string();
    }
    let extents: Vec<String> = size.iter().map(usize::to_string).collect();
    extents.join("x")
}

/// Rows that the columns of a matrix can be numbered for: those of ranks have numbers of 64 bits.
pub(super) fn most_rows(executor: &Executor) -> usize {
    match executor.team() {
        Some(_) => isize::MAX as usize,
        None => u32::MAX as usize,
    }
}

/// Fails unless `size` points with `unknowns` each are some and at most as many as can be numbered.
pub(super) fn check_rows(
    parameter: &'static str,
    size: [usize; 3],
    unknowns: usize,
    most: usize,
) -> Result<usize> {
    if size.contains(&0) {
        return bad(parameter, "every extent must be at least 1".to_owned());
    }
    let rows = (size.iter()).try_fold(unknowns, |rows, &extent| rows.checked_mul(extent));
    match rows {
        Some(rows) if rows <= most => Ok(rows),
        _ => {
            let bits = most.ilog2() + 1;
            bad(
                parameter,
                format!("too large for {bits}-bit column indices"),
            )
        }
    }
}
