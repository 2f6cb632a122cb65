//! Moves of the numbers of cells, in arrays of the host and on devices.
//!
//! What a device sends is packed there and goes through the host, or from device to device; meanwhile what stays is
//! copied.

use vcycle_gpu::Address;

use super::cells::{CellMoves, Run};
use super::exchange::nothing;
use crate::operations::cells::{CellSide, CellSteps, move_cells};
use crate::prelude::*;
use crate::scalar::{Element, bytes, bytes_mut, convert, convert_slice};

/// How the numbers of several unknowns lie in a vector of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellOrder {
    /// Those of a cell side by side.
    Rows,
    /// Those of an unknown side by side.
    Fields,
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

impl CellMoves {
    /// Moves `per_cell` numbers a cell, in `fields` arrays that lie one behind the other. `put` gets the field, the place of
    /// a cell in the array that they go to, and the numbers from there on. All ranks call it together.
    pub fn move_to<T: Element>(
        &self,
        [fields, per_cell]: [usize; 2],
        from: &[T],
        mut put: impl FnMut(usize, usize, &[T]),
    ) -> Result<()> {
        let share = from.len() / fields;
        let numbers = |field: usize, run: &Run| {
            let first = field * share + run.from * per_cell;
            &from[first..first + run.length * per_cell]
        };
        for field in 0..fields {
            for run in &self.kept {
                put(field, run.to, numbers(field, run));
            }
        }
        let pack = |field, run: &Run, packed: &mut Vec<T>| {
            packed.extend_from_slice(numbers(field, run));
        };
        let packed = self.packed([fields, per_cell], pack);
        self.travel([fields, per_cell], &packed, put)
    }

    /// The same to an array of the same layout.
    pub fn move_slice<T: Element>(
        &self,
        [fields, per_cell]: [usize; 2],
        from: &[T],
        to: &mut [T],
    ) -> Result<()> {
        let share = to.len() / fields;
        self.move_to([fields, per_cell], from, |field, cell, new| {
            let first = field * share + cell * per_cell;
            to[first..first + new.len()].copy_from_slice(new);
        })
    }

    /// The same within one array.
    pub fn refresh<T: Element>(
        &self,
        [fields, per_cell]: [usize; 2],
        values: &mut [T],
    ) -> Result<()> {
        let share = values.len() / fields;
        let packed = self.packed([fields, per_cell], |field, run, packed: &mut Vec<T>| {
            let first = field * share + run.from * per_cell;
            packed.extend_from_slice(&values[first..first + run.length * per_cell]);
        });
        self.travel([fields, per_cell], &packed, |field, cell, new: &[T]| {
            let first = field * share + cell * per_cell;
            values[first..first + new.len()].copy_from_slice(new);
        })
    }

    /// What is sent, run by run, of each field by field.
    fn packed<T: Element>(
        &self,
        [fields, per_cell]: [usize; 2],
        pack: impl Fn(usize, &Run, &mut Vec<T>),
    ) -> Vec<T> {
        let mut packed = Vec::with_capacity(self.sent_count() * fields * per_cell);
        for run in &self.sent {
            (0..fields).for_each(|field| pack(field, run, &mut packed));
        }
        packed
    }

    /// Exchanges what is packed, and puts what comes where it belongs.
    fn travel<T: Element>(
        &self,
        [fields, per_cell]: [usize; 2],
        packed: &[T],
        mut put: impl FnMut(usize, usize, &[T]),
    ) -> Result<()> {
        let width = fields * per_cell;
        let mut arrived = vec![T::default(); self.exchange.received_count() * width];
        let (sent, received) = (bytes(packed), bytes_mut(&mut arrived));
        let width = width * size_of::<T>();
        self.exchange.run(width, sent, received, &mut nothing)?;
        let mut rest = arrived.as_slice();
        for run in &self.received {
            for field in 0..fields {
                let (values, more) = rest.split_at(run.length * per_cell);
                put(field, run.to, values);
                rest = more;
            }
        }
        Ok(())
    }

    /// Moves `per_cell` numbers a cell, in `fields` arrays that lie one behind the other, wherever they are. All ranks call it
    /// together.
    pub fn move_values<T: Scalar>(
        &self,
        shape: [usize; 2],
        from: &Buffer<T>,
        to: &mut Buffer<T>,
    ) -> Result<()> {
        let [here, there] = [from.len(), to.len()].map(|all| steps(CellOrder::Fields, shape, all));
        self.moved::<T, T, T>(shape, (from, here), (to, there), &Workspace::new())
    }

    /// Moves vectors, which may be in different precisions and orders; they travel in the narrower one. All ranks
    /// call it together.
    pub fn move_vector<F: Scalar, T: Scalar>(
        &self,
        unknowns: usize,
        (from, order): (&Vector<F>, CellOrder),
        (to, target): (&mut Vector<T>, CellOrder),
        ws: &Workspace,
    ) -> Result<()> {
        let shape = [unknowns, 1];
        let from = (&from.values, steps(order, shape, from.rows()));
        let rows = to.rows();
        let to = (&mut to.values, steps(target, shape, rows));
        match size_of::<T>() < size_of::<F>() {
            true => self.moved::<F, T, T>(shape, from, to, ws),
            false => self.moved::<F, F, T>(shape, from, to, ws),
        }
    }

    /// Moves numbers that are read in `F`, travel in `W` and are written in `T`.
    fn moved<F: Scalar, W: Scalar, T: Scalar>(
        &self,
        shape: [usize; 2],
        (from, here): (&Buffer<F>, CellSteps),
        (to, there): (&mut Buffer<T>, CellSteps),
        ws: &Workspace,
    ) -> Result<()> {
        let executor = to.executor().clone();
        if executor.is_device() {
            let sides = [(from.device()?, here), (to.device_mut()?, there)];
            return self.move_on_device::<F, W, T>(&executor, shape, sides, ws);
        }
        self.move_on_host::<F, W, T>(shape, (from.host()?, here), (to.host_mut()?, there))
    }

    /// Moves within one vector, which is unknown by unknown, wherever it is. All ranks call it together.
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
        let array = steps(CellOrder::Fields, shape, x.rows());
        let array = (x.device_mut()?, array);
        self.move_on_device::<T, T, T>(&executor, shape, [array; 2], ws)
    }

    fn move_on_host<F: Scalar, W: Scalar, T: Scalar>(
        &self,
        shape: [usize; 2],
        (from, here): (&[F], CellSteps),
        (to, there): (&mut [T], CellSteps),
    ) -> Result<()> {
        let [fields, width] = shape;
        for field in 0..fields {
            for run in &self.kept {
                let from = &from[field * here.field + run.from * here.cell..];
                let to = &mut to[field * there.field + run.to * there.cell..];
                convert_run([run.length, width], (from, here.cell), (to, there.cell));
            }
        }
        let packed = self.packed(shape, |field, run, packed: &mut Vec<W>| {
            let from = &from[field * here.field + run.from * here.cell..];
            let first = packed.len();
            packed.resize(first + run.length * width, W::default());
            let to = &mut packed[first..];
            convert_run([run.length, width], (from, here.cell), (to, width));
        });
        self.travel(shape, &packed, |field, cell, new: &[W]| {
            let to = &mut to[field * there.field + cell * there.cell..];
            convert_run([new.len() / width, width], (new, width), (to, there.cell));
        })
    }

    /// The same on a device.
    fn move_on_device<F: Scalar, W: Scalar, T: Scalar>(
        &self,
        device: &Executor,
        shape: [usize; 2],
        [from, to]: [(Address, CellSteps); 2],
        ws: &Workspace,
    ) -> Result<()> {
        let tables = self.tables.of(self, device);
        let array = |(address, steps)| CellSide {
            address,
            steps: Some(steps),
        };
        let message = |address| CellSide {
            address,
            steps: None,
        };
        let (from, to) = (array(from), array(to));
        let mut pack =
            |address| move_cells::<F, W>(device, &tables.sent, shape, [from, message(address)]);
        let mut keep = || move_cells::<F, T>(device, &tables.kept, shape, [from, to]);
        let width = shape[0] * shape[1];
        let mut arrived = self
            .exchange
            .run_on_device::<W>(device, width, &mut pack, ws, &mut keep)?;
        if arrived.rows() == 0 {
            return Ok(());
        }
        let sides = [message(arrived.device_mut()?), to];
        move_cells::<W, T>(device, &tables.received, shape, sides)
    }
}

/// Copies so many cells of `width` numbers, from one array to another; the next cell is so far away in each, which is the width
/// unless that is one.
#[inline]
fn convert_run<F: Scalar, T: Scalar>(
    [cells, width]: [usize; 2],
    (from, next): (&[F], usize),
    (to, next_to): (&mut [T], usize),
) {
    let numbers = cells * width;
    if next == width && next_to == width {
        return convert_slice(&from[..numbers], &mut to[..numbers]);
    }
    let pairs = to
        .iter_mut()
        .step_by(next_to)
        .zip(from.iter().step_by(next));
    for (to, from) in pairs.take(cells) {
        *to = convert(*from);
    }
}
