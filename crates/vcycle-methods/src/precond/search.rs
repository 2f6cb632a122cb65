//! The search for the pattern of incomplete factors, together with their values.

use super::diagonal_places;
use super::fill_levels::{spread, write_entries};
use super::sweeper::{Sweeper, exact};
use super::triangular::entries_of;
use crate::host_stages::PARICT;
use crate::operations::factor::{Factorisation, Threshold};
use crate::operations::{self, on_host, remark};
use crate::prelude::*;

/// Sweeps on the pattern that is found in the end, after which the residual must be smaller.
const LAST_SWEEPS: usize = 2;

/// Looks for the pattern of factors and for their values.
pub(super) struct Search {
    pub(super) component: &'static str,
    pub(super) factorisation: Factorisation,
    pub(super) fill: f64,
    pub(super) steps: usize,
}

impl Search {
    /// The factors of a matrix, or of the lower triangle that is given, on the pattern that the steps find.
    pub(super) fn factors<A: Field>(
        &self,
        a: &Csr<A>,
        ws: &Workspace,
    ) -> Result<(Arc<Pattern>, Vec<A>)> {
        let how = Threshold {
            factorisation: self.factorisation,
            rooms: self.capacities(a.pattern()),
            steps: self.steps,
            last: LAST_SWEEPS,
            exact: exact(A::KIND),
        };
        match operations::factor::with_threshold(a, how)? {
            Some(Some(found)) => return Ok((Arc::clone(found.pattern()), found.values().to_vec())),
            Some(None) => remark(format!(
                "{}: sweeps diverge on the way; the host looks for the factors",
                self.component
            )),
            None => {}
        }
        if self.factorisation == Factorisation::Cholesky {
            on_host(a.executor(), PARICT);
        }
        let found = self.search(a)?;
        let a = spread(a, found.offsets().to_vec(), found.columns().to_vec());
        let start = found.values().iter().map(|value| value.load()).collect();
        let diagonal = diagonal_places(a.pattern(), self.component)?;
        let values = self
            .sweeper(&a, &diagonal)
            .factors(Some(start), LAST_SWEEPS, ws)?;
        let values = values.into_iter().map(A::store).collect();
        Ok((Arc::clone(a.pattern()), values))
    }

    fn sweeper<'a, A: Field>(&self, a: &'a Csr<A>, diagonal: &'a [usize]) -> Sweeper<'a, A> {
        Sweeper {
            component: self.component,
            factorisation: self.factorisation,
            a,
            diagonal,
        }
    }

    /// Entries that may stand below and above the diagonal.
    fn capacities(&self, a: &Pattern) -> [usize; 2] {
        let n = a.size().rows;
        let columns = |row: usize| &a.columns()[a.range(row)];
        let before = |row: usize| columns(row).partition_point(|&c| (c as usize) < row);
        let lower: usize = (0..n).map(before).sum();
        let upper = a.nonzeros() - n - lower;
        [lower, upper].map(|count| (self.fill * count as f64) as usize)
    }

    /// What is [swept](Sweeper), on the pattern that the steps find.
    pub(super) fn search<A: Field>(&self, a: &Csr<A>) -> Result<Csr<A>> {
        let capacities = self.capacities(a.pattern());
        let mut f = a.clone();
        for _ in 0..self.steps {
            let wider = self.swept(a, &self.with_candidates(a, &f)?)?;
            let diagonal = diagonal_places(wider.pattern(), self.component)?;
            let kept = largest(wider.pattern(), &diagonal, wider.values(), capacities);
            let value = |_, place: usize| wider.values()[place].load();
            let taken = entries_of(wider.pattern(), |_, place| kept[place], value);
            f = self.swept(a, &taken)?;
        }
        Ok(f)
    }

    /// `f` and, where it has no entry, `A - L U`, or the lower triangle of `A - L L^H`.
    fn with_candidates<A: Field>(&self, a: &Csr<A>, f: &Csr<A>) -> Result<Csr<A>> {
        let pivots = f.diagonal();
        let (columns, values) = (f.columns(), f.values());
        let product = match self.factorisation {
            Factorisation::Cholesky => {
                let unit = Csr::from_places(f.pattern(), |_, place| {
                    values[place] / pivots[columns[place] as usize]
                })?;
                f.multiply(&unit.adjoint()?)?.lower()?
            }
            Factorisation::Lu => {
                let lower = Csr::from_places(f.pattern(), |row, place| {
                    match (columns[place] as usize).cmp(&row) {
                        std::cmp::Ordering::Less => values[place] / pivots[columns[place] as usize],
                        std::cmp::Ordering::Equal => A::one(),
                        std::cmp::Ordering::Greater => A::zero(),
                    }
                })?;
                lower.lower()?.multiply(&f.upper()?)?
            }
        };
        let mut wider = a.add(A::Arith::one(), -A::Arith::one(), &product)?;
        write_entries(f, &mut wider);
        Ok(wider)
    }

    /// What a sweep makes of `f`; where it would enlarge the residual, the factors that are made on that pattern row after row,
    /// as far as they are finite.
    fn swept<A: Field>(&self, a: &Csr<A>, f: &Csr<A>) -> Result<Csr<A>> {
        let a = spread(a, f.offsets().to_vec(), f.columns().to_vec());
        let diagonal = diagonal_places(a.pattern(), self.component)?;
        let old: Vec<A::Arith> = f.values().iter().map(|value| value.load()).collect();
        let sweeper = self.sweeper(&a, &diagonal);
        let next = match sweeper.fixed_point(old, 1) {
            Some(next) => next,
            None => sweeper.exact_fixed_point()?,
        };
        finite_or(f, &next)
    }
}

/// Values on the pattern of `f`, whose own stay where they are not finite.
fn finite_or<A: Field>(f: &Csr<A>, values: &[A::Arith]) -> Result<Csr<A>> {
    Csr::from_places(f.pattern(), |_, place| {
        match Field::is_finite(values[place]) {
            true => A::store(values[place]),
            false => f.values()[place],
        }
    })
}

/// For every place of a pattern whether its entry is kept: the diagonal, and of the others of either triangle so many with
/// the largest `|f_ij|^2 / |f_ii f_jj|`, which no symmetric scaling of the matrix changes.
///
/// Sizes are compared in single precision, and of equal ones those are kept that come first by their smaller and then
/// by their larger index, so that what is kept of a symmetric matrix is symmetric.
fn largest<A: Field>(
    pattern: &Pattern,
    diagonal: &[usize],
    values: &[A],
    capacities: [usize; 2],
) -> Vec<bool> {
    let size = |place: usize| values[place].modulus_squared().to_f64();
    let pivots: Vec<f64> = diagonal.iter().map(|&place| size(place).sqrt()).collect();
    let mut kept = vec![false; values.len()];
    let mut triangles: [Vec<Candidate>; 2] = [Vec::new(), Vec::new()];
    for (row, &on_diagonal) in diagonal.iter().enumerate() {
        kept[on_diagonal] = true;
        for place in pattern.range(row).filter(|&place| place != on_diagonal) {
            let column = pattern.columns()[place] as usize;
            let relative = size(place) / (pivots[row] * pivots[column]);
            let triangle = usize::from(column > row);
            triangles[triangle].push(Candidate {
                size: relative as f32,
                indices: (row.min(column) as u32, row.max(column) as u32),
                place,
            });
        }
    }
    for (mut candidates, capacity) in triangles.into_iter().zip(capacities) {
        if capacity < candidates.len() {
            candidates.select_nth_unstable_by(capacity, |x, y| {
                y.size.total_cmp(&x.size).then(x.indices.cmp(&y.indices))
            });
            candidates.truncate(capacity);
        }
        candidates.iter().for_each(|one| kept[one.place] = true);
    }
    kept
}

struct Candidate {
    size: f32,
    indices: (u32, u32),
    place: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::precond::diagonal_places;
    use crate::precond::testing::from_dense;

    #[test]
    fn so_many_of_the_largest_stay_whatever_the_scaling() {
        let dense = [4.0, 1.0, 3.0, 2.0, 4.0, 1.0, 1.0, 3.0, 4.0];
        for scale in [1.0, 1e5] {
            let of = |index: usize| if index == 1 { scale } else { 1.0 };
            let scaled = |k: usize| of(k / 3) * dense[k] * of(k % 3);
            let scaled: Vec<f64> = (0..9).map(scaled).collect();
            let a = from_dense(&Executor::reference(), 3, &scaled);
            let diagonal = diagonal_places(a.pattern(), "test").unwrap();
            let kept = largest(a.pattern(), &diagonal, a.values(), [1, 2]);
            let places: Vec<usize> = (0..9).filter(|&place| kept[place]).collect();
            // Of two equal ones above the diagonal the first.
            assert_eq!(places, [0, 1, 2, 4, 7, 8], "{scale}");
        }
    }
}
