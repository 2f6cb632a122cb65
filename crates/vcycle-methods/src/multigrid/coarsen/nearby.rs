//! Rows of other ranks in a graph.

use std::collections::HashSet;
use std::ops::Range;

use super::NONE;
use crate::matrix::Halo;
use crate::prelude::*;
use crate::scalar::Element;

/// The rows of other ranks in a graph, for coarsenings in rounds; there are none without ranks.
///
/// A rank decides on its own rows. After each round it gets the decisions of other ranks on theirs.
#[derive(Clone, Debug, Default)]
pub(in crate::multigrid) struct Nearby(Option<Arc<Halo>>);

impl Nearby {
    /// Those of a [`Halo`].
    pub fn of(halo: &Arc<Halo>) -> Self {
        Self(Some(Arc::clone(halo)))
    }

    /// The halo with the rows of other ranks; none without ranks.
    pub fn halo(&self) -> Option<&Arc<Halo>> {
        self.0.as_ref()
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

    /// The rows that this rank decides on, out of `rows`.
    pub fn own(&self, rows: usize) -> Range<usize> {
        self.0.as_ref().map_or(0..rows, |halo| halo.own())
    }

    /// The number of a row in the whole graph.
    #[inline]
    pub fn global(&self, row: usize) -> u64 {
        self.0.as_ref().map_or(row as u64, |halo| halo.global(row))
    }

    /// The local number of a row of the whole graph.
    pub fn local(&self, row: u64) -> Option<u32> {
        self.0
            .as_ref()
            .map_or(Some(row as u32), |halo| halo.local(row))
    }

    /// Gets the values of rows of other ranks: `value` reads those of own rows, `write` stores the others.
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

    /// Gets the values of rows of other ranks; `values` has one for every row.
    pub fn refresh_all<T: Element>(&self, values: &mut [T]) -> Result<()> {
        match &self.0 {
            Some(halo) => halo.refresh(values),
            None => Ok(()),
        }
    }

    /// The same for numbers of rows; rows without a local number become [`NONE`].
    pub fn refresh_numbers(&self, numbers: &mut [u32]) -> Result<()> {
        if !self.is_shared() {
            return Ok(());
        }
        let mut sent: Vec<u64> = numbers.iter().map(|&row| self.as_global(row)).collect();
        self.refresh_all(&mut sent)?;
        let received = sent.into_iter().map(|row| self.as_local(row));
        numbers
            .iter_mut()
            .zip(received)
            .for_each(|(to, row)| *to = row);
        Ok(())
    }

    /// The number of a row for messages to other ranks, or a mark for none.
    pub fn as_global(&self, row: u32) -> u64 {
        match row {
            NONE => u64::MAX,
            row => self.global(row as usize),
        }
    }

    /// The local number of a row that another rank has [sent](Self::as_global).
    pub fn as_local(&self, row: u64) -> u32 {
        match row {
            u64::MAX => NONE,
            row => self.local(row).unwrap_or(NONE),
        }
    }

    /// Pairs of rows that have no partner yet, one row after the other: each takes the first of its preferences that is
    /// free. Own rows are given, in their order; the pairs of all ranks are returned.
    pub fn pairs_in_order(&self, left: Vec<(u64, Vec<u64>)>) -> Result<Vec<[u64; 2]>> {
        let Some(halo) = &self.0 else {
            return Ok(in_order(&left));
        };
        let numbers = left.into_iter().flat_map(|(row, preferences)| {
            [row, preferences.len() as u64]
                .into_iter()
                .chain(preferences)
        });
        let bytes: Vec<u8> = numbers.flat_map(u64::to_ne_bytes).collect();
        if !halo.team().any(!bytes.is_empty())? {
            return Ok(Vec::new());
        }
        let all = halo.team().all_gather(&bytes)?.concat();
        let number = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("eight bytes"));
        let mut numbers = all.chunks_exact(size_of::<u64>()).map(number);
        let mut left = Vec::new();
        while let (Some(row), Some(count)) = (numbers.next(), numbers.next()) {
            let preferences = numbers.by_ref().take(count as usize).collect();
            left.push((row, preferences));
        }
        Ok(in_order(&left))
    }

    /// The sum of a count over all ranks.
    pub fn total(&self, own: usize) -> Result<usize> {
        match &self.0 {
            Some(halo) => Ok(halo.team().total(own as u64)? as usize),
            None => Ok(own),
        }
    }

    /// The same for nodes of `block` rows.
    pub fn nodes(&self, block: usize) -> Result<Self> {
        match &self.0 {
            Some(halo) => Ok(Self(Some(Arc::new(halo.nodes(block)?)))),
            None => Ok(Self(None)),
        }
    }

    /// The `count`-th of the numbers of all ranks, the largest first, or the last; none of them is negative. Nothing for a
    /// count of 0.
    pub fn nth_largest(&self, mut own: Vec<f64>, count: usize) -> Result<Option<f64>> {
        let count = count.min(self.total(own.len())?);
        let Some(halo) = self.0.as_ref().filter(|_| count > 0) else {
            let place = count.checked_sub(1);
            let found = place.map(|at| *own.select_nth_unstable_by(at, |a, b| b.total_cmp(a)).1);
            return Ok(found);
        };
        // Numbers that are not negative are in the order of their bits.
        let mut bits: Vec<u64> = own.into_iter().map(f64::to_bits).collect();
        bits.sort_unstable();
        let mut least = 0_u64;
        for bit in (0..u64::BITS - 1).rev() {
            let next = least | 1 << bit;
            let above = bits.len() - bits.partition_point(|&bits| bits < next);
            if halo.team().total(above as u64)? >= count as u64 {
                least = next;
            }
        }
        Ok(Some(f64::from_bits(least)))
    }

    /// Whether it holds on any rank.
    pub fn any(&self, holds: bool) -> Result<bool> {
        match &self.0 {
            Some(halo) => halo.team().any(holds),
            None => Ok(holds),
        }
    }
}

/// Values of own rows, completed by those of rows of other ranks.
pub(in crate::multigrid) fn spread_over<T: Element>(halo: &Halo, own: &[T]) -> Result<Vec<T>> {
    let mut all = vec![T::default(); halo.len()];
    all[halo.own()].copy_from_slice(own);
    halo.refresh(&mut all)?;
    Ok(all)
}

/// Each row takes the first of its preferences that is free.
fn in_order(left: &[(u64, Vec<u64>)]) -> Vec<[u64; 2]> {
    let (mut taken, mut pairs) = (HashSet::<u64>::new(), Vec::new());
    for (row, preferences) in left {
        if taken.contains(row) {
            continue;
        }
        if let Some(partner) = preferences.iter().find(|other| !taken.contains(*other)) {
            taken.extend([row, partner]);
            pairs.push([*row, *partner]);
        }
    }
    pairs
}
