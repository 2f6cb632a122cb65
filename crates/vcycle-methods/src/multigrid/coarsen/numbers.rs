//! The number of every unknown on the next level, in the memory of the executor that found it.

use std::ops::{Deref, DerefMut};

use super::NONE;
use crate::prelude::*;

/// One number for every unknown, in the memory of the executor that found them.
///
/// It is used like a slice. Numbers of a device are copied to the host when somebody looks at them
/// there, and not before.
///
/// ```
/// use vcycle::multigrid::coarsen::Numbers;
/// let numbers = Numbers::from(vec![0, 0, 1]);
/// assert_eq!((numbers.len(), numbers[2]), (3, 1));
/// ```
#[derive(Clone, Debug)]
pub struct Numbers {
    numbers: Buffer<u32>,
    is_complete: bool,
}

impl Numbers {
    /// Takes over numbers of any executor.
    pub(crate) fn of_buffer(numbers: Buffer<u32>) -> Self {
        Self {
            numbers,
            is_complete: false,
        }
    }

    /// The same, if `is_complete` without any that is missing.
    pub(crate) fn complete(self, is_complete: bool) -> Self {
        Self {
            is_complete,
            ..self
        }
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Fails for numbers that are not below `limit`. A device makes no such mistakes.
    pub(crate) fn check_below(&self, limit: usize) -> Result<()> {
        let outside = |&index: &u32| index != NONE && index as usize >= limit;
        match self.numbers.executor().is_device() {
            true => Ok(()),
            false => match self.iter().position(outside) {
                None => Ok(()),
                Some(position) => Err(Error::IndexOutOfRange {
                    position,
                    axis: "column",
                    index: self[position] as usize,
                    limit,
                }),
            },
        }
    }

    /// How many there are; nothing is copied.
    pub(crate) fn count(&self) -> usize {
        self.numbers.len()
    }

    pub(crate) fn buffer(&self) -> &Buffer<u32> {
        &self.numbers
    }
}

impl From<Vec<u32>> for Numbers {
    fn from(numbers: Vec<u32>) -> Self {
        Self::of_buffer(Buffer::from_vec(&Executor::reference(), numbers))
    }
}

impl FromIterator<u32> for Numbers {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        numbers.into_iter().collect::<Vec<u32>>().into()
    }
}

/// # Panics
/// When a device fails.
impl Deref for Numbers {
    type Target = [u32];

    #[inline]
    fn deref(&self) -> &[u32] {
        self.numbers.host().expect("the device still answers")
    }
}

/// # Panics
/// When a device fails.
impl DerefMut for Numbers {
    fn deref_mut(&mut self) -> &mut [u32] {
        self.is_complete = false;
        self.numbers.host_mut().expect("the device still answers")
    }
}

impl PartialEq for Numbers {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Numbers {}

impl<const N: usize> PartialEq<[u32; N]> for Numbers {
    fn eq(&self, other: &[u32; N]) -> bool {
        **self == other[..]
    }
}
