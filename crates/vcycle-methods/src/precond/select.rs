//! Which entries of incomplete factors matter: the largest, so many of them.

use crate::matrix::Pattern;
use crate::scalar::{Field, Real};

/// For every place of a pattern whether its entry is kept: the diagonal, and of the others of either triangle so many with
/// the largest `|f_ij|^2 / |f_ii f_jj|`, which no symmetric scaling of the matrix changes.
///
/// Sizes are compared in single precision, and of equal ones those are kept that come first by their smaller and then
/// by their larger index, so that what is kept of a symmetric matrix is symmetric.
pub(super) fn largest<A: Field>(
    pattern: &Pattern,
    diagonal: &[usize],
    values: &[A],
    rooms: [usize; 2],
) -> Vec<bool> {
    let size = |place: usize| values[place].modulus_squared().to_f64();
    let pivots: Vec<f64> = diagonal.iter().map(|&place| size(place).sqrt()).collect();
    let mut kept = vec![false; values.len()];
    let mut triangles: [Vec<Candidate>; 2] = [Vec::new(), Vec::new()];
    for (row, &on_diagonal) in diagonal.iter().enumerate() {
        kept[on_diagonal] = true;
        for place in pattern.range(row).filter(|&place| place != on_diagonal) {
            let column = pattern.columns()[place] as usize;
            let relative = size(place) / (pivots[row] * pivots[column]);
            let triangle = usize::from(column > row);
            triangles[triangle].push(Candidate {
                size: relative as f32,
                indices: (row.min(column) as u32, row.max(column) as u32),
                place,
            });
        }
    }
    for (mut candidates, room) in triangles.into_iter().zip(rooms) {
        if room < candidates.len() {
            candidates.select_nth_unstable_by(room, |x, y| {
                y.size.total_cmp(&x.size).then(x.indices.cmp(&y.indices))
            });
            candidates.truncate(room);
        }
        candidates.iter().for_each(|one| kept[one.place] = true);
    }
    kept
}

struct Candidate {
    size: f32,
    indices: (u32, u32),
    place: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::precond::diagonal_places;
    use crate::precond::testing::from_dense;

    #[test]
    fn so_many_of_the_largest_stay_whatever_the_scaling() {
        let dense = [4.0, 1.0, 3.0, 2.0, 4.0, 1.0, 1.0, 3.0, 4.0];
        for scale in [1.0, 1e5] {
            let of = |index: usize| if index == 1 { scale } else { 1.0 };
            let scaled = |k: usize| of(k / 3) * dense[k] * of(k % 3);
            let scaled: Vec<f64> = (0..9).map(scaled).collect();
            let a = from_dense(&Executor::reference(), 3, &scaled);
            let diagonal = diagonal_places(a.pattern(), "test").unwrap();
            let kept = largest(a.pattern(), &diagonal, a.values(), [1, 2]);
            let places: Vec<usize> = (0..9).filter(|&place| kept[place]).collect();
            // Of two equal ones above the diagonal the first.
            assert_eq!(places, [0, 1, 2, 4, 7, 8], "{scale}");
        }
    }
}
