//! The input of classical interpolation methods: a matrix, its strong couplings and the coarse unknowns.

use num_traits::Zero;

use crate::linop::check_size;
use crate::matrix::{Rows, build};
use crate::multigrid::coarsen::{NONE, Splitting};
use crate::prelude::*;

/// A matrix, its strong couplings and the coarse unknowns.
pub(super) struct Couplings<'a, V: Field = f64> {
    pub(super) a: &'a Csr<V>,
    pub(super) diagonal: Vec<V>,
    /// For every unknown its number on the next level.
    pub(super) coarse: &'a [u32],
    strength: &'a Pattern,
    /// `ā_kl`: the couplings of fine unknowns to coarse ones, with the other sign than the
    /// diagonal. Few of the entries, and looked at many times.
    pub(super) to_coarse: Csr<V>,
    /// The coarse unknowns that fine ones strongly depend on.
    strong_coarse: Arc<Pattern>,
    pub(super) coarse_count: usize,
}

impl<'a, V: Field> Couplings<'a, V> {
    /// Fails unless the three fit together.
    pub(super) fn new(
        a: &'a Csr<V>,
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
    #[inline]
    pub(super) fn strong_coarse(&self, k: u32) -> &[u32] {
        &self.strong_coarse.columns()[self.strong_coarse.range(k as usize)]
    }

    #[inline(always)]
    pub(super) fn is_coarse(&self, i: u32) -> bool {
        self.coarse[i as usize] != NONE
    }
}

/// Fails unless the three fit together.
pub(super) fn check<V: Field>(a: &Csr<V>, strength: &Pattern, splitting: &Splitting) -> Result<()> {
    check_size("interpolation", Size::square(a.size().rows), a.size())?;
    check_size("strength of couplings", a.size(), strength.size())?;
    let found = Size::new(splitting.coarse_index.count(), 1);
    check_size(
        "choice of coarse unknowns",
        Size::new(a.size().rows, 1),
        found,
    )?;
    splitting.coarse_index.check_below(splitting.coarse_count)
}

/// The entries of fine rows in coarse columns whose sign is not that of the diagonal.
fn couplings_to_coarse<V: Field>(a: &Csr<V>, diagonal: &[V], coarse: &[u32]) -> Result<Csr<V>> {
    let executor = a.executor();
    let fill = |(): &mut (), row: usize, out: &mut Rows<V>| {
        let (columns, values) = a.row(row);
        if coarse[row] != NONE {
            return Ok(());
        }
        out.append_kept(executor, columns.len(), |at| {
            let (column, value) = (columns[at], values[at]);
            let keep = coarse[column as usize] != NONE && opposes(value, diagonal[row]);
            (keep, column, value)
        })
    };
    let arrays = build(executor, a.pattern().pieces(), a.bytes(), || (), fill)?;
    Ok(arrays.into_csr(executor, a.size()))
}

/// Whether an entry has another sign than the diagonal of its row; of complex ones, whether it points away from it.
#[inline(always)]
pub(super) fn opposes<V: Field>(value: V, diagonal: V) -> bool {
    let zero = V::Real::zero();
    match V::KIND.is_complex() {
        true => (value * diagonal.conj()).real() < zero,
        false => (value.real() < zero) == (diagonal.real() > zero),
    }
}

fn restrict(strength: &Pattern, coarse: &[u32]) -> Result<Arc<Pattern>> {
    let executor = strength.executor();
    let fill = |(): &mut (), row: usize, out: &mut Rows<()>| {
        let columns = &strength.columns()[strength.range(row)];
        if coarse[row] != NONE {
            return Ok(());
        }
        out.append_kept(executor, columns.len(), |at| {
            (coarse[columns[at] as usize] != NONE, columns[at], ())
        })
    };
    let arrays = build(executor, strength.pieces(), strength.bytes(), || (), fill)?;
    Ok(arrays.into_pattern(executor, strength.size()))
}
