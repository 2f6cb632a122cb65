//! Ranks that run out of time together.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Communicator;
use crate::error::{Error, Result};

/// So much time passes before ranks look at the time again, and observers are asked.
pub(crate) const PAUSE: Duration = Duration::from_millis(100);

/// Tells ranks when they compare their times. Each counts what all of them do together, products for instance, and after a comparison they
/// know how many of these take about a tenth of a second.
pub(crate) struct SharedClock {
    team: Arc<dyn Communicator>,
    begin: Instant,
    done: u64,
    /// When so many are done they compare.
    next: u64,
}

impl SharedClock {
    /// For what the ranks of a team do from now on.
    pub fn new(team: &Arc<dyn Communicator>) -> Self {
        Self {
            team: Arc::clone(team),
            begin: Instant::now(),
            done: 0,
            next: 1,
        }
    }

    /// Counts what a team is about to do; fails on all of its ranks once it `is_over` for one. What other teams do, and what is
    /// recorded, does not count.
    pub fn count(
        &mut self,
        team: &Arc<dyn Communicator>,
        is_over: &dyn Fn(Instant) -> bool,
    ) -> Result<()> {
        if !Arc::ptr_eq(&self.team, team) || vcycle_gpu::is_recording() {
            return Ok(());
        }
        self.done += 1;
        if self.done < self.next {
            return Ok(());
        }
        let now = Instant::now();
        let seconds = now.duration_since(self.begin).as_secs_f64();
        let mut sums = [f64::from(u8::from(is_over(now))), seconds];
        team.sum(&mut sums)?;
        if sums[0] > 0.0 {
            return Err(Error::OutOfTime);
        }
        let done = self.done as f64;
        let each = sums[1] / (team.size() as f64 * done);
        // At most as many as before: the next ones may take longer.
        self.next += (PAUSE.as_secs_f64() / each).clamp(1.0, done) as u64;
        Ok(())
    }
}
