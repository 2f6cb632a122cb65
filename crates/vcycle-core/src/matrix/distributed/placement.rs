//! Where the rows and the vectors of a rank are, and the matrix behind an operator.

use std::any::Any;
use std::borrow::Cow;

use super::Distributed;
use crate::linop::LinOp;
use crate::prelude::*;

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

impl<V: Scalar> Distributed<V> {
    /// The matrix that an operator is, with values of this type: itself where it has them, else converted. None for an
    /// operator that is no matrix of several ranks, and for complex values where these are real.
    pub fn behind<X: Scalar>(a: &dyn LinOp<X>) -> Option<Cow<'_, Self>> {
        let any: &dyn Any = a;
        if let Some(same) = any.downcast_ref() {
            return Some(Cow::Borrowed(same));
        }
        let found = converted::<f64, V>(any)
            .or_else(|| converted::<f32, V>(any))
            .or_else(|| converted::<f16, V>(any))
            .or_else(|| converted::<bf16, V>(any))
            .or_else(|| converted::<c64, V>(any))
            .or_else(|| converted::<c32, V>(any));
        found.map(Cow::Owned)
    }
}

fn converted<M: Scalar, V: Scalar>(any: &dyn Any) -> Option<Distributed<V>> {
    let found = any.downcast_ref::<Distributed<M>>()?;
    found.convert().ok()
}
