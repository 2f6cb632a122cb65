//! What is counted in the entries of a matrix, and when two entries are opposite to each other.

use std::sync::OnceLock;

use super::norms::{largest, modulus};
use crate::multiversion;
use crate::prelude::*;
use crate::reference::csr::CsrArrays;

/// Entries that differ by less than this, relatively, count as equal: assembly rounds.
pub(super) const SYMMETRY_TOLERANCE: f64 = 1e-10;

/// And so do those that differ by less than this beside the geometric mean of the largest entries of both rows: where larger
/// numbers cancel each other in assembly, all of what is left may be rounding.
pub(super) const CANCELLED: f64 = 1e-12;

/// The entry at (`column`, `row`).
#[inline(always)]
pub(super) fn mirrored<T: Scalar>(
    a: &CsrArrays<'_, T>,
    row: usize,
    place: usize,
    column: usize,
) -> Option<T> {
    entry_of(a.row(column), row as u32, place)
}

/// The entry of a row in a column. If that is opposite to one at `place` of its row, its place is guessed before it is
/// searched: in rows of a stencil the first has its opposite in the last place, and so on.
#[inline(always)]
pub(crate) fn entry_of<C: Ord + Copy, T: Copy>(
    (columns, values): (&[C], &[T]),
    column: C,
    place: usize,
) -> Option<T> {
    let guess = columns.len().wrapping_sub(place + 1);
    match columns.get(guess) {
        Some(&found) if found == column => Some(values[guess]),
        _ => columns
            .binary_search(&column)
            .ok()
            .map(|place| values[place]),
    }
}

/// The largest absolute value of each row, found when it is first asked for: assembly may have rounded off a part of that.
pub(crate) struct RowSizes<'a, T> {
    rows: CsrArrays<'a, T>,
    sizes: OnceLock<Vec<f64>>,
}

impl<'a, T: Scalar> RowSizes<'a, T> {
    pub fn of(rows: CsrArrays<'a, T>) -> Self {
        let sizes = OnceLock::new();
        Self { rows, sizes }
    }

    pub fn get(&self, row: usize) -> f64 {
        self.sizes.get_or_init(|| {
            let count = self.rows.offsets.len() - 1;
            (0..count)
                .map(|row| largest(self.rows.row(row).1))
                .collect()
        })[row]
    }

    /// What assembly may have rounded off at (`row`, `column`).
    pub fn rounding(&self, row: usize, column: usize) -> f64 {
        rounding_of(self.get(row), self.get(column))
    }
}

/// What assembly may have rounded off where a row and a column with these largest entries meet.
pub(crate) fn rounding_of(one: f64, other: f64) -> f64 {
    CANCELLED * one.sqrt() * other.sqrt()
}

/// How far two opposite entries are from being equal and from being conjugates of each other, and how far rounding may be.
fn compared<T: Scalar>(value: T, opposite: T, rounding: impl FnOnce() -> f64) -> ([f64; 2], f64) {
    let (value, opposite) = (value.load(), opposite.load());
    let size = |value: T::Arith| value.modulus().to_f64();
    let apart = [size(value - opposite), size(value - opposite.conj())];
    let mut tolerance = SYMMETRY_TOLERANCE * size(value).max(size(opposite));
    if apart[0].min(apart[1]) > tolerance {
        tolerance = tolerance.max(rounding());
    }
    (apart, tolerance)
}

/// What is smaller rounds to less than the smallest normal number of half precision, `2^-14`.
const F16_UNDERFLOW: f64 = 1.0 / 16_384.0 - 1.0 / 33_554_432.0;

/// What is counted row by row and entry by entry.
#[derive(Default)]
pub(crate) struct Seen {
    pub zeros: usize,
    pub non_finite: usize,
    pub largest: f64,
    pub smallest: Option<f64>,
    pub f16_underflows: usize,
    pub row_min: Option<usize>,
    pub row_max: usize,
    pub empty_rows: usize,
    pub missing_diagonal: usize,
    pub zero_diagonal: usize,
    pub negative_diagonal: usize,
    pub dominant: usize,
    pub strongly_dominant: usize,
    /// Rows with positive entries beside the diagonal.
    pub positive: usize,
    /// Entries not above the diagonal.
    pub below: usize,
    /// Entries not below the diagonal with one at the mirrored position.
    pub matched: usize,
    /// Entries without, those too that may be rounding.
    pub unmatched: usize,
    /// Entries without that are no rounding.
    pub alone: usize,
    pub not_symmetric: usize,
    pub not_hermitian: usize,
    /// The largest entries of `A - A^T` and of `A - A^H`.
    pub apart: [f64; 2],
}

/// Values looked at side by side.
const LANES: usize = 8;

multiversion! {
    /// What is counted entry by entry, whatever its place.
    pub(super) fn sizes[T: Scalar](values: &[T]) -> Seen {
        let [mut zeros, mut odd, mut small] = [[0_u64; LANES]; 3];
        let (mut largest, mut smallest) = ([0.0_f64; LANES], [f64::INFINITY; LANES]);
        let mut see = |lane: usize, value: T| {
            let modulus = modulus(value);
            let ordinary = modulus > 0.0 && modulus < f64::INFINITY;
            zeros[lane] += u64::from(modulus == 0.0);
            odd[lane] += u64::from(!ordinary && modulus != 0.0);
            small[lane] += u64::from(ordinary && modulus < F16_UNDERFLOW);
            largest[lane] = largest[lane].max(if ordinary { modulus } else { 0.0 });
            smallest[lane] = smallest[lane].min(if ordinary { modulus } else { f64::INFINITY });
        };
        let (body, tail) = values.as_chunks::<LANES>();
        body.iter().for_each(|values| (0..LANES).for_each(|lane| see(lane, values[lane])));
        tail.iter().enumerate().for_each(|(lane, &value)| see(lane, value));
        let count = |lanes: [u64; LANES]| lanes.into_iter().sum::<u64>() as usize;
        let smallest = smallest.into_iter().fold(f64::INFINITY, f64::min);
        Seen {
            zeros: count(zeros),
            non_finite: count(odd),
            f16_underflows: count(small),
            largest: largest.into_iter().fold(0.0, f64::max),
            smallest: (smallest < f64::INFINITY).then_some(smallest),
            ..Seen::default()
        }
    }
}

impl Seen {
    #[inline]
    pub fn length(&mut self, length: usize) {
        self.row_min = least(self.row_min, Some(length));
        self.row_max = self.row_max.max(length);
        self.empty_rows += usize::from(length == 0);
    }

    /// The real part and the absolute value of a diagonal entry.
    pub fn diagonal(&mut self, diagonal: Option<(f64, f64)>) {
        match diagonal {
            None => self.missing_diagonal += 1,
            Some((_, 0.0)) => self.zero_diagonal += 1,
            Some((real, _)) => self.negative_diagonal += usize::from(real < 0.0),
        }
    }

    /// An entry and what stands at the mirrored position; `rounding` may be between them.
    #[inline(always)]
    pub fn opposite<T: Scalar>(
        &mut self,
        value: T,
        opposite: Option<T>,
        rounding: impl FnOnce() -> f64,
    ) {
        let is_alone = opposite.is_none();
        self.unmatched += usize::from(is_alone);
        self.matched += usize::from(!is_alone);
        if opposite == Some(value) && !T::KIND.is_complex() {
            return;
        }
        let opposite = opposite.unwrap_or_default();
        let (apart, tolerance) = compared(value, opposite, rounding);
        let differs = apart.map(|apart| apart > tolerance || apart.is_nan());
        self.alone += usize::from(is_alone && differs != [false; 2]);
        self.not_symmetric += usize::from(differs[0]);
        self.not_hermitian += usize::from(differs[1]);
        self.apart = largest_of(self.apart, apart);
    }

    pub fn join(self, other: Self) -> Self {
        Self {
            zeros: self.zeros + other.zeros,
            non_finite: self.non_finite + other.non_finite,
            largest: self.largest.max(other.largest),
            smallest: least(self.smallest, other.smallest),
            f16_underflows: self.f16_underflows + other.f16_underflows,
            row_min: least(self.row_min, other.row_min),
            row_max: self.row_max.max(other.row_max),
            empty_rows: self.empty_rows + other.empty_rows,
            missing_diagonal: self.missing_diagonal + other.missing_diagonal,
            zero_diagonal: self.zero_diagonal + other.zero_diagonal,
            negative_diagonal: self.negative_diagonal + other.negative_diagonal,
            dominant: self.dominant + other.dominant,
            strongly_dominant: self.strongly_dominant + other.strongly_dominant,
            positive: self.positive + other.positive,
            below: self.below + other.below,
            matched: self.matched + other.matched,
            unmatched: self.unmatched + other.unmatched,
            alone: self.alone + other.alone,
            not_symmetric: self.not_symmetric + other.not_symmetric,
            not_hermitian: self.not_hermitian + other.not_hermitian,
            apart: largest_of(self.apart, other.apart),
        }
    }
}

fn largest_of(one: [f64; 2], other: [f64; 2]) -> [f64; 2] {
    [one[0].max(other[0]), one[1].max(other[1])]
}

/// The smaller of those there are.
fn least<N: PartialOrd>(a: Option<N>, b: Option<N>) -> Option<N> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b < a { b } else { a }),
        (a, b) => a.or(b),
    }
}
