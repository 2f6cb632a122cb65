//! The judge of a running solve where the host does not wait.

use crate::arrays::Scalars;
use crate::error::Result;
use crate::executor::Executor;
use crate::launch::monitor::DeviceMonitor;
use crate::scalar::Scalar;

pub(crate) use crate::launch::monitor::{ColumnState, Condition, Limits, Snapshot};

/// Judges the columns of a solve on a device, where their norms are.
#[derive(Debug)]
pub(crate) struct Judge(DeviceMonitor);

impl Judge {
    /// For so many columns; none on the host, which judges itself, and on ranks whose norms come through the host.
    pub fn of(executor: &Executor, cols: usize) -> Result<Option<Self>> {
        match executor {
            Executor::Gpu(gpu) if executor.team().is_none() || gpu.callbacks().is_some() => {
                Ok(Some(Self(DeviceMonitor::new(gpu, cols)?)))
            }
            _ => Ok(None),
        }
    }

    /// Begins with these columns after an iteration.
    pub fn begin(&mut self, iteration: usize, columns: &[ColumnState]) -> Result<()> {
        self.0.begin(iteration, columns)
    }

    /// Counts an iteration and judges its norms; what has ended is no longer `active`.
    pub fn judge<T: Scalar>(
        &self,
        norms: &Scalars<T>,
        active: &mut Scalars<T>,
        limits: Limits,
    ) -> Result<()> {
        let (norms, active) = (norms.device()?, active.device_mut()?);
        self.0.judge(T::Arith::KIND, norms, active, limits)
    }

    /// Ends the columns whose value breaks a condition.
    pub fn require<T: Scalar>(
        &self,
        values: &Scalars<T>,
        active: &mut Scalars<T>,
        condition: Condition,
    ) -> Result<()> {
        let (values, active) = (values.device()?, active.device_mut()?);
        self.0.require(T::Arith::KIND, values, active, condition)
    }

    /// Asks for a copy of the state as it is at this place of the stream.
    pub fn request(&mut self) -> Result<()> {
        self.0.request()
    }

    /// Copies that were asked for and not received.
    pub fn pending(&self) -> usize {
        self.0.pending()
    }

    /// Waits for the oldest copy that was not received.
    pub fn receive(&mut self) -> Result<Snapshot> {
        self.0.receive()
    }
}
