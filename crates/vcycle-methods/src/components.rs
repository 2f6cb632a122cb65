//! Every solver and preconditioner of the library, as what makes and runs it: compiled here once for each type that
//! solvers work in.

use std::sync::Arc;

use vcycle_kernels::compiled;

use crate::linop::Factory;
use crate::multigrid::Amg;
use crate::precond::{
    BlockDirect, BlockJacobi, Fsai, HybridGs, Ic0, Ilu0, Isai, Jacobi, L1Jacobi, MulticolourGs,
    ParIlu, Polynomial, Sor, Ssor,
};
use crate::registration::Component;
use crate::scalar::{Mixes, Scalar};
#[cfg(feature = "direct")]
use crate::solver::Direct;
use crate::solver::{
    Bicg, Bicgstab, Cg, Cgs, Chebyshev, Fcg, Fgmres, Gcr, Gmres, Idr, Ir, Method, Minres, PipeCg,
};
use crate::structured::StructMg;

/// A registered solver.
pub trait SolverComponent: Component {
    /// The iteration for vectors of `T`.
    fn method<T: Scalar>(&self) -> Arc<dyn Method<T>>;
}

/// A registered preconditioner.
pub trait PreconditionerComponent: Component {
    /// What makes the operator on vectors of `T`.
    fn factory<T: Mixes<T, T>>(&self) -> Arc<dyn Factory<T>>;
}

macro_rules! solvers {
    ($($solver:ident),*) => {$(
        impl SolverComponent for $solver {
            fn method<T: Scalar>(&self) -> Arc<dyn Method<T>> {
                compiled!(working T: fn(&$solver) -> Arc<dyn Method<T>> = |own| {
                    Arc::new(own.to_owned())
                })(self)
            }
        }
    )*};
}

macro_rules! preconditioners {
    ($($preconditioner:ident),*) => {$(
        impl PreconditionerComponent for $preconditioner {
            fn factory<T: Mixes<T, T>>(&self) -> Arc<dyn Factory<T>> {
                compiled!(working T: fn(&$preconditioner) -> Arc<dyn Factory<T>> = |own| {
                    Arc::new(own.to_owned())
                })(self)
            }
        }
    )*};
}

solvers!(
    Cg, Fcg, PipeCg, Minres, Bicg, Bicgstab, Cgs, Gmres, Fgmres, Idr, Gcr, Ir, Chebyshev
);
preconditioners!(
    Jacobi,
    L1Jacobi,
    BlockJacobi,
    BlockDirect,
    Sor,
    Ssor,
    MulticolourGs,
    HybridGs,
    Ic0,
    Ilu0,
    ParIlu,
    Isai,
    Fsai,
    Polynomial,
    Amg,
    StructMg
);
#[cfg(feature = "direct")]
preconditioners!(Direct);
