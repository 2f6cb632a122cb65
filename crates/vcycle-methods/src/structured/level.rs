//! One level of structured multigrid, in the precision it is stored in.

use std::sync::Arc;

use super::smoothing::Smoothing;
use super::{Direction, Grid, StencilMatrix, Storage, Transfer};
use crate::cpu::stencil::{Axes, Correction, Residual, Vectors};
use crate::cpu::{self, Threads};
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::gpu::Gpu;
use crate::launch;
use crate::launch::rows::Finish;
use crate::launch::stencil::Part;
use crate::linop::LinOp;
use crate::reference::stencil::{Order, Start};
use crate::scalar::{Kind, Mixes, convert};
use crate::vector::{Coefficient, Vector};

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

    /// The residual of what one sweep forward makes of zeros, on a device: a row is right when its turn
    /// comes, so what is left are the changes of neighbours after that.
    fn residual_after_sweep(&self, gpu: &Gpu, x: &Vector<V>, r: &mut Vector<V>) -> Result<()> {
        let less = Finish::Combine {
            alpha: Coefficient::real(-1.0),
            beta: Coefficient::zero(),
            z: None,
        };
        launch::stencil::product(gpu, self.a.operand()?, Part::Later, &less, x, r)
    }

    /// What residuals and corrections are multiplied by between the grids.
    fn q(&self) -> Option<&Vector<V>> {
        self.scales.as_ref()?.inverses.as_ref()
    }

    fn host_q(&self) -> Result<Option<&[V]>> {
        self.q().map(Vector::host).transpose()
    }

    /// The threads and transfers of kernels that do planes one after the other, where there are planes.
    fn by_planes(&self) -> Option<(&Threads, Axes<'_, M>)> {
        let grid = self.grid();
        match self.a.executor() {
            Executor::Cpu(threads) if grid.size()[2] > 1 && cpu::stencil::has_kernels::<M, V>() => {
                let transfers = self.transfers.iter().map(Transfer::arrays);
                Some((threads, Axes::new(grid, transfers)))
            }
            _ => None,
        }
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
        let Some((threads, axes)) = self.by_planes() else {
            let mut r = ws.vector_like::<V, V>(b)?;
            match self.a.executor() {
                Executor::Gpu(gpu) if swept => self.residual_after_sweep(gpu, x, &mut r)?,
                _ => self.residual(b, x, &mut r)?,
            }
            return restrict_through(&self.transfers, self.q(), &r, coarse, ws);
        };
        let mut scratch = ws.vector::<V>(b.executor(), axes.scratch(self.unknowns()), 1)?;
        let residual = Residual {
            a: self.a.arrays(),
            b: b.host()?,
            x: x.host()?,
            q: self.host_q()?,
            swept: swept.then_some(Order::Forward),
        };
        let (coarse, scratch) = (coarse.host_mut()?, scratch.host_mut()?);
        cpu::stencil::restrict_residual(threads, residual, axes, coarse, scratch);
        Ok(())
    }

    fn prolong(&self, coarse: &Vector<V>, x: &mut Vector<V>, ws: &Workspace) -> Result<()> {
        let _stage = ws.stage_of("prolongation", || self.bytes().1 + 2 * x.bytes());
        let Some((threads, axes)) = self.by_planes() else {
            return prolong_through(&self.transfers, self.q(), coarse, (x, true), ws);
        };
        let mut scratch = ws.vector::<V>(x.executor(), axes.scratch(self.unknowns()), 1)?;
        let correction = Correction::new(axes, self.host_q()?, coarse.host()?);
        let (x, scratch) = (x.host_mut()?, scratch.host_mut()?);
        cpu::stencil::add_prolonged(threads, correction, x, scratch);
        Ok(())
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
    if let Executor::Gpu(gpu) = fine.executor() {
        return Transfer::operand(transfers)?.restrict(gpu, q, fine, coarse);
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
    if let Executor::Gpu(gpu) = coarse.executor() {
        return Transfer::operand(transfers)?.prolong(gpu, q, coarse, (fine, add));
    }
    let (first, rest) = transfers.split_first().expect("levels have transfers");
    if rest.is_empty() {
        return first.prolong(q, coarse, fine, add);
    }
    let mut between = ws.vector::<V>(fine.executor(), first.coarse_rows(), 1)?;
    prolong_through(rest, None, coarse, (&mut between, false), ws)?;
    first.prolong(q, &between, fine, add)
}
