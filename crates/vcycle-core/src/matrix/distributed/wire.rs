//! Plain values as bytes of messages.

use crate::scalar::Element;

/// The bytes of plain values.
pub(super) fn bytes_of<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: plain values have no padding, and any address is aligned for bytes.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// The bytes of plain values, to be written to.
pub(super) fn bytes_of_mut<T: Element>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: as above, and every pattern of bits is a value.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}

/// The values of bytes, which may lie anywhere.
pub(super) fn numbers<T: Element>(bytes: &[u8]) -> impl Iterator<Item = T> + use<'_, T> {
    bytes.chunks_exact(size_of::<T>()).map(|bytes| {
        let mut value = [T::default()];
        bytes_of_mut(&mut value).copy_from_slice(bytes);
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
        self.bytes.extend_from_slice(bytes_of(values));
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

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}
