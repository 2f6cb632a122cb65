//! Observers, which are notified of what happens in a run.
//!
//! Algorithms contain no printing and no clocks. They open a named stage
//! ([`Workspace::stage`](crate::workspace::Workspace::stage)) and announce iterations; observers
//! make a profile or a trace from that.

mod chrome_trace;
mod counts;
mod profile;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

pub use chrome_trace::ChromeTrace;
pub use counts::{Count, Counts};
pub use profile::{Profile, Stage};

use crate::executor::{Executor, Listening, MemoryEvent};

/// One iteration of a solver, as it is announced.
#[derive(Clone, Copy, Debug)]
pub struct IterationEvent<'a> {
    /// Iterations done; 0 announces the start.
    pub iteration: usize,
    /// Relative residual of every column, by the method's recurrence.
    pub residuals: &'a [f64],
    /// The tolerance for the residuals.
    pub tolerance: f64,
}

/// Is notified of what happens in a run; every method does nothing by default.
pub trait Observer {
    /// A stage begins, inside those that have begun and not ended.
    fn stage_begins(&mut self, _name: &str) {}
    /// The innermost stage ends, having moved `bytes` through memory.
    fn stage_ends(&mut self, _name: &str, _elapsed: Duration, _bytes: usize) {}
    /// A solver has done an iteration.
    fn iteration(&mut self, _event: &IterationEvent<'_>) {}
    /// A message that is not an error, for example of a stage without a device kernel.
    fn note(&mut self, _text: &str) {}
    /// A buffer was made; reported when the next stage begins or ends, of
    /// [watched](Self::watches_memory) memory alone.
    fn allocated(&mut self, _executor: &str, _bytes: usize) {}
    /// Values were copied from an executor to another; reported as [`allocated`](Self::allocated) is.
    fn copied(&mut self, _from: &str, _to: &str, _bytes: usize) {}
    /// Whether to report allocations and copies of the thread that makes the [`Log`].
    fn watches_memory(&self) -> bool {
        false
    }
    /// Whether the solve has to end; called after every iteration.
    fn wants_stop(&self) -> bool {
        false
    }
    /// Whether stages are of interest. Where no observer wants them, they cost nothing.
    fn watches_stages(&self) -> bool {
        true
    }
    /// Whether to measure the time of stages. On a device this takes time: the host then waits for each stage
    /// to end.
    fn times_stages(&self) -> bool {
        false
    }
}

impl<O: Observer> Observer for Rc<RefCell<O>> {
    fn stage_begins(&mut self, name: &str) {
        self.borrow_mut().stage_begins(name);
    }
    fn stage_ends(&mut self, name: &str, elapsed: Duration, bytes: usize) {
        self.borrow_mut().stage_ends(name, elapsed, bytes);
    }
    fn iteration(&mut self, event: &IterationEvent<'_>) {
        self.borrow_mut().iteration(event);
    }
    fn note(&mut self, text: &str) {
        self.borrow_mut().note(text);
    }
    fn allocated(&mut self, executor: &str, bytes: usize) {
        self.borrow_mut().allocated(executor, bytes);
    }
    fn copied(&mut self, from: &str, to: &str, bytes: usize) {
        self.borrow_mut().copied(from, to, bytes);
    }
    fn watches_memory(&self) -> bool {
        self.borrow().watches_memory()
    }
    fn wants_stop(&self) -> bool {
        self.borrow().wants_stop()
    }
    fn watches_stages(&self) -> bool {
        self.borrow().watches_stages()
    }
    fn times_stages(&self) -> bool {
        self.borrow().times_stages()
    }
}

/// The observers of one run.
#[derive(Default)]
pub struct Log {
    observers: RefCell<Vec<Box<dyn Observer>>>,
    device: RefCell<Option<Executor>>,
    memory: Option<Listening>,
    /// Whether an observer wants the stages.
    stages: bool,
}

impl Log {
    /// No observers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an observer. Keep an `Rc<RefCell<_>>` of it to read it afterwards.
    #[must_use]
    pub fn with(mut self, observer: impl Observer + 'static) -> Self {
        if observer.watches_memory() && self.memory.is_none() {
            self.memory = Some(Listening::begin());
        }
        self.stages |= observer.watches_stages();
        self.observers.borrow_mut().push(Box::new(observer));
        self
    }

    /// Whether an observer measures the time of stages.
    pub fn times_stages(&self) -> bool {
        let observers = self.observers.borrow();
        observers.iter().any(|observer| observer.times_stages())
    }

    /// Whether an observer requests the end of the solve.
    pub fn wants_stop(&self) -> bool {
        let observers = self.observers.borrow();
        observers.iter().any(|observer| observer.wants_stop())
    }

    /// Ends stages of a device when the device is done, if an observer measures their time.
    #[doc(hidden)]
    pub fn follow(&self, executor: &Executor) {
        if executor.is_device() && self.times_stages() {
            self.device.replace(Some(executor.clone()));
        }
    }

    /// Waits for the device whose stages are timed. The next operation reports its errors.
    fn catch_up(&self) {
        if let Some(device) = self.device.borrow().as_ref() {
            let _ = device.synchronize();
        }
    }

    /// Begins a stage that ends with the guard; its bytes are counted only if an observer wants them.
    pub fn stage_of(&self, name: &str, bytes: impl FnOnce() -> usize) -> StageGuard<'_> {
        let bytes = if self.stages { bytes() } else { 0 };
        self.stage(name, bytes)
    }

    /// Begins a stage that ends with the guard.
    pub fn stage(&self, name: &str, bytes: usize) -> StageGuard<'_> {
        if !self.stages {
            return StageGuard { open: None };
        }
        self.catch_up();
        self.report_memory();
        self.each(|observer| observer.stage_begins(name));
        let open = OpenStage {
            log: self,
            name: name.to_owned(),
            bytes,
            start: Instant::now(),
        };
        StageGuard { open: Some(open) }
    }

    /// Announces an iteration.
    pub fn iteration(&self, event: &IterationEvent<'_>) {
        self.each(|observer| observer.iteration(event));
    }

    /// Reports a message.
    pub fn note(&self, text: &str) {
        self.each(|observer| observer.note(text));
    }

    /// Passes on the memory events since the last call.
    fn report_memory(&self) {
        let events = self.memory.iter().flat_map(Listening::events);
        events.for_each(|event| match &event {
            MemoryEvent::Allocated { executor, bytes } => {
                self.each(|observer| observer.allocated(executor, *bytes));
            }
            MemoryEvent::Copied { from, to, bytes } => {
                self.each(|observer| observer.copied(from, to, *bytes));
            }
        });
    }

    fn each(&self, notify: impl Fn(&mut dyn Observer)) {
        for observer in self.observers.borrow_mut().iter_mut() {
            notify(observer.as_mut());
        }
    }
}

/// An open stage; it ends when this is dropped.
#[must_use = "the stage ends when this is dropped"]
pub struct StageGuard<'l> {
    open: Option<OpenStage<'l>>,
}

struct OpenStage<'l> {
    log: &'l Log,
    name: String,
    bytes: usize,
    start: Instant,
}

impl Drop for StageGuard<'_> {
    fn drop(&mut self) {
        if let Some(stage) = &self.open {
            stage.log.catch_up();
            let elapsed = stage.start.elapsed();
            stage.log.report_memory();
            let notify = |observer: &mut dyn Observer| {
                observer.stage_ends(&stage.name, elapsed, stage.bytes);
            };
            stage.log.each(notify);
        }
    }
}
