//! Structured multigrid of a matrix whose rows several ranks share.

use std::borrow::Cow;
use std::sync::Arc;

use vcycle_kernels::compiled;

use super::detect::has_room;
use super::mg::GridSetup;
use super::parameters::ON_HOST;
use super::rank_stencil::{stencil_of_rows, stencil_on};
use super::{Generated, StencilMatrix, StencilSmoother, StructMg};
use crate::error::{Error, Result};
use crate::executor::{Executor, Workspace};
use crate::linop::LinOp;
use crate::matrix::{Distributed, Gathered};
use crate::operations::on_host;
use crate::scalar::Mixes;

/// Devices gather levels of so many times more cells: what they compute takes less time there, messages take more.
const ON_DEVICES: usize = 20;

impl StructMg {
    /// The preconditioner of a matrix whose rows several ranks share. Its [near cells](Self::stencil_of_ranks) may be known, and
    /// an earlier set-up for the same stencil.
    pub(super) fn of_ranks<T: Mixes<T, T>>(
        &self,
        a: &Distributed<f64>,
        near: Option<StencilMatrix<f64>>,
        earlier: Option<&GridSetup>,
        ws: &Workspace,
    ) -> Result<Generated<T>> {
        let team = a.team();
        let near = match (near, earlier) {
            (_, Some(earlier)) if earlier.part.is_none() => None,
            (Some(near), _) => Some(near),
            (None, None) => self.stencil_of_ranks(a)?,
            (None, Some(earlier)) => {
                let part = earlier.part.as_ref();
                let near = part.map(|part| stencil_on(a, part, earlier.unknowns));
                near.transpose()?
            }
        };
        let Some(near) = near else {
            let made = a.gathered()?.map(|whole| {
                let whole: Arc<dyn LinOp<T>> = Arc::new(whole.convert::<T>()?);
                match earlier {
                    Some(earlier) => earlier.update_values(&whole, ws),
                    None => self.generate_with_report(&whole, ws),
                }
            });
            return Ok(self.made_on_root(a, team.agree(made.transpose())?));
        };
        if let Some(earlier) = earlier {
            team.agree(earlier.check(&near))?;
        }
        let near = Cow::Owned(self.placed(a, near)?);
        let axes = earlier.map(|earlier| &earlier.axes[..]);
        let _stage = earlier.map(|_| ws.stage("struct-mg update", 0));
        self.of_stencil(near, Some(a), axes, &a.executor().gathering(), ws)
    }

    /// What rank 0 has made for all, and no other rank.
    fn made_on_root<T: Mixes<T, T>>(
        &self,
        a: &Distributed<f64>,
        made: Option<Generated<T>>,
    ) -> Generated<T> {
        let inner = made.as_ref().map(|made| Arc::clone(&made.operator));
        let operator = Arc::new(Gathered::new(a.executor(), a.rows(), inner));
        match made {
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
        }
    }

    /// The cells of this rank and those around them of a matrix whose rows several ranks share. None where one rank is to have
    /// the whole grid. All ranks call it together.
    #[doc(hidden)]
    pub fn stencil_of_ranks(&self, a: &Distributed<f64>) -> Result<Option<StencilMatrix<f64>>> {
        a.team().agree(self.check_ranks())?;
        stencil_of_rows(a, self.grid, self.gathered_cells(a.executor()))
    }

    /// The preconditioner of a matrix whose [near cells](Self::stencil_of_ranks) are known.
    #[doc(hidden)]
    pub fn generate_of_ranks<T: Mixes<T, T>>(
        &self,
        a: &Distributed<f64>,
        near: StencilMatrix<f64>,
        ws: &Workspace,
    ) -> Result<Generated<T>> {
        compiled!(working T: fn(&StructMg, &Distributed<f64>, StencilMatrix<f64>, &Workspace) -> Result<Generated<T>>
            = |parameters, a, near, ws| {
                let _stage = ws.stage("struct-mg set-up", 0);
                parameters.of_ranks(a, Some(near), None, ws)
            }
        )(self, a, near, ws)
    }

    /// The near cells where levels are made of them: on the device of a rank that has kernels for all of that, where all ranks
    /// have room for theirs.
    fn placed(&self, a: &Distributed<f64>, near: StencilMatrix<f64>) -> Result<StencilMatrix<f64>> {
        let there = a.executor().gathering();
        if !there.is_device() {
            return Ok(near);
        }
        let is_there = self.sets_up_on(&there) && has_room(&there, near.bytes());
        if a.team().any(!is_there)? {
            on_host(a.executor(), ON_HOST);
            return Ok(near);
        }
        a.team().agree(near.into_executor(&there))
    }

    /// Over ranks: a level of at most so many cells is that of one rank.
    pub(super) fn gathered_cells(&self, executor: &Executor) -> usize {
        match executor.is_device() {
            true => self.gather_cells.saturating_mul(ON_DEVICES),
            false => self.gather_cells,
        }
    }

    /// Fails, saying what to use, for what is not made for ranks.
    fn check_ranks(&self) -> Result<()> {
        let refuse = |component: String, instead: &str| {
            Err(Error::Unsupported {
                component,
                operation: format!("grids that several ranks share; use {instead}"),
            })
        };
        let on_levels = self.levels.iter().filter_map(|one| one.smoother);
        let follows_rows =
            |one: &StencilSmoother| matches!(one, StencilSmoother::Dilu | StencilSmoother::Ilu0);
        if let Some(smoother) = on_levels.chain([self.smoother]).find(follows_rows) {
            let instead = "`gs`, `jacobi` or `chebyshev`";
            return refuse(format!("the smoother `{smoother}`"), instead);
        }
        Ok(())
    }
}

impl GridSetup {
    /// [`update_values`](Self::update_values) for a matrix whose rows several ranks share; its [near
    /// cells](StructMg::stencil_of_ranks) may be known.
    #[doc(hidden)]
    pub fn update_of_ranks<T: Mixes<T, T>>(
        &self,
        a: &Distributed<f64>,
        near: Option<StencilMatrix<f64>>,
        ws: &Workspace,
    ) -> Result<Generated<T>> {
        compiled!(working T: fn(&GridSetup, &Distributed<f64>, Option<StencilMatrix<f64>>, &Workspace) -> Result<Generated<T>>
            = GridSetup::updated_by_ranks)(self, a, near, ws)
    }

    pub(super) fn updated_by_ranks<T: Mixes<T, T>>(
        &self,
        a: &Distributed<f64>,
        near: Option<StencilMatrix<f64>>,
        ws: &Workspace,
    ) -> Result<Generated<T>> {
        self.parameters.of_ranks(a, near, Some(self), ws)
    }
}
