//! Memory that knows its executor.

use super::{Executor, check_memory};
use crate::error::Result;

/// A run of values in the memory of an [`Executor`].
///
/// Host executors give their memory as slices; a device executor refuses with
/// [`Error::NotAddressable`](crate::Error::NotAddressable) and offers [`Buffer::to_vec`].
#[derive(Clone, Debug)]
pub struct Buffer<T> {
    executor: Executor,
    memory: Memory<T>,
}

/// The storage behind a buffer, one variant per kind of memory.
#[derive(Clone, Debug)]
enum Memory<T> {
    Host(Vec<T>),
}

impl<T: Copy + Send + Sync> Buffer<T> {
    /// `len` copies of `value`.
    pub fn filled(executor: &Executor, len: usize, value: T) -> Result<Self> {
        check_memory(executor, len, size_of::<T>())?;
        // Zeros come from the system: their pages are touched by the threads that write them.
        Ok(Self::from_vec(executor, vec![value; len]))
    }

    /// Takes over host memory; no copy on host executors.
    pub fn from_vec(executor: &Executor, values: Vec<T>) -> Self {
        Self {
            executor: executor.clone(),
            memory: Memory::Host(values),
        }
    }

    /// The values, copied to the host.
    pub fn to_vec(&self) -> Vec<T> {
        match &self.memory {
            Memory::Host(values) => values.clone(),
        }
    }

    /// The values, copied only where they are not on the host already.
    pub fn into_vec(self) -> Vec<T> {
        match self.memory {
            Memory::Host(values) => values,
        }
    }

    /// The same values on another executor.
    pub fn copy_to(&self, executor: &Executor) -> Result<Self> {
        Ok(Self::from_vec(executor, self.to_vec()))
    }

    /// Where the values live.
    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        match &self.memory {
            Memory::Host(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.len() * size_of::<T>()
    }

    /// The values in place, on host executors.
    pub fn host(&self) -> Result<&[T]> {
        match &self.memory {
            Memory::Host(values) => Ok(values),
        }
    }

    /// The values in place, to be changed, on host executors.
    pub fn host_mut(&mut self) -> Result<&mut [T]> {
        match &mut self.memory {
            Memory::Host(values) => Ok(values),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn impossible_size_is_a_typed_error() {
        let result = Buffer::filled(&Executor::reference(), usize::MAX / 16, 0.0_f64);
        assert!(matches!(result, Err(Error::OutOfMemory { .. })));
    }

    #[test]
    fn moving_between_executors_keeps_values() {
        let here = Buffer::from_vec(&Executor::reference(), vec![1, 2, 3]);
        let there = here.copy_to(&Executor::cpu()).unwrap();
        assert_eq!(there.executor().name(), "cpu");
        assert_eq!(there.into_vec(), vec![1, 2, 3]);
    }
}
