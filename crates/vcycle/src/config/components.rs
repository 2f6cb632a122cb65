//! The names of solvers and preconditioners, and the parameter struct behind each.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::value::{Table, arguments, key_values, parameters};
use crate::error::ConfigError;
use crate::linop::Factory;
use crate::multigrid::Amg;
use crate::precond::{
    BlockDirect, BlockJacobi, Fsai, HybridGs, Ic0, Ilu0, Isai, Jacobi, L1Jacobi, MulticolourGs,
    ParIlu, Polynomial, Sor, Ssor,
};
use crate::scalar::Mixes;
#[cfg(feature = "direct")]
use crate::solver::Direct;
use crate::solver::{
    Bicg, Bicgstab, Cg, Cgs, Chebyshev, Fcg, Fgmres, Gcr, Gmres, Idr, Ir, Method, Minres, PipeCg,
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

/// Makes an enum of named components with their parameters. In brackets: the keys that may be
/// given in order after a colon.
macro_rules! components {
    (
        $(#[$doc:meta])*
        enum $family:ident($title:literal) {
            $($(#[$variant_doc:meta])* $name:literal => $variant:ident($parameters:ty) [$($key:literal),*],)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(tag = "name")]
        #[non_exhaustive]
        // A program holds few of them.
        #[allow(clippy::large_enum_variant)]
        pub enum $family {
            $(
                $(#[$variant_doc])*
                #[serde(rename = $name)]
                $variant($parameters),
            )*
        }

        impl $family {
            /// Every name, as options and files spell it.
            pub const NAMES: &[&str] = &[$($name),*];

            /// The name, as options and files spell it.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                }
            }

            /// Every component with its default parameters.
            pub fn all() -> Vec<Self> {
                vec![$(Self::$variant(Default::default())),*]
            }

            /// The short form without the parameters that are as by default.
            pub fn brief(&self) -> String {
                let same = Self::all().into_iter().find(|other| other.name() == self.name());
                brief_form(self.name(), self, &same)
            }

            fn from_table(name: &str, table: Table) -> Result<Self, ConfigError> {
                let place = format!("{} {name}", $title);
                match name {
                    $($name => parameters(&place, table).map(Self::$variant),)*
                    _ => Err(unknown_name($title, name, Self::NAMES, &[])),
                }
            }

            fn positional(name: &str) -> &'static [&'static str] {
                match name {
                    $($name => &[$($key),*],)*
                    _ => &[],
                }
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
    enum SolverConfig("solver") {
        /// Chosen from the facts of the matrix.
        "auto" => Auto(NoParameters) [],
        /// Conjugate gradients.
        "cg" => Cg(Cg) [],
        /// Flexible conjugate gradients.
        "fcg" => Fcg(Fcg) [],
        /// Pipelined conjugate gradients.
        "pipecg" => PipeCg(PipeCg) [],
        /// Minimal residuals.
        "minres" => Minres(Minres) [],
        /// Biconjugate gradients.
        "bicg" => Bicg(Bicg) [],
        /// Stabilised biconjugate gradients.
        "bicgstab" => Bicgstab(Bicgstab) [],
        /// Conjugate gradients squared.
        "cgs" => Cgs(Cgs) [],
        /// Generalised minimal residuals.
        "gmres" => Gmres(Gmres) ["restart"],
        /// Flexible generalised minimal residuals.
        "fgmres" => Fgmres(Fgmres) ["restart"],
        /// Induced dimension reduction.
        "idr" => Idr(Idr) ["s", "seed"],
        /// Generalised conjugate residuals.
        "gcr" => Gcr(Gcr) ["restart"],
        /// Iterative refinement (Richardson).
        "ir" => Ir(Ir) ["relaxation"],
        /// Chebyshev iteration.
        "chebyshev" => Chebyshev(Chebyshev) ["lower", "upper"],
        /// A factorisation, refined.
        "direct" => Direct(Direct) [],
    }
}

components! {
    /// A preconditioner and its parameters.
    enum PreconditionerConfig("preconditioner") {
        /// Chosen from the facts of the matrix.
        "auto" => Auto(NoParameters) [],
        /// No preconditioner.
        "none" => None(NoParameters) [],
        /// The diagonal.
        "jacobi" => Jacobi(Jacobi) ["weight"],
        /// The diagonal of absolute row sums.
        "l1-jacobi" => L1Jacobi(L1Jacobi) ["weight"],
        /// Blocks on the diagonal.
        "block-jacobi" => BlockJacobi(BlockJacobi) ["block-size"],
        /// Large blocks on the diagonal, factorised.
        "block-direct" => BlockDirect(BlockDirect) ["block-rows"],
        /// Successive over-relaxation.
        "sor" => Sor(Sor) ["omega", "sweeps"],
        /// Symmetric successive over-relaxation.
        "ssor" => Ssor(Ssor) ["omega", "sweeps"],
        /// Gauss-Seidel colour by colour.
        "multicolour-gs" => MulticolourGs(MulticolourGs) ["omega", "sweeps"],
        /// Gauss-Seidel within blocks of rows.
        "hybrid-gs" => HybridGs(HybridGs) ["block-rows", "sweeps"],
        /// Incomplete Cholesky factorisation.
        "ic0" => Ic0(Ic0) ["shift"],
        /// Incomplete LU factorisation.
        "ilu0" => Ilu0(Ilu0) ["sweeps"],
        /// Incomplete LU factorisation by fixed-point sweeps.
        "parilu" => ParIlu(ParIlu) ["sweeps"],
        /// Incomplete sparse approximate inverse.
        "isai" => Isai(Isai) ["kind", "power"],
        /// Factorised sparse approximate inverse, its pattern found adaptively.
        "fsai" => Fsai(Fsai) ["steps", "step-size", "tolerance"],
        /// A Chebyshev polynomial of high degree, by products alone.
        "polynomial" => Polynomial(Polynomial) ["degree", "base"],
        /// Algebraic multigrid.
        "amg" => Amg(Amg) ["coarsening", "interpolation", "smoother", "cycle"],
        /// Multigrid on structured grids, in half precision.
        "struct-mg" => StructMg(StructMg) ["precision"],
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
        Ok(match self {
            Self::Auto(_) => return Err(undecided("solver")),
            Self::Cg(p) => Arc::new(p.to_owned()),
            Self::Fcg(p) => Arc::new(p.to_owned()),
            Self::PipeCg(p) => Arc::new(p.to_owned()),
            Self::Minres(p) => Arc::new(p.to_owned()),
            Self::Bicg(p) => Arc::new(p.to_owned()),
            Self::Bicgstab(p) => Arc::new(p.to_owned()),
            Self::Cgs(p) => Arc::new(p.to_owned()),
            Self::Gmres(p) => Arc::new(p.to_owned()),
            Self::Fgmres(p) => Arc::new(p.to_owned()),
            Self::Idr(p) => Arc::new(p.to_owned()),
            Self::Gcr(p) => Arc::new(p.to_owned()),
            Self::Ir(p) => Arc::new(p.to_owned()),
            Self::Chebyshev(p) => Arc::new(p.to_owned()),
            Self::Direct(_) => Arc::new(Ir::default()),
        })
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
        Ok(Some(match self {
            Self::Auto(_) => return Err(undecided("preconditioner")),
            Self::None(_) => return Ok(None),
            Self::Jacobi(p) => Arc::new(p.to_owned()),
            Self::L1Jacobi(p) => Arc::new(p.to_owned()),
            Self::BlockJacobi(p) => Arc::new(p.to_owned()),
            Self::BlockDirect(p) => Arc::new(p.to_owned()),
            Self::Sor(p) => Arc::new(p.to_owned()),
            Self::Ssor(p) => Arc::new(p.to_owned()),
            Self::MulticolourGs(p) => Arc::new(p.to_owned()),
            Self::HybridGs(p) => Arc::new(p.to_owned()),
            Self::Ic0(p) => Arc::new(p.to_owned()),
            Self::Ilu0(p) => Arc::new(p.to_owned()),
            Self::ParIlu(p) => Arc::new(p.to_owned()),
            Self::Isai(p) => Arc::new(p.to_owned()),
            Self::Fsai(p) => Arc::new(p.to_owned()),
            Self::Polynomial(p) => Arc::new(p.to_owned()),
            Self::Amg(p) => Arc::new(p.to_owned()),
            Self::StructMg(p) => Arc::new(p.to_owned()),
        }))
    }
}

fn short_form(name: &str, component: &impl Serialize) -> String {
    joined(name, &table(component))
}

fn brief_form(name: &str, component: &impl Serialize, default: &impl Serialize) -> String {
    let mut own = table(component);
    remove_equal(&mut own, &table(default));
    joined(name, &own)
}

/// The parameters alone.
fn table(component: &impl Serialize) -> Table {
    let Ok(Value::Object(mut table)) = serde_json::to_value(component) else {
        return Table::new();
    };
    table.remove("name");
    table
}

/// Leaves what differs, in tables inside it too.
fn remove_equal(table: &mut Table, default: &Table) {
    table.retain(|key, value| default.get(key) != Some(value));
    for (key, value) in table {
        if let (Value::Object(inner), Some(Value::Object(default))) = (value, default.get(key)) {
            remove_equal(inner, default);
        }
    }
}

fn joined(name: &str, table: &Table) -> String {
    let arguments = key_values(table);
    match arguments.is_empty() {
        true => name.to_owned(),
        false => format!("{name}:{}", arguments.join(",")),
    }
}

fn undecided(family: &str) -> ConfigError {
    ConfigError::Conflict(format!(
        "{family} `auto` has to be decided by a matrix first"
    ))
}

fn no_name(family: &'static str) -> ConfigError {
    ConfigError::BadValue {
        place: family.to_owned(),
        key: "name".to_owned(),
        value: "missing".to_owned(),
        reason: format!("give a name, `{family} = \"auto\"`, or a table with a `name`"),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_may_follow_a_colon() {
        let jacobi: PreconditionerConfig = "jacobi:0.9".parse().unwrap();
        let named: PreconditionerConfig = "jacobi:weight=0.9".parse().unwrap();
        assert_eq!(jacobi, named);
        let PreconditionerConfig::Jacobi(parameters) = jacobi else {
            panic!("jacobi expected");
        };
        assert_eq!(parameters.weight, 0.9);
    }

    #[test]
    fn parameters_of_parameters_follow_a_dot() {
        let text = "amg:hmis,smoother=jacobi:0.5,truncation.max-elements=6";
        let PreconditionerConfig::Amg(amg) = text.parse().unwrap() else {
            panic!("amg expected");
        };
        assert_eq!(amg.coarsening.name(), "hmis");
        assert_eq!(amg.smoother.to_string(), "jacobi:0.5");
        assert_eq!(amg.truncation.max_elements, 6);
        let error = "amg:cycle=x".parse::<PreconditionerConfig>().unwrap_err();
        assert!(error.to_string().contains("unknown cycle `x`"), "{error}");
    }

    #[test]
    fn the_brief_form_has_what_differs_and_means_the_same() {
        let brief = |text: &str| {
            let given: PreconditionerConfig = text.parse().unwrap();
            assert_eq!(
                given.brief().parse::<PreconditionerConfig>().unwrap(),
                given
            );
            given.brief()
        };
        assert_eq!(brief("amg"), "amg");
        assert_eq!(brief("none"), "none");
        assert_eq!(brief("jacobi:0.9"), "jacobi:weight=0.9");
        assert_eq!(
            brief("amg:hmis,truncation.max-elements=6"),
            "amg:coarsening=hmis,truncation.max-elements=6"
        );
    }

    #[test]
    fn every_default_survives_its_own_serialisation() {
        for solver in SolverConfig::all() {
            let value = serde_json::to_value(&solver).unwrap();
            assert_eq!(SolverConfig::from_value(value).unwrap(), solver);
            assert_eq!(solver.to_string().parse::<SolverConfig>().unwrap(), solver);
        }
        for preconditioner in PreconditionerConfig::all() {
            let value = serde_json::to_value(&preconditioner).unwrap();
            let read = PreconditionerConfig::from_value(value).unwrap();
            assert_eq!(read, preconditioner);
            let text = preconditioner.to_string();
            assert_eq!(
                text.parse::<PreconditionerConfig>().unwrap(),
                preconditioner
            );
        }
    }

    #[test]
    fn wrong_names_keys_and_values_are_told_apart() {
        let error = |text: &str| text.parse::<PreconditionerConfig>().unwrap_err();
        assert_eq!(
            error("jacobbi").to_string(),
            "unknown preconditioner `jacobbi`; did you mean `jacobi`?"
        );
        assert_eq!(
            error("jacobi:wieght=2").to_string(),
            "unknown key `wieght` in preconditioner jacobi; did you mean `weight`?"
        );
        assert!(
            matches!(error("jacobi:much"), ConfigError::BadValue { key, .. } if key == "weight")
        );
        assert!(matches!(error("jacobi:1,2"), ConfigError::BadValue { .. }));
    }
}
