//! `R A P` for groups: a `P` with one entry a row.

use crate::gpu::{Null, flag, kernels::grouped as kernels};
use crate::launch::groups::TEAM_BLOCK;
use crate::launch::prelude::*;

/// Most entries of a class of rows, as in `kernels/grouped.c`, and the threads that share a row.
const CLASSES: [(usize, usize); 6] = [
    (16, 1),
    (32, 1),
    (64, 1),
    (128, 32),
    (256, 32),
    (1024, TEAM_BLOCK as usize),
];
/// The first class that most matrices have few rows of.
const LONG: usize = 4;
/// Columns that leave room for the place of an entry beside them in a word.
const MOST_COLUMNS: usize = 1 << 26;
/// Entries that are joined for a row, in the mean, up to which this is faster than tables.
const MEAN: usize = 56;

/// What the product is made of.
pub(crate) struct Grouped<'g, T> {
    pub queue: Queue<'g>,
    pub r: &'g Csr<T>,
    pub a: &'g Csr<T>,
    pub p: &'g Csr<T>,
}

/// The rows of the product by the entries that are joined for them.
#[derive(Clone, Debug)]
pub(crate) struct Classes {
    lists: Buffer<u32>,
    /// Rows of every class, those too long and empty ones, and in two words the entries.
    counts: Buffer<u32>,
}

/// What `RESULTS` of the kernels stands for: lengths, or offsets, columns and values.
type Results<T> = (Write<u32>, Read<u64>, Write<u32>, Write<T>);

impl<T: Scalar> Grouped<'_, T> {
    /// The product; none if there are rows or columns too many for this.
    pub(super) fn product(&self) -> Result<Option<Csr<T>>> {
        let (queue, rows) = (self.queue, self.r.size().rows);
        if !self.serves() {
            return Ok(None);
        }
        let mut classes = self.classify()?;
        let mut lengths = queue.uninit::<u32>(rows)?;
        self.make(None, &classes, (&mut lengths, Null, Null, Null).pass()?)?;
        let total = classes.counts.pointer_mut()?.at(CLASSES.len() + 2);
        let offsets = queue.scan(&lengths, total.cast::<u64>())?;
        let found = classes.counts.host()?;
        let [too_long, empty, low, high] = found[CLASSES.len()..] else {
            unreachable!("as many as asked for");
        };
        if too_long > 0 {
            return Ok(None);
        }
        let entries = (u64::from(high) << 32 | u64::from(low)) as usize;
        let mut made = queue.rows_at::<T>(offsets, entries)?;
        let (offsets, columns, values) = (&mut made).pass()?;
        self.make(
            Some(found),
            &classes,
            (Write::default(), offsets, columns, values),
        )?;
        let product = made.matrix(Size::new(rows, self.p.size().cols));
        product.pattern().note_empty_rows(empty > 0);
        Ok(Some(product))
    }

    /// The classes, for [`renewed`](Self::renewed); none if there are rows or columns too many.
    pub(crate) fn classes(&self) -> Result<Option<Classes>> {
        if !self.serves() {
            return Ok(None);
        }
        let classes = self.classify()?;
        let too_long = classes.counts.get(CLASSES.len())?;
        Ok((too_long == 0).then_some(classes))
    }

    /// The values of a product whose pattern is known.
    pub(crate) fn renewed(&self, classes: &Classes, product: &Pattern) -> Result<Buffer<T>> {
        let mut values = self.queue.uninit::<T>(product.nonzeros())?;
        let out = (Null, product.buffers().0, Null, &mut values);
        self.make(Some(classes.counts.host()?), classes, out.pass()?)?;
        Ok(values)
    }

    fn serves(&self) -> bool {
        let rows = self.r.size().rows;
        !T::KIND.is_complex()
            && self.p.size().cols < MOST_COLUMNS
            && self.a.nonzeros() <= MEAN * rows
    }

    fn classify(&self) -> Result<Classes> {
        let (queue, rows) = (self.queue, self.r.size().rows);
        let mut lists = queue.uninit::<u32>(CLASSES.len() * rows)?;
        let mut counts = queue.zeros::<u32>(CLASSES.len() + 4)?;
        let (r, offsets) = (self.r.pattern(), self.a.pattern().buffers().0);
        kernels::grouped_classes(rows, r, offsets, &mut lists, &mut counts)?
            .with(&[("T", T::NAME)])
            .items(&queue, rows)?;
        Ok(Classes { lists, counts })
    }

    /// Makes the rows of all classes, of which there are so many, or counts their entries, without
    /// waiting for how many rows these are.
    fn make(&self, counts: Option<&[u32]>, classes: &Classes, out: Results<T>) -> Result<()> {
        let rows = self.r.size().rows;
        let unless_ones = |of: &Csr<T>| match of.has_ones() {
            true => Ok(Read::default()),
            false => of.values_buffer().pointer(),
        };
        let values = (
            unless_ones(self.r)?,
            self.a.values_buffer().pointer()?,
            unless_ones(self.p)?,
        );
        let (offsets, columns) = self.a.pattern().buffers();
        let factors = (offsets, columns, self.p.pattern().buffers().1);
        let (lists, sizes) = (classes.lists.pointer()?, classes.counts.pointer()?);
        for (class, &(size, threads)) in CLASSES.iter().enumerate() {
            let (listed, given) = (lists.at(class * rows), sizes.at(class));
            // Few rows are as long as the last classes: where there are more, teams have several.
            let items = match counts {
                Some(counts) => counts[class] as usize * threads,
                None => rows * if class < LONG { threads } else { 1 },
            };
            let (alone, shared) = if threads == 1 { (size, 0) } else { (0, size) };
            let r = self.r.pattern();
            kernels::grouped_rows(listed, given, r, factors, values, out)?
                .with(&[
                    ("COUNTING", flag(counts.is_none())),
                    ("ALONE", literal(alone)),
                    ("THREADS", literal(threads)),
                    ("SIZE", literal(shared)),
                    ("SLOTS", literal(shared)),
                ])
                .items(&self.queue, items)?;
        }
        Ok(())
    }
}
