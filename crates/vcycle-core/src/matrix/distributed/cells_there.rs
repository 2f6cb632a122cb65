//! Cells that go from the arrays of some ranks to those of others, where these are on devices.
//!
//! What is sent is packed on the device and goes through the host, or from device to device; meanwhile what stays is
//! copied there.

use std::sync::{Arc, Mutex, PoisonError};

use super::cells::{CellMoves, Run, count};
use super::wire::{bytes_of, bytes_of_mut};
use crate::communicator::Span;
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::operations::cells::{CellSide, CellSteps, RunTable, move_cells};
use crate::scalar::Scalar;
use crate::vector::Vector;
use crate::workspace::Workspace;

/// How the numbers of several unknowns lie in a vector of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellOrder {
    /// Those of a cell side by side.
    Rows,
    /// Those of an unknown side by side.
    Fields,
}

/// The runs of all moves on a device.
#[derive(Debug)]
pub(super) struct MovesThere {
    device: Executor,
    sent: RunTable,
    received: RunTable,
    kept: RunTable,
}

/// Those of the device that asked last.
#[derive(Debug, Default)]
pub(super) struct TablesThere(Mutex<Option<Arc<MovesThere>>>);

impl MovesThere {
    fn new(moves: &CellMoves, device: &Executor) -> Self {
        let all =
            |ranks: &[(usize, Vec<Run>)]| table(device, ranks.iter().flat_map(|(_, runs)| runs));
        Self {
            sent: all(&moves.sent),
            received: all(&moves.received),
            kept: table(device, moves.kept.iter()),
            device: device.clone(),
        }
    }

    fn is_of(&self, device: &Executor) -> bool {
        match (self.device.device(), device.device()) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            _ => false,
        }
    }
}

fn table<'r>(device: &Executor, runs: impl Iterator<Item = &'r Run> + Clone) -> RunTable {
    let mut starts = vec![0];
    for run in runs.clone() {
        starts.push(starts[starts.len() - 1] + run.length);
    }
    let from = runs.clone().map(|run| run.from).collect();
    let to = runs.map(|run| run.to).collect();
    RunTable {
        cells: starts[starts.len() - 1],
        starts: Buffer::from_vec(device, starts),
        places: [from, to].map(|places| Buffer::from_vec(device, places)),
    }
}

/// Where the numbers of cells are in an array of so many.
fn steps(order: CellOrder, [fields, width]: [usize; 2], numbers: usize) -> CellSteps {
    match order {
        CellOrder::Rows => CellSteps {
            field: width,
            cell: fields * width,
        },
        CellOrder::Fields => CellSteps {
            field: numbers / fields,
            cell: width,
        },
    }
}

fn message<T: Scalar>(memory: &mut Vector<T>) -> Result<CellSide> {
    Ok(CellSide {
        address: memory.device_mut()?,
        steps: None,
    })
}

impl CellMoves {
    /// Moves `per_cell` numbers a cell, in `fields` arrays that lie one behind the other, wherever they are. All ranks call it
    /// together.
    ///
    /// # Errors
    /// When a device or another rank has failed.
    pub fn move_values<T: Scalar>(
        &self,
        shape: [usize; 2],
        from: &Buffer<T>,
        to: &mut Buffer<T>,
    ) -> Result<()> {
        let numbers = [from.len(), to.len()];
        let executor = to.executor().clone();
        if executor.is_device() {
            let steps = numbers.map(|numbers| Some(steps(CellOrder::Fields, shape, numbers)));
            let sides = [
                CellSide {
                    address: from.device()?,
                    steps: steps[0],
                },
                CellSide {
                    address: to.device_mut()?,
                    steps: steps[1],
                },
            ];
            return self.travel_there::<T, T, T>(&executor, shape, sides, &Workspace::new());
        }
        let ([fields, per_cell], to) = (shape, to.host_mut()?);
        self.move_to(shape, from.host()?, |field, cell, new| {
            let first = field * (numbers[1] / fields) + cell * per_cell;
            to[first..first + new.len()].copy_from_slice(new);
        })
    }

    /// Moves vectors that are unknown by unknown, wherever they are. All ranks call it together.
    ///
    /// # Errors
    /// When a device or another rank has failed.
    pub fn move_vector<T: Scalar>(
        &self,
        unknowns: usize,
        from: &Vector<T>,
        to: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        if to.executor().is_device() {
            let order = CellOrder::Fields;
            return self.move_there(unknowns, (from, order), (to, order), ws);
        }
        let to = to.host_mut()?;
        let cells = to.len() / unknowns;
        self.move_to([unknowns, 1], from.host()?, |field, cell, new| {
            let first = field * cells + cell;
            to[first..first + new.len()].copy_from_slice(new);
        })
    }

    /// Moves vectors of a device, which may be in different precisions and orders; they travel in the narrower one. All ranks
    /// call it together.
    ///
    /// # Errors
    /// When a device or another rank has failed.
    pub fn move_there<F: Scalar, T: Scalar>(
        &self,
        unknowns: usize,
        (from, order): (&Vector<F>, CellOrder),
        (to, target): (&mut Vector<T>, CellOrder),
        ws: &Workspace,
    ) -> Result<()> {
        let (shape, executor) = ([unknowns, 1], to.executor().clone());
        let sides = [
            CellSide {
                address: from.device()?,
                steps: Some(steps(order, shape, from.rows())),
            },
            CellSide {
                steps: Some(steps(target, shape, to.rows())),
                address: to.device_mut()?,
            },
        ];
        match size_of::<T>() < size_of::<F>() {
            true => self.travel_there::<F, T, T>(&executor, shape, sides, ws),
            false => self.travel_there::<F, F, T>(&executor, shape, sides, ws),
        }
    }

    /// Moves within one vector, which is unknown by unknown, wherever it is. All ranks call it together.
    ///
    /// # Errors
    /// When a device or another rank has failed.
    pub fn refresh_vector<T: Scalar>(
        &self,
        unknowns: usize,
        x: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        let (shape, executor) = ([unknowns, 1], x.executor().clone());
        if !executor.is_device() {
            return self.refresh(shape, x.host_mut()?);
        }
        let array = CellSide {
            steps: Some(steps(CellOrder::Fields, shape, x.rows())),
            address: x.device_mut()?,
        };
        self.travel_there::<T, T, T>(&executor, shape, [array; 2], ws)
    }

    /// The runs on a device.
    fn there(&self, device: &Executor) -> Arc<MovesThere> {
        let mut known = self.there.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.take().filter(|known| known.is_of(device));
        Arc::clone(known.insert(found.unwrap_or_else(|| Arc::new(MovesThere::new(self, device)))))
    }

    /// Moves numbers that are read in `F`, travel in `W` and are written in `T`.
    fn travel_there<F: Scalar, W: Scalar, T: Scalar>(
        &self,
        device: &Executor,
        shape: [usize; 2],
        [from, to]: [CellSide; 2],
        ws: &Workspace,
    ) -> Result<()> {
        let (there, width) = (self.there(device), shape[0] * shape[1]);
        let keep = || move_cells::<F, T>(device, &there.kept, shape, [from, to]);
        let [sent, received] = [&there.sent, &there.received].map(|runs| runs.cells * width);
        if sent == 0 && received == 0 {
            return keep();
        }
        let mut packed = ws.vector::<W>(device, sent, 1)?;
        let mut arrived = ws.vector::<W>(device, received, 1)?;
        let sides = [from, message(&mut packed)?];
        move_cells::<F, W>(device, &there.sent, shape, sides)?;
        self.carry(device, width, (&mut packed, &mut arrived), ws, &mut || {
            keep()
        })?;
        let sides = [message(&mut arrived)?, to];
        move_cells::<W, T>(device, &there.received, shape, sides)
    }

    /// Sends and receives what is packed, so many numbers a cell.
    fn carry<W: Scalar>(
        &self,
        device: &Executor,
        width: usize,
        (packed, arrived): (&mut Vector<W>, &mut Vector<W>),
        ws: &Workspace,
        meanwhile: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let width = width * size_of::<W>();
        if device.sends_memory() {
            let sent = spans(&self.sent, width, packed.device_mut()?);
            let received = spans(&self.received, width, arrived.device_mut()?);
            // What is to be sent is packed then, and nothing queued reads what is received any more.
            device.synchronize()?;
            // SAFETY: both vectors are as long as what travels, belong to nobody else, and stay until all has arrived; what is
            // queued meanwhile knows neither.
            return unsafe { self.team.exchange_spans(&sent, &received, meanwhile) };
        }
        let host = device.on_host().alone();
        let mut sent = ws.vector::<W>(&host, packed.rows(), 1)?;
        let mut received = ws.vector::<W>(&host, arrived.rows(), 1)?;
        if packed.rows() > 0 {
            packed.read(sent.host_mut()?)?;
        }
        let (from, to) = (bytes_of(sent.host()?), bytes_of_mut(received.host_mut()?));
        self.exchange(width, from, to, meanwhile)?;
        match arrived.rows() {
            0 => Ok(()),
            _ => arrived.write(received.host()?),
        }
    }
}

/// The messages that lie one behind the other at an address, so many bytes a cell.
fn spans(ranks: &[(usize, Vec<Run>)], width: usize, mut address: u64) -> Vec<Span> {
    let span = |(rank, runs): &(usize, Vec<Run>)| {
        let (bytes, at) = (count(runs) * width, address);
        address += bytes as u64;
        Span {
            rank: *rank,
            address: at,
            bytes,
        }
    };
    ranks.iter().map(span).collect()
}
