//! Structured multigrid of a matrix whose rows several ranks share.

use std::borrow::Cow;
use std::sync::Arc;

use super::reuse::GridSetup;
use super::shared::stencil_of_rows;
use super::{Generated, StencilMatrix, StencilSmoother, StructMg};
use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::linop::LinOp;
use crate::matrix::{Csr, Distributed, Gathered};
use crate::multigrid::Cycle;
use crate::scalar::Mixes;

impl StructMg {
    /// The preconditioner of a matrix whose rows several ranks share.
    pub(super) fn of_ranks<T: Mixes<T, T>>(
        &self,
        a: &Distributed<f64>,
        ws: &Workspace,
    ) -> Result<Generated<T>> {
        let team = a.team();
        if let Some(stencil) = self.stencil_of_ranks(a)? {
            return self.of_near_cells(a, stencil, ws);
        }
        let whole = a.gathered()?;
        let made = whole.map(|whole| self.alone::<T>(whole, ws)).transpose();
        let made = team.agree(made)?;
        let inner = made.as_ref().map(|made| Arc::clone(&made.operator));
        let operator = Arc::new(Gathered::new(a.executor(), a.rows(), inner));
        Ok(match made {
            Some(made) => Generated {
                operator,
                matrix: None,
                ..made
            },
            None => Generated {
                operator,
                matrix: None,
                report: Default::default(),
                parameters: self.clone(),
                setup: GridSetup::none(self),
            },
        })
    }

    /// The cells of this rank and those around them of a matrix whose rows several ranks share. None where one rank is to have
    /// the whole grid. All ranks call it together.
    ///
    /// # Errors
    /// For a matrix that is no stencil on a grid, for what is not made for ranks, and when another rank has failed.
    #[doc(hidden)]
    pub fn stencil_of_ranks(&self, a: &Distributed<f64>) -> Result<Option<StencilMatrix<f64>>> {
        a.team().agree(self.check_ranks(a))?;
        stencil_of_rows(a, self.grid, self.gather_cells)
    }

    /// The preconditioner of a matrix whose [near cells](Self::stencil_of_ranks) are known.
    ///
    /// # Errors
    /// As [`generate_with_report`](Self::generate_with_report).
    #[doc(hidden)]
    pub fn generate_of_ranks(
        &self,
        a: &Distributed<f64>,
        near: StencilMatrix<f64>,
        ws: &Workspace,
    ) -> Result<Generated<f64>> {
        let _stage = ws.stage("struct-mg set-up", 0);
        self.of_near_cells(a, near, ws)
    }

    fn of_near_cells<T: Mixes<T, T>>(
        &self,
        a: &Distributed<f64>,
        near: StencilMatrix<f64>,
        ws: &Workspace,
    ) -> Result<Generated<T>> {
        let executor = a.executor().alone();
        self.of_stencil_of(Cow::Owned(near), Some(a), None, &executor, ws)
    }

    /// The preconditioner of a matrix that one rank has gathered.
    fn alone<T: Mixes<T, T>>(&self, whole: Csr<f64>, ws: &Workspace) -> Result<Generated<T>> {
        let a: Arc<dyn LinOp<T>> = Arc::new(whole.convert::<T>()?);
        self.generate_with_report(&a, ws)
    }

    /// Fails, saying what to use, for what is not made for ranks.
    fn check_ranks(&self, a: &Distributed<f64>) -> Result<()> {
        let refuse = |component: String, instead: &str| {
            Err(Error::Unsupported {
                component,
                operation: format!("grids that several ranks share; use {instead}"),
            })
        };
        if a.executor().is_device() {
            return refuse("struct-mg on a device".to_owned(), "the host, or amg");
        }
        let on_levels = self.levels.iter().filter_map(|one| one.smoother);
        let other = |smoother: &StencilSmoother| *smoother != StencilSmoother::GaussSeidel;
        if let Some(smoother) = on_levels.chain([self.smoother]).find(other) {
            return refuse(format!("the smoother `{smoother}`"), "`gs`");
        }
        if self.cycle == Cycle::K {
            return refuse("cycle = k".to_owned(), "`v`, `w` or `f`");
        }
        Ok(())
    }
}
