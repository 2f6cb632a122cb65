//! The prolongation row by row, for methods that weigh the couplings of a level.

use std::ops::Range;

use super::couplings::{Couplings, check};
use super::row::{Formula, Row};
use super::truncation::Truncation;
use crate::host_stages;
use crate::matrix::{Halo, LocalNumbers, Rows, balance, build};
use crate::multigrid::coarsen::{NONE, NextNumbers, Splitting};
use crate::operations::interpolate::{self as operations, Coarse};
use crate::operations::on_host;
use crate::prelude::*;

pub(in crate::multigrid) struct Weighing<'l, V: Field = f64> {
    a: &'l Csr<V>,
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

/// The prolongation to the unknowns: by the device that has the matrix, else by the host.
pub(in crate::multigrid) fn weighted<V: Field>(
    formula: Formula,
    given: &Weighing<'_, V>,
) -> Result<Csr<V>> {
    if let Some(p) = on_device(None, formula, given)? {
        return match given.is_of_all() {
            true => Ok(p),
            false => p.row_range(given.rows.clone()),
        };
    }
    let (a, first) = (given.a, given.rows.start);
    let some = match given.is_of_all() {
        true => None,
        false => Some(balance(given.rows.len(), |row| {
            a.offsets()[first + row] - a.offsets()[first] + row
        })),
    };
    let bounds = some.as_deref().unwrap_or(a.pattern().pieces());
    rows(formula, given, bounds, &|row| first + row)
}

/// [`extended_i`](super::extended_i) for the coarse unknowns of another choice alone.
pub(super) fn weighted_to(points: &Splitting, given: &Weighing<'_>) -> Result<Csr<f64>> {
    let formula = Formula::ExtendedI;
    if let Some(p) = on_device(Some(points), formula, given)? {
        return Ok(p);
    }
    let points = coarse_points(points);
    let entries = given.a.nonzeros() / given.a.size().rows.max(1);
    let bounds = balance(points.len(), |row| row * (1 + entries));
    rows(formula, given, &bounds, &|row| points[row] as usize)
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
    formula: Formula,
    given: &Weighing<'_, V>,
    bounds: &[usize],
    point: &(dyn Fn(usize) -> usize + Sync),
) -> Result<Csr<V>> {
    let level = Couplings::new(given.a, given.strength, given.splitting)?;
    let (executor, truncation) = (given.a.executor(), given.truncation);
    truncation.check()?;
    let fill = |row: &mut Row<V>, number: usize, out: &mut Rows<V>| {
        let i = point(number);
        row.start(executor, level.coarse.len())?;
        if level.is_coarse(i as u32) {
            row.entries.push((level.coarse[i], V::one()));
        } else {
            formula.fill(row, &level, i);
            truncation.shorten(&mut row.entries);
        }
        out.append_entries(executor, &row.entries)
    };
    let arrays = build(executor, bounds, given.a.bytes(), Row::default, fill)?;
    let count = bounds.last().copied().unwrap_or_default();
    Ok(arrays.into_csr(executor, Size::new(count, level.coarse_count)))
}

/// The prolongation made by a device; none where the host has to make it.
fn on_device<V: Field>(
    points: Option<&Splitting>,
    formula: Formula,
    given: &Weighing<'_, V>,
) -> Result<Option<Csr<V>>> {
    let Some(method) = formula.on_device() else {
        on_host(given.a.executor(), host_stages::HYBRID);
        return Ok(None);
    };
    if !given.a.executor().is_device() {
        return Ok(None);
    }
    let (a, strength, truncation) = (given.a, given.strength, given.truncation);
    check(a, strength, given.splitting)?;
    truncation.check()?;
    let limits = (truncation.max_elements, truncation.factor);
    let (coarse, points) = (numbers(given.splitting), points.map(numbers));
    operations::prolongation(method, (a, strength), coarse, points, limits)
}

/// The coarse unknowns of a choice, wherever they are, and how many there are.
fn numbers(choice: &Splitting) -> Coarse<'_> {
    (choice.coarse_index.buffer(), choice.coarse_count)
}

/// The rows of a level that ranks share.
#[derive(Clone, Copy)]
pub(in crate::multigrid) struct RankLevel<'l> {
    /// This rank.
    pub executor: &'l Executor,
    /// Own rows and those of other ranks nearby.
    pub near: &'l Arc<Halo>,
    /// The columns that own rows refer to.
    pub columns: &'l Halo,
}

impl RankLevel<'_> {
    /// A matrix of these rows, given the own ones, from the unknowns of the next level. All ranks call it together.
    pub fn prolongation<V: Scalar>(
        &self,
        (own, numbers): (Csr<V>, &LocalNumbers),
        next: &NextNumbers,
    ) -> Result<Distributed<V>> {
        let rows = self.near.partition();
        Distributed::of_numbered(self.executor, rows, &next.partition, numbers, own)
    }
}
