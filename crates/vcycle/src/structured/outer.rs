//! Cycles as solvers see them: vectors in the precision of the solver, cell by cell, not scaled.

use std::marker::PhantomData;
use std::ops::Range;

use super::columns::by_column;
use super::cycle::VCycle;
use crate::backend::cpu::Shared;
use crate::backend::cpu::simd::multiversion;
use crate::backend::cpu::stencil::{Vectors, multiply};
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::{Footprint, LinOp, Size, check_apply};
use crate::scalar::{Mixes, Real, Scalar, convert};
use crate::vector::Vector;

/// Cells that are brought in or out at a time.
const BLOCK: usize = 2048;

/// A cycle on vectors of `T` of the host. They are converted, scaled and put into the order of kernels in
/// one pass.
#[derive(Debug)]
pub(super) struct Outer<V: Vectors, T> {
    cycle: VCycle<V>,
    outside: PhantomData<fn(T) -> T>,
}

impl<V: Vectors, T> Outer<V, T> {
    pub(super) fn new(cycle: VCycle<V>) -> Self {
        Self {
            cycle,
            outside: PhantomData,
        }
    }
}

impl<V: Vectors + Mixes<V, V>, T: Scalar> LinOp<T> for Outer<V, T> {
    fn size(&self) -> Size {
        self.cycle.size()
    }

    fn executor(&self) -> &Executor {
        self.cycle.executor()
    }

    fn apply(&self, b: &Vector<T>, x: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        let executor = self.cycle.executor();
        check_apply("struct-mg", self.cycle.size(), executor, b, x)?;
        by_column(b, x, ws, |b, x| {
            let mut right = ws.vector::<V>(executor, b.rows(), 1)?;
            let mut solution = ws.vector::<V>(executor, b.rows(), 1)?;
            let order = Order {
                executor,
                unknowns: self.cycle.unknowns,
                scales: self.cycle.scales().map(Vector::host).transpose()?,
            };
            order.enter(b.host()?, right.host_mut()?);
            self.cycle.visit_first(&right, &mut solution, ws)?;
            order.leave(solution.host()?, x.host_mut()?);
            Ok(())
        })
    }

    fn footprint(&self) -> Footprint {
        self.cycle.footprint()
    }
}

/// The ways between the order of rows and that of kernels.
struct Order<'a, V> {
    executor: &'a Executor,
    unknowns: usize,
    /// Numbers by which to multiply on both ways.
    scales: Option<&'a [V]>,
}

impl<V: Vectors> Order<'_, V> {
    fn enter<T: Scalar>(&self, rows: &[T], fields: &mut [V]) {
        let (r, cells) = (self.unknowns, rows.len() / self.unknowns);
        let fields = Shared(fields.as_mut_ptr());
        self.for_blocks(size_of_val(rows), cells, &|block| {
            for unknown in 0..r {
                let place = unknown * cells + block.start..unknown * cells + block.end;
                // SAFETY: blocks do not overlap.
                let field = unsafe { fields.slice(place.clone()) };
                bring_in(&rows[block.start * r + unknown..block.end * r], r, field);
                if let Some(scales) = self.scales {
                    multiply(&scales[place], field);
                }
            }
        });
    }

    fn leave<T: Scalar>(&self, fields: &[V], rows: &mut [T]) {
        let (r, cells, bytes) = (self.unknowns, rows.len() / self.unknowns, size_of_val(rows));
        let rows = Shared(rows.as_mut_ptr());
        self.for_blocks(bytes, cells, &|block| {
            // SAFETY: blocks do not overlap.
            let rows = unsafe { rows.slice(block.start * r..block.end * r) };
            let mut scaled = [V::zero(); BLOCK];
            for unknown in 0..r {
                let place = unknown * cells + block.start..unknown * cells + block.end;
                let mut field = &fields[place.clone()];
                if let Some(scales) = self.scales {
                    let scaled = &mut scaled[..field.len()];
                    scaled.copy_from_slice(field);
                    multiply(&scales[place], scaled);
                    field = scaled;
                }
                bring_out(field, r, &mut rows[unknown..]);
            }
        });
    }

    fn for_blocks(&self, bytes: usize, cells: usize, work: &(dyn Fn(Range<usize>) + Sync)) {
        let block = |number: usize| work(number * BLOCK..((number + 1) * BLOCK).min(cells));
        match self.executor {
            Executor::Cpu(threads) => threads.for_each(cells.div_ceil(BLOCK), bytes, &block),
            _ => (0..cells.div_ceil(BLOCK)).for_each(block),
        }
    }
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
