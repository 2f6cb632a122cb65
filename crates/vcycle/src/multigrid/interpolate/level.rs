//! What the methods for a choice of coarse unknowns work on.

use super::row::Row;
use super::truncation::Truncation;
use crate::error::{Error, Result};
use crate::linop::{LinOp, Size, check_size, check_square};
use crate::matrix::{Csr, Pattern, Rows, balance, build};
use crate::multigrid::coarsen::{NONE, Splitting};

/// A matrix, its strong couplings and the coarse unknowns.
pub(super) struct Level<'a> {
    pub(super) a: &'a Csr<f64>,
    pub(super) diagonal: Vec<f64>,
    /// For every unknown its number on the next level.
    pub(super) coarse: &'a [u32],
    strength: &'a Pattern,
    coarse_count: usize,
}

impl<'a> Level<'a> {
    /// Fails unless the three fit together.
    pub(super) fn new(
        a: &'a Csr<f64>,
        strength: &'a Pattern,
        splitting: &'a Splitting,
    ) -> Result<Self> {
        check_square(a as &dyn LinOp<f64>, "interpolation")?;
        check_size("strength of couplings", a.size(), strength.size())?;
        check_splitting(splitting, a.size().rows)?;
        let entry = |row| a.entry(row, row).unwrap_or_default();
        let diagonal = a.map_pieces(|rows| rows.map(entry).collect::<Vec<_>>());
        Ok(Self {
            a,
            diagonal: diagonal.concat(),
            coarse: &splitting.coarse_index,
            strength,
            coarse_count: splitting.coarse_count,
        })
    }

    /// What unknown `i` strongly depends on, perhaps itself included.
    pub(super) fn strong(&self, i: usize) -> &[u32] {
        &self.strength.columns()[self.strength.range(i)]
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

/// Fails unless every one of `unknowns` has a number in range or none.
fn check_splitting(splitting: &Splitting, unknowns: usize) -> Result<()> {
    let found = Size::new(splitting.coarse_index.len(), 1);
    check_size("choice of coarse unknowns", Size::new(unknowns, 1), found)?;
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
