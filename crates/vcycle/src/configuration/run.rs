//! Where a solve runs.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::communicator::Communicator;
use crate::error::ConfigError;
use crate::executor::Executor;

/// Where to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct RunConfig {
    /// `cpu`, `reference` (serial, for comparison) or a GPU: `cuda:0`, `hip:0`, `opencl:0`.
    pub device: String,
    /// Threads of the `cpu` device; all cores unless given.
    pub threads: Option<usize>,
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            device: "cpu".to_owned(),
            threads: None,
        }
    }
}

impl RunConfig {
    /// The devices there may be; GPUs have a number.
    pub const DEVICES: &[&str] = &["reference", "cpu", "cuda:0", "hip:0", "opencl:0"];

    /// What describes an executor.
    pub fn of(executor: &Executor) -> Self {
        Self {
            device: executor.name().to_owned(),
            threads: match executor.is_device() {
                true => None,
                false => Some(executor.threads()),
            },
        }
    }

    /// The executor.
    ///
    /// # Errors
    /// For a device this version does not know, for threads that cannot be started, and as [`Executor::check_environment`].
    pub fn executor(&self) -> crate::Result<Executor> {
        Executor::check_environment()?;
        match (self.device.as_str(), self.threads) {
            ("reference", None | Some(1)) => Ok(Executor::reference()),
            ("reference", Some(threads)) => Err(ConfigError::Conflict(format!(
                "device `reference` is serial, it cannot use {threads} threads; use `cpu`"
            ))
            .into()),
            ("cpu", None) => Ok(Executor::cpu()),
            ("cpu", Some(threads)) => Executor::cpu_with_threads(threads),
            (name, None) if is_gpu(name) => Executor::gpu(name),
            (name, Some(threads)) if is_gpu(name) => Err(ConfigError::Conflict(format!(
                "device `{name}` cannot use {threads} threads; its set-ups use all cores of the host"
            ))
            .into()),
            (name, _) => Err(unknown(name)),
        }
    }

    /// Whether the device is one that programs are sent to, a GPU most often.
    pub fn is_gpu(&self) -> bool {
        is_gpu(&self.device)
    }

    /// The executor of one rank of a team, and a message about its device, if there is one. The cores of a machine are shared out unless
    /// threads are given, and so are its devices ([`Executor::with_own_device`]). All ranks call it together.
    ///
    /// # Errors
    /// As [`executor`](Self::executor), and for `reference`.
    pub fn executor_of_rank(
        &self,
        team: &Arc<dyn Communicator>,
    ) -> crate::Result<(Executor, Option<String>)> {
        let threads = match self.threads {
            Some(threads) => threads,
            None => team.own_cores()?,
        };
        let rank = Executor::cpu_with_threads(threads)?.with_team(team)?;
        match self.device.as_str() {
            "cpu" => Ok((rank, None)),
            name if is_gpu(name) => rank.with_own_device(name),
            "reference" => Err(rank.lacks("the device `reference`", "several ranks; use cpu")),
            name => Err(unknown(name)),
        }
    }
}

fn unknown(device: &str) -> crate::Error {
    ConfigError::unknown_name("device", device, RunConfig::DEVICES.to_vec()).into()
}

fn is_gpu(name: &str) -> bool {
    let drivers = ["cuda:", "hip:", "opencl:"];
    drivers.iter().any(|driver| name.starts_with(driver))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_that_do_not_exist_are_refused() {
        let executor = |device: &str, threads| {
            let device = device.to_owned();
            RunConfig { device, threads }.executor()
        };
        assert_eq!(executor("cpu", Some(2)).unwrap().threads(), 2);
        assert!(executor("cuda:99", None).is_err());
        let error = executor("opencl:0", Some(2)).unwrap_err().to_string();
        assert!(error.contains("cannot use 2 threads"), "{error}");
        assert!(
            executor("cpy", None)
                .unwrap_err()
                .to_string()
                .contains("`cpu`")
        );
        assert!(executor("reference", Some(2)).is_err());
    }
}
