//! A device: its programs and its stream.
//!
//! What it does with memory, copies, graphs and events is in the files that have these: each adds
//! its methods to [`Device`], which knows none of them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, Weak};

use crate::archive;
use crate::cache::{self, Builds};
use crate::counters::{Counters, Counts, add, count_recorded, is_recording};
use crate::discovery;
use crate::driver::Driver;
use crate::kernel::Requests;
use crate::pool::{Pinned, Pool, Staging};
use crate::precompile::Precompiler;
use crate::prelude::*;
use crate::proxy::Proxy;
use crate::uses::GraphUses;

/// Kernels with the events before and after them, while kernels are timed.
pub(crate) type Profile = Option<Vec<(Arc<str>, [Handle; 2])>>;

/// One GPU, or a CPU OpenCL device.
///
/// Work is queued in order in one stream and runs asynchronously. Any number of threads may use a
/// device at once.
#[derive(Debug)]
pub struct Device {
    driver: Box<dyn Driver>,
    /// Itself, for threads that compile ahead.
    own: Weak<Self>,
    precompiler: Precompiler,
    /// What is asked for, while that is recorded.
    pub(crate) requests: Mutex<Option<Requests>>,
    pub(crate) pool: Mutex<Pool>,
    modules: Mutex<HashMap<Source, Arc<ModuleSlot>>>,
    kernels: Mutex<HashMap<(Handle, String), Kernel>>,
    pub(crate) staging: Mutex<Option<Staging>>,
    /// Blocks of former readbacks: to pin memory takes as long as a short iteration.
    pub(crate) pinned: Mutex<Vec<Pinned>>,
    pub(crate) capturing: Mutex<()>,
    pub(crate) graphs: Mutex<GraphUses>,
    /// Runs host tasks for the stream, once there are any.
    pub(crate) proxy: Mutex<Option<Arc<Proxy>>>,
    pub(crate) counters: Counters,
    builds: Mutex<Builds>,
    pub(crate) profile: Mutex<Profile>,
}

/// A program, once it is there. Programs are compiled at the same time by the threads that ask for them.
#[derive(Debug, Default)]
struct ModuleSlot {
    module: Mutex<Option<Handle>>,
    /// Whether anyone but a precompiling thread has asked for it.
    is_requested: AtomicBool,
}

/// Who asks for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Requester {
    Caller,
    Precompiler,
}

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
        let device = Self::open_again(name)?;
        open.insert(name.to_owned(), Arc::clone(&device));
        Ok(device)
    }

    /// The same with a stream of its own, which neither waits for those of others nor is waited for.
    pub fn open_again(name: &str) -> Result<Arc<Self>> {
        archive::check_named()?;
        let driver = discovery::driver(name)?;
        Ok(Arc::new_cyclic(|own| Self::new(driver, Weak::clone(own))))
    }

    pub(crate) fn new(driver: Box<dyn Driver>, own: Weak<Self>) -> Self {
        Self {
            driver,
            own,
            precompiler: Precompiler::default(),
            requests: Mutex::default(),
            pool: Mutex::default(),
            modules: Mutex::default(),
            kernels: Mutex::default(),
            staging: Mutex::default(),
            pinned: Mutex::default(),
            capturing: Mutex::default(),
            graphs: Mutex::default(),
            proxy: Mutex::default(),
            counters: Counters::default(),
            builds: Mutex::default(),
            profile: Mutex::default(),
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

    /// The sources of the programs whose kernels were asked for so far, in that order.
    pub fn programs(&self) -> Vec<Source> {
        self.precompiler.requested()
    }

    /// The `CUstream` or `hipStream_t` that this thread's work goes to, with the device made
    /// current, for libraries of the vendor; none on OpenCL. Ask anew for every piece of work: what
    /// is recorded goes elsewhere.
    pub fn vendor_stream(&self) -> Result<Option<u64>> {
        self.driver.vendor_stream()
    }

    pub(crate) fn driver(&self) -> &dyn Driver {
        self.driver.as_ref()
    }

    /// What is queued here from now on waits for what is in another stream now: a `CUstream` or
    /// `hipStream_t`.
    ///
    /// # Safety
    /// The stream is one of this device's vendor.
    pub unsafe fn wait_for(&self, stream: u64) -> Result<()> {
        self.check_recording("waiting for another stream")?;
        self.driver.order(Some(stream), None)
    }

    /// What is queued in another stream from now on waits for what is queued here now.
    ///
    /// # Safety
    /// As for [`wait_for`](Self::wait_for).
    pub unsafe fn hold_up(&self, stream: u64) -> Result<()> {
        self.check_recording("waiting for another stream")?;
        self.driver.order(None, Some(stream))
    }

    /// A kernel, compiled on first use, or loaded from the disk where it was compiled before.
    ///
    /// # Errors
    /// When it does not compile, with the compiler's log; when there is none of that name.
    pub fn kernel(&self, source: &Source, name: &str) -> Result<Kernel> {
        let module = self.module(source, Requester::Caller)?;
        self.record_request(|requests| requests.kernels.push((source.clone(), name.to_owned())));
        let kernel = self.kernel_of(module, name)?;
        kernel.ok_or_else(|| Error::NoKernel {
            file: source.file.clone(),
            kernel: name.to_owned(),
        })
    }

    /// Loads a kernel of a program that need not be compiled, before it is asked for.
    pub(crate) fn preload(&self, source: &Source, name: &str) {
        let slot = self.slot(source);
        let mut module = lock(&slot.module);
        if module.is_none() {
            *module = cache::load_kept(self.driver.as_ref(), source, &self.builds);
        }
        if let Some(module) = *module {
            drop(self.kernel_of(module, name));
        }
    }

    /// A kernel of a program that is there; none where it has none of that name.
    fn kernel_of(&self, module: Handle, name: &str) -> Result<Option<Kernel>> {
        let key = (module, name.to_owned());
        if let Some(kernel) = lock(&self.kernels).get(&key) {
            return Ok(Some(kernel.clone()));
        }
        // Other threads go on meanwhile.
        let Some(handle) = self.driver.kernel(module, name)? else {
            return Ok(None);
        };
        let name = name.into();
        let kernel = Kernel { handle, name };
        Ok(Some(
            lock(&self.kernels).entry(key).or_insert(kernel).clone(),
        ))
    }

    /// Says which programs the device is likely to be given: sequences, each in the order in which a solve asked for them.
    /// Once one has to be compiled, all cores compile what follows in those that fit.
    pub fn expect_programs(&self, likely: fn(&Properties) -> Vec<Vec<Source>>) {
        self.precompiler.expect(likely);
    }

    /// Fails while this thread records: what cannot be replayed must not happen.
    pub(crate) fn check_recording(&self, what: &str) -> Result<()> {
        match is_recording() {
            false => Ok(()),
            true => Err(Error::while_recording(self.properties(), what)),
        }
    }

    fn slot(&self, source: &Source) -> Arc<ModuleSlot> {
        Arc::clone(lock(&self.modules).entry(source.clone()).or_default())
    }

    fn module(&self, source: &Source, requester: Requester) -> Result<Handle> {
        let slot = self.slot(source);
        if requester == Requester::Caller && !slot.is_requested.swap(true, Ordering::Relaxed) {
            self.precompiler.note(source);
        }
        let mut module = lock(&slot.module);
        if let Some(module) = *module {
            return Ok(module);
        }
        let start = || self.precompile();
        let made = cache::load(self.driver.as_ref(), source, &self.builds, start)?;
        *module = Some(made);
        self.precompiler.end_before_the_compiler();
        Ok(made)
    }

    /// Lets all cores compile what is likely to follow.
    fn precompile(&self) {
        if let Some(own) = self.own.upgrade() {
            // One that fails does so again when it is asked for, and is reported then.
            let compile = move |program: &Source| drop(own.module(program, Requester::Precompiler));
            self.precompiler.start(self.properties(), compile);
        }
    }

    /// Queues a kernel; none where there are no blocks, which CUDA would refuse.
    ///
    /// # Errors
    /// When the device refuses it. A later call reports what goes wrong while it runs.
    ///
    /// # Safety
    /// The kernel is one of this device and has these arguments. What it reads and writes for them is memory of this device, or
    /// a block of the host that it reaches, which nobody has dropped and nobody else uses.
    pub unsafe fn launch(
        &self,
        kernel: &Kernel,
        shape: Shape,
        arguments: &[Argument],
    ) -> Result<()> {
        if shape.blocks == 0 {
            return Ok(());
        }
        self.note_use(arguments.iter().filter_map(Argument::address));
        let launch = || self.driver.launch(kernel.handle, shape, arguments);
        if count_recorded() {
            return launch();
        }
        add(&self.counters.launches, 1);
        self.profiled(&kernel.name, launch)
    }

    /// Notes addresses that what is queued uses, if it is recorded.
    pub(crate) fn note_use(&self, addresses: impl IntoIterator<Item = Address>) {
        if is_recording() {
            lock(&self.graphs).note(addresses);
        }
    }

    /// Waits until everything queued is done.
    pub fn synchronize(&self) -> Result<()> {
        self.check_recording("waiting")?;
        add(&self.counters.synchronizations, 1);
        self.driver.synchronize()
    }

    /// Waits for everything on the device, work of other libraries included.
    pub fn synchronize_all(&self) -> Result<()> {
        self.check_recording("waiting")?;
        add(&self.counters.synchronizations, 1);
        // Drivers refuse it while any thread records.
        let _alone = lock(&self.capturing);
        self.driver.synchronize_all()
    }
}

impl Drop for Device {
    /// Gives back all that it keeps; the driver gives back what it has made. A failure cannot be reported here.
    fn drop(&mut self) {
        let _ = self.driver.synchronize();
        self.release_pool();
        let staging = lock(&self.staging).take();
        let staging = staging.map(|staging| staging.blocks);
        let proxy = lock(&self.proxy).take();
        let flags = proxy.and_then(|proxy| proxy.end());
        for pointer in staging.into_iter().flatten().chain(flags) {
            self.driver.free_pinned(pointer);
        }
    }
}
