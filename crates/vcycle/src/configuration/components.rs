//! The names of solvers and preconditioners, and the parameter struct behind each.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::family::components;
use super::value::{Table, arguments, bad_value, brief_form, named, parameters, short_form};
use crate::error::ConfigError;
use crate::linop::Factory;
use crate::multigrid::Amg;
use crate::precond::{
    AdditiveSchwarz, BlockDirect, BlockJacobi, Fsai, HybridGs, Ic0, Ick, Ilu0, Iluk, Ilut, Isai,
    Jacobi, L1Jacobi, MulticolourGs, ParIc, ParIct, ParIlu, ParIlut, Polynomial, Sor, Ssor,
};
use crate::registration::{
    Component, Memory, MemoryOf, Need, PreconditionerComponent, Registration, Support, Symmetry,
};
use crate::saddle::Saddle;
use crate::scalar::Mixes;
#[cfg(feature = "direct")]
use crate::solver::Direct;
use crate::solver::{
    Bicg, Bicgstab, BlockCg, BlockGmres, Cg, Cgs, Chebyshev, Fcg, Fgmres, Gcr, GcroDr, Gmres, Idr,
    Ir, Method, Minres, PipeCg, PipeGmres, SolverComponent, SolverFactory,
};
use crate::stop::Stop;
use crate::structured::StructMg;

/// Stands in where the library is built without the direct solver.
#[cfg(not(feature = "direct"))]
type Direct = NoParameters;

/// For components that have nothing to choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct NoParameters {}

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

impl SolverConfig {
    /// The iteration.
    ///
    /// # Errors
    /// For `auto`, which a matrix has to decide first.
    pub fn method<T: Mixes<T, T>>(&self) -> Result<Arc<dyn Method<T>>, ConfigError> {
        self.made()?.ok_or_else(|| undecided("solver"))
    }

    /// What makes the factors, where it is the direct solver.
    pub(crate) fn factorisation<T: Mixes<T, T>>(
        &self,
    ) -> Result<Option<Arc<dyn Factory<T>>>, ConfigError> {
        let Self::Direct(_direct) = self else {
            return Ok(None);
        };
        #[cfg(feature = "direct")]
        return Ok(Some(_direct.factory()));
        #[cfg(not(feature = "direct"))]
        Err(ConfigError::NotAvailable {
            family: "solver",
            name: "direct".to_owned(),
        })
    }
}

impl PreconditionerConfig {
    /// What makes the preconditioner; `None` without one.
    ///
    /// # Errors
    /// For `auto`, which a matrix has to decide first.
    pub fn factory<T: Mixes<T, T>>(&self) -> Result<Option<Arc<dyn Factory<T>>>, ConfigError> {
        self.made()
    }
}

/// Iterations of an inner solver unless they are given.
const ITERATIONS: usize = 10;

/// A solver as a preconditioner: so many iterations, `gmres:10`, or as a table
/// `{ name = "gmres", iterations = 10, restart = 5, preconditioner = "jacobi" }`.
///
/// All but `chebyshev`, `ir` and `direct` are another operator for every vector: the solver around it has
/// to be a flexible one, `fcg`, `fgmres` or `gcr`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct InnerSolver {
    /// How many iterations it makes, whatever the residual.
    pub iterations: usize,
    /// Its own preconditioner.
    pub preconditioner: Box<PreconditionerConfig>,
    /// The iteration; its keys stand beside the others.
    #[serde(flatten)]
    pub solver: SolverParameters,
}

/// A solver whose name stands elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct SolverParameters(pub SolverConfig);

impl Serialize for SolverParameters {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut table = match serde_json::to_value(&self.0) {
            Ok(Value::Object(table)) => table,
            _ => Table::new(),
        };
        table.remove("name");
        table.serialize(to)
    }
}

impl InnerSolver {
    /// The solvers that can be inside others.
    pub(super) const NAMES: &[&str] = SolverConfig::NAMES.split_at(1).1;

    pub(super) const REGISTRATION: Registration = Registration {
        name: "solver",
        summary: "So many iterations of a solver.",
        after_colon: &["iterations"],
        needs: &[],
        support: Support::METHOD,
        symmetry: Symmetry::Varying,
        memory: Memory::per(0, 0),
    };

    /// That of the solver.
    pub(super) fn registration(&self) -> Registration {
        self.solver.0.registration()
    }

    pub(super) fn memory(&self, of: MemoryOf) -> Memory {
        let own = self.solver.0.memory(of);
        own.and(self.preconditioner.memory(of))
    }

    pub(super) fn from_table(
        place: &str,
        name: &str,
        mut table: Table,
    ) -> Result<Self, ConfigError> {
        let iterations = match table.remove("iterations") {
            None => ITERATIONS,
            Some(value) => count(place, value)?,
        };
        let preconditioner = match table.remove("preconditioner") {
            None => "none".parse()?,
            Some(value) => PreconditionerConfig::from_value(value)?,
        };
        Ok(Self {
            iterations,
            preconditioner: Box::new(preconditioner),
            solver: SolverParameters(SolverConfig::from_table(name, table)?),
        })
    }

    /// What kind of operator it is for a symmetric matrix.
    pub(super) fn symmetry(&self) -> Symmetry {
        match (self.solver.0.symmetry(), self.preconditioner.symmetry()) {
            (Symmetry::Symmetric, inner) => inner,
            (own, _) => own,
        }
    }

    pub(super) fn factory<T: Mixes<T, T>>(&self) -> Result<Arc<dyn Factory<T>>, ConfigError> {
        if let Some(factors) = self.solver.0.factorisation()? {
            return Ok(factors);
        }
        let factory = SolverFactory {
            method: self.solver.0.method()?,
            preconditioner: self.preconditioner.factory()?,
            stop: Stop::fixed(self.iterations),
        };
        Ok(factory.shared())
    }
}

/// The number of iterations, at least one.
fn count(place: &str, value: Value) -> Result<usize, ConfigError> {
    #[derive(serde::Deserialize)]
    struct InnerIterations {
        iterations: std::num::NonZeroUsize,
    }
    let table = Table::from_iter([("iterations".to_owned(), value)]);
    parameters(place, table).map(|count: InnerIterations| count.iterations.get())
}

/// [`AdditiveSchwarz`] by names: `schwarz:ilu0`, `schwarz:ic0,overlap=0`, `schwarz:direct,1,restricted=true`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Schwarz {
    /// The preconditioner of the rows of a rank: `ilu0`, `ic0`, `direct` or any other.
    #[serde(deserialize_with = "local")]
    pub inner: Box<PreconditionerConfig>,
    /// Rings of rows around those of a rank, 0 to 8; with 0 it is block Jacobi.
    pub overlap: usize,
    /// Whether a rank keeps what it finds for own rows alone; not symmetric then.
    pub restricted: bool,
}

impl Default for Schwarz {
    fn default() -> Self {
        Self {
            inner: Box::new(PreconditionerConfig::Ilu0(crate::precond::Ilu0::default())),
            overlap: 1,
            restricted: false,
        }
    }
}

/// A preconditioner that is known before the matrix is.
fn local<'d, D: Deserializer<'d>>(from: D) -> Result<Box<PreconditionerConfig>, D::Error> {
    use serde::de::Error;
    let inner = PreconditionerConfig::from_value(Value::deserialize(from)?);
    match inner.map_err(Error::custom)? {
        PreconditionerConfig::Auto(_) | PreconditionerConfig::None(_) => Err(Error::custom(
            "name a preconditioner for the rows of each rank, `ilu0` say",
        )),
        inner => Ok(Box::new(inner)),
    }
}

impl Component for Schwarz {
    const REGISTRATION: Registration = Registration {
        name: "schwarz",
        summary: "Any preconditioner on the rows of each rank, which may overlap.",
        after_colon: &["inner", "overlap"],
        needs: &[Need::Entries],
        support: Support::METHOD,
        symmetry: Symmetry::Symmetric,
        memory: Memory::per(0, 0),
    };

    fn symmetry(&self) -> Symmetry {
        match (self.restricted, self.inner.symmetry()) {
            (true, Symmetry::Symmetric) => Symmetry::OneSided,
            (_, inner) => inner,
        }
    }

    fn memory(&self, of: MemoryOf) -> Memory {
        self.inner.memory(of)
    }
}

impl Schwarz {
    pub(super) fn factory<T: Mixes<T, T>>(&self) -> Result<Arc<dyn Factory<T>>, ConfigError> {
        let inner = self.inner.factory()?;
        let inner = inner.expect("it is neither `auto` nor `none`");
        Ok(Arc::new(AdditiveSchwarz {
            inner,
            overlap: self.overlap,
            restricted: self.restricted,
        }))
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
