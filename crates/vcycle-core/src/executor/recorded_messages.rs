//! Work of ranks that is recorded with the messages it sends.

use std::sync::Arc;

use super::Executor;
use super::devices::surroundings;
use crate::communicator::Communicator;
use crate::error::Result;
use crate::gpu::{Courier, Gpu};

/// Says how many queues of the hardware the streams of a process share: one that waits for a message keeps others in its queue from running,
/// that of the sender maybe. Which stream is in which queue nobody tells: only as many as there are queues have one each for sure.
const QUEUES: &str = "CUDA_DEVICE_MAX_CONNECTIONS";
/// How many they are where nobody says it.
const USUAL: usize = 8;

impl Executor {
    /// The device of a rank whose work is recorded now, with the messages it sends.
    pub(crate) fn recording_rank(&self) -> Option<&Gpu> {
        match self {
            Executor::Gpu(gpu) if vcycle_gpu::is_recording() && gpu.courier().is_some() => {
                Some(gpu)
            }
            _ => None,
        }
    }

    /// What sends messages of recorded work; none of an executor without a team, or whose work is not recorded.
    pub(crate) fn courier(&self) -> Option<&Courier> {
        match self {
            Executor::Gpu(gpu) => gpu.courier(),
            _ => None,
        }
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
    // The streams of all these ranks are open by now.
    let have_queues = sharing == 1 || vcycle_gpu::streams_opened() <= queues();
    let can = device.has_host_tasks() && have_queues && team.serves_threads();
    Ok(!team.any(!can)?)
}

fn queues() -> usize {
    let said = std::env::var(QUEUES).ok();
    said.and_then(|said| said.parse().ok()).unwrap_or(USUAL)
}
