//! What recorded work uses: memory that it is given the addresses of stays as long as it may be replayed.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::counters::is_recording;
use crate::prelude::*;

/// Whatever keeps memory of others alive.
pub type Owner = Box<dyn Any + Send + Sync>;

/// The addresses in recorded work, and the memory there that nobody else has any more.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    addresses: BTreeSet<Address>,
    kept: Vec<Owner>,
}

/// What the graphs of a device use: of those that are there, and of the one that is being recorded.
#[derive(Debug, Default)]
pub(crate) struct GraphUses {
    all: BTreeMap<u64, Uses>,
    begun: u64,
    recorded: Option<u64>,
}

impl GraphUses {
    /// Those of a graph that is about to be recorded, by a number.
    pub fn begin(&mut self) -> u64 {
        self.begun += 1;
        self.all.insert(self.begun, Uses::default());
        self.recorded = Some(self.begun);
        self.begun
    }

    /// To be called when it is recorded.
    pub fn end(&mut self) {
        self.recorded = None;
    }

    /// Those of a graph that is no more. What it has kept may come here when it is dropped.
    #[must_use]
    pub fn forget(&mut self, number: u64) -> Option<Uses> {
        self.all.remove(&number)
    }

    /// Those of the graph that this thread records.
    fn of_this_thread(&mut self) -> Option<&mut Uses> {
        let recorded = self.recorded.filter(|_| is_recording())?;
        self.all.get_mut(&recorded)
    }

    /// Notes addresses, if what they are used by is being recorded.
    pub fn note(&mut self, addresses: impl IntoIterator<Item = Address>) {
        if let Some(uses) = self.of_this_thread() {
            uses.addresses.extend(addresses);
        }
    }

    /// Has graphs that use memory keep it; to be called before it goes.
    pub fn keep<M: Any + Send + Sync>(&mut self, addresses: Range<Address>, memory: &Arc<M>) {
        for uses in self.all.values_mut() {
            if uses.addresses.range(addresses.clone()).next().is_some() {
                uses.kept.push(Box::new(Arc::clone(memory)));
            }
        }
    }

    /// Whether this thread records: then nothing can be waited for, and what it records keeps the memory.
    pub fn keep_while_recording(&mut self, memory: impl FnOnce() -> Owner) -> bool {
        let uses = self.of_this_thread();
        uses.map(|uses| uses.kept.push(memory())).is_some()
    }
}
