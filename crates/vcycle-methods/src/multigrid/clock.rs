//! Times the stages of a set-up and collects its notes, for the report and for observers.

use std::cell::RefCell;
use std::time::Instant;

use super::report::{Report, StageTime};
use crate::executor::Moment;
use crate::log::StageGuard;
use crate::operations::HostStages;
use crate::prelude::*;

/// Times every stage for the report of the hierarchy, and tells the observers of the run.
pub(super) struct Clock<'w> {
    pub ws: &'w Workspace,
    executor: Executor,
    times: RefCell<Vec<Timed>>,
    notes: RefCell<Vec<String>>,
    host_stages: HostStages,
}

/// A stage of a level that has ended, with when it began and ended on a device.
struct Timed {
    level: usize,
    name: &'static str,
    seconds: f64,
    moments: Option<[Moment; 2]>,
}

impl Timed {
    /// How long it took; that of the host where the device cannot tell.
    fn time(self) -> StageTime {
        let on_device = self.moments.map(|[begin, end]| end.seconds_since(&begin));
        StageTime {
            name: self.name,
            seconds: on_device.and_then(Result::ok).unwrap_or(self.seconds),
        }
    }
}

impl<'w> Clock<'w> {
    /// For stages on an executor: those on a device end when it has done what it was told, which nobody
    /// waits for before [`report`](Self::report).
    pub fn new(ws: &'w Workspace, executor: &Executor) -> Self {
        Self {
            ws,
            executor: executor.clone(),
            times: RefCell::default(),
            notes: RefCell::default(),
            host_stages: HostStages::watch(),
        }
    }

    /// Begins a stage of `level` that ends with the guard; fails once the time that a process alone is allowed is used up.
    pub fn stage(&self, level: usize, name: &'static str) -> Result<Ticking<'_>> {
        self.ws.check_end(None)?;
        let outer = self.ws.stage(&format!("level {level}"), 0);
        Ok(Ticking {
            clock: self,
            level,
            name,
            start: Instant::now(),
            moment: self.executor.moment(),
            _inner: self.ws.stage(name, 0),
            _outer: outer,
        })
    }

    /// Keeps something to be said.
    pub fn note(&self, text: String) {
        self.notes.borrow_mut().push(text);
    }

    /// Writes all times to the levels they belong to, and the notes.
    pub fn report(self, report: &mut Report) {
        report.notes = self.notes.into_inner();
        report.notes.extend(self.host_stages.report(self.ws.log()));
        for timed in self.times.into_inner() {
            if let Some(facts) = report.levels.get_mut(timed.level) {
                facts.setup.push(timed.time());
            }
        }
    }
}

/// An open stage. Its guards end in the order they stand in.
#[must_use = "the stage ends when this is dropped"]
pub(super) struct Ticking<'c> {
    clock: &'c Clock<'c>,
    level: usize,
    name: &'static str,
    start: Instant,
    moment: Option<Moment>,
    _inner: StageGuard<'c>,
    _outer: StageGuard<'c>,
}

impl Drop for Ticking<'_> {
    fn drop(&mut self) {
        let begin = self.moment.take();
        self.clock.times.borrow_mut().push(Timed {
            level: self.level,
            name: self.name,
            seconds: self.start.elapsed().as_secs_f64(),
            moments: begin
                .zip(self.clock.executor.moment())
                .map(|(begin, end)| [begin, end]),
        });
    }
}
