//! One level of structured multigrid, in the precision it is stored in.

use super::factor::Factor;
use super::{Direction, Grid, StencilMatrix, Storage, Transfer};
use crate::backend::cpu::stencil::Vectors;
use crate::backend::gpu::rows::Finish;
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::scalar::{Kind, Mixes, convert};
use crate::vector::Vector;

/// What a cycle in arithmetic of `V` does on a level; vectors are unknown by unknown. Where the level is scaled all of it is about the
/// scaled unknowns; [`enter`](Level::enter) and [`leave`](Level::leave) are the way in and out, and the
/// transfers to the next level scale what they move on the fly.
pub(super) trait Level<V: Vectors>: std::fmt::Debug + Send + Sync {
    fn smooth(
        &self,
        direction: Direction,
        b: &Vector<V>,
        x: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()>;
    fn residual(
        &self,
        b: &Vector<V>,
        x: &Vector<V>,
        r: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()>;
    /// Sweeps forward from a zero guess, whatever `x` holds, and the residual after them.
    fn descend(
        &self,
        sweeps: usize,
        b: &Vector<V>,
        x: &mut Vector<V>,
        r: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()>;
    fn restrict(&self, r: &Vector<V>, coarse: &mut Vector<V>, ws: &Workspace) -> Result<()>;
    fn prolong(&self, coarse: &Vector<V>, x: &mut Vector<V>, ws: &Workspace) -> Result<()>;
    /// Numbers by which right-hand sides are multiplied on the way in, solutions on the way out.
    fn scales(&self) -> Option<&Vector<V>>;
    fn grid(&self) -> Grid;
    fn coarse(&self) -> Grid;
    fn unknowns(&self) -> usize;
    /// Numbers stored in the matrix.
    fn entries(&self) -> usize;
    fn storage(&self) -> Kind;
    /// Bytes of the matrix, and of all else.
    fn bytes(&self) -> (usize, usize);
}

/// A level with its matrix stored in `M`.
#[derive(Debug)]
pub(super) struct Stored<M, V> {
    pub(super) a: StencilMatrix<M>,
    /// One axis after the other, from this level on.
    pub(super) transfers: Vec<Transfer<M>>,
    pub(super) scales: Option<Scales<V>>,
    /// What smooths instead of Gauss-Seidel.
    pub(super) factor: Option<Factor<M, V>>,
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

impl<M: Storage, V: Vectors + Mixes<V, V>> Level<V> for Stored<M, V> {
    fn smooth(
        &self,
        direction: Direction,
        b: &Vector<V>,
        x: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        let _stage = ws.stage_of("smoothing", || self.a.bytes() + 3 * b.bytes());
        let Some(factor) = &self.factor else {
            return self.a.sweep(direction, b, x, ws);
        };
        let mut r = ws.vector_like::<V, V>(b)?;
        self.residual(b, x, &mut r, ws)?;
        factor.correct(&r, x, ws)
    }

    fn residual(
        &self,
        b: &Vector<V>,
        x: &Vector<V>,
        r: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        let _stage = ws.stage_of("residual", || self.a.bytes() + 3 * b.bytes());
        self.a.column(&Finish::residual(b), x, r)
    }

    fn descend(
        &self,
        sweeps: usize,
        b: &Vector<V>,
        x: &mut Vector<V>,
        r: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        match (self.a.executor(), sweeps, &self.factor) {
            (Executor::Gpu(gpu), 1, None) => {
                let _stage = ws.stage_of("first sweep", || self.a.bytes() + 4 * b.bytes());
                self.a.first_sweep(gpu, b, x, r)
            }
            _ => self.sweep_and_subtract(sweeps, b, x, r, ws),
        }
    }

    fn restrict(&self, r: &Vector<V>, coarse: &mut Vector<V>, ws: &Workspace) -> Result<()> {
        let _stage = ws.stage_of("restriction", || self.bytes().1 + r.bytes());
        let q = self
            .scales
            .as_ref()
            .and_then(|scales| scales.inverses.as_ref());
        restrict_through(&self.transfers, q, r, coarse, ws)
    }

    fn prolong(&self, coarse: &Vector<V>, x: &mut Vector<V>, ws: &Workspace) -> Result<()> {
        let _stage = ws.stage_of("prolongation", || self.bytes().1 + 2 * x.bytes());
        let q = self
            .scales
            .as_ref()
            .and_then(|scales| scales.inverses.as_ref());
        prolong_through(&self.transfers, q, coarse, (x, true), ws)
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

    fn bytes(&self) -> (usize, usize) {
        let transfers: usize = self.transfers.iter().map(Transfer::bytes).sum();
        let scales = self.scales.as_ref().map_or(0, Scales::bytes);
        let factor = self.factor.as_ref().map_or(0, Factor::bytes);
        (self.a.bytes(), transfers + scales + factor)
    }
}

impl<M: Storage, V: Vectors + Mixes<V, V>> Stored<M, V> {
    fn sweep_and_subtract(
        &self,
        sweeps: usize,
        b: &Vector<V>,
        x: &mut Vector<V>,
        r: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        x.fill(V::zero())?;
        for _ in 0..sweeps {
            self.smooth(Direction::Forward, b, x, ws)?;
        }
        self.residual(b, x, r, ws)
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
