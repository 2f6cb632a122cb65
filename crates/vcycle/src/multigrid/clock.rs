//! What a set-up tells of itself: how long its stages take, and notes.

use std::cell::RefCell;
use std::time::Instant;

use super::report::{Report, StageTime};
use crate::executor::{Executor, Workspace};
use crate::log::StageGuard;

/// Times every stage for the report of the hierarchy, and tells the observers of the run.
pub(super) struct Clock<'w> {
    pub ws: &'w Workspace,
    executor: Executor,
    times: RefCell<Vec<(usize, StageTime)>>,
    notes: RefCell<Vec<String>>,
}

impl<'w> Clock<'w> {
    /// For stages on an executor: those on a device end when it has done what it was told.
    pub fn new(ws: &'w Workspace, executor: &Executor) -> Self {
        Self {
            ws,
            executor: executor.clone(),
            times: RefCell::default(),
            notes: RefCell::default(),
        }
    }

    /// Begins a stage of `level` that ends with the guard.
    pub fn stage(&self, level: usize, name: &'static str) -> Ticking<'_> {
        let outer = self.ws.stage(&format!("level {level}"), 0);
        Ticking {
            clock: self,
            level,
            name,
            start: Instant::now(),
            _inner: self.ws.stage(name, 0),
            _outer: outer,
        }
    }

    /// Keeps something to be said.
    pub fn note(&self, text: String) {
        self.notes.borrow_mut().push(text);
    }

    /// Writes all times to the levels they belong to, and the notes.
    pub fn tell(self, report: &mut Report) {
        report.notes = self.notes.into_inner();
        for (level, time) in self.times.into_inner() {
            if let Some(facts) = report.levels.get_mut(level) {
                facts.setup.push(time);
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
    _inner: StageGuard<'c>,
    _outer: StageGuard<'c>,
}

impl Drop for Ticking<'_> {
    fn drop(&mut self) {
        if let Executor::Gpu(gpu) = &self.clock.executor {
            // A failure is told by whatever asks the device next.
            let _ = gpu.device().synchronize();
        }
        let seconds = self.start.elapsed().as_secs_f64();
        let name = self.name;
        let time = StageTime { name, seconds };
        self.clock.times.borrow_mut().push((self.level, time));
    }
}
