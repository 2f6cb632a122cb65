//! What nearly every operation on devices names: what all name, queues, and arguments of kernels.

pub(crate) use super::queue::Queue;
pub(crate) use crate::gpu::{Define, Gpu, Passes, Read, Write, literal};
pub(crate) use crate::prelude::*;
