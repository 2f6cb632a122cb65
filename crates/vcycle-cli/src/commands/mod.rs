//! One file, or one folder, a subcommand. None imports another.

pub mod bench;
pub mod config;
pub mod devices;
pub mod generate;
pub mod info;
pub mod kernels;
pub mod presets;
pub mod problems;
pub mod solve;
