//! Scratch vectors that a thread keeps for the solver it used last: cycles then allocate nothing.

use std::cell::RefCell;

use vcycle::executor::Workspace;

thread_local! {
    static KEPT: RefCell<Option<(usize, Workspace)>> = const { RefCell::new(None) };
}

/// Works with the scratch of a solver.
pub(crate) fn with<R>(id: usize, work: impl FnOnce(&Workspace) -> R) -> R {
    let kept = KEPT.try_with(RefCell::take).ok().flatten();
    let ws = match kept {
        Some((owner, ws)) if owner == id => ws,
        _ => Workspace::new(),
    };
    let result = work(&ws);
    let _ = KEPT.try_with(|kept| kept.replace(Some((id, ws))));
    result
}

/// Frees what this thread keeps for a solver.
pub(crate) fn forget(id: usize) {
    let _ = KEPT.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        if kept.as_ref().is_some_and(|(owner, _)| *owner == id) {
            *kept = None;
        }
    });
}
