//! Sparse direct factorisation.

mod checks;
mod host;
mod inverse;
mod preparation;
#[cfg(test)]
mod tests;
mod tree;

use std::sync::Arc;

use vcycle_direct::Number;

use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::host_stages::PIVOTS;
use crate::linop::{Factory, LinOp, check_size, check_square, entries};
use crate::matrix::{Csr, Pattern};
use crate::operations::on_host;
use crate::registration::preconditioner;
use crate::scalar::{Field, Kind, Scalar, c64};
use checks::check_no_empty_line;
pub use host::FactorCost;
use host::Plan;
use inverse::{Inverse, Symbolic};
use preparation::Structure;
pub(crate) use tree::minimum_degree;

preconditioner! {
    /// A sparse direct factorisation as an operator: `x = A^-1 b` up to rounding.
    ///
    /// Unknowns are ordered by approximate minimum degree or, where METIS is compiled in, by nested dissection, whatever
    /// leads to fewer operations. Hermitian matrices are factorised by Cholesky if they are positive definite and by `L D L^H`
    /// with pivots of one and two rows if not, complex symmetric ones by `L D L^T`, all others by LU. Fronts are dense
    /// matrices (Duff and Reid 1983); a pivot that is too small for its column is left for a later one. Where diagonal entries
    /// are small, large ones are matched to the diagonal and the matrix is scaled before (Duff and Koster 2001). The work is
    /// done on the threads of the executor, in double precision whatever the matrix is stored in.
    ///
    /// On a device the host finds order and fill, and the device factorises and solves, by LU. Pivots are taken
    /// as they come. Where they turn out to be too small for that the host factorises, and a message says so.
    ///
    /// [`setup`](Self::setup) keeps order and fill for matrices with other values.
    ///
    /// **Choose it** for systems small enough, or thin enough, for the factors to fit in memory, and
    /// for the coarsest level of multigrid. As the preconditioner of [`Ir`](super::Ir) it is a
    /// direct solver with refinement.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use vcycle::{executor::Executor, matrix::Csr, vector::Vector};
    /// use vcycle::solver::{Direct, Ir, Solver};
    /// let cpu = Executor::cpu();
    /// let a = Arc::new(Csr::diagonal_matrix(&cpu, vec![1.0, -2.0, 4.0]));
    /// let solver = Solver::<f64>::new(Ir::default(), a)?.preconditioned_by(&Direct::default())?;
    /// let b = Vector::filled(&cpu, 3, 1, 1.0)?;
    /// let mut x = Vector::zeros_like(&b)?;
    /// assert_eq!(solver.solve(&b, &mut x)?.iterations, 1);
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    pub struct Direct {
        /// Whether a singular matrix is factorised, too, by the host: unknowns without a pivot become zero, and `x` solves
        /// `A x = b` for every `b` that allows a solution. Otherwise it is an error.
        pub singular: bool = true,
    }
    // The size of factors shows when the unknowns are ordered, and is compared with what is free then.
    name: "direct", summary: "A factorisation, refined.", after_colon: &[], needs: &[Entries],
    support: Support::own_rows(&[PIVOTS]), symmetry: Symmetric, memory: Memory::vectors(2),
}

impl<T: Scalar> Factory<T> for Direct {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        Ok(self.setup(a, ws)?.1)
    }
}

impl Direct {
    /// Factorises `a`, and keeps what matrices with other values in the same places can share.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use vcycle::{executor::{Executor, Workspace}, gallery, linop::LinOp, solver::Direct};
    /// let ws = Workspace::new();
    /// let a = gallery::build("poisson5:20", &Executor::cpu())?.matrix;
    /// let twice: Arc<dyn LinOp<f64>> = Arc::new(a.scale(2.0)?);
    /// let (mut setup, _inverse) = Direct::default().setup::<f64>(&(Arc::new(a) as _), &ws)?;
    /// let _half = setup.update_values(&twice, &ws)?;
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    ///
    /// # Errors
    /// For matrices that are singular unless that is allowed, not square or not finite, and where the factors do not fit in memory.
    pub fn setup<T: Scalar>(
        &self,
        a: &Arc<dyn LinOp<T>>,
        ws: &Workspace,
    ) -> Result<(DirectSetup, Arc<dyn LinOp<T>>)> {
        let _stage = ws.stage("direct set-up", 0);
        let a = square(a.as_ref())?;
        let (symbolic, inverse) = factorised(&a, None, self.singular, ws)?;
        let setup = DirectSetup {
            pattern: Arc::clone(a.pattern()),
            singular: self.singular,
            symbolic,
        };
        Ok((setup, inverse))
    }
}

impl Direct {
    /// Finds an order of the unknowns and the places of the entries of factors, which tells what a factorisation by the
    /// host takes at most, and factorises nothing. [`DirectSetup::update_values`] does that. Where there are so many operations
    /// that nested dissection may save some of them, [`setup`](Self::setup) may find a better order.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use vcycle::{executor::{Executor, Workspace}, gallery, solver::Direct};
    /// let a = gallery::build("poisson5:20", &Executor::cpu())?.matrix;
    /// let setup = Direct::default().analyse(&a, &Workspace::new())?;
    /// let cost = setup.cost().unwrap();
    /// assert!(cost.fill > a.nonzeros() / 2 && cost.operations > cost.fill as f64);
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    ///
    /// # Errors
    /// For matrices whose pattern is singular, and when memory is short.
    pub fn analyse<T: Scalar>(&self, a: &Csr<T>, ws: &Workspace) -> Result<DirectSetup> {
        let _stage = ws.stage("direct analysis", 0);
        let plan = if const { matches!(T::KIND, Kind::F64 | Kind::F32) } {
            plan::<f64>(&a.convert()?, ws)?
        } else {
            plan::<c64>(&a.convert()?, ws)?
        };
        Ok(DirectSetup {
            pattern: Arc::clone(a.pattern()),
            singular: self.singular,
            symbolic: Symbolic::Host(plan),
        })
    }
}

fn plan<F: Field + Number>(a: &Csr<F>, ws: &Workspace) -> Result<Plan> {
    crate::error::check_square("direct", a.size())?;
    a.check_finite()?;
    Plan::quick(a, Structure::of(a), ws)
}

/// What the factorisations of all matrices of one pattern share: the order of the unknowns and the places of the
/// entries of factors. [`Direct::setup`] makes it.
#[derive(Clone, Debug)]
pub struct DirectSetup {
    pattern: Arc<Pattern>,
    singular: bool,
    symbolic: Symbolic,
}

impl DirectSetup {
    /// Whether a better order may be worth its time, where the one that is known was found quickly.
    pub fn may_be_improved(&self) -> bool {
        let entries = self.pattern.nonzeros() as f64;
        let is_long = |cost: FactorCost| cost.operations > OPERATIONS_FOR_ENTRY * entries;
        cfg!(feature = "metis") && self.cost().is_some_and(is_long)
    }

    /// What a factorisation by the host takes; none where a device factorises.
    pub fn cost(&self) -> Option<FactorCost> {
        match &self.symbolic {
            Symbolic::Host(plan) => Some(plan.cost()),
            Symbolic::Device(_) => None,
        }
    }

    /// Whether a matrix has the pattern that this is for, in the same place.
    pub fn fits<T: Scalar>(&self, a: &Csr<T>) -> bool {
        let kept = self.pattern.executor();
        kept.check_same(a.executor(), "update of values").is_ok()
            && self.pattern.same_as(a.pattern())
    }

    /// The factors of a matrix with other values.
    ///
    /// # Errors
    /// For a matrix of another size or pattern or on another executor, and as those of [`Direct::setup`].
    pub fn update_values<T: Scalar>(
        &mut self,
        a: &Arc<dyn LinOp<T>>,
        ws: &Workspace,
    ) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("direct update", 0);
        let (a, operation) = (square(a.as_ref())?, "update of values");
        check_size(operation, self.pattern.size(), a.size())?;
        let kept = self.pattern.executor();
        kept.check_same(a.executor(), operation)?;
        if !self.pattern.same_as(a.pattern()) {
            return Err(Error::InvalidStructure {
                format: operation,
                reason: "the matrix has not the pattern of the one that was set up".to_owned(),
            });
        }
        let (symbolic, inverse) = factorised(&a, Some(&self.symbolic), self.singular, ws)?;
        self.symbolic = symbolic;
        Ok(inverse)
    }
}

fn square<T: Scalar>(a: &dyn LinOp<T>) -> Result<std::borrow::Cow<'_, Csr<T>>> {
    check_square(a, "direct")?;
    entries(a, "direct")
}

/// Nested dissection may save more than it takes where minimum degree leads to so many operations for every entry.
const OPERATIONS_FOR_ENTRY: f64 = 2e4;

/// What is known of a matrix whatever its values are, and its inverse.
type Made<T> = (Symbolic, Arc<dyn LinOp<T>>);

fn factorised<T: Scalar>(
    a: &Csr<T>,
    known: Option<&Symbolic>,
    singular: bool,
    ws: &Workspace,
) -> Result<Made<T>> {
    // Constants: only one of the branches is compiled for a type.
    if const { matches!(T::KIND, Kind::F64 | Kind::F32) } {
        factors::<f64, T>(&a.convert()?, known, singular, ws)
    } else if const { T::KIND.is_complex() } {
        factors::<c64, T>(&a.convert()?, known, singular, ws)
    } else {
        Err(Error::Unsupported {
            component: "direct".to_owned(),
            operation: format!("the factorisation of {} matrices", T::KIND),
        })
    }
}

fn factors<F: Field + Number, T: Scalar>(
    a: &Csr<F>,
    known: Option<&Symbolic>,
    singular: bool,
    ws: &Workspace,
) -> Result<Made<T>> {
    a.check_finite()?;
    let structure = Structure::of(a);
    let made = match regular(a, structure, known, singular, ws) {
        Err(Error::Singular { .. }) if singular && a.executor().is_device() => {
            Inverse::by_host(a, structure, None, true, ws)
        }
        made => made,
    };
    let inverse = made?;
    Ok((inverse.symbolic(), Arc::new(inverse)))
}

fn regular<F: Field + Number>(
    a: &Csr<F>,
    structure: Structure,
    known: Option<&Symbolic>,
    singular: bool,
    ws: &Workspace,
) -> Result<Inverse<F>> {
    if !singular {
        check_no_empty_line(a)?;
    }
    let by_device = match a.executor().is_device() {
        true => Inverse::by_device(a, structure, known, ws)?,
        false => None,
    };
    if let Some(inverse) = by_device {
        return Ok(inverse);
    }
    on_host(a.executor(), PIVOTS);
    Inverse::by_host(a, structure, known, singular, ws)
}
