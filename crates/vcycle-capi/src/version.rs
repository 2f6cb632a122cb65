//! Which version this is.

/// The version, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn vcycle_version() -> *const std::ffi::c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
