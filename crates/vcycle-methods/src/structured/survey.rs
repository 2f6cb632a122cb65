//! Compares the values of a matrix with the range of a storage type.

use super::{StencilMatrix, Storage};
use crate::multiversion;
use crate::operations::stencil_setup::Counts;
use crate::prelude::*;

/// Values that one task looks at, and that are counted at a time and side by side.
const PART: usize = 64 * 1024;
const PIECE: usize = 1024;
const LANES: usize = 8;

/// The largest number of a type, and the smallest with all its digits.
pub(super) fn range(kind: Kind) -> (f64, f64) {
    match kind {
        Kind::F16 => (65504.0, 2f64.powi(-14)),
        Kind::Bf16 | Kind::F32 => (f64::from(f32::MAX), f64::from(f32::MIN_POSITIVE)),
        _ => (f64::MAX, f64::MIN_POSITIVE),
    }
}

/// Bits of the mantissa that are stored.
fn digits(kind: Kind) -> u32 {
    match kind {
        Kind::F16 => 10,
        Kind::Bf16 => 7,
        Kind::F32 => 23,
        _ => 52,
    }
}

/// The values of a matrix beside the range of a type.
#[derive(Clone, Copy)]
pub(super) struct Survey {
    kind: Kind,
    sizes: Sizes,
    /// Whether values overflow, or diagonal entries lose digits.
    pub(super) leaves_range: bool,
}

impl Survey {
    pub(super) fn new(a: &StencilMatrix<f64>, kind: Kind) -> Result<Self> {
        let (most, least) = range(kind);
        let (sizes, is_small) = match a.operand().counted(least)? {
            Some(counts) => {
                let diagonal = a.operand().diagonal_facts(least)?;
                let is_small = diagonal.is_some_and(|diagonal| diagonal.is_small);
                (Sizes::from(counts), is_small)
            }
            None => {
                let parts = a.map_own_values(|values| {
                    let pieces = values.chunks(PIECE).map(|values| sizes(values, least));
                    pieces.fold(Sizes::default(), Sizes::join)
                });
                let small = |line: &[f64]| line.iter().any(|value| value.abs() < least);
                let is_small = a.diagonal_lines().any(|(_, line)| small(line));
                let sizes = parts.into_iter().fold(Sizes::default(), Sizes::join);
                (sizes, is_small)
            }
        };
        let sizes = sizes.over_ranks(a)?;
        let is_small = a.any(is_small)?;
        Ok(Self {
            kind,
            sizes,
            leaves_range: sizes.largest() > most || is_small,
        })
    }

    /// Of a matrix whose diagonal is far from zero.
    pub(super) fn of_scaled(sizes: Sizes, kind: Kind) -> Self {
        let leaves_range = sizes.largest() > range(kind).0;
        Self {
            kind,
            sizes,
            leaves_range,
        }
    }

    /// The same beside the range of another type.
    pub(super) fn beside(self, a: &StencilMatrix<f64>, kind: Kind) -> Result<Self> {
        match self.kind == kind {
            true => Ok(self),
            false => Self::new(a, kind),
        }
    }

    /// The largest absolute value; not finite if some value is not.
    pub(super) fn largest(&self) -> f64 {
        self.sizes.largest()
    }

    /// Whether all values are finite.
    pub(super) fn is_finite(&self) -> bool {
        self.largest().is_finite()
    }

    /// Which part of the entries that are not zero lose digits because they are small.
    pub(super) fn underflow(&self) -> f64 {
        let Sizes { entries, whole, .. } = self.sizes;
        (entries - whole) as f64 / entries.max(1) as f64
    }

    /// Whether a type holds every value of the matrix as it is, among its numbers with all digits.
    pub(super) fn is_exact_in(&self, a: &StencilMatrix<f64>, kind: Kind) -> Result<bool> {
        let ((most, least), lost) = (range(kind), 52 - digits(kind));
        if !(self.largest() <= most && self.sizes.bits.trailing_zeros() >= lost) {
            return Ok(false);
        }
        let none_is_small = |survey: &Self| survey.sizes.entries == survey.sizes.whole;
        let is_wider = range(self.kind).1 >= least;
        Ok(is_wider && none_is_small(self) || none_is_small(&self.beside(a, kind)?))
    }

    /// Whether rounding to a type may overflow.
    pub(super) fn may_overflow_in(&self, kind: Kind) -> bool {
        !self.is_finite() || self.largest() > 0.5 * range(kind).0
    }
}

impl<T: Storage> StencilMatrix<T> {
    /// `part(values)` for parts of the values of own cells.
    pub(super) fn map_own_values<R: Send>(&self, part: impl Fn(&[T]) -> R + Sync + Send) -> Vec<R> {
        let share = self.grid().length() * self.numbers_of_a_cell();
        let own = self.own_cells().lines(self.grid()).into_iter();
        let values = own
            .flat_map(|lines| self.values()[lines.start * share..lines.end * share].chunks(PART));
        self.executor().run(self.bytes(), values.collect(), part)
    }

    /// Fails, naming it, if an entry is infinite or NaN.
    ///
    /// # Errors
    /// [`NonFiniteEntry`](Error::NonFiniteEntry).
    pub fn check_finite(&self) -> Result<()> {
        let lost = |(part, values): (usize, &[T])| {
            let place = values.iter().position(|value| !value.load().is_finite());
            place.map(|place| part * PART + place)
        };
        let parts = self.values().chunks(PART).enumerate().collect();
        let lost = self.executor().run(self.bytes(), parts, lost);
        match lost.into_iter().flatten().next() {
            None => Ok(()),
            Some(place) => {
                let (row, column) = self.position(place);
                Err(Error::NonFiniteEntry { row, column })
            }
        }
    }
}

#[cfg(test)]
impl StencilMatrix<f64> {
    /// The largest absolute value.
    pub(crate) fn largest(&self) -> f64 {
        let sizes = self.values().iter().map(|value| value.abs());
        sizes.fold(0.0, f64::max)
    }
}

/// What is counted value by value.
#[derive(Clone, Copy, Default)]
pub(super) struct Sizes {
    /// The bits of the largest absolute value: their order is that of numbers, with infinity and what is not a
    /// number behind them.
    largest: u64,
    /// All bits that some value has.
    bits: u64,
    /// Values that are not zero, and those of them with all digits.
    entries: u64,
    whole: u64,
}

impl From<Counts> for Sizes {
    fn from([largest, bits, entries, whole]: Counts) -> Self {
        Self {
            largest,
            bits,
            entries,
            whole,
        }
    }
}

impl Sizes {
    pub(super) fn largest(self) -> f64 {
        f64::from_bits(self.largest)
    }

    /// What all ranks together have counted of their own cells.
    pub(super) fn over_ranks(self, a: &StencilMatrix<f64>) -> Result<Self> {
        let Some(part) = a.part() else {
            return Ok(self);
        };
        let counts = [self.largest, self.bits, self.entries, self.whole];
        let team = part.team();
        let all = team.all_to_all_numbers(vec![counts.to_vec(); team.size()])?;
        let counted = |counts: Vec<u64>| Self::from([0, 1, 2, 3].map(|place| counts[place]));
        let all = all.into_iter().map(counted);
        Ok(all.fold(Self::default(), Self::join))
    }

    pub(super) fn join(self, other: Self) -> Self {
        Self {
            largest: self.largest.max(other.largest),
            bits: self.bits | other.bits,
            entries: self.entries + other.entries,
            whole: self.whole + other.whole,
        }
    }
}

multiversion! {
    /// What is counted of some values; those are whole that are as large as one.
    pub(super) fn sizes[](values: &[f64], least: f64) -> Sizes {
        let mut last = [0.0; LANES];
        let (groups, rest) = values.as_chunks::<LANES>();
        last[..rest.len()].copy_from_slice(rest);
        let [mut largest, mut bits, mut entries, mut whole] = [[0_u64; LANES]; 4];
        for values in groups.iter().chain([&last]) {
            for lane in 0..LANES {
                let size = values[lane].abs();
                largest[lane] = largest[lane].max(size.to_bits());
                bits[lane] |= values[lane].to_bits();
                entries[lane] += u64::from(size != 0.0);
                whole[lane] += u64::from(size >= least);
            }
        }
        let lane = |lane: usize| Sizes {
            largest: largest[lane],
            bits: bits[lane],
            entries: entries[lane],
            whole: whole[lane],
        };
        (0..LANES).map(lane).fold(Sizes::default(), Sizes::join)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery;

    #[test]
    fn small_entries_are_counted() {
        let underflow = |factor: f64| {
            let mut a = gallery::build_stencil("poisson7:3", &Executor::reference()).unwrap();
            a.values_mut().iter_mut().for_each(|value| *value *= factor);
            Survey::new(&a, Kind::F16).unwrap().underflow()
        };
        assert_eq!([underflow(1.0), underflow(1e-9)], [0.0, 1.0]);
    }

    #[test]
    fn exact_values_and_those_that_are_not_numbers_are_seen() {
        let exact = |value: f64, kind: Kind| {
            let mut a = gallery::build_stencil("poisson7:3", &Executor::reference()).unwrap();
            let centre = a.stencil().centre() * 3;
            a.values_mut()[centre] = value;
            let survey = Survey::new(&a, Kind::F16).unwrap();
            assert_eq!(survey.is_finite(), value.is_finite());
            survey.is_exact_in(&a, kind).unwrap()
        };
        assert!(exact(6.0, Kind::F16) && exact(2047.0, Kind::F16));
        assert!(!exact(2049.0, Kind::F16) && exact(2049.0, Kind::F32));
        assert!(!exact(1e-5, Kind::F16) && !exact(0.1, Kind::F32) && exact(0.1, Kind::F64));
        assert!(!exact(131_072.0, Kind::F16) && exact(131_072.0, Kind::F32));
        assert!(!exact(f64::NAN, Kind::F64) && !exact(f64::INFINITY, Kind::F64));
    }
}
