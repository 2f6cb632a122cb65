//! The precisions of every level.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

use crate::error::ConfigError;
use crate::precision::{Precision, Unit};
use crate::text;

/// `WORKING/MATRIX`, each a list from the finest level down whose last member repeats:
/// `dp-sp/dp-sp-hp` is double, then single precision for vectors and smoothers, and double, single,
/// then half precision for stored matrices. Without a slash both are the same.
///
/// A matrix may not be stored wider than the vectors of its level are. Precisions may widen on the way
/// down: `sp/hp-sp` stores the finest matrix, the largest, in half precision and those below in single.
/// Vectors go from any precision to any other but between half and bfloat, neither of which holds the other.
///
/// The spelling of Zong et al. (2024) is read, too: `K64P32D16` is a solver in 64 bits around cycles
/// that compute in 32 bits and store matrices in 16, which is `sp/hp`; `DB16` stores bfloats.
///
/// ```
/// use vcycle::{config::Unit, multigrid::LevelPrecisions};
/// let precisions: LevelPrecisions = "dp-sp/dp-sp-hp".parse()?;
/// let third = precisions.at(2);
/// assert_eq!((third.working, third.matrix), (Unit::Single, Unit::Half));
/// assert_eq!("K64P32D16".parse::<LevelPrecisions>()?.to_string(), "sp/hp");
/// # Ok::<(), vcycle::config::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelPrecisions {
    working: Vec<Unit>,
    matrix: Vec<Unit>,
}

impl Default for LevelPrecisions {
    fn default() -> Self {
        Self::uniform(Unit::Single)
    }
}

impl From<Precision> for LevelPrecisions {
    /// The same on every level.
    fn from(precision: Precision) -> Self {
        Self {
            working: vec![precision.working],
            matrix: vec![precision.matrix],
        }
    }
}

impl LevelPrecisions {
    /// One precision for everything.
    pub fn uniform(unit: Unit) -> Self {
        let (working, matrix) = (unit, unit);
        Precision { working, matrix }.into()
    }

    /// Those of one level; 0 is the finest.
    pub fn at(&self, level: usize) -> Precision {
        Precision {
            working: *at(&self.working, level),
            matrix: *at(&self.matrix, level),
        }
    }

    /// Those of the levels that are written out; the last one repeats.
    pub(crate) fn listed(&self) -> impl Iterator<Item = Precision> {
        let levels = self.working.len().max(self.matrix.len());
        (0..levels).map(|level| self.at(level))
    }

    /// The same with nothing wider than `widest`.
    #[must_use]
    pub fn capped(&self, widest: Unit) -> Self {
        let cap = |units: &[Unit]| {
            let narrower = |&unit: &Unit| if within(unit, widest) { unit } else { widest };
            units.iter().map(narrower).collect()
        };
        Self {
            working: cap(&self.working),
            matrix: cap(&self.matrix),
        }
    }

    fn check(&self) -> Result<(), &'static str> {
        let mut pairs = self.working.windows(2);
        if !pairs.all(|pair| goes_between(pair[0], pair[1])) {
            return Err(
                "vectors do not go between half precision and bfloat from one level to the next",
            );
        }
        let mut levels = self.listed();
        match levels.all(|level| within(level.matrix, level.working)) {
            true => Ok(()),
            false => Err("a matrix may not be stored wider than the vectors of its level"),
        }
    }
}

/// How transfer operators between two levels are stored: as the matrix of the finer one, but no
/// wider than the vectors of the coarser.
pub(super) fn of_transfer(fine: Precision, coarse: Precision) -> Unit {
    match within(fine.matrix, coarse.working) {
        true => fine.matrix,
        false => coarse.working,
    }
}

fn at(units: &[Unit], level: usize) -> &Unit {
    &units[level.min(units.len() - 1)]
}

/// Whether vectors can go from a level in one precision to a level in the other: transfer operators are stored in
/// the narrower one, which has to be a part of the wider.
pub(super) fn goes_between(one: Unit, other: Unit) -> bool {
    within(one, other) || within(other, one)
}

/// Whether every number of `narrow` is one of `wide`.
fn within(narrow: Unit, wide: Unit) -> bool {
    match wide {
        Unit::Double => true,
        Unit::Single => narrow != Unit::Double,
        half => narrow == half,
    }
}

fn list(text: &str) -> Result<Vec<Unit>, ConfigError> {
    text.split('-').map(Unit::from_str).collect()
}

impl FromStr for LevelPrecisions {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let bad = |reason: &str| ConfigError::BadValue {
            place: "multigrid".to_owned(),
            key: "precision".to_owned(),
            value: text.to_owned(),
            reason: reason.to_owned(),
        };
        let precisions = match text.strip_prefix('K') {
            Some(bits) => in_bits(bits).map_err(bad)?,
            None => {
                let (working, matrix) = text.split_once('/').unwrap_or((text, text));
                Self {
                    working: list(working)?,
                    matrix: list(matrix)?,
                }
            }
        };
        precisions.check().map_err(bad)?;
        Ok(precisions)
    }
}

/// What follows the `K` of `K64P32D16`: bits of the solver, of the cycle's vectors and of its matrices.
fn in_bits(text: &str) -> Result<LevelPrecisions, &'static str> {
    const SPELLING: &str =
        "bits are spelt as in K64P32D16 or K64P32DB16: of solver, vectors and matrices";
    let unit = |bits: &str| match bits {
        "64" => Ok(Unit::Double),
        "32" => Ok(Unit::Single),
        "16" => Ok(Unit::Half),
        "B16" => Ok(Unit::Bfloat),
        _ => Err(SPELLING),
    };
    let (solver, rest) = text.split_once('P').ok_or(SPELLING)?;
    let (working, matrix) = rest.split_once('D').ok_or(SPELLING)?;
    let (working, matrix) = (unit(working)?, unit(matrix)?);
    match unit(solver)? {
        Unit::Double => Ok(Precision { working, matrix }.into()),
        _ => Err(
            "a solver in fewer bits is asked for by the precision of the whole configuration, \
                  `sp`; here say `sp/hp`",
        ),
    }
}

impl Display for LevelPrecisions {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let names = |units: &[Unit]| units.iter().map(|u| u.name()).collect::<Vec<_>>().join("-");
        let (working, matrix) = (names(&self.working), names(&self.matrix));
        if working == matrix {
            return f.pad(&working);
        }
        f.pad(&format!("{working}/{matrix}"))
    }
}

text::as_text!(LevelPrecisions);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notation_is_read_and_written() {
        let all = "dp dp-sp dp-sp-hp dp-sp/dp-sp-hp dp/hp sp-bf sp-dp sp/hp-sp hp-sp-dp/hp-hp-sp";
        for text in all.split(' ') {
            assert_eq!(text.parse::<LevelPrecisions>().unwrap().to_string(), text);
        }
        for text in ["sp/dp", "dp-hp-bf", "hp-sp/sp", "dp-hp/dp-sp", "", "dp-"] {
            assert!(text.parse::<LevelPrecisions>().is_err(), "{text}");
        }
    }

    #[test]
    fn bits_are_another_spelling() {
        for (bits, text) in [
            ("K64P64D64", "dp"),
            ("K64P32D32", "sp"),
            ("K64P32D16", "sp/hp"),
            ("K64P32DB16", "sp/bf"),
            ("K64P64D16", "dp/hp"),
        ] {
            assert_eq!(bits.parse::<LevelPrecisions>().unwrap().to_string(), text);
        }
        for text in ["K", "K64", "K64P32D64", "K16P32D16", "k64p32d16"] {
            assert!(text.parse::<LevelPrecisions>().is_err(), "{text}");
        }
        let single = "K32P32D16".parse::<LevelPrecisions>().unwrap_err();
        assert!(single.to_string().contains("here say `sp/hp`"), "{single}");
    }

    #[test]
    fn nothing_is_wider_than_the_cap() {
        let precisions: LevelPrecisions = "dp-sp/dp-hp".parse().unwrap();
        assert_eq!(precisions.capped(Unit::Single).to_string(), "sp-sp/sp-hp");
    }
}
