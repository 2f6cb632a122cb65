//! In which precision vectors are computed and the matrix is stored.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::error::ConfigError;
use crate::prelude::*;

/// `WORKING/MATRIX`: the precision of vectors and preconditioner, and of the stored matrix.
///
/// `dp sp hp bf` are double, single, half and bfloat; one alone means both. Whatever is chosen,
/// the tolerance holds for the matrix as it was given: anything but `dp` becomes the inner solve
/// of iterative refinement in double precision.
///
/// ```
/// use vcycle::config::{Precision, Unit};
/// let precision: Precision = "dp/sp".parse()?;
/// assert_eq!((precision.working, precision.matrix), (Unit::Double, Unit::Single));
/// # Ok::<(), vcycle::config::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Precision {
    /// Of vectors, arithmetic and preconditioner.
    pub working: Unit,
    /// Of the stored matrix.
    pub matrix: Unit,
}

/// A precision; for complex numbers that of their parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// `dp`, 64 bits.
    #[default]
    Double,
    /// `sp`, 32 bits.
    Single,
    /// `hp`, 16 bits with 11 of mantissa.
    Half,
    /// `bf`, 16 bits with 8 of mantissa and the range of single precision.
    Bfloat,
}

impl Unit {
    /// That of a storage type.
    pub(crate) fn of(kind: Kind) -> Self {
        match kind {
            Kind::F64 | Kind::C64 => Unit::Double,
            Kind::F32 | Kind::C32 => Unit::Single,
            Kind::F16 => Unit::Half,
            Kind::Bf16 => Unit::Bfloat,
        }
    }

    /// The name in the notation of the literature: `dp`, `sp`, `hp`, `bf`.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Double => "dp",
            Unit::Single => "sp",
            Unit::Half => "hp",
            Unit::Bfloat => "bf",
        }
    }

    /// The largest relative error of rounding to it.
    pub fn roundoff(self) -> f64 {
        let kind = self.kind(false);
        kind.expect("there are real numbers of every unit")
            .roundoff()
    }

    /// The storage type for real or complex numbers; `None` for the complex halves.
    pub fn kind(self, complex: bool) -> Option<Kind> {
        match (self, complex) {
            (Unit::Double, false) => Some(Kind::F64),
            (Unit::Single, false) => Some(Kind::F32),
            (Unit::Half, false) => Some(Kind::F16),
            (Unit::Bfloat, false) => Some(Kind::Bf16),
            (Unit::Double, true) => Some(Kind::C64),
            (Unit::Single, true) => Some(Kind::C32),
            (_, true) => None,
        }
    }
}

impl FromStr for Unit {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        match text {
            "dp" => Ok(Unit::Double),
            "sp" => Ok(Unit::Single),
            "hp" => Ok(Unit::Half),
            "bf" => Ok(Unit::Bfloat),
            _ if text.contains('-') => Err(ConfigError::NotAvailable {
                family: "precision of several levels",
                name: text.to_owned(),
            }),
            _ => Err(ConfigError::UnknownName {
                family: "precision",
                name: text.to_owned(),
                suggestion: same_bits(text).map(str::to_owned),
                known: vec!["dp", "sp", "hp", "bf", "dp/sp", "dp/hp", "dp/bf", "sp/hp"],
            }),
        }
    }
}

/// The notation for what others call the same precision.
fn same_bits(text: &str) -> Option<&'static str> {
    match text {
        "f64" | "double" => Some("dp"),
        "f32" | "single" => Some("sp"),
        "f16" | "half" => Some("hp"),
        "bf16" => Some("bf"),
        _ => None,
    }
}

impl FromStr for Precision {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let (working, matrix) = text.split_once('/').unwrap_or((text, text));
        let (working, matrix) = (working.parse::<Unit>()?, matrix.parse()?);
        if matches!(working, Unit::Half | Unit::Bfloat) {
            return Err(bad_precision(
                text,
                "vectors need at least single precision: try `sp/hp`",
            ));
        }
        Ok(Self { working, matrix })
    }
}

impl Precision {
    /// The precision that a value of a configuration names.
    ///
    /// # Errors
    /// For anything but a text such as `dp/sp`.
    pub fn from_value(value: Value) -> Result<Self, ConfigError> {
        match value.as_str() {
            Some(text) => text.parse(),
            None => Err(bad_precision(
                &value.to_string(),
                "a text like \"dp/sp\" is needed",
            )),
        }
    }

    /// Whether nothing is rounded, so that no refinement is needed.
    pub fn is_double(self) -> bool {
        self == Self::default()
    }

    /// The coarser roundoff of the two.
    pub fn roundoff(self) -> f64 {
        self.working.roundoff().max(self.matrix.roundoff())
    }
}

/// What is wrong with the key `precision`.
pub fn bad_precision(value: &str, reason: &str) -> ConfigError {
    ConfigError::BadValue {
        place: "the configuration".to_owned(),
        key: "precision".to_owned(),
        value: value.to_owned(),
        reason: reason.to_owned(),
    }
}

impl Display for Precision {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        if self.working == self.matrix {
            return f.pad(self.working.name());
        }
        f.pad(&format!("{}/{}", self.working.name(), self.matrix.name()))
    }
}

impl Serialize for Precision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notation_is_read_and_written() {
        for text in ["dp", "sp", "dp/sp", "dp/bf", "sp/hp"] {
            assert_eq!(text.parse::<Precision>().unwrap().to_string(), text);
        }
        let error = |text: &str| text.parse::<Precision>().unwrap_err().to_string();
        assert_eq!(error("f32"), "unknown precision `f32`; did you mean `sp`?");
        assert!(error("hp").contains("try `sp/hp`"));
        assert!(error("dp-sp").contains("not available"));
    }
}
