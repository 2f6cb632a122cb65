//! Norms of matrices.

use crate::operations::entries;
use crate::prelude::*;

/// Absolute row sums over the diagonal of dominant rows are below this.
const DOMINANT: f64 = 2.001;
/// Coefficients jump where the diagonal has numbers so many times others.
const JUMP: f64 = 1e3;

/// Whether a matrix with these absolute row sums over the diagonal, largest entry and least diagonal entry is that of a
/// diffusion whose coefficient jumps.
fn are_jumps(row_sum: f64, largest: f64, least: f64) -> bool {
    row_sum < DOMINANT && largest > JUMP * least
}

/// The absolute value of a stored number.
#[inline]
pub(crate) fn modulus<T: Scalar>(value: T) -> f64 {
    value.load().modulus().to_f64()
}

/// The larger one, or NaN if one of them is.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b || a.is_nan() { a } else { b }
}

/// The largest absolute value; several are compared side by side.
pub(crate) fn largest<T: Scalar>(values: &[T]) -> f64 {
    let (body, tail) = values.as_chunks::<8>();
    let mut lanes = [0.0; 8];
    for values in body {
        for lane in 0..8 {
            lanes[lane] = larger(lanes[lane], modulus(values[lane]));
        }
    }
    let tail = tail.iter().map(|&value| modulus(value));
    lanes.into_iter().chain(tail).fold(0.0, larger)
}

/// The absolute value of the diagonal entry among those of a row; zero where there is none.
fn pivot<T: Scalar>((columns, values): (&[u32], &[T]), row: usize) -> f64 {
    let at = columns.iter().position(|&column| column as usize == row);
    at.map_or(0.0, |at| modulus(values[at]))
}

impl<T: Scalar> Csr<T> {
    /// The largest absolute value of an entry; NaN if an entry is.
    pub fn norm_max(&self) -> f64 {
        self.largest_entry().expect("the device still answers")
    }

    /// [`norm_max`](Self::norm_max), where a device may be short of memory.
    #[doc(hidden)]
    pub fn largest_entry(&self) -> Result<f64> {
        if let Some(found) = entries::extremes(self)? {
            return Ok(found.largest);
        }
        let values = self.values();
        let parts = self.map_pieces(|rows| {
            let places = self.offsets()[rows.start]..self.offsets()[rows.end];
            largest(&values[places])
        });
        Ok(parts.into_iter().fold(0.0, larger))
    }

    /// For every matrix the largest absolute value, and the smallest one of the diagonal that is not
    /// zero. Those of a device come first, and the host waits for them once.
    #[doc(hidden)]
    pub fn largest_and_least_pivots(matrices: &[&Self]) -> Result<Vec<(f64, f64)>> {
        let on_host = |a: &&Self| !a.executor().has_kernels_for(T::KIND);
        let host = matrices.iter().position(on_host);
        let (there, here) = matrices.split_at(host.unwrap_or(matrices.len()));
        let mut all = Vec::new();
        if let Some(extremes) = entries::all_extremes(there)? {
            all.extend(extremes.iter().map(|e| (e.largest, e.smallest_diagonal)));
        }
        all.extend(here.iter().map(|a| a.largest_and_least_pivot()));
        Ok(all)
    }

    fn largest_and_least_pivot(&self) -> (f64, f64) {
        let arrays = self.at_hand();
        let parts = self.map_pieces(|rows| {
            let places = arrays.offsets[rows.start]..arrays.offsets[rows.end];
            let least = rows.map(|row| pivot(arrays.row(row), row));
            let least = least.filter(|&d| d > 0.0).fold(f64::INFINITY, f64::min);
            (largest(&arrays.values[places]), least)
        });
        let join = |a: (f64, f64), b: (f64, f64)| (larger(a.0, b.0), a.1.min(b.1));
        parts.into_iter().fold((0.0, f64::INFINITY), join)
    }

    /// Whether a matrix on a device is diagonally dominant with a diagonal of very different sizes, as
    /// that of a diffusion whose coefficient jumps; the host is not asked.
    #[doc(hidden)]
    pub fn has_jumps(&self) -> Result<bool> {
        let Some(found) = entries::extremes(self)? else {
            return Ok(false);
        };
        let (sum, least) = (found.row_sum, found.smallest_diagonal);
        Ok(are_jumps(sum, found.largest, least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_entry_hides_no_nan() {
        let host = Executor::reference();
        assert_eq!(Csr::<f64>::identity(&host, 0).norm_max(), 0.0);
        let a = Csr::diagonal_matrix(&host, vec![3e200, -4e200]);
        assert_eq!(a.norm_max(), 4e200);
        let a = Csr::diagonal_matrix(&host, vec![1.0, f64::NAN, 2.0]);
        assert!(a.norm_max().is_nan());
    }
}
