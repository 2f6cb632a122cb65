//! An operator that one rank applies for all.

use std::sync::Arc;

use super::gathering::{GatheringLetters, courier, gathered, sent_and_answered, spread};
use super::partition::Partition;
use super::team_of;
use super::wire::{bytes_of, bytes_of_mut};
use crate::communicator::Messages;
use crate::error::Result;
use crate::executor::Executor;
use crate::gpu::Gpu;
use crate::linop::{Footprint, LinOp, Size, check_apply};
use crate::scalar::Scalar;
use crate::vector::Vector;
use crate::workspace::Workspace;

/// An operator of rank 0 on vectors whose rows all ranks share: these are gathered there, and the result is spread.
#[derive(Debug)]
pub struct Gathered<T: Scalar> {
    executor: Executor,
    rows: Arc<Partition>,
    /// Where rank 0 [does things for all](Executor::gathering); none on other ranks.
    inner: Option<Arc<dyn LinOp<T>>>,
    /// What is sent while work is recorded, by the number of columns.
    letters: GatheringLetters,
}

impl<T: Scalar> Gathered<T> {
    /// The operator of rank 0, for vectors of some partition.
    pub fn new(
        executor: &Executor,
        rows: &Arc<Partition>,
        inner: Option<Arc<dyn LinOp<T>>>,
    ) -> Self {
        Self {
            executor: executor.clone(),
            rows: Arc::clone(rows),
            inner,
            letters: GatheringLetters::default(),
        }
    }

    fn own_rows(&self) -> Result<usize> {
        let own = self.rows.range(team_of(&self.executor)?.rank());
        Ok((own.end - own.start) as usize)
    }

    /// Gathers, applies and spreads on rank 0.
    fn lead(
        &self,
        inner: &dyn LinOp<T>,
        b: &Vector<T>,
        x: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        let (team, cols) = (team_of(&self.executor)?, b.cols());
        let (host, rows) = (self.executor.alone(), self.rows.total() as usize);
        let mut all = ws.vector::<T>(&host, rows, cols)?;
        let mut result = ws.vector::<T>(&host, rows, cols)?;
        let counts =
            |rank: usize| (self.rows.range(rank).end - self.rows.range(rank).start) as usize;
        let (own, mut rest) = all.host_mut()?.split_at_mut(counts(0) * cols);
        b.read(own)?;
        let mut messages = Messages::default();
        for rank in 1..team.size() {
            let (part, more) = rest.split_at_mut(counts(rank) * cols);
            messages.received.push((rank, bytes_of_mut(part)));
            rest = more;
        }
        messages.received.retain(|(_, bytes)| !bytes.is_empty());
        team.exchange(&mut messages, &mut || Ok(()))?;
        apply_there(inner, &all, &mut result, ws)?;
        let (own, mut rest) = result.host()?.split_at(counts(0) * cols);
        x.write(own)?;
        let mut messages = Messages::default();
        for rank in 1..team.size() {
            let (part, more) = rest.split_at(counts(rank) * cols);
            messages.sent.push((rank, bytes_of(part)));
            rest = more;
        }
        messages.sent.retain(|(_, bytes)| !bytes.is_empty());
        team.exchange(&mut messages, &mut || Ok(()))
    }
}

impl<T: Scalar> Gathered<T> {
    /// The same while work is recorded: messages become a part of it.
    fn queued(&self, gpu: &Gpu, b: &Vector<T>, x: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        let (team, width) = (team_of(&self.executor)?, b.cols() * size_of::<T>());
        let own = (b.device()?, x.device_mut()?, b.rows() * width);
        let Some(inner) = &self.inner else {
            let courier = courier(gpu);
            let letter = self.letters.of_others(courier, team, width, b.rows())?;
            return letter.map_or(Ok(()), |letter| sent_and_answered(gpu, &letter, own));
        };
        let place = inner.executor();
        if !place.is_device() {
            return Err(place.lacks("a gathered operator of the host", "being recorded"));
        }
        let rows = self.rows.total() as usize;
        let mut all = ws.vector::<T>(place, rows, b.cols())?;
        let mut result = ws.vector::<T>(place, rows, b.cols())?;
        let letters = self
            .letters
            .of_first(courier(gpu), team, width, &self.rows)?;
        gathered(gpu, &letters[0], own, (all.device_mut()?, all.bytes()))?;
        inner.apply(&all, &mut result, ws)?;
        spread(gpu, &letters[1], own, (result.device()?, result.bytes()))
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
        Size::square(self.own_rows().unwrap_or(0))
    }

    fn executor(&self) -> &Executor {
        &self.executor
    }

    fn apply(&self, b: &Vector<T>, x: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        check_apply("gathered operator", self.size(), &self.executor, b, x)?;
        if let Some(gpu) = self.executor.recording_rank() {
            return self.queued(gpu, b, x, ws);
        }
        if let Some(inner) = &self.inner {
            return self.lead(inner.as_ref(), b, x, ws);
        }
        if b.rows() == 0 {
            return Ok(());
        }
        let team = team_of(&self.executor)?;
        let mut own = ws.vector::<T>(&self.executor.alone(), b.rows(), b.cols())?;
        b.read(own.host_mut()?)?;
        let mut there = Messages {
            sent: vec![(0, bytes_of(own.host()?))],
            received: Vec::new(),
        };
        team.exchange(&mut there, &mut || Ok(()))?;
        let mut back = Messages {
            sent: Vec::new(),
            received: vec![(0, bytes_of_mut(own.host_mut()?))],
        };
        team.exchange(&mut back, &mut || Ok(()))?;
        x.write(own.host()?)
    }

    fn label(&self) -> &'static str {
        "gathered"
    }

    fn footprint(&self) -> Footprint {
        let inner = self.inner.as_ref();
        inner.map_or(Footprint::default(), |inner| inner.footprint())
    }
}
