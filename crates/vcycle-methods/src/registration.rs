//! What components say of themselves: each once, in its own file.
//!
//! Configuration files, the options of the program and their help, `vcycle config` and the reference
//! of all options are made of these.

use std::sync::Arc;

use crate::linop::Factory;
use crate::scalar::Mixes;

/// A solver or preconditioner in words; the parameters, their keys and defaults are those of the struct
/// it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registration {
    /// The name in options and files.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// The parameters that may follow a colon without their keys, in order: `["restart"]` for `gmres:30`.
    pub after_colon: &'static [&'static str],
    /// What has to be given.
    pub needs: &'static [Need],
}

impl Registration {
    /// Whether something has to be given.
    pub fn has_need(&self, need: Need) -> bool {
        self.needs.contains(&need)
    }
}

/// What a component asks of a matrix, of a preconditioner or of the place it runs at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Need {
    /// The entries of the matrix, not only products with it.
    Entries,
    /// A diagonal without zeros.
    Diagonal,
    /// A symmetric (Hermitian) matrix.
    SymmetricMatrix,
    /// A symmetric positive definite matrix.
    DefiniteMatrix,
    /// A real matrix.
    RealMatrix,
    /// A matrix of a structured grid.
    Grid,
    /// A preconditioner that is symmetric where the matrix is.
    SymmetricPreconditioner,
    /// A preconditioner that is the same operator in every iteration.
    FixedPreconditioner,
}

impl Need {
    /// In words, as the reference of options has them.
    pub fn words(self) -> &'static str {
        match self {
            Self::Entries => "the entries of the matrix",
            Self::Diagonal => "a diagonal without zeros",
            Self::SymmetricMatrix => "a symmetric matrix",
            Self::DefiniteMatrix => "a symmetric positive definite matrix",
            Self::RealMatrix => "a real matrix",
            Self::Grid => "a matrix of a structured grid",
            Self::SymmetricPreconditioner => "a symmetric preconditioner",
            Self::FixedPreconditioner => "a preconditioner that does not vary",
        }
    }
}

/// What kind of operator a component makes of a symmetric matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symmetry {
    /// A symmetric one: conjugate gradients may use it.
    Symmetric,
    /// One that is not symmetric.
    OneSided,
    /// None at all: what it does depends on the vector in more than a linear way. Only flexible methods
    /// may use it.
    Varying,
}

/// A component: parameters that are registered.
pub trait Component {
    /// What it is.
    const REGISTRATION: Registration;

    /// What kind of operator it makes of a symmetric matrix.
    fn symmetry(&self) -> Symmetry;
}

/// A component that makes preconditioners.
pub trait PreconditionerComponent: Component {
    /// What makes the operator on vectors of `T`; compiled once, with this crate.
    fn factory<T: Mixes<T, T>>(&self) -> Arc<dyn Factory<T>>;
}

/// Registers parameters that are a [`Factory`] as a preconditioner; stands in their own file.
macro_rules! preconditioner {
    ($parameters:ident) => {
        impl crate::registration::PreconditionerComponent for $parameters {
            fn factory<T: crate::scalar::Mixes<T, T>>(&self) -> std::sync::Arc<dyn crate::linop::Factory<T>> {
                vcycle_kernels::compiled!(
                    working T: fn(&$parameters) -> std::sync::Arc<dyn crate::linop::Factory<T>> = |own| {
                        std::sync::Arc::new(own.to_owned())
                    }
                )(self)
            }
        }
    };
}
pub(crate) use preconditioner;
