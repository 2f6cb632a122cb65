//! Kernels: sources, arguments and shapes of launches.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::handle::{Address, Handle};

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
