//! The V-cycle of structured multigrid.

use std::sync::Arc;

use super::Direction;
use super::columns::by_column;
use super::fields::{as_fields, as_rows};
use super::level::Level;
use crate::cpu::stencil::Vectors;
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::{Footprint, LinOp, Size, check_apply};
use crate::reference::stencil::Start;
use crate::scalar::{Kind, Mixes};
use crate::vector::Vector;

/// A V-cycle over all levels, with sweeps of Gauss-Seidel forward before the correction and backward
/// after it: symmetric where the matrix is and both are equally many.
#[derive(Debug)]
pub(super) struct VCycle<V: Vectors> {
    pub(super) executor: Executor,
    pub(super) rows: usize,
    pub(super) unknowns: usize,
    pub(super) levels: Vec<Box<dyn Level<V>>>,
    pub(super) coarsest: Arc<dyn LinOp<V>>,
    /// Sweeps before and after the correction.
    pub(super) sweeps: [usize; 2],
}

impl<V: Vectors + Mixes<V, V>> VCycle<V> {
    /// Numbers by which to multiply on the way to the unknowns of the first level and back.
    pub(super) fn scales(&self) -> Option<&Vector<V>> {
        self.levels.first()?.scales()
    }

    /// The matrix of the first level and what it is stored in, if it is not scaled.
    pub(super) fn finest(&self) -> Option<(Kind, Arc<dyn LinOp<f64>>)> {
        let level = self.levels.first()?;
        match level.scales() {
            None => Some((level.storage(), level.matrix())),
            Some(_) => None,
        }
    }

    /// The cycle in the unknowns of the first level.
    pub(super) fn visit_first(
        &self,
        b: &Vector<V>,
        x: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        match self.levels.first() {
            Some(level) => self.visit(0, level.as_ref(), b, x, ws),
            None => self.from(0, b, x, ws),
        }
    }

    /// The cycle from a level down, from a zero guess.
    fn from(&self, number: usize, b: &Vector<V>, x: &mut Vector<V>, ws: &Workspace) -> Result<()> {
        let Some(level) = self.levels.get(number) else {
            let _stage = ws.stage("coarsest", 0);
            return as_rows(self.unknowns, b, x, ws, |b, x| {
                self.coarsest.apply(b, x, ws)
            });
        };
        let Some(scales) = level.scales() else {
            return self.visit(number, level.as_ref(), b, x, ws);
        };
        let mut right = ws.vector_like::<V, V>(b)?;
        let mut solution = ws.vector_like::<V, V>(x)?;
        right.scale_rows(scales, false, b)?;
        self.visit(number, level.as_ref(), &right, &mut solution, ws)?;
        x.scale_rows(scales, false, &solution)
    }

    /// The same in the level's own unknowns.
    fn visit(
        &self,
        number: usize,
        level: &dyn Level<V>,
        b: &Vector<V>,
        x: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        if self.sweeps[0] == 0 {
            x.fill(V::zero())?;
        }
        for sweep in 0..self.sweeps[0] {
            let start = if sweep == 0 {
                Start::Zero
            } else {
                Start::Guess
            };
            level.smooth((Direction::Forward, start), b, x, ws)?;
        }
        let rows = level.coarse().cells() * self.unknowns;
        let mut restricted = ws.vector::<V>(&self.executor, rows, 1)?;
        let mut correction = ws.vector::<V>(&self.executor, rows, 1)?;
        level.restrict_residual(self.sweeps[0] == 1, b, x, &mut restricted, ws)?;
        self.from(number + 1, &restricted, &mut correction, ws)?;
        level.prolong(&correction, x, ws)?;
        for _ in 0..self.sweeps[1] {
            level.smooth((Direction::Backward, Start::Guess), b, x, ws)?;
        }
        Ok(())
    }
}

impl<V: Vectors + Mixes<V, V>> LinOp<V> for VCycle<V> {
    fn size(&self) -> Size {
        Size::square(self.rows)
    }

    fn executor(&self) -> &Executor {
        &self.executor
    }

    fn apply(&self, b: &Vector<V>, x: &mut Vector<V>, ws: &Workspace) -> Result<()> {
        check_apply("struct-mg", Size::square(self.rows), &self.executor, b, x)?;
        by_column(b, x, ws, |b, x| {
            as_fields(self.unknowns, b, (x, Start::Zero), ws, |b, x| {
                self.from(0, b, x, ws)
            })
        })
    }

    fn footprint(&self) -> Footprint {
        let passes = 1 + self.sweeps[0] + self.sweeps[1];
        let levels = self.levels.iter().map(|level| {
            let (matrix, other) = level.bytes();
            Footprint {
                held: matrix + other,
                moved: passes * matrix + 2 * other,
            }
        });
        levels.chain([self.coarsest.footprint()]).sum()
    }
}
