//! Ranks that are processes under MPI.
//!
//! The library is loaded when the program runs: Open MPI, or MPICH and libraries with its interface (Intel MPI,
//! MVAPICH, Cray MPICH). `VCYCLE_MPI` names the file if it is not found.

mod api;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::calls::{Call, are_compared};
use super::{Communicator, Counters, Meanwhile, Messages, Span, check_recording, stages};
use crate::error::{Error, Result};
use api::{Api, Comm, Requests};

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
    let world = Team::of(api, api.world())?;
    Ok(Arc::clone(WORLD.get_or_init(|| world)))
}

/// The processes of a communicator that another program has made, by its Fortran handle (`MPI_Comm_c2f`). A
/// duplicate is used, so that messages of the other program are not mistaken for ours. All of them call it together, after MPI
/// was started.
///
/// # Errors
/// When there is no library of MPI, or the number is no communicator.
pub fn of_fortran(number: i32) -> Result<Arc<dyn Communicator>> {
    let api = api()?;
    let given = api.of_fortran(number)?;
    Team::of(api, api.split(given, 0, api.rank(given)?)?)
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

/// One process of a team.
#[derive(Debug)]
struct Team {
    api: &'static Api,
    comm: Comm,
    rank: usize,
    size: usize,
    counters: Counters,
    /// The contributions of all ranks to a sum.
    brought: Mutex<Vec<f64>>,
    requests: Mutex<Requests>,
    /// Parts of a large team, over which sums are formed one after the other.
    stages: Option<[Arc<dyn Communicator>; 2]>,
}

impl Team {
    fn of(api: &'static Api, comm: Comm) -> Result<Arc<dyn Communicator>> {
        let mut team = Self {
            api,
            rank: api.rank(comm)?,
            size: api.size(comm)?,
            comm,
            counters: Counters::default(),
            brought: Mutex::default(),
            requests: Mutex::new(Requests::new(api)),
            stages: None,
        };
        team.stages = stages(&team, MANY)?;
        Ok(Arc::new(team))
    }

    /// A buffer for `numbers` numbers of every rank, kept from sum to sum.
    fn gather_buffer(&self, numbers: usize) -> Vec<f64> {
        let brought = self.brought.lock();
        let mut brought = std::mem::take(&mut *brought.unwrap_or_else(PoisonError::into_inner));
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
        *self.brought.lock().unwrap_or_else(PoisonError::into_inner) = brought;
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

    fn begins(&self, _call: Call) -> bool {
        are_compared(self.size)
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
        let Some(work) = meanwhile else {
            let gather = || self.api.all_gather(self.comm, values, &mut brought);
            self.counters.waits(gather)?;
            self.add_up(brought, values);
            return Ok(());
        };
        let mut request = Requests::new(self.api);
        request.all_gather(self.comm, values, &mut brought)?;
        let done = work();
        // MPI uses the buffers until it has finished, whatever failed before.
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
        let requests = self.requests.lock();
        let mut requests = requests.unwrap_or_else(PoisonError::into_inner);
        for piece in received.iter().flat_map(pieces) {
            // SAFETY: memory that nobody else accesses before this function returns, one of its conditions.
            unsafe { requests.receive(self.comm, piece) }?;
        }
        for span in sent {
            for piece in pieces(span) {
                // SAFETY: memory that nobody writes to before this function returns, one of its conditions.
                unsafe { requests.send(self.comm, piece) }?;
            }
        }
        let done = meanwhile();
        // MPI uses the buffers until it has finished, whatever failed before.
        self.counters.waits(|| requests.wait())?;
        done
    }

    fn swap(&self, bytes: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        check_recording()?;
        let lengths: Vec<u64> = bytes.iter().map(|message| message.len() as u64).collect();
        let mut expected = vec![0; self.size];
        self.counters
            .waits(|| self.api.all_to_all(self.comm, &lengths, &mut expected))?;
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
        Self::of(self.api, self.api.split(self.comm, colour, self.rank)?)
    }
}
