//! The border that no panic crosses.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use crate::codes::{VCYCLE_ERROR_INTERNAL, VCYCLE_ERROR_MEMORY, VCYCLE_OK};
use crate::failure::{Failure, ensure, keep};

thread_local! {
    /// Where this thread panicked and why, said by the hook.
    static PANICKED: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Does the work of a call; a panic becomes an error.
pub(crate) fn guarded(work: impl FnOnce() -> Result<(), Failure>) -> i32 {
    silence_panics();
    // Whatever the work was changing when it panicked is not used again: locks that it held say so.
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return VCYCLE_OK,
        Ok(Err(failure)) => failure,
        Err(payload) => {
            // The payload itself may panic when it is dropped.
            std::mem::forget(payload);
            let place = PANICKED.with(|text| text.take());
            let message = format!("a mistake of vcycle: {place}");
            Failure::new(VCYCLE_ERROR_INTERNAL, message)
        }
    };
    keep(&failure.message);
    failure.code
}

/// A library prints nothing: what a panic says is kept for the message of the call. The hook is that of this copy of
/// Rust's library; a program in Rust around it has its own. Builds for developers print as well.
fn silence_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let text = info.to_string();
            let _ = PANICKED.try_with(|kept| kept.replace(text));
            if cfg!(debug_assertions) {
                before(info);
            }
        }));
    });
}

/// What a pointer that must not be null points to.
///
/// # Safety
/// It is null or points to a `T` that lives as long as the call, which is what `'c` stands for.
pub(crate) unsafe fn reference<'c, T>(pointer: *const T, name: &str) -> Result<&'c T, Failure> {
    check_pointer(pointer, name)?;
    // SAFETY: it is not null and aligned, and points to a `T`, a condition of this function.
    Ok(unsafe { &*pointer })
}

/// Fails for a null pointer and one that is not aligned.
pub(crate) fn check_pointer<T>(pointer: *const T, name: &str) -> Result<(), Failure> {
    ensure!(!pointer.is_null(), "`{name}` is a null pointer");
    ensure!(pointer.is_aligned(), "`{name}` is not aligned");
    Ok(())
}

/// The items of an array.
///
/// # Safety
/// `pointer` is null, or there are `len` items of type `T` that nobody changes during the call.
pub(crate) unsafe fn slice<'c, T>(
    pointer: *const T,
    len: usize,
    name: &str,
) -> Result<&'c [T], Failure> {
    if len == 0 {
        return Ok(&[]);
    }
    check_pointer(pointer, name)?;
    let most = isize::MAX as usize / size_of::<T>().max(1);
    ensure!(
        len <= most,
        "`{name}`: {len} items are more than memory has"
    );
    // SAFETY: it is not null and aligned, and there are `len` items, a condition of this function.
    Ok(unsafe { std::slice::from_raw_parts(pointer, len) })
}

/// What an iterator makes, in memory that was asked for: no memory is an error of the call, not the end of the process.
pub(crate) fn collected<T>(items: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>, Failure> {
    let mut all = Vec::new();
    all.try_reserve_exact(items.len()).map_err(|_| {
        let bytes = items.len().saturating_mul(size_of::<T>());
        let message = format!("out of memory: {bytes} bytes for a copy of what was given");
        Failure::new(VCYCLE_ERROR_MEMORY, message)
    })?;
    all.extend(items);
    Ok(all)
}

/// A length that a caller gave.
pub(crate) fn length(given: i64, name: &str) -> Result<usize, Failure> {
    usize::try_from(given).map_err(|_| Failure::argument(format!("`{name}` is {given}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_that_names_the_place() {
        assert_eq!(guarded(|| panic!("lost")), VCYCLE_ERROR_INTERNAL);
        let message = crate::vcycle_last_error();
        // SAFETY: the text is valid until the next call fails.
        let message = unsafe { std::ffi::CStr::from_ptr(message) }
            .to_str()
            .unwrap();
        assert!(
            message.contains("guard.rs") && message.contains("lost"),
            "{message}"
        );
    }

    #[test]
    fn pointers_are_looked_at() {
        let numbers = [1.0f64, 2.0];
        // SAFETY: the array has two items.
        let found = unsafe { slice(numbers.as_ptr(), 2, "b") }.unwrap();
        assert_eq!(found, numbers);
        let odd = numbers.as_ptr().cast::<u8>().wrapping_add(1).cast::<f64>();
        for (pointer, word) in [(std::ptr::null(), "null"), (odd, "aligned")] {
            // SAFETY: what is null or not aligned is refused before it is read.
            let failed = unsafe { slice(pointer, 2, "b") }.unwrap_err();
            assert!(failed.message.contains(word));
        }
        // SAFETY: no item is read.
        let empty = unsafe { slice(std::ptr::null::<f64>(), 0, "b") };
        assert!(empty.unwrap().is_empty());
    }
}
