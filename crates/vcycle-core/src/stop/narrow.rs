//! Columns that have ended leave the block of vectors that a solve works on.

use num_traits::One;

use super::column::Column;
use super::monitor::{Deferred, Monitor};
use crate::error::Result;
use crate::scalar::Scalar;
use crate::vector::Scalars;

/// Columns that a block has at least: products and sums of one column are added up in another order than those of several.
const LEAST: usize = 2;
/// On devices numbers of columns that are multiples of this have the same kernels: none is compiled because columns leave.
const SAME_KERNELS: usize = 8;
/// Iterations that are expected to follow, so that a narrower block is worth what it takes to make it.
const WORTHWHILE: f64 = 3.0;

/// What a [`Monitor`] knew of a block before some of its columns left.
#[derive(Debug)]
pub struct Wide<T: Scalar> {
    block: Vec<usize>,
    active: Scalars<T>,
    norms: Vec<T::Arith>,
    deferred: Option<Deferred>,
}

impl<T: Scalar> Monitor<T> {
    /// The places of the columns that are to stay in the block, where half of them or more may leave. Their number is a power of
    /// two: some that have ended may stay, too.
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

    /// From here on the vectors of the solve have only these columns of the block; returns what [`widen`](Self::widen) takes.
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

    /// The vectors have all columns again that they had before [`narrow`](Self::narrow).
    #[doc(hidden)]
    pub fn widen(&mut self, wide: Wide<T>) -> Result<()> {
        (self.block, self.active) = (wide.block, wide.active);
        (self.norms, self.deferred) = (wide.norms, wide.deferred);
        self.activate()
    }
}

impl Column {
    /// Iterations until the goal at the mean speed so far; infinitely many where nothing is known.
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
    use crate::executor::Executor;
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
        let iterations = (0..5).map(|column| monitor.column_iterations(column));
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
