//! An operator that one rank applies for all.

use vcycle_kernels::compiled;

use super::exchange::{Exchange, nothing};
use super::partition::Partition;
use super::team_of;
use crate::launch::prelude::*;
use crate::linop::{Footprint, LinOp, check_apply};
use crate::operations::halo;
use crate::scalar::{bytes, bytes_mut};

/// An operator of rank 0 on vectors whose rows all ranks share: these are gathered there, and the result is spread.
#[derive(Debug)]
pub struct Gathered<T: Scalar> {
    executor: Executor,
    rows: Arc<Partition>,
    /// Where rank 0 [does things for all](Executor::gathering); none on other ranks.
    inner: Option<Arc<dyn LinOp<T>>>,
    /// Rows to rank 0 and back; none without a team.
    exchanges: Option<[Exchange; 2]>,
}

impl<T: Scalar> Gathered<T> {
    /// The operator of rank 0, for vectors of some partition.
    pub fn new(
        executor: &Executor,
        rows: &Arc<Partition>,
        inner: Option<Arc<dyn LinOp<T>>>,
    ) -> Self {
        let exchanges = executor.team().map(|team| {
            let gather = Exchange::rows_to_first(team, rows);
            let back = gather.reversed();
            [gather, back]
        });
        Self {
            executor: executor.clone(),
            rows: Arc::clone(rows),
            inner,
            exchanges,
        }
    }

    /// [`new`](Self::new) as an operator. The functions of the operator are compiled here.
    pub fn operator(
        executor: &Executor,
        rows: &Arc<Partition>,
        inner: Option<Arc<dyn LinOp<T>>>,
    ) -> Arc<dyn LinOp<T>> {
        compiled!(any T: fn(&Executor, &Arc<Partition>, Option<Arc<dyn LinOp<T>>>) -> Arc<dyn LinOp<T>>
            = |executor, rows, inner| Arc::new(Gathered::new(executor, rows, inner)))(
            executor, rows, inner,
        )
    }

    fn exchanges(&self) -> Result<&[Exchange; 2]> {
        team_of(&self.executor)?;
        Ok(self.exchanges.as_ref().expect("made for a team"))
    }

    /// Rows that are gathered here: all on rank 0.
    fn gathered_rows(&self) -> usize {
        match &self.inner {
            Some(_) => self.rows.total() as usize,
            None => 0,
        }
    }

    /// The same while work is recorded: messages become a part of it.
    fn record(&self, gpu: &Gpu, b: &Vector<T>, x: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        let ([gather, back], width) = (self.exchanges()?, b.cols() * size_of::<T>());
        let (own, bytes) = ((b.device()?, x.device_mut()?), b.bytes());
        let Some(inner) = &self.inner else {
            let mut write = |buffer: &_| halo::write(gpu, buffer, 0, &[(own.0, bytes)]);
            gather.record(gpu, width, &mut write, 0, &mut nothing)?;
            return back.record(gpu, width, &mut |_| Ok(()), own.1, &mut nothing);
        };
        let place = inner.executor();
        if !place.is_device() {
            return Err(place.lacks("a gathered operator of the host", "being recorded"));
        }
        let mut all = ws.vector::<T>(place, self.gathered_rows(), b.cols())?;
        let mut result = ws.vector::<T>(place, self.gathered_rows(), b.cols())?;
        let others = all.bytes() - bytes;
        halo::copy(gpu, own.0, all.device_mut()?, bytes)?;
        let behind = all.device_mut()? + bytes as u64;
        gather.record(gpu, width, &mut |_| Ok(()), behind, &mut nothing)?;
        inner.apply(&all, &mut result, ws)?;
        let first = result.device()?;
        let mut write = |buffer: &_| halo::write(gpu, buffer, 0, &[(first + bytes as u64, others)]);
        back.record(gpu, width, &mut write, 0, &mut || {
            halo::copy(gpu, first, own.1, bytes)
        })
    }
}

/// The operator, which may be on a device, for vectors of the host.
fn apply_there<T: Scalar>(
    inner: &dyn LinOp<T>,
    b: &Vector<T>,
    x: &mut Vector<T>,
    ws: &Workspace,
) -> Result<()> {
    let place = inner.executor();
    if !place.is_device() {
        return inner.apply(b, x, ws);
    }
    let mut there = ws.vector::<T>(place, b.rows(), b.cols())?;
    let mut result = ws.vector::<T>(place, x.rows(), x.cols())?;
    there.write(b.host()?)?;
    inner.apply(&there, &mut result, ws)?;
    result.read(x.host_mut()?)
}

impl<T: Scalar> LinOp<T> for Gathered<T> {
    fn size(&self) -> Size {
        let rank = self.executor.team().map(|team| team.rank());
        Size::square(rank.map_or(0, |rank| self.rows.count(rank)))
    }

    fn executor(&self) -> &Executor {
        &self.executor
    }

    fn apply(&self, b: &Vector<T>, x: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        check_apply("gathered operator", self.size(), &self.executor, b, x)?;
        if let Some(gpu) = self.executor.recording_rank() {
            return self.record(gpu, b, x, ws);
        }
        let [gather, back] = self.exchanges()?;
        let (host, cols) = (self.executor.alone(), b.cols());
        // On rank 0 own rows are the first of all, elsewhere they are all that there is.
        let rows = self.gathered_rows().max(b.rows());
        if rows == 0 {
            return Ok(());
        }
        let mut all = ws.vector::<T>(&host, rows, cols)?;
        let (own, width) = (b.rows() * cols, cols * size_of::<T>());
        let (mine, others) = all.host_mut()?.split_at_mut(own);
        b.read(mine)?;
        let Some(inner) = &self.inner else {
            gather.run(width, bytes(mine), &mut [], &mut nothing)?;
            back.run(width, &[], bytes_mut(mine), &mut nothing)?;
            return x.write(all.host()?);
        };
        gather.run(width, &[], bytes_mut(others), &mut nothing)?;
        let mut result = ws.vector::<T>(&host, rows, cols)?;
        apply_there(inner.as_ref(), &all, &mut result, ws)?;
        let (mine, others) = result.host()?.split_at(own);
        x.write(mine)?;
        back.run(width, bytes(others), &mut [], &mut nothing)
    }

    fn label(&self) -> &'static str {
        "gathered"
    }

    fn footprint(&self) -> Footprint {
        let inner = self.inner.as_ref();
        inner.map_or(Footprint::default(), |inner| inner.footprint())
    }
}
