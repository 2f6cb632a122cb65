//! Executors that are one rank of a team.

use std::sync::Arc;

use super::Executor;
use super::messages::{can_record_messages, can_send_memory};
use crate::communicator::Communicator;
use crate::error::Result;
use crate::gpu::Gpu;

impl Executor {
    /// The same executor as one rank of a team: its vectors have the rows of this rank, and their sums are over all ranks.
    ///
    /// ```
    /// use vcycle::{communicator::threads, executor::Executor, vector::Vector};
    /// let norms = threads::run(4, |team| {
    ///     let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
    ///     Vector::<f64>::filled(&rank, 100, 1, 0.5)?.norms()
    /// })?;
    /// assert_eq!(norms, vec![vec![10.0]; 4]);
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    ///
    /// # Errors
    /// For the reference, which cannot, and for a device that cannot be opened once more.
    pub fn with_team(&self, team: &Arc<dyn Communicator>) -> Result<Self> {
        match self {
            Executor::Cpu(host) => Ok(Executor::Cpu(Arc::new(host.with_team(team)))),
            Executor::Gpu(_) => self.on_host().with_team(team)?.with_device(self.name()),
            Executor::Reference => Err(self.lacks("a team of ranks", "its sums; use cpu")),
        }
    }

    /// The same rank with vectors and products on a device: a GPU by its name, with a stream of its own. Work of a rank alone, mainly set-ups, stays on the host. All ranks call it together.
    ///
    /// # Errors
    /// For an executor without a team, and as [`gpu`](Self::gpu); if device memory is to be passed to MPI
    /// (`VCYCLE_MPI_DEVICE=1`) and that does not work.
    pub fn with_device(&self, name: &str) -> Result<Self> {
        match self {
            Executor::Cpu(host) if host.team().is_some() => {
                let team = host.team().expect("checked before");
                let gpu = team.agree(Gpu::of_rank(name, host))?;
                let sends_memory = team.size() > 1 && can_send_memory(&gpu, team)?;
                let gpu = gpu.sending_memory(sends_memory);
                let records = !sends_memory && can_record_messages(&gpu, team)?;
                let gpu = match records {
                    true => team.agree(gpu.recording_messages())?,
                    false => gpu,
                };
                Ok(Executor::Gpu(Arc::new(gpu)))
            }
            _ => Err(self.lacks("a device of a rank", "a team; use `with_team` first")),
        }
    }

    /// The team of this executor, if it is a rank.
    pub fn team(&self) -> Option<&Arc<dyn Communicator>> {
        match self {
            Executor::Cpu(host) => host.team(),
            Executor::Gpu(gpu) => gpu.rank().and_then(|host| host.team()),
            Executor::Reference => None,
        }
    }

    /// The same executor without its team, for work of the rank alone; for a rank with a device the executor of its host.
    #[must_use]
    pub fn alone(&self) -> Self {
        match self {
            Executor::Cpu(host) => Executor::Cpu(host.alone()),
            Executor::Gpu(gpu) => match gpu.rank() {
                Some(host) => Executor::Cpu(host.alone()),
                None => self.clone(),
            },
            Executor::Reference => self.clone(),
        }
    }

    /// The executor for gathered levels: the device of the rank, or its host, without the team.
    #[must_use]
    pub fn gathering(&self) -> Self {
        match self {
            Executor::Gpu(gpu) => Executor::Gpu(Arc::clone(gpu.alone().unwrap_or(gpu))),
            host => host.alone(),
        }
    }

    /// Whether it holds on this rank or on any other of the team; every rank gets the same answer.
    pub fn any(&self, holds: bool) -> Result<bool> {
        match self.team() {
            Some(team) => team.any(holds),
            None => Ok(holds),
        }
    }

    /// Ends a stage: where it has failed on one rank of the team, it fails on all.
    pub fn agree<T>(&self, result: Result<T>) -> Result<T> {
        match self.team() {
            Some(team) => team.agree(result),
            None => result,
        }
    }

    /// The sum of a count over all ranks.
    pub fn total(&self, count: usize) -> Result<u64> {
        match self.team() {
            Some(team) => team.total(count as u64),
            None => Ok(count as u64),
        }
    }

    /// The sum of a count over the ranks before this one: for rows, the number of its first row.
    pub fn before(&self, count: usize) -> Result<usize> {
        let Some(team) = self.team() else {
            return Ok(0);
        };
        let before = &team.all_numbers(count as u64)?[..team.rank()];
        Ok(before.iter().sum::<u64>() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::communicator::threads;
    use crate::testing::on_ranks;
    use crate::vector::{Coefficient, Scalars, Vector};

    /// Vectors of three rows on each of three ranks, whose squares sum up to 42.
    fn check_sums(rank: &Executor, number: usize) -> Result<()> {
        let own = vec![1.0 + number as f64; 3];
        let x = Vector::from_column(rank, own.clone());
        let mut sums = Scalars::filled(rank, 1, 0.0)?;
        let mut others = sums.clone();
        x.dot(&x, &mut sums)?;
        assert_eq!(sums.host()?, [42.0]);
        x.dot2(&x, &x, &mut sums, &mut others)?;
        assert_eq!((sums.get(0)?, others.get(0)?), (42.0, 42.0));
        assert_eq!(x.norms()?, [42f64.sqrt()]);
        let mut y = Vector::zeros_like(&x)?;
        y.axpy_norm(Coefficient::ratio(&sums, &others), &x, &mut sums.clone())?;
        assert_eq!((y.to_vec(), y.norms()?), (x.to_vec(), vec![42f64.sqrt()]));
        let pairs = Vector::from_rows(rank, 3, own.clone())?;
        assert_eq!(pairs.norms()?, [14f64.sqrt(); 3]);
        let alone = Vector::from_column(&rank.alone(), own.clone());
        assert_eq!(alone.norms()?, [(3.0 * own[0] * own[0]).sqrt()]);
        Ok(())
    }

    #[test]
    fn sums_over_rows_go_over_all_ranks() {
        on_ranks(3, |rank, team| check_sums(rank, team.rank()));
    }

    #[test]
    fn a_rank_and_the_same_executor_without_team_are_told_apart() {
        threads::run(1, |team| {
            let cpu = Executor::cpu();
            let rank = cpu.with_team(&team)?;
            assert!(rank.team().is_some() && rank.alone().team().is_none());
            assert!(rank.alone().shares_memory_with(&cpu));
            assert!(!rank.shares_memory_with(&cpu));
            assert!(Executor::reference().with_team(&team).is_err());
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn ranks_share_a_device_and_add_their_sums() {
        let Some(device) = crate::testing::device() else {
            return;
        };
        threads::run(3, |team| {
            let rank = device.with_team(&team)?;
            assert!(rank.is_device() && !rank.shares_memory_with(&device));
            assert!(rank.on_host().team().is_some() && rank.alone().team().is_none());
            assert!(rank.gathering().is_device() && rank.gathering().team().is_none());
            check_sums(&rank, team.rank())
        })
        .unwrap();
    }
}
