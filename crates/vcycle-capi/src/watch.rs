//! A function of the caller that is called after every iteration.

use std::ffi::c_void;

use vcycle::log::{IterationEvent, Log, Observer};

/// Called with the number of the iteration, the largest relative residual of the columns, and the pointer given to
/// vcycle_set_callback. The solve ends if it does not return 0.
pub type vcycle_callback = Option<
    unsafe extern "C" fn(iteration: i64, relative_residual: f64, context: *mut c_void) -> i32,
>;

/// A function and what it is called with.
#[derive(Clone, Copy)]
pub(crate) struct Callback {
    pub function: unsafe extern "C" fn(i64, f64, *mut c_void) -> i32,
    pub context: *mut c_void,
}

// SAFETY: the library only hands the pointer on; the caller is told that several threads may.
unsafe impl Send for Callback {}
// SAFETY: as above.
unsafe impl Sync for Callback {}

/// Tells the caller's function; asks for the end where it does.
struct Watch {
    callback: Callback,
    stopped: bool,
}

impl Observer for Watch {
    fn iteration(&mut self, event: &IterationEvent<'_>) {
        if self.stopped {
            return;
        }
        let worst = event.residuals.iter().copied().fold(0.0, f64::max);
        let Callback { function, context } = self.callback;
        // SAFETY: the caller said that it may be called with that pointer.
        self.stopped = unsafe { function(event.iteration as i64, worst, context) } != 0;
    }

    fn wants_stop(&self) -> bool {
        self.stopped
    }
}

/// The observers of a solve.
pub(crate) fn log(callback: Callback) -> Log {
    Log::new().with(Watch {
        callback,
        stopped: false,
    })
}
