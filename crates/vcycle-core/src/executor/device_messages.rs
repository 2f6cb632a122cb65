//! Messages between the memories of devices, without the host.

use std::sync::Arc;

use super::Executor;
use crate::communicator::{Communicator, Span};
use crate::error::{Error, Result};
use crate::gpu::Gpu;
use crate::scalar::{bytes, bytes_mut};

/// The variable that asks for such messages.
const ASKED: &str = "VCYCLE_MPI_DEVICE";
/// Numbers of the messages that are tried: MPI sends short and long ones in different ways.
const TRIED: [usize; 2] = [100, 200_000];

impl Executor {
    /// Whether products over ranks hand memory of this device to MPI.
    pub(crate) fn sends_memory(&self) -> bool {
        matches!(self, Executor::Gpu(gpu) if gpu.sends_memory())
    }
}

/// Whether memory of devices is handed to MPI: where the variable asks for it, MPI says that it can, and a try brings
/// the same numbers. All ranks call it together.
///
/// # Errors
/// Where it is asked for and does not work, or not on all ranks.
pub(super) fn are_meant(gpu: &Gpu, team: &Arc<dyn Communicator>) -> Result<bool> {
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

/// Sends numbers to the next rank, and compares those of the one before.
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
    // SAFETY: memory of these lengths, which nobody else knows.
    unsafe { team.exchange_spans(&sent, &received, &mut || Ok(())) }?;
    device.download(bytes_mut(&mut found), &to)?;
    match found == numbers(before) {
        true => Ok(()),
        false => Err(Error::Team(format!(
            "{count} numbers of rank {before} did not arrive as they were sent"
        ))),
    }
}
