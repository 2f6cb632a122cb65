//! The conjugate transpose of a factor.

use crate::matrix::Csr;
use crate::scalar::{Field, Scalar};

/// `A^H`; the rows of the result are sorted because those of `a` are visited in order.
pub(super) fn adjoint<T: Scalar>(a: &Csr<T>) -> Csr<T> {
    let size = a.size().transposed();
    let mut offsets = vec![0; size.rows + 1];
    for &column in a.columns() {
        offsets[column as usize + 1] += 1;
    }
    for row in 0..size.rows {
        offsets[row + 1] += offsets[row];
    }
    let mut next = offsets.clone();
    let (mut columns, mut values) = (vec![0; a.nonzeros()], vec![T::default(); a.nonzeros()]);
    for row in 0..a.size().rows {
        let (of_row, values_of_row) = a.row(row);
        for (&column, value) in of_row.iter().zip(values_of_row) {
            let place = &mut next[column as usize];
            columns[*place] = row as u32;
            values[*place] = T::store(value.load().conj());
            *place += 1;
        }
    }
    Csr::from_canonical(a.executor(), size, offsets, columns, values)
}
