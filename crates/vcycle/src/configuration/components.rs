//! The names of solvers and preconditioners, and the parameter struct behind each.

use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::inner::InnerSolver;
use super::schwarz::Schwarz;
use super::text::{brief_form, named, short_form};
use super::value::{Table, arguments, bad_value, parameters};
use crate::error::ConfigError;
use crate::linop::Factory;
use crate::multigrid::Amg;
use crate::precond::{
    BlockDirect, BlockJacobi, Fsai, HybridGs, Ic0, Ick, Ilu0, Iluk, Ilut, Isai, Jacobi, L1Jacobi,
    MulticolourGs, ParIc, ParIct, ParIlu, ParIlut, Polynomial, Sor, Ssor,
};
use crate::registration::PreconditionerComponent;
use crate::registration::{Component, Memory, MemoryOf, Need, Registration, Support, Symmetry};
use crate::saddle::Saddle;
use crate::scalar::Mixes;
#[cfg(feature = "direct")]
use crate::solver::Direct;
use crate::solver::SolverComponent;
use crate::solver::{
    Bicg, Bicgstab, BlockCg, BlockGmres, Cg, Cgs, Chebyshev, Fcg, Fgmres, Gcr, GcroDr, Gmres, Idr,
    Ir, Method, Minres, PipeCg, PipeGmres,
};
use crate::structured::StructMg;

/// Stands in where the library is built without the direct solver.
#[cfg(not(feature = "direct"))]
type Direct = NoParameters;

/// For components that have nothing to choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct NoParameters {}

/// Makes an enum of components from the table of their parameter structs; what they are stands in their
/// own files ([`Registration`]). After `as`: what is made where that is not the struct itself; after `by`: the
/// method that makes it, which may fail. After `+`: what else may be named.
macro_rules! components {
    (
        $(#[$doc:meta])*
        enum $family:ident($title:literal) fn $make:ident makes $made:ty: dyn $trait:ident {
            $($variant:ident($parameters:ty) = $registration:expr $(, as $special:expr)? $(, by $own:ident)?;)*
            $(+ $other:ident($others:ty);)?
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        // A program holds few of them.
        #[allow(clippy::large_enum_variant)]
        pub enum $family {
            $(
                #[doc = concat!("With the parameters of [`", stringify!($parameters), "`].")]
                $variant($parameters),
            )*
            $(
                #[doc = concat!("See [`", stringify!($others), "`].")]
                $other($others),
            )?
        }

        impl $family {
            /// Every name, as options and files spell it.
            pub const NAMES: &[&str] = &[$($registration.name),*];

            /// What each of them says of itself.
            pub const REGISTRATIONS: &[Registration] = &[$($registration),*];

            /// What it says of itself.
            pub fn registration(&self) -> Registration {
                match self {
                    $(Self::$variant(_) => $registration,)*
                    $(Self::$other(other) => <$others>::registration(other),)?
                }
            }

            /// Whether something has to be given.
            pub fn has_need(&self, need: Need) -> bool {
                self.registration().has_need(need)
            }

            /// The name, as options and files spell it.
            pub fn name(&self) -> &'static str {
                self.registration().name
            }

            /// The memory it takes.
            pub fn memory(&self, of: MemoryOf) -> Memory {
                match self {
                    $(Self::$variant(p) => p.memory(of),)*
                    $(Self::$other(other) => <$others>::memory(other, of),)?
                }
            }

            /// Every component with its default parameters.
            pub fn all() -> Vec<Self> {
                vec![$(Self::$variant(Default::default())),*]
            }

            /// What kind of operator it makes of a symmetric matrix.
            pub fn symmetry(&self) -> Symmetry {
                match self {
                    $(Self::$variant(p) => p.symmetry(),)*
                    $(Self::$other(other) => <$others>::symmetry(other),)?
                }
            }

            /// The short form without the parameters that are as by default.
            pub fn brief(&self) -> String {
                let same = Self::named(self.name());
                brief_form(self.name(), self, &same)
            }

            fn named(name: &str) -> Option<Self> {
                Self::from_table(name, Table::new()).ok()
            }

            pub(super) fn from_table(name: &str, table: Table) -> Result<Self, ConfigError> {
                let place = format!("{} {name}", $title);
                $(
                    if name == $registration.name {
                        return parameters(&place, table).map(Self::$variant);
                    }
                )*
                $(
                    if <$others>::NAMES.contains(&name) {
                        return <$others>::from_table(&place, name, table).map(Self::$other);
                    }
                )?
                Err(unknown_name($title, name, Self::NAMES, &[]))
            }

            fn positional(name: &str) -> &'static [&'static str] {
                let known = Self::REGISTRATIONS.iter().find(|known| known.name == name);
                $(let known = known.or(Some(&<$others>::REGISTRATION));)?
                known.map_or(&[], |known| known.after_colon)
            }

            /// From a configuration file: a name, or a table with `name` and parameters.
            pub(super) fn from_value(value: Value) -> Result<Self, ConfigError> {
                match value {
                    Value::String(text) => text.parse(),
                    Value::Object(mut table) => match table.remove("name") {
                        Some(Value::String(name)) => Self::from_table(&name, table),
                        _ => Err(no_name($title)),
                    },
                    _ => Err(no_name($title)),
                }
            }

            fn $make<T: Mixes<T, T>>(&self) -> Result<$made, ConfigError> {
                match self {
                    $(Self::$variant(p) => components!(@made p, $trait $(, $special)? $(, by $own)?),)*
                    $(Self::$other(other) => <$others>::factory(other).map(Some),)?
                }
            }
        }

        impl Serialize for $family {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                let parameters = match self {
                    $(Self::$variant(parameters) => serde_json::to_value(parameters),)*
                    $(Self::$other(parameters) => serde_json::to_value(parameters),)?
                };
                named(self.name(), &parameters.map_err(serde::ser::Error::custom)?, to)
            }
        }

        /// The short form that can be parsed again: `gmres:restart=30`.
        impl std::fmt::Display for $family {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&short_form(self.name(), self))
            }
        }

        impl std::str::FromStr for $family {
            type Err = ConfigError;

            /// `name`, `name:value` or `name:key=value,...`.
            fn from_str(text: &str) -> Result<Self, ConfigError> {
                match text.split_once(':') {
                    None => Self::from_table(text, Table::new()),
                    Some((name, rest)) => {
                        let place = format!("{} {name}", $title);
                        // An unknown name is the more helpful complaint.
                        Self::from_table(name, Table::new())?;
                        Self::from_table(name, arguments(&place, rest, Self::positional(name))?)
                    }
                }
            }
        }
    };
    (@made $p:ident, Method) => {
        Ok(Some($p.method()))
    };
    (@made $p:ident, Factory) => {
        Ok(Some($p.factory()))
    };
    (@made $p:ident, $trait:ident, by $own:ident) => {
        $p.$own().map(Some)
    };
    (@made $p:ident, $trait:ident, $special:expr) => {{
        let _ = $p;
        $special
    }};
}

components! {
    /// A solver and its parameters.
    ///
    /// ```
    /// use vcycle::config::SolverConfig;
    /// let solver: SolverConfig = "cg".parse()?;
    /// assert_eq!(solver.name(), "cg");
    /// let error = "gcc".parse::<SolverConfig>().unwrap_err();
    /// assert!(error.to_string().starts_with("unknown solver `gcc`; did you mean"));
    /// # Ok::<(), vcycle::config::ConfigError>(())
    /// ```
    enum SolverConfig("solver") fn made makes Option<Arc<dyn Method<T>>>: dyn Method {
        Auto(NoParameters) = AUTO, as Err(undecided("solver"));
        Cg(Cg) = Cg::REGISTRATION;
        Fcg(Fcg) = Fcg::REGISTRATION;
        PipeCg(PipeCg) = PipeCg::REGISTRATION;
        Minres(Minres) = Minres::REGISTRATION;
        Bicg(Bicg) = Bicg::REGISTRATION;
        Bicgstab(Bicgstab) = Bicgstab::REGISTRATION;
        Cgs(Cgs) = Cgs::REGISTRATION;
        Gmres(Gmres) = Gmres::REGISTRATION;
        Fgmres(Fgmres) = Fgmres::REGISTRATION;
        PipeGmres(PipeGmres) = PipeGmres::REGISTRATION;
        Idr(Idr) = Idr::REGISTRATION;
        Gcr(Gcr) = Gcr::REGISTRATION;
        BlockCg(BlockCg) = BlockCg::REGISTRATION;
        BlockGmres(BlockGmres) = BlockGmres::REGISTRATION;
        GcroDr(GcroDr) = GcroDr::REGISTRATION;
        Ir(Ir) = Ir::REGISTRATION;
        Chebyshev(Chebyshev) = Chebyshev::REGISTRATION;
        Direct(Direct) = DIRECT, as Ok(Some(Ir::of_factors().method()));
    }
}

components! {
    /// A preconditioner and its parameters, or a solver in its place.
    enum PreconditionerConfig("preconditioner") fn made makes Option<Arc<dyn Factory<T>>>: dyn Factory {
        Auto(NoParameters) = AUTO, as Err(undecided("preconditioner"));
        None(NoParameters) = NONE, as Ok(None);
        Jacobi(Jacobi) = Jacobi::REGISTRATION;
        L1Jacobi(L1Jacobi) = L1Jacobi::REGISTRATION;
        BlockJacobi(BlockJacobi) = BlockJacobi::REGISTRATION;
        BlockDirect(BlockDirect) = BlockDirect::REGISTRATION;
        Sor(Sor) = Sor::REGISTRATION;
        Ssor(Ssor) = Ssor::REGISTRATION;
        MulticolourGs(MulticolourGs) = MulticolourGs::REGISTRATION;
        HybridGs(HybridGs) = HybridGs::REGISTRATION;
        Ic0(Ic0) = Ic0::REGISTRATION;
        Ilu0(Ilu0) = Ilu0::REGISTRATION;
        Iluk(Iluk) = Iluk::REGISTRATION;
        Ilut(Ilut) = Ilut::REGISTRATION;
        Ick(Ick) = Ick::REGISTRATION;
        ParIlu(ParIlu) = ParIlu::REGISTRATION;
        ParIlut(ParIlut) = ParIlut::REGISTRATION;
        ParIc(ParIc) = ParIc::REGISTRATION;
        ParIct(ParIct) = ParIct::REGISTRATION;
        Isai(Isai) = Isai::REGISTRATION;
        Fsai(Fsai) = Fsai::REGISTRATION;
        Polynomial(Polynomial) = Polynomial::REGISTRATION;
        Amg(Amg) = Amg::REGISTRATION;
        StructMg(StructMg) = StructMg::REGISTRATION;
        Saddle(Saddle) = Saddle::REGISTRATION;
        Schwarz(Schwarz) = Schwarz::REGISTRATION, by factory;
        + Solver(InnerSolver);
    }
}

/// Chosen from the facts of the matrix.
const AUTO: Registration = Registration {
    name: "auto",
    summary: "Chosen from the facts of the matrix.",
    after_colon: &[],
    needs: &[],
    support: Support::ROWS,
    symmetry: Symmetry::Symmetric,
    memory: Memory::per(0, 0),
};

const NONE: Registration = Registration {
    name: "none",
    summary: "No preconditioner.",
    ..AUTO
};

#[cfg(feature = "direct")]
const DIRECT: Registration = Direct::REGISTRATION;
#[cfg(not(feature = "direct"))]
const DIRECT: Registration = Registration {
    name: "direct",
    summary: "A factorisation, refined; this build has none.",
    support: Support::own_rows(&[]),
    ..AUTO
};

impl NoParameters {
    /// Nothing is done to a symmetric matrix.
    fn symmetry(&self) -> Symmetry {
        Symmetry::Symmetric
    }

    /// What will be chosen is not known, and nothing takes nothing.
    fn memory(&self, _of: MemoryOf) -> Memory {
        Memory::default()
    }
}

impl Default for SolverConfig {
    fn default() -> Self {
        Self::Auto(NoParameters {})
    }
}

impl Default for PreconditionerConfig {
    fn default() -> Self {
        Self::Auto(NoParameters {})
    }
}

impl SolverConfig {
    /// Whether it is still to be chosen.
    pub fn is_auto(&self) -> bool {
        matches!(self, Self::Auto(_))
    }

    /// The iteration.
    ///
    /// # Errors
    /// For `auto`, which a matrix has to decide first.
    pub fn method<T: Mixes<T, T>>(&self) -> Result<Arc<dyn Method<T>>, ConfigError> {
        self.made()?.ok_or_else(|| undecided("solver"))
    }
}

impl PreconditionerConfig {
    /// Whether it is still to be chosen.
    pub fn is_auto(&self) -> bool {
        matches!(self, Self::Auto(_))
    }

    /// What makes the preconditioner; `None` without one.
    ///
    /// # Errors
    /// For `auto`, which a matrix has to decide first.
    pub fn factory<T: Mixes<T, T>>(&self) -> Result<Option<Arc<dyn Factory<T>>>, ConfigError> {
        self.made()
    }
}

pub(super) fn undecided(family: &str) -> ConfigError {
    ConfigError::Conflict(format!(
        "{family} `auto` has to be decided by a matrix first"
    ))
}

fn no_name(family: &'static str) -> ConfigError {
    let reason = format!("give a name, `{family} = \"auto\"`, or a table with a `name`");
    bad_value(family, "name", "missing", reason)
}

/// The error for a name that no component of `family` has.
pub(super) fn unknown_name(
    family: &'static str,
    name: &str,
    known: &[&'static str],
    later: &[&str],
) -> ConfigError {
    if later.contains(&name) {
        return ConfigError::NotAvailable {
            family,
            name: name.to_owned(),
        };
    }
    ConfigError::unknown_name(family, name, known.to_vec())
}
