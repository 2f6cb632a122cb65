//! Factorised sparse approximate inverses.

mod row;
#[cfg(test)]
mod tests;
mod text;

use std::borrow::Cow;
use std::ops::Range;

use num_traits::{One, Zero};

use self::row::{NOT_POSITIVE, Problem, Row};
use super::power::{LONGEST_ROW, check_lengths, power_pattern};
use super::{bad_pivot, check_hermitian, example, nonzero_diagonal, rounding, square_entries};
use crate::linop::Product;
use crate::matrix::{balance, build};
use crate::operations::factor::{self as operations, FsaiRows, Growth, Obstacle};
use crate::prelude::*;
use crate::registration::preconditioner;
use crate::scalar::RealOf;

/// Work of a row for each of its entries, in units of that of a product.
const WORK_PER_ENTRY: usize = 64;

/// Rings of rows around its own that a rank looks at, at most.
const FARTHEST: usize = 8;

preconditioner! {
    /// `M = G^H G` where the sparse lower triangular `G` approximates the inverse of the Cholesky
    /// factor: among all of its pattern the one with the smallest Kaporin number of `G A G^H`
    /// (Kolotilina and Yeremin 1993).
    ///
    /// The pattern of every row begins with that of a power of the matrix, without its small entries
    /// and by default with the diagonal alone (`power` 0). Then it grows by `steps` steps of
    /// `step-size` entries, each where the Kaporin number falls most (Janna and Ferronato 2011). No
    /// `steps` leave it as it was given: `power` 1 and 0 `steps` are the classical static FSAI, 0 of
    /// both is Jacobi.
    ///
    /// Only Hermitian positive definite matrices have one; an error names the first row where another
    /// shows. Entries that rounding alone keeps from a singular system are left out.
    ///
    /// **Choose it** with conjugate gradients, or as a smoother (`fsai`), where many threads leave
    /// triangular solves behind and Jacobi is too weak: set-up and application are parallel in all
    /// rows. The set-up costs as much as a hundred products or more.
    ///
    #[doc = example!("Fsai", "Cg", "poisson5:16", 40)]
    pub struct Fsai {
        /// Steps of growth of every row, at most.
        pub steps: usize = 10,
        /// New entries a step.
        pub step_size: usize = 1,
        /// A row stops growing where its factor of the Kaporin number has fallen by this much.
        pub tolerance: f64 = 1e-3,
        /// The pattern begins with that of `A` to this power.
        pub power: usize = 0,
        /// Entries of `A` below this times the root of both diagonals do not count for that pattern.
        pub threshold: f64 = 0.0,
        /// Entries of `G` below this times the largest of their row are dropped in the end.
        pub filter: f64 = 0.0,
        /// The arithmetic of the set-up; `G` is stored as `A` is.
        pub setup: FsaiSetup = FsaiSetup::Double,
    }
    name: "fsai", summary: "Factorised sparse approximate inverse, its pattern found adaptively.",
    after_colon: &["steps", "step-size", "tolerance"], needs: &[Entries, DefiniteMatrix],
    support: Support::ROWS, symmetry: Symmetric, memory: Memory::per(0, 52);
    more memory: |own, _| Memory::per(0, 52 * own.steps.saturating_mul(own.step_size));
}

/// The arithmetic of the set-up of an [`Fsai`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FsaiSetup {
    /// Double precision.
    #[default]
    Double,
    /// Single precision, and double where that does not do.
    Single,
}

impl<T: Mixes<T, T>> Factory<T> for Fsai {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("fsai set-up", 0);
        if let Some(shared) = Distributed::behind(a.as_ref()) {
            if !shared.symmetric_and_positive()?[0] {
                return Err(Error::NotHermitian {
                    component: "fsai",
                    asymmetry: f64::NAN,
                    instead: "jacobi",
                });
            }
            return self.over_ranks(&shared);
        }
        let entries = self.sound(a.as_ref())?;
        check_hermitian(&entries, "fsai", "isai")?;
        self.product(&entries)
    }
}

impl Fsai {
    /// The same of a matrix that is known to be Hermitian, but for what was filtered out of it: only the lower
    /// triangle is read.
    pub(crate) fn unchecked<T: Mixes<T, T>>(
        &self,
        a: &dyn LinOp<T>,
        ws: &Workspace,
    ) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("fsai set-up", 0);
        match Distributed::behind(a) {
            Some(shared) => self.over_ranks(&shared),
            None => self.product(&*self.sound(a)?),
        }
    }

    /// The same of a matrix that ranks share: own rows of the factor of rows nearby, as far as a row may grow.
    fn over_ranks<T: Mixes<T, T>>(&self, a: &Distributed<T>) -> Result<Arc<dyn LinOp<T>>> {
        let team = a.team();
        team.agree(self.check())?;
        let near = match a.executor().is_device() {
            true => a.overlapped(self.reach(), 1)?,
            false => a.preceded(self.reach())?,
        };
        let own = team.agree(self.rows_of_factor(&near.matrix, near.halo.own()))?;
        let g = Distributed::of_numbered(a.executor(), a.rows(), a.rows(), &near.halo, own)?;
        let adjoint = g.adjoint()?;
        product(Arc::new(adjoint), Arc::new(g))
    }

    /// How far the entries of a row may be from it. Rows that grow farther are cut off there.
    fn reach(&self) -> usize {
        (self.power + self.steps).clamp(1, FARTHEST)
    }

    /// The entries, once they and the parameters are in order.
    fn sound<'a, T: Scalar>(&self, a: &'a dyn LinOp<T>) -> Result<Cow<'a, Csr<T>>> {
        self.check()?;
        let entries = square_entries(a, "fsai")?;
        if !entries.executor().has_kernels_for(T::KIND) {
            nonzero_diagonal(&entries, "fsai")?;
        }
        Ok(entries)
    }

    fn product<T: Mixes<T, T>>(&self, entries: &Csr<T>) -> Result<Arc<dyn LinOp<T>>> {
        let g = self.rows_of_factor(entries, 0..entries.size().rows)?;
        product(Arc::new(g.adjoint()?), Arc::new(g))
    }

    /// On the pattern of the matrix to a power, without growth.
    pub(super) fn of_power(power: usize) -> Self {
        Self {
            power,
            steps: 0,
            ..Self::default()
        }
    }

    fn check(&self) -> Result<()> {
        let at_least_0 = |value: f64| value >= 0.0 && value.is_finite();
        let bad = |parameter, reason: &str| Err(Error::bad_parameter(parameter, reason));
        match self {
            _ if self.step_size == 0 => bad("step-size", "must be at least 1"),
            _ if self.steps.saturating_mul(self.step_size) > LONGEST_ROW => {
                bad("steps", "times step-size must be at most 512")
            }
            _ if !at_least_0(self.tolerance) => bad("tolerance", "must be zero or positive"),
            _ if !at_least_0(self.threshold) => bad("threshold", "must be zero or positive"),
            _ if !(self.filter >= 0.0 && self.filter < 1.0) => {
                bad("filter", "must be zero or between 0 and 1")
            }
            _ => Ok(()),
        }
    }

    /// Some rows of the factor `G`.
    fn rows_of_factor<T: Scalar>(&self, a: &Csr<T>, rows: Range<usize>) -> Result<Csr<T>> {
        match (self.setup, T::KIND.is_complex()) {
            (FsaiSetup::Double, false) => self.factor_in::<T, f64>(a, rows),
            (FsaiSetup::Double, true) => self.factor_in::<T, c64>(a, rows),
            (FsaiSetup::Single, false) => {
                let single = self.factor_in::<T, f32>(a, rows.clone());
                single.or_else(|_| self.factor_in::<T, f64>(a, rows))
            }
            (FsaiSetup::Single, true) => {
                let single = self.factor_in::<T, c32>(a, rows.clone());
                single.or_else(|_| self.factor_in::<T, c64>(a, rows))
            }
        }
    }

    fn factor_in<T: Scalar, A: Field>(&self, a: &Csr<T>, own: Range<usize>) -> Result<Csr<T>> {
        let wide = a.convert::<A>()?;
        let rounding = rounding(T::KIND).max(rounding(A::KIND));
        let growth = Growth {
            steps: self.steps,
            step_size: self.step_size,
            tolerance: self.tolerance,
            filter: self.filter,
            rounding,
        };
        if let Some(rows) = operations::fsai_rows(&wide, growth)? {
            let all = self.on_device(&wide, &rows)?;
            return match own.len() == all.size().rows {
                true => all.convert::<T>(),
                false => all.row_range(own)?.convert::<T>(),
            };
        }
        let diagonal = positive_diagonal(&wide)?;
        let problem = Problem {
            a: &wide,
            inverses: diagonal.iter().map(|&own| A::Real::one() / own).collect(),
            diagonal,
            growth,
        };
        self.rows(&problem, own)?.convert::<T>()
    }

    /// The same by kernels.
    fn on_device<A: Field>(&self, a: &Csr<A>, rows: &FsaiRows<'_, A>) -> Result<Csr<A>> {
        let start = match self.power {
            0 => None,
            power if self.threshold > 0.0 => {
                Some(power_pattern(rows.large(self.threshold)?.pattern(), power)?)
            }
            power => Some(power_pattern(a.pattern(), power)?),
        };
        match rows.factor(start.as_deref(), LONGEST_ROW)? {
            Ok(factor) => Ok(factor),
            Err(Obstacle::ZeroDiagonal(row)) => Err(Error::ZeroDiagonal {
                component: "fsai",
                row,
            }),
            Err(Obstacle::NotPositive(row)) => Err(bad_pivot("fsai", row, NOT_POSITIVE)),
            Err(Obstacle::TooLong) => {
                let pattern = start.expect("what is too long is a pattern");
                check_lengths("fsai", pattern.offsets())?;
                unreachable!("the host finds the row that is too long")
            }
        }
    }

    fn rows<A: Field>(&self, problem: &Problem<'_, A>, own: Range<usize>) -> Result<Csr<A>> {
        let a = problem.a;
        let start = self.start(problem)?;
        let first = a.offsets()[own.start];
        let work = |row: usize| WORK_PER_ENTRY * (a.offsets()[own.start + row] - first) + row;
        let bounds = balance(own.len(), work);
        let (executor, bytes) = (a.executor(), WORK_PER_ENTRY * a.bytes());
        let scratch = || Row::new(problem);
        let arrays = build(executor, &bounds, bytes, scratch, |one, row, rows| {
            let row = own.start + row;
            one.solve(row, start.as_deref().map_or(&[], |start| below(start, row)))?;
            one.write(rows)
        })?;
        Ok(arrays.into_csr(executor, Size::new(own.len(), a.size().cols)))
    }

    /// The pattern that growth starts from, of which the part below the diagonal counts; none where that is empty.
    fn start<A: Field>(&self, problem: &Problem<'_, A>) -> Result<Option<Arc<Pattern>>> {
        if self.power == 0 {
            return Ok(None);
        }
        let least = A::Real::from_f64(self.threshold * self.threshold);
        let diagonal = &problem.diagonal;
        let large = problem.a.filter(|row, column, value: A| {
            row == column || value.modulus_squared() >= least * diagonal[row] * diagonal[column]
        })?;
        let pattern = power_pattern(large.pattern(), self.power)?;
        check_lengths("fsai", pattern.offsets())?;
        Ok(Some(pattern))
    }
}

/// `G^H G`.
fn product<T: Scalar>(
    adjoint: Arc<dyn LinOp<T>>,
    g: Arc<dyn LinOp<T>>,
) -> Result<Arc<dyn LinOp<T>>> {
    Ok(Arc::new(Product::new(vec![adjoint, g])?))
}

/// The columns before the diagonal of a row.
fn below(pattern: &Pattern, row: usize) -> &[u32] {
    let columns = &pattern.columns()[pattern.range(row)];
    &columns[..columns.partition_point(|&column| (column as usize) < row)]
}

/// The diagonal, or an error that names its first entry that is not positive.
fn positive_diagonal<A: Field>(a: &Csr<A>) -> Result<Vec<RealOf<A>>> {
    let diagonal: Vec<_> = a.diagonal().iter().map(|value| value.real()).collect();
    let unusable = |&value: &RealOf<A>| !(value > RealOf::<A>::zero() && value.is_finite());
    match diagonal.iter().position(unusable) {
        Some(row) => Err(bad_pivot("fsai", row, NOT_POSITIVE)),
        None => Ok(diagonal),
    }
}
