//! Numbers that stand for what is on a device.

/// A device address. Kernels do arithmetic with it as with any pointer.
pub type Address = u64;

/// A driver's own handle of a module, kernel, graph or event: a pointer or an index.
pub(crate) type Handle = u64;
