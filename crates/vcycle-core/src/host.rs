//! The threads of an executor of the host, and the team it is a rank of.

use std::ops::Deref;
use std::sync::Arc;

use crate::communicator::Communicator;
use crate::cpu::Threads;

/// The threads of an executor of the host, and the team it is a rank of, if any.
#[derive(Debug)]
pub struct Host {
    threads: Arc<Threads>,
    team: Option<Arc<dyn Communicator>>,
    /// The executor of the same threads without a team.
    alone: Option<Arc<Host>>,
}

impl Host {
    pub(crate) fn of(threads: Arc<Threads>) -> Self {
        Self {
            threads,
            team: None,
            alone: None,
        }
    }

    /// The same threads as one rank of a team.
    pub(crate) fn with_team(self: &Arc<Self>, team: &Arc<dyn Communicator>) -> Self {
        let alone = self.alone();
        Self {
            threads: Arc::clone(&alone.threads),
            team: Some(Arc::clone(team)),
            alone: Some(alone),
        }
    }

    pub(crate) fn team(&self) -> Option<&Arc<dyn Communicator>> {
        self.team.as_ref()
    }

    /// The same without its team.
    pub(crate) fn alone(self: &Arc<Self>) -> Arc<Self> {
        Arc::clone(self.alone.as_ref().unwrap_or(self))
    }
}

impl Deref for Host {
    type Target = Threads;
    fn deref(&self) -> &Threads {
        &self.threads
    }
}
