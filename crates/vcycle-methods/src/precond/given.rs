//! Triangular factors that somebody else has made.

use std::sync::Arc;

use num_traits::One;

use super::incomplete::{FactorRows, Solves};
use super::{nonzero_diagonal, square_entries};
use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::linop::{LinOp, check_size};
use crate::matrix::Csr;
use crate::scalar::{Mixes, Scalar};

const COMPONENT: &str = "given factors";

/// `M = (L U)^-1` with a lower triangular matrix `L` and an upper triangular one `U` from elsewhere: of another library, or of an
/// earlier time step.
///
/// What the diagonal of `L` does not store is one; `L` and its transpose of a Cholesky factorisation fit, too. The triangles are
/// solved with by substitution, by Jacobi sweeps or by approximate inverses, as those of [`Ilu0`](super::Ilu0) are. Whoever
/// has solvers for both of their own multiplies them: [`Product`](crate::linop::Product) of that for `U` and that for `L`.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::{Executor, Workspace}, linop::Size, matrix::{Csr, Duplicates}, precond::GivenFactors};
/// use vcycle::{solver::{Gmres, Solver}, vector::Vector};
/// let cpu = Executor::cpu();
/// let matrix = |offsets: [usize; 3], columns: &[u32], values: &[f64]| {
///     let (offsets, columns, values) = (offsets.to_vec(), columns.to_vec(), values.to_vec());
///     Csr::from_arrays(&cpu, Size::square(2), offsets, columns, values, Duplicates::Refuse)
/// };
/// // [4 2; 2 5] = [1 0; 0.5 1] [4 2; 0 4]
/// let a = matrix([0, 2, 4], &[0, 1, 0, 1], &[4.0, 2.0, 2.0, 5.0])?;
/// let lower = matrix([0, 0, 1], &[0], &[0.5])?;
/// let upper = matrix([0, 2, 3], &[0, 1, 1], &[4.0, 2.0, 4.0])?;
/// let inverse = GivenFactors::default().operator(&lower, &upper, &Workspace::new())?;
/// let solver = Solver::<f64>::new(Gmres::default(), Arc::new(a))?.with_preconditioner(inverse)?;
/// let b = Vector::filled(&cpu, 2, 1, 1.0)?;
/// assert_eq!(solver.solve(&b, &mut Vector::zeros_like(&b)?)?.iterations, 1);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GivenFactors {
    /// Jacobi sweeps for each triangle in place of substitution, if any.
    pub sweeps: usize,
    /// The power of the pattern on which triangles are inverted approximately in place of substitution, if any.
    pub isai: usize,
}

impl GivenFactors {
    /// The inverse of the product of two triangles.
    ///
    /// # Errors
    /// For matrices that are not square, not finite or not triangular, of different sizes or places, and for zeros on a diagonal.
    pub fn operator<T: Mixes<T, T>>(
        &self,
        lower: &Csr<T>,
        upper: &Csr<T>,
        ws: &Workspace,
    ) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("given factors set-up", 0);
        square_entries::<T>(lower, COMPONENT)?;
        square_entries::<T>(upper, COMPONENT)?;
        check_size(COMPONENT, lower.size(), upper.size())?;
        lower.executor().check_same(upper.executor(), COMPONENT)?;
        let (sweeps, isai) = (self.sweeps, self.isai);
        joined(lower, upper)?.operator(COMPONENT, lower, Solves { sweeps, isai }, ws)
    }
}

/// Both factors on one pattern, the first with ones on its diagonal: `L D^-1` and `D U` with the diagonal `D` of `L`.
fn joined<T: Scalar>(lower: &Csr<T>, upper: &Csr<T>) -> Result<FactorRows<T::Arith>> {
    nonzero_diagonal(upper, COMPONENT)?;
    let scales = diagonal_of_lower(lower)?;
    let mut joined = FactorRows::new();
    for (row, &scale) in scales.iter().enumerate() {
        for (&column, &value) in lower.row(row).0.iter().zip(lower.row(row).1) {
            match column as usize {
                column if column > row => return Err(misplaced("L", row, column)),
                before if before < row => joined.push(column, T::load(value) / scales[before]),
                _ => {}
            }
        }
        for (&column, &value) in upper.row(row).0.iter().zip(upper.row(row).1) {
            if (column as usize) < row {
                return Err(misplaced("U", row, column as usize));
            }
            joined.push(column, T::load(value) * scale);
        }
        joined.end_row();
    }
    Ok(joined)
}

/// The diagonal of `L`, with ones where it stores none.
fn diagonal_of_lower<T: Scalar>(lower: &Csr<T>) -> Result<Vec<T::Arith>> {
    let of_row = |row: usize| match lower.row(row).0.binary_search(&(row as u32)) {
        Err(_) => Ok(T::Arith::one()),
        Ok(place) => match T::load(lower.row(row).1[place]) {
            zero if num_traits::Zero::is_zero(&zero) => Err(Error::ZeroDiagonal {
                component: COMPONENT,
                row,
            }),
            value => Ok(value),
        },
    };
    (0..lower.size().rows).map(of_row).collect()
}

fn misplaced(factor: &str, row: usize, column: usize) -> Error {
    Error::InvalidStructure {
        format: COMPONENT,
        reason: format!(
            "{factor} has an entry in row {row}, column {column}, on the other side of the diagonal"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::precond::testing::from_dense;
    use crate::vector::Vector;

    fn matrix(executor: &Executor, rows: [[f64; 3]; 3]) -> Csr<f64> {
        from_dense(executor, 3, rows.as_flattened())
    }

    const LOWER: [[f64; 3]; 3] = [[2.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 3.0, 4.0]];
    const UPPER: [[f64; 3]; 3] = [[3.0, 1.0, 0.0], [0.0, 2.0, -1.0], [0.0, 0.0, 5.0]];

    #[test]
    fn products_of_triangles_are_inverted() {
        let everywhere = [Some(Executor::cpu()), vcycle_core::testing::device()];
        for executor in everywhere.into_iter().flatten() {
            let ws = Workspace::new();
            let [lower, upper] = [LOWER, UPPER].map(|rows| matrix(&executor, rows));
            // L (U x) with a one that is not stored in the second row of L.
            let b = Vector::from_column(&executor, vec![8.0, 5.0, 65.0]);
            for (sweeps, isai) in [(0, 0), (3, 0), (0, 2)] {
                let given = GivenFactors { sweeps, isai };
                let inverse = given.operator(&lower, &upper, &ws).unwrap();
                let mut x = Vector::zeros_like(&b).unwrap();
                inverse.apply(&b, &mut x, &ws).unwrap();
                let expected = [2.0 / 3.0, 2.0, 3.0];
                for (x, expected) in x.to_vec().into_iter().zip(expected) {
                    assert!((x - expected).abs() < 1e-12, "{given:?}: {x}, {expected}");
                }
            }
        }
    }

    #[test]
    fn what_are_no_triangles_is_refused() {
        let (cpu, ws) = (Executor::reference(), Workspace::new());
        let [lower, upper] = [LOWER, UPPER].map(|rows| matrix(&cpu, rows));
        let refused = |lower: &Csr<f64>, upper: &Csr<f64>| {
            let made = GivenFactors::default().operator(lower, upper, &ws);
            made.unwrap_err().to_string()
        };
        assert!(refused(&upper, &upper).contains("L has an entry in row 0, column 1"));
        let full = matrix(&cpu, [[1.0; 3]; 3]);
        assert!(refused(&lower, &full).contains("U has an entry in row 1, column 0"));
        let missing = matrix(&cpu, [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]);
        assert!(refused(&lower, &missing).contains("row 1"));
    }
}
