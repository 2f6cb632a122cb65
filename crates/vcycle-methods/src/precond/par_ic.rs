//! Incomplete Cholesky factorisation by fixed-point sweeps.

use std::sync::Arc;

use num_traits::{Float, One, Zero};

use super::ic0::{check_positive, cholesky, factorise_shifted};
use super::par_ilu::{distance, exact, guarded};
use super::{bad_pivot, check_hermitian, diagonal_places, square_entries};
use crate::error::Result;
use crate::executor::Workspace;
use crate::host_stages::{IC0, TRIANGLES};
use crate::linop::{Factory, LinOp};
use crate::matrix::{Csr, balance, fill_rows_with};
use crate::operations::factor::{Factorisation, Sweeping};
use crate::operations::{self, remark};
use crate::registration::{
    Component, Memory, MemoryOf, Need, Registration, Support, Symmetry, preconditioner,
};
use crate::scalar::{Field, Mixes, RealOf, Scalar};

/// The factor of [`Ic0`](super::Ic0), approached by sweeps that compute all entries at once (Chow and Patel 2015).
///
/// With `F = L D^(1/2)` and `D` the square of the diagonal of `L`, a sweep sets, on the lower triangle of the pattern of `A` and
/// from the values before it, `f_ij = a_ij - sum_k<j f_ik conj(f_jk) / d_k`, and starts from `F = A`. It is half the work of
/// [`ParIlu`](super::ParIlu).
///
/// Where a sweep would enlarge the residual `A - L L^H` on the pattern, the factor is that of `Ic0`, row after row, and a
/// message says so.
///
/// **Choose it** where the serial set-up of `Ic0` takes too long.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::Executor, gallery, precond::ParIc, solver::{Cg, Solver}, vector::Vector};
/// let cpu = Executor::cpu();
/// let problem = gallery::build("poisson5:16", &cpu)?;
/// let solver = Solver::<f64>::new(Cg::default(), Arc::new(problem.matrix))?
///     .preconditioned_by(&ParIc::default())?;
/// let b = Vector::from_column(&cpu, problem.rhs);
/// let mut x = Vector::zeros_like(&b)?;
/// assert!(solver.solve(&b, &mut x)?.converged());
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ParIc {
    /// How many sweeps the set-up makes.
    pub sweeps: usize,
}

impl Default for ParIc {
    fn default() -> Self {
        Self { sweeps: 5 }
    }
}

impl Component for ParIc {
    const REGISTRATION: Registration = Registration {
        name: "paric",
        summary: "Incomplete Cholesky factorisation by fixed-point sweeps.",
        after_colon: &["sweeps"],
        needs: &[Need::Entries, Need::DefiniteMatrix],
        support: Support::own_rows(&[IC0, TRIANGLES]),
    };

    fn symmetry(&self) -> Symmetry {
        Symmetry::Symmetric
    }

    fn memory(&self, _of: MemoryOf) -> Memory {
        Memory::per(24, 56)
    }
}

preconditioner!(ParIc);

impl<T: Mixes<T, T>> Factory<T> for ParIc {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("paric set-up", 0);
        let entries = square_entries(a.as_ref(), "paric")?;
        check_positive("paric", &entries, &diagonal_places(&entries, "paric")?)?;
        check_hermitian(&entries, "paric", "parilu")?;
        made("paric", &entries.lower()?, None, self.sweeps, ws)
    }
}

/// The factor on the lower triangle `a` after so many sweeps from `start`, or from `a` itself; that of [`Ic0`](super::Ic0) on
/// that pattern where they diverge.
pub(super) fn made<T: Scalar>(
    component: &'static str,
    a: &Csr<T>,
    start: Option<Vec<T::Arith>>,
    sweeps: usize,
    ws: &Workspace,
) -> Result<Arc<dyn LinOp<T>>> {
    let diagonal = diagonal_places(a, component)?;
    let swept = {
        let _factors = ws.stage("factors", 0);
        swept(component, a, &diagonal, start, sweeps)?
    };
    let values = match swept {
        Some(values) => values,
        None => {
            remark(format!(
                "{component}: the sweeps diverge; the factor is that of ic0 on its pattern"
            ));
            factorise_shifted(component, a, &diagonal, 0.0)?.0
        }
    };
    cholesky(
        component,
        component.to_owned(),
        a.pattern(),
        &values,
        &diagonal,
    )
}

/// `L` after the sweeps; none where one of them enlarges the residual or a pivot is not positive.
fn swept<T: Scalar>(
    component: &'static str,
    a: &Csr<T>,
    diagonal: &[usize],
    mut start: Option<Vec<T::Arith>>,
    sweeps: usize,
) -> Result<Option<Vec<T::Arith>>> {
    let sweeping = Sweeping {
        factorisation: Factorisation::Cholesky,
        sweeps,
        exact: exact(T::KIND),
    };
    if let Some(found) = operations::factor::swept(a, diagonal, &mut start, sweeping)? {
        return Ok(found);
    }
    let start = start.unwrap_or_else(|| a.values().iter().map(|value| value.load()).collect());
    let found = fixed_point(a, diagonal, start, sweeps);
    Ok(found.and_then(|values| divided(component, a, diagonal, values).ok()))
}

/// `L D^(1/2)` on the lower triangle `a` after `sweeps` sweeps; none where one of them enlarges the residual.
pub(super) fn fixed_point<T: Scalar>(
    a: &Csr<T>,
    diagonal: &[usize],
    start: Vec<T::Arith>,
    sweeps: usize,
) -> Option<Vec<T::Arith>> {
    let sweep = |old: &[T::Arith], new: &mut [T::Arith]| sweep(a, diagonal, old, new);
    let distance = |x: &[T::Arith], y: &[T::Arith]| distance(a, diagonal, x, y);
    guarded(start, sweeps, exact(T::KIND), sweep, distance)
}

/// One sweep, from `old` to `new`.
fn sweep<T: Scalar>(a: &Csr<T>, diagonal: &[usize], old: &[T::Arith], new: &mut [T::Arith]) {
    let invert = |&place: &usize| T::Arith::one() / old[place];
    let inverse: Vec<T::Arith> = diagonal.iter().map(invert).collect();
    let (pattern, columns) = (a.pattern(), a.columns());
    // What the current row has in each column, over the pivot.
    let scratch = || vec![T::Arith::zero(); diagonal.len()];
    let of_row = |left: &mut Vec<T::Arith>, row: usize, new: &mut [T::Arith]| {
        for place in pattern.range(row) {
            let column = columns[place] as usize;
            left[column] = old[place] * inverse[column];
        }
        for (place, value) in pattern.range(row).zip(new) {
            let column = columns[place] as usize;
            let mut sum = a.values()[place].load();
            for other in pattern.range(column).start..diagonal[column] {
                sum -= left[columns[other] as usize] * Field::conj(old[other]);
            }
            *value = sum;
        }
        pattern
            .range(row)
            .for_each(|place| left[columns[place] as usize] = T::Arith::zero());
        Ok(())
    };
    let bounds = balance(diagonal.len(), |row| a.offsets()[row] + row);
    fill_rows_with(a.executor(), a.offsets(), &bounds, new, scratch, of_row)
        .expect("work that cannot fail");
}

/// `L` from `L D^(1/2)`.
fn divided<T: Scalar>(
    component: &'static str,
    a: &Csr<T>,
    diagonal: &[usize],
    mut values: Vec<T::Arith>,
) -> Result<Vec<T::Arith>> {
    let mut roots = Vec::with_capacity(diagonal.len());
    for (row, &place) in diagonal.iter().enumerate() {
        let pivot = values[place].real();
        if pivot.is_nan() || pivot <= RealOf::<T>::default() {
            return Err(bad_pivot(component, row, "not positive"));
        }
        roots.push(T::Arith::from_real(pivot.sqrt()));
    }
    for row in 0..diagonal.len() {
        for place in a.pattern().range(row) {
            values[place] /= roots[a.columns()[place] as usize];
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::operations::HostStages;
    use crate::precond::Ic0;
    use crate::precond::testing::{assemble, from_dense, hermitian, laplacian, largest_difference};
    use crate::scalar::c64;
    use vcycle_core::testing::device;

    #[test]
    fn sweeps_converge_to_ic0() {
        let a: Arc<dyn LinOp<c64>> = Arc::new(hermitian::<c64>(&Executor::reference(), 12));
        let exact = Ic0::default().generate(&a, &Workspace::new()).unwrap();
        let exact = assemble(exact.as_ref());
        let difference = |sweeps| {
            let m = ParIc { sweeps }.generate(&a, &Workspace::new()).unwrap();
            largest_difference(&assemble(m.as_ref()), &exact)
        };
        assert!(difference(4) < 0.1 * difference(0));
        assert!(difference(30) < 1e-14);
    }

    #[test]
    fn devices_sweep_as_the_host_does() {
        let Some(device) = device() else { return };
        let a = laplacian::<f64>(&Executor::reference(), 12)
            .lower()
            .unwrap();
        let there = a.copy_to(&device).unwrap();
        let diagonal = diagonal_places(&a, "test").unwrap();
        let sweep = |a| swept("test", a, &diagonal, None, 4).unwrap().unwrap();
        let largest = largest_difference(&sweep(&a), &sweep(&there));
        assert!(largest < 1e-14, "{largest}");
    }

    #[test]
    fn sweeps_that_diverge_give_way_to_ic0() {
        let n = 20;
        let value = |k: usize| if k / n == k % n { 1.0 } else { 0.9 };
        let dense: Vec<f64> = (0..n * n).map(value).collect();
        let a: Arc<dyn LinOp<f64>> = Arc::new(from_dense(&Executor::reference(), n, &dense));
        let watch = HostStages::watch();
        let m = ParIc::default().generate(&a, &Workspace::new()).unwrap();
        let told = watch.tell(Workspace::new().log()).concat();
        assert!(told.contains("paric: the sweeps diverge"), "{told}");
        let exact = Ic0::default().generate(&a, &Workspace::new()).unwrap();
        assert_eq!(assemble(m.as_ref()), assemble(exact.as_ref()));
    }
}
