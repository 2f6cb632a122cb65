//! The two transposes.

use crate::scalar::Field;

/// Which transpose is meant; the two differ for complex operators only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transpose {
    /// `A^T`.
    Plain,
    /// `A^H`, the adjoint.
    Conjugate,
}

impl Transpose {
    /// The number that belongs to a transposed operator: conjugated for the adjoint.
    pub fn of<A: Field>(self, value: A) -> A {
        match self {
            Transpose::Plain => value,
            Transpose::Conjugate => value.conj(),
        }
    }
}
