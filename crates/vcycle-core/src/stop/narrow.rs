//! Removes columns that have ended from the block of vectors of a solve.

use num_traits::One;

use super::column::Column;
use super::monitor::{Deferred, Monitor};
use crate::prelude::*;

/// Minimum number of columns of a block: products and sums of one column are added in another order than those of several.
const LEAST: usize = 2;
/// On devices multiples of this number of columns use the same kernels, so that none is compiled when columns are removed.
const SAME_KERNELS: usize = 8;
/// Expected further iterations for which making a narrower block is worth its time.
const WORTHWHILE: f64 = 3.0;

/// The state of a [`Monitor`] for a block before some of its columns were removed.
#[derive(Debug)]
pub struct Wide<T: Scalar> {
    block: Vec<usize>,
    active: Scalars<T>,
    norms: Vec<T::Arith>,
    deferred: Option<Deferred>,
}

impl<T: Scalar> Monitor<T> {
    /// The positions of the columns that stay in the block, if at least half of them can be removed. Their number is a power of
    /// two, so some that have ended may stay.
    #[doc(hidden)]
    pub fn staying(&self) -> Option<Vec<usize>> {
        let goes_on = |place: &usize| self.columns[self.block[*place]].status.is_none();
        let going = (0..self.block.len()).filter(goes_on).count();
        let (least, step) = match self.active.executor().is_device() {
            true => (SAME_KERNELS, SAME_KERNELS),
            false => (LEAST, 1),
        };
        let width = going.next_power_of_two().max(least);
        if going == 0
            || !self.block.len().is_multiple_of(step)
            || 2 * width > self.block.len()
            || !self.is_worth_it()
        {
            return None;
        }
        let ended = (0..self.block.len()).filter(|place| !goes_on(place));
        let mut staying: Vec<_> = ended.take(width - going).collect();
        staying.extend((0..self.block.len()).filter(goes_on));
        staying.sort_unstable();
        Some(staying)
    }

    /// Whether some column is expected to take more than a few iterations.
    fn is_worth_it(&self) -> bool {
        let going = self.columns.iter().filter(|column| column.status.is_none());
        let most = going.map(Column::expected).fold(0.0, f64::max);
        most.min(self.iterations_left() as f64) >= WORTHWHILE
    }

    /// Restricts the vectors of the solve to these columns of the block; returns the argument for [`widen`](Self::widen).
    #[doc(hidden)]
    pub fn narrow(&mut self, staying: &[usize]) -> Result<Wide<T>> {
        let ones = Scalars::filled(self.active.executor(), staying.len(), T::Arith::one())?;
        let block = staying.iter().map(|&place| self.block[place]).collect();
        let wide = Wide {
            active: std::mem::replace(&mut self.active, ones),
            norms: std::mem::replace(&mut self.norms, vec![T::Arith::one(); staying.len()]),
            block: std::mem::replace(&mut self.block, block),
            deferred: self.deferred.take(),
        };
        self.activate()?;
        Ok(wide)
    }

    /// Restores all columns that the vectors had before [`narrow`](Self::narrow).
    #[doc(hidden)]
    pub fn widen(&mut self, wide: Wide<T>) -> Result<()> {
        (self.block, self.active) = (wide.block, wide.active);
        (self.norms, self.deferred) = (wide.norms, wide.deferred);
        self.activate()
    }
}

impl Column {
    /// Iterations until the goal at the mean speed so far; infinity if that is unknown.
    fn expected(&self) -> f64 {
        let done = (self.initial / self.norm).ln();
        match self.goal {
            Some(goal) if goal > 0.0 && done > 0.0 && self.iterations > 0 => {
                (self.norm / goal).ln() * self.iterations as f64 / done
            }
            _ => f64::INFINITY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Log;
    use crate::stop::Stop;
    use crate::workspace::Pooled;

    fn scalars(values: &[f64]) -> Scalars<f64> {
        let mut scalars = Scalars::filled(&Executor::reference(), values.len(), 0.0).unwrap();
        scalars.write(values).unwrap();
        scalars
    }

    #[test]
    fn half_of_the_columns_leave_once_they_have_ended() {
        let mut monitor = Monitor::<f64>::allocate(&Executor::reference(), 1, 5).unwrap();
        let (stop, log) = (Stop::relative(1e-3), Log::new());
        monitor.reset(&stop, &scalars(&[1.0; 5]), true).unwrap();
        monitor.start(&scalars(&[1.0; 5]), &log).unwrap();
        monitor
            .done(&scalars(&[0.0, 0.5, 0.0, 0.5, 0.5]), &log)
            .unwrap();
        assert_eq!(monitor.staying(), None);
        monitor
            .done(&scalars(&[0.0, 0.2, 0.0, 0.0, 0.0]), &log)
            .unwrap();
        assert_eq!(monitor.staying(), Some(vec![0, 1]));

        let wide = monitor.narrow(&[0, 1]).unwrap();
        assert_eq!(monitor.active().host().unwrap(), [0.0, 1.0]);
        assert!(monitor.done(&scalars(&[0.0, 1e-4]), &log).unwrap());
        monitor.widen(wide).unwrap();
        assert_eq!(monitor.active().host().unwrap(), [0.0; 5]);
        let iterations = (0..5).map(|column| monitor.columns[column].iterations);
        assert_eq!(iterations.collect::<Vec<_>>(), [1, 3, 1, 2, 2]);
    }

    #[test]
    fn the_last_iterations_are_done_with_all_columns() {
        let mut monitor = Monitor::<f64>::allocate(&Executor::reference(), 1, 4).unwrap();
        let (stop, log) = (Stop::relative(1e-3), Log::new());
        monitor.reset(&stop, &scalars(&[1.0; 4]), true).unwrap();
        monitor.start(&scalars(&[1.0; 4]), &log).unwrap();
        monitor
            .done(&scalars(&[0.0, 2e-3, 0.0, 0.0]), &log)
            .unwrap();
        assert_eq!(monitor.staying(), None);
    }
}
