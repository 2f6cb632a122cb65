//! Incomplete LU factorisation with a threshold, by fixed-point sweeps.

use std::sync::Arc;

use super::fill_levels::spread;
use super::ilu0::in_order;
use super::ilut::check_fill;
use super::incomplete::{Incomplete, Solves};
use super::par_ilu::{distance, exact, fixed_point, guarded, sweep};
use super::select::largest;
use super::{diagonal_places, nonzero_diagonal, square_entries};
use crate::error::Result;
use crate::executor::Workspace;
use crate::host_stages::{ILU0, TRIANGLES};
use crate::linop::{Factory, LinOp};
use crate::matrix::{Csr, Pattern, fill_rows};
use crate::operations::factor::{Factorisation, Threshold};
use crate::operations::{self, remark};
use crate::registration::{
    Component, Memory, MemoryOf, Need, Registration, Support, Symmetry, preconditioner,
};
use crate::scalar::{Field, Mixes};

/// Sweeps on the pattern that is found in the end, after which the residual must be smaller.
const LAST_SWEEPS: usize = 2;

/// Incomplete LU factors whose pattern and values are found together, all entries at once (Anzt, Chow and Dongarra 2018;
/// Anzt, Ribizel, Flegar, Chow and Dongarra 2019: ParILUT).
///
/// Starting from the pattern of the matrix, each step
/// 1. adds every place where `A - L U` is not zero, with that value,
/// 2. makes a fixed-point sweep of [`ParIlu`](super::ParIlu) on the larger pattern,
/// 3. keeps the largest entries of either factor, `fill` times those of the matrix,
/// 4. makes another sweep.
///
/// All of it runs on all threads, with the same result on any number of them. Where a sweep would enlarge the residual on the
/// pattern, the factors are made row after row in its place; a message says so where these are the last ones.
///
/// **Choose it** where [`Ilu0`](super::Ilu0) takes many iterations; [`Ilut`](super::Ilut) is its serial counterpart and the
/// stronger one for matrices that are far from diagonally dominant.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::Executor, gallery, precond::ParIlut, solver::{Gmres, Solver}, vector::Vector};
/// let cpu = Executor::cpu();
/// let problem = gallery::build("convdiff7:6,20", &cpu)?;
/// let a = Arc::new(problem.matrix);
/// let solver = Solver::<f64>::new(Gmres::default(), a)?.preconditioned_by(&ParIlut::default())?;
/// let b = Vector::from_column(&cpu, problem.rhs);
/// let mut x = Vector::zeros_like(&b)?;
/// assert!(solver.solve(&b, &mut x)?.iterations < 10);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ParIlut {
    /// Entries of the factors, over those of the matrix.
    pub fill: f64,
    /// How often entries are added and removed.
    pub steps: usize,
    /// Steps of Jacobi's iteration in place of each triangular solve; 0 for substitution. Where so many are far from
    /// it, it is substitution nevertheless.
    pub sweeps: usize,
    /// Power of the pattern on which approximate inverses take the place of triangular solves; 0 for none.
    pub isai: usize,
}

impl Default for ParIlut {
    fn default() -> Self {
        Self {
            fill: 2.0,
            steps: 5,
            sweeps: 0,
            isai: 0,
        }
    }
}

impl Component for ParIlut {
    const REGISTRATION: Registration = Registration {
        name: "parilut",
        summary: "Incomplete LU factorisation with a threshold, by fixed-point sweeps.",
        after_colon: &["fill", "steps"],
        needs: &[Need::Entries, Need::Diagonal],
        support: Support::own_rows(&[ILU0, TRIANGLES]),
    };

    fn symmetry(&self) -> Symmetry {
        Symmetry::OneSided
    }

    fn memory(&self, _of: MemoryOf) -> Memory {
        Memory::per((80.0 * self.fill) as usize, 60)
    }
}

preconditioner!(ParIlut);

impl<T: Mixes<T, T>> Factory<T> for ParIlut {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("parilut set-up", 0);
        check_fill(self.fill)?;
        let entries = square_entries(a.as_ref(), "parilut")?;
        nonzero_diagonal(&entries, "parilut")?;
        let a: Csr<T::Arith> = entries.convert()?;
        let (pattern, values) = {
            let _factors = ws.stage("factors", 0);
            self.factors(&a)?
        };
        let diagonal = diagonal_places(&Csr::with_pattern(&pattern, values.clone())?, "parilut")?;
        let factors = Incomplete::<T> {
            component: "parilut",
            pattern: &pattern,
            values: &values,
            diagonal: &diagonal,
        };
        let (sweeps, isai) = (self.sweeps, self.isai);
        factors.operator(Solves { sweeps, isai }, ws)
    }
}

impl ParIlut {
    /// `L` with a unit diagonal and `U`, side by side, on the pattern that the steps find.
    fn factors<A: Field>(&self, a: &Csr<A>) -> Result<(Arc<Pattern>, Vec<A>)> {
        let how = Threshold {
            factorisation: Factorisation::Lu,
            rooms: self.rooms(a),
            steps: self.steps,
            last: LAST_SWEEPS,
            exact: exact(A::KIND),
        };
        match operations::factor::with_threshold(a, how)? {
            Some(Some(found)) => return Ok((Arc::clone(found.pattern()), found.values().to_vec())),
            Some(None) => remark(
                "parilut: sweeps diverge on the way; the host looks for the factors".to_owned(),
            ),
            None => {}
        }
        let found = self.search(a)?;
        let a = spread(a, found.offsets().to_vec(), found.columns().to_vec());
        let diagonal = diagonal_places(&a, "parilut")?;
        let start = Some(found.values().iter().map(|value| value.load()).collect());
        let values = match fixed_point(&a, &diagonal, start, LAST_SWEEPS)? {
            Some(values) => values,
            None => {
                let told =
                    "parilut: the sweeps diverge; the factors are those of ilu0 on its pattern";
                remark(told.to_owned());
                in_order(&a, &diagonal)?
            }
        };
        Ok((
            Arc::clone(a.pattern()),
            values.into_iter().map(A::store).collect(),
        ))
    }

    /// Entries that may stand below and above the diagonal.
    fn rooms<A: Field>(&self, a: &Csr<A>) -> [usize; 2] {
        let n = a.size().rows;
        let before = |row: usize| a.row(row).0.partition_point(|&c| (c as usize) < row);
        let lower: usize = (0..n).map(before).sum();
        let upper = a.nonzeros() - n - lower;
        [lower, upper].map(|count| (self.fill * count as f64) as usize)
    }

    /// `(L - I) D + U` on the pattern that the steps find.
    fn search<A: Field>(&self, a: &Csr<A>) -> Result<Csr<A>> {
        let rooms = self.rooms(a);
        let mut f = a.clone();
        for _ in 0..self.steps {
            let wider = swept(a, &with_candidates(a, &f)?)?;
            let diagonal = diagonal_places(&wider, "parilut")?;
            let kept = largest(wider.pattern(), &diagonal, wider.values(), rooms);
            f = swept(a, &taken(&wider, &kept))?;
        }
        Ok(f)
    }
}

/// `f` and, where it has no entry, `A - L U`.
fn with_candidates<A: Field>(a: &Csr<A>, f: &Csr<A>) -> Result<Csr<A>> {
    let pivots = f.diagonal();
    let (columns, values) = (f.columns(), f.values());
    let upper = f.upper()?;
    let lower = Csr::from_places(f.pattern(), |row, place| {
        match (columns[place] as usize).cmp(&row) {
            std::cmp::Ordering::Less => values[place] / pivots[columns[place] as usize],
            std::cmp::Ordering::Equal => A::one(),
            std::cmp::Ordering::Greater => A::zero(),
        }
    })?;
    let product = lower.lower()?.multiply(&upper)?;
    let mut wider = a.add(A::Arith::one(), -A::Arith::one(), &product)?;
    keep_known(f, &mut wider);
    Ok(wider)
}

/// Writes the entries of `f` to a matrix whose pattern holds that of `f`.
pub(super) fn keep_known<A: Field>(f: &Csr<A>, wider: &mut Csr<A>) {
    let pattern = Arc::clone(wider.pattern());
    fill_rows(
        f.executor(),
        pattern.offsets(),
        wider.values_mut(),
        |row, values| {
            let (columns, known) = f.row(row);
            let mut known = columns.iter().zip(known).peekable();
            for (place, value) in pattern.range(row).zip(values) {
                let column = pattern.columns()[place];
                while known.next_if(|entry| *entry.0 < column).is_some() {}
                if let Some((_, &old)) = known.next_if(|entry| *entry.0 == column) {
                    *value = old;
                }
            }
        },
    );
}

/// What a sweep makes of `f`; where it would enlarge the residual, the factors that [`Ilu0`](super::Ilu0) makes on that
/// pattern, row after row, as far as they are finite.
fn swept<A: Field>(a: &Csr<A>, f: &Csr<A>) -> Result<Csr<A>> {
    let a = spread(a, f.offsets().to_vec(), f.columns().to_vec());
    let diagonal = diagonal_places(&a, "parilut")?;
    let old: Vec<A::Arith> = f.values().iter().map(|value| value.load()).collect();
    let sweep = |old: &[A::Arith], new: &mut [A::Arith]| sweep(&a, &diagonal, old, new);
    let distance = |x: &[A::Arith], y: &[A::Arith]| distance(&a, &diagonal, x, y);
    let next = guarded(old, 1, exact(A::KIND), sweep, distance);
    let next = match next {
        Some(next) => next,
        None => times_pivots(&a, &diagonal, in_order(&a, &diagonal)?),
    };
    finite_or(f, &next)
}

/// `(L - I) D + U` of `L - I + U`.
fn times_pivots<A: Field>(
    a: &Csr<A>,
    diagonal: &[usize],
    mut factors: Vec<A::Arith>,
) -> Vec<A::Arith> {
    for row in 0..diagonal.len() {
        for place in a.pattern().range(row).start..diagonal[row] {
            let pivot = factors[diagonal[a.columns()[place] as usize]];
            factors[place] *= pivot;
        }
    }
    factors
}

/// Values on the pattern of `f`, whose own stay where they are not finite.
pub(super) fn finite_or<A: Field>(f: &Csr<A>, values: &[A::Arith]) -> Result<Csr<A>> {
    Csr::from_places(f.pattern(), |_, place| {
        match Field::is_finite(values[place]) {
            true => A::store(values[place]),
            false => f.values()[place],
        }
    })
}

/// The entries that are kept.
pub(super) fn taken<A: Field>(f: &Csr<A>, kept: &[bool]) -> Csr<A> {
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..f.size().rows {
        for place in f.pattern().range(row).filter(|&place| kept[place]) {
            columns.push(f.columns()[place]);
            values.push(f.values()[place]);
        }
        offsets.push(columns.len());
    }
    Csr::from_canonical(f.executor(), f.size(), offsets, columns, values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::executor::Executor;
    use crate::operations::HostStages;
    use crate::precond::testing::{
        assemble, convection, from_dense, identity_error, largest_difference, multiply,
    };
    use crate::precond::{Ilu0, Ilut};
    use vcycle_core::testing::device;

    fn error(factory: &dyn Factory<f64>) -> f64 {
        let n = 64;
        let a = convection(&Executor::reference(), 8);
        let entry = |k: usize| a.entry(k / n, k % n).unwrap_or(0.0);
        let dense: Vec<f64> = (0..n * n).map(entry).collect();
        let a: Arc<dyn LinOp<f64>> = Arc::new(a);
        let m = factory.generate(&a, &Workspace::new()).unwrap();
        identity_error(n, &multiply(n, &assemble(m.as_ref()), &dense))
    }

    #[test]
    fn fill_is_spent_where_it_helps() {
        let twice = error(&ParIlut::default());
        assert!(twice < 0.6 * error(&Ilu0::default()), "{twice}");
        let serial = Ilut {
            fill: 2.0,
            threshold: 0.0,
            ..Ilut::default()
        };
        assert!(twice < 2.0 * error(&serial), "{twice}");
        let more = ParIlut {
            fill: 4.0,
            ..ParIlut::default()
        };
        assert!(error(&more) < 0.5 * twice);
    }

    #[test]
    fn factors_have_the_room_they_are_given() {
        let a = convection::<f64>(&Executor::reference(), 8);
        for fill in [1.0, 1.5, 3.0] {
            let found = ParIlut {
                fill,
                ..ParIlut::default()
            };
            let found = found.search(&a).unwrap();
            let room = fill * (a.nonzeros() - 64) as f64 + 64.0;
            assert!(found.nonzeros() as f64 <= room, "{fill}");
            assert!(found.nonzeros() as f64 >= 0.9 * room, "{fill}");
        }
    }

    #[test]
    fn devices_find_the_factors_of_the_host() {
        let Some(device) = device() else { return };
        // Many entries are equal: which of them are kept is part of it.
        let host = convection::<f64>(&Executor::reference(), 12);
        let there = host.copy_to(&device).unwrap();
        for fill in [1.0, 2.0, 3.5] {
            let parilut = ParIlut {
                fill,
                steps: 3,
                ..ParIlut::default()
            };
            let watch = HostStages::watch();
            let (pattern, values) = parilut.factors(&there).unwrap();
            assert!(watch.tell(Workspace::new().log()).is_empty());
            let (expected, of_host) = parilut.factors(&host).unwrap();
            assert_eq!(pattern.columns(), expected.columns(), "{fill}");
            assert_eq!(pattern.offsets(), expected.offsets(), "{fill}");
            assert!(largest_difference(&values, &of_host) < 1e-13);
        }
    }

    #[test]
    fn threads_change_no_bit() {
        let search = |threads| {
            let cpu = Executor::cpu_with_threads(threads).unwrap();
            let a = convection::<f64>(&cpu, 12);
            let found = ParIlut::default().search(&a).unwrap();
            (found.columns().to_vec(), found.values().to_vec())
        };
        assert_eq!(search(1), search(3));
    }

    #[test]
    fn missing_diagonals_and_bad_fill_are_named() {
        let host = Executor::reference();
        let a: Arc<dyn LinOp<f64>> = Arc::new(from_dense(&host, 2, &[1.0, 2.0, 2.0, 0.0]));
        let missing = ParIlut::default().generate(&a, &Workspace::new());
        assert!(matches!(missing, Err(Error::ZeroDiagonal { row: 1, .. })));
        let bad = ParIlut {
            fill: 0.5,
            ..ParIlut::default()
        };
        let refused = bad.generate(&a, &Workspace::new());
        assert!(matches!(refused, Err(Error::BadParameter { .. })));
    }
}
