//! Kernels: sources, arguments and shapes of launches; numbers that stand for what is on a device, and what it is asked for.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A device address. Kernels do arithmetic with it as with any pointer.
pub type Address = u64;

/// A driver's own handle of a module, kernel, graph or event: a pointer or an index.
pub(crate) type Handle = u64;

/// The text of a program and what it is compiled with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// A name for messages: that of the main file.
    pub file: String,
    /// The whole text, headers included: the same for all programs of a file.
    pub text: Arc<str>,
    /// Definitions `NAME=VALUE`.
    pub defines: Vec<String>,
}

/// Without the text, which is long and seldom another where the file is the same.
impl Hash for Source {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.file, self.text.len(), &self.defines).hash(state);
    }
}

/// What a kernel is given, by value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Argument {
    /// A pointer to device memory; 0 is the null pointer.
    Address(Address),
    /// `int`.
    I32(i32),
    /// `unsigned int`.
    U32(u32),
    /// 64 bits, signed.
    I64(i64),
    /// 64 bits, unsigned.
    U64(u64),
    /// `float`.
    F32(f32),
    /// `double`.
    F64(f64),
    /// A complex number of two `float`.
    C32([f32; 2]),
    /// A complex number of two `double`.
    C64([f64; 2]),
}

impl Argument {
    /// Where it points to, if it is a pointer.
    pub(crate) fn address(&self) -> Option<Address> {
        match self {
            Self::Address(address) => Some(*address),
            _ => None,
        }
    }
}

/// How many blocks of how many threads. Local memory is declared by kernels themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Blocks.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
}

/// A compiled kernel of a device; cheap to clone.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(crate) handle: Handle,
    /// Its name, for profiles.
    pub name: Arc<str>,
}

/// What a device was asked for, in that order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Kernels and their programs.
    pub kernels: Vec<(Source, String)>,
    /// Bytes of memory that the driver was asked for.
    pub memory: Vec<usize>,
    /// Bytes of the host that the device copies to.
    pub pinned: Vec<usize>,
}
