//! Recorded work.

use crate::counters::{add, recorded};
use crate::device::Device;
use crate::prelude::*;

/// Launches and copies recorded once by [`Device::capture`], queued again as one.
///
/// A graph keeps the memory that its launches and copies were given the addresses of.
#[derive(Debug)]
pub struct Graph {
    device: Arc<Device>,
    handle: Handle,
    /// Kernels in it.
    pub launches: u64,
    /// Host tasks of the host in it.
    pub host_tasks: u64,
    /// Dropped after the graph itself.
    _uses: Kept,
}

/// What a graph uses, by its number.
#[derive(Debug)]
struct Kept {
    device: Arc<Device>,
    number: u64,
}

impl Device {
    /// Records what `work` queues on this thread, without running it.
    ///
    /// # Errors
    /// Those of `work`, and when something cannot be recorded: memory was allocated, or the host
    /// waited for the device.
    pub fn capture<E: From<Error>>(
        self: &Arc<Self>,
        work: impl FnOnce() -> Result<(), E>,
    ) -> Result<Graph, E> {
        let _alone = lock(&self.capturing);
        self.driver().begin_capture()?;
        let uses = Kept {
            device: Arc::clone(self),
            number: lock(&self.graphs).begin(),
        };
        let (worked, recorded) = recorded(work);
        lock(&self.graphs).end();
        let ended = self.driver().end_capture().map(|handle| Graph {
            device: Arc::clone(self),
            handle,
            launches: recorded.launches,
            host_tasks: recorded.host_tasks,
            _uses: uses,
        });
        worked?;
        let graph = ended?;
        if graph.host_tasks > 0 {
            self.driver().make_ready(graph.handle)?;
            self.driver().synchronize()?;
        }
        Ok(graph)
    }

    /// Queues recorded work.
    ///
    /// # Errors
    /// For a graph of another device, and while this thread records.
    pub fn replay(&self, graph: &Graph) -> Result<()> {
        self.check_recording("replaying")?;
        if !std::ptr::eq(&*graph.device, self) {
            let what = "replaying what another device has recorded";
            return Err(Error::unsupported(self.properties(), what));
        }
        add(&self.counters.replays, 1);
        add(&self.counters.replayed, graph.launches as usize);
        if graph.host_tasks > 0 {
            self.announce_host_tasks(graph.host_tasks);
        }
        self.driver().replay(graph.handle)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        self.device.driver().free_graph(self.handle);
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let uses = lock(&self.device.graphs).forget(self.number);
        drop(uses);
    }
}
