//! The operator that the parameters of structured multigrid become.

use std::any::Any;
use std::borrow::Cow;

use vcycle_kernels::compiled;

use super::detect::has_room;
use super::exchange::MovedOperator;
use super::island_correction::IslandCorrection;
use super::parameters::ON_HOST;
use super::scaling::without_root;
use super::setup::set_up;
use super::survey::Survey;
use super::{IslandCorrections, Stencil, StencilMatrix, StructMg};
use crate::linop::{check_size, entries};
use crate::matrix::{CellOrder, GridPart};
use crate::multigrid::{LevelPrecisions, Report, seen_as};
use crate::operations::on_host;
use crate::precision::{Precision, Unit};
use crate::prelude::*;

/// Structured multigrid, ready to be applied, and its report.
#[derive(Debug)]
#[non_exhaustive]
pub struct Generated<T: Scalar> {
    /// The preconditioner.
    pub operator: Arc<dyn LinOp<T>>,
    /// The matrix itself as a stencil, for products in the solver: in the narrowest type that holds all of
    /// its numbers exactly, unless storage is to be in double precision. None where that is no better than
    /// what was given.
    pub matrix: Option<Arc<dyn LinOp<T>>>,
    /// Its levels; the notes say what was chosen and why.
    pub report: Report,
    /// The parameters with the precision that was chosen.
    pub parameters: StructMg,
    /// What other matrices of the same stencil can share.
    pub setup: GridSetup,
}

impl StructMg {
    /// The preconditioner of a matrix, and its levels.
    ///
    /// # Errors
    /// For a matrix that is no stencil on a grid, naming the entry; for a zero diagonal, or one that is
    /// not positive where scaling needs its root; for values that overflow in a precision that was asked
    /// for without scaling; for vectors in half precision.
    pub fn generate_with_report<T: Mixes<T, T>>(
        &self,
        a: &Arc<dyn LinOp<T>>,
        ws: &Workspace,
    ) -> Result<Generated<T>> {
        self.generate_known(a, None, ws)
    }

    /// The same; of a matrix whose rows ranks share the [near cells](Self::stencil_of_ranks) may be known.
    #[doc(hidden)]
    pub fn generate_known<T: Mixes<T, T>>(
        &self,
        a: &Arc<dyn LinOp<T>>,
        near: Option<StencilMatrix<f64>>,
        ws: &Workspace,
    ) -> Result<Generated<T>> {
        type Near = Option<StencilMatrix<f64>>;
        compiled!(working T: fn(&StructMg, &Arc<dyn LinOp<T>>, Near, &Workspace) -> Result<Generated<T>>
            = StructMg::generated)(self, a, near, ws)
    }

    fn generated<T: Mixes<T, T>>(
        &self,
        a: &Arc<dyn LinOp<T>>,
        near: Option<StencilMatrix<f64>>,
        ws: &Workspace,
    ) -> Result<Generated<T>> {
        let _stage = ws.stage("struct-mg set-up", 0);
        if let Some(shared) = Distributed::behind(a.as_ref()) {
            return self.of_ranks(&shared, near, None, ws);
        }
        let stencil = self.stencil(a.as_ref())?;
        if !stencil.executor().is_device() {
            on_host(a.executor(), ON_HOST);
        }
        self.of_stencil(stencil, None, None, a.executor(), ws)
    }

    /// The same of a stencil matrix, or of that which a rank has of rows that several share; levels may be known by the axes
    /// they are halved along.
    pub(super) fn of_stencil<T: Mixes<T, T>>(
        &self,
        a: Cow<'_, StencilMatrix<f64>>,
        rows: Option<&Distributed<f64>>,
        axes: Option<&[Vec<usize>]>,
        executor: &Executor,
        ws: &Workspace,
    ) -> Result<Generated<T>> {
        // A constant: nothing more is compiled for complex numbers, whose matrices are no stencils.
        if const { T::KIND.is_complex() } {
            return Err(Error::unsupported("struct-mg", "complex vectors"));
        }
        let mut parameters = self.clone().capped(solver_unit::<T>());
        let asked = parameters.precision.as_ref();
        let storage = asked.map_or(Unit::Half, |asked| asked.at(0).matrix);
        let kind = storage.kind(false).expect("real numbers of any unit");
        let survey = Survey::new(&a, kind)?;
        if !survey.is_finite() {
            a.agree(a.check_finite())?;
        }
        let (largest, mut notes) = (survey.largest(), Vec::new());
        if parameters.precision.is_none() {
            let (precision, note) = chosen(&a, largest, solver_unit::<T>())?;
            parameters.precision = Some(precision);
            notes.push(note);
        }
        if parameters.has_single_vectors() && largest > MOST_SINGLE {
            return Err(beyond_single(&a));
        }
        parameters.grid = Some(a.grid_of_all());
        let known = (Cow::Borrowed(&*a), survey);
        let places = (executor, rows.map(|rows| rows.executor()));
        let ready = set_up(&parameters, axes, known, places, ws)?;
        let setup = GridSetup::new(&parameters, &a, ready.axes);
        let (part, unknowns) = (a.part().cloned(), a.unknowns());
        let ranks = rows.zip(part.as_deref());
        let operator = match parameters.corrects_islands(&a)? {
            false => ready.cycle.outside(ranks, unknowns)?,
            true => {
                let _stage = ws.stage("islands", 0);
                let cycle = ready.cycle.outside(ranks, unknowns)?;
                seen_as(IslandCorrection::around(cycle, &a, ranks)?)?
            }
        };
        let matrix = match T::KIND {
            Kind::F64 => for_products((a, survey), ready.finest, executor)?,
            _ => None,
        };
        let matrix = matrix.map(|near| match ranks {
            None => near,
            Some((rows, part)) => {
                let near = (near, CellOrder::Rows);
                let label = "a stencil matrix";
                Arc::new(MovedOperator::for_rows(rows, part, unknowns, near, label))
            }
        });
        Ok(Generated {
            operator,
            matrix: matrix.map(seen_as::<f64, T>).transpose()?,
            report: Report {
                notes,
                ..ready.report
            },
            parameters,
            setup,
        })
    }

    /// Whether what is constant on islands is corrected: where all is known of a symmetric matrix, and islands are likely.
    fn corrects_islands(&self, a: &StencilMatrix<f64>) -> Result<bool> {
        let is_asked_for = self.islands == IslandCorrections::Auto;
        Ok(is_asked_for && a.has_islands()? && a.is_symmetric_and_positive()?)
    }

    /// The operator as a stencil matrix, whatever it is stored as: on a device that has kernels for all of the
    /// set-up, else on the host.
    pub fn stencil<'a, T: Scalar>(
        &self,
        a: &'a dyn LinOp<T>,
    ) -> Result<Cow<'a, StencilMatrix<f64>>> {
        compiled!(working T:
            for<'a> fn(&StructMg, &'a dyn LinOp<T>) -> Result<Cow<'a, StencilMatrix<f64>>> = StructMg::found
        )(self, a)
    }

    fn found<'a, T: Scalar>(&self, a: &'a dyn LinOp<T>) -> Result<Cow<'a, StencilMatrix<f64>>> {
        if let Some(stencil) = (a as &dyn Any).downcast_ref::<StencilMatrix<f64>>() {
            let executor = stencil.executor();
            let is_there = self.sets_up_on(executor) && has_room(executor, stencil.bytes());
            return match executor.is_device() && !is_there {
                true => Ok(Cow::Owned(stencil.copy_to(&executor.on_host())?)),
                false => Ok(Cow::Borrowed(stencil)),
            };
        }
        let entries = entries(a, "struct-mg")?;
        let entries: &Csr<T> = &entries;
        let stencil = match (entries as &dyn Any).downcast_ref::<Csr<f64>>() {
            Some(same) => self.converted(same),
            None => self.converted(&entries.convert()?),
        };
        Ok(Cow::Owned(stencil?))
    }

    /// The matrix as a stencil on the device where it is. None where a device cannot make it, and on the host.
    #[doc(hidden)]
    pub fn stencil_there(&self, a: &Csr<f64>) -> Result<Option<StencilMatrix<f64>>> {
        match self.sets_up_on(a.executor()) {
            true => StencilMatrix::of_device(a, self.grid),
            false => Ok(None),
        }
    }

    fn converted(&self, a: &Csr<f64>) -> Result<StencilMatrix<f64>> {
        if let Some(made) = self.stencil_there(a)? {
            return Ok(made);
        }
        match self.grid {
            Some(grid) => StencilMatrix::from_csr_on(a, grid),
            None => StencilMatrix::from_csr(a),
        }
    }
}

impl<T: Mixes<T, T>> Factory<T> for StructMg {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        Ok(self.generate_with_report(a, ws)?.operator)
    }
}

impl GridSetup {
    /// Structured multigrid for a matrix with the stencil of the first one.
    ///
    /// # Errors
    /// For a matrix of another size or stencil, and as those of
    /// [`generate_with_report`](StructMg::generate_with_report).
    pub fn update_values<T: Mixes<T, T>>(
        &self,
        a: &Arc<dyn LinOp<T>>,
        ws: &Workspace,
    ) -> Result<Generated<T>> {
        self.update_known(a, None, ws)
    }

    /// The same; of a matrix whose rows ranks share the [near cells](StructMg::stencil_of_ranks) may be known.
    #[doc(hidden)]
    pub fn update_known<T: Mixes<T, T>>(
        &self,
        a: &Arc<dyn LinOp<T>>,
        near: Option<StencilMatrix<f64>>,
        ws: &Workspace,
    ) -> Result<Generated<T>> {
        type Near = Option<StencilMatrix<f64>>;
        compiled!(working T: fn(&GridSetup, &Arc<dyn LinOp<T>>, Near, &Workspace) -> Result<Generated<T>>
            = GridSetup::updated)(self, a, near, ws)
    }

    fn updated<T: Mixes<T, T>>(
        &self,
        a: &Arc<dyn LinOp<T>>,
        near: Option<StencilMatrix<f64>>,
        ws: &Workspace,
    ) -> Result<Generated<T>> {
        if let Some(shared) = Distributed::behind(a.as_ref()) {
            return self.parameters.of_ranks(&shared, near, Some(self), ws);
        }
        check_size("update of values", Size::square(self.rows), a.size())?;
        let stencil = self.parameters.stencil(a.as_ref())?;
        self.check(&stencil)?;
        let _stage = ws.stage("struct-mg update", 0);
        let axes = Some(&self.axes[..]);
        self.parameters
            .of_stencil(stencil, None, axes, a.executor(), ws)
    }
}

/// Beyond this the numbers of a cycle, which are as small as values are large, leave single precision.
const MOST_SINGLE: f64 = 1.8e19;

/// The first entry that arithmetic in single precision cannot cope with, as an error.
fn beyond_single(a: &StencilMatrix<f64>) -> Error {
    let large = |value: &f64| value.abs() > MOST_SINGLE;
    let place = a.values().iter().position(large);
    let (row, column) = a.position(place.unwrap_or(0));
    let kind = Kind::F32;
    Error::LevelOverflow {
        level: 0,
        row,
        column,
        kind,
    }
}

/// A matrix for products in double precision; none where it stays what it is. That of the finest level is there
/// already: it serves where its type holds every value. A copy for products alone would take longer to make than it
/// saves.
fn for_products(
    (a, survey): (Cow<'_, StencilMatrix<f64>>, Survey),
    finest: Option<(Kind, Arc<dyn LinOp<f64>>)>,
    executor: &Executor,
) -> Result<Option<Arc<dyn LinOp<f64>>>> {
    if let Some((kind, matrix)) = finest
        && kind != Kind::F64
        && survey.is_exact_in(&a, kind)?
    {
        return Ok(Some(matrix));
    }
    Ok(match a {
        Cow::Borrowed(_) => None,
        // Matrices of devices need no columns either where rows are alike.
        Cow::Owned(_) if executor.is_device() => None,
        Cow::Owned(a) => Some(Arc::new(a)),
    })
}

/// What nothing may be wider than; vectors of solvers in 16 bits are computed with in single precision.
fn solver_unit<T: Scalar>() -> Unit {
    match Unit::of(T::KIND) {
        Unit::Double => Unit::Double,
        Unit::Single | Unit::Half | Unit::Bfloat => Unit::Single,
    }
}

/// The narrowest precision a matrix can be stored in with scaling, in words too.
fn chosen(a: &StencilMatrix<f64>, largest: f64, solver: Unit) -> Result<(LevelPrecisions, String)> {
    let (working, matrix, why) = if largest > MOST_SINGLE {
        let why = "are far beyond half and single precision";
        (Unit::Double, Unit::Double, why)
    } else if largest <= 65504.0 {
        let why = "are in the range of half precision";
        (Unit::Single, Unit::Half, why)
    } else if !a.any(without_root(a)?.is_some())? {
        let why = "are scaled into the range of half precision";
        (Unit::Single, Unit::Half, why)
    } else {
        let why = "are beyond half precision, and the diagonal has no roots to scale by";
        (Unit::Single, Unit::Single, why)
    };
    let precision = LevelPrecisions::from(Precision { working, matrix }).capped(solver);
    let note = format!("struct-mg {precision}: values up to {largest:.1e} {why}");
    Ok((precision, note))
}

/// What structured multigrid shares among matrices of one stencil: the grids of all levels and whatever was chosen
/// for the first matrix. It holds no numbers of a matrix.
///
/// It comes with every [`Generated`]. For other values [`update_values`](Self::update_values) makes everything anew
/// that depends on them: weights of interpolation, coarse matrices, scaling, smoothers and the coarsest solver.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::{Executor, Workspace}, gallery, linop::LinOp, matrix::Csr, structured::StructMg};
/// let (cpu, ws) = (Executor::cpu(), Workspace::new());
/// let k = gallery::build("poisson7:12", &cpu)?.matrix;
/// let implicit = |dt| k.add(dt, 1.0, &Csr::identity(&cpu, 12 * 12 * 12));
/// let a: Arc<dyn LinOp<f64>> = Arc::new(implicit(10.0)?);
/// let first = StructMg::default().generate_with_report(&a, &ws)?;
/// let a: Arc<dyn LinOp<f64>> = Arc::new(implicit(20.0)?);
/// let second = first.setup.update_values(&a, &ws)?;
/// assert_eq!(second.report.levels.len(), first.report.levels.len());
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct GridSetup {
    /// With everything chosen.
    pub(super) parameters: StructMg,
    stencil: Stencil,
    pub(super) unknowns: usize,
    pub(super) rows: usize,
    /// Along which each level but the coarsest is halved.
    pub(super) axes: Vec<Vec<usize>>,
    /// How ranks share the grid, if they do.
    pub(super) part: Option<Arc<GridPart>>,
}

impl GridSetup {
    pub(super) fn new(given: &StructMg, a: &StencilMatrix<f64>, axes: Vec<Vec<usize>>) -> Self {
        Self {
            parameters: given.clone(),
            stencil: a.stencil().clone(),
            unknowns: a.unknowns(),
            rows: a.size().rows,
            axes,
            part: a.part().cloned(),
        }
    }

    /// What fits no matrix: that of a rank that has none.
    pub(super) fn none(parameters: &StructMg) -> Self {
        Self {
            parameters: parameters.clone(),
            stencil: Stencil::full(0),
            unknowns: 1,
            rows: 0,
            axes: Vec::new(),
            part: None,
        }
    }

    /// Fails for another stencil than that of the first matrix.
    pub(super) fn check(&self, a: &StencilMatrix<f64>) -> Result<()> {
        if *a.stencil() != self.stencil || a.unknowns() != self.unknowns {
            return Err(Error::structure(
                "update of values",
                "the matrix has not the stencil of the one that was set up",
            ));
        }
        Ok(())
    }
}
