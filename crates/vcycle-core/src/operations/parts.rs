//! Rows that a rank has of a matrix on its device: own columns lie between those of other ranks.

use std::ops::Range;

use vcycle_kernels::compiled_fn;

use super::on_device;
use crate::gpu::{kernels::parts as kernels, word};
use crate::launch::prelude::*;
use crate::scalar::Element;

/// Other numbers for columns: own ones begin elsewhere, the others are looked up.
#[derive(Clone, Debug)]
pub(crate) struct Renumbering {
    /// The own columns as they are.
    pub own: Range<usize>,
    /// Where they begin then.
    pub to: usize,
    /// The numbers of the others.
    pub others: Vec<u32>,
}

impl Renumbering {
    /// The new number of a column.
    #[inline]
    pub fn number(&self, column: u32) -> u32 {
        let column = column as usize;
        match column.checked_sub(self.own.start) {
            None => self.others[column],
            Some(own) if own < self.own.len() => (self.to + own) as u32,
            Some(_) => self.others[column - self.own.len()],
        }
    }
}

/// Where entries in own columns stand, and those in other columns.
#[derive(Debug)]
pub(crate) struct SplitPattern {
    pub own: Pattern,
    /// Rows with entries in other columns, where these begin, and which of the others they are.
    pub rows: Buffer<u32>,
    pub offsets: Buffer<usize>,
    pub columns: Buffer<u32>,
}

fn of_own(own: &Range<usize>) -> (usize, usize) {
    (own.start, own.len())
}

/// For each of the other columns whether it has entries.
pub(crate) fn others_marked(
    pattern: &Pattern,
    own: &Range<usize>,
    others: usize,
) -> Result<Option<Buffer<u32>>> {
    on_device(pattern.executor(), |queue| {
        let (entries, mut marks) = (pattern.nonzeros(), queue.zeros(others)?);
        kernels::part_marks(entries, pattern.buffers().1, of_own(own), &mut marks)?
            .items(&queue, entries)?;
        Ok(marks)
    })
}

/// The values at some places behind the first ones, one after the other.
pub(crate) fn packed<T: Element>(
    from: &Buffer<T>,
    first: usize,
    places: &Buffer<u32>,
) -> Result<Option<Buffer<T>>> {
    on_device(from.executor(), |queue| {
        let mut packed = queue.uninit::<T>(places.len())?;
        let (from, to) = (from.pointer()?.bits(), packed.pointer_mut()?.bits());
        kernels::part_pack(places.len(), places, from, first, to)?
            .with(&[word::<T>()])
            .items(&queue, places.len())?;
        Ok(packed)
    })
}

/// Copies a run of values to a place; nothing happens on a host.
pub(crate) fn copied<T: Element>(
    from: &Buffer<T>,
    run: Range<usize>,
    to: &mut Buffer<T>,
    at: usize,
) -> Result<()> {
    let Some(queue) = Queue::of(from.executor()) else {
        return Ok(());
    };
    let (from, to) = (from.pointer()?.bits(), to.pointer_mut()?.bits());
    kernels::part_copy(run.len(), from, run.start, to, at)?
        .with(&[word::<T>()])
        .items(&queue, run.len())
}

/// A pattern of `cols` columns with other numbers.
pub(crate) fn renumbered(
    pattern: &Pattern,
    by: &Renumbering,
    cols: usize,
) -> Result<Option<Arc<Pattern>>> {
    on_device(pattern.executor(), |queue| {
        let (offsets, columns) = pattern.buffers();
        let (entries, mut out) = (columns.len(), queue.uninit(columns.len())?);
        let others = Buffer::from_vec(queue.executor, by.others.clone());
        kernels::part_renumber(entries, columns, of_own(&by.own), by.to, &others, &mut out)?
            .items(&queue, entries)?;
        let size = Size::new(pattern.size().rows, cols);
        Ok(Arc::new(Pattern::of_buffers(size, offsets.clone(), out)))
    })
}

compiled_fn! {
    /// Some consecutive rows.
    pub(crate) fn row_range[any T: Scalar](a: &Csr<T>, rows: Range<usize>) -> Result<Option<Csr<T>>> {
        all_stacked(&[(a, rows)])
    }
}

compiled_fn! {
    /// All rows of three matrices of equally many columns, one after the other.
    pub(crate) fn stacked[any T: Scalar](first: &Csr<T>, second: &Csr<T>, last: &Csr<T>) -> Result<Option<Csr<T>>> {
        all_stacked(&[first, second, last].map(|part| (part, 0..part.size().rows)))
    }
}

/// Consecutive rows of several matrices of equally many columns, one after the other.
fn all_stacked<T: Scalar>(parts: &[(&Csr<T>, Range<usize>)]) -> Result<Option<Csr<T>>> {
    let queue = queue_of!(parts[parts.len() / 2].0.executor());
    let entries = |&(a, ref rows): &(&Csr<T>, Range<usize>)| {
        let (offsets, last) = (a.pattern().buffers().0, a.size().rows);
        let end = |row: usize| match row {
            0 => Ok(0),
            row if row == last => Ok(a.nonzeros()),
            row => offsets.get(row),
        };
        Ok(end(rows.start)?..end(rows.end)?)
    };
    let entries: Vec<Range<usize>> = parts.iter().map(entries).collect::<Result<_>>()?;
    let rows = parts.iter().map(|part| part.1.len()).sum();
    let all = entries.iter().map(Range::len).sum();
    let mut out = queue.rows_at(queue.uninit(rows + 1)?, all)?;
    let (mut at, mut entry) = (0, 0);
    for ((a, rows), entries) in parts.iter().zip(entries) {
        let (from_offsets, from_columns) = a.pattern().buffers();
        let (count, first, start) = (rows.len(), rows.start, entries.start);
        kernels::part_offsets(
            count,
            from_offsets,
            first,
            start,
            &mut out.offsets,
            at,
            entry,
        )?
        .items(&queue, count + 1)?;
        copied(from_columns, entries.clone(), &mut out.columns, entry)?;
        copied(a.values_buffer(), entries.clone(), &mut out.values, entry)?;
        (at, entry) = (at + rows.len(), entry + entries.len());
    }
    let size = Size::new(rows, parts.first().map_or(0, |part| part.0.size().cols));
    Ok(Some(out.matrix(size)))
}

compiled_fn! {
    /// Rows that are those of three matrices of a size beside each other.
    pub(crate) fn beside[any T: Scalar](a: &Csr<T>, b: &Csr<T>, c: &Csr<T>) -> Result<Option<Csr<T>>> {
        let queue = queue_of!(b.executor());
        let rows = a.size().rows;
        let [begin, middle, end] = [a, b, c].map(|of| of.pattern().buffers().0);
        let mut offsets = queue.uninit::<usize>(rows + 1)?;
        kernels::part_beside(rows, begin, middle, end, &mut offsets)?.items(&queue, rows + 1)?;
        let mut out = queue.rows_at(offsets, a.nonzeros() + b.nonzeros() + c.nonzeros())?;
        let places = [(None, None), (Some(begin), None), (Some(begin), Some(middle))];
        for (of, (before, second)) in [a, b, c].into_iter().zip(places) {
            let values = of.values_buffer().pointer()?.bits();
            kernels::part_place(rows, of.pattern(), values, before, second, out.bits()?)?
                .with(&[word::<T>()])
                .items(&queue, rows)?;
        }
        Ok(Some(out.matrix(a.size())))
    }
}

compiled_fn! {
    /// Rows in any order.
    pub(crate) fn taken[any T: Scalar](a: &Csr<T>, rows: Vec<u32>) -> Result<Option<Csr<T>>> {
        let queue = queue_of!(a.executor());
        let (count, list) = (rows.len(), Buffer::from_vec(queue.executor, rows));
        let mut lengths = queue.uninit::<u32>(count)?;
        kernels::part_lengths(count, a.pattern().buffers().0, &list, &mut lengths)?
            .items(&queue, count)?;
        let mut out = queue.new_rows(&lengths)?;
        let values = a.values_buffer().pointer()?.bits();
        kernels::part_take(count, a.pattern(), values, &list, out.bits()?)?
            .with(&[word::<T>()])
            .items(&queue, count)?;
        Ok(Some(out.matrix(Size::new(count, a.size().cols))))
    }
}

/// The entries of a pattern in own columns, and those in others, for vectors on an executor of the same device.
pub(crate) fn split(
    a: &Pattern,
    own: &Range<usize>,
    executor: &Executor,
) -> Result<Option<SplitPattern>> {
    let Some(queue) = Queue::of(executor).filter(|_| a.executor().is_device()) else {
        return Ok(None);
    };
    let rows = a.size().rows;
    let (mut counts, mut flags) = (queue.uninit(rows)?, queue.uninit(rows)?);
    kernels::part_counts(rows, a, of_own(own), &mut counts, &mut flags)?.items(&queue, rows)?;
    let (own_offsets, entries) = queue.offsets(&counts)?;
    let (listed, count) = queue.offsets(&flags)?;
    let (mut own_columns, mut list) = (queue.uninit(entries)?, queue.uninit(count)?);
    let mut columns = queue.uninit(a.nonzeros() - entries)?;
    let mut offsets = queue.zeros::<usize>(count + 1)?;
    kernels::part_columns(
        rows,
        a,
        of_own(own),
        &own_offsets,
        &listed,
        &mut own_columns,
        &mut list,
        &mut offsets,
        &mut columns,
    )?
    .items(&queue, rows)?;
    let size = Size::new(rows, own.len());
    Ok(Some(SplitPattern {
        own: Pattern::of_buffers(size, own_offsets, own_columns),
        rows: list,
        offsets,
        columns,
    }))
}

compiled_fn! {
    /// The values in own columns, and those in others.
    pub(crate) fn split_values[any T: Scalar](
        a: &Csr<T>,
        own: &Range<usize>,
        split: &Pattern,
    ) -> Result<Option<[Buffer<T>; 2]>> {
        let Some(queue) = Queue::of(split.executor()).filter(|_| a.executor().is_device()) else {
            return Ok(None);
        };
        let (rows, entries) = (a.size().rows, split.nonzeros());
        let mut inside = queue.uninit::<T>(entries)?;
        let mut outside = queue.uninit::<T>(a.nonzeros() - entries)?;
        kernels::part_values(
            rows,
            a.pattern(),
            of_own(own),
            split.buffers().0,
            a.values_buffer().pointer()?.bits(),
            inside.pointer_mut()?.bits(),
            outside.pointer_mut()?.bits(),
        )?
        .with(&[word::<T>()])
        .items(&queue, rows)?;
        Ok(Some([inside, outside]))
    }
}
