//! Solvers and preconditioners inside multigrid: as smoothers, so many iterations, and on the coarsest level.

use super::coarsest::SolveCoarsest;
use crate::linop::{AnyFactory, InPrecision};
use crate::precond::{
    BlockDirect, BlockJacobi, Fsai, HybridGs, Ic0, Ick, Ilu0, Iluk, Ilut, Isai, Jacobi, L1Jacobi,
    MulticolourGs, ParIc, ParIct, ParIlu, ParIlut, Polynomial, Sor, Ssor,
};
use crate::prelude::*;
use crate::registration::{Component, PreconditionerComponent, Symmetry};
use crate::solver::{
    Bicg, Bicgstab, Cg, Cgs, Chebyshev, Fcg, Fgmres, Gcr, Gmres, Idr, Ir, Minres, PipeCg,
    PipeGmres, SolverComponent, SolverFactory,
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
    factory: fn(&Stop) -> Arc<dyn AnyFactory>,
    iterates: bool,
}

/// The factories of a component. On levels of half precision it computes in single precision, and vectors are
/// converted.
#[derive(Debug)]
struct AtLeastSingle {
    double: Arc<dyn Factory<f64>>,
    single: Arc<dyn Factory<f32>>,
    half: InPrecision<f32>,
    complex_double: Arc<dyn Factory<c64>>,
    complex_single: Arc<dyn Factory<c32>>,
}

impl AtLeastSingle {
    fn made(own: &impl PreconditionerComponent) -> Arc<dyn AnyFactory> {
        let single: Arc<dyn Factory<f32>> = own.factory();
        Arc::new(Self {
            half: InPrecision::new(Arc::clone(&single)),
            single,
            double: own.factory(),
            complex_double: own.factory(),
            complex_single: own.factory(),
        })
    }

    fn iterated(method: &impl SolverComponent, stop: &Stop) -> Arc<dyn AnyFactory> {
        let single = SolverFactory::<f32>::unpreconditioned(method.method(), stop).shared();
        Arc::new(Self {
            half: InPrecision::new(Arc::clone(&single)),
            single,
            double: SolverFactory::unpreconditioned(method.method(), stop).shared(),
            complex_double: SolverFactory::unpreconditioned(method.method(), stop).shared(),
            complex_single: SolverFactory::unpreconditioned(method.method(), stop).shared(),
        })
    }
}

impl AnyFactory for AtLeastSingle {
    fn double(&self) -> &dyn Factory<f64> {
        self.double.as_ref()
    }
    fn single(&self) -> &dyn Factory<f32> {
        self.single.as_ref()
    }
    fn half(&self) -> &dyn Factory<f16> {
        &self.half
    }
    fn bfloat(&self) -> &dyn Factory<bf16> {
        &self.half
    }
    fn complex_double(&self) -> &dyn Factory<c64> {
        self.complex_double.as_ref()
    }
    fn complex_single(&self) -> &dyn Factory<c32> {
        self.complex_single.as_ref()
    }
}

macro_rules! table {
    (solvers: $($solver:ident),*; preconditioners: $($preconditioner:ident),*;) => {
        static TABLE: &[Inner] = &[
            $(Inner {
                name: $solver::REGISTRATION.name,
                symmetry: || $solver::default().symmetry(),
                factory: |stop| AtLeastSingle::iterated(&$solver::default(), stop),
                iterates: true,
            },)*
            $(Inner {
                name: $preconditioner::REGISTRATION.name,
                symmetry: || $preconditioner::default().symmetry(),
                factory: |_| AtLeastSingle::made(&$preconditioner::default()),
                iterates: false,
            },)*
        ];
    };
}

table! {
    solvers: Cg, Fcg, PipeCg, Minres, Bicg, Bicgstab, Cgs, Gmres, Fgmres, PipeGmres, Idr, Gcr, Ir, Chebyshev;
    preconditioners: Jacobi, L1Jacobi, BlockJacobi, BlockDirect, Sor, Ssor, MulticolourGs, HybridGs, Ic0,
        Ilu0, Iluk, Ilut, Ick, ParIlu, ParIlut, ParIc, ParIct, Isai, Fsai, Polynomial;
}

impl Inner {
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        TABLE.iter().find(|one| one.name == name)
    }

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

    pub(super) fn iterated(&self, iterations: usize) -> Arc<dyn AnyFactory> {
        (self.factory)(&Stop::fixed(iterations))
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
        (self.factory)(&Stop::reduction(REDUCTION).max_iterations(MOST_ITERATIONS))
    }
}
