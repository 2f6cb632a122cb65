//! The three precisions of structured multigrid: of the solver, of the cycle's arithmetic and of its storage.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

use crate::error::ConfigError;
use crate::precision::Unit;
use crate::text;

/// `K64P32D16`: a Krylov method in 64 bits, a preconditioner that computes in 32 bits and stores its
/// matrices in 16 (the notation of Zong et al. 2024). `DB16` stores them as bfloat.
///
/// ```
/// use vcycle::{config::Unit, structured::Triple};
/// let triple: Triple = "K64P32D16".parse()?;
/// assert_eq!((triple.compute, triple.storage), (Unit::Single, Unit::Half));
/// # Ok::<(), vcycle::config::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Triple {
    /// Of the solver around the preconditioner.
    pub krylov: Unit,
    /// Of the preconditioner's vectors: double or single.
    pub compute: Unit,
    /// Of its matrices; no wider than the vectors.
    pub storage: Unit,
}

impl Triple {
    /// A triple for a solver in double precision.
    pub fn new(compute: Unit, storage: Unit) -> Self {
        Self {
            krylov: Unit::Double,
            compute,
            storage,
        }
    }
}

const KNOWN: [&str; 6] = [
    "K64P64D64",
    "K64P32D32",
    "K64P32D16",
    "K64P32DB16",
    "K64P64D16",
    "K32P32D16",
];

impl FromStr for Triple {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let unknown = || ConfigError::unknown_name("precision", text, KNOWN.to_vec());
        let (krylov, rest) = text
            .strip_prefix('K')
            .and_then(|rest| rest.split_once('P'))
            .ok_or_else(unknown)?;
        let (compute, storage) = rest.split_once('D').ok_or_else(unknown)?;
        let unit = |bits: &str| match bits {
            "64" => Ok(Unit::Double),
            "32" => Ok(Unit::Single),
            "16" => Ok(Unit::Half),
            "B16" => Ok(Unit::Bfloat),
            _ => Err(unknown()),
        };
        let triple = Self {
            krylov: unit(krylov)?,
            compute: unit(compute)?,
            storage: unit(storage)?,
        };
        let wide = |unit| matches!(unit, Unit::Double | Unit::Single);
        let fits = triple.compute == Unit::Double || triple.storage != Unit::Double;
        match wide(triple.krylov) && wide(triple.compute) && fits {
            true => Ok(triple),
            false => Err(unknown()),
        }
    }
}

impl Display for Triple {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let bits = |unit| match unit {
            Unit::Double => "64",
            Unit::Single => "32",
            Unit::Half => "16",
            Unit::Bfloat => "B16",
        };
        let [krylov, compute, storage] = [self.krylov, self.compute, self.storage].map(bits);
        f.pad(&format!("K{krylov}P{compute}D{storage}"))
    }
}

text::as_text!(Triple);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notation_is_read_and_written() {
        for text in KNOWN {
            assert_eq!(text.parse::<Triple>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "K64",
            "K64P16D16",
            "K64P32D64",
            "K16P32D16",
            "k64p32d16",
        ] {
            assert!(text.parse::<Triple>().is_err(), "{text}");
        }
    }
}
