//! Messages of a rank between what is queued on its device.
//!
//! While an iteration is recorded nothing is read or sent. What a product or a sum over ranks has to send becomes a
//! [`Letter`]: a block of memory of the host, and a host task that sends what the device has written there and writes what
//! comes. An iteration that was recorded with them is replayed like any other. Only these tasks speak to other ranks
//! then, so that no two threads do at a time.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vcycle_gpu::{Address, Device, HostBlock, HostTask, Memory};

use crate::communicator::Communicator;
use crate::error::{Error, Result};
use crate::scalar::Kind;

/// Sends messages of a rank as host tasks of its device.
pub(crate) struct Courier {
    device: Arc<Device>,
    team: Arc<dyn Communicator>,
    state: Arc<State>,
    /// The sums of the wishes of all ranks, two doubles.
    told: Memory,
    /// Sums over ranks, which all that form them share.
    sums: Mutex<HashMap<SumKey, Arc<Letter>>>,
}

/// Type and number of the values, and whether they are norms.
type SumKey = (Kind, usize, bool);

/// What host tasks and the thread that queues them both know.
#[derive(Default)]
struct State {
    /// Whether a message could not be sent: no more are.
    has_failed: AtomicBool,
    failure: Mutex<Option<Error>>,
    /// What this rank wishes, as in `Monitor::wishes`; sums over ranks carry it.
    wishes: [AtomicBool; 2],
}

/// What is sent whenever its place in the stream is reached.
#[derive(Debug)]
pub(crate) struct Letter {
    device: Arc<Device>,
    task: HostTask,
    block: Arc<HostBlock>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Courier {
    pub fn new(device: &Arc<Device>, team: &Arc<dyn Communicator>) -> Result<Self> {
        let told = device.allocate(2 * size_of::<f64>())?;
        device.clear(&told)?;
        Ok(Self {
            device: Arc::clone(device),
            team: Arc::clone(team),
            state: Arc::default(),
            told,
            sums: Mutex::default(),
        })
    }

    /// A letter of so many bytes; `send` gets them, and leaves there what the device is to read.
    pub fn letter(
        &self,
        bytes: usize,
        send: impl Fn(&mut [u8]) -> Result<()> + Send + Sync + 'static,
    ) -> Result<Letter> {
        let block = Arc::new(self.device.host_block(bytes)?);
        let (state, own) = (Arc::clone(&self.state), Arc::clone(&block));
        let work = move || {
            state.run(|| {
                // SAFETY: the device has written what is sent, and waits before it touches the block again.
                send(unsafe { own.bytes() })
            });
        };
        Ok(Letter {
            device: Arc::clone(&self.device),
            task: self.device.host_task(Arc::new(work))?,
            block,
        })
    }

    /// The letter of a sum over ranks, made by the first who asks. `add` gets the bytes, the team, and the wishes of this rank, which it
    /// replaces by those of all.
    pub fn sum_letter(
        &self,
        key: SumKey,
        bytes: usize,
        add: impl Fn(&mut [u8], &dyn Communicator, &mut [f64; 2]) -> Result<()> + Send + Sync + 'static,
    ) -> Result<Arc<Letter>> {
        if let Some(known) = lock(&self.sums).get(&key) {
            return Ok(Arc::clone(known));
        }
        let (team, state) = (Arc::clone(&self.team), Arc::clone(&self.state));
        let send = move |bytes: &mut [u8]| {
            let mut wishes = state.wishes();
            let (told, numbers) = bytes.split_at_mut(size_of_val(&wishes));
            add(numbers, team.as_ref(), &mut wishes)?;
            told.copy_from_slice(crate::scalar::bytes(&wishes));
            Ok(())
        };
        let made = Arc::new(self.letter(2 * size_of::<f64>() + bytes, send)?);
        lock(&self.sums).insert(key, Arc::clone(&made));
        Ok(made)
    }

    /// Where the device keeps the sums of the wishes of all ranks.
    pub fn told(&self) -> Address {
        self.told.address()
    }

    /// Says what this rank wishes from the next sum on.
    pub fn wish(&self, wishes: [bool; 2]) {
        for (place, wish) in self.state.wishes.iter().zip(wishes) {
            place.store(wish, Ordering::Relaxed);
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
    /// Does what sends messages, unless others have failed: the stream goes on in any case, and whoever waits for it is told.
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

    fn wishes(&self) -> [f64; 2] {
        let wish = |wish: &AtomicBool| f64::from(u8::from(wish.load(Ordering::Relaxed)));
        [wish(&self.wishes[0]), wish(&self.wishes[1])]
    }
}

impl Letter {
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
