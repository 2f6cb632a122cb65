//! Messages of a rank between what is queued on its device.
//!
//! While an iteration is recorded nothing is read or sent. What a product or a sum over ranks has to send becomes a
//! [`MessageBuffer`]: a block of memory of the host, and a callback of the host that sends what the device has written
//! there and writes what comes. An iteration that was recorded with them is replayed like any other. Only the callbacks
//! send messages then, so that no two threads do at a time.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vcycle_gpu::{Address, Device, HostBlock, HostTask, Memory};

use crate::communicator::Communicator;
use crate::error::{Error, Result};
use crate::scalar::Kind;

/// Sends messages of a rank by callbacks from the stream of its device.
pub(crate) struct HostCallbacks {
    device: Arc<Device>,
    team: Arc<dyn Communicator>,
    state: Arc<State>,
    /// The sums of the stop requests of all ranks, two doubles.
    stop_requests: Memory,
    /// Sums over ranks, which all that form them share.
    sums: Mutex<HashMap<SumKey, Arc<MessageBuffer>>>,
}

/// Type and number of the values, and whether they are norms.
type SumKey = (Kind, usize, bool);

/// What callbacks and the thread that queues them both know.
#[derive(Default)]
struct State {
    /// Whether a message could not be sent: no more are.
    has_failed: AtomicBool,
    failure: Mutex<Option<Error>>,
    /// Why this rank asks to stop, if it does; sums over ranks carry it.
    stop_requests: [AtomicBool; 2],
}

/// What is sent whenever its place in the stream is reached.
#[derive(Debug)]
pub(crate) struct MessageBuffer {
    device: Arc<Device>,
    task: HostTask,
    block: Arc<HostBlock>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl HostCallbacks {
    pub fn new(device: &Arc<Device>, team: &Arc<dyn Communicator>) -> Result<Self> {
        let stop_requests = device.allocate(2 * size_of::<f64>())?;
        device.clear(&stop_requests)?;
        Ok(Self {
            device: Arc::clone(device),
            team: Arc::clone(team),
            state: Arc::default(),
            stop_requests,
            sums: Mutex::default(),
        })
    }

    /// A buffer of so many bytes; `send` gets them, and leaves there what the device is to read.
    pub fn buffer(
        &self,
        bytes: usize,
        send: impl Fn(&mut [u8]) -> Result<()> + Send + Sync + 'static,
    ) -> Result<MessageBuffer> {
        let block = Arc::new(self.device.host_block(bytes)?);
        let (state, own) = (Arc::clone(&self.state), Arc::clone(&block));
        let work = move || {
            state.run(|| {
                // SAFETY: the device has written what is sent, and waits before it touches the block again.
                send(unsafe { own.bytes() })
            });
        };
        Ok(MessageBuffer {
            device: Arc::clone(&self.device),
            task: self.device.host_task(Arc::new(work))?,
            block,
        })
    }

    /// The buffer of a sum over ranks, made at the first request. `add` gets the bytes, the team, and the stop requests of this
    /// rank, which it replaces by those of all.
    pub fn sum_buffer(
        &self,
        key: SumKey,
        bytes: usize,
        add: impl Fn(&mut [u8], &dyn Communicator, &mut [f64; 2]) -> Result<()> + Send + Sync + 'static,
    ) -> Result<Arc<MessageBuffer>> {
        if let Some(known) = lock(&self.sums).get(&key) {
            return Ok(Arc::clone(known));
        }
        let (team, state) = (Arc::clone(&self.team), Arc::clone(&self.state));
        let send = move |bytes: &mut [u8]| {
            let mut requests = state.stop_requests();
            let (all, numbers) = bytes.split_at_mut(size_of_val(&requests));
            add(numbers, team.as_ref(), &mut requests)?;
            all.copy_from_slice(crate::scalar::bytes(&requests));
            Ok(())
        };
        let made = Arc::new(self.buffer(2 * size_of::<f64>() + bytes, send)?);
        lock(&self.sums).insert(key, Arc::clone(&made));
        Ok(made)
    }

    /// Where the device keeps the sums of the stop requests of all ranks.
    pub fn stop_requests(&self) -> Address {
        self.stop_requests.address()
    }

    /// Sets the stop requests of this rank, from the next sum on.
    pub fn request_stop(&self, requests: [bool; 2]) {
        for (place, request) in self.state.stop_requests.iter().zip(requests) {
            place.store(request, Ordering::Relaxed);
        }
    }

    /// Fails where a message did.
    pub fn check(&self) -> Result<()> {
        if !self.state.has_failed.load(Ordering::Acquire) {
            return Ok(());
        }
        let again = || Error::Team("a message of this rank has failed before".to_owned());
        Err(lock(&self.state.failure).take().unwrap_or_else(again))
    }
}

impl State {
    /// Does what sends messages, unless others have failed. The stream goes on in any case; [`HostCallbacks::check`] reports the failure.
    fn run(&self, send: impl FnOnce() -> Result<()>) {
        if self.has_failed.load(Ordering::Acquire) {
            return;
        }
        let panicked = |_| Err(Error::Team("a message has panicked".to_owned()));
        let sent = catch_unwind(AssertUnwindSafe(send)).unwrap_or_else(panicked);
        if let Err(error) = sent {
            *lock(&self.failure) = Some(error);
            self.has_failed.store(true, Ordering::Release);
        }
    }

    fn stop_requests(&self) -> [f64; 2] {
        let number = |request: &AtomicBool| f64::from(u8::from(request.load(Ordering::Relaxed)));
        [&self.stop_requests[0], &self.stop_requests[1]].map(number)
    }
}

impl MessageBuffer {
    /// What is written and read on the device's side.
    pub fn block(&self) -> &HostBlock {
        &self.block
    }

    /// Queues the begin of sending.
    pub fn begin(&self) -> Result<()> {
        Ok(self.device.begin_host_task(&self.task)?)
    }

    /// Queues waiting for the end.
    pub fn end(&self) -> Result<()> {
        Ok(self.device.end_host_task(&self.task)?)
    }
}
