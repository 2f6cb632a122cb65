//! Registrations of smoothers.

use std::fmt::Display;
use std::str::FromStr;

use crate::counts;
use crate::linop::AnyFactory;
use crate::multigrid::own::limits;
use crate::operations::HostStage;
use crate::prelude::*;
use crate::registration::{Need, Symmetry};

/// The properties of a smoother with one parameter `V`, a number, declared in its file. Options, help, errors and messages
/// are made from them.
#[derive(Clone, Copy, Debug)]
pub(super) struct SmootherRegistration<V: 'static> {
    /// The name; if there are two, the first is written without a parameter and the last with one.
    pub names: &'static [&'static str],
    /// When to choose it, in one line.
    pub summary: &'static str,
    /// What the number after the colon means.
    pub parameter: &'static str,
    /// The number without a colon.
    pub default: V,
    /// Whether that number is written as well.
    pub writes_default: bool,
    /// What kind of operator a sweep is for a symmetric matrix.
    pub symmetry: Symmetry,
    /// Whether a sweep consists of products with the matrix and a diagonal alone.
    pub multiplies_alone: bool,
    /// Requirements.
    pub needs: &'static [Need],
    /// Whether it works over ranks.
    pub over_ranks: bool,
    /// Stages of its set-up that run on the host for matrices of a device.
    pub on_host: &'static [HostStage],
    /// Makes the operator of one sweep; the second argument is the spectral radius of `D^-1 A`, if it is known.
    pub factory: fn(V, Option<f64>) -> Arc<dyn AnyFactory>,
}

impl<V: Copy + PartialEq + Display> SmootherRegistration<V> {
    /// The smoother as options and files spell it.
    pub fn written(&self, value: V) -> String {
        match value == self.default && !self.writes_default {
            true => self.names[0].to_owned(),
            false => format!("{}:{value}", self.names[self.names.len() - 1]),
        }
    }

    /// The entry for help and reference, for any parameter.
    pub fn entry(&self) -> SmootherEntry {
        SmootherEntry {
            names: self.names,
            summary: self.summary,
            parameter: self.parameter,
            default: self.default.to_string(),
            symmetry: self.symmetry,
            needs: self.needs,
            over_ranks: self.over_ranks,
            on_host: self.on_host,
        }
    }
}

/// The entry of a smoother in help and reference.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SmootherEntry {
    /// The names in options and files.
    pub names: &'static [&'static str],
    /// When to choose it, in one line.
    pub summary: &'static str,
    /// What the number after the colon means; empty without one.
    pub parameter: &'static str,
    /// That number by default.
    pub default: String,
    /// What kind of operator a sweep is for a symmetric matrix.
    pub symmetry: Symmetry,
    /// Requirements.
    pub needs: &'static [Need],
    /// Whether it works over ranks.
    pub over_ranks: bool,
    /// Stages of its set-up that run on the host for matrices of a device.
    pub on_host: &'static [HostStage],
}

impl SmootherEntry {
    /// Its limits, as text for help.
    pub fn limits(&self) -> String {
        limits(self.over_ranks, true, self.on_host)
    }
}

/// The parameter of a smoother, from text.
pub(super) fn number<N: FromStr<Err: Display>>(parameter: &str, text: &str) -> Result<N, String> {
    if let Ok(count) = text.parse() {
        counts::check(parameter, count)?;
    }
    text.parse().map_err(|error: N::Err| error.to_string())
}
