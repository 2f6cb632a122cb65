//! Set-ups that are kept, for matrices of the same stencil with new values.

use std::sync::Arc;

use vcycle_kernels::compiled;

use super::{Generated, Stencil, StencilMatrix, StructMg};
use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::linop::{LinOp, Size, check_size};
use crate::matrix::{Distributed, GridPart};
use crate::scalar::Mixes;

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
    rows: usize,
    /// Along which each level but the coarsest is halved.
    pub(super) axes: Vec<Vec<usize>>,
    /// How ranks share the grid, if they do.
    pub(super) part: Option<Arc<GridPart>>,
}

impl GridSetup {
    pub(super) fn new(
        parameters: &StructMg,
        a: &StencilMatrix<f64>,
        axes: Vec<Vec<usize>>,
    ) -> Self {
        Self {
            parameters: parameters.clone(),
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
        compiled!(working T: fn(&GridSetup, &Arc<dyn LinOp<T>>, &Workspace) -> Result<Generated<T>>
            = GridSetup::updated)(self, a, ws)
    }

    fn updated<T: Mixes<T, T>>(
        &self,
        a: &Arc<dyn LinOp<T>>,
        ws: &Workspace,
    ) -> Result<Generated<T>> {
        if let Some(shared) = Distributed::behind(a.as_ref()) {
            return self.updated_by_ranks(&shared, None, ws);
        }
        check_size("update of values", Size::square(self.rows), a.size())?;
        let stencil = self.parameters.stencil(a.as_ref())?;
        self.check(&stencil)?;
        let _stage = ws.stage("struct-mg update", 0);
        let axes = Some(&self.axes[..]);
        self.parameters
            .of_stencil(stencil, None, axes, a.executor(), ws)
    }

    /// Fails for another stencil than that of the first matrix.
    pub(super) fn check(&self, a: &StencilMatrix<f64>) -> Result<()> {
        if *a.stencil() != self.stencil || a.unknowns() != self.unknowns {
            return Err(Error::InvalidStructure {
                format: "update of values",
                reason: "the matrix has not the stencil of the one that was set up".to_owned(),
            });
        }
        Ok(())
    }
}
