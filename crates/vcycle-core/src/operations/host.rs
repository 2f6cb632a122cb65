//! Stages that run on the host although their operands are on a device, or otherwise than requested, and reports of them.
//!
//! A stage without kernels calls [`on_host`] before its algorithm of the host begins, one that does something else
//! than requested calls [`remark`]. A set-up watches with [`HostStages`] and reports what was seen. What is seen belongs to the thread that runs the set-up: stages begin
//! on it, however many threads they use then.

use std::cell::RefCell;
use std::marker::PhantomData;

use crate::log::Log;
use crate::prelude::*;

/// A stage that devices have no kernels for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostStage {
    /// What it does, in a few words.
    pub name: &'static str,
}

impl std::fmt::Display for HostStage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}: devices have no kernel for it, the host did it",
            self.name
        )
    }
}

thread_local! {
    /// What the innermost watch of this thread has seen, in words; none where nobody watches.
    static SEEN: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Says that a stage runs on the host now, if its operands are on a device.
pub fn on_host(executor: &Executor, stage: HostStage) {
    if executor.is_device() {
        remark(stage.to_string());
    }
}

/// Says that a stage does something else than was asked for, and why.
pub fn remark(text: String) {
    SEEN.with_borrow_mut(|seen| match seen {
        Some(seen) if !seen.contains(&text) => seen.push(text),
        _ => {}
    });
}

/// Sees the stages that run on the host and the remarks of others from its making on, those alone that no watch made
/// later sees.
#[derive(Debug)]
#[must_use = "it watches until it is dropped"]
pub struct HostStages {
    outer: Option<Vec<String>>,
    _of_this_thread: PhantomData<*const ()>,
}

impl HostStages {
    /// Begins to watch.
    pub fn watch() -> Self {
        Self {
            outer: SEEN.replace(Some(Vec::new())),
            _of_this_thread: PhantomData,
        }
    }

    /// What was seen, everything once; the observers of a run get it, too.
    pub fn report(self, log: &Log) -> Vec<String> {
        let notes = SEEN.take().unwrap_or_default();
        notes.iter().for_each(|note| log.note(note));
        notes
    }
}

impl Drop for HostStages {
    fn drop(&mut self) {
        SEEN.set(self.outer.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: HostStage = HostStage { name: "some stage" };
    const OTHER: HostStage = HostStage { name: "other" };

    #[test]
    fn operands_of_the_host_are_nothing_to_talk_about() {
        let watch = HostStages::watch();
        on_host(&Executor::cpu(), SOME);
        assert!(watch.report(&Log::new()).is_empty());
    }

    #[test]
    fn remarks_are_reported_of_any_place() {
        let watch = HostStages::watch();
        remark("something else".to_owned());
        remark("something else".to_owned());
        assert_eq!(watch.report(&Log::new()), ["something else"]);
    }

    #[test]
    fn every_stage_is_reported_once_by_the_innermost_watch() {
        let Some(device) = device() else { return };
        on_host(&device, SOME);
        let outer = HostStages::watch();
        let inner = HostStages::watch();
        on_host(&device, SOME);
        on_host(&device, SOME);
        let seen = inner.report(&Log::new());
        assert_eq!(seen.len(), 1);
        assert!(seen[0].starts_with("some stage: "), "{seen:?}");
        on_host(&device, OTHER);
        assert_eq!(outer.report(&Log::new()), [OTHER.to_string()]);
        assert_eq!(SEEN.take(), None);
    }
}
