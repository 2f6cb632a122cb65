//! Plain values as bytes of messages.

use crate::scalar::{Element, bytes, bytes_mut};

/// The values of bytes, which may lie anywhere.
pub(super) fn numbers<T: Element>(all: &[u8]) -> impl Iterator<Item = T> + use<'_, T> {
    all.chunks_exact(size_of::<T>()).map(|one| {
        let mut value = [T::default()];
        bytes_mut(&mut value).copy_from_slice(one);
        value[0]
    })
}

/// Writes values one after the other, to be [read](Reader) in the same order.
#[derive(Default)]
pub(super) struct Writer {
    pub bytes: Vec<u8>,
}

impl Writer {
    pub fn put<T: Element>(&mut self, values: &[T]) {
        self.bytes.extend_from_slice(bytes(values));
    }

    pub fn put_all<T: Element>(&mut self, values: impl Iterator<Item = T>) {
        values.for_each(|value| self.put(&[value]));
    }
}

/// Reads what a [`Writer`] has written.
pub(super) struct Reader<'b> {
    pub bytes: &'b [u8],
}

impl<'b> Reader<'b> {
    pub fn take<T: Element>(&mut self, count: usize, out: &mut Vec<T>) {
        out.extend(self.numbers::<T>(count));
    }

    pub fn numbers<T: Element>(&mut self, count: usize) -> impl Iterator<Item = T> + use<'b, T> {
        let (now, later) = self.bytes.split_at(count * size_of::<T>());
        self.bytes = later;
        numbers::<T>(now)
    }

    pub fn number(&mut self) -> u64 {
        let mut one = Vec::with_capacity(1);
        self.take::<u64>(1, &mut one);
        one[0]
    }
}
