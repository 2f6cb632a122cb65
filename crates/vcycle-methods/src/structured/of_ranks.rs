//! Structured multigrid of a matrix whose rows several ranks share.

use std::borrow::Cow;
use std::sync::Arc;

use super::reuse::GridSetup;
use super::shared::stencil_of_rows;
use super::{Generated, StencilSmoother, StructMg};
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
        team.agree(self.check_ranks(a))?;
        if let Some(stencil) = stencil_of_rows(a, self.grid, self.gather_cells)? {
            let executor = a.executor().alone();
            let rows = Some(a);
            return self.of_stencil_of(Cow::Owned(stencil), rows, None, &executor, ws);
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
