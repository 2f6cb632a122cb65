//! Incomplete Cholesky factorisation with a threshold, by fixed-point sweeps.

use std::sync::Arc;

use super::fill_levels::spread;
use super::ic0::{check_positive, cholesky, factorise_shifted};
use super::ilut::check_fill;
use super::par_ic::{fixed_point, made};
use super::par_ilu::exact;
use super::par_ilut::{finite_or, keep_known, taken};
use super::select::largest;
use super::{check_hermitian, diagonal_places, square_entries};
use crate::error::Result;
use crate::executor::Workspace;
use crate::host_stages::{PARICT, TRIANGLES};
use crate::linop::{Factory, LinOp};
use crate::matrix::Csr;
use crate::operations::factor::{Factorisation, Threshold};
use crate::operations::{self, on_host, remark};
use crate::registration::{
    Component, Memory, MemoryOf, Need, Registration, Support, Symmetry, preconditioner,
};
use crate::scalar::{Field, Mixes};

/// Sweeps on the pattern that is found in the end, after which the residual must be smaller.
const LAST_SWEEPS: usize = 2;

/// The incomplete Cholesky factor whose pattern and values are found together: what [`ParIlut`](super::ParIlut) is
/// for general matrices, in the steps of [`ParIc`](super::ParIc).
///
/// Where a sweep would enlarge the residual, or a pivot is not positive, the factor is made row after row in its place, with
/// the shifts of [`Ic0`](super::Ic0); a message says so where it is the last one.
///
/// **Choose it** with conjugate gradients where `Ic0` takes many iterations and multigrid does not suit the matrix.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::Executor, gallery, precond::ParIct, solver::{Cg, Solver}, vector::Vector};
/// let cpu = Executor::cpu();
/// let problem = gallery::build("poisson5:16", &cpu)?;
/// let solver = Solver::<f64>::new(Cg::default(), Arc::new(problem.matrix))?
///     .preconditioned_by(&ParIct::default())?;
/// let b = Vector::from_column(&cpu, problem.rhs);
/// let mut x = Vector::zeros_like(&b)?;
/// assert!(solver.solve(&b, &mut x)?.iterations < 16);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ParIct {
    /// Entries of the factor, over those of the lower triangle of the matrix.
    pub fill: f64,
    /// How often entries are added and removed.
    pub steps: usize,
}

impl Default for ParIct {
    fn default() -> Self {
        Self {
            fill: 2.0,
            steps: 5,
        }
    }
}

impl Component for ParIct {
    const REGISTRATION: Registration = Registration {
        name: "parict",
        summary: "Incomplete Cholesky factorisation with a threshold, by fixed-point sweeps.",
        after_colon: &["fill", "steps"],
        needs: &[Need::Entries, Need::DefiniteMatrix],
        support: Support::own_rows(&[PARICT, TRIANGLES]),
    };

    fn symmetry(&self) -> Symmetry {
        Symmetry::Symmetric
    }

    fn memory(&self, _of: MemoryOf) -> Memory {
        Memory::per((60.0 * self.fill) as usize, 60)
    }
}

preconditioner!(ParIct);

impl<T: Mixes<T, T>> Factory<T> for ParIct {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("parict set-up", 0);
        check_fill(self.fill)?;
        let entries = square_entries(a.as_ref(), "parict")?;
        check_positive("parict", &entries, &diagonal_places(&entries, "parict")?)?;
        check_hermitian(&entries, "parict", "parilut")?;
        let lower: Csr<T> = entries.lower()?;
        let a: Csr<T::Arith> = lower.convert()?;
        if let Some(found) = self.on_device(&a, ws)? {
            let diagonal = diagonal_places(&found, "parict")?;
            let label = "parict".to_owned();
            return cholesky("parict", label, found.pattern(), found.values(), &diagonal);
        }
        on_host(entries.executor(), PARICT);
        let found = self.search(&a)?;
        let (offsets, columns) = (found.offsets().to_vec(), found.columns().to_vec());
        let lower = spread(&lower, offsets, columns);
        made(
            "parict",
            &lower,
            Some(found.values().to_vec()),
            LAST_SWEEPS,
            ws,
        )
    }
}

impl ParIct {
    /// The factor of the lower triangle `a`, where a device finds it.
    fn on_device<A: Field>(&self, a: &Csr<A>, ws: &Workspace) -> Result<Option<Csr<A>>> {
        let _factors = ws.stage("factors", 0);
        let how = Threshold {
            factorisation: Factorisation::Cholesky,
            rooms: [self.room(a), 0],
            steps: self.steps,
            last: LAST_SWEEPS,
            exact: exact(A::KIND),
        };
        let found = operations::factor::with_threshold(a, how)?;
        if let Some(None) = found {
            let told = "parict: sweeps diverge on the way; the host looks for the factor";
            remark(told.to_owned());
        }
        Ok(found.flatten())
    }

    /// Entries that may stand below the diagonal of the lower triangle `a`.
    fn room<A: Field>(&self, a: &Csr<A>) -> usize {
        (self.fill * (a.nonzeros() - a.size().rows) as f64) as usize
    }

    /// `L D^(1/2)` on the pattern that the steps find for the lower triangle `a`.
    fn search<A: Field>(&self, a: &Csr<A>) -> Result<Csr<A>> {
        let room = self.room(a);
        let mut f = a.clone();
        for _ in 0..self.steps {
            let wider = swept(a, &with_candidates(a, &f)?)?;
            let diagonal = diagonal_places(&wider, "parict")?;
            let kept = largest(wider.pattern(), &diagonal, wider.values(), [room, 0]);
            f = swept(a, &taken(&wider, &kept))?;
        }
        Ok(f)
    }
}

/// `f` and, where it has no entry, the lower triangle of `A - L L^H`.
fn with_candidates<A: Field>(a: &Csr<A>, f: &Csr<A>) -> Result<Csr<A>> {
    let pivots = f.diagonal();
    let (columns, values) = (f.columns(), f.values());
    let unit = Csr::from_places(f.pattern(), |_, place| {
        values[place] / pivots[columns[place] as usize]
    })?;
    let product = f.multiply(&unit.adjoint()?)?.lower()?;
    let mut wider = a.add(A::Arith::one(), -A::Arith::one(), &product)?;
    keep_known(f, &mut wider);
    Ok(wider)
}

/// What a sweep makes of `f`; where it would enlarge the residual, the factor that [`Ic0`](super::Ic0) makes on that
/// pattern, row after row.
fn swept<A: Field>(a: &Csr<A>, f: &Csr<A>) -> Result<Csr<A>> {
    let a = spread(a, f.offsets().to_vec(), f.columns().to_vec());
    let diagonal = diagonal_places(&a, "parict")?;
    let old: Vec<A::Arith> = f.values().iter().map(|value| value.load()).collect();
    let next = match fixed_point(&a, &diagonal, old, 1) {
        Some(next) => next,
        None => {
            let (mut exact, _) = factorise_shifted("parict", &a, &diagonal, 0.0)?;
            let roots: Vec<A::Arith> = diagonal.iter().map(|&place| exact[place]).collect();
            for (value, &column) in exact.iter_mut().zip(a.columns()) {
                *value *= roots[column as usize];
            }
            exact
        }
    };
    finite_or(f, &next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::executor::Executor;
    use crate::operations::HostStages;
    use crate::precond::testing::{
        assemble, from_dense, identity_error, laplacian, largest_difference, multiply,
    };
    use crate::precond::{Ic0, ParIlut};
    use crate::vector::Vector;
    use vcycle_core::testing::device;

    fn error(factory: &dyn Factory<f64>) -> f64 {
        let n = 64;
        let a = laplacian(&Executor::reference(), 8);
        let entry = |k: usize| a.entry(k / n, k % n).unwrap_or(0.0);
        let dense: Vec<f64> = (0..n * n).map(entry).collect();
        let a: Arc<dyn LinOp<f64>> = Arc::new(a);
        let m = factory.generate(&a, &Workspace::new()).unwrap();
        identity_error(n, &multiply(n, &assemble(m.as_ref()), &dense))
    }

    #[test]
    fn it_is_half_of_parilut() {
        let half = error(&ParIct::default());
        assert!(half < 0.8 * error(&Ic0::default()), "{half}");
        let whole = error(&ParIlut::default());
        assert!((half - whole).abs() < 1e-6 * whole, "{half} {whole}");
    }

    #[test]
    fn devices_find_the_factor_of_the_host() {
        let Some(device) = device() else { return };
        let host = Executor::reference();
        let applied = |a: &Csr<f64>, executor: &Executor, fill: f64| {
            let a: Arc<dyn LinOp<f64>> = Arc::new(a.copy_to(executor).unwrap());
            let parict = ParIct {
                fill,
                ..ParIct::default()
            };
            let watch = HostStages::watch();
            let m = parict.generate(&a, &Workspace::new()).unwrap();
            let told = watch.tell(Workspace::new().log());
            assert!(told.is_empty(), "{told:?}");
            let ones = Vector::filled(executor, a.size().rows, 1, 1.0).unwrap();
            let mut x = Vector::zeros_like(&ones).unwrap();
            m.apply(&ones, &mut x, &Workspace::new()).unwrap();
            x.to_vec()
        };
        let a = laplacian::<f64>(&host, 12);
        for fill in [1.0, 2.0] {
            let [here, there] = [&host, &device].map(|executor| applied(&a, executor, fill));
            assert!(largest_difference(&here, &there) < 1e-12, "{fill}");
        }
    }

    #[test]
    fn what_is_not_definite_is_refused_by_its_row() {
        let host = Executor::reference();
        let a: Arc<dyn LinOp<f64>> = Arc::new(from_dense(&host, 2, &[1.0, 2.0, 2.0, -3.0]));
        let refused = ParIct::default().generate(&a, &Workspace::new());
        assert!(matches!(refused, Err(Error::BadPivot { row: 1, .. })));
    }
}
