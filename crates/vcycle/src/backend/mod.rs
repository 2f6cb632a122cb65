//! The kernels: what an executor's operations are made of.
//!
//! A backend names no algorithm. It has one file per family of kernels, with the same functions
//! in each backend: `reference` says what they mean, `cpu` does the same fast, `gpu` on devices.

pub(crate) mod cpu;
pub(crate) mod gpu;
pub(crate) mod reference;
