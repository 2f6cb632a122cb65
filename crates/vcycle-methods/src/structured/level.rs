//! One level of structured multigrid, in the precision it is stored in.

use super::exchange::LevelExchange;
use super::matrix::converted;
use super::smoothing::StencilSmoothing;
use super::{Direction, StencilMatrix, Storage, Transfer};
use crate::cpu::stencil::Vectors;
use crate::multigrid::{Guess, Operations};
use crate::operations::Finish;
use crate::operations::stencil_setup::inverses;
use crate::operations::transfer::{self as operations, TransferWeights};
use crate::prelude::*;
use crate::reference::stencil::Start;

/// A level on a grid, whatever its matrix is stored in; vectors are unknown by unknown. Where it is scaled all of it is about
/// the scaled unknowns.
pub(super) struct GridLevel<V: Vectors> {
    pub(super) storage: Kind,
    /// The matrix as it is stored, for products in double precision.
    pub(super) matrix: Arc<dyn LinOp<f64>>,
    /// Scales by which right-hand sides and solutions are multiplied.
    pub(super) scales: Option<Arc<Vector<V>>>,
    /// How ranks share the level, and the product of near cells, where they do.
    pub(super) shared: Option<(Arc<LevelExchange>, Arc<dyn LinOp<V>>)>,
    /// Bytes of the matrix, and of all else.
    pub(super) bytes: (usize, usize),
    pub(super) operations: Arc<dyn Operations<V>>,
}

/// A level with its matrix stored in `M`.
#[derive(Debug)]
pub(super) struct Stored<M, V: Vectors> {
    pub(super) a: Arc<StencilMatrix<M>>,
    /// The same for vectors of the level.
    pub(super) product: Arc<dyn LinOp<V>>,
    /// One axis after the other, from this level on.
    pub(super) transfers: Vec<Transfer<M>>,
    pub(super) scales: Option<Scales<V>>,
    pub(super) smoothing: StencilSmoothing<M, V>,
    /// Sweeps before and after the correction.
    pub(super) sweeps: [usize; 2],
    /// What ranks exchange, if they share it.
    pub(super) exchange: Option<Arc<LevelExchange>>,
}

/// The numbers of a scaled level: `scales` and, where the levels below are those of the matrix before
/// it was scaled, their inverses.
#[derive(Debug)]
pub(super) struct Scales<V> {
    pub(super) scales: Arc<Vector<V>>,
    pub(super) inverses: Option<Vector<V>>,
}

impl<V: Vectors> Scales<V> {
    /// `alone` says that the levels below are not scaled with it.
    pub(super) fn new(executor: &Executor, scales: &Buffer<f64>, alone: bool) -> Result<Self> {
        let vector = |numbers: &Buffer<f64>| {
            let made = converted(numbers)?;
            match made.executor().shares_memory_with(executor) {
                true => Vector::from_buffer(1, made),
                false => Vector::from_buffer(1, made.copy_to(executor)?),
            }
        };
        let inverses = alone.then(|| vector(&inverted(scales)?)).transpose()?;
        Ok(Self {
            scales: Arc::new(vector(scales)?),
            inverses,
        })
    }

    fn bytes(&self) -> usize {
        self.scales.bytes() + self.inverses.as_ref().map_or(0, Vector::bytes)
    }
}

/// One over every number.
fn inverted(numbers: &Buffer<f64>) -> Result<Buffer<f64>> {
    if let Some(inverses) = inverses(numbers)? {
        return Ok(inverses);
    }
    let inverses = numbers.host()?.iter().map(|number| 1.0 / number);
    Ok(Buffer::from_vec(numbers.executor(), inverses.collect()))
}

impl<M: Storage, V: Vectors + Mixes<V, V>> Stored<M, V> {
    /// The level as one of any storage; `near` is the product of near cells.
    pub(super) fn erased(self, near: Arc<dyn LinOp<V>>) -> GridLevel<V>
    where
        Self: 'static,
    {
        let shared = self.exchange.clone().map(|exchange| (exchange, near));
        GridLevel {
            storage: M::KIND,
            matrix: Arc::clone(&self.a) as _,
            scales: self
                .scales
                .as_ref()
                .map(|scales| Arc::clone(&scales.scales)),
            shared,
            bytes: self.bytes(),
            operations: Arc::new(self),
        }
    }

    /// Bytes of the matrix, and of all else.
    fn bytes(&self) -> (usize, usize) {
        let transfers: usize = self.transfers.iter().map(Transfer::bytes).sum();
        let scales = self.scales.as_ref().map_or(0, Scales::bytes);
        (self.a.bytes(), transfers + scales + self.smoothing.bytes())
    }

    /// What residuals and corrections are multiplied by between the grids.
    fn q(&self) -> Option<&Vector<V>> {
        self.scales.as_ref()?.inverses.as_ref()
    }

    /// The transfer operators to the coarse grid, the finest first.
    fn transfers(&self) -> impl Iterator<Item = TransferWeights<'_, M>> {
        self.transfers.iter().map(Transfer::operand)
    }

    /// The residual on the next grid, which is not scaled.
    fn restricted(
        &self,
        b: &Vector<V>,
        guess: Guess<'_, V>,
        coarse: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        let _stage = ws.stage_of("residual", || self.a.bytes() + 2 * b.bytes());
        let (x, swept) = match guess {
            Guess::Zero(x) => (x, false),
            Guess::Smoothed(x) => (x, self.sweeps[0] == 1 && self.smoothing.is_gauss_seidel()),
        };
        let (a, transfers, vectors) = (self.a.operand(), self.transfers(), (self.q(), b, x));
        if operations::restrict_residual(a, transfers, vectors, swept, coarse, ws)? {
            return Ok(());
        }
        let mut r = ws.vector_like::<V, V>(b)?;
        if !(swept && a.residual_after_sweep(x, &mut r)?) {
            self.a.column(&Finish::residual(b), x, &mut r)?;
        }
        restrict_through(&self.transfers, self.q(), &r, coarse, ws)
    }

    /// One sweep, after which ranks exchange its result.
    fn sweep(
        &self,
        sweep: (Direction, Start),
        b: &Vector<V>,
        x: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        ws.check_end(self.a.part().map(|part| part.team()))?;
        self.smoothing.smooth(&self.a, sweep, b, x, ws)?;
        match &self.exchange {
            Some(exchange) => exchange.refresh(x, ws),
            None => Ok(()),
        }
    }

    /// Adds a correction from the next grid, which is not scaled.
    fn add(&self, coarse: &Vector<V>, x: &mut Vector<V>, ws: &Workspace) -> Result<()> {
        let _stage = ws.stage_of("prolongation", || self.bytes().1 + 2 * x.bytes());
        let shape = (self.a.grid(), self.a.unknowns());
        if operations::add_prolonged(shape, self.transfers(), (self.q(), coarse), x, ws)? {
            return Ok(());
        }
        prolong_through(&self.transfers, self.q(), coarse, (x, true), ws)
    }
}

impl<M: Storage, V: Vectors + Mixes<V, V>> Operations<V> for Stored<M, V> {
    fn matrix(&self) -> &Arc<dyn LinOp<V>> {
        &self.product
    }

    /// Gauss-Seidel forward.
    fn smooth_from_zero(&self, b: &Vector<V>, x: &mut Vector<V>, ws: &Workspace) -> Result<()> {
        let moved = || self.sweeps[0] * (self.a.bytes() + 3 * b.bytes());
        let _stage = ws.stage_of("pre-smoothing", moved);
        if self.sweeps[0] == 0 {
            x.fill(V::zero())?;
        }
        let mut start = Start::Zero;
        for _ in 0..self.sweeps[0] {
            let sweep = (Direction::Forward, start);
            self.sweep(sweep, b, x, ws)?;
            start = Start::Guess;
        }
        Ok(())
    }

    /// Gauss-Seidel backward: with equally many sweeps the cycle is symmetric where the matrix is.
    fn smooth(&self, b: &Vector<V>, x: &mut Vector<V>, ws: &Workspace) -> Result<()> {
        let moved = || self.sweeps[1] * (self.a.bytes() + 3 * b.bytes());
        let _stage = ws.stage_of("post-smoothing", moved);
        let sweep = (Direction::Backward, Start::Guess);
        (0..self.sweeps[1]).try_for_each(|_| self.sweep(sweep, b, x, ws))
    }

    fn restrict_residual(
        &self,
        b: &Vector<V>,
        x: Guess<'_, V>,
        restricted: &mut Vector<V>,
        _norms: &mut Scalars<V>,
        ws: &Workspace,
    ) -> Result<()> {
        let Some(exchange) = &self.exchange else {
            return self.restricted(b, x, restricted, ws);
        };
        let mut between = exchange.between::<V>(b.executor(), ws)?;
        self.restricted(b, x, &mut between, ws)?;
        exchange.moved(&exchange.down, &between, restricted, ws)
    }

    fn add_prolonged(
        &self,
        correction: &Vector<V>,
        _norms: &Scalars<V>,
        x: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        let Some(exchange) = &self.exchange else {
            return self.add(correction, x, ws);
        };
        let mut between = exchange.between::<V>(x.executor(), ws)?;
        exchange.moved(&exchange.up, correction, &mut between, ws)?;
        self.add(&between, x, ws)
    }

    fn footprint(&self) -> Footprint {
        let passes = 1 + self.sweeps[0] + self.sweeps[1];
        let (matrix, other) = self.bytes();
        Footprint::new(matrix + other, passes * matrix + 2 * other)
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
