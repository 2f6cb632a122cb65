//! The judge of a running solve: which columns go on, and why the others ended.

use std::time::{Duration, Instant};

use num_traits::{One, Zero};

use super::column::Column;
use super::{Progress, Status, Stop};
use crate::log::{IterationEvent, Log};
use crate::operations::monitor::Judge;
use crate::prelude::*;
use crate::workspace::Pooled;

/// A residual that has not halved in this many iterations may have reached the limit of accuracy.
const STALLED: usize = 8;
/// The limit of accuracy is checked every this many iterations in any case.
const LOOKS: usize = 64;

/// Number of residuals for which the history has memory from the start.
const HISTORY_RESERVED: usize = 4096;

/// Watches the residual norms of a solve and ends its columns one by one.
///
/// A method calls [`start`](Monitor::start) with the norms of the initial residual and
/// [`done`](Monitor::done) after each iteration; both return whether every column has ended. It
/// multiplies its updates of the solution by [`active`](Monitor::active), so that a column that
/// has ended keeps its solution.
#[derive(Debug)]
pub struct Monitor<T: Scalar> {
    pub(super) stop: Stop,
    pub(super) columns: Vec<Column>,
    /// The columns that are still in the vectors of the solve, by their original positions.
    pub(super) block: Vec<usize>,
    pub(super) active: Scalars<T>,
    pub(super) norms: Vec<T::Arith>,
    pub(super) residuals: Vec<f64>,
    history: Vec<f64>,
    pub(super) iteration: usize,
    start: Instant,
    announced: bool,
    /// Iterations without halving after which the limit of accuracy is checked.
    stalled: usize,
    /// The iteration before which it is not checked again.
    next_look: usize,
    pub(super) deferred: Option<Deferred>,
    /// The numbers of ranks that request a stop and that are out of time, if a method has summed them already.
    requested: Option<[f64; 2]>,
}

/// The device's part of a [`Monitor`].
#[derive(Debug)]
pub(super) struct Deferred {
    pub judge: Judge,
    /// Whether the device checks convergence.
    pub on: bool,
}

/// How late the end of an iteration may be before its products are cut short.
pub fn late(limit: Duration) -> Duration {
    (limit / 20).max(Duration::from_millis(250))
}

impl<T: Scalar> Monitor<T> {
    /// Begins a solve for right-hand sides of the given norms. Iterations are `announced` to
    /// observers, unless the solve is a part of another.
    #[doc(hidden)]
    pub fn reset(&mut self, stop: &Stop, rhs_norms: &Scalars<T>, announced: bool) -> Result<()> {
        self.announced = announced;
        self.stop.clone_from(stop);
        self.iteration = 0;
        (self.stalled, self.next_look) = (STALLED, 0);
        self.requested = None;
        self.history.clear();
        self.start = Instant::now();
        rhs_norms.read(&mut self.norms)?;
        for (column, norm) in self.columns.iter_mut().zip(&self.norms) {
            *column = Column {
                scale: norm.real().to_f64(),
                ..Column::default()
            };
        }
        self.activate()
    }

    /// Sets the norms of the residual of the initial guess. Returns whether all columns have ended.
    ///
    /// When the solve is restarted, these correct the last norms of the recurrence; tolerances
    /// and limits stay those of the whole solve.
    pub fn start(&mut self, norms: &Scalars<T>, log: &Log) -> Result<bool> {
        norms.read(&mut self.norms)?;
        for (&index, norm) in self.block.iter().zip(&self.norms) {
            let column = &mut self.columns[index];
            if column.status.is_none() {
                column.begin(norm.real().to_f64(), self.iteration, &self.stop);
            }
        }
        self.judge(log)
    }

    /// Counts an iteration with the residual norms after it. Returns whether all columns have
    /// ended.
    pub fn done(&mut self, norms: &Scalars<T>, log: &Log) -> Result<bool> {
        if self.is_deferred() {
            return self.judge_later(norms);
        }
        norms.read(&mut self.norms)?;
        self.iteration += 1;
        self.judge(log)
    }

    /// Ends with a status the active columns whose value is `bad`, and with [`Status::NonFinite`] those whose value is infinite
    /// or NaN. Returns whether all columns have ended.
    #[doc(hidden)]
    pub fn end_where(
        &mut self,
        values: &Scalars<T>,
        status: Status,
        bad: &dyn Fn(T::Arith) -> bool,
    ) -> Result<bool> {
        if self.is_deferred() {
            return self.require_later(values, status, bad);
        }
        values.read(&mut self.norms)?;
        let iteration = self.iteration;
        for (&index, &value) in self.block.iter().zip(&self.norms) {
            let column = &mut self.columns[index];
            if !Field::is_finite(value) {
                column.end(Status::NonFinite, iteration);
            } else if bad(value) {
                column.end(status, iteration);
            }
        }
        self.activate()?;
        Ok(self.all_ended())
    }

    /// One for every column that continues, zero for those that have ended.
    pub fn active(&self) -> &Scalars<T> {
        &self.active
    }

    /// Whether one column continues; for methods that have a column's state on the host.
    pub fn is_active(&self, column: usize) -> bool {
        self.columns[column].status.is_none()
    }

    /// Ends one column, if it has not ended yet.
    pub fn end(&mut self, column: usize, status: Status) -> Result<()> {
        self.columns[column].end(status, self.iteration);
        self.activate()
    }

    /// Ends the columns that have not ended yet.
    pub fn end_all(&mut self, status: Status) -> Result<()> {
        let iteration = self.iteration;
        let columns = self.columns.iter_mut();
        columns.for_each(|column| column.end(status, iteration));
        self.activate()
    }

    /// Whether every column has ended.
    pub fn all_ended(&self) -> bool {
        self.columns.iter().all(|column| column.status.is_some())
    }

    /// Iterations counted so far.
    pub fn iterations(&self) -> usize {
        self.iteration
    }

    /// Checks the limit of accuracy after each iteration that has not halved the residual: for methods that gain
    /// digits in every iteration.
    pub fn expect_digits(&mut self) {
        self.stalled = 1;
    }

    /// Whether the solve may have reached the limit of accuracy, by its residuals.
    #[doc(hidden)]
    pub fn may_be_at_limit(&self) -> bool {
        let going = |column: &&Column| column.status.is_none() && column.target.is_some();
        let is_stalled = |column: &Column| self.iteration - column.halved.1 >= self.stalled;
        self.announced
            && self.iteration >= self.next_look
            && (self.iteration.is_multiple_of(LOOKS) && self.iteration > 0
                || self.columns.iter().filter(going).any(is_stalled))
    }

    /// Ends the columns whose residual consists of rounding errors, given the `levels` of rounding; returns whether all
    /// have ended. The limit is checked less and less often.
    #[doc(hidden)]
    pub fn end_at_limit(&mut self, levels: &[f64]) -> Result<bool> {
        let iteration = self.iteration;
        self.next_look = iteration + self.stalled.max(iteration).min(LOOKS);
        for (&index, &level) in self.block.iter().zip(levels) {
            let column = &mut self.columns[index];
            let is_stalled = iteration - column.halved.1 >= self.stalled;
            let is_over = is_stalled || column.asks_too_much::<T>(level);
            if is_over && column.is_rounding::<T>(column.norm, level) {
                column.end(Status::AccuracyLimit, iteration);
            }
        }
        self.activate()?;
        Ok(self.all_ended())
    }

    /// Iterations that are left.
    pub fn iterations_left(&self) -> usize {
        self.stop.iterations.saturating_sub(self.iteration)
    }

    /// Largest relative residual after 0, 1, 2... iterations, by the recurrence.
    #[doc(hidden)]
    pub fn take_history(&mut self) -> Vec<f64> {
        self.history.clone()
    }

    fn judge(&mut self, log: &Log) -> Result<bool> {
        let out_of_time = self.is_out_of_time()?;
        for (&index, norm) in self.block.iter().zip(&self.norms) {
            let column = &mut self.columns[index];
            if column.status.is_none() {
                let norm = norm.real().to_f64();
                column.observe(norm, self.iteration, &self.stop, out_of_time);
            }
            self.residuals[index] = column.relative(column.norm);
        }
        self.announce(log);
        self.check_requests(log)?;
        self.activate()?;
        Ok(self.all_ended())
    }

    /// Reports the residuals after an iteration to observers, and records the largest.
    pub(super) fn announce(&mut self, log: &Log) {
        // A restart checks an iteration again: the later value counts.
        self.history.truncate(self.iteration);
        self.history
            .push(self.residuals.iter().copied().fold(0.0, f64::max));
        if self.announced {
            log.iteration(&IterationEvent {
                iteration: self.iteration,
                residuals: &self.residuals,
                tolerance: self.stop.rhs_tolerance.unwrap_or(0.0),
            });
        }
    }

    /// Ends all columns if a criterion of the user holds or an observer requests that.
    pub(super) fn check_requests(&mut self, log: &Log) -> Result<()> {
        if !self.stop.criteria.is_empty() {
            let progress = Progress {
                iteration: self.iteration,
                residuals: &self.residuals,
                elapsed: self.start.elapsed(),
            };
            let mut criteria = self.stop.criteria.iter();
            let holds = criteria.any(|criterion| criterion.holds(&progress));
            if self.active.executor().any(holds)? {
                for column in &mut self.columns {
                    column.accept(self.iteration);
                }
            }
        }
        let is_wanted = match self.requested.take() {
            Some([stop, _]) => stop > 0.0,
            None => self.active.executor().any(log.wants_stop())?,
        };
        if is_wanted {
            for column in &mut self.columns {
                column.end(Status::Interrupted, self.iteration);
            }
        }
        Ok(())
    }

    /// Whether the time allowed is used up, on any rank of a team.
    pub(super) fn is_out_of_time(&self) -> Result<bool> {
        match self.requested {
            Some([_, late]) => Ok(late > 0.0),
            None if self.stop.time.is_none() => Ok(false),
            None => self.active.executor().any(self.is_late()),
        }
    }

    /// From when on no product begins: an iteration that ends a little late still counts.
    pub fn end_of_products(&self) -> Option<Instant> {
        let limit = self.stop.time?;
        self.start.checked_add(limit + late(limit))
    }

    pub(super) fn is_late(&self) -> bool {
        self.stop
            .time
            .is_some_and(|time| self.start.elapsed() >= time)
    }

    /// Whether an observer of this rank requests a stop, and whether its time is used up, as ones and zeros: for methods that
    /// add them to a sum of their own, which saves a separate reduction for stop requests.
    pub fn stop_requests(&self, log: &Log) -> [f64; 2] {
        [log.wants_stop(), self.is_late()].map(|request| f64::from(u8::from(request)))
    }

    /// Sets the sums of the stop requests of all ranks, for the next check. They are not needed without other ranks.
    pub fn take_stop_requests(&mut self, stop_requests: [f64; 2]) {
        self.requested = self
            .active
            .executor()
            .team()
            .is_some()
            .then_some(stop_requests);
    }

    pub(super) fn activate(&mut self) -> Result<()> {
        for (flag, &index) in self.norms.iter_mut().zip(&self.block) {
            *flag = match self.columns[index].status {
                None => T::Arith::one(),
                Some(_) => T::Arith::zero(),
            };
        }
        self.active.write(&self.norms)
    }
}

impl<T: Scalar> Pooled for Monitor<T> {
    fn allocate(executor: &Executor, _rows: usize, cols: usize) -> Result<Self> {
        Ok(Self {
            stop: Stop::default(),
            columns: vec![Column::default(); cols],
            block: (0..cols).collect(),
            active: Scalars::filled(executor, cols, T::Arith::one())?,
            norms: vec![T::Arith::zero(); cols],
            residuals: vec![0.0; cols],
            history: Vec::with_capacity(HISTORY_RESERVED),
            iteration: 0,
            start: Instant::now(),
            announced: true,
            stalled: STALLED,
            next_look: 0,
            deferred: None,
            requested: None,
        })
    }

    fn executor(&self) -> &Executor {
        self.active.executor()
    }
}
