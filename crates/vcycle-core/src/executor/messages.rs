//! Messages of ranks with devices: between device memories, and as a part of recorded work.

use std::sync::Arc;

use super::Executor;
use super::devices::surroundings;
use crate::communicator::{Communicator, Span};
use crate::error::{Error, Result};
use crate::gpu::{Gpu, HostCallbacks};
use crate::scalar::{bytes, bytes_mut};

/// The environment variable for messages from device memory.
const ASKED: &str = "VCYCLE_MPI_DEVICE";
/// Lengths of the trial messages: MPI uses different protocols for short and long ones.
const TRIED: [usize; 2] = [100, 200_000];
/// The variable for the number of hardware queues that the streams of a process share: a stream that waits for a message blocks the others in
/// its queue, perhaps the sender's. The assignment is unknown: streams certainly have one each only if there are at most as many as queues.
const QUEUES: &str = "CUDA_DEVICE_MAX_CONNECTIONS";
/// Their number if it is not set.
const USUAL: usize = 8;

impl Executor {
    /// Whether products over ranks pass memory of this device to MPI.
    pub(crate) fn sends_memory(&self) -> bool {
        matches!(self, Executor::Gpu(gpu) if gpu.sends_memory())
    }

    /// The device of a rank whose work is being recorded, messages included.
    pub(crate) fn recording_rank(&self) -> Option<&Gpu> {
        match self {
            Executor::Gpu(gpu) if vcycle_gpu::is_recording() && gpu.callbacks().is_some() => {
                Some(gpu)
            }
            _ => None,
        }
    }

    /// The sender of messages of recorded work; none for an executor without a team, or whose work is not recorded.
    pub(crate) fn callbacks(&self) -> Option<&HostCallbacks> {
        match self {
            Executor::Gpu(gpu) => gpu.callbacks(),
            _ => None,
        }
    }
}

/// Whether device memory is passed to MPI: if the variable is set, MPI reports support, and trial messages bring the
/// same numbers. All ranks call it together.
///
/// # Errors
/// If the variable is set and this does not work on all ranks.
pub(super) fn can_send_memory(gpu: &Gpu, team: &Arc<dyn Communicator>) -> Result<bool> {
    let asked = std::env::var(ASKED).is_ok_and(|value| value != "0");
    if !team.any(asked)? {
        return Ok(false);
    }
    let device = gpu.device().properties();
    let driver = device.name.split(':').next().unwrap_or_default();
    let known = match asked {
        false => Err(Error::Team("it is not set on this rank".to_owned())),
        // Its memory is that of the host.
        true if device.is_cpu => Ok(()),
        true => team.check_driver(driver),
    };
    let named = |error: Error| Error::Team(format!("{ASKED}: {error}"));
    team.agree(known.map_err(named))?;
    for count in TRIED {
        let tried = tried(gpu, team, count);
        team.agree(tried.map_err(named))?;
    }
    Ok(true)
}

/// Sends numbers to the next rank, and checks those of the previous one.
fn tried(gpu: &Gpu, team: &Arc<dyn Communicator>, count: usize) -> Result<()> {
    let (rank, size, device) = (team.rank(), team.size(), gpu.device());
    let numbers = |rank: usize| -> Vec<u64> {
        let first = (rank * count) as u64;
        (first..first + count as u64).collect()
    };
    let (own, mut found) = (numbers(rank), vec![u64::MAX; count]);
    let [from, to] = [
        device.allocate(size_of_val(&own[..]))?,
        device.allocate(size_of_val(&own[..]))?,
    ];
    device.upload(&from, bytes(&own))?;
    device.clear(&to)?;
    device.synchronize()?;
    let span = |rank: usize, address: u64| Span {
        rank,
        address,
        bytes: size_of_val(&own[..]),
    };
    let before = (rank + size - 1) % size;
    let sent = [span((rank + 1) % size, from.address())];
    let received = [span(before, to.address())];
    // SAFETY: memory of these lengths, which nobody else uses.
    unsafe { team.exchange_spans(&sent, &received, &mut || Ok(())) }?;
    device.download(bytes_mut(&mut found), &to)?;
    match found == numbers(before) {
        true => Ok(()),
        false => Err(Error::Team(format!(
            "{count} numbers of rank {before} did not arrive as they were sent"
        ))),
    }
}

/// Whether all ranks can record work that sends messages. All of them call it together.
pub(super) fn can_record_messages(gpu: &Gpu, team: &Arc<dyn Communicator>) -> Result<bool> {
    if team.size() == 1 {
        return Ok(false);
    }
    let device = gpu.device();
    let process = std::process::id().to_ne_bytes();
    let place = [
        &surroundings(),
        &process[..],
        device.properties().name.as_bytes(),
    ]
    .concat();
    let (_, sharing) = team.alike(&place)?;
    // The streams of all these ranks are open at this point.
    let have_queues = sharing == 1 || vcycle_gpu::streams_opened() <= queues();
    let can = device.has_host_tasks() && have_queues && team.serves_threads();
    Ok(!team.any(!can)?)
}

fn queues() -> usize {
    let said = std::env::var(QUEUES).ok();
    said.and_then(|said| said.parse().ok()).unwrap_or(USUAL)
}
