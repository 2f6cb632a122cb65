//! A device: its memory, its programs and its stream.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use crate::cache::{self, Builds};
use crate::counters::{Counters, Counts, add, count_recorded, is_recording, recorded};
use crate::discovery;
use crate::driver::{Driver, Handle};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::kernel::{Argument, Kernel, Shape, Source};
use crate::memory::{Memory, Owner};
use crate::pool::Pool;
use crate::properties::Properties;
use crate::readback::Readback;
use crate::sync::lock;

/// Bytes that travel at a time through pinned memory.
const STAGE: usize = 16 << 20;

/// One GPU, or a processor that plays one.
///
/// Work is queued in order in one stream and runs asynchronously. Any number of threads may use a
/// device at once.
#[derive(Debug)]
pub struct Device {
    driver: Box<dyn Driver>,
    pool: Mutex<Pool>,
    modules: Mutex<HashMap<Source, Program>>,
    kernels: Mutex<HashMap<(Handle, String), Kernel>>,
    staging: Mutex<Option<Staging>>,
    capturing: Mutex<()>,
    counters: Counters,
    builds: Mutex<Builds>,
}

/// A program, once it is there. Programs are compiled at the same time by the threads that ask for them.
type Program = Arc<Mutex<Option<Handle>>>;

/// Two pinned blocks: one is filled while the other travels.
#[derive(Debug)]
struct Staging {
    blocks: [*mut u8; 2],
}

// SAFETY: the blocks are reached through the mutex of the device alone.
unsafe impl Send for Staging {}

impl Device {
    /// The device of a name such as `cuda:0`. Every call returns the same one.
    ///
    /// # Errors
    /// When there is none, or its vendor's library cannot be used; the message says what to do.
    pub fn open(name: &str) -> Result<Arc<Self>> {
        static OPEN: OnceLock<Mutex<HashMap<String, Arc<Device>>>> = OnceLock::new();
        let mut open = lock(OPEN.get_or_init(Mutex::default));
        if let Some(device) = open.get(name) {
            return Ok(Arc::clone(device));
        }
        let device = Arc::new(Self::new(discovery::driver(name)?));
        open.insert(name.to_owned(), Arc::clone(&device));
        Ok(device)
    }

    fn new(driver: Box<dyn Driver>) -> Self {
        Self {
            driver,
            pool: Mutex::default(),
            modules: Mutex::default(),
            kernels: Mutex::default(),
            staging: Mutex::default(),
            capturing: Mutex::default(),
            counters: Counters::default(),
            builds: Mutex::default(),
        }
    }

    /// What the device is.
    pub fn properties(&self) -> &Properties {
        self.driver.properties()
    }

    /// What it was asked to do so far.
    pub fn counts(&self) -> Counts {
        self.counters.read()
    }

    /// Programs it was given so far, and the time that took.
    pub fn builds(&self) -> Builds {
        *lock(&self.builds)
    }

    /// The sources of the programs it was given so far.
    pub fn programs(&self) -> Vec<Source> {
        let modules = lock(&self.modules);
        let there = modules.iter().filter(|(_, module)| lock(module).is_some());
        there.map(|(source, _)| source.clone()).collect()
    }

    /// Fails if so many bytes are not free, before any of them is asked for.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] with what is free.
    pub fn check_room(&self, bytes: usize) -> Result<()> {
        let (free, properties) = (self.free_memory()?, self.properties());
        match bytes <= free {
            true => Ok(()),
            false => Err(Error::OutOfMemory {
                device: properties.name.clone(),
                bytes,
                free,
                total: properties.memory,
            }),
        }
    }

    /// Bytes of memory that are free now, those of the pool among them, within the
    /// [limit](Self::limit_memory).
    ///
    /// # Errors
    /// When the device fails.
    pub fn free_memory(&self) -> Result<usize> {
        let of_driver = self.driver.free_memory()?;
        Ok(lock(&self.pool).free_beside(of_driver))
    }

    /// The `CUstream` or `hipStream_t` that this thread's work goes to, with the device made
    /// current, for libraries of the vendor; none on OpenCL. Ask anew for every piece of work: what
    /// is recorded goes elsewhere.
    ///
    /// # Errors
    /// When the device fails.
    pub fn vendor_stream(&self) -> Result<Option<u64>> {
        self.driver.vendor_stream()
    }

    pub(crate) fn driver(&self) -> &dyn Driver {
        self.driver.as_ref()
    }

    /// Memory of unspecified contents.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when there is not enough; nothing else is affected.
    pub fn allocate(self: &Arc<Self>, bytes: usize) -> Result<Memory> {
        let size = Pool::rounded(bytes);
        if !lock(&self.pool).begin_use(size) {
            return Err(self.over_limit(bytes));
        }
        let kept = lock(&self.pool).take(size);
        let address = match kept.map_or_else(|| self.allocate_new(size), Ok) {
            Ok(address) => address,
            Err(error) => {
                lock(&self.pool).end_use(size);
                return Err(error);
            }
        };
        Ok(Memory {
            device: Arc::clone(self),
            address,
            bytes,
            owner: None,
        })
    }

    /// Memory of this device that somebody else has allocated; it is let go, when all that is
    /// queued here is done, by dropping `owner`.
    ///
    /// # Errors
    /// [`Error::Elsewhere`] when it is not of this device.
    ///
    /// # Safety
    /// There are `bytes` bytes at `address`, and until `owner` is dropped nobody frees them.
    pub unsafe fn adopt(
        self: &Arc<Self>,
        address: u64,
        bytes: usize,
        owner: Owner,
    ) -> Result<Memory> {
        if bytes > 0 {
            self.driver.check_address(address)?;
        }
        Ok(Memory {
            device: Arc::clone(self),
            address,
            bytes,
            owner: Some(owner),
        })
    }

    /// What is queued here from now on waits for what is in another stream now: a `CUstream` or
    /// `hipStream_t`.
    ///
    /// # Errors
    /// When the device fails; on OpenCL.
    pub fn wait_for(&self, stream: u64) -> Result<()> {
        self.driver.order(Some(stream), None)
    }

    /// What is queued in another stream from now on waits for what is queued here now.
    ///
    /// # Errors
    /// As [`wait_for`](Self::wait_for).
    pub fn hold_up(&self, stream: u64) -> Result<()> {
        self.driver.order(None, Some(stream))
    }

    fn allocate_new(&self, size: usize) -> Result<u64> {
        self.check_recording("allocation")?;
        add(&self.counters.allocations, 1);
        match self.driver.allocate(size) {
            Err(Error::OutOfMemory { .. }) => {
                self.release_pool();
                self.driver.allocate(size)
            }
            result => result,
        }
    }

    fn over_limit(&self, bytes: usize) -> Error {
        let Properties { name, memory, .. } = self.properties();
        Error::OutOfMemory {
            device: name.clone(),
            bytes,
            free: 0,
            total: *memory,
        }
    }

    /// Bytes of memory in use, and the most there have been since [`forget_peak`](Self::forget_peak).
    pub fn memory_use(&self) -> (usize, usize) {
        lock(&self.pool).usage()
    }

    /// Starts to look anew for the most memory that is in use at once.
    pub fn forget_peak(&self) {
        lock(&self.pool).forget_most();
    }

    /// Lets no more than this be in use at once: what asks for more is told that there is none.
    pub fn limit_memory(&self, limit: Option<usize>) {
        lock(&self.pool).limit(limit);
    }

    /// Gives memory that nobody uses back to the driver.
    pub fn release_pool(&self) {
        let kept = lock(&self.pool).drain();
        kept.into_iter()
            .for_each(|address| self.driver.free(address));
    }

    pub(crate) fn give_back(&self, address: u64, bytes: usize) {
        let size = Pool::rounded(bytes);
        let mut pool = lock(&self.pool);
        pool.end_use(size);
        pool.give(size, address);
    }

    /// Copies from the host; `from` may change as soon as this returns.
    ///
    /// # Errors
    /// When the device fails.
    ///
    /// # Panics
    /// When the memory is smaller.
    pub fn upload(&self, to: &Memory, from: &[u8]) -> Result<()> {
        assert!(from.len() <= to.bytes, "more bytes than the memory has");
        self.check_recording("copies from the host")?;
        add(&self.counters.uploaded, from.len());
        let mut staging = lock(&self.staging);
        let blocks = self.staging(&mut staging)?;
        let mut events = [None, None];
        for (number, part) in from.chunks(STAGE).enumerate() {
            let turn = number % 2;
            self.finish(events[turn].take())?;
            let to = to.address + (number * STAGE) as u64;
            // SAFETY: the block is pinned, as large as a part, and no copy uses it any more.
            unsafe {
                std::ptr::copy_nonoverlapping(part.as_ptr(), blocks[turn], part.len());
                self.driver.upload(to, blocks[turn], part.len())?;
            }
            events[turn] = Some(self.driver.record()?);
        }
        events.into_iter().try_for_each(|event| self.finish(event))
    }

    /// Copies to the host, waiting for what was queued before.
    ///
    /// # Errors
    /// When the device fails.
    ///
    /// # Panics
    /// When the memory is smaller.
    pub fn download(&self, to: &mut [u8], from: &Memory) -> Result<()> {
        self.download_part(to, from, 0)
    }

    /// Copies what stands from byte `first` on to the host, waiting for what was queued before.
    ///
    /// # Errors
    /// When the device fails.
    ///
    /// # Panics
    /// When the memory is smaller.
    pub fn download_part(&self, to: &mut [u8], from: &Memory, first: usize) -> Result<()> {
        assert!(
            first + to.len() <= from.bytes,
            "more bytes than the memory has"
        );
        self.check_recording("waiting")?;
        add(&self.counters.downloaded, to.len());
        add(&self.counters.synchronizations, 1);
        let mut staging = lock(&self.staging);
        let [block, _] = self.staging(&mut staging)?;
        for (number, part) in to.chunks_mut(STAGE).enumerate() {
            let from = from.address + (first + number * STAGE) as u64;
            // SAFETY: the block is pinned and as large as a part; the copy is done when it is read.
            unsafe {
                self.driver.download(block, from, part.len())?;
                let event = self.driver.record()?;
                self.finish(Some(event))?;
                std::ptr::copy_nonoverlapping(block, part.as_mut_ptr(), part.len());
            }
        }
        Ok(())
    }

    fn staging(&self, staging: &mut Option<Staging>) -> Result<[*mut u8; 2]> {
        if let Some(staging) = staging {
            return Ok(staging.blocks);
        }
        let first = self.driver.allocate_pinned(STAGE)?;
        let second = self.driver.allocate_pinned(STAGE)?;
        let blocks = [first, second];
        *staging = Some(Staging { blocks });
        Ok(blocks)
    }

    fn finish(&self, event: Option<Handle>) -> Result<()> {
        let Some(event) = event else { return Ok(()) };
        let waited = self.driver.wait(event);
        self.driver.free_event(event);
        waited
    }

    /// Queues a copy within the device.
    ///
    /// # Errors
    /// When the device fails.
    ///
    /// # Panics
    /// When one of the two is smaller.
    pub fn copy(&self, to: &Memory, from: &Memory, bytes: usize) -> Result<()> {
        assert!(
            bytes <= to.bytes.min(from.bytes),
            "more bytes than the memory has"
        );
        self.driver.copy(to.address, from.address, bytes)
    }

    /// Queues setting all bytes to zero.
    ///
    /// # Errors
    /// When the device fails.
    pub fn clear(&self, memory: &Memory) -> Result<()> {
        self.driver.clear(memory.address, memory.bytes)
    }

    /// A place for results of up to `bytes` bytes.
    ///
    /// # Errors
    /// When memory is short.
    pub fn readback(self: &Arc<Self>, bytes: usize) -> Result<Readback> {
        Ok(Readback {
            device: Arc::clone(self),
            pointer: self.driver.allocate_pinned(bytes)?,
            bytes,
            event: None,
        })
    }

    /// Queues a copy of the first bytes of `from` to the host, as many as `to` has; the host does
    /// not wait before [`Readback::wait`].
    ///
    /// # Errors
    /// When the device fails.
    ///
    /// # Panics
    /// When the memory is smaller.
    pub fn read_begin(&self, to: &mut Readback, from: &Memory) -> Result<()> {
        assert!(to.bytes <= from.bytes, "more bytes than the memory has");
        to.wait()?;
        add(&self.counters.downloaded, to.bytes);
        // SAFETY: pinned memory of that size, not touched before the event has passed.
        unsafe { self.driver.download(to.pointer, from.address, to.bytes)? };
        to.event = Some(self.driver.record()?);
        Ok(())
    }

    /// A kernel, compiled on first use, or loaded from the disk where it was compiled before.
    ///
    /// # Errors
    /// When it does not compile, with the compiler's log; when there is none of that name.
    pub fn kernel(&self, source: &Source, name: &str) -> Result<Kernel> {
        let module = self.module(source)?;
        let key = (module, name.to_owned());
        let mut kernels = lock(&self.kernels);
        if let Some(kernel) = kernels.get(&key) {
            return Ok(kernel.clone());
        }
        let handle = self.driver.kernel(module, name)?;
        let handle = handle.ok_or_else(|| Error::NoKernel {
            file: source.file.clone(),
            kernel: name.to_owned(),
        })?;
        let kernel = Kernel {
            handle,
            name: name.into(),
        };
        kernels.insert(key, kernel.clone());
        Ok(kernel)
    }

    /// Fails while this thread records: what cannot be replayed must not happen.
    fn check_recording(&self, what: &str) -> Result<()> {
        match is_recording() {
            false => Ok(()),
            true => Err(Error::Unsupported {
                device: self.properties().name.clone(),
                what: format!("{what} while work is recorded"),
            }),
        }
    }

    fn module(&self, source: &Source) -> Result<Handle> {
        let program = Arc::clone(lock(&self.modules).entry(source.clone()).or_default());
        let mut program = lock(&program);
        if let Some(module) = *program {
            return Ok(module);
        }
        let module = cache::load(self.driver.as_ref(), source, &self.builds)?;
        *program = Some(module);
        Ok(module)
    }

    /// Queues a kernel; none where there are no blocks, which CUDA would refuse.
    ///
    /// # Errors
    /// When the device refuses it. What goes wrong while it runs is told by a later call.
    pub fn launch(&self, kernel: &Kernel, shape: Shape, arguments: &[Argument]) -> Result<()> {
        if shape.blocks == 0 {
            return Ok(());
        }
        if !count_recorded() {
            add(&self.counters.launches, 1);
        }
        self.driver.launch(kernel.handle, shape, arguments)
    }

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
        self.driver.begin_capture()?;
        let (worked, launches) = recorded(work);
        let ended = self.driver.end_capture().map(|handle| Graph {
            device: Arc::clone(self),
            handle,
            launches,
        });
        worked?;
        Ok(ended?)
    }

    /// Queues recorded work.
    ///
    /// # Errors
    /// When the device fails.
    pub fn replay(&self, graph: &Graph) -> Result<()> {
        add(&self.counters.replays, 1);
        add(&self.counters.replayed, graph.launches as usize);
        self.driver.replay(graph.handle)
    }

    /// Milliseconds of device time that queued work takes.
    ///
    /// # Errors
    /// Those of `work`, and when the device fails.
    pub fn time<E: From<Error>>(&self, work: impl FnOnce() -> Result<(), E>) -> Result<f64, E> {
        let from = self.driver.record()?;
        let worked = work();
        let to = self.driver.record()?;
        let elapsed = self
            .driver
            .wait(to)
            .and_then(|()| self.driver.elapsed(from, to));
        self.driver.free_event(from);
        self.driver.free_event(to);
        worked?;
        Ok(elapsed?)
    }

    /// Waits until everything queued is done.
    ///
    /// # Errors
    /// When the device fails, or something queued before did.
    pub fn synchronize(&self) -> Result<()> {
        self.check_recording("waiting")?;
        add(&self.counters.synchronizations, 1);
        self.driver.synchronize()
    }

    /// Waits for everything on the device, whoever queued it.
    ///
    /// # Errors
    /// As [`synchronize`](Self::synchronize).
    pub fn synchronize_all(&self) -> Result<()> {
        self.check_recording("waiting")?;
        add(&self.counters.synchronizations, 1);
        // Drivers refuse it while any thread records.
        let _alone = lock(&self.capturing);
        self.driver.synchronize_all()
    }
}
