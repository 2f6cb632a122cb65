//! What a vendor's run-time library has to offer: one small trait, three implementations.

use std::fmt::Debug;

use crate::prelude::*;
use crate::proxy::{HostTask, HostTaskMethod};

/// One device of one vendor. Work is queued in one stream, in order, and runs asynchronously. Dropped, it gives back all that it
/// has made but memory, which is its user's.
///
/// Any thread may call any method. Between [`begin_capture`](Self::begin_capture) and
/// [`end_capture`](Self::end_capture) what the capturing thread queues is recorded, not run;
/// other threads' work is not affected. It does not call what cannot be recorded: all that waits, allocates or has to do with events
/// and other streams, and [`replay`](Self::replay); devices see to that.
pub(crate) trait Driver: Debug + Send + Sync {
    /// What the device is.
    fn properties(&self) -> &Properties;

    /// The stream, for the vendor's own libraries.
    fn vendor_stream(&self) -> Result<Option<Handle>> {
        Ok(None)
    }

    /// Makes what is queued in `after` from now on wait for what is in `before` now; each is a
    /// stream of the vendor, or our own.
    fn order(&self, _before: Option<Handle>, _after: Option<Handle>) -> Result<()> {
        Err(Error::unsupported(self.properties(), "streams of others"))
    }
    /// Fails unless an address is one of memory on this device.
    fn check_address(&self, address: Address) -> Result<()>;
    /// Waits for all streams of the device, those of others too.
    fn synchronize_all(&self) -> Result<()> {
        self.synchronize()
    }

    /// Bytes of memory that are free now.
    fn free_memory(&self) -> Result<usize>;
    /// New memory, aligned to 256 bytes. `OutOfMemory` where there is not enough.
    fn allocate(&self, bytes: usize) -> Result<Address>;
    /// Gives memory back, once queued work that may use it is done.
    fn free(&self, address: Address);
    /// Host memory that the device copies to and from without staging.
    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8>;
    /// Gives pinned memory back.
    fn free_pinned(&self, pointer: *mut u8);

    /// Whether kernels reach pinned memory by its address.
    fn maps_pinned(&self) -> bool {
        false
    }

    /// Queues a copy from pinned host memory, which must stay as it is until the copy is done.
    ///
    /// # Safety
    /// `from` is pinned memory of this driver of at least `bytes`, `to` device memory likewise.
    unsafe fn upload(&self, to: Address, from: *const u8, bytes: usize) -> Result<()>;
    /// Queues a copy to pinned host memory.
    ///
    /// # Safety
    /// As [`upload`](Self::upload).
    unsafe fn download(&self, to: *mut u8, from: Address, bytes: usize) -> Result<()>;
    /// Queues a copy within the device.
    fn copy(&self, to: Address, from: Address, bytes: usize) -> Result<()>;
    /// Queues setting memory to zero.
    fn clear(&self, address: Address, bytes: usize) -> Result<()>;

    /// Compiles to the device's own code, to be kept on disk.
    fn compile(&self, source: &Source) -> Result<Vec<u8>>;
    /// Loads what [`compile`](Self::compile) made; the module is there as long as the driver.
    fn load(&self, code: &[u8], source: &Source) -> Result<Handle>;
    /// A kernel of a module; `None` where there is none of that name.
    fn kernel(&self, module: Handle, name: &str) -> Result<Option<Handle>>;
    /// Queues a kernel.
    fn launch(&self, kernel: Handle, shape: Shape, arguments: &[Argument]) -> Result<()>;

    /// Starts recording what this thread queues. One capture at a time: the caller sees to it.
    fn begin_capture(&self) -> Result<()>;
    /// Ends recording; nothing is left recording where that fails.
    fn end_capture(&self) -> Result<Handle>;
    /// Queues all that was recorded.
    fn replay(&self, graph: Handle) -> Result<()>;
    /// Forgets a graph.
    fn free_graph(&self, graph: Handle);

    /// How the host does host tasks between what is queued; none where it cannot.
    fn host_task_method(&self) -> Option<HostTaskMethod> {
        None
    }
    /// Queues the begin of a task; where there are [flags](HostTaskMethod::Flags), by its number in the first of them.
    fn begin_host_task(&self, task: &HostTask) -> Result<()> {
        Err(self.lacks_host_tasks(task))
    }
    /// Queues waiting for its end; where there are flags, until the second is one, which is then set to zero.
    fn end_host_task(&self, task: &HostTask) -> Result<()> {
        Err(self.lacks_host_tasks(task))
    }
    /// Brings a graph with host tasks to the device, so that nothing has to be waited for when it is replayed.
    fn make_ready(&self, _graph: Handle) -> Result<()> {
        Ok(())
    }
    /// The error of a driver without host tasks.
    fn lacks_host_tasks(&self, task: &HostTask) -> Error {
        Error::unsupported(self.properties(), format!("{task:?}"))
    }

    /// Marks this place of the stream.
    fn record(&self) -> Result<Handle>;
    /// Waits until the stream has come to an event.
    fn wait(&self, event: Handle) -> Result<()>;
    /// Milliseconds of device time between two events that have passed.
    fn elapsed(&self, from: Handle, to: Handle) -> Result<f64>;
    /// Forgets an event.
    fn free_event(&self, event: Handle);
    /// Waits until everything queued is done.
    fn synchronize(&self) -> Result<()>;
}
