//! What is said of singular systems.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::components::unknown_name;
use crate::error::ConfigError;

/// What the matrix annihilates, and so no solution can be told from another by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Nullspace {
    /// `near-nullspace` if one is known and any of its vectors is annihilated, `constant` if every
    /// row and every column sums to zero, both if both is so, else `none`.
    #[default]
    Auto,
    /// Nothing.
    None,
    /// The constants of the connected parts of the matrix whose rows and columns sum to zero:
    /// pure Neumann conditions. They are taken out of the right-hand side, so that there is a
    /// solution, and out of the solution.
    Constant,
    /// Those vectors of the near-nullspace that the matrix and its transpose annihilate (the
    /// rigid-body modes of a body that nothing holds), or, without vectors, the constants of the
    /// components of a node.
    NearNullspace,
}

impl Nullspace {
    fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::None => "none",
            Self::Constant => "constant",
            Self::NearNullspace => "near-nullspace",
        }
    }

    pub(super) fn from_value(value: Value) -> Result<Self, ConfigError> {
        value.as_str().unwrap_or_default().parse()
    }
}

impl FromStr for Nullspace {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let all = [Self::Auto, Self::None, Self::Constant, Self::NearNullspace];
        let known = all.map(Self::name);
        let found = all.into_iter().find(|one| one.name() == text);
        found.ok_or_else(|| unknown_name("nullspace", text, &known, &[]))
    }
}

impl Display for Nullspace {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Nullspace {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}
