//! A thread that does host tasks for a device.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::thread::{self, JoinHandle};

use crate::prelude::*;

/// What a task does. It must not use the device.
pub type Work = dyn Fn() + Send + Sync;

/// Looks at a flag before other threads are let run: a message of the device takes microseconds.
const LOOKS: usize = 2000;

/// Two numbers in memory of the host, on cache lines of their own: which task the stream has come to, and whether it is
/// over. Each is set by one side and back to zero by the other, so that the same recorded work can be queued again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flags {
    first: *mut AtomicU32,
}

// SAFETY: both numbers are atomic.
unsafe impl Send for Flags {}
// SAFETY: both numbers are atomic.
unsafe impl Sync for Flags {}

impl Flags {
    /// Bytes of both.
    pub const BYTES: usize = 2 * Self::APART;
    const APART: usize = 256;

    /// Sets both to zero.
    ///
    /// # Safety
    /// So many [`BYTES`](Self::BYTES), aligned to four, that are there as long as anyone looks at the numbers.
    pub unsafe fn new(room: *mut u8) -> Self {
        let flags = Self { first: room.cast() };
        flags.begun().store(0, Ordering::Relaxed);
        flags.ended().store(0, Ordering::Release);
        flags
    }

    /// The number of the task that is to begin; zero for none.
    pub fn begun(&self) -> &AtomicU32 {
        // SAFETY: memory that is there as long as anyone looks, a condition of `new`.
        unsafe { &*self.first }
    }

    /// One when the task is over.
    pub fn ended(&self) -> &AtomicU32 {
        // SAFETY: as above, within the bytes.
        unsafe { &*self.first.byte_add(Self::APART) }
    }

    /// The memory of both.
    pub fn room(self) -> *mut u8 {
        self.first.cast()
    }
}

/// The thread and what it knows. It sleeps while nothing is expected.
#[derive(Debug)]
pub(crate) struct Proxy {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    flags: Flags,
    /// By their numbers, from one.
    works: Mutex<Vec<Option<Arc<Work>>>>,
    expected: AtomicU64,
    ends: AtomicBool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("host tasks of a device")
    }
}

impl Proxy {
    pub fn start(flags: Flags) -> Arc<Self> {
        let shared = Arc::new(Shared {
            flags,
            works: Mutex::default(),
            expected: AtomicU64::new(0),
            ends: AtomicBool::new(false),
        });
        let own = Arc::clone(&shared);
        let thread = Mutex::new(Some(thread::spawn(move || own.serve())));
        Arc::new(Self { shared, thread })
    }

    /// Ends the thread; the memory of the flags, which nobody looks at any more. None where this is the thread itself.
    pub fn end(&self) -> Option<*mut u8> {
        self.wake_to_end();
        let thread = lock(&self.thread).take()?;
        if thread.thread().id() == thread::current().id() {
            return None;
        }
        // It has caught nothing that it could report.
        let _ = thread.join();
        Some(self.shared.flags.room())
    }

    fn wake_to_end(&self) {
        self.shared.ends.store(true, Ordering::Release);
        self.wake();
    }

    fn wake(&self) {
        if let Some(thread) = lock(&self.thread).as_ref() {
            thread.thread().unpark();
        }
    }

    #[cfg(feature = "gpu")]
    pub fn flags(&self) -> Flags {
        self.shared.flags
    }

    /// Learns a task; returns its number.
    pub fn learn(&self, work: &Arc<Work>) -> u32 {
        let mut works = lock(&self.shared.works);
        let free = works.iter().position(Option::is_none);
        let place = free.unwrap_or(works.len());
        if place == works.len() {
            works.push(None);
        }
        works[place] = Some(Arc::clone(work));
        place as u32 + 1
    }

    /// Forgets a task: where a stream comes to it nevertheless, nothing is done.
    pub fn forget(&self, number: u32) {
        lock(&self.shared.works)[number as usize - 1] = None;
    }

    /// Wakes the thread for so many more host tasks.
    pub fn expect(&self, count: u64) {
        self.shared.expected.fetch_add(count, Ordering::Release);
        self.wake();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.wake_to_end();
    }
}

impl Shared {
    fn serve(&self) {
        let mut served = 0;
        while !self.ends.load(Ordering::Acquire) {
            if served == self.expected.load(Ordering::Acquire) {
                thread::park();
            } else if let Some(number) = self.next() {
                self.run(number);
                self.flags.ended().store(1, Ordering::Release);
                served += 1;
            } else {
                thread::yield_now();
            }
        }
    }

    /// The task that is to begin; none after some looks.
    fn next(&self) -> Option<u32> {
        let begun = self.flags.begun();
        for _ in 0..LOOKS {
            let number = begun.load(Ordering::Acquire);
            if number != 0 {
                begun.store(0, Ordering::Relaxed);
                fence(Ordering::SeqCst);
                return Some(number);
            }
            std::hint::spin_loop();
        }
        None
    }

    fn run(&self, number: u32) {
        let work = lock(&self.works)
            .get(number as usize - 1)
            .cloned()
            .flatten();
        if let Some(work) = work {
            work();
        }
    }
}

/// How the host gets to work between what is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "drivers choose one"))]
pub(crate) enum HostTaskMethod {
    /// The stream signals and waits by numbers in memory of the host.
    Flags,
    /// The thread that fills the queue does it.
    Queue,
}

/// Work of the host that can be queued.
pub struct HostTask {
    #[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "drivers do it"))]
    pub(crate) work: Arc<Work>,
    /// By which number its proxy knows it.
    pub(crate) number: u32,
    /// None where the thread that fills the queue does host tasks.
    pub(crate) proxy: Option<Arc<Proxy>>,
}

impl fmt::Debug for HostTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostTask({})", self.number)
    }
}

#[cfg(feature = "gpu")]
impl HostTask {
    /// Where the stream and the proxy meet, if they do.
    pub(crate) fn flags(&self) -> Option<Flags> {
        self.proxy.as_ref().map(|proxy| proxy.flags())
    }
}

impl Drop for HostTask {
    fn drop(&mut self) {
        if let Some(proxy) = &self.proxy {
            proxy.forget(self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream that comes to host tasks, one after the other, waiting for each.
    fn come_to(flags: Flags, number: u32) {
        flags.begun().store(number, Ordering::Release);
        while flags.ended().load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
        flags.ended().store(0, Ordering::Release);
    }

    fn flags() -> Flags {
        let room = Box::leak(Box::new([0u64; Flags::BYTES / 8]));
        // SAFETY: never given back.
        unsafe { Flags::new(room.as_mut_ptr().cast()) }
    }

    #[test]
    fn errands_run_when_the_stream_comes_to_them_as_often_as_it_does() {
        let flags = flags();
        let proxy = Proxy::start(flags);
        let said = Arc::new(Mutex::new(Vec::new()));
        let task = |word: &'static str| {
            let said = Arc::clone(&said);
            proxy.learn(&(Arc::new(move || lock(&said).push(word)) as Arc<Work>))
        };
        let (ping, pong) = (task("ping"), task("pong"));
        for _ in 0..3 {
            proxy.expect(2);
            come_to(flags, ping);
            come_to(flags, pong);
        }
        assert_eq!(*lock(&said), ["ping", "pong"].repeat(3));
    }

    #[test]
    fn a_number_is_used_again_and_a_forgotten_errand_does_nothing() {
        let flags = flags();
        let proxy = Proxy::start(flags);
        let count = Arc::new(AtomicU32::new(0));
        let own = Arc::clone(&count);
        let work: Arc<Work> = Arc::new(move || {
            own.fetch_add(1, Ordering::Relaxed);
        });
        let number = proxy.learn(&work);
        proxy.forget(number);
        proxy.expect(1);
        come_to(flags, number);
        assert_eq!(count.load(Ordering::Relaxed), 0);
        assert_eq!(proxy.learn(&work), number);
        proxy.expect(1);
        come_to(flags, number);
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }
}
