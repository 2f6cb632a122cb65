//! Programs compiled ahead, by all cores.
//!
//! A device that has never been used has to compile some hundred programs for its first solve, one after the other as they are
//! asked for. Once the first one had to be compiled, threads compile those that are likely to follow: who asks for one
//! meanwhile waits for it, or finds it there.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once};
use std::thread::{self, JoinHandle};

use crate::kernel::Source;
use crate::properties::Properties;
use crate::sync::lock;

/// The programs that a device is likely to be given.
type Likely = fn(&Properties) -> Vec<Source>;

/// What a device expects.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    likely: Mutex<Option<Likely>>,
    started: AtomicBool,
}

/// Threads that compile, and whether they are to stop.
static THREADS: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());
static STOP: AtomicBool = AtomicBool::new(false);

impl Ahead {
    /// Notes the programs, to be asked for when they are needed.
    pub fn expect(&self, likely: Likely) {
        *lock(&self.likely) = Some(likely);
    }

    /// Begins, once: `compile` is called for each program.
    pub fn start<F>(&self, properties: &Properties, compile: F)
    where
        F: Fn(&Source) + Clone + Send + 'static,
    {
        let Some(likely) = *lock(&self.likely) else {
            return;
        };
        if self.started.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut programs = likely(properties);
        if programs.is_empty() {
            return;
        }
        programs.reverse();
        let programs = Arc::new(Mutex::new(programs));
        stop_at_exit();
        // One core is for who asked.
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let mut threads = lock(&THREADS);
        for _ in 1..cores {
            let (programs, compile) = (Arc::clone(&programs), compile.clone());
            threads.push(thread::spawn(move || one_by_one(&programs, compile)));
        }
    }
}

fn one_by_one(programs: &Mutex<Vec<Source>>, compile: impl Fn(&Source)) {
    while !STOP.load(Ordering::Relaxed) {
        let Some(program) = lock(programs).pop() else {
            return;
        };
        compile(&program);
    }
}

/// Compilers do not survive the end of the process while they work: it waits for what they are at.
fn stop_at_exit() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // SAFETY: a function without arguments, to be called once at the end.
        let _ = unsafe { atexit(stop) };
    });
}

unsafe extern "C" {
    /// The C library's: calls a function when the process ends.
    fn atexit(function: extern "C" fn()) -> i32;
}

extern "C" fn stop() {
    STOP.store(true, Ordering::Relaxed);
    for thread in lock(&THREADS).drain(..) {
        let _ = thread.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two(_: &Properties) -> Vec<Source> {
        let source = |file: &str| Source {
            file: file.into(),
            text: String::new(),
            defines: Vec::new(),
        };
        vec![source("one.c"), source("two.c")]
    }

    #[test]
    fn each_program_is_compiled_once() {
        let properties = Properties {
            name: "cuda:0".into(),
            model: "model".into(),
            driver: "1".into(),
            architecture: "sm_90".into(),
            memory: 0,
            compute_units: 1,
            local_memory: 0,
            max_block: 1,
            sub_groups: vec![32],
            fp64: true,
            fp16: true,
            is_cpu: false,
        };
        let ahead = Ahead::default();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let begin = |ahead: &Ahead| {
            let seen = Arc::clone(&seen);
            ahead.start(&properties, move |program: &Source| {
                lock(&seen).push(program.file.clone());
            });
        };
        begin(&ahead);
        ahead.expect(two);
        begin(&ahead);
        begin(&ahead);
        for thread in lock(&THREADS).drain(..) {
            thread.join().unwrap();
        }
        let mut seen = lock(&seen).clone();
        seen.sort();
        // A machine of one core compiles nothing ahead.
        assert!(seen == ["one.c", "two.c"] || seen.is_empty(), "{seen:?}");
    }
}
