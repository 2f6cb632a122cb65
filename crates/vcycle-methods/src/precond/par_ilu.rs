//! Incomplete LU factorisation by fixed-point sweeps.

use std::sync::Arc;

use super::triangular::Factors;
use super::{diagonal_places, nonzero_diagonal, square_entries};
use crate::error::Result;
use crate::executor::Workspace;
use crate::host_stages::PARILU;
use crate::linop::{Factory, LinOp};
use crate::matrix::{Csr, Pattern, fill_rows};
use crate::operations::on_host;
use crate::registration::{Component, Need, Registration, Symmetry, preconditioner};
use crate::scalar::{Field, Mixes, Scalar};

/// The factors of [`Ilu0`](super::Ilu0), approached by sweeps that compute all entries at once
/// (Chow and Patel 2015).
///
/// A sweep sets, on the pattern of `A` and from the values before it,
/// `l_ij = (a_ij - sum_k<j l_ik u_kj) / u_jj` and `u_ij = a_ij - sum_k<i l_ik u_kj`. It starts from
/// `l_ij = a_ij / a_jj` and `u_ij = a_ij`, which is the matrix scaled to a unit diagonal. The result
/// is the same on any number of threads, and the exact factors once there are as many sweeps as
/// the longest chain of dependencies.
///
/// **Choose it** where the serial set-up of `Ilu0` takes too long; a few sweeps are as good for a
/// preconditioner.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::Executor, matrix::Csr, precond::ParIlu, solver::{Cg, Solver},
///              vector::Vector};
/// let cpu = Executor::cpu();
/// let a = Arc::new(Csr::diagonal_matrix(&cpu, vec![1.0, 2.0, 4.0]));
/// let precond = ParIlu::default();
/// let solver = Solver::<f64>::new(Cg::default(), a)?.preconditioned_by(&precond)?;
/// let mut x = Vector::zeros(&cpu, 3, 1)?;
/// assert_eq!(solver.solve(&Vector::filled(&cpu, 3, 1, 1.0)?, &mut x)?.iterations, 1);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ParIlu {
    /// How many sweeps the set-up makes.
    pub sweeps: usize,
}

impl Default for ParIlu {
    fn default() -> Self {
        Self { sweeps: 5 }
    }
}

impl Component for ParIlu {
    const REGISTRATION: Registration = Registration {
        name: "parilu",
        summary: "Incomplete LU factorisation by fixed-point sweeps.",
        after_colon: &["sweeps"],
        needs: &[Need::Entries, Need::Diagonal],
    };

    fn symmetry(&self) -> Symmetry {
        // Of a symmetric matrix `U` is `D L^T`.
        Symmetry::Symmetric
    }
}

preconditioner!(ParIlu);

impl<T: Mixes<T, T>> Factory<T> for ParIlu {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("parilu set-up", 0);
        let entries = square_entries(a.as_ref(), "parilu")?;
        nonzero_diagonal(&entries, "parilu")?;
        let diagonal = diagonal_places(&entries, "parilu")?;
        on_host(entries.executor(), PARILU);
        let values = fixed_point(&entries, &diagonal, self.sweeps);
        Factors::unit_lower("parilu", entries.pattern(), &values, &diagonal)
    }
}

/// Both factors on the pattern of `a` after `sweeps` sweeps.
fn fixed_point<T: Scalar>(a: &Csr<T>, diagonal: &[usize], sweeps: usize) -> Vec<T::Arith> {
    let pattern = a.pattern();
    let columns = Columns::new(pattern);
    let mut old = initial(a, diagonal);
    let mut new = old.clone();
    for _ in 0..sweeps {
        fill_rows(a.executor(), a.offsets(), &mut new, |row, new| {
            for (place, value) in pattern.range(row).zip(new) {
                let column = a.columns()[place] as usize;
                let rest = a.values()[place].load() - columns.product(pattern, row, column, &old);
                *value = match column < row {
                    true => rest / old[diagonal[column]],
                    false => rest,
                };
            }
        });
        std::mem::swap(&mut old, &mut new);
    }
    old
}

fn initial<T: Scalar>(a: &Csr<T>, diagonal: &[usize]) -> Vec<T::Arith> {
    let mut values: Vec<T::Arith> = a.values().iter().map(|value| value.load()).collect();
    for row in 0..diagonal.len() {
        for place in a.pattern().range(row).start..diagonal[row] {
            let pivot = a.values()[diagonal[a.columns()[place] as usize]].load();
            values[place] /= pivot;
        }
    }
    values
}

/// The entries of a pattern, column by column.
struct Columns {
    offsets: Vec<usize>,
    /// Row of an entry and its place in the pattern.
    entries: Vec<(u32, usize)>,
}

impl Columns {
    fn new(pattern: &Pattern) -> Self {
        let size = pattern.size();
        let mut offsets = vec![0; size.cols + 1];
        for &column in pattern.columns() {
            offsets[column as usize + 1] += 1;
        }
        for column in 0..size.cols {
            offsets[column + 1] += offsets[column];
        }
        let mut next = offsets.clone();
        let mut entries = vec![(0, 0); pattern.nonzeros()];
        for row in 0..size.rows {
            for place in pattern.range(row) {
                let slot = &mut next[pattern.columns()[place] as usize];
                entries[*slot] = (row as u32, place);
                *slot += 1;
            }
        }
        Self { offsets, entries }
    }

    /// The sum over `k < min(row, column)` of `l_(row, k) u_(k, column)`.
    fn product<A: Field>(&self, pattern: &Pattern, row: usize, column: usize, lu: &[A]) -> A {
        let limit = row.min(column) as u32;
        let of_row = pattern
            .range(row)
            .map(|place| (pattern.columns()[place], place));
        let mut of_row = of_row.take_while(|entry| entry.0 < limit).peekable();
        let of_column = &self.entries[self.offsets[column]..self.offsets[column + 1]];
        let mut sum = A::zero();
        for &(k, above) in of_column.iter().take_while(|entry| entry.0 < limit) {
            while of_row.next_if(|left| left.0 < k).is_some() {}
            if let Some((_, left)) = of_row.next_if(|left| left.0 == k) {
                sum += lu[left] * lu[above];
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::executor::Executor;
    use crate::precond::ilu0::factorise;
    use crate::precond::testing::{convection, from_dense, red_black};

    fn distance(a: &Csr<f64>, sweeps: usize) -> f64 {
        let diagonal = diagonal_places(a, "test").unwrap();
        let exact = factorise(a, &diagonal);
        let values = fixed_point(a, &diagonal, sweeps);
        let differences = values.iter().zip(exact).map(|(v, e)| (v - e).abs());
        differences.fold(0.0, f64::max)
    }

    #[test]
    fn sweeps_converge_to_ilu0() {
        let a = convection(&Executor::reference(), 8);
        assert!(distance(&a, 5) < 0.1 * distance(&a, 0));
        assert!(distance(&a, 50) < 1e-14);
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let factors = |executor: &Executor| {
            let a = red_black::<f64>(executor, 60);
            fixed_point(&a, &diagonal_places(&a, "test").unwrap(), 3)
        };
        let expected = factors(&Executor::reference());
        let cpu = Executor::cpu_with_threads(3).unwrap();
        assert_eq!(factors(&cpu), expected);
    }

    #[test]
    fn a_pivot_that_vanishes_is_named() {
        let a = from_dense(&Executor::reference(), 2, &[1.0, 2.0, 2.0, 4.0]);
        let a: Arc<dyn LinOp<f64>> = Arc::new(a);
        let result = ParIlu::default().generate(&a, &Workspace::new());
        assert!(matches!(result, Err(Error::BadPivot { row: 1, .. })));
    }
}
