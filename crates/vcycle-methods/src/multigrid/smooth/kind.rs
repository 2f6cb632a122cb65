//! The names of smoothers.

use std::fmt::{Display, Formatter};
use std::str::FromStr;
use std::sync::Arc;

use super::damped::Damped;
use crate::error::ConfigError;
use crate::linop::Factory;
use crate::precond::{
    BlockJacobi, Fsai, HybridGs, Ilu0, Jacobi, L1Jacobi, MulticolourGs, Sor, Ssor,
};
use crate::precond::{ChebyshevBase, ChebyshevPolynomial};
use crate::scalar::Mixes;
use crate::text;

/// Undamped, blocks overcorrect as points do.
const BLOCK_WEIGHT: f64 = 2.0 / 3.0;

/// No eigenvalue of a matrix over its absolute row sums is above 1: any weight below 2 converges, and
/// this one damps those from a third on best, to a half. A sixth to a quarter fewer iterations than 1.
const L1_WEIGHT: f64 = 1.5;

/// A smoother and its one parameter, written `name` or `name:parameter`.
///
/// | | parameter | choose it |
/// |---|---|---|
/// | `auto` | | by default: `chebyshev` or `l1-jacobi`, as the matrix asks for |
/// | `l1-jacobi` | weight, 3/2 | for nonsymmetric and classical hierarchies: converges for every symmetric positive definite matrix |
/// | `jacobi` | weight, 2/3 | for Poisson-like problems, where it is a little faster |
/// | `chebyshev` | degree, 2 | for few, strong sweeps on many threads |
/// | `chebyshev-l1` | degree, 2 | where the rows of a matrix are of very different sums |
/// | `gs`, `sor` | omega, 1 | on few threads; backward after the correction if the matrix is symmetric |
/// | `sgs`, `ssor` | omega, 1 | on few threads, where one sweep has to be symmetric |
/// | `hgs` | rows of a block, 4096 | in place of `gs` on more threads; converges as `l1-jacobi` does |
/// | `hsgs` | rows of a block, 4096 | in place of `sgs` on more threads |
/// | `mcgs`, `mcsgs` | omega, 1 | in place of both on many threads, where blocks are too few |
/// | `ilu0` | sweeps in place of a triangular solve, 0 for none | for anisotropy and convection; a few sweeps on a device |
/// | `block-jacobi` | block size, 8 | for several unknowns a node; damped by 2/3 |
/// | `fsai` | steps, 10 | for ill-conditioned symmetric positive definite matrices on many threads; damped by itself |
///
/// ```
/// use vcycle::multigrid::Smoother;
/// let smoother: Smoother = "chebyshev:3".parse()?;
/// assert_eq!(smoother, Smoother::Chebyshev { degree: 3 });
/// # Ok::<(), vcycle::config::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Smoother {
    /// What suits matrix and coarsening: `chebyshev` for groups of a symmetric matrix, else
    /// `l1-jacobi`, which [`factory`](Self::factory) takes it for.
    #[default]
    Auto,
    /// [`Jacobi`].
    Jacobi {
        /// The damping.
        weight: f64,
    },
    /// [`L1Jacobi`].
    L1Jacobi {
        /// The damping.
        weight: f64,
    },
    /// [`ChebyshevPolynomial`].
    Chebyshev {
        /// Of the polynomial.
        degree: usize,
    },
    /// [`ChebyshevPolynomial`] over `l1-jacobi`.
    ChebyshevL1 {
        /// Of the polynomial.
        degree: usize,
    },
    /// [`Sor`]; Gauss-Seidel for `omega = 1`.
    Sor {
        /// The relaxation.
        omega: f64,
    },
    /// [`Ssor`]; symmetric Gauss-Seidel for `omega = 1`.
    Ssor {
        /// The relaxation.
        omega: f64,
    },
    /// [`MulticolourGs`].
    MulticolourGs {
        /// The relaxation.
        omega: f64,
        /// Whether sweeps go back, too.
        symmetric: bool,
    },
    /// [`HybridGs`].
    HybridGs {
        /// Rows of a block.
        block_rows: usize,
        /// Whether sweeps go back, too.
        symmetric: bool,
    },
    /// [`Ilu0`].
    Ilu0 {
        /// Sweeps in place of each triangular solve; 0 for substitution.
        sweeps: usize,
    },
    /// [`BlockJacobi`].
    BlockJacobi {
        /// Rows of the largest block.
        block_size: usize,
    },
    /// [`Fsai`], damped so that it converges.
    Fsai {
        /// Entries of every row, at most, beside the diagonal.
        steps: usize,
    },
}

impl Smoother {
    /// Every name, as options and files spell it.
    pub const NAMES: &[&str] = &[
        "auto",
        "jacobi",
        "l1-jacobi",
        "chebyshev",
        "chebyshev-l1",
        "gs",
        "sor",
        "sgs",
        "ssor",
        "hgs",
        "hsgs",
        "mcgs",
        "mcsgs",
        "ilu0",
        "block-jacobi",
        "fsai",
    ];

    /// `l1-jacobi` with the weight it has by default.
    pub(in crate::multigrid) fn l1_jacobi() -> Self {
        let weight = L1_WEIGHT;
        Self::L1Jacobi { weight }
    }

    /// Makes the operator of one sweep.
    pub fn factory<T: Mixes<T, T>>(&self) -> Arc<dyn Factory<T>> {
        match *self {
            Self::Auto => Self::l1_jacobi().factory(),
            Self::Jacobi { weight } => Arc::new(Jacobi { weight }),
            Self::L1Jacobi { weight } => Arc::new(L1Jacobi { weight }),
            Self::Chebyshev { .. } => self.factory_for(None),
            Self::ChebyshevL1 { degree } => Arc::new(ChebyshevPolynomial {
                degree,
                base: ChebyshevBase::L1Jacobi,
                ..ChebyshevPolynomial::default()
            }),
            Self::Sor { omega } => Arc::new(Sor {
                omega,
                ..Sor::default()
            }),
            Self::Ssor { omega } => Arc::new(Ssor {
                omega,
                ..Ssor::default()
            }),
            Self::MulticolourGs { omega, symmetric } => Arc::new(MulticolourGs {
                omega,
                symmetric,
                ..MulticolourGs::default()
            }),
            Self::HybridGs {
                block_rows,
                symmetric,
            } => Arc::new(HybridGs {
                block_rows,
                symmetric,
                ..HybridGs::default()
            }),
            Self::Ilu0 { sweeps } => Arc::new(Ilu0 { sweeps }),
            Self::BlockJacobi { block_size } => Arc::new(BlockJacobi {
                block_size,
                weight: BLOCK_WEIGHT,
                ..BlockJacobi::default()
            }),
            Self::Fsai { steps } => Arc::new(Damped(Fsai {
                steps,
                ..Fsai::default()
            })),
        }
    }

    /// Makes the operator of one sweep for a matrix of which the spectral radius of `D^-1 A` may be
    /// known.
    pub(in crate::multigrid) fn factory_for<T: Mixes<T, T>>(
        &self,
        radius: Option<f64>,
    ) -> Arc<dyn Factory<T>> {
        match *self {
            Self::Chebyshev { degree } => Arc::new(ChebyshevPolynomial {
                degree,
                radius,
                ..ChebyshevPolynomial::default()
            }),
            other => other.factory(),
        }
    }

    /// Whether a sweep consists of products with the matrix and a diagonal alone.
    pub(super) fn multiplies_alone(&self) -> bool {
        matches!(
            self,
            Self::Auto
                | Self::Jacobi { .. }
                | Self::L1Jacobi { .. }
                | Self::Chebyshev { .. }
                | Self::ChebyshevL1 { .. }
        )
    }

    /// Whether a sweep is symmetric where the matrix is.
    pub fn is_symmetric(&self) -> bool {
        match self {
            Self::Sor { .. } => false,
            Self::MulticolourGs { symmetric, .. } | Self::HybridGs { symmetric, .. } => *symmetric,
            _ => true,
        }
    }

    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "auto" => Self::Auto,
            "jacobi" => Self::Jacobi { weight: 2.0 / 3.0 },
            "l1-jacobi" => Self::l1_jacobi(),
            "chebyshev" => Self::Chebyshev { degree: 2 },
            "chebyshev-l1" => Self::ChebyshevL1 { degree: 2 },
            "gs" | "sor" => Self::Sor { omega: 1.0 },
            "sgs" | "ssor" => Self::Ssor { omega: 1.0 },
            "hgs" | "hsgs" => Self::HybridGs {
                block_rows: HybridGs::default().block_rows,
                symmetric: name == "hsgs",
            },
            "mcgs" | "mcsgs" => Self::MulticolourGs {
                omega: 1.0,
                symmetric: name == "mcsgs",
            },
            "ilu0" => Self::Ilu0 { sweeps: 0 },
            "block-jacobi" => Self::BlockJacobi { block_size: 8 },
            "fsai" => Self::Fsai {
                steps: Fsai::default().steps,
            },
            _ => return None,
        })
    }

    /// Sets the parameter from text.
    fn set(&mut self, text: &str) -> Result<(), String> {
        match self {
            Self::Jacobi { weight: value }
            | Self::L1Jacobi { weight: value }
            | Self::Sor { omega: value }
            | Self::Ssor { omega: value }
            | Self::MulticolourGs { omega: value, .. } => *value = number(text)?,
            Self::Chebyshev { degree: value }
            | Self::ChebyshevL1 { degree: value }
            | Self::HybridGs {
                block_rows: value, ..
            }
            | Self::BlockJacobi { block_size: value }
            | Self::Ilu0 { sweeps: value }
            | Self::Fsai { steps: value } => *value = number(text)?,
            Self::Auto => return Err("it has no parameter".to_owned()),
        }
        Ok(())
    }
}

fn number<N: FromStr<Err: Display>>(text: &str) -> Result<N, String> {
    text.parse().map_err(|error: N::Err| error.to_string())
}

impl FromStr for Smoother {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let (name, parameter) = match text.split_once(':') {
            Some((name, parameter)) => (name, Some(parameter)),
            None => (text, None),
        };
        let mut smoother = Self::named(name)
            .ok_or_else(|| ConfigError::unknown_name("smoother", name, Self::NAMES.to_vec()))?;
        if let Some(parameter) = parameter {
            smoother
                .set(parameter)
                .map_err(|reason| ConfigError::BadValue {
                    place: format!("smoother {name}"),
                    key: "parameter".to_owned(),
                    value: parameter.to_owned(),
                    reason,
                })?;
        }
        Ok(smoother)
    }
}

impl Display for Smoother {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let text = match self {
            Self::Auto => "auto".to_owned(),
            Self::Jacobi { weight } => format!("jacobi:{weight}"),
            Self::L1Jacobi { weight } if *weight == L1_WEIGHT => "l1-jacobi".to_owned(),
            Self::L1Jacobi { weight } => format!("l1-jacobi:{weight}"),
            Self::Chebyshev { degree } => format!("chebyshev:{degree}"),
            Self::ChebyshevL1 { degree } => format!("chebyshev-l1:{degree}"),
            Self::Sor { omega } if *omega == 1.0 => "gs".to_owned(),
            Self::Sor { omega } => format!("sor:{omega}"),
            Self::Ssor { omega } if *omega == 1.0 => "sgs".to_owned(),
            Self::Ssor { omega } => format!("ssor:{omega}"),
            Self::MulticolourGs { omega, symmetric } => {
                let name = if *symmetric { "mcsgs" } else { "mcgs" };
                format!("{name}:{omega}")
            }
            Self::HybridGs {
                block_rows,
                symmetric,
            } => {
                let name = if *symmetric { "hsgs" } else { "hgs" };
                format!("{name}:{block_rows}")
            }
            Self::Ilu0 { sweeps: 0 } => "ilu0".to_owned(),
            Self::Ilu0 { sweeps } => format!("ilu0:{sweeps}"),
            Self::BlockJacobi { block_size } => format!("block-jacobi:{block_size}"),
            Self::Fsai { steps } => format!("fsai:{steps}"),
        };
        f.pad(&text)
    }
}

text::as_text!(Smoother);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_and_what_is_written_is_read_again() {
        for name in Smoother::NAMES {
            let smoother: Smoother = name.parse().unwrap();
            assert_eq!(smoother.to_string().parse::<Smoother>().unwrap(), smoother);
        }
        let half: Smoother = "jacobi:0.5".parse().unwrap();
        assert_eq!(half, Smoother::Jacobi { weight: 0.5 });
    }

    #[test]
    fn wrong_names_and_parameters_are_told_apart() {
        let error = |text: &str| text.parse::<Smoother>().unwrap_err();
        assert!(
            error("jacobbi")
                .to_string()
                .contains("did you mean `jacobi`")
        );
        assert!(matches!(error("auto:1"), ConfigError::BadValue { .. }));
        assert!(matches!(error("chebyshev:x"), ConfigError::BadValue { .. }));
    }
}
