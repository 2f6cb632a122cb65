//! Ranks that are processes under MPI.
//!
//! The library is loaded when the program runs: Open MPI, or MPICH and libraries with its interface (Intel MPI,
//! MVAPICH, Cray MPICH). `VCYCLE_MPI` names the file if it is not found.

mod api;
mod library;
mod requests;

use std::sync::{Arc, OnceLock};

use super::calls::{Call, are_compared};
use super::patience::{Mutex, limit, lock};
use super::{Communicator, Counters, Meanwhile, Messages, Span, check_recording, stages};
use crate::error::{Error, Result};
use api::{Api, Comm};
use requests::{Requests, Waiting};

/// Messages are split into pieces of this many bytes: MPI counts in 32 bits.
const PIECE: usize = 1 << 30;

/// From this many ranks on sums are formed in two stages.
const MANY: usize = 512;

/// Variables that the launchers of MPI set in every process.
const LAUNCHED: [&str; 4] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK"];

/// All processes, once MPI has started.
static WORLD: OnceLock<Arc<dyn Communicator>> = OnceLock::new();

/// Whether this process was started by a launcher of MPI.
pub fn is_launched() -> bool {
    LAUNCHED.iter().any(|name| std::env::var_os(name).is_some())
}

/// The name of the library that was found, or the reason why none can be used. MPI is not started.
///
/// # Errors
/// When there is no library, or a function is missing.
pub fn version() -> Result<String> {
    api()?.version()
}

/// All processes that were started together. MPI is started by the first call, and [`finish`] ends it.
///
/// # Errors
/// When there is no library of MPI, or it does not start.
pub fn world() -> Result<Arc<dyn Communicator>> {
    if let Some(world) = WORLD.get() {
        return Ok(Arc::clone(world));
    }
    let api = api()?;
    api.start()?;
    let world = Team::of(OwnComm {
        api,
        comm: api.world(),
        is_ours: false,
    })?;
    Ok(Arc::clone(WORLD.get_or_init(|| world)))
}

/// The processes of a communicator that another program has made, by its Fortran handle (`MPI_Comm_c2f`). A
/// duplicate is used, so that messages of the other program are not mistaken for ours. It is made once, and kept until the other program frees
/// its communicator and nothing uses the duplicate any more. All of them call it together, after MPI was started.
///
/// # Errors
/// When there is no library of MPI, or the number is no communicator.
pub fn of_fortran(number: i32) -> Result<Arc<dyn Communicator>> {
    let api = api()?;
    let given = api.of_fortran(number)?;
    if let Some(known) = api.kept(given)? {
        return Ok(known);
    }
    let made = Team::of(OwnComm::split(api, given, 0, api.rank(given)?)?)?;
    api.keep(given, Arc::clone(&made))?;
    Ok(made)
}

/// The number of this process, once [`world`] has started MPI.
pub fn rank() -> Option<usize> {
    let world = WORLD.get()?;
    (world.size() > 1).then(|| world.rank())
}

/// Ends MPI if [`world`] has started it; all ranks have to do so at the end of the program.
pub fn finish() {
    if let (Some(_), Ok(api)) = (WORLD.get(), api()) {
        api.finish();
    }
}

/// Ends all ranks at once, with a status, if [`world`] has started MPI.
pub fn abort(status: u8) {
    if let (Some(_), Ok(api)) = (WORLD.get(), api()) {
        api.abort(status);
    }
}

/// A message in pieces that MPI can count.
fn pieces(span: &Span) -> impl Iterator<Item = Span> + use<> {
    let span = *span;
    (0..span.bytes).step_by(PIECE).map(move |first| Span {
        address: span.address + first as u64,
        bytes: PIECE.min(span.bytes - first),
        ..span
    })
}

fn api() -> Result<&'static Api> {
    static API: OnceLock<std::result::Result<Api, String>> = OnceLock::new();
    let api = API.get_or_init(|| Api::load().map_err(|error| error.to_string()));
    api.as_ref().map_err(|reason| Error::Team(reason.clone()))
}

/// A communicator that is freed with the team that uses it, if it was made for that.
#[derive(Debug)]
struct OwnComm {
    api: &'static Api,
    comm: Comm,
    is_ours: bool,
}

impl OwnComm {
    fn split(api: &'static Api, of: Comm, colour: usize, rank: usize) -> Result<Self> {
        Ok(Self {
            api,
            comm: api.split(of, colour, rank)?,
            is_ours: true,
        })
    }
}

impl Drop for OwnComm {
    fn drop(&mut self) {
        if self.is_ours {
            self.api.free(self.comm);
        }
    }
}

/// One process of a team.
#[derive(Debug)]
struct Team {
    api: &'static Api,
    comm: Comm,
    _own: OwnComm,
    rank: usize,
    size: usize,
    counters: Counters,
    /// The contributions of all ranks to a sum.
    brought: Mutex<Vec<f64>>,
    /// What this rank has called last.
    call: Mutex<Option<Call>>,
    /// Parts of a large team, over which sums are formed one after the other.
    stages: Option<[Arc<dyn Communicator>; 2]>,
}

impl Team {
    fn of(own: OwnComm) -> Result<Arc<dyn Communicator>> {
        let (api, comm) = (own.api, own.comm);
        let mut team = Self {
            api,
            _own: own,
            rank: api.rank(comm)?,
            size: api.size(comm)?,
            comm,
            counters: Counters::default(),
            brought: Mutex::default(),
            call: Mutex::default(),
            stages: None,
        };
        team.stages = stages(&team, MANY)?;
        Ok(Arc::new(team))
    }

    /// Messages of what this rank has called last.
    fn requests<'m>(&self) -> Requests<'m> {
        let waiting = Waiting {
            rank: self.rank,
            call: *lock(&self.call),
        };
        Requests::new(self.api, waiting)
    }

    /// A buffer for `numbers` numbers of every rank, kept from sum to sum.
    fn gather_buffer(&self, numbers: usize) -> Vec<f64> {
        let mut brought = std::mem::take(&mut *lock(&self.brought));
        brought.resize(numbers * self.size, 0.0);
        brought
    }

    /// Adds the contributions of all ranks, in their order.
    fn add_up(&self, brought: Vec<f64>, values: &mut [f64]) {
        values.fill(0.0);
        for one in brought.chunks_exact(values.len().max(1)) {
            values
                .iter_mut()
                .zip(one)
                .for_each(|(sum, value)| *sum += value);
        }
        *lock(&self.brought) = brought;
    }
}

impl Communicator for Team {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn begins(&self, call: Call) -> bool {
        *lock(&self.call) = Some(call);
        are_compared(self.size)
    }

    fn give_up(&self, reason: String) -> Error {
        self.api.give_up(&reason);
        Error::Team(reason)
    }

    fn add(&self, values: &mut [f64], meanwhile: Option<Meanwhile<'_>>) -> Result<()> {
        check_recording()?;
        if self.size == 1 {
            return meanwhile.map_or(Ok(()), |work| work());
        }
        if let Some([first, second]) = &self.stages {
            match meanwhile {
                Some(work) => first.sum_while(values, work)?,
                None => self.counters.waits(|| first.sum(values))?,
            }
            return self.counters.waits(|| second.sum(values));
        }
        let mut brought = self.gather_buffer(values.len());
        if meanwhile.is_none() && limit().is_none() {
            let gather = || self.api.all_gather(self.comm, values, &mut brought);
            self.counters.waits(gather)?;
            self.add_up(brought, values);
            return Ok(());
        }
        let mut request = self.requests();
        request.all_gather(self.comm, values, &mut brought)?;
        let done = meanwhile.map_or(Ok(()), |work| work());
        self.counters.waits(|| request.wait())?;
        self.add_up(brought, values);
        done
    }

    fn serves_threads(&self) -> bool {
        self.api.serves_threads()
    }

    fn check_driver(&self, driver: &str) -> Result<()> {
        self.api.check_driver(driver)
    }

    unsafe fn transfer(
        &self,
        sent: &[Span],
        received: &[Span],
        meanwhile: Meanwhile<'_>,
    ) -> Result<()> {
        check_recording()?;
        let mut requests = self.requests();
        for piece in received.iter().flat_map(pieces) {
            // SAFETY: memory that nobody else accesses before this function returns, one of its conditions.
            unsafe { requests.receive(self.comm, piece) }?;
        }
        for piece in sent.iter().flat_map(pieces) {
            // SAFETY: memory that nobody writes to before this function returns, one of its conditions.
            unsafe { requests.send(self.comm, piece) }?;
        }
        let done = meanwhile();
        self.counters.waits(|| requests.wait())?;
        done
    }

    fn swap(&self, bytes: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        check_recording()?;
        let lengths: Vec<u64> = bytes.iter().map(|message| message.len() as u64).collect();
        let mut expected = vec![0; self.size];
        let mut request = self.requests();
        request.all_to_all(self.comm, &lengths, &mut expected)?;
        self.counters.waits(|| request.wait())?;
        let buffer = |&length: &u64| vec![0; length as usize];
        let mut all: Vec<Vec<u8>> = expected.iter().map(buffer).collect();
        all[self.rank].clone_from(&bytes[self.rank]);
        let not_own = |rank: &usize, length: usize| *rank != self.rank && length > 0;
        let sent = bytes.iter().map(Vec::as_slice).enumerate();
        let received = all.iter_mut().map(Vec::as_mut_slice).enumerate();
        let mut messages = Messages {
            sent: sent.filter(|(rank, m)| not_own(rank, m.len())).collect(),
            received: received
                .filter(|(rank, m)| not_own(rank, m.len()))
                .collect(),
        };
        let (sent, received) = messages.spans();
        // SAFETY: what is sent and received is here until it returns.
        unsafe { self.transfer(&sent, &received, &mut || Ok(())) }?;
        Ok(all)
    }

    fn part(&self, colour: usize) -> Result<Arc<dyn Communicator>> {
        // MPI waits for ranks that do not come without a limit.
        self.add(&mut [0.0], None)?;
        let part = OwnComm::split(self.api, self.comm, colour, self.rank)?;
        Self::of(part)
    }
}

#[cfg(test)]
mod tests {
    use crate::communicator::patience::MutexGuard;

    use super::*;

    /// MPICH has about 2,000 communicators, Open MPI 65,000.
    const MANY_SETUPS: usize = 3000;

    /// One process of its own, which one test uses at a time; none where there is no library of MPI.
    fn alone() -> Option<(&'static Api, MutexGuard<'static, ()>)> {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let one = lock(&ONE_AT_A_TIME);
        match world() {
            Ok(_) => Some((api().ok()?, one)),
            Err(_) => {
                vcycle_gpu::testing::skip("mpi");
                None
            }
        }
    }

    #[test]
    fn communicators_are_shared_by_set_ups_and_freed_with_their_teams() {
        let Some((api, _one)) = alone() else { return };
        // The number of all processes for Fortran: 0 in Open MPI, that of C in MPICH.
        let number = match api.request == size_of::<i32>() {
            true => api.world().0 as i32,
            false => 0,
        };
        let first = of_fortran(number).unwrap();
        for _ in 0..MANY_SETUPS {
            let again = of_fortran(number).unwrap();
            assert!(Arc::ptr_eq(&first, &again));
            assert_eq!(again.split(0).unwrap().size(), 1);
        }
    }

    #[test]
    fn messages_arrive_before_their_memory_is_used_again() {
        let Some(_one) = alone() else { return };
        let world = world().unwrap();
        for _ in 0..100 {
            let (sent, mut received) = (vec![7u8; 100_000], vec![0u8; 100_000]);
            let mut messages = Messages {
                sent: vec![(0, &sent[..])],
                received: vec![(0, &mut received[..])],
            };
            let left = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                world.exchange(&mut messages, &mut || panic!("in the midst of an exchange"))
            }));
            assert!(left.is_err());
            drop(messages);
            assert_eq!(received, sent);
        }
    }
}
