//! What is done to a matrix before a preconditioner is made of it: scaling, matching, reordering.

#[cfg(test)]
mod tests;

use super::square_entries;
use crate::host_stages::PREPROCESSING;
use crate::linop::Product;
use crate::matrix::{Permutation, Scaling, reverse_cuthill_mckee};
use crate::operations::on_host;
use crate::prelude::*;
use crate::text;

/// Sweeps of Ruiz' equilibration; the largest entries of rows and columns approach 1 like `1^(1/2^k)`.
const SWEEPS: usize = 10;

/// What is done to a matrix before a preconditioner is made of it.
///
/// A preconditioner is made of `A' = P R A C Q` in place of `A`, with diagonal matrices `R`, `C` and permutations `P`,
/// `Q`, and `C Q M'^-1 P R` is applied in place of `M'^-1`. Solvers go on with the system that was given: solution,
/// initial guess and residuals are those of `A x = b`, and nothing is left to be undone.
///
/// The steps, each on what the one before has made:
/// 1. [`equilibrate`](Self::equilibrate): rows and columns are scaled alike; a symmetric matrix stays symmetric.
/// 2. [`matching`](Self::matching): rows are moved and scaled so that large entries stand on the diagonal. A symmetric
///    matrix loses its symmetry.
/// 3. [`reorder`](Self::reorder): rows and columns are numbered anew, alike.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::{Executor, Workspace}, linop::{LinOp, Size}, matrix::{Csr, Duplicates},
///     precond::{Ilu0, MatchingKind, Preprocessing}, solver::{Gmres, Solver}, vector::Vector};
/// // [0 1; 1 1] has no incomplete factors as it stands.
/// let cpu = Executor::cpu();
/// let a: Arc<dyn LinOp<f64>> = Arc::new(Csr::from_arrays(&cpu, Size::square(2), vec![0, 1, 3],
///     vec![1, 0, 1], vec![1.0; 3], Duplicates::Refuse)?);
/// let mut before = Preprocessing::default();
/// before.matching = MatchingKind::Mc64;
/// let ilu = before.precondition(&a, &Ilu0::default(), &Workspace::new())?;
/// let solver = Solver::new(Gmres::default(), a)?.with_preconditioner(ilu)?;
/// let mut x = Vector::zeros(&cpu, 2, 1)?;
/// assert_eq!(solver.solve(&Vector::filled(&cpu, 2, 1, 1.0)?, &mut x)?.iterations, 1);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Preprocessing {
    /// Scaling of rows and columns.
    pub equilibrate: Equilibration,
    /// Which entries come to the diagonal.
    pub matching: MatchingKind,
    /// The order of the unknowns.
    pub reorder: Reorder,
}

impl Preprocessing {
    /// Whether nothing is to be done.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Whether what is made of a symmetric matrix is symmetric.
    pub fn keeps_symmetry(&self) -> bool {
        self.matching == MatchingKind::None
    }

    /// A preconditioner for `a`, made of what this makes of it.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare), and those of the preconditioner.
    pub fn precondition<T: Mixes<T, T>>(
        &self,
        a: &Arc<dyn LinOp<T>>,
        factory: &dyn Factory<T>,
        ws: &Workspace,
    ) -> Result<Arc<dyn LinOp<T>>> {
        if self.is_none() {
            return factory.generate(a, ws);
        }
        let prepared = self.prepare(a, ws)?;
        prepared.undo(factory.generate(prepared.matrix(), ws)?)
    }

    /// The matrix that a preconditioner is made of.
    ///
    /// # Errors
    /// For operators without entries, matrices that are not square or not finite, and matrices that are singular
    /// whatever the values of their entries are, with a matching.
    pub fn prepare<T: Mixes<T, T>>(
        &self,
        a: &Arc<dyn LinOp<T>>,
        ws: &Workspace,
    ) -> Result<Preprocessed<T>> {
        let _stage = ws.stage("preprocessing", 0);
        let entries = square_entries(a.as_ref(), "preprocessing")?;
        on_host(entries.executor(), PREPROCESSING);
        let mut made = Steps::new(&entries);
        match self.equilibrate {
            Equilibration::None => {}
            Equilibration::Ruiz => made.equilibrate()?,
        }
        match self.matching {
            MatchingKind::None => {}
            MatchingKind::Mc64 => made.match_rows()?,
        }
        match self.reorder {
            Reorder::None => {}
            reorder => made.reorder(reorder)?,
        }
        made.finish(&entries)
    }
}

/// In words for messages: `ruiz+mc64+rcm`, or nothing.
impl std::fmt::Display for Preprocessing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = [
            self.equilibrate.name(),
            self.matching.name(),
            self.reorder.name(),
        ];
        let done: Vec<&str> = names.into_iter().filter(|name| *name != "none").collect();
        f.pad(&done.join("+"))
    }
}

/// In which order unknowns are numbered before a preconditioner is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reorder {
    /// As they are given.
    #[default]
    None,
    /// Reverse Cuthill-McKee: neighbours in the graph become neighbours in the numbering, which helps incomplete
    /// factorisations to be accurate.
    Rcm,
    /// Nested dissection: separators last. Little fill, and triangular solves of few levels.
    Nd,
    /// Approximate minimum degree, as the direct solver orders: little fill. Needs a build with the direct solver.
    Amd,
}

text::named!(Reorder, "reorder": None = "none", Rcm = "rcm", Nd = "nd", Amd = "amd");

/// Which entries come to the diagonal before a preconditioner is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MatchingKind {
    /// Those that are there.
    #[default]
    None,
    /// Those with the largest product, by moving rows; rows and columns are scaled so that they become 1 and no other
    /// entry is larger (Duff and Koster 2001).
    Mc64,
}

text::named!(MatchingKind, "match": None = "none", Mc64 = "mc64");

/// How rows and columns are scaled before a preconditioner is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Equilibration {
    /// Not at all.
    #[default]
    None,
    /// By the roots of their largest entries, ten times (Ruiz 2001): these approach 1, and a symmetric matrix stays
    /// symmetric.
    Ruiz,
}

text::named!(Equilibration, "equilibrate": None = "none", Ruiz = "ruiz");

/// What has been done so far.
struct Steps<'a, T: Scalar> {
    given: &'a Csr<T>,
    /// The divisors of rows and columns.
    scaling: Scaling,
    /// The old row at each new place.
    rows: Vec<u32>,
    /// The old column at each new place.
    columns: Vec<u32>,
    notes: Vec<String>,
}

impl<'a, T: Scalar> Steps<'a, T> {
    fn new(given: &'a Csr<T>) -> Self {
        let n = given.size().rows;
        let ones = || vec![1.0; n];
        Self {
            given,
            scaling: Scaling {
                rows: ones(),
                columns: ones(),
            },
            rows: (0..n as u32).collect(),
            columns: (0..n as u32).collect(),
            notes: Vec::new(),
        }
    }

    fn equilibrate(&mut self) -> Result<()> {
        self.scaling = self.given.equilibrate(SWEEPS)?.scaling;
        Ok(())
    }

    fn match_rows(&mut self) -> Result<()> {
        let matching = self.scaled_sizes()?.maximum_product_matching()?;
        for (total, factor) in self.scaling.rows.iter_mut().zip(&matching.scaling.rows) {
            *total *= factor;
        }
        for (total, factor) in self
            .scaling
            .columns
            .iter_mut()
            .zip(&matching.scaling.columns)
        {
            *total *= factor;
        }
        self.rows = matching.rows.order().to_vec();
        let moved = (0u32..).zip(&self.rows).filter(|(new, old)| new != *old);
        let moved = moved.count();
        self.notes.push(format!(
            "mc64: {moved} rows moved, so that large entries stand on the diagonal"
        ));
        Ok(())
    }

    /// The absolute values of what was scaled so far.
    fn scaled_sizes(&self) -> Result<Csr<f64>> {
        let (columns, values) = (self.given.columns(), self.given.values());
        Csr::from_places(self.given.pattern(), |row, place| {
            let column = columns[place] as usize;
            let divisor = self.scaling.rows[row] * self.scaling.columns[column];
            values[place].to_c64().norm() / divisor
        })
    }

    fn reorder(&mut self, reorder: Reorder) -> Result<()> {
        let rows = Permutation::new(self.rows.clone())?;
        let moved = self.scaled_sizes()?.permute_rows(&rows)?;
        let order = order(reorder, moved.pattern())?;
        let before = moved.pattern().bandwidth();
        let after = moved.permute_symmetric(&order)?.pattern().bandwidth();
        self.notes.push(format!(
            "{}: bandwidth {before}, after reordering {after}",
            reorder.name()
        ));
        let taken = |from: &[u32]| {
            order
                .order()
                .iter()
                .map(|&old| from[old as usize])
                .collect()
        };
        (self.rows, self.columns) = (taken(&self.rows), taken(&self.columns));
        Ok(())
    }

    fn finish(self, a: &Csr<T>) -> Result<Preprocessed<T>>
    where
        T: Mixes<T, T>,
    {
        let executor = a.executor();
        let (n, size) = (self.rows.len(), a.size());
        let inverse = |divisor: f64| T::store(T::Arith::from_f64(1.0 / divisor));
        let left = self.rows.iter().map(|&row| self.scaling.rows[row as usize]);
        let left = left.map(inverse).collect();
        let offsets: Vec<usize> = (0..=n).collect();
        let left = Csr::from_canonical(executor, size, offsets.clone(), self.rows.clone(), left);
        let places = Permutation::new(self.columns.clone())?.inverse();
        let right = self.scaling.columns.iter().map(|&c| inverse(c)).collect();
        let right = Csr::from_canonical(executor, size, offsets, places.order().to_vec(), right);
        left.check_finite().and(right.check_finite())?;
        let matrix = left.multiply(a)?.multiply(&right)?;
        Ok(Preprocessed {
            matrix: Arc::new(matrix),
            columns: self.columns,
            divisors: self.scaling.columns,
            left: Arc::new(left),
            right: Arc::new(right),
            notes: self.notes,
        })
    }
}

fn order(reorder: Reorder, pattern: &Arc<Pattern>) -> Result<Permutation> {
    match reorder {
        Reorder::None => Permutation::identity(pattern.size().rows),
        Reorder::Rcm => reverse_cuthill_mckee(pattern),
        Reorder::Nd => nested_dissection(pattern),
        Reorder::Amd => minimum_degree(pattern),
    }
}

#[cfg(feature = "direct")]
use crate::solver::minimum_degree;

#[cfg(feature = "metis")]
use crate::matrix::nested_dissection;

#[cfg(not(feature = "metis"))]
fn nested_dissection(_: &Pattern) -> Result<Permutation> {
    Err(Error::unsupported(
        "this build, which has no METIS,",
        "reordering by nd",
    ))
}

#[cfg(not(feature = "direct"))]
fn minimum_degree(_: &Pattern) -> Result<Permutation> {
    Err(Error::Unsupported {
        component: "this build, which has no direct solver,".to_owned(),
        operation: "reordering by amd".to_owned(),
    })
}

/// A matrix that a preconditioner is made of, and how to undo that.
#[derive(Clone, Debug)]
pub struct Preprocessed<T: Scalar> {
    matrix: Arc<dyn LinOp<T>>,
    /// The old column at each new place, and what old columns were divided by.
    columns: Vec<u32>,
    divisors: Vec<f64>,
    left: Arc<dyn LinOp<T>>,
    right: Arc<dyn LinOp<T>>,
    notes: Vec<String>,
}

impl<T: Scalar> Preprocessed<T> {
    /// The matrix `A' = P R A C Q`.
    pub fn matrix(&self) -> &Arc<dyn LinOp<T>> {
        &self.matrix
    }

    /// What was done, a sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// `C Q M P R`: an approximate inverse of the matrix that was given, from one of [`matrix`](Self::matrix).
    ///
    /// # Errors
    /// For an operator of another size or place.
    pub fn undo(&self, inverse: Arc<dyn LinOp<T>>) -> Result<Arc<dyn LinOp<T>>> {
        let factors = vec![Arc::clone(&self.right), inverse, Arc::clone(&self.left)];
        Ok(Arc::new(Product::new(factors)?))
    }

    /// A vector of the unknowns that were given, in those of [`matrix`](Self::matrix).
    ///
    /// # Errors
    /// For a vector of another length.
    pub fn unknowns(&self, values: &[f64]) -> Result<Vec<f64>> {
        let (expected, found) = (self.columns.len(), values.len());
        crate::linop::check_size("preprocessing", Size::new(expected, 1), Size::new(found, 1))?;
        let taken = |&old: &u32| values[old as usize] * self.divisors[old as usize];
        Ok(self.columns.iter().map(taken).collect())
    }
}
