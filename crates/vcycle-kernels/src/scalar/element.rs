//! The element types of buffers.

use super::{bf16, c32, c64, f16};

/// A plain value that can be copied to a device byte by byte.
pub trait Element:
    Copy + Default + PartialEq + Send + Sync + std::fmt::Debug + sealed::Plain + 'static
{
    /// Its name in the kernels of devices.
    const NAME: &'static str;
}

mod sealed {
    /// # Safety
    /// Every pattern of bits is a value, and there is no padding; zero bytes are the default.
    pub unsafe trait Plain {}
}

macro_rules! elements {
    ($($type:ty, $name:literal;)*) => {$(
        // SAFETY: a number, or two of them side by side.
        unsafe impl sealed::Plain for $type {}
        impl Element for $type {
            const NAME: &'static str = $name;
        }
    )*};
}

elements! {
    f64, "f64";
    f32, "f32";
    f16, "f16";
    bf16, "bf16";
    c64, "c64";
    c32, "c32";
    i16, "i16";
    i32, "i32";
    u8, "u8";
    u16, "u16";
    u32, "u32";
    u64, "u64";
    usize, "u64";
}

/// The bytes of values.
pub fn bytes<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: elements are plain values without padding.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// The bytes of values, to be written.
pub fn bytes_mut<T: Element>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: elements are plain values without padding, and every pattern of bits is one.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}
