//! The entry into the cycle: vectors of a solver are ordered cell by cell and not scaled.

use std::any::Any;
use std::marker::PhantomData;
use std::ops::Range;

use super::columns::by_column;
use super::fields::as_fields;
use crate::cpu::stencil::{Vectors, multiply};
use crate::cpu::{Shared, stream};
use crate::linop::check_apply;
use crate::multiversion;
use crate::prelude::*;
use crate::reference::stencil::Start;
use crate::scalar::convert;

/// A cycle in the unknowns of a level, for vectors of `T` as solvers have them; on a device these are of `V`.
#[derive(Debug)]
pub(super) struct Entrance<V: Vectors, T> {
    cycle: Arc<dyn LinOp<V>>,
    unknowns: usize,
    /// Scales of the level: vectors are multiplied by them on entry and on return.
    scales: Option<Arc<Vector<V>>>,
    outside: PhantomData<fn(T) -> T>,
}

impl<V: Vectors + Mixes<V, V>, T: Scalar> Entrance<V, T> {
    pub(super) fn new(
        cycle: Arc<dyn LinOp<V>>,
        unknowns: usize,
        scales: Option<Arc<Vector<V>>>,
    ) -> Self {
        Self {
            cycle,
            unknowns,
            scales,
            outside: PhantomData,
        }
    }

    /// The cycle for vectors that are unknown by unknown, but not scaled.
    fn of_fields(&self, b: &Vector<V>, x: &mut Vector<V>, ws: &Workspace) -> Result<()> {
        let Some(scales) = &self.scales else {
            return self.cycle.apply(b, x, ws);
        };
        let mut right = ws.vector_like::<V, V>(b)?;
        let mut solution = ws.vector_like::<V, V>(x)?;
        right.scale_rows(scales, false, b)?;
        self.cycle.apply(&right, &mut solution, ws)?;
        x.scale_rows(scales, false, &solution)
    }

    /// The cycle for vectors of the host.
    fn on_host(&self, b: &Vector<T>, x: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        let executor = self.cycle.executor();
        let mut right = ws.vector::<V>(executor, b.rows(), 1)?;
        let mut solution = ws.vector::<V>(executor, b.rows(), 1)?;
        let order = Orders {
            executor,
            unknowns: self.unknowns,
            scales: self.scales.as_deref().map(Vector::host).transpose()?,
        };
        order.enter(b.host()?, right.host_mut()?);
        self.cycle.apply(&right, &mut solution, ws)?;
        order.leave(solution.host()?, x.host_mut()?);
        Ok(())
    }
}

impl<V: Vectors + Mixes<V, V>, T: Scalar> LinOp<T> for Entrance<V, T> {
    forward!(cycle: size, executor, footprint);

    fn apply(&self, b: &Vector<T>, x: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        let executor = self.cycle.executor();
        check_apply("struct-mg", self.cycle.size(), executor, b, x)?;
        let as_is = self.unknowns == 1 && self.scales.is_none();
        by_column(b, x, ws, |b, x| {
            if (as_is || executor.is_device())
                && let Some((b, x)) = same::<V, T>(b, x)
            {
                return as_fields(self.unknowns, b, (x, Start::Zero), ws, |b, x| {
                    self.of_fields(b, x, ws)
                });
            }
            self.on_host(b, x, ws)
        })
    }

    fn label(&self) -> &'static str {
        "struct-mg"
    }
}

/// Vectors of `T` as those of `V`, if that is what they are.
fn same<'a, V: Scalar, T: Scalar>(
    b: &'a Vector<T>,
    x: &'a mut Vector<T>,
) -> Option<(&'a Vector<V>, &'a mut Vector<V>)> {
    let (b, x): (&dyn Any, &mut dyn Any) = (b, x);
    Some((b.downcast_ref()?, x.downcast_mut()?))
}

/// Numbers that are brought in or out at a time, and rows that one task brings, at most.
const BLOCK: usize = 1024;
const TASK: usize = 64 * 1024;

/// Conversions between the order of rows and that of kernels, on the host: converted, scaled and put into order in one pass.
struct Orders<'a, V> {
    executor: &'a Executor,
    unknowns: usize,
    /// Numbers by which to multiply in both directions.
    scales: Option<&'a [V]>,
}

impl<V: Vectors> Orders<'_, V> {
    fn enter<T: Scalar>(&self, rows: &[T], fields: &mut [V]) {
        let (r, cells, bytes) = (
            self.unknowns,
            rows.len() / self.unknowns,
            size_of_val(fields),
        );
        let fields = Shared(fields.as_mut_ptr());
        self.for_tasks(size_of_val(rows), cells, &|task| {
            let mut part = [V::zero(); BLOCK];
            for block in blocks(task, BLOCK) {
                let part = &mut part[..block.len()];
                for unknown in 0..r {
                    let place = unknown * cells + block.start..unknown * cells + block.end;
                    bring_in(&rows[block.start * r + unknown..block.end * r], r, part);
                    if let Some(scales) = self.scales {
                        multiply(&scales[place.clone()], part);
                    }
                    // SAFETY: blocks do not overlap.
                    stream::copy(part, unsafe { fields.slice(place) }, bytes);
                }
            }
            stream::finish();
        });
    }

    fn leave<T: Scalar>(&self, fields: &[V], rows: &mut [T]) {
        let (r, cells, bytes) = (self.unknowns, rows.len() / self.unknowns, size_of_val(rows));
        let rows = Shared(rows.as_mut_ptr());
        self.for_tasks(size_of_val(fields), cells, &|task| {
            let (mut part, mut scaled) = ([T::default(); BLOCK], [V::zero(); BLOCK]);
            for block in blocks(task, BLOCK / r) {
                let part = &mut part[..block.len() * r];
                for unknown in 0..r {
                    let place = unknown * cells + block.start..unknown * cells + block.end;
                    let field = self.scaled(&fields[place.clone()], place, &mut scaled);
                    bring_out(field, r, &mut part[unknown..]);
                }
                // SAFETY: blocks do not overlap.
                let rows = unsafe { rows.slice(block.start * r..block.end * r) };
                stream::copy(part, rows, bytes);
            }
            stream::finish();
        });
    }

    /// The numbers at a place, as they are outside.
    fn scaled<'f>(&self, field: &'f [V], place: Range<usize>, scaled: &'f mut [V]) -> &'f [V] {
        let Some(scales) = self.scales else {
            return field;
        };
        let scaled = &mut scaled[..field.len()];
        scaled.copy_from_slice(field);
        multiply(&scales[place], scaled);
        scaled
    }

    fn for_tasks(&self, bytes: usize, cells: usize, work: &(dyn Fn(Range<usize>) + Sync)) {
        let length = TASK / self.unknowns;
        let task = |number: usize| work(number * length..((number + 1) * length).min(cells));
        self.executor.for_each(cells.div_ceil(length), bytes, &task);
    }
}

/// A range, some at a time.
fn blocks(range: Range<usize>, length: usize) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range
        .step_by(length)
        .map(move |start| start..(start + length).min(end))
}

multiversion! {
    /// Every `step`th row.
    fn bring_in[T: Scalar, V: Real](rows: &[T], step: usize, field: &mut [V]) {
        match step {
            1 => field.iter_mut().zip(rows).for_each(|(to, from)| *to = convert(*from)),
            _ => field
                .iter_mut()
                .zip(rows.iter().step_by(step))
                .for_each(|(to, from)| *to = convert(*from)),
        }
    }
}

multiversion! {
    /// To every `step`th row.
    fn bring_out[T: Scalar, V: Real](field: &[V], step: usize, rows: &mut [T]) {
        match step {
            1 => rows.iter_mut().zip(field).for_each(|(to, from)| *to = convert(*from)),
            _ => rows
                .iter_mut()
                .step_by(step)
                .zip(field)
                .for_each(|(to, from)| *to = convert(*from)),
        }
    }
}
