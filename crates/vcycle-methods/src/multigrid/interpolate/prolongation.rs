//! The prolongation row by row, for methods that weigh the couplings of a level.

use std::ops::Range;

use super::couplings::{Couplings, check};
use super::row::Row;
use super::truncation::Truncation;
use crate::error::Result;
use crate::linop::Size;
use crate::matrix::{Csr, Pattern, Rows, balance, build};
use crate::multigrid::coarsen::{NONE, Splitting};
use crate::operations::interpolate::{self as operations, Coarse, WeightMethod};
use crate::scalar::Field;

/// The strong couplings and the coarse unknowns.
type Choice<'a> = (&'a Pattern, &'a Splitting);

/// What weights are made of.
pub(in crate::multigrid) struct Weighing<'l, V: Field = f64> {
    pub(super) a: &'l Csr<V>,
    strength: &'l Pattern,
    splitting: &'l Splitting,
    truncation: &'l Truncation,
    /// The unknowns that are interpolated; some, where others are those of other ranks.
    rows: Range<usize>,
}

impl<'l, V: Field> Weighing<'l, V> {
    /// Of all unknowns.
    pub fn new(
        a: &'l Csr<V>,
        strength: &'l Pattern,
        splitting: &'l Splitting,
        truncation: &'l Truncation,
    ) -> Self {
        Self {
            a,
            strength,
            splitting,
            truncation,
            rows: 0..a.size().rows,
        }
    }

    /// Of some.
    pub fn of_rows(self, rows: Range<usize>) -> Self {
        Self { rows, ..self }
    }

    fn is_of_all(&self) -> bool {
        self.rows.len() == self.a.size().rows
    }
}

/// The prolongation to the unknowns: by the device that has the matrix, else by the host, where
/// `fine(row, level, i)` makes the entries of a fine unknown.
pub(super) fn weighted<V: Field>(
    method: WeightMethod,
    given: &Weighing<'_, V>,
    fine: impl Fn(&mut Row<V>, &Couplings<'_, V>, usize) + Sync + Send,
) -> Result<Csr<V>> {
    let choice = (given.strength, given.splitting);
    match on_device(None, method, given.a, choice, given.truncation)? {
        Some(p) if given.is_of_all() => Ok(p),
        Some(p) => p.row_range(given.rows.clone()),
        None => weighted_by_host(given, fine),
    }
}

/// The same by the host.
pub(super) fn weighted_by_host<V: Field>(
    given: &Weighing<'_, V>,
    fine: impl Fn(&mut Row<V>, &Couplings<'_, V>, usize) + Sync + Send,
) -> Result<Csr<V>> {
    let a = given.a;
    let level = Couplings::new(a, given.strength, given.splitting)?;
    let first = given.rows.start;
    let some = match given.is_of_all() {
        true => None,
        false => Some(balance(given.rows.len(), |row| {
            a.offsets()[first + row] - a.offsets()[first] + row
        })),
    };
    let bounds = some.as_deref().unwrap_or(a.pattern().pieces());
    rows(&level, bounds, |row| first + row, given.truncation, fine)
}

/// The same for the coarse unknowns of another choice alone.
pub(super) fn weighted_to(
    points: &Splitting,
    method: WeightMethod,
    a: &Csr<f64>,
    choice: Choice<'_>,
    truncation: &Truncation,
    fine: impl Fn(&mut Row, &Couplings<'_>, usize) + Sync + Send,
) -> Result<Csr<f64>> {
    if let Some(p) = on_device(Some(points), method, a, choice, truncation)? {
        return Ok(p);
    }
    let level = Couplings::new(a, choice.0, choice.1)?;
    let points = coarse_points(points);
    let entries = a.nonzeros() / a.size().rows.max(1);
    let bounds = balance(points.len(), |row| row * (1 + entries));
    let point = |row: usize| points[row] as usize;
    rows(&level, &bounds, point, truncation, fine)
}

/// The coarse unknowns by their numbers on the next level.
fn coarse_points(splitting: &Splitting) -> Vec<u32> {
    let mut points = vec![0; splitting.coarse_count];
    for (point, &index) in (0..).zip(splitting.coarse_index.iter()) {
        if index != NONE {
            points[index as usize] = point;
        }
    }
    points
}

/// The rows of the unknowns `point(row)`, cut at `bounds`.
fn rows<V: Field>(
    level: &Couplings<'_, V>,
    bounds: &[usize],
    point: impl Fn(usize) -> usize + Sync + Send,
    truncation: &Truncation,
    fine: impl Fn(&mut Row<V>, &Couplings<'_, V>, usize) + Sync + Send,
) -> Result<Csr<V>> {
    truncation.check()?;
    let executor = level.a.executor();
    let fill = |row: &mut Row<V>, number: usize, out: &mut Rows<V>| {
        let i = point(number);
        row.start(executor, level.coarse.len())?;
        if level.is_coarse(i as u32) {
            row.entries.push((level.coarse[i], V::one()));
        } else {
            fine(row, level, i);
            truncation.shorten(&mut row.entries);
        }
        out.reserve(executor, row.entries.len())?;
        row.entries.iter().for_each(|&(j, w)| out.push(j, w));
        Ok(())
    };
    let arrays = build(executor, bounds, level.a.bytes(), Row::default, fill)?;
    let count = bounds.last().copied().unwrap_or_default();
    Ok(arrays.into_csr(executor, Size::new(count, level.coarse_count)))
}

/// The prolongation made by a device; none for a matrix of the host.
fn on_device<V: Field>(
    points: Option<&Splitting>,
    method: WeightMethod,
    a: &Csr<V>,
    (strength, splitting): Choice<'_>,
    truncation: &Truncation,
) -> Result<Option<Csr<V>>> {
    if !a.executor().is_device() {
        return Ok(None);
    }
    check(a, strength, splitting)?;
    truncation.check()?;
    let limits = (truncation.max_elements, truncation.factor);
    operations::prolongation(
        method,
        (a, strength),
        numbers(splitting),
        points.map(numbers),
        limits,
    )
}

/// The coarse unknowns of a choice, wherever they are, and how many there are.
fn numbers(choice: &Splitting) -> Coarse<'_> {
    (choice.coarse_index.buffer(), choice.coarse_count)
}
