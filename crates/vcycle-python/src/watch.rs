//! What happens between iterations: Ctrl-C is looked for and the caller's function is called.

use std::cell::RefCell;
use std::rc::Rc;

use pyo3::prelude::*;
use vcycle::executor::Workspace;
use vcycle::log::{IterationEvent, Log, Observer};

use crate::error::OrRaise;

/// Ends a solve when a signal or the caller's function raises an exception.
struct Watch {
    callback: Option<Py<PyAny>>,
    raised: Rc<RefCell<Option<PyErr>>>,
}

impl Watch {
    fn notify(&self, event: &IterationEvent<'_>) -> PyResult<()> {
        Python::attach(|py| {
            py.check_signals()?;
            let Some(callback) = &self.callback else {
                return Ok(());
            };
            let worst = event.residuals.iter().copied().fold(0.0, f64::max);
            callback.call1(py, (event.iteration, worst)).map(drop)
        })
    }
}

impl Observer for Watch {
    fn iteration(&mut self, event: &IterationEvent<'_>) {
        if self.wants_stop() {
            return;
        }
        if let Err(error) = self.notify(event) {
            self.raised.replace(Some(error));
        }
    }

    fn wants_stop(&self) -> bool {
        self.raised.borrow().is_some()
    }
}

/// Runs `work` with the interpreter released; exceptions raised between iterations come first.
pub fn watched<R: Send>(
    py: Python<'_>,
    callback: Option<Py<PyAny>>,
    work: impl FnOnce(&Workspace) -> vcycle::Result<R> + Send,
) -> PyResult<R> {
    let (result, raised) = py.detach(|| {
        let raised = Rc::new(RefCell::new(None));
        let watch = Watch {
            callback,
            raised: Rc::clone(&raised),
        };
        let result = work(&Workspace::with_log(Log::new().with(watch)));
        (result, raised.take())
    });
    raised.map_or_else(|| result.or_raise(), Err)
}
