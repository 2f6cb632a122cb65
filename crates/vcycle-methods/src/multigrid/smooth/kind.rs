//! The table of smoothers.

use std::fmt::{Debug, Display, Formatter};
use std::str::FromStr;

use super::preconditioners;
use super::registration::{SmootherEntry, number};
use crate::error::ConfigError;
use crate::linop::{AnyFactory, LevelScalar};
use crate::multigrid::inner::Inner;
use crate::multigrid::own::{Own, check_over_ranks, registered};
use crate::precond::Fsai as FsaiParameters;
use crate::prelude::*;
use crate::registration::Symmetry;

/// A smoother of one's own; [`Smoother::own`] and [`Smoother::register`] take it.
///
/// The operator `M` of a sweep `x += M (b - A x)` is made by any [`Factory`]. Levels work in the precision chosen
/// for them, so it has to serve all six types: write `impl<T: Mixes<T, T>> Factory<T>`, or let
/// [`InPrecision`](crate::linop::InPrecision) convert for a factory of one precision.
pub trait Smooth: Debug + Send + Sync {
    /// Its name in reports, and in options and files once it is registered.
    fn name(&self) -> &'static str;

    /// What kind of operator `M` is for a symmetric matrix. Of one-sided ones the adjoint
    /// ([`LinOp::apply_transposed`]) smooths after the coarse correction, so that the cycle is symmetric.
    fn symmetry(&self) -> Symmetry;

    /// What makes the operator of one sweep.
    fn factory(&self) -> Arc<dyn AnyFactory>;
}

registered!(Smoother, "smoother", Smooth, library_names);

/// Makes the enum of smoothers: each with its parameter, and the registration in its own file.
macro_rules! smoothers {
    ($($variant:ident { $parameter:ident: $type:ty } = $file:ident::$registration:ident,)*) => {
        /// A smoother and its one parameter, written `name` or `name:parameter`.
        ///
        /// `vcycle config` lists them with what their parameter means and when to choose them.
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
            /// `l1-jacobi`, which it is taken for where nothing is known of them.
            #[default]
            Auto,
            $(
                #[doc = concat!("That of `multigrid/smooth/", stringify!($file), ".rs`.")]
                $variant {
                    #[doc = concat!("Its ", stringify!($parameter), ".")]
                    $parameter: $type,
                },
            )*
            /// A solver: so many iterations without a preconditioner, `cg:2`.
            Solver {
                /// Which.
                solver: &'static Inner,
                /// How many iterations a sweep has.
                iterations: usize,
            },
            /// A user's own.
            Own(Own<dyn Smooth>),
        }

        impl Smoother {
            /// Every smoother of the library in words.
            pub fn entries() -> Vec<SmootherEntry> {
                vec![AUTO, $($file::$registration.entry()),*]
            }

            fn named(name: &str) -> Option<Self> {
                $(
                    if $file::$registration.names.contains(&name) {
                        return Some(Self::$variant {
                            $parameter: $file::$registration.default,
                        });
                    }
                )*
                if name == "auto" {
                    return Some(Self::Auto);
                }
                let own = REGISTER.find(name).map(Self::Own);
                own.or_else(|| Inner::solver(name).map(Self::solver))
            }

            /// Sets the parameter from text.
            fn set(&mut self, text: &str) -> Result<(), String> {
                match self {
                    $(Self::$variant { $parameter } => *$parameter = number(stringify!($parameter), text)?,)*
                    Self::Solver { iterations, .. } => *iterations = number("iterations", text)?,
                    Self::Auto | Self::Own(_) => return Err("it has no parameter".to_owned()),
                }
                Ok(())
            }

            /// What makes the operator of one sweep, for a matrix of which the spectral radius of
            /// `D^-1 A` may be known.
            fn made(&self, radius: Option<f64>) -> Arc<dyn AnyFactory> {
                match *self {
                    Self::Auto => Self::l1_jacobi().made(radius),
                    $(Self::$variant { $parameter } => {
                        ($file::$registration.factory)($parameter, radius)
                    })*
                    Self::Solver { solver, iterations } => solver.iterated(iterations),
                    Self::Own(own) => own.factory(),
                }
            }

            /// Whether a sweep consists of products with the matrix and a diagonal alone.
            pub(super) fn multiplies_alone(&self) -> bool {
                match self {
                    Self::Auto => Self::l1_jacobi().multiplies_alone(),
                    $(Self::$variant { .. } => $file::$registration.multiplies_alone,)*
                    Self::Solver { .. } | Self::Own(_) => false,
                }
            }

            /// Whether ranks that share a matrix can make it; solvers and smoothers of users know of themselves.
            fn is_over_ranks(&self) -> bool {
                match self {
                    Self::Auto => AUTO.over_ranks,
                    $(Self::$variant { .. } => $file::$registration.over_ranks,)*
                    Self::Solver { .. } | Self::Own(_) => true,
                }
            }

            /// What kind of operator a sweep is for a symmetric matrix.
            pub fn symmetry(&self) -> Symmetry {
                match self {
                    Self::Auto => Self::l1_jacobi().symmetry(),
                    $(Self::$variant { .. } => $file::$registration.symmetry,)*
                    Self::Solver { solver, .. } => solver.symmetry(),
                    Self::Own(own) => own.symmetry(),
                }
            }
        }

        impl Display for Smoother {
            fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
                match self {
                    Self::Auto => f.pad("auto"),
                    $(Self::$variant { $parameter } => {
                        f.pad(&$file::$registration.written(*$parameter))
                    })*
                    Self::Solver { solver, iterations } => {
                        f.pad(&format!("{}:{iterations}", solver.name()))
                    }
                    Self::Own(own) => f.pad(own.name()),
                }
            }
        }
    };
}

smoothers! {
    Jacobi { weight: f64 } = preconditioners::JACOBI,
    L1Jacobi { weight: f64 } = preconditioners::L1_JACOBI,
    Chebyshev { degree: usize } = preconditioners::CHEBYSHEV,
    ChebyshevL1 { degree: usize } = preconditioners::CHEBYSHEV_L1,
    Sor { omega: f64 } = preconditioners::SOR,
    Ssor { omega: f64 } = preconditioners::SSOR,
    HybridGs { block_rows: usize } = preconditioners::HYBRID_GS,
    HybridSgs { block_rows: usize } = preconditioners::HYBRID_SGS,
    MulticolourGs { omega: f64 } = preconditioners::MULTICOLOUR_GS,
    MulticolourSgs { omega: f64 } = preconditioners::MULTICOLOUR_SGS,
    Ilu0 { sweeps: usize } = preconditioners::ILU0,
    BlockJacobi { block_size: usize } = preconditioners::BLOCK_JACOBI,
    Fsai { parameters: FsaiParameters } = preconditioners::FSAI,
}

const AUTO: SmootherEntry = SmootherEntry {
    names: &["auto"],
    summary: "by default: `chebyshev` or `l1-jacobi`, as the matrix asks for",
    parameter: "",
    default: String::new(),
    symmetry: Symmetry::Symmetric,
    needs: &[],
    over_ranks: true,
    on_host: &[],
};

/// Iterations of a solver in one sweep, unless they are given.
const ITERATIONS: usize = 2;

impl Smoother {
    fn solver(solver: &'static Inner) -> Self {
        Self::Solver {
            solver,
            iterations: ITERATIONS,
        }
    }

    /// Whether a sweep is to be followed by its adjoint where the matrix is symmetric.
    pub fn is_one_sided(&self) -> bool {
        self.symmetry() == Symmetry::OneSided
    }

    /// `l1-jacobi` with the weight it has by default.
    pub(in crate::multigrid) fn l1_jacobi() -> Self {
        Self::L1Jacobi {
            weight: preconditioners::L1_JACOBI.default,
        }
    }

    /// `fsai` with so many steps of so many entries.
    pub(in crate::multigrid) fn fsai(steps: usize, step_size: usize) -> Self {
        let parameters = FsaiParameters {
            steps,
            step_size,
            ..FsaiParameters::DEFAULT
        };
        Self::Fsai { parameters }
    }

    /// Fails, with those that do it, unless it is for matrices that ranks share.
    pub(in crate::multigrid) fn check_ranks(&self) -> Result<()> {
        let others = Self::entries().into_iter().skip(1);
        let others = others.filter(|entry| entry.over_ranks);
        let others = others.map(|entry| entry.names[0]);
        check_over_ranks(self.is_over_ranks(), "smoother", self, others)
    }

    /// Makes the operator of one sweep for a matrix of which the spectral radius of `D^-1 A` may be
    /// known.
    pub(in crate::multigrid) fn generate_for<T: LevelScalar>(
        &self,
        a: &Arc<dyn LinOp<T>>,
        radius: Option<f64>,
        ws: &Workspace,
    ) -> Result<Arc<dyn LinOp<T>>> {
        T::generate_by(self.made(radius).as_ref(), a, ws)
    }
}

/// The name of every smoother of the library, as options and files spell it.
fn library_names() -> Vec<&'static str> {
    let entries = Smoother::entries();
    entries.iter().flat_map(|one| one.names).copied().collect()
}

/// Makes the operator of one sweep.
impl<T: LevelScalar> Factory<T> for Smoother {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        self.generate_for(a, None, ws)
    }
}

impl FromStr for Smoother {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let (name, parameter) = match text.split_once(':') {
            Some((name, parameter)) => (name, Some(parameter)),
            None => (text, None),
        };
        let mut smoother = Self::named(name)
            .ok_or_else(|| ConfigError::unknown_name("smoother", name, Self::names()))?;
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

#[cfg(test)]
mod tests {
    use super::super::richardson;
    use super::*;

    #[test]
    fn every_name_is_read_and_what_is_written_is_read_again() {
        for name in library_names() {
            let smoother: Smoother = name.parse().unwrap();
            assert_eq!(smoother.to_string().parse::<Smoother>().unwrap(), smoother);
        }
        let endless = "chebyshev:9223372036854775807".parse::<Smoother>();
        let message = endless.unwrap_err().to_string();
        assert!(message.contains("at most 100000"), "{message}");
        let half: Smoother = "jacobi:0.5".parse().unwrap();
        assert_eq!(half, Smoother::Jacobi { weight: 0.5 });
    }

    /// The example of `docs/add-a-smoother.md`.
    #[derive(Debug)]
    struct Example;

    impl Smooth for Example {
        fn name(&self) -> &'static str {
            richardson::RICHARDSON.names[0]
        }

        fn symmetry(&self) -> Symmetry {
            richardson::RICHARDSON.symmetry
        }

        fn factory(&self) -> Arc<dyn AnyFactory> {
            (richardson::RICHARDSON.factory)(1.0, None)
        }
    }

    #[test]
    fn a_smoother_of_ones_own_has_a_name_once_it_is_registered() {
        let unknown = "richardson".parse::<Smoother>().unwrap_err();
        assert!(matches!(unknown, ConfigError::UnknownName { .. }));
        let registered = Smoother::register(&Example).unwrap();
        assert_eq!(registered, "richardson".parse().unwrap());
        assert_eq!(registered.to_string(), "richardson");
        assert_eq!(registered, Smoother::own(&Example));
        assert!(Smoother::names().contains(&"richardson"));
        assert!("richardson:2".parse::<Smoother>().is_err());
        let taken = crate::multigrid::Amg::default().with_smoother(&Example);
        assert_eq!(taken.smoother, registered);
    }

    #[test]
    fn the_example_smooths_in_every_precision() {
        let cpu = crate::executor::Executor::reference();
        let a = crate::gallery::build("poisson5:4", &cpu).unwrap().matrix;
        let half: Arc<dyn LinOp<f32>> = Arc::new(a.convert::<f32>().unwrap());
        let double: Arc<dyn LinOp<f64>> = Arc::new(a);
        let smoother = Smoother::own(&Example);
        let ws = Workspace::new();
        let m: Arc<dyn LinOp<f64>> = smoother.generate(&double, &ws).unwrap();
        let b = crate::vector::Vector::filled(&cpu, 16, 1, 1.0).unwrap();
        let mut x = crate::vector::Vector::zeros_like(&b).unwrap();
        m.apply(&b, &mut x, &ws).unwrap();
        assert_eq!(x.to_vec(), [0.125; 16]);
        assert!(smoother.generate(&half, &ws).is_ok());
    }

    #[test]
    fn every_parameter_of_fsai_is_taken() {
        let smoother: Smoother = "fsai:4:step-size=5:filter=0.1".parse().unwrap();
        let mut parameters = FsaiParameters::default();
        (parameters.steps, parameters.step_size, parameters.filter) = (4, 5, 0.1);
        assert_eq!(smoother, Smoother::Fsai { parameters });
        assert_eq!(smoother.to_string(), "fsai:4:step-size=5:filter=0.1");
        assert_eq!(Smoother::fsai(7, 1).to_string(), "fsai:7");
    }

    #[test]
    fn solvers_are_smoothers_of_so_many_iterations() {
        let smoother: Smoother = "cg:3".parse().unwrap();
        assert_eq!(smoother.to_string(), "cg:3");
        assert_eq!(smoother.symmetry(), Symmetry::Varying);
        assert_eq!("gmres".parse::<Smoother>().unwrap().to_string(), "gmres:2");
        assert!(matches!(
            "chebyshev".parse().unwrap(),
            Smoother::Chebyshev { .. }
        ));
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
