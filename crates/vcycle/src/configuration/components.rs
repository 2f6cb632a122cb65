//! The names of solvers and preconditioners, and the parameter struct behind each.

use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::family::components;
use super::inner::{InnerSolver, Schwarz};
use super::value::{Table, arguments, bad_value, brief_form, named, parameters, short_form};
use crate::error::ConfigError;
use crate::linop::Factory;
use crate::multigrid::Amg;
use crate::precond::{
    BlockDirect, BlockJacobi, Fsai, HybridGs, Ic0, Ick, Ilu0, Iluk, Ilut, Isai, Jacobi, L1Jacobi,
    MulticolourGs, ParIc, ParIct, ParIlu, ParIlut, Polynomial, Sor, Ssor,
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
    Ir, Method, Minres, PipeCg, PipeGmres, SolverComponent,
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

/// What the driver distinguishes preconditioners by.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sort<'p> {
    /// Still to be chosen.
    Auto,
    /// None at all.
    None,
    /// Algebraic multigrid.
    Amg(&'p Amg),
    /// Multigrid on a grid.
    StructMg(&'p StructMg),
    /// Iterations of a solver.
    Iterations,
    /// What is made of the entries of the matrix, whatever their order.
    OfEntries,
}

impl PreconditionerConfig {
    /// Its sort. Every component stands here, so that none is forgotten in the driver.
    pub(crate) fn sort(&self) -> Sort<'_> {
        match self {
            Self::Auto(_) => Sort::Auto,
            Self::None(_) => Sort::None,
            Self::Amg(amg) => Sort::Amg(amg),
            Self::StructMg(structured) => Sort::StructMg(structured),
            Self::Solver(_) => Sort::Iterations,
            Self::Jacobi(_)
            | Self::L1Jacobi(_)
            | Self::BlockJacobi(_)
            | Self::BlockDirect(_)
            | Self::Sor(_)
            | Self::Ssor(_)
            | Self::MulticolourGs(_)
            | Self::HybridGs(_)
            | Self::Ic0(_)
            | Self::Ilu0(_)
            | Self::Iluk(_)
            | Self::Ilut(_)
            | Self::Ick(_)
            | Self::ParIlu(_)
            | Self::ParIlut(_)
            | Self::ParIc(_)
            | Self::ParIct(_)
            | Self::Isai(_)
            | Self::Fsai(_)
            | Self::Polynomial(_)
            | Self::Saddle(_)
            | Self::Schwarz(_) => Sort::OfEntries,
        }
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
