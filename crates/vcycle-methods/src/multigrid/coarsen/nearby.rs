//! Rows of other ranks in a graph.

use std::ops::Range;
use std::sync::Arc;

use crate::error::Result;
use crate::matrix::Halo;
use crate::scalar::Element;

/// Which rows of a graph are those of other ranks, in the rounds of a coarsening: none where there are no ranks.
///
/// A rank decides on its own rows. After each step the others get what their ranks have decided.
#[derive(Clone, Debug, Default)]
pub(in crate::multigrid) struct Nearby(Option<Arc<Halo>>);

impl Nearby {
    /// Those of a halo.
    pub fn of(halo: &Arc<Halo>) -> Self {
        Self(Some(Arc::clone(halo)))
    }

    /// Whether there are ranks.
    pub fn is_shared(&self) -> bool {
        self.0.is_some()
    }

    /// Whether this rank decides on a row.
    #[inline]
    pub fn is_own(&self, row: usize) -> bool {
        self.0.as_ref().is_none_or(|halo| halo.own().contains(&row))
    }

    /// The rows that this rank decides on, among so many.
    pub fn own(&self, rows: usize) -> Range<usize> {
        self.0.as_ref().map_or(0..rows, |halo| halo.own())
    }

    /// The number of a row in the whole graph.
    #[inline]
    pub fn global(&self, row: usize) -> u64 {
        self.0.as_ref().map_or(row as u64, |halo| halo.global(row))
    }

    /// The number of a row here.
    pub fn local(&self, row: u64) -> Option<u32> {
        self.0
            .as_ref()
            .map_or(Some(row as u32), |halo| halo.local(row))
    }

    /// Gets the values of other rows from their ranks.
    pub fn refresh<T: Element>(
        &self,
        value: impl Fn(usize) -> T,
        write: impl FnMut(usize, T),
    ) -> Result<()> {
        match &self.0 {
            Some(halo) => halo.refresh_by(value, write),
            None => Ok(()),
        }
    }

    /// Whether it holds on any rank.
    pub fn any(&self, holds: bool) -> Result<bool> {
        match &self.0 {
            Some(halo) => halo.team().any(holds),
            None => Ok(holds),
        }
    }
}
