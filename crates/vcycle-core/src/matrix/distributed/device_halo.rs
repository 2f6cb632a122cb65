//! Values of rows that ranks share, on their devices.

use std::ops::Range;

use super::exchange::nothing;
use super::halo::Halo;
use crate::operations::coarsen::Sharing;
use crate::operations::parts;
use crate::prelude::*;
use crate::scalar::{Element, bytes, bytes_mut};

/// No row.
const NONE: u32 = u32::MAX;

/// A [`Halo`] for values on the device of a rank: those that others ask for alone pass through the host.
#[derive(Debug)]
pub struct DeviceHalo<'h> {
    halo: &'h Halo,
    executor: Executor,
    /// Own rows that are sent, in the order of an exchange.
    sent: Buffer<u32>,
}

impl<'h> DeviceHalo<'h> {
    /// For values on an executor.
    pub fn new(halo: &'h Halo, executor: &Executor) -> Self {
        Self {
            halo,
            executor: executor.clone(),
            sent: Buffer::from_vec(executor, halo.sent_rows().to_vec()),
        }
    }

    /// What other ranks have for their rows, of values for own rows, the first of which stands at a place; `encode` makes what
    /// travels.
    pub fn others<T: Element, S: Element>(
        &self,
        values: &Buffer<T>,
        first: usize,
        encode: impl Fn(T) -> S,
    ) -> Result<Vec<S>> {
        let sent = match self.sent.is_empty() {
            true => Vec::new(),
            false => {
                let packed = parts::packed(values, first, &self.sent)?;
                packed.expect("the values are on a device").into_vec()
            }
        };
        let sent: Vec<S> = sent.into_iter().map(encode).collect();
        let mut others = vec![S::default(); self.halo.others().len()];
        let (from, to) = (bytes(&sent), bytes_mut(&mut others));
        let messages = self.halo.messages();
        messages.run(size_of::<S>(), from, to, &mut nothing)?;
        Ok(others)
    }

    /// Gets the values of other rows from their ranks; there is one for every local number.
    fn refresh<T: Element>(&self, values: &mut Buffer<T>) -> Result<()> {
        let others = self.others(values, self.halo.own().start, |value| value)?;
        self.write(values, others)
    }

    /// Replaces the values of other rows; there is one for every local number.
    fn write<T: Element>(&self, values: &mut Buffer<T>, others: Vec<T>) -> Result<()> {
        let (before, count) = (self.halo.before(), others.len());
        let others = Buffer::from_vec(&self.executor, others);
        parts::copied(&others, 0..before, values, 0)?;
        parts::copied(&others, before..count, values, self.halo.own().end)
    }
}

impl Sharing for DeviceHalo<'_> {
    fn own(&self, _rows: usize) -> Range<usize> {
        self.halo.own()
    }

    fn first(&self) -> u64 {
        self.halo.own_rows().start
    }

    fn refresh_words(&self, values: &mut Buffer<u64>) -> Result<()> {
        self.refresh(values)
    }

    fn refresh_counts(&self, values: &mut Buffer<u32>) -> Result<()> {
        self.refresh(values)
    }

    fn refresh_bytes(&self, values: &mut Buffer<u8>) -> Result<()> {
        self.refresh(values)
    }

    fn refresh_rows(&self, rows: &mut Buffer<u32>) -> Result<()> {
        let encode = |row: u32| match row {
            NONE => u64::MAX,
            row => self.halo.global(row as usize),
        };
        let decode = |row: u64| self.halo.local(row).unwrap_or(NONE);
        let others = self.others(rows, self.halo.own().start, encode)?;
        self.write(rows, others.into_iter().map(decode).collect())
    }

    fn any(&self, holds: bool) -> Result<bool> {
        self.halo.team().any(holds)
    }

    /// Messages take more time than it takes to ask.
    fn rounds(&self) -> usize {
        2
    }
}
