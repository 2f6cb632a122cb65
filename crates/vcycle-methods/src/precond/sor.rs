//! Successive over-relaxation, Gauss-Seidel and their symmetric forms, with the rows in any order.

use std::sync::Arc;

use num_traits::One;

use super::order::{Rows, Side};
use super::sweeps::repeated;
use super::triangular::{Factors, Triangle};
use super::{example, nonzero_diagonal, square_entries};
use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::host_stages::TRIANGLES;
use crate::linop::{Factory, LinOp};
use crate::matrix::Csr;
use crate::registration::preconditioner;
use crate::scalar::{Field, Mixes, Scalar};

preconditioner! {
    /// Sweeps of successive over-relaxation from a zero guess: `M = (D / omega + L)^-1` for one sweep,
    /// with the diagonal `D` and the strictly lower triangle `L` of the matrix. Gauss-Seidel is
    /// `omega = 1`.
    ///
    /// The result is that of relaxing the rows in their order, whatever the number of threads. Rows
    /// that do not depend on each other are relaxed at the same time where there are enough of them;
    /// a matrix with long chains of dependencies (a banded one) is left to one thread. The first sweep
    /// costs half a pass over the matrix, every further one and a half.
    ///
    /// **Choose it** with solvers for nonsymmetric matrices, or as a smoother. It is not symmetric;
    /// with conjugate gradients take [`Ssor`].
    ///
    #[doc = example!("Sor", "Gmres", "poisson5:16", 40)]
    pub struct Sor {
        /// The relaxation `omega`, between 0 and 2.
        pub omega: f64 = 1.0,
        /// How many sweeps an application makes.
        pub sweeps: usize = 1,
    }
    name: "sor", summary: "Successive over-relaxation.", after_colon: &["omega", "sweeps"],
    needs: &[Entries, Diagonal], support: Support::own_rows(&[TRIANGLES]), symmetry: OneSided,
    memory: Memory::per(12, 58),
}

impl<T: Mixes<T, T>> Factory<T> for Sor {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let relaxation = Relaxation {
            component: "sor",
            omega: self.omega,
            sweeps: self.sweeps,
            symmetric: false,
        };
        relaxation.operator(a, ws, |_| Ok(Rows::Natural), |_, diagonal| diagonal)
    }
}

preconditioner! {
    /// Symmetric over-relaxation from a zero guess: a sweep forwards, then one backwards.
    ///
    /// For one sweep `M = (2 - omega) / omega (D / omega + U)^-1 D (D / omega + L)^-1` with
    /// `A = L + D + U` (Axelsson 1974). The factors are stored as triangles, so an application costs
    /// one pass over the matrix, every further sweep two.
    ///
    /// **Choose it** with conjugate gradients: it is symmetric (Hermitian) positive definite where the
    /// matrix is. Symmetric Gauss-Seidel is `omega = 1`. It needs no factorisation, so it cannot fail
    /// as [`Ic0`](super::Ic0) can, which is stronger.
    ///
    #[doc = example!("Ssor", "Cg", "poisson5:16", 30)]
    pub struct Ssor {
        /// The relaxation `omega`, between 0 and 2.
        pub omega: f64 = 1.0,
        /// How many pairs of sweeps an application makes.
        pub sweeps: usize = 1,
    }
    name: "ssor", summary: "Symmetric successive over-relaxation.",
    after_colon: &["omega", "sweeps"], needs: &[Entries, Diagonal],
    support: Support::own_rows(&[TRIANGLES]), symmetry: Symmetric, memory: Memory::per(12, 58),
}

impl<T: Mixes<T, T>> Factory<T> for Ssor {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let relaxation = Relaxation {
            component: "ssor",
            omega: self.omega,
            sweeps: self.sweeps,
            symmetric: true,
        };
        relaxation.operator(a, ws, |_| Ok(Rows::Natural), |_, diagonal| diagonal)
    }
}

/// Sweeps through the rows of a matrix from a zero guess.
pub(super) struct Relaxation {
    pub(super) component: &'static str,
    pub(super) omega: f64,
    pub(super) sweeps: usize,
    /// Whether each is followed by one back.
    pub(super) symmetric: bool,
}

impl Relaxation {
    /// The operator, with the rows in an order that the matrix gives, and with a diagonal made of its own.
    pub(super) fn operator<T: Scalar>(
        &self,
        a: &Arc<dyn LinOp<T>>,
        ws: &Workspace,
        order: impl FnOnce(&Csr<T>) -> Result<Rows>,
        weighted: impl FnOnce(&Csr<T>, Vec<T::Arith>) -> Vec<T::Arith>,
    ) -> Result<Arc<dyn LinOp<T>>> {
        let (component, omega) = (self.component, self.omega);
        let _stage = ws.stage(&format!("{component} set-up"), 0);
        // It converges for no other parameter.
        if !(omega > 0.0 && omega < 2.0) {
            return Err(Error::bad_parameter(
                "omega",
                format!("must lie between 0 and 2, not {omega}"),
            ));
        }
        let entries = square_entries(a.as_ref(), component)?;
        let diagonal = nonzero_diagonal(&entries, component)?;
        let rows = order(&entries)?;
        let diagonal = weighted(&entries, diagonal);
        let lower = self.lower(&rows, &entries, &diagonal)?;
        let once: Arc<dyn LinOp<T>> = match self.symmetric {
            true => Arc::new(Factors {
                label: format!("{component} (omega {omega})"),
                lower,
                upper: self.scaled_upper(&rows, &entries, &diagonal)?,
            }),
            false => Arc::new(lower),
        };
        repeated(component, a, once, self.sweeps)
    }

    /// `D / omega + L`.
    fn lower<T: Scalar>(
        &self,
        rows: &Rows,
        a: &Csr<T>,
        diagonal: &[T::Arith],
    ) -> Result<Triangle<T>> {
        let omega = T::Arith::from_f64(self.omega);
        let relaxed = diagonal.iter().map(|&value| value / omega).collect();
        let value = |_, place: usize| a.values()[place].load();
        let (pattern, side) = (a.pattern(), Side::Lower);
        Triangle::of_rows(self.component, rows, side, pattern, Some(relaxed), value)
    }

    /// `omega / (2 - omega) D^-1 (D / omega + U)`: the scaling between the two sweeps joined to the
    /// second of them.
    fn scaled_upper<T: Scalar>(
        &self,
        rows: &Rows,
        a: &Csr<T>,
        diagonal: &[T::Arith],
    ) -> Result<Triangle<T>> {
        let on_diagonal = T::Arith::one() / T::Arith::from_f64(2.0 - self.omega);
        let scale = T::Arith::from_f64(self.omega / (2.0 - self.omega));
        let value = |row: usize, place: usize| scale * a.values()[place].load() / diagonal[row];
        let on_diagonal = Some(vec![on_diagonal; diagonal.len()]);
        let (pattern, side) = (a.pattern(), Side::Upper);
        Triangle::of_rows(self.component, rows, side, pattern, on_diagonal, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::precond::MulticolourGs;
    use crate::precond::testing::{
        applied, convection, hermitian, identity_error, made, matrix_of, multiply, to_dense,
        values_for,
    };
    use crate::scalar::c64;

    /// Relaxes unknowns one after the other, as the textbook says.
    fn textbook(a: &Csr<f64>, omega: f64, order: impl Iterator<Item = usize>) -> Vec<f64> {
        let n = a.size().rows;
        let (b, mut x) = (values_for::<f64>(n), vec![0.0; n]);
        for row in order {
            let (columns, values) = a.row(row);
            let products = columns.iter().zip(values).map(|(&c, v)| v * x[c as usize]);
            let residual = b[row] - products.sum::<f64>();
            x[row] += omega * residual / a.entry(row, row).unwrap();
        }
        x
    }

    #[test]
    fn sweeps_are_those_of_the_textbook() {
        let a = convection(&Executor::reference(), 5);
        let check = |factory: &dyn Factory<f64>, expected: Vec<f64>| {
            let found = applied(made(factory, &a).unwrap().as_ref(), 1);
            for (x, expected) in found.into_iter().zip(expected) {
                assert!((x - expected).abs() < 1e-13, "{factory:?}: {x} {expected}");
            }
        };
        for (omega, sweeps) in [(1.0, 1), (1.3, 1), (0.8, 3)] {
            let order = (0..sweeps).flat_map(|_| 0..25);
            check(&Sor { omega, sweeps }, textbook(&a, omega, order));
        }
        // The points of a chess board, the black ones first.
        let red_black = (0..25).step_by(2).chain((1..25).step_by(2));
        check(&MulticolourGs::default(), textbook(&a, 1.0, red_black));
    }

    #[test]
    fn the_symmetric_inverse_is_the_product_of_the_definition() {
        let (n, omega) = (16, 1.4);
        let a = convection(&Executor::reference(), 4);
        let dense = to_dense(&a);
        let part = |keep: fn(usize, usize) -> bool, on_diagonal: fn(f64) -> f64| -> Vec<f64> {
            let value = |i: usize| match i / n == i % n {
                true => on_diagonal(dense[i]),
                false if keep(i / n, i % n) => dense[i],
                false => 0.0,
            };
            (0..n * n).map(value).collect()
        };
        let lower = part(|row, column| column < row, |d| d / 1.4);
        let upper = part(|row, column| column > row, |d| d / 1.4);
        let between = part(|_, _| false, |d| 1.4 / (2.0 - 1.4) / d);
        let inverse = multiply(n, &multiply(n, &lower, &between), &upper);
        let m = matrix_of(&Ssor { omega, sweeps: 1 }, &a);
        assert!(identity_error(n, &multiply(n, &inverse, &m)) < 1e-13);
    }

    #[test]
    fn it_is_hermitian_for_any_number_of_sweeps() {
        let n = 12;
        let a = hermitian::<c64>(&Executor::reference(), n);
        for sweeps in [1, 3] {
            let m = matrix_of(&Ssor { omega: 1.2, sweeps }, &a);
            for (row, column) in (0..n * n).map(|i| (i / n, i % n)) {
                let difference = m[row * n + column] - m[column * n + row].conj();
                assert!(difference.norm() < 1e-14);
            }
        }
    }
}
