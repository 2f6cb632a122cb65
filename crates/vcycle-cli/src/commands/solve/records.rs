//! What is recorded while a solve runs.

use std::cell::RefCell;
use std::rc::Rc;

use vcycle::log::{ChromeTrace, Log, Profile};

use crate::args::SolveArgs;
use crate::output::progress::Progress;

/// The times of all stages, in sum and one by one.
#[derive(Default)]
pub struct Records {
    pub profile: Rc<RefCell<Profile>>,
    pub trace: Rc<RefCell<ChromeTrace>>,
}

impl Records {
    /// Observers cost a little in every iteration: only those whose output is asked for.
    pub fn log(&self, args: &SolveArgs, progress: &Progress) -> Log {
        let mut log = Log::new();
        if progress.is_shown() {
            log = log.with(progress.clone());
        }
        if args.report.is_some() {
            log = log.with(Rc::clone(&self.profile));
        }
        if args.trace.is_some() {
            log = log.with(Rc::clone(&self.trace));
        }
        log
    }
}
