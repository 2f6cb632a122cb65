//! Where the rows and the vectors of a rank are: on its host or on its device.

use std::sync::Arc;

use super::Distributed;
use crate::arrays::Pattern;
use crate::error::Result;
use crate::executor::Executor;
use crate::matrix::Csr;
use crate::scalar::Scalar;

impl<T: Scalar> Distributed<T> {
    /// The same matrix for vectors on another executor of this rank: that of its device, or of its host, which then has the
    /// rows, too.
    pub fn on(&self, executor: &Executor) -> Result<Self> {
        match self.local.executor().is_device() && !executor.is_device() {
            true => self.with_rows_at(executor, &executor.alone()),
            false => Ok(self.for_vectors_on(executor, Arc::clone(&self.local))),
        }
    }

    /// The same matrix with its rows where the vectors of this rank are: what a set-up makes of them stays there.
    pub fn with_rows_there(&self) -> Result<Self> {
        self.with_rows_at(&self.executor, &self.executor.gathering())
    }

    fn with_rows_at(&self, executor: &Executor, place: &Executor) -> Result<Self> {
        let local = match self.local.executor().shares_memory_with(place) {
            true => Arc::clone(&self.local),
            false => {
                place.check_room(self.local.bytes())?;
                let (offsets, columns) = self.local.pattern().buffers();
                let (offsets, columns) = (offsets.copy_to(place)?, columns.copy_to(place)?);
                let pattern = Pattern::of_buffers(self.local.size(), offsets, columns);
                let values = self.local.values_buffer().copy_to(place)?;
                Arc::new(Csr::of_buffers(&Arc::new(pattern), values))
            }
        };
        Ok(self.for_vectors_on(executor, local))
    }

    fn for_vectors_on(&self, executor: &Executor, local: Arc<Csr<T>>) -> Self {
        let made = Self {
            definite: self.definite.clone(),
            ..Self::of_local(executor, &self.rows, &self.columns, local)
        };
        // What another stream makes is not waited for.
        let is_other = executor.is_device()
            && self.executor.is_device()
            && !executor.shares_memory_with(&self.executor);
        match is_other {
            true => made,
            false => Self {
                shapes: Arc::clone(&self.shapes),
                parts: Arc::clone(&self.parts),
                ..made
            },
        }
    }
}
