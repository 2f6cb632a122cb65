//! Preconditioners, one a file: parameters that become an approximate inverse of a matrix.
//!
//! | | symmetric | set-up | application |
//! |---|---|---|---|
//! | [`Jacobi`], [`L1Jacobi`] | yes | parallel | a scaling |
//! | [`BlockJacobi`] | yes | parallel | small dense products |
//! | [`BlockDirect`] | yes | serial | two sparse triangular solves |
//! | [`Sor`] | no | serial | a triangular solve |
//! | [`MulticolourGs`], [`HybridGs`] | with `symmetric` | serial | one or two parallel triangular solves |
//! | [`Ssor`], [`Ic0`], [`Ick`] | yes | serial | two triangular solves |
//! | [`ParIc`], [`ParIct`] | yes | parallel | two triangular solves |
//! | [`Ilu0`], [`Iluk`], [`Ilut`] | no | serial | two triangular solves |
//! | [`ParIlu`], [`ParIlut`] | no | parallel | two triangular solves |
//! | [`Isai`] | kind `spd` | parallel | one or two sparse products |
//! | [`Fsai`] | yes | parallel | two sparse products |
//! | [`Polynomial`] | yes | products | products with the matrix |
//! | [`AdditiveSchwarz`] | as what it is made of | a rank each | a rank each |
//!
//! A symmetric one is Hermitian positive definite where the matrix is, so conjugate gradients may
//! use it.
//!
//! ```
//! use std::sync::Arc;
//! use vcycle::{executor::Executor, linop::Size, matrix::{Csr, Duplicates}, precond::Ic0,
//!              solver::{Cg, Solver}, vector::Vector};
//! let cpu = Executor::cpu();
//! let a = Csr::from_arrays(&cpu, Size::square(3), vec![0, 2, 5, 7], vec![0, 1, 0, 1, 2, 1, 2],
//!     vec![2.0, -1.0, -1.0, 2.0, -1.0, -1.0, 2.0], Duplicates::Refuse)?;
//! let solver = Solver::<f64>::new(Cg::default(), Arc::new(a))?
//!     .preconditioned_by(&Ic0::default())?;
//! let b = Vector::filled(&cpu, 3, 1, 1.0)?;
//! let mut x = Vector::zeros_like(&b)?;
//! let outcome = solver.solve(&b, &mut x)?;
//! assert_eq!((outcome.converged(), outcome.iterations), (true, 1)); // no fill: exact
//! # Ok::<(), vcycle::Error>(())
//! ```

mod block_direct;
mod block_jacobi;
mod chebyshev;
#[cfg(test)]
mod conformance;
mod fill_levels;
mod fixed_point;
mod fsai;
mod ic;
mod ilu;
mod ilut;
mod incomplete;
mod isai;
mod jacobi;
mod order;
mod par_ilu;
mod power;
mod preprocessing;
#[cfg(test)]
mod rank_tests;
mod schwarz;
mod search;
mod sor;
mod sweeper;
#[cfg(test)]
pub(crate) mod testing;
mod triangular;

use std::borrow::Cow;

pub use block_direct::BlockDirect;
pub use block_jacobi::BlockJacobi;
pub use chebyshev::{ChebyshevBase, ChebyshevPolynomial, Polynomial};
pub use fsai::{Fsai, FsaiSetup};
pub use ic::{Ic0, Ick};
pub(crate) use ilu::eliminate;
pub use ilu::{Ilu0, Iluk};
pub use ilut::Ilut;
pub use isai::{Isai, IsaiKind};
pub(crate) use jacobi::Diagonal;
pub use jacobi::{Jacobi, L1Jacobi};
use num_traits::Zero;
pub use par_ilu::{ParIc, ParIct, ParIlu, ParIlut};
pub use preprocessing::{Equilibration, MatchingKind, Preprocessed, Preprocessing, Reorder};
pub use schwarz::AdditiveSchwarz;
pub use sor::{HybridGs, MulticolourGs, Sor, Ssor};

use crate::linop::{check_square, entries, rows_here};
use crate::prelude::*;

/// The example of a preconditioner, which differs from others by its name, the solver, the problem and the iterations it is below.
macro_rules! example {
    ($name:literal, $solver:literal, $problem:literal, $most:literal) => {
        concat!(
            "```\nuse std::sync::Arc;\nuse vcycle::{executor::Executor, gallery, precond::",
            $name,
            ", solver::{",
            $solver,
            ", Solver}, vector::Vector};\n\
             let problem = gallery::build(\"",
            $problem,
            "\", &Executor::cpu())?;\n\
             let b = Vector::from_column(&Executor::cpu(), problem.rhs);\n\
             let mut x = Vector::zeros_like(&b)?;\n\
             let solver = Solver::<f64>::new(",
            $solver,
            "::default(), Arc::new(problem.matrix))?;\n\
             let solver = solver.preconditioned_by(&",
            $name,
            "::default())?;\n\
             assert!(solver.solve(&b, &mut x)?.iterations < ",
            $most,
            ");\n# Ok::<(), vcycle::Error>(())\n```"
        )
    };
}
use example;

/// The entries of a square matrix, all of them finite.
pub(crate) fn square_entries<'a, T: Scalar>(
    a: &'a dyn LinOp<T>,
    component: &'static str,
) -> Result<Cow<'a, Csr<T>>> {
    check_square(a, component)?;
    let entries = entries(a, component)?;
    entries.check_finite()?;
    Ok(entries)
}

/// The rows that this rank has of a square matrix, all of them finite, and the column of the first.
fn square_rows<'a, T: Scalar>(
    a: &'a dyn LinOp<T>,
    component: &'static str,
) -> Result<(Cow<'a, Csr<T>>, usize)> {
    check_square(a, component)?;
    let (rows, first) = rows_here(a, component)?;
    rows.check_finite()?;
    Ok((rows, first))
}

/// Fails, naming what to use `instead`, unless a matrix is its own adjoint but for rounding: that of its assembly, or
/// that of a precision it was converted to.
fn check_hermitian<T: Scalar>(
    a: &Csr<T>,
    component: &'static str,
    instead: &'static str,
) -> Result<()> {
    if a.executor().is_device() && !T::KIND.is_complex() && a.symmetric_and_positive()?[0] {
        return Ok(()); // without a copy to the host
    }
    let facts = a.facts();
    if facts.hermitian || facts.asymmetry <= 8.0 * rounding(T::KIND) * facts.largest {
        return Ok(());
    }
    Err(Error::NotHermitian {
        component,
        asymmetry: facts.asymmetry,
        instead,
    })
}

/// The diagonal, or an error that names its first zero.
pub(crate) fn nonzero_diagonal<T: Scalar>(
    a: &Csr<T>,
    component: &'static str,
) -> Result<Vec<T::Arith>> {
    let diagonal: Vec<T::Arith> = a.diagonal().into_iter().map(T::load).collect();
    match diagonal.iter().position(Zero::is_zero) {
        Some(row) => Err(Error::ZeroDiagonal { component, row }),
        None => Ok(diagonal),
    }
}

/// Where the diagonal entry of every row is stored, or an error that names the first row without.
fn diagonal_places(pattern: &Pattern, component: &'static str) -> Result<Vec<usize>> {
    let place = |row: usize| {
        let own = pattern.range(row);
        let found = pattern.columns()[own.clone()].binary_search(&(row as u32));
        let place = found.map_err(|_| Error::ZeroDiagonal { component, row })?;
        Ok(own.start + place)
    };
    (0..pattern.size().rows).map(place).collect()
}

/// Reserves memory for so many more values of a list that grows row by row, or a typed error: factors have no size that is known before.
fn reserve<V>(executor: &Executor, list: &mut Vec<V>, more: usize) -> Result<()> {
    list.try_reserve(more).map_err(|_| Error::OutOfMemory {
        bytes: (list.len() + more).saturating_mul(size_of::<V>()),
        executor: executor.name().to_owned(),
    })
}

fn bad_pivot(component: &'static str, row: usize, problem: &'static str) -> Error {
    Error::BadPivot {
        component,
        row,
        problem,
    }
}

/// The distance from one to the next number.
fn rounding(kind: Kind) -> f64 {
    2.0 * kind.roundoff()
}
