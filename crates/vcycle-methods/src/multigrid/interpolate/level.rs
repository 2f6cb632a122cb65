//! The input of classical interpolation methods: a matrix, its strong couplings and the coarse unknowns.

use std::sync::Arc;

use super::row::Row;
use super::truncation::Truncation;
use crate::error::{Error, Result};
use crate::linop::{LinOp, Size, check_size, check_square};
use crate::matrix::{Csr, Pattern, Rows, balance, build};
use crate::multigrid::coarsen::{NONE, Splitting};
use crate::operations::interpolate::{self as operations, Coarse, Method};

/// A matrix, its strong couplings and the coarse unknowns.
pub(super) struct Level<'a> {
    pub(super) a: &'a Csr<f64>,
    pub(super) diagonal: Vec<f64>,
    /// For every unknown its number on the next level.
    pub(super) coarse: &'a [u32],
    strength: &'a Pattern,
    /// `ā_kl`: the couplings of fine unknowns to coarse ones, with the other sign than the
    /// diagonal. Few of the entries, and looked at many times.
    pub(super) to_coarse: Csr<f64>,
    /// The coarse unknowns that fine ones strongly depend on.
    strong_coarse: Arc<Pattern>,
    coarse_count: usize,
}

impl<'a> Level<'a> {
    /// Fails unless the three fit together.
    pub(super) fn new(
        a: &'a Csr<f64>,
        strength: &'a Pattern,
        splitting: &'a Splitting,
    ) -> Result<Self> {
        check(a, strength, splitting)?;
        let entry = |row| a.entry(row, row).unwrap_or_default();
        let diagonal = a.map_pieces(|rows| rows.map(entry).collect::<Vec<_>>());
        let diagonal = diagonal.concat();
        let coarse = &splitting.coarse_index;
        Ok(Self {
            to_coarse: couplings_to_coarse(a, &diagonal, coarse)?,
            strong_coarse: restrict(strength, coarse)?,
            a,
            diagonal,
            coarse,
            strength,
            coarse_count: splitting.coarse_count,
        })
    }

    /// What unknown `i` strongly depends on, perhaps itself included.
    pub(super) fn strong(&self, i: usize) -> &[u32] {
        &self.strength.columns()[self.strength.range(i)]
    }

    /// The coarse unknowns among what the fine unknown `k` strongly depends on.
    pub(super) fn strong_coarse(&self, k: u32) -> &[u32] {
        &self.strong_coarse.columns()[self.strong_coarse.range(k as usize)]
    }

    #[inline(always)]
    pub(super) fn is_coarse(&self, i: u32) -> bool {
        self.coarse[i as usize] != NONE
    }

    /// The prolongation to all unknowns: `fine(row, i)` makes the entries of a fine one.
    pub(super) fn prolongation(
        &self,
        truncation: &Truncation,
        fine: impl Fn(&mut Row, usize) + Sync + Send,
    ) -> Result<Csr<f64>> {
        let rows = self.a.size().rows;
        self.rows(rows, self.a.pattern().pieces(), |row| row, truncation, fine)
    }

    /// The rows of the prolongation for `points` alone.
    pub(super) fn prolongation_to(
        &self,
        points: &[u32],
        truncation: &Truncation,
        fine: impl Fn(&mut Row, usize) + Sync + Send,
    ) -> Result<Csr<f64>> {
        let rows = points.len();
        let entries = self.a.nonzeros() / self.a.size().rows.max(1);
        let bounds = balance(rows, |row| row * (1 + entries));
        let point = |row: usize| points[row] as usize;
        self.rows(rows, &bounds, point, truncation, fine)
    }

    fn rows(
        &self,
        rows: usize,
        bounds: &[usize],
        point: impl Fn(usize) -> usize + Sync + Send,
        truncation: &Truncation,
        fine: impl Fn(&mut Row, usize) + Sync + Send,
    ) -> Result<Csr<f64>> {
        truncation.check()?;
        let executor = self.a.executor();
        let fill = |row: &mut Row, number: usize, out: &mut Rows<f64>| {
            let i = point(number);
            row.start(executor, self.coarse.len())?;
            if self.is_coarse(i as u32) {
                row.entries.push((self.coarse[i], 1.0));
            } else {
                fine(row, i);
                truncation.shorten(&mut row.entries);
            }
            out.reserve(executor, row.entries.len())?;
            row.entries.iter().for_each(|&(j, w)| out.push(j, w));
            Ok(())
        };
        let arrays = build(executor, bounds, self.a.bytes(), Row::default, fill)?;
        Ok(arrays.into_csr(executor, Size::new(rows, self.coarse_count)))
    }
}

/// The prolongation made by a device; none for a matrix of the host.
pub(super) fn on_device(
    method: Method,
    a: &Csr<f64>,
    (strength, splitting): (&Pattern, &Splitting),
    truncation: &Truncation,
) -> Result<Option<Csr<f64>>> {
    on_device_to(None, method, a, (strength, splitting), truncation)
}

/// The same for the coarse unknowns of another choice alone.
pub(super) fn on_device_to(
    points: Option<&Splitting>,
    method: Method,
    a: &Csr<f64>,
    (strength, splitting): (&Pattern, &Splitting),
    truncation: &Truncation,
) -> Result<Option<Csr<f64>>> {
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

/// Fails unless the three fit together.
fn check(a: &Csr<f64>, strength: &Pattern, splitting: &Splitting) -> Result<()> {
    check_square(a as &dyn LinOp<f64>, "interpolation")?;
    check_size("strength of couplings", a.size(), strength.size())?;
    check_splitting(splitting, a.size().rows)
}

/// The entries of fine rows in coarse columns whose sign is not that of the diagonal.
fn couplings_to_coarse(a: &Csr<f64>, diagonal: &[f64], coarse: &[u32]) -> Result<Csr<f64>> {
    let executor = a.executor();
    let fill = |(): &mut (), row: usize, out: &mut Rows<f64>| {
        let (columns, values) = a.row(row);
        if coarse[row] != NONE {
            return Ok(());
        }
        out.reserve(executor, columns.len())?;
        let positive = diagonal[row] > 0.0;
        for (&column, &value) in columns.iter().zip(values) {
            if coarse[column as usize] != NONE && (value < 0.0) == positive {
                out.push(column, value);
            }
        }
        Ok(())
    };
    let arrays = build(executor, a.pattern().pieces(), a.bytes(), || (), fill)?;
    Ok(arrays.into_csr(executor, a.size()))
}

/// The coarse columns of fine rows.
fn restrict(strength: &Pattern, coarse: &[u32]) -> Result<Arc<Pattern>> {
    let executor = strength.executor();
    let fill = |(): &mut (), row: usize, out: &mut Rows<()>| {
        let columns = &strength.columns()[strength.range(row)];
        if coarse[row] != NONE {
            return Ok(());
        }
        out.reserve(executor, columns.len())?;
        let columns = columns.iter().filter(|&&j| coarse[j as usize] != NONE);
        columns.for_each(|&column| out.push(column, ()));
        Ok(())
    };
    let arrays = build(executor, strength.pieces(), strength.bytes(), || (), fill)?;
    Ok(arrays.into_pattern(executor, strength.size()))
}

/// Fails unless every one of `unknowns` has a number in range or none.
fn check_splitting(splitting: &Splitting, unknowns: usize) -> Result<()> {
    let found = Size::new(splitting.coarse_index.count(), 1);
    check_size("choice of coarse unknowns", Size::new(unknowns, 1), found)?;
    if splitting.coarse_index.is_made_by_device() {
        return Ok(());
    }
    let limit = splitting.coarse_count;
    let outside = |&index: &u32| index != NONE && index as usize >= limit;
    match splitting.coarse_index.iter().position(outside) {
        None => Ok(()),
        Some(position) => Err(Error::IndexOutOfRange {
            position,
            axis: "column",
            index: splitting.coarse_index[position] as usize,
            limit,
        }),
    }
}
