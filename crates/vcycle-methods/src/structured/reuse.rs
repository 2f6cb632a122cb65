//! Set-ups that are kept, for matrices of the same stencil with new values.

use std::sync::Arc;

use super::{Stencil, StencilMatrix, StructMg};
use crate::error::{Error, Result};
use crate::matrix::GridPart;

/// What structured multigrid shares among matrices of one stencil: the grids of all levels and whatever was chosen
/// for the first matrix. It holds no numbers of a matrix.
///
/// It comes with every [`Generated`](super::Generated). For other values [`update_values`](Self::update_values) makes everything anew
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
