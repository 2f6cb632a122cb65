//! Solves by one rank for all: those that would share a device gain nothing from sharing the work.

use std::process::ExitCode;

use vcycle::communicator::{Communicator, Traffic};
use vcycle::config::Config;
use vcycle::executor::Executor;
use vcycle::matrix::Csr;
use vcycle::scalar::Scalar;

use super::alone;
use crate::args::SolveArgs;
use crate::error::Result;
use crate::output::summary::RankSummary;

/// How many ranks leave a solve to this one.
pub struct Led {
    pub ranks: usize,
    /// What is said of them before anything else.
    pub told: Vec<String>,
}

/// Whether so many threads would be ranks of one device.
pub fn is_of_threads(config: &Config, ranks: usize) -> bool {
    ranks > 0 && may_be(config) && Executor::is_first_of_all(&config.run.device, ranks)
}

/// Whether the ranks of a team would use one device. All of them call it together.
pub fn is_of_team(config: &Config, team: &dyn Communicator) -> vcycle::Result<bool> {
    Ok(may_be(config) && Executor::is_first_of_team(&config.run.device, team)?)
}

fn may_be(config: &Config) -> bool {
    config.run.is_gpu() && config.gathers_on_one_device()
}

/// Solves as a process without ranks does.
pub fn solve(args: &SolveArgs, config: &Config, ranks: usize, begun: String) -> Result<ExitCode> {
    let mut config = config.clone();
    // Set-ups of a device use all cores of the host.
    config.run.threads = None;
    let device = &config.run.device;
    let sharing = format!("{ranks} ranks share {device}: rank 0 solves for all");
    let told = match ranks {
        1 => vec![begun],
        _ => vec![begun, sharing],
    };
    alone(args, config, Some(Led { ranks, told }))
}

impl Led {
    /// What every rank has of the matrix.
    pub fn summaries<T: Scalar>(&self, a: &Csr<T>) -> Vec<RankSummary> {
        let with = |[rows, nonzeros]: [usize; 2]| RankSummary {
            rows,
            nonzeros,
            neighbours: 0,
            traffic: [Traffic::default(); 2],
            levels: Vec::new(),
        };
        let mut all = vec![with([0; 2]); self.ranks];
        all[0] = with([a.size().rows, a.nonzeros()]);
        all
    }
}
