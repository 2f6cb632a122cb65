//! Where the entries that a caller gives are in a matrix.

use vcycle::matrix::Csr;
use vcycle::scalar::Scalar;

use crate::failure::Failure;
use crate::guard::collected;
use crate::numbers::Number;

/// Where the entries that a caller gives are in the matrix that was made of them.
pub(crate) enum Places {
    /// In the same places.
    Same(usize),
    /// There; several may be at one place.
    At(Vec<usize>),
}

impl Places {
    /// How many entries were given.
    pub fn given(&self) -> usize {
        match self {
            Self::Same(count) => *count,
            Self::At(places) => places.len(),
        }
    }
}

/// The values of the entries of a matrix.
pub(crate) fn placed<N: Number>(
    given: &[N],
    places: &Places,
    entries: usize,
) -> Result<Vec<N::Wide>, Failure> {
    match places {
        Places::Same(_) => collected(given.iter().map(|value| value.wide())),
        Places::At(places) => {
            let mut values = collected((0..entries).map(|_| N::Wide::default()))?;
            for (&place, value) in places.iter().zip(given) {
                values[place] += value.wide();
            }
            Ok(values)
        }
    }
}

pub(crate) fn is_canonical(offsets: &[usize], columns: &[u32]) -> bool {
    let increases =
        |range: &[usize]| columns[range[0]..range[1]].is_sorted_by(|one, next| one < next);
    offsets.windows(2).all(increases)
}

/// The place of every entry that was given.
pub(crate) fn places<T: Scalar>(
    a: &Csr<T>,
    offsets: &[usize],
    columns: &[u32],
) -> Result<Vec<usize>, Failure> {
    let rows = offsets.windows(2).enumerate();
    let row_of = rows.flat_map(|(row, range)| (range[0]..range[1]).map(move |_| row));
    let mut places = collected(columns.iter().map(|&column| column as usize))?;
    for (place, row) in places.iter_mut().zip(row_of) {
        let found = a.row(row).0.binary_search(&(*place as u32));
        *place = a.offsets()[row] + found.expect("every entry is in the matrix");
    }
    Ok(places)
}
