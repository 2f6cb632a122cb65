//! What is wrong, as a code and in words.

use std::cell::RefCell;
use std::ffi::{CString, c_char};

use vcycle::Error;
use vcycle::config::ConfigError;

use crate::codes::*;

/// Why a call did not do what it is for.
#[derive(Debug)]
pub(crate) struct Failure {
    pub code: i32,
    pub message: String,
}

impl Failure {
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    pub fn argument(message: impl Into<String>) -> Self {
        Self::new(VCYCLE_ERROR_ARGUMENT, message)
    }
}

/// Fails with a message unless something holds: a wrong argument, or the code that stands before the message.
macro_rules! ensure {
    ($holds:expr, $code:ident: $($message:tt)*) => {
        if !$holds {
            return Err($crate::failure::Failure::new($code, format!($($message)*)));
        }
    };
    ($holds:expr, $($message:tt)*) => {
        if !$holds {
            return Err($crate::failure::Failure::argument(format!($($message)*)));
        }
    };
}
pub(crate) use ensure;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(code(&error), error.to_string())
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::new(VCYCLE_ERROR_OPTION, error.to_string())
    }
}

impl From<vcycle_gpu::Error> for Failure {
    fn from(error: vcycle_gpu::Error) -> Self {
        Error::from(error).into()
    }
}

fn code(error: &Error) -> i32 {
    match error {
        Error::OutOfMemory { .. } | Error::NotEnoughMemory { .. } | Error::Threads { .. } => {
            VCYCLE_ERROR_MEMORY
        }
        Error::SizeMismatch { .. } | Error::NotSquare { .. } | Error::ExecutorMismatch { .. } => {
            VCYCLE_ERROR_ARGUMENT
        }
        Error::IndexOutOfRange { .. }
        | Error::InvalidStructure { .. }
        | Error::DuplicateEntry { .. }
        | Error::NonFiniteEntry { .. }
        | Error::NonFiniteVector { .. } => VCYCLE_ERROR_MATRIX,
        Error::Config(_) | Error::BadParameter { .. } => VCYCLE_ERROR_OPTION,
        Error::Device(_) => VCYCLE_ERROR_DEVICE,
        Error::Unsupported { .. } | Error::NeedsEntries { .. } => VCYCLE_ERROR_UNSUPPORTED,
        _ => VCYCLE_ERROR_SETUP,
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Keeps a message for [`vcycle_last_error`].
pub(crate) fn keep(message: &str) {
    let text = CString::new(message.replace('\0', " ")).unwrap_or_default();
    LAST.with(|last| last.replace(text));
}

/// The reason why the last failed call of this thread failed; empty before the first. The text is valid until the next
/// call of this thread fails.
#[unsafe(no_mangle)]
pub extern "C" fn vcycle_last_error() -> *const c_char {
    const NONE: &str = "\0";
    let kept = LAST.try_with(|last| last.borrow().as_ptr());
    kept.unwrap_or(NONE.as_ptr().cast())
}
