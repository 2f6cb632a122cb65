//! The inverse of a matrix by its factors, on the host or on a device.

use std::fmt::{Debug, Formatter};
use std::sync::Arc;

use vcycle_direct::{Limits, Method, Number};

use super::checks::{Quality, solution_error};
use super::host::{HostFactors, Plan, WHAT};
use super::preparation::Structure;
use super::tree::tree;
use crate::error::{Error, Result};
use crate::executor::{Buffer, Executor, Workspace};
use crate::linop::{Footprint, LinOp, Size, Transpose, check_apply};
use crate::matrix::Csr;
use crate::operations::multifrontal::{self, Fronts};
use crate::operations::remark;
use crate::scalar::{Field, Scalar};
use crate::vector::Vector;

/// With larger pivots, beside the diagonal, a positive definite matrix is far from a singular one.
const REGULAR: f64 = 1e-10;
/// A matrix whose rows and columns have entries of about one is singular to working precision with a pivot of this size.
const NO_PIVOT: f64 = 10.0 * f64::EPSILON;
/// Pivots of a matrix that is singular are zero but for rounding up to this size.
const ZERO: f64 = 1e-13;
/// Fronts may be so many times as much work as expected before large entries are moved to the diagonal.
const GROWTH: f64 = 3.0;
/// Up to this relative residual a system that has a solution is solved.
const SOLVED: f64 = 1e-6;

/// What is known of a matrix whatever its values are.
#[derive(Clone, Debug)]
pub(super) enum Symbolic {
    Host(Plan),
    Device(Arc<Fronts>),
}

/// The inverse of a matrix.
pub(super) struct Inverse<F> {
    executor: Executor,
    n: usize,
    factors: Factors<F>,
    symbolic: Symbolic,
}

enum Factors<F> {
    Host(HostFactors<F>),
    Device(Arc<Fronts>, Buffer<F>),
}

impl<F: Field + Number> Debug for Inverse<F> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let method = match &self.factors {
            Factors::Host(factors) => factors.method().name(),
            Factors::Device(..) => "fronts",
        };
        write!(f, "direct solver ({method}, {} rows)", self.n)
    }
}

impl<F: Field + Number> Inverse<F> {
    fn new(a: &Csr<F>, factors: Factors<F>, symbolic: Symbolic) -> Self {
        Self {
            executor: a.executor().clone(),
            n: a.size().rows,
            factors,
            symbolic,
        }
    }

    /// Of a matrix on any executor, by the host; what is known of one of the same pattern is not found again.
    ///
    /// # Errors
    /// For a singular matrix unless that is allowed, and when memory is short.
    pub fn by_host(
        a: &Csr<F>,
        structure: Structure,
        known: Option<&Symbolic>,
        singular: bool,
        ws: &Workspace,
    ) -> Result<Self> {
        let (mut plan, mut is_known) = match known {
            Some(Symbolic::Host(plan)) if plan.suits(structure) => (plan.clone(), true),
            _ => (Plan::new(a, structure, ws)?, false),
        };
        loop {
            let next = match Self::by_plan(a, &plan, is_known, singular, ws) {
                Ok(Some(made)) => return Ok(made),
                Ok(None) => plan.next(a, ws)?,
                Err(Error::Singular { .. }) if is_known => None,
                Err(Error::Singular { .. }) if singular => {
                    return Self::of_singular(a, &plan.of_singular(a, structure, ws)?, ws);
                }
                Err(error) => return Err(error),
            };
            (plan, is_known) = match next {
                Some(next) => (next, is_known),
                // Other values may need another matching.
                None => (Plan::new(a, structure, ws)?, false),
            };
        }
    }

    /// None where the factors are bad, and others may be better.
    fn by_plan(
        a: &Csr<F>,
        plan: &Plan,
        is_known: bool,
        singular: bool,
        ws: &Workspace,
    ) -> Result<Option<Self>> {
        let limits = Limits {
            zero: (singular && plan.is_scaled()).then_some(NO_PIVOT),
            growth: plan.is_scaled().then_some(GROWTH),
            until: None,
        };
        let Some(factors) = plan.factorise(a, limits, ws)? else {
            return Ok(None);
        };
        let dependent = factors.dependent();
        let is_regular = factors
            .smallest_pivot(a)
            .is_some_and(|pivot| pivot > REGULAR);
        let made = Self::new(a, Factors::Host(factors), Symbolic::Host(plan.clone()));
        if is_regular {
            return Ok(Some(made));
        }
        if dependent > 0 {
            return made.check_singular(a, dependent, ws).map(Some);
        }
        let quality = Quality::of(&made, a, ws)?;
        if let Err(error) = quality.check_regular() {
            // Other pivots would be no better where systems that have a solution are solved.
            let is_solved = singular
                && plan.is_scaled()
                && solution_error(&made, a, ws).is_ok_and(|error| error < SOLVED);
            if !is_solved {
                return Err(error);
            }
            remark(
                "direct: the matrix is singular to working precision, and the solution one of many where there is any"
                    .to_owned(),
            );
            return Ok(Some(made));
        }
        let is_last = plan.method() == Method::Lu && !plan.is_scaled() && !is_known;
        Ok((quality.is_good() || is_last).then_some(made))
    }

    /// Of a matrix some of whose rows depend on others, by the host.
    ///
    /// # Errors
    /// Where the factors do not solve systems that have a solution, and when memory is short.
    pub fn of_singular(a: &Csr<F>, plan: &Plan, ws: &Workspace) -> Result<Self> {
        let limits = Limits {
            zero: Some(ZERO),
            ..Limits::default()
        };
        match plan.factorise(a, limits, ws)? {
            Some(factors) => {
                let dependent = factors.dependent();
                let made = Self::new(a, Factors::Host(factors), Symbolic::Host(plan.clone()));
                made.check_singular(a, dependent, ws)
            }
            None => Err(singular("no factors".to_owned())),
        }
    }

    /// The same if systems that have a solution are solved.
    fn check_singular(self, a: &Csr<F>, dependent: usize, ws: &Workspace) -> Result<Self> {
        let error = solution_error(&self, a, ws)?;
        if error > SOLVED || error.is_nan() {
            let reason = format!("{dependent} of its rows depend on others up to rounding");
            return Err(singular(reason));
        }
        if dependent > 0 {
            remark(format!(
                "direct: the matrix is singular, {dependent} of its rows depend on others: their unknowns are set to zero, which is \
                 one of many solutions where there is any"
            ));
        }
        Ok(self)
    }

    /// Of a matrix on a device, with the fronts of another one of the same pattern. None where pivots are too small.
    ///
    /// # Errors
    /// For a matrix that is singular whatever its values are, and when memory is short.
    pub fn by_device(
        a: &Csr<F>,
        structure: Structure,
        known: Option<&Symbolic>,
        ws: &Workspace,
    ) -> Result<Option<Self>> {
        if let Some(Symbolic::Device(fronts)) = known
            && let Some(made) = Self::by_fronts(a, Arc::clone(fronts), ws)?
        {
            return Ok(Some(made));
        }
        // Other values may need another matching.
        let tree = {
            let _stage = ws.stage("order and fill", 0);
            tree(&a.copy_to(&a.executor().on_host())?, structure)?
        };
        let executor = a.executor();
        let bytes = tree.values().saturating_mul(size_of::<F>());
        executor.check_need(|| WHAT.to_owned(), bytes)?;
        match multifrontal::fronts(executor, tree) {
            Some(fronts) => Self::by_fronts(a, Arc::new(fronts), ws),
            None => Ok(None),
        }
    }

    fn by_fronts(a: &Csr<F>, fronts: Arc<Fronts>, ws: &Workspace) -> Result<Option<Self>> {
        let values = {
            let _stage = ws.stage("factors", 0);
            fronts.factorise(a.values_buffer())?
        };
        let Some(values) = values else {
            return Ok(None);
        };
        let symbolic = Symbolic::Device(Arc::clone(&fronts));
        let made = Self::new(a, Factors::Device(fronts, values), symbolic);
        let is_good = Quality::of::<F>(&made, a, ws)?.is_good();
        Ok(is_good.then_some(made))
    }

    /// What matrices of the same pattern share.
    pub fn symbolic(&self) -> Symbolic {
        self.symbolic.clone()
    }

    /// `x = A^-1 b`, or with a transpose of `A`.
    fn solve<T: Scalar>(
        &self,
        transposed: Option<Transpose>,
        b: &Vector<T>,
        x: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        check_apply("direct", Size::square(self.n), &self.executor, b, x)?;
        let scratch = |rows| ws.vector::<F>(&self.executor, rows, b.cols());
        let mut work = scratch(b.rows())?;
        work.copy_from(b)?;
        match &self.factors {
            Factors::Device(fronts, values) => {
                let mut ordered = scratch(b.rows())?;
                let mut inner = scratch(fronts.work_rows())?;
                let mut solution = scratch(b.rows())?;
                let scratch = (&mut *inner, &mut *ordered);
                fronts.solve(values, transposed, &work, scratch, &mut solution)?;
                return x.copy_from(&*solution);
            }
            Factors::Host(factors) if self.executor.is_device() => {
                let mut here = ws.vector::<F>(&self.executor.on_host(), b.rows(), b.cols())?;
                work.read(here.host_mut()?)?;
                factors.solve(transposed, &mut here, ws)?;
                work.write(here.host()?)?;
            }
            Factors::Host(factors) => factors.solve(transposed, &mut work, ws)?,
        }
        x.copy_from(&*work)
    }
}

impl<F: Field + Number, T: Scalar> LinOp<T> for Inverse<F> {
    fn size(&self) -> Size {
        Size::square(self.n)
    }

    fn executor(&self) -> &Executor {
        &self.executor
    }

    fn apply(&self, b: &Vector<T>, x: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        self.solve(None, b, x, ws)
    }

    fn apply_transposed(
        &self,
        mode: Transpose,
        b: &Vector<T>,
        x: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        self.solve(Some(mode), b, x, ws)
    }

    fn footprint(&self) -> Footprint {
        let (moved, more) = match &self.factors {
            Factors::Host(factors) => (factors.bytes(), 0),
            Factors::Device(fronts, values) => (values.bytes(), fronts.bytes()),
        };
        Footprint {
            held: moved + more,
            moved,
        }
    }
}

fn singular(reason: String) -> Error {
    Error::Singular {
        component: "direct",
        reason,
    }
}
