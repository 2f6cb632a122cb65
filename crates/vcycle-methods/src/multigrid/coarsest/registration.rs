//! What is asked of coarsest solvers.

use std::fmt::Debug;

use crate::linop::AnyFactory;
use crate::operations::HostStage;
use crate::prelude::*;
use crate::registration::{Need, Symmetry};

/// A coarsest solver of one's own: [`Coarsest::own`](super::Coarsest::own) and [`Coarsest::register`](super::Coarsest::register) take it.
pub trait SolveCoarsest: Debug + Send + Sync {
    /// Its name in reports, and in options and files once it is registered.
    fn name(&self) -> &'static str;

    /// What kind of operator it is for a symmetric matrix.
    fn symmetry(&self) -> Symmetry;

    /// What makes the solver, an operator that approximates the inverse.
    fn factory(&self) -> Arc<dyn AnyFactory>;
}

/// What a coarsest solver says of itself. Over ranks the first of them has the level. Every field is asked
/// for: options, help and messages are made of them.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CoarsestRegistration {
    /// The name in options and files.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// What has to be given.
    pub needs: &'static [Need],
    /// What kind of operator it is for a symmetric matrix.
    pub symmetry: Symmetry,
    /// What of its set-up the host does for matrices of a device.
    pub on_host: &'static [HostStage],
    pub(in crate::multigrid) method: CoarsestMethod,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::multigrid) enum CoarsestMethod {
    /// A dense factorisation in double precision.
    Dense,
    /// A sparse factorisation in double precision.
    Direct,
    /// The smoothers of the other levels.
    Smoother,
    /// By a factory, in the precision of the level.
    Factory(fn() -> Arc<dyn AnyFactory>),
}
