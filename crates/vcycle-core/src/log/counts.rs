//! Counters of operations and memory.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Observer;

/// The number of calls and of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The number of calls.
    pub times: usize,
    /// The bytes of all calls.
    pub bytes: usize,
}

impl Count {
    fn add(&mut self, bytes: usize) {
        self.times += 1;
        self.bytes += bytes;
    }
}

/// Counts operations by name, allocations by executor, and copies by the executors they are between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Stages, by name.
    pub operations: BTreeMap<String, Count>,
    /// Buffers made, by the name of their executor.
    pub allocations: BTreeMap<String, Count>,
    /// Copied values, by the names of the source and target executors.
    pub copies: BTreeMap<(String, String), Count>,
}

impl Observer for Counts {
    fn stage_ends(&mut self, name: &str, _elapsed: Duration, bytes: usize) {
        self.operations
            .entry(name.to_owned())
            .or_default()
            .add(bytes);
    }

    fn allocated(&mut self, executor: &str, bytes: usize) {
        let place = executor.to_owned();
        self.allocations.entry(place).or_default().add(bytes);
    }

    fn copied(&mut self, from: &str, to: &str, bytes: usize) {
        let places = (from.to_owned(), to.to_owned());
        self.copies.entry(places).or_default().add(bytes);
    }

    fn watches_memory(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;
    use crate::executor::{Buffer, Executor};
    use crate::log::Log;

    #[test]
    fn memory_is_counted_while_somebody_listens_and_in_the_stage_it_was_taken() {
        let cpu = Executor::cpu();
        let counts = Rc::new(RefCell::new(Counts::default()));
        let before = Buffer::filled(&cpu, 5, 1.0).unwrap();
        let log = Log::new().with(Rc::clone(&counts));
        {
            let _stage = log.stage("set-up", 24);
            let _taken = Buffer::filled(&cpu, 10, 0u32).unwrap();
            before.copy_to(&Executor::reference()).unwrap();
        }
        drop(log);
        let _after = Buffer::filled(&cpu, 7, 1.0).unwrap();
        let counts = counts.borrow();
        let once = |bytes| Count { times: 1, bytes };
        assert_eq!(counts.operations["set-up"], once(24));
        assert_eq!(counts.allocations["cpu"], once(40));
        assert_eq!(counts.allocations["reference"].bytes, 40);
        let places = ("cpu".to_owned(), "reference".to_owned());
        assert_eq!(counts.copies[&places], once(40));
    }
}
