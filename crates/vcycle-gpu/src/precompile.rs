//! Programs compiled ahead, by all cores.
//!
//! A device that has never been used has to compile some hundred programs for its first solve, one after the other as they are
//! asked for. Once one has to be compiled, threads compile those that are likely to follow: a thread that asks for one meanwhile waits
//! for it, or finds it there.
//!
//! What is likely is known from solves of other problems: each is a sequence of programs. Those that have most of what was
//! asked for so far are followed.

use std::collections::HashMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::prelude::*;

/// Sequences of programs, each in the order in which a solve asked for them.
type Likely = fn(&Properties) -> Vec<Vec<Source>>;

/// Threads that have nothing to do look so often whether the process ends.
const LOOK: Duration = Duration::from_millis(20);

/// Bytes of a thread's stack: as many as compilers find in the main thread.
const STACK: usize = 8 << 20;

/// What a device was asked for, and what it expects.
#[derive(Debug, Default)]
pub(crate) struct Precompiler {
    likely: Mutex<Option<Likely>>,
    started: AtomicBool,
    shared: Arc<Shared>,
}

/// What its threads know.
#[derive(Debug, Default)]
struct Shared {
    plan: Mutex<Plan>,
    requested: Condvar,
}

/// Threads that compile, and whether they are to stop.
static THREADS: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());
static STOP: AtomicBool = AtomicBool::new(false);

impl Precompiler {
    /// Notes the sequences, to be asked for when they are needed.
    pub fn expect(&self, likely: Likely) {
        *lock(&self.likely) = Some(likely);
    }

    /// Notes that a program was asked for the first time.
    pub fn note(&self, program: &Source) {
        lock(&self.shared.plan).note(program);
        self.shared.requested.notify_all();
    }

    /// The programs that were asked for, in order.
    pub fn requested(&self) -> Vec<Source> {
        lock(&self.shared.plan).requested.clone()
    }

    /// To be called when a program has been compiled: threads are to end before the compiler does, parts of which register
    /// their end when they are first used.
    pub fn end_before_the_compiler(&self) {
        if self.started.load(Ordering::Relaxed) {
            finish_at_exit();
        }
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
        let sequences = likely(properties);
        if sequences.is_empty() {
            return;
        }
        lock(&self.shared.plan).follow(sequences);
        // One core is for the thread that asked.
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let mut threads = lock(&THREADS);
        for _ in 1..cores {
            let (shared, compile) = (Arc::clone(&self.shared), compile.clone());
            let thread = thread::Builder::new().stack_size(STACK);
            // Where there is no room for a thread, fewer compile.
            threads.extend(thread.spawn(move || shared.one_by_one(compile)));
        }
    }
}

impl Shared {
    fn one_by_one(&self, compile: impl Fn(&Source)) {
        while !STOP.load(Ordering::Relaxed) {
            let mut plan = lock(&self.plan);
            if plan.is_done() {
                return;
            }
            let Some(program) = plan.next() else {
                drop(self.requested.wait_timeout(plan, LOOK));
                continue;
            };
            drop(plan);
            compile(&program);
        }
    }
}

/// Which programs come next.
#[derive(Debug, Default)]
struct Plan {
    /// In order.
    requested: Vec<Source>,
    /// Each program of the sequences once, and whether it is being compiled or has been.
    programs: Vec<(Source, bool)>,
    places: HashMap<Source, usize>,
    sequences: Vec<Sequence>,
}

/// Programs in the order in which a solve asked for them.
#[derive(Debug)]
struct Sequence {
    programs: Vec<usize>,
    /// How many were asked for that are not among them.
    unexpected: usize,
}

impl Plan {
    /// Takes sequences up; they are ranked by what was asked for before.
    fn follow(&mut self, sequences: Vec<Vec<Source>>) {
        for sequence in sequences {
            let programs = sequence.into_iter().map(|program| self.place(program));
            let programs = programs.collect();
            self.sequences.push(Sequence {
                programs,
                unexpected: 0,
            });
        }
        for program in self.requested.clone() {
            self.take(&program);
        }
    }

    fn place(&mut self, program: Source) -> usize {
        let next = self.programs.len();
        *self.places.entry(program).or_insert_with_key(|program| {
            self.programs.push((program.clone(), false));
            next
        })
    }

    fn note(&mut self, program: &Source) {
        self.requested.push(program.clone());
        self.take(program);
    }

    /// The thread that asks for a program compiles it; sequences that do not have it fit less.
    fn take(&mut self, program: &Source) {
        let place = self.places.get(program).copied();
        if let Some(place) = place {
            self.programs[place].1 = true;
        }
        for sequence in &mut self.sequences {
            let is_known = place.is_some_and(|place| sequence.programs.contains(&place));
            sequence.unexpected += usize::from(!is_known);
        }
    }

    /// The next program of the sequences that fit best: the one that comes earliest in one of them.
    fn next(&mut self) -> Option<Source> {
        let fewest = self.sequences.iter().map(|it| it.unexpected).min()?;
        let best = self.sequences.iter().filter(|it| it.unexpected == fewest);
        let open = |it: &Sequence| {
            let mut places = it.programs.iter().copied().enumerate();
            places.find(|(_, place)| !self.programs[*place].1)
        };
        let (_, place) = best.filter_map(open).min()?;
        let (program, is_taken) = &mut self.programs[place];
        *is_taken = true;
        Some(program.clone())
    }

    fn is_done(&self) -> bool {
        self.programs.iter().all(|(_, is_taken)| *is_taken)
    }
}

/// Ends the threads that compile ahead, once they are done with what they are at; programs are compiled one by one from then on. To be called
/// before a program ends that does not live on: a compiler that works meanwhile may crash.
pub fn finish() {
    STOP.store(true, Ordering::Relaxed);
    for thread in lock(&THREADS).drain(..) {
        let _ = thread.join();
    }
}

/// For programs that do not call [`finish`]: what is registered last is called first when a process ends.
fn finish_at_exit() {
    // SAFETY: a function without arguments.
    let _ = unsafe { atexit(finish_now) };
}

unsafe extern "C" {
    /// The C library's: calls a function when the process ends.
    fn atexit(function: extern "C" fn()) -> i32;
}

extern "C" fn finish_now() {
    finish();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(file: &str) -> Source {
        Source {
            file: file.into(),
            text: "".into(),
            defines: Vec::new(),
        }
    }

    fn sequence(files: &str) -> Vec<Source> {
        files.split(' ').map(source).collect()
    }

    fn files(mut plan: Plan) -> String {
        let next = std::iter::from_fn(|| plan.next().map(|it| it.file));
        next.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn sequences_that_fit_are_followed() {
        let plan = |asked: &str| {
            let mut plan = Plan::default();
            plan.note(&source("a"));
            plan.follow(vec![sequence("a b c d"), sequence("a x b y")]);
            let asked = asked.split(' ').filter(|it| !it.is_empty());
            asked.for_each(|it| plan.note(&source(it)));
            files(plan)
        };
        // Nothing is known yet: both, side by side.
        assert_eq!(plan(""), "b x c d y");
        assert_eq!(plan("x"), "b y");
        assert_eq!(plan("c"), "b d");
        // A program of no sequence changes nothing.
        assert_eq!(plan("z"), "b x c d y");
    }

    fn two(_: &Properties) -> Vec<Vec<Source>> {
        vec![sequence("one.c two.c")]
    }

    #[test]
    fn each_program_is_compiled_once() {
        let properties = Properties::default();
        let precompiler = Precompiler::default();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let begin = |precompiler: &Precompiler| {
            let seen = Arc::clone(&seen);
            precompiler.start(&properties, move |program: &Source| {
                lock(&seen).push(program.file.clone());
            });
        };
        begin(&precompiler);
        precompiler.expect(two);
        begin(&precompiler);
        begin(&precompiler);
        for thread in lock(&THREADS).drain(..) {
            thread.join().unwrap();
        }
        let mut seen = lock(&seen).clone();
        seen.sort();
        // A machine of one core compiles nothing ahead.
        assert!(seen == ["one.c", "two.c"] || seen.is_empty(), "{seen:?}");
    }
}
