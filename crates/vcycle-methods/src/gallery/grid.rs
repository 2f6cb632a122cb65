//! Sizes of grids of points.

use super::spec::bad;
use crate::prelude::*;

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
