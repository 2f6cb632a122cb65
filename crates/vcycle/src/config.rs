//! Configurations: TOML or JSON, or options of the command line, that become solvers.
//!
//! Parameters have one source: the struct of each component, with its defaults. A component is
//! given by its name, by `name:value`, or as a table:
//!
//! ```
//! use vcycle::config::Config;
//! let config = Config::from_toml(r#"
//!     solver = "cg"
//!     preconditioner = { name = "jacobi", weight = 0.9 }
//!     [stop]
//!     rtol = 1e-10
//! "#)?;
//! assert_eq!(config.solver.name(), "cg");
//! let error = Config::from_toml("[stop]\nrtoll = 1e-10").unwrap_err();
//! assert_eq!(error.to_string(), "unknown key `rtoll` in stop; did you mean `rtol`?");
//! # Ok::<(), vcycle::config::ConfigError>(())
//! ```
//!
//! [`solve()`] takes a configuration, a matrix and a right-hand side and does the rest, `auto`
//! included.

pub use crate::configuration::*;
pub use crate::driver::*;
