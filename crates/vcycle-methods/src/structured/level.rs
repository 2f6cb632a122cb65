//! One level of structured multigrid, in the precision it is stored in.

use std::sync::Arc;

use super::smoothing::Smoothing;
use super::{Direction, Grid, StencilMatrix, Storage, Transfer};
use crate::cpu::stencil::Vectors;
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::LinOp;
use crate::operations::Finish;
use crate::operations::transfer::{self as operations, TransferWeights};
use crate::reference::stencil::Start;
use crate::scalar::{Kind, Mixes, convert};
use crate::vector::Vector;

/// What a cycle in arithmetic of `V` does on a level; vectors are unknown by unknown. Where the level is scaled all of it is about the
/// scaled unknowns; [`enter`](Level::enter) and [`leave`](Level::leave) are the way in and out, and the
/// transfers to the next level scale what they move on the fly.
pub(super) trait Level<V: Vectors>: std::fmt::Debug + Send + Sync {
    fn smooth(
        &self,
        sweep: (Direction, Start),
        b: &Vector<V>,
        x: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()>;
    /// The residual on the next grid; `swept` says that `x` is what one sweep forward makes of zeros.
    fn restrict_residual(
        &self,
        swept: bool,
        b: &Vector<V>,
        x: &Vector<V>,
        coarse: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()>;
    fn prolong(&self, coarse: &Vector<V>, x: &mut Vector<V>, ws: &Workspace) -> Result<()>;
    /// Numbers by which right-hand sides are multiplied on the way in, solutions on the way out.
    fn scales(&self) -> Option<&Vector<V>>;
    fn grid(&self) -> Grid;
    fn coarse(&self) -> Grid;
    fn unknowns(&self) -> usize;
    /// Numbers stored in the matrix.
    fn entries(&self) -> usize;
    fn storage(&self) -> Kind;
    /// The matrix as it is stored, for products in double precision.
    fn matrix(&self) -> Arc<dyn LinOp<f64>>;
    /// Bytes of the matrix, and of all else.
    fn bytes(&self) -> (usize, usize);
}

/// A level with its matrix stored in `M`.
#[derive(Debug)]
pub(super) struct Stored<M, V> {
    pub(super) a: Arc<StencilMatrix<M>>,
    /// One axis after the other, from this level on.
    pub(super) transfers: Vec<Transfer<M>>,
    pub(super) scales: Option<Scales<V>>,
    pub(super) smoothing: Smoothing<M, V>,
}

/// The numbers of a scaled level: `scales` and, where the levels below are those of the matrix before
/// it was scaled, their inverses.
#[derive(Debug)]
pub(super) struct Scales<V> {
    pub(super) scales: Vector<V>,
    pub(super) inverses: Option<Vector<V>>,
}

impl<V: Vectors> Scales<V> {
    /// `alone` says that the levels below are not scaled with it.
    pub(super) fn new(executor: &Executor, scales: &[f64], alone: bool) -> Self {
        let vector = |of: fn(f64) -> f64| {
            let values = scales.iter().map(|&scale| convert(of(scale))).collect();
            Vector::from_column(executor, values)
        };
        Self {
            scales: vector(|scale| scale),
            inverses: alone.then(|| vector(|scale| 1.0 / scale)),
        }
    }

    fn bytes(&self) -> usize {
        self.scales.bytes() + self.inverses.as_ref().map_or(0, Vector::bytes)
    }
}

impl<M: Storage, V: Vectors + Mixes<V, V>> Stored<M, V> {
    fn residual(&self, b: &Vector<V>, x: &Vector<V>, r: &mut Vector<V>) -> Result<()> {
        self.a.column(&Finish::residual(b), x, r)
    }

    /// What residuals and corrections are multiplied by between the grids.
    fn q(&self) -> Option<&Vector<V>> {
        self.scales.as_ref()?.inverses.as_ref()
    }

    /// The ways to the coarse grid, the finest first.
    fn transfers(&self) -> impl Iterator<Item = TransferWeights<'_, M>> {
        self.transfers.iter().map(Transfer::operand)
    }
}

impl<M: Storage, V: Vectors + Mixes<V, V>> Level<V> for Stored<M, V> {
    fn smooth(
        &self,
        sweep: (Direction, Start),
        b: &Vector<V>,
        x: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        let _stage = ws.stage_of("smoothing", || self.a.bytes() + 3 * b.bytes());
        self.smoothing.smooth(&self.a, sweep, b, x, ws)
    }

    fn restrict_residual(
        &self,
        swept: bool,
        b: &Vector<V>,
        x: &Vector<V>,
        coarse: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        let _stage = ws.stage_of("residual", || self.a.bytes() + 2 * b.bytes());
        let swept = swept && self.smoothing.is_gauss_seidel();
        let (a, transfers, vectors) = (self.a.operand(), self.transfers(), (self.q(), b, x));
        if operations::restrict_residual(a, transfers, vectors, swept, coarse, ws)? {
            return Ok(());
        }
        let mut r = ws.vector_like::<V, V>(b)?;
        if !(swept && a.residual_after_sweep(x, &mut r)?) {
            self.residual(b, x, &mut r)?;
        }
        restrict_through(&self.transfers, self.q(), &r, coarse, ws)
    }

    fn prolong(&self, coarse: &Vector<V>, x: &mut Vector<V>, ws: &Workspace) -> Result<()> {
        let _stage = ws.stage_of("prolongation", || self.bytes().1 + 2 * x.bytes());
        let (shape, from) = ((self.grid(), self.unknowns()), (self.q(), coarse));
        if operations::add_prolonged(shape, self.transfers(), from, x, ws)? {
            return Ok(());
        }
        prolong_through(&self.transfers, self.q(), coarse, (x, true), ws)
    }

    fn scales(&self) -> Option<&Vector<V>> {
        self.scales.as_ref().map(|scales| &scales.scales)
    }

    fn grid(&self) -> Grid {
        self.a.grid()
    }

    fn coarse(&self) -> Grid {
        let last = self.transfers.last().expect("levels have transfers");
        last.coarse()
    }

    fn unknowns(&self) -> usize {
        self.a.unknowns()
    }

    fn entries(&self) -> usize {
        self.a.entries()
    }

    fn storage(&self) -> Kind {
        M::KIND
    }

    fn matrix(&self) -> Arc<dyn LinOp<f64>> {
        Arc::clone(&self.a) as _
    }

    fn bytes(&self) -> (usize, usize) {
        let transfers: usize = self.transfers.iter().map(Transfer::bytes).sum();
        let scales = self.scales.as_ref().map_or(0, Scales::bytes);
        (self.a.bytes(), transfers + scales + self.smoothing.bytes())
    }
}

/// Restricts along one axis after the other, on a device along all at once.
fn restrict_through<M: Storage, V: Vectors>(
    transfers: &[Transfer<M>],
    q: Option<&Vector<V>>,
    fine: &Vector<V>,
    coarse: &mut Vector<V>,
    ws: &Workspace,
) -> Result<()> {
    let all = transfers.iter().map(Transfer::operand);
    if operations::restrict_at_once(all, q, fine, coarse)? {
        return Ok(());
    }
    let (first, rest) = transfers.split_first().expect("levels have transfers");
    if rest.is_empty() {
        return first.restrict(q, fine, coarse);
    }
    let mut between = ws.vector::<V>(fine.executor(), first.coarse_rows(), 1)?;
    first.restrict(q, fine, &mut between)?;
    restrict_through(rest, None, &between, coarse, ws)
}

/// Prolongs along one axis after the other, the first one last; adds to the result where asked.
fn prolong_through<M: Storage, V: Vectors>(
    transfers: &[Transfer<M>],
    q: Option<&Vector<V>>,
    coarse: &Vector<V>,
    (fine, add): (&mut Vector<V>, bool),
    ws: &Workspace,
) -> Result<()> {
    let all = transfers.iter().map(Transfer::operand);
    if operations::prolong_at_once(all, q, coarse, (&mut *fine, add))? {
        return Ok(());
    }
    let (first, rest) = transfers.split_first().expect("levels have transfers");
    if rest.is_empty() {
        return first.prolong(q, coarse, fine, add);
    }
    let mut between = ws.vector::<V>(fine.executor(), first.coarse_rows(), 1)?;
    prolong_through(rest, None, coarse, (&mut between, false), ws)?;
    first.prolong(q, &between, fine, add)
}
