//! Convergence checks without a wait of the host: on a device the columns of a solve end by themselves, and
//! the host reads the result later.

use num_traits::Zero;

use super::column::Column;
use super::monitor::{Deferred, Monitor};
use super::{Part, Status};
use crate::log::Log;
use crate::operations::monitor::{ColumnState, Condition, Judge, Limits, Snapshot};
use crate::prelude::*;

/// The status numbers of the kernels: 0 for columns that continue, else the position in this list from 1 on.
const STATUSES: [Status; 9] = [
    Status::Converged,
    Status::IterationLimit,
    Status::Stagnated,
    Status::Diverged,
    Status::NonFinite,
    Status::Indefinite(Part::Operator),
    Status::Indefinite(Part::Preconditioner),
    Status::Breakdown,
    Status::AccuracyLimit,
];

impl<T: Scalar> Monitor<T> {
    /// Lets the device check convergence, if the executor is a device: iterations may then be queued, or replayed, without
    /// waiting. Returns whether it does.
    pub fn defer(&mut self, executor: &Executor) -> Result<bool> {
        // Over ranks user-defined criteria are evaluated on the host, in every iteration.
        if executor.team().is_some() && !self.stop.criteria.is_empty() {
            return Ok(false);
        }
        if self.deferred.is_none() {
            let judge = Judge::of(executor, self.block.len())?;
            self.deferred = judge.map(|judge| Deferred { judge, on: false });
        }
        let columns: Vec<_> = match self.deferred {
            None => return Ok(false),
            Some(_) => {
                let block = self.block.iter();
                block
                    .map(|&index| self.state(&self.columns[index]))
                    .collect()
            }
        };
        let deferred = self.deferred.as_mut().expect("made just now");
        deferred.on = true;
        deferred.judge.begin(self.iteration, &columns)?;
        Ok(true)
    }

    /// Lets the host check convergence again.
    #[doc(hidden)]
    pub fn resume(&mut self) -> Result<()> {
        if let Some(deferred) = &mut self.deferred {
            deferred.on = false;
        }
        // After this the thread exchanges messages with other ranks, so replayed work must have ended.
        if self.active.executor().callbacks().is_some() {
            self.active.executor().synchronize()?;
        }
        self.activate()
    }

    /// Whether a device checks convergence.
    #[doc(hidden)]
    pub fn is_deferred(&self) -> bool {
        self.deferred.as_ref().is_some_and(|deferred| deferred.on)
    }

    fn judge_of_device(&mut self) -> &mut Judge {
        &mut self.deferred.as_mut().expect("deferred").judge
    }

    pub(super) fn judge_later(&mut self, norms: &Scalars<T>) -> Result<bool> {
        let limits = Limits {
            iterations: self.stop.iterations,
            window: self.stop.stagnation.unwrap_or(0),
        };
        let deferred = self.deferred.as_ref().expect("deferred");
        deferred.judge.judge(norms, &mut self.active, limits)?;
        Ok(false)
    }

    pub(super) fn require_later(
        &mut self,
        values: &Scalars<T>,
        status: Status,
        bad: &dyn Fn(T::Arith) -> bool,
    ) -> Result<bool> {
        let condition = Condition {
            status: code(status),
            negative: bad(T::Arith::from_f64(-1.0)),
            zero: bad(T::Arith::zero()),
        };
        let deferred = self.deferred.as_ref().expect("deferred");
        let active = &mut self.active;
        deferred.judge.require(values, active, condition)?;
        Ok(false)
    }

    /// Requests the norms after the iteration that was queued last. Then waits for those requested before,
    /// and for these as well if the solve may be near its end. Returns whether all columns have ended.
    #[doc(hidden)]
    pub fn look(&mut self, log: &Log) -> Result<bool> {
        if let Some(callbacks) = self.active.executor().callbacks() {
            callbacks.request_stop([log.wants_stop(), self.is_late()]);
        }
        self.judge_of_device().request()?;
        while self.judge_of_device().pending() > usize::from(self.is_far()) {
            let snapshot = self.judge_of_device().receive()?;
            self.take(&snapshot, log)?;
            if self.all_ended() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Waits for all requests. Returns whether all columns have ended.
    #[doc(hidden)]
    pub fn settle(&mut self, log: &Log) -> Result<bool> {
        while self.is_deferred() && self.judge_of_device().pending() > 0 {
            let snapshot = self.judge_of_device().receive()?;
            self.take(&snapshot, log)?;
        }
        Ok(self.all_ended())
    }

    /// Whether no column is expected to end within the next two iterations.
    fn is_far(&self) -> bool {
        let left = self.iterations_left() > 2;
        let going = self.columns.iter().filter(|column| column.status.is_none());
        left && going.into_iter().all(|column| {
            let rate = (column.norm / column.before).min(1.0);
            column
                .goal
                .is_none_or(|goal| column.norm * rate * rate > goal)
        })
    }

    fn take(&mut self, snapshot: &Snapshot, log: &Log) -> Result<()> {
        let seen = self.iteration;
        for iteration in seen + 1..=snapshot.iteration {
            self.iteration = iteration;
            for (place, &index) in self.block.iter().enumerate() {
                let norm = snapshot.norm(iteration, place);
                let column = &mut self.columns[index];
                (column.before, column.norm) = (column.norm, norm);
                column.note_halving(iteration);
                self.residuals[index] = column.relative(norm);
            }
            self.announce(log);
        }
        self.take_stop_requests(snapshot.stop_requests());
        let out_of_time = self.is_out_of_time()?;
        for (&index, state) in self.block.iter().zip(&snapshot.columns) {
            let column = &mut self.columns[index];
            column.adopt(state, out_of_time);
            if column.is_hopeless(&self.stop) {
                column.end(Status::IterationLimit, snapshot.iteration);
            }
        }
        self.check_requests(log)
    }

    fn state(&self, column: &Column) -> ColumnState {
        ColumnState {
            status: column.status.map_or(0, code),
            goal: column.goal.unwrap_or(-1.0),
            limit: self.stop.divergence * column.initial.max(column.scale),
            norm: column.norm,
            best: column.best,
            best_iteration: column.best_iteration,
            iterations: column.iterations,
        }
    }
}

impl Column {
    fn adopt(&mut self, state: &ColumnState, out_of_time: bool) {
        if self.status.is_some() {
            return;
        }
        self.best = state.best;
        self.best_iteration = state.best_iteration;
        self.iterations = state.iterations;
        self.status = match state.status {
            0 if out_of_time => Some(Status::TimeLimit),
            0 => None,
            code => Some(STATUSES[usize::from(code) - 1]),
        };
    }
}

fn code(status: Status) -> u8 {
    let place = STATUSES.iter().position(|&other| other == status);
    place.map_or(0, |place| place as u8) + 1
}
