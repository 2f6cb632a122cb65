//! Where the entries that a caller gives are in a matrix.

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

/// The order that entries were given in.
pub(crate) enum GivenOrder<I> {
    /// That of their columns.
    Sorted(usize),
    /// Another one: offsets and columns, and room for the places.
    Other(Vec<usize>, Vec<I>, Vec<usize>),
}

impl<I: Copy + Ord> GivenOrder<I> {
    pub fn of(offsets: &[usize], columns: &[I]) -> Result<Self, Failure> {
        let increases =
            |range: &[usize]| columns[range[0]..range[1]].is_sorted_by(|one, next| one < next);
        if offsets.windows(2).all(increases) {
            return Ok(Self::Sorted(columns.len()));
        }
        Ok(Self::Other(
            collected(offsets.iter().copied())?,
            collected(columns.iter().copied())?,
            collected(columns.iter().map(|_| 0))?,
        ))
    }

    /// Where they are in the matrix; `find` tells the place of a row and a column.
    pub fn places(self, find: impl Fn(usize, I) -> Option<usize>) -> Places {
        let (offsets, columns, mut places) = match self {
            Self::Sorted(count) => return Places::Same(count),
            Self::Other(offsets, columns, places) => (offsets, columns, places),
        };
        for (row, range) in offsets.windows(2).enumerate() {
            for entry in range[0]..range[1] {
                let place = find(row, columns[entry]);
                places[entry] = place.expect("every entry is in the matrix");
            }
        }
        Places::At(places)
    }
}
