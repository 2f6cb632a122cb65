//! The program `vcycle`, run as its users run it.

#[cfg(unix)]
mod bench;
mod cases;
mod common;
mod contract;
mod ranks;
mod special;
