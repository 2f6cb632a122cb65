//! The instruction set to compute with: the highest that the host has, unless the environment asks for less.

use crate::error::Refusal;

/// The variable of the environment that limits the level.
const VARIABLE: &str = "VCYCLE_SIMD";

/// An instruction set this library has kernels for; each holds those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub enum Level {
    /// What every processor of the architecture has.
    Portable,
    /// AVX2 with FMA and F16C.
    Avx2,
    /// AVX-512 F, BW, DQ and VL.
    Avx512,
}

impl Level {
    /// From the lowest to the highest.
    pub const ALL: [Self; 3] = [Self::Portable, Self::Avx2, Self::Avx512];

    /// The name in `VCYCLE_SIMD`.
    fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// The level of a name; none of an empty one.
    fn named(name: &str) -> Result<Option<Self>, Refusal> {
        let level = Self::ALL.into_iter().find(|level| level.name() == name);
        match level.is_some() || name.is_empty() {
            true => Ok(level),
            false => Err(Refusal::Parameter {
                parameter: VARIABLE,
                reason: format!(
                    "`{name}` is no set of instructions; known are {}",
                    Self::ALL.map(Self::name).join(", ")
                ),
            }),
        }
    }
}

/// The highest level that `VCYCLE_SIMD` in the environment allows, if it says any.
///
/// # Errors
/// For a value that is none of `portable`, `avx2` and `avx512`.
pub fn asked() -> Result<Option<Level>, Refusal> {
    let value = std::env::var_os(VARIABLE).unwrap_or_default();
    Level::named(&value.to_string_lossy())
}

/// The level to compute with: the highest that the host has.
#[inline]
pub fn level() -> Level {
    #[cfg(any(test, feature = "testing"))]
    if let Some(level) = testing::chosen() {
        return level;
    }
    host_level()
}

/// The highest level of this host that `VCYCLE_SIMD` in the environment allows; asked of the processor once.
#[cfg(target_arch = "x86_64")]
#[inline]
fn host_level() -> Level {
    use std::sync::OnceLock;
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        // An unknown value is reported where an executor is made.
        let most = asked().ok().flatten().unwrap_or(Level::Avx512);
        let found = match (avx2, avx512) {
            (true, true) => Level::Avx512,
            (true, false) => Level::Avx2,
            (false, _) => Level::Portable,
        };
        found.min(most)
    })
}

/// The highest level of this host.
#[cfg(not(target_arch = "x86_64"))]
fn host_level() -> Level {
    Level::Portable
}

/// Lower levels than the host's, so that tests reach every kernel.
#[cfg(any(test, feature = "testing"))]
pub mod testing {
    use std::cell::Cell;

    use super::{Level, host_level};

    thread_local! {
        static CHOSEN: Cell<Option<Level>> = const { Cell::new(None) };
    }

    pub(super) fn chosen() -> Option<Level> {
        CHOSEN.get()
    }

    /// `work` at every level the host has, the highest last. Other threads are not affected: operands
    /// belong to executors with one thread.
    pub fn at_every_level(work: impl Fn(Level)) {
        for level in Level::ALL {
            if level <= host_level() {
                CHOSEN.set(Some(level));
                work(level);
                CHOSEN.set(None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_levels_are_refused_with_the_known_ones() {
        assert_eq!(Level::named(""), Ok(None));
        assert_eq!(Level::named("avx2"), Ok(Some(Level::Avx2)));
        let message = Level::named("bogus").unwrap_err().to_string();
        assert_eq!(
            message,
            "VCYCLE_SIMD: `bogus` is no set of instructions; known are portable, avx2, avx512"
        );
    }
}
