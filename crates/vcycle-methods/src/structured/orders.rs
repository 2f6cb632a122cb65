//! Vectors of a solver on the host, in its own precision, ordered cell by cell and not scaled, become those of a cycle, and
//! back: converted, scaled and put into the order of kernels in one pass.

use std::ops::Range;

use crate::cpu::stencil::{Vectors, multiply};
use crate::cpu::{Shared, stream};
use crate::executor::Executor;
use crate::multiversion;
use crate::scalar::{Real, Scalar, convert};

/// Numbers that are brought in or out at a time, and rows that one task brings, at most.
const BLOCK: usize = 1024;
const TASK: usize = 64 * 1024;

/// Conversions between the order of rows and that of kernels.
pub(super) struct Orders<'a, V> {
    pub(super) executor: &'a Executor,
    pub(super) unknowns: usize,
    /// Numbers by which to multiply in both directions.
    pub(super) scales: Option<&'a [V]>,
}

impl<V: Vectors> Orders<'_, V> {
    pub(super) fn enter<T: Scalar>(&self, rows: &[T], fields: &mut [V]) {
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

    pub(super) fn leave<T: Scalar>(&self, fields: &[V], rows: &mut [T]) {
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
