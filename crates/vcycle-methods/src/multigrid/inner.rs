//! Solvers and preconditioners inside multigrid: as smoothers, so many iterations, and on the coarsest level.

use std::sync::Arc;

use super::coarsest::SolveCoarsest;
use crate::error::Result;
use crate::executor::Workspace;
use crate::linop::{AnyFactory, Factory, LinOp};
use crate::precond::{
    BlockDirect, BlockJacobi, Fsai, HybridGs, Ic0, Ilu0, Isai, Jacobi, L1Jacobi, MulticolourGs,
    ParIlu, Polynomial, Sor, Ssor,
};
use crate::registration::{Component, Symmetry};
use crate::scalar::Scalar;
use crate::solver::{
    Bicg, Bicgstab, Cg, Cgs, Chebyshev, Fcg, Fgmres, Gcr, Gmres, Idr, Ir, Method, Minres, PipeCg,
    SolverFactory,
};
use crate::stop::Stop;

/// What a solver on the coarsest level reduces residuals by, and its most iterations.
const REDUCTION: f64 = 1e-4;
const MOST_ITERATIONS: usize = 100;

/// A component that can stand inside multigrid.
#[derive(Debug)]
pub struct Inner {
    name: &'static str,
    symmetry: fn() -> Symmetry,
    factory: fn(Stop) -> Arc<dyn AnyFactory>,
    iterates: bool,
}

/// An iteration without a preconditioner, as a factory.
#[derive(Clone, Debug)]
struct Iterated<M> {
    method: M,
    stop: Stop,
}

impl<T: Scalar, M: Method<T> + Clone + 'static> Factory<T> for Iterated<M> {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let factory = SolverFactory {
            method: Arc::new(self.method.clone()),
            preconditioner: None,
            stop: self.stop.clone(),
        };
        factory.generate(a, ws)
    }
}

macro_rules! table {
    (solvers: $($solver:ident),*; preconditioners: $($preconditioner:ident),*;) => {
        static TABLE: &[Inner] = &[
            $(Inner {
                name: $solver::REGISTRATION.name,
                symmetry: || $solver::default().symmetry(),
                factory: |stop| {
                    let method = $solver::default();
                    Arc::new(Iterated { method, stop })
                },
                iterates: true,
            },)*
            $(Inner {
                name: $preconditioner::REGISTRATION.name,
                symmetry: || $preconditioner::default().symmetry(),
                factory: |_| Arc::new($preconditioner::default()),
                iterates: false,
            },)*
        ];
    };
}

table! {
    solvers: Cg, Fcg, PipeCg, Minres, Bicg, Bicgstab, Cgs, Gmres, Fgmres, Idr, Gcr, Ir, Chebyshev;
    preconditioners: Jacobi, L1Jacobi, BlockJacobi, BlockDirect, Sor, Ssor, MulticolourGs, HybridGs, Ic0,
        Ilu0, ParIlu, Isai, Fsai, Polynomial;
}

impl Inner {
    /// The solver or preconditioner of a name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        TABLE.iter().find(|one| one.name == name)
    }

    /// The solver of a name.
    pub(super) fn solver(name: &str) -> Option<&'static Self> {
        Self::named(name).filter(|one| one.iterates)
    }

    /// The name in options and files.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What kind of operator it is for a symmetric matrix.
    pub fn symmetry(&self) -> Symmetry {
        (self.symmetry)()
    }

    /// So many iterations of it.
    pub(super) fn iterated(&self, iterations: usize) -> Arc<dyn AnyFactory> {
        (self.factory)(Stop::fixed(iterations))
    }
}

impl PartialEq for Inner {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl SolveCoarsest for Inner {
    fn name(&self) -> &'static str {
        self.name
    }

    fn symmetry(&self) -> Symmetry {
        (self.symmetry)()
    }

    fn factory(&self) -> Arc<dyn AnyFactory> {
        (self.factory)(Stop::reduction(REDUCTION).max_iterations(MOST_ITERATIONS))
    }
}
