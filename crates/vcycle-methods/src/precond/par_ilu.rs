//! Incomplete LU factorisation by fixed-point sweeps.

use std::sync::Arc;

use num_traits::One;

use super::ilu0::in_order;
use super::triangular::Factors;
use super::{diagonal_places, nonzero_diagonal, rounding, square_entries};
use crate::error::Result;
use crate::executor::Workspace;
use crate::host_stages::{ILU0, TRIANGLES};
use crate::linop::{Factory, LinOp};
use crate::matrix::{Csr, balance, fill_rows, fill_rows_with};
use crate::operations::factor::{Factorisation, Sweeping};
use crate::operations::{self, remark};
use crate::registration::{
    Component, Memory, MemoryOf, Need, Registration, Support, Symmetry, preconditioner,
};
use crate::scalar::{Field, Kind, Mixes, Real, Scalar};

/// A column in which a row has no entry.
const NOWHERE: usize = usize::MAX;

/// The factors of [`Ilu0`](super::Ilu0), approached by sweeps that compute all entries at once
/// (Chow and Patel 2015).
///
/// With `F = (L - I) D + U` and the diagonal `D` of `U`, a sweep sets, on the pattern of `A` and from the values
/// before it, `f_ij = a_ij - sum_k<min(i,j) f_ik f_kj / f_kk`, and starts from `F = A`. Of a symmetric matrix `F` stays
/// symmetric. The result is the same on any number of threads, and the exact factors once there are as many sweeps
/// as the longest chain of dependencies.
///
/// On the way there values can grow beyond all bounds, for matrices far from diagonally dominant. Where a sweep would
/// enlarge the residual `A - L U` on the pattern, the factors are those of `Ilu0`, row after row, on devices front after front
/// of rows that do not depend on each other, and a message says so.
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
        support: Support::own_rows(&[ILU0, TRIANGLES]),
    };

    fn symmetry(&self) -> Symmetry {
        // Of a symmetric matrix `U` is `D L^T`.
        Symmetry::Symmetric
    }

    fn memory(&self, _of: MemoryOf) -> Memory {
        Memory::per(24, 30)
    }
}

preconditioner!(ParIlu);

impl<T: Mixes<T, T>> Factory<T> for ParIlu {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("parilu set-up", 0);
        let entries = square_entries(a.as_ref(), "parilu")?;
        nonzero_diagonal(&entries, "parilu")?;
        let diagonal = diagonal_places(&entries, "parilu")?;
        let values = {
            let _factors = ws.stage("factors", 0);
            match fixed_point(&entries, &diagonal, None, self.sweeps)? {
                Some(values) => values,
                None => {
                    remark("parilu: the sweeps diverge; the factors are those of ilu0".to_owned());
                    in_order(&entries, &diagonal)?
                }
            }
        };
        Factors::unit_lower("parilu", entries.pattern(), &values, &diagonal)
    }
}

/// Both factors on the pattern of `a` after `sweeps` sweeps from `start`, or from `a` itself; none where one of them
/// enlarges the residual.
///
/// # Errors
/// When a device fails.
pub(super) fn fixed_point<T: Scalar>(
    a: &Csr<T>,
    diagonal: &[usize],
    mut start: Option<Vec<T::Arith>>,
    sweeps: usize,
) -> Result<Option<Vec<T::Arith>>> {
    let sweeping = Sweeping {
        factorisation: Factorisation::Lu,
        sweeps,
        exact: exact(T::KIND),
    };
    if let Some(found) = operations::factor::swept(a, diagonal, &mut start, sweeping)? {
        return Ok(found);
    }
    let start = start.unwrap_or_else(|| a.values().iter().map(|value| value.load()).collect());
    let sweep = |old: &[T::Arith], new: &mut [T::Arith]| sweep(a, diagonal, old, new);
    let distance = |x: &[T::Arith], y: &[T::Arith]| distance(a, diagonal, x, y);
    let Some(mut values) = guarded(start, sweeps, exact(T::KIND), sweep, distance) else {
        return Ok(None);
    };
    let pivots: Vec<T::Arith> = diagonal.iter().map(|&place| values[place]).collect();
    fill_rows(a.executor(), a.offsets(), &mut values, |row, values| {
        let places = a.pattern().range(row).start..diagonal[row];
        for (value, place) in values.iter_mut().zip(places) {
            *value /= pivots[a.columns()[place] as usize];
        }
    });
    Ok(Some(values))
}

/// The part of the norm of a matrix that counts as rounding in residuals of its factors.
pub(super) fn exact(kind: Kind) -> f64 {
    64.0 * rounding(kind)
}

/// `sweeps` sweeps from `values`; none where one of them enlarges the residual. What is not larger than the `exact` part of the
/// start may grow.
pub(super) fn guarded<A: Field>(
    mut values: Vec<A>,
    sweeps: usize,
    exact: f64,
    sweep: impl Fn(&[A], &mut [A]),
    distance: impl Fn(&[A], &[A]) -> f64,
) -> Option<Vec<A>> {
    let mut next = vec![A::zero(); values.len()];
    let exact = exact * distance(&values, &next);
    let mut least = f64::INFINITY;
    // What a sweep changes is the residual of what it starts from: one more is made to see that of the last.
    for done in 0..=sweeps {
        sweep(&values, &mut next);
        let residual = distance(&values, &next);
        if !(residual < least || residual <= exact) {
            return None;
        }
        if done < sweeps {
            std::mem::swap(&mut values, &mut next);
        }
        least = residual;
    }
    Some(values)
}

/// One sweep, from `old` to `new`.
pub(super) fn sweep<T: Scalar>(
    a: &Csr<T>,
    diagonal: &[usize],
    old: &[T::Arith],
    new: &mut [T::Arith],
) {
    let (pattern, columns) = (a.pattern(), a.columns());
    let invert = |&place: &usize| T::Arith::one() / old[place];
    let inverse: Vec<T::Arith> = diagonal.iter().map(invert).collect();
    // Where the current row has its entry of each column.
    let places = || vec![NOWHERE; diagonal.len()];
    let of_row = |places: &mut Vec<usize>, row: usize, new: &mut [T::Arith]| {
        let own = pattern.range(row);
        for (at, place) in own.clone().enumerate() {
            places[columns[place] as usize] = at;
            new[at] = a.values()[place].load();
        }
        for left in own.start..diagonal[row] {
            let above = columns[left] as usize;
            let factor = old[left] * inverse[above];
            for other in diagonal[above] + 1..pattern.range(above).end {
                let at = places[columns[other] as usize];
                if at != NOWHERE {
                    new[at] -= factor * old[other];
                }
            }
        }
        own.for_each(|place| places[columns[place] as usize] = NOWHERE);
        Ok(())
    };
    let bounds = balance(diagonal.len(), |row| a.offsets()[row] + row);
    fill_rows_with(a.executor(), a.offsets(), &bounds, new, places, of_row)
        .expect("work that cannot fail");
}

/// The norm of a difference of values on the pattern of `a`, which is scaled to a unit diagonal for that.
pub(super) fn distance<T: Scalar>(
    a: &Csr<T>,
    diagonal: &[usize],
    x: &[T::Arith],
    y: &[T::Arith],
) -> f64 {
    let size = |&place: &usize| a.values()[place].load().modulus_squared().to_f64().sqrt();
    let scale: Vec<f64> = diagonal.iter().map(size).collect();
    let of_rows = |ends: &[usize]| {
        let mut sum = 0.0;
        for row in ends[0]..ends[1] {
            for place in a.pattern().range(row) {
                let part = (x[place] - y[place]).modulus_squared().to_f64();
                sum += part / (scale[row] * scale[a.columns()[place] as usize]);
            }
        }
        sum
    };
    let bounds = balance(diagonal.len(), |row| a.offsets()[row] + row);
    let sums: Vec<f64> = (a.executor()).run(size_of_val(x), bounds.windows(2).collect(), of_rows);
    sums.into_iter().sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::executor::Executor;
    use crate::operations::HostStages;
    use crate::precond::testing::{
        assemble, convection, from_dense, identity_error, multiply, red_black,
    };
    use vcycle_core::testing::device;

    fn distance(a: &Csr<f64>, sweeps: usize) -> f64 {
        let diagonal = diagonal_places(a, "test").unwrap();
        let exact = in_order(a, &diagonal).unwrap();
        let values = fixed_point(a, &diagonal, None, sweeps).unwrap().unwrap();
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
    fn sweeps_of_a_symmetric_matrix_are_symmetric() {
        let n = 25;
        let a = crate::gallery::build("poisson5:5", &Executor::reference()).unwrap();
        let a: Arc<dyn LinOp<f64>> = Arc::new(a.matrix);
        let m = ParIlu { sweeps: 2 }
            .generate(&a, &Workspace::new())
            .unwrap();
        let m = assemble(m.as_ref());
        for (i, j) in (0..n * n).map(|k| (k / n, k % n)) {
            assert!((m[i * n + j] - m[j * n + i]).abs() < 1e-14);
        }
    }

    #[test]
    fn sweeps_that_diverge_give_way_to_ilu0() {
        // Positive definite, but far from dominant: all couplings are 0.9.
        let n = 20;
        let value = |i: usize| if i / n == i % n { 1.0 } else { 0.9 };
        let dense: Vec<f64> = (0..n * n).map(value).collect();
        let a: Arc<dyn LinOp<f64>> = Arc::new(from_dense(&Executor::reference(), n, &dense));
        for sweeps in [1, 5, 10] {
            let watch = HostStages::watch();
            let m = ParIlu { sweeps }.generate(&a, &Workspace::new()).unwrap();
            let told = watch.tell(Workspace::new().log()).concat();
            assert!(
                told.contains("parilu: the sweeps diverge"),
                "{sweeps}: {told}"
            );
            // Without fill that is the inverse.
            let product = multiply(n, &assemble(m.as_ref()), &dense);
            assert!(identity_error(n, &product) < 1e-12);
        }
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let factors = |executor: &Executor| {
            let a = red_black::<f64>(executor, 60);
            let diagonal = diagonal_places(&a, "test").unwrap();
            fixed_point(&a, &diagonal, None, 3).unwrap().unwrap()
        };
        let expected = factors(&Executor::reference());
        let cpu = Executor::cpu_with_threads(3).unwrap();
        assert_eq!(factors(&cpu), expected);
    }

    #[test]
    fn devices_sweep_as_the_host_does() {
        let Some(device) = device() else { return };
        let host = convection::<f64>(&Executor::reference(), 12);
        let there = host.copy_to(&device).unwrap();
        let diagonal = diagonal_places(&host, "test").unwrap();
        let watch = HostStages::watch();
        for sweeps in [0, 1, 4] {
            let sweep = |a| fixed_point(a, &diagonal, None, sweeps).unwrap().unwrap();
            let differences = sweep(&host).into_iter().zip(sweep(&there));
            let largest = differences.fold(0.0, |most, (x, y): (f64, f64)| (x - y).abs().max(most));
            assert!(largest < 1e-14, "{sweeps}: {largest}");
        }
        assert!(watch.tell(Workspace::new().log()).is_empty());
        // Sweeps that diverge end there, too.
        let value = |i: usize| if i / 20 == i % 20 { 1.0 } else { 0.9 };
        let dense: Vec<f64> = (0..400).map(value).collect();
        let a = from_dense(&device, 20, &dense);
        let diagonal = diagonal_places(&a, "test").unwrap();
        assert!(fixed_point(&a, &diagonal, None, 5).unwrap().is_none());
    }

    #[test]
    fn a_pivot_that_vanishes_is_named() {
        let a = from_dense(&Executor::reference(), 2, &[1.0, 2.0, 2.0, 4.0]);
        let a: Arc<dyn LinOp<f64>> = Arc::new(a);
        let result = ParIlu::default().generate(&a, &Workspace::new());
        assert!(matches!(result, Err(Error::BadPivot { row: 1, .. })));
    }
}
