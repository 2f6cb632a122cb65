//! Cycles as solvers see them: vectors in the precision of the solver, cell by cell, not scaled.

use std::any::Any;
use std::marker::PhantomData;
use std::ops::Range;

use super::columns::by_column;
use super::cycle::VCycle;
use crate::backend::cpu::simd::multiversion;
use crate::backend::cpu::stencil::{Vectors, multiply};
use crate::backend::cpu::{Shared, stream};
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::{Footprint, LinOp, Size, check_apply};
use crate::scalar::{Mixes, Real, Scalar, convert};
use crate::vector::Vector;

/// Rows that are brought in or out at a time, at most.
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
            let scales = self.cycle.scales();
            let as_is = self.cycle.unknowns == 1 && scales.is_none();
            if let (true, Some((b, x))) = (as_is, same::<V, T>(b, x)) {
                return self.cycle.visit_first(b, x, None, ws).map(drop);
            }
            let mut right = ws.vector::<V>(executor, b.rows(), 1)?;
            let mut solution = ws.vector::<V>(executor, b.rows(), 1)?;
            let order = Order {
                executor,
                unknowns: self.cycle.unknowns,
                scales: scales.map(Vector::host).transpose()?,
            };
            order.enter(b.host()?, right.host_mut()?);
            let x = x.host_mut()?;
            let way_out = WayOut::new(order, x);
            let done = |cells: Range<usize>, fields: *const V| {
                // SAFETY: these are the numbers of the solution; nobody changes those of the cells any more.
                unsafe { way_out.bring(cells, fields) };
            };
            if !self
                .cycle
                .visit_first(&right, &mut solution, Some(&done), ws)?
            {
                way_out.bring_all(solution.host()?);
            }
            Ok(())
        })
    }

    fn footprint(&self) -> Footprint {
        self.cycle.footprint()
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

/// The ways between the order of rows and that of kernels.
#[derive(Clone, Copy)]
struct Order<'a, V> {
    executor: &'a Executor,
    unknowns: usize,
    /// Numbers by which to multiply on both ways.
    scales: Option<&'a [V]>,
}

impl<V: Vectors> Order<'_, V> {
    fn enter<T: Scalar>(&self, rows: &[T], fields: &mut [V]) {
        let (r, cells, bytes) = (
            self.unknowns,
            rows.len() / self.unknowns,
            size_of_val(fields),
        );
        let fields = Shared(fields.as_mut_ptr());
        self.for_blocks(size_of_val(rows), cells, &|block| {
            let mut part = [V::zero(); BLOCK];
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
        });
    }

    fn for_blocks(&self, bytes: usize, cells: usize, work: &(dyn Fn(Range<usize>) + Sync)) {
        let length = BLOCK / self.unknowns;
        let block = |number: usize| work(number * length..((number + 1) * length).min(cells));
        match self.executor {
            Executor::Cpu(threads) => threads.for_each(cells.div_ceil(length), bytes, &block),
            _ => (0..cells.div_ceil(length)).for_each(block),
        }
    }
}

/// The way of numbers of `V`, unknown by unknown, to rows of `T`.
struct WayOut<'a, V, T> {
    order: Order<'a, V>,
    rows: Shared<T>,
    length: usize,
}

impl<'a, V: Vectors, T: Scalar> WayOut<'a, V, T> {
    fn new(order: Order<'a, V>, rows: &'a mut [T]) -> Self {
        Self {
            order,
            length: rows.len(),
            rows: Shared(rows.as_mut_ptr()),
        }
    }

    fn bring_all(&self, fields: &[V]) {
        let (cells, bytes) = (self.length / self.order.unknowns, size_of_val(fields));
        assert!(fields.len() == self.length);
        self.order.for_blocks(bytes, cells, &|block| {
            // SAFETY: there is a number for every row; blocks do not overlap.
            unsafe { self.bring_block(block, fields.as_ptr()) };
        });
    }

    /// # Safety
    /// `fields` points to a number for every row; nobody writes those of the cells, or their rows.
    unsafe fn bring(&self, cells: Range<usize>, fields: *const V) {
        let length = BLOCK / self.order.unknowns;
        for start in cells.clone().step_by(length) {
            // SAFETY: the caller's.
            unsafe { self.bring_block(start..(start + length).min(cells.end), fields) };
        }
    }

    /// # Safety
    /// As for [`bring`](Self::bring); as many cells as a block has, at most.
    unsafe fn bring_block(&self, block: Range<usize>, fields: *const V) {
        let (r, cells) = (self.order.unknowns, self.length / self.order.unknowns);
        let (mut part, mut scaled) = ([T::default(); BLOCK], [V::zero(); BLOCK]);
        let part = &mut part[..block.len() * r];
        for unknown in 0..r {
            let first = unknown * cells + block.start;
            // SAFETY: the caller's.
            let mut field = unsafe { std::slice::from_raw_parts(fields.add(first), block.len()) };
            if let Some(scales) = self.order.scales {
                let scaled = &mut scaled[..field.len()];
                scaled.copy_from_slice(field);
                multiply(&scales[first..first + block.len()], scaled);
                field = scaled;
            }
            bring_out(field, r, &mut part[unknown..]);
        }
        let bytes = self.length * size_of::<T>();
        // SAFETY: the caller's.
        let rows = unsafe { self.rows.slice(block.start * r..block.end * r) };
        stream::copy(part, rows, bytes);
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
