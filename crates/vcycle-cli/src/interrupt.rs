//! Signals: Ctrl-C once ends the iterations, and the best iterate is written; twice it ends the program.

use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use vcycle::log::{IterationEvent, Observer};

use crate::prelude::*;

/// The exit status of a program that SIGINT has ended, as shells number it.
const INTERRUPTED: i32 = 130;

/// Ends the iterations after a signal. Before they begin there is no iterate to keep, and the signal ends the program.
#[derive(Default)]
pub struct Interrupt {
    wanted: Arc<AtomicBool>,
    is_heeded: bool,
}

impl Interrupt {
    fn heed(&mut self) {
        self.is_heeded = true;
        for signal in [SIGINT, SIGTERM] {
            // They run in this order: at the first signal the flag is not set yet, at the second the program ends. Where a
            // handler cannot be had, every signal ends it.
            let _ =
                flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&self.wanted))
                    .and_then(|_| flag::register(signal, Arc::clone(&self.wanted)));
        }
    }
}

impl Observer for Interrupt {
    fn iteration(&mut self, _event: &IterationEvent<'_>) {
        if !self.is_heeded {
            self.heed();
        }
    }

    fn wants_stop(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    fn watches_stages(&self) -> bool {
        false
    }
}

/// Lets a write beyond the largest file allowed fail. The signal would end the program in the middle of a file.
#[cfg(unix)]
pub fn survive_large_files() {
    // Where no handler can be had, the signal ends the program as it did.
    let _ = flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

#[cfg(not(unix))]
pub fn survive_large_files() {}
