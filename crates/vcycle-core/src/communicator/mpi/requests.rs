//! Messages in transit, and waiting for them.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::time::{Duration, Instant};

use super::api::{Api, Comm};
use crate::communicator::Span;
use crate::communicator::calls::Call;
use crate::communicator::patience::limit;
use crate::error::Result;

/// The tag of all messages: those between two ranks keep their order.
const TAG: c_int = 21;
/// So many times a rank asks before it lets other threads run.
const ASKED: u32 = 1000;
/// The most that counts of the time between two questions: a program that is stopped for a while does not wait.
const STEP: Duration = Duration::from_secs(1);

/// Who waits, and what for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub rank: usize,
    pub call: Option<Call>,
}

/// Messages in transit. MPI uses their memory, which is borrowed for as long, until they have arrived: where an exchange is left early, by an error or a
/// panic, they are waited for when this is dropped.
#[derive(Debug)]
pub(super) struct Requests<'m> {
    api: &'static Api,
    waiting: Waiting,
    /// The requests as the library stores them, in words that are aligned for both forms.
    stored: Vec<usize>,
    count: usize,
    memory: PhantomData<&'m mut [u8]>,
}

impl<'m> Requests<'m> {
    pub fn new(api: &'static Api, waiting: Waiting) -> Self {
        Self {
            api,
            waiting,
            stored: Vec::new(),
            count: 0,
            memory: PhantomData,
        }
    }

    /// Begins what `start` begins in memory for one more request. MPI allows that requests are moved. What has not begun is not waited for.
    fn begin(&mut self, start: impl FnOnce(&Api, *mut c_void) -> Result<()>) -> Result<()> {
        let place = self.count * self.api.request;
        let words = (place + self.api.request).div_ceil(size_of::<usize>());
        self.stored.resize(words.max(self.stored.len()), 0);
        // SAFETY: the words contain it.
        let request = unsafe { self.stored.as_mut_ptr().byte_add(place).cast() };
        start(self.api, request)?;
        self.count += 1;
        Ok(())
    }

    /// Begins to send.
    ///
    /// # Safety
    /// The span is memory that MPI may read until this is dropped; nobody writes to it.
    pub unsafe fn send(&mut self, comm: Comm, span: Span) -> Result<()> {
        let (count, rank) = (span.bytes as c_int, span.rank as c_int);
        let from = span.address as *const c_void;
        self.begin(|api, request| {
            // SAFETY: the conditions of this function.
            unsafe {
                let functions = &api.functions;
                functions.isend(from, count, api.byte, rank, TAG, comm.0, request)
            }
        })
    }

    /// Begins to receive.
    ///
    /// # Safety
    /// The span is memory that only MPI accesses until this is dropped.
    pub unsafe fn receive(&mut self, comm: Comm, span: Span) -> Result<()> {
        let (count, rank) = (span.bytes as c_int, span.rank as c_int);
        let to = span.address as *mut c_void;
        self.begin(|api, request| {
            // SAFETY: the conditions of this function.
            unsafe {
                let functions = &api.functions;
                functions.irecv(to, count, api.byte, rank, TAG, comm.0, request)
            }
        })
    }

    /// Begins to gather the values of all ranks, as [`Api::all_gather`].
    pub fn all_gather(&mut self, comm: Comm, own: &'m [f64], all: &'m mut [f64]) -> Result<()> {
        let bytes = size_of_val(own) as c_int;
        let (own, all) = (own.as_ptr().cast(), all.as_mut_ptr().cast());
        self.begin(|api, request| {
            let (functions, kind) = (&api.functions, api.byte);
            // SAFETY: `all` is as long as `own` times the number of ranks; both are borrowed until this is dropped.
            unsafe { functions.iallgather(own, bytes, kind, all, bytes, kind, comm.0, request) }
        })
    }

    /// Begins to send one number to every rank, and to receive one from each.
    pub fn all_to_all(
        &mut self,
        comm: Comm,
        sent: &'m [u64],
        received: &'m mut [u64],
    ) -> Result<()> {
        let bytes = size_of::<u64>() as c_int;
        let (sent, received) = (sent.as_ptr().cast(), received.as_mut_ptr().cast());
        self.begin(|api, request| {
            let (functions, kind) = (&api.functions, api.byte);
            // SAFETY: both have a number for every rank, and are borrowed until this is dropped.
            unsafe {
                functions.ialltoall(sent, bytes, kind, received, bytes, kind, comm.0, request)
            }
        })
    }

    /// Waits until all have arrived.
    pub fn wait(mut self) -> Result<()> {
        self.arrive()
    }

    fn arrive(&mut self) -> Result<()> {
        let (count, requests) = (self.count as c_int, self.stored.as_mut_ptr().cast());
        self.count = 0;
        if let Some(limit) = limit() {
            self.ask(Duration::from_secs(limit), count, requests)?;
        }
        let (functions, ignored) = (&self.api.functions, self.api.statuses_ignore);
        // SAFETY: this is the number of requests; those that have arrived are none any more.
        unsafe { functions.waitall(count, requests, ignored) }
    }

    /// Asks again and again whether all have arrived, and ends all ranks after a time.
    fn ask(&self, limit: Duration, count: c_int, requests: *mut c_void) -> Result<()> {
        let (mut last, mut waited) = (Instant::now(), Duration::ZERO);
        for asked in 1u32.. {
            let mut have_arrived = 0;
            let (functions, ignored) = (&self.api.functions, self.api.statuses_ignore);
            // SAFETY: this is the number of requests, and a pointer to a variable.
            unsafe { functions.testall(count, requests, &mut have_arrived, ignored) }?;
            if have_arrived != 0 {
                break;
            }
            if asked.is_multiple_of(ASKED) {
                waited += last.elapsed().min(STEP);
                last = Instant::now();
                self.check(waited, limit);
                std::thread::yield_now();
            }
        }
        Ok(())
    }

    fn check(&self, waited: Duration, limit: Duration) {
        if waited < limit {
            return;
        }
        let Waiting { rank, call } = self.waiting;
        let call = call.map_or("waits for others".to_owned(), |call| call.to_string());
        self.api.give_up(&format!(
            "rank {rank} {call}, and has waited for {} s",
            limit.as_secs()
        ));
    }
}

impl Drop for Requests<'_> {
    fn drop(&mut self) {
        if self.count > 0 {
            // An error is that of what has failed before.
            let _ = self.arrive();
        }
    }
}
