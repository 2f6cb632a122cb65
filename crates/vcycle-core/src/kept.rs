//! Values that are made when they are first needed, and kept.

use std::sync::OnceLock;

use crate::error::Result;

/// What is kept at a place, made at the first call. Where two threads come at once both make the same.
pub fn kept<T>(place: &OnceLock<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    match place.get() {
        Some(kept) => Ok(kept),
        None => {
            let made = make()?;
            Ok(place.get_or_init(|| made))
        }
    }
}
