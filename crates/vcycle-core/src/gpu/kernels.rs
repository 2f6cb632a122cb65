//! The kernels: a function each, made of their declarations in `kernels/*.c` by `build/main.rs`.

#![allow(
    clippy::too_many_arguments,
    clippy::type_complexity,
    clippy::upper_case_acronyms,
    clippy::doc_lazy_continuation,
    non_camel_case_types,
    unused_imports,
    dead_code,
    reason = "made of declarations in another language"
)]

use vcycle_gpu::Argument;

use super::File;
use super::call::{Bits, Launch, List, Passes, Read, Single, Write, number};
use crate::error::Result;
use crate::scalar::{Element, Field, Scalar, f16};

include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
