//! Diagonal blocks of the matrix, inverted.

use std::fmt::{Debug, Formatter};
use std::ops::Range;

use num_traits::Zero;

use super::{bad_pivot, example, square_entries};
use crate::dense;
use crate::linop::{Sum, check_apply};
use crate::matrix::fill_rows;
use crate::operations::blocks::{self as operations, DeviceBlocks};
use crate::prelude::*;
use crate::reference::blocks::{BlockArrays, LARGEST, Place, Precision, widen};
use crate::registration::preconditioner;
use crate::scalar::convert;

/// A stored inverse may be wrong by this much, relative to itself: one digit is right.
const ACCURACY: f64 = 0.1;
/// Rows in one piece of work.
const ROWS_PER_PIECE: usize = 1024;

preconditioner! {
    /// `M = B^-1` with the blocks `B` on the diagonal of the matrix, inverted explicitly.
    ///
    /// Blocks are consecutive rows, at most `block_size` of them. Rows with the same pattern (the
    /// unknowns of one node, say) stay together as long as they fit.
    ///
    /// With `adaptive` every inverse is stored in the narrowest of the matrix's precision, `f32` and
    /// `f16` whose rounding, times the condition number of the block, leaves one digit right (Anzt,
    /// Dongarra, Flegar, Higham and Quintana-Ortí 2019; Flegar et al. 2021). Arithmetic stays in the
    /// matrix's precision.
    ///
    /// **Choose it** for systems with several unknowns a node, or wherever
    /// [`Jacobi`](super::Jacobi) is not enough and triangular solves are too slow. It is symmetric
    /// positive definite where the matrix is.
    ///
    #[doc = example!("BlockJacobi", "Cg", "poisson5:16", 60)]
    pub struct BlockJacobi {
        /// Rows of the largest block, 1 to 32.
        pub block_size: usize = 8,
        /// Whether each block chooses its storage precision.
        pub adaptive: bool = false,
        /// The damping; as a smoother it needs some (2/3 for Poisson problems).
        pub weight: f64 = 1.0,
    }
    name: "block-jacobi", summary: "Blocks on the diagonal.", after_colon: &["block-size"],
    needs: &[Entries], support: Support::own_rows(&[]), symmetry: Symmetric,
    memory: Memory::per(0, 0);
    more memory: |own, _| Memory::per(0, 8 * own.block_size);
}

impl<T: Mixes<T, T>> Factory<T> for BlockJacobi {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("block-jacobi set-up", 0);
        if !(1..=LARGEST).contains(&self.block_size) {
            return Err(Error::bad_parameter(
                "block-size",
                format!("must be 1 to {LARGEST}, not {}", self.block_size),
            ));
        }
        let entries = square_entries(a.as_ref(), "block-jacobi")?;
        let blocks = Blocks::new(&entries, self)?;
        if self.weight == 1.0 {
            return Ok(Arc::new(blocks));
        }
        let weight = T::Arith::from_f64(self.weight);
        Ok(Arc::new(Sum::scaled(weight, Arc::new(blocks))))
    }
}

/// First rows of the blocks, and at the end the number of rows: rows of equal pattern first, then
/// as many such groups as fit.
fn find_blocks(pattern: &Pattern, block_size: usize) -> Vec<usize> {
    let rows = pattern.size().rows;
    let columns = |row: usize| &pattern.columns()[pattern.range(row)];
    let mut starts = vec![0];
    let mut begin = 0;
    while begin < rows {
        let limit = rows.min(begin + block_size);
        let same = |&row: &usize| columns(row) == columns(begin);
        let end = begin + 1 + (begin + 1..limit).take_while(same).count();
        if end - starts[starts.len() - 1] > block_size {
            starts.push(begin);
        }
        begin = end;
    }
    starts.extend((rows > 0).then_some(rows));
    starts
}

/// The inverted blocks as an operator.
struct Blocks<T> {
    executor: Executor,
    rows: usize,
    stored: Stored<T>,
}

/// Where the blocks are.
enum Stored<T> {
    Host(HostBlocks<T>),
    Device(Box<DeviceBlocks<T>>),
}

impl<T: Scalar> Blocks<T> {
    fn new(a: &Csr<T>, parameters: &BlockJacobi) -> Result<Self> {
        let (size, adaptive) = (parameters.block_size, parameters.adaptive);
        let stored = match operations::inverted(a, size, adaptive)? {
            Some(blocks) => {
                let singular = |row| bad_pivot("block-jacobi", row, SINGULAR);
                Stored::Device(Box::new(blocks.map_err(singular)?))
            }
            None => {
                let mut blocks = HostBlocks::new(find_blocks(a.pattern(), size));
                blocks.fill(a, adaptive)?;
                Stored::Host(blocks)
            }
        };
        Ok(Self {
            executor: a.executor().clone(),
            rows: a.size().rows,
            stored,
        })
    }

    fn apply_blocks(
        &self,
        transpose: Option<Transpose>,
        x: &Vector<T>,
        y: &mut Vector<T>,
    ) -> Result<()> {
        let size = Size::square(self.rows);
        check_apply("block-jacobi", size, &self.executor, x, y)?;
        let blocks = match &self.stored {
            Stored::Host(blocks) => operations::Blocks::Host(blocks.arrays(), &blocks.pieces),
            Stored::Device(blocks) => operations::Blocks::Device(blocks),
        };
        operations::apply(blocks, transpose, x, y)
    }

    /// Blocks in full, single and half precision.
    fn counts(&self) -> [usize; 3] {
        match &self.stored {
            Stored::Device(blocks) => blocks.counts,
            Stored::Host(blocks) => {
                let count = |precision| {
                    let places = blocks.places.iter();
                    places.filter(|place| place.precision == precision).count()
                };
                [Precision::Full, Precision::Single, Precision::Half].map(count)
            }
        }
    }
}

/// Inverted blocks in memory of the host.
#[derive(Default)]
struct HostBlocks<T> {
    starts: Vec<usize>,
    /// First rows of blocks, about [`ROWS_PER_PIECE`] apart.
    pieces: Vec<usize>,
    places: Vec<Place>,
    full: Vec<T>,
    single: Vec<f32>,
    half: Vec<f16>,
}

impl<T: Scalar> HostBlocks<T> {
    fn new(starts: Vec<usize>) -> Self {
        let rows = starts[starts.len() - 1];
        let mut pieces = vec![0];
        for &start in &starts {
            if start - pieces[pieces.len() - 1] >= ROWS_PER_PIECE {
                pieces.push(start);
            }
        }
        if pieces.len() == 1 || pieces[pieces.len() - 1] != rows {
            pieces.push(rows);
        }
        Self {
            starts,
            pieces,
            ..Self::default()
        }
    }

    /// Inverts the blocks of `a` and stores them.
    fn fill(&mut self, a: &Csr<T>, adaptive: bool) -> Result<()> {
        let blocks = self.starts.windows(2).map(|ends| ends[0]..ends[1]);
        let blocks: Vec<Range<usize>> = blocks.collect();
        let (offsets, inverses) = inverses(a, &blocks);
        for (block, rows) in blocks.into_iter().enumerate() {
            let inverse = &inverses[offsets[block]..offsets[block + 1]];
            if !inverse.iter().all(|&v| T::store(v).load().is_finite()) {
                return Err(bad_pivot("block-jacobi", rows.start, SINGULAR));
            }
            let precision = match adaptive {
                true => choose(a, rows, inverse),
                false => Precision::Full,
            };
            self.push(precision, inverse);
        }
        Ok(())
    }

    fn push(&mut self, precision: Precision, inverse: &[T::Arith]) {
        let offset = match precision {
            Precision::Full => {
                let values = inverse.iter().map(|&value| T::store(value));
                extended(&mut self.full, |full| full.extend(values))
            }
            Precision::Single => extended(&mut self.single, |single| narrow(inverse, single)),
            Precision::Half => extended(&mut self.half, |half| narrow(inverse, half)),
        };
        self.places.push(Place { precision, offset });
    }

    fn arrays(&self) -> BlockArrays<'_, T> {
        BlockArrays {
            starts: &self.starts,
            places: &self.places,
            full: &self.full,
            single: &self.single,
            half: &self.half,
        }
    }

    fn bytes(&self) -> usize {
        let values = size_of_val(&self.full[..]) + size_of_val(&self.single[..]);
        let places = size_of_val(&self.starts[..]) + size_of_val(&self.places[..]);
        values + size_of_val(&self.half[..]) + places
    }
}

const SINGULAR: &str = "zero: the block that begins there is singular";

/// The blocks inverted, each column by column and by its offset; NaN where a block is singular.
fn inverses<T: Scalar>(a: &Csr<T>, blocks: &[Range<usize>]) -> (Vec<usize>, Vec<T::Arith>) {
    let mut offsets = vec![0];
    for (block, rows) in blocks.iter().enumerate() {
        offsets.push(offsets[block] + rows.len().pow(2));
    }
    let mut values = vec![T::Arith::zero(); offsets[blocks.len()]];
    fill_rows(a.executor(), &offsets, &mut values, |block, values| {
        let rows = blocks[block].clone();
        match dense::invert(rows.len(), &mut gather(a, rows)) {
            Some(inverse) => values.copy_from_slice(&inverse),
            None => values.fill(T::Arith::from_f64(f64::NAN)),
        }
    });
    (offsets, values)
}

/// Lets a list grow; where that began.
fn extended<V>(list: &mut Vec<V>, extend: impl FnOnce(&mut Vec<V>)) -> usize {
    let offset = list.len();
    extend(list);
    offset
}

/// The block of the rows and columns `range`, column by column.
fn gather<T: Scalar>(a: &Csr<T>, range: Range<usize>) -> Vec<T::Arith> {
    let n = range.len();
    let mut block = vec![T::Arith::zero(); n * n];
    for row in range.clone() {
        let (columns, values) = a.row(row);
        for (&column, value) in columns.iter().zip(values) {
            if range.contains(&(column as usize)) {
                block[(column as usize - range.start) * n + row - range.start] = value.load();
            }
        }
    }
    block
}

/// The narrowest precision that stores the inverse of the block of `rows` well enough.
fn choose<T: Scalar>(a: &Csr<T>, rows: Range<usize>, inverse: &[T::Arith]) -> Precision {
    let n = rows.len();
    let norm = dense::norm_1(n, &gather(a, rows));
    let parts = if T::KIND.is_complex() { 2 } else { 1 };
    let bytes = T::KIND.bytes() / parts;
    let size = dense::norm_1(n, inverse);
    let fits = |unit: f64, error: f64| norm * size * unit.max(error / size) < ACCURACY;
    if bytes > 2 && fits(2f64.powi(-11), storage_error::<f16, _>(n, inverse)) {
        Precision::Half
    } else if bytes > 4 && fits(2f64.powi(-24), storage_error::<f32, _>(n, inverse)) {
        Precision::Single
    } else {
        Precision::Full
    }
}

/// The norm of what storing in `S` changes; infinite on overflow, and underflow counts in full.
fn storage_error<S: Scalar, A: Field>(n: usize, inverse: &[A]) -> f64 {
    let mut stored: Vec<S> = Vec::with_capacity(2 * inverse.len());
    narrow(inverse, &mut stored);
    let changes = inverse.iter().enumerate();
    let changes: Vec<A> = changes
        .map(|(index, &value)| value - widen::<S, A>(&stored, 0, index))
        .collect();
    dense::norm_1(n, &changes)
}

/// Appends the values in a narrower real type; complex values as pairs.
fn narrow<S: Scalar, A: Field>(values: &[A], out: &mut Vec<S>) {
    for value in values {
        let value = value.to_c64();
        out.push(convert(value.re));
        if A::KIND.is_complex() {
            out.push(convert(value.im));
        }
    }
}

impl<T: Scalar> Debug for Blocks<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let [full, single, half] = self.counts();
        let kind = T::KIND;
        write!(
            f,
            "block-jacobi: {full} blocks in {kind}, {single} in f32, {half} in f16"
        )
    }
}

impl<T: Scalar> LinOp<T> for Blocks<T> {
    fn size(&self) -> Size {
        Size::square(self.rows)
    }

    fn executor(&self) -> &Executor {
        &self.executor
    }

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>, _ws: &Workspace) -> Result<()> {
        self.apply_blocks(None, x, y)
    }

    fn apply_transposed(
        &self,
        mode: Transpose,
        x: &Vector<T>,
        y: &mut Vector<T>,
        _ws: &Workspace,
    ) -> Result<()> {
        self.apply_blocks(Some(mode), x, y)
    }

    fn footprint(&self) -> Footprint {
        let moved = match &self.stored {
            Stored::Host(blocks) => blocks.bytes(),
            Stored::Device(blocks) => blocks.bytes(),
        };
        Footprint { held: moved, moved }
    }
}

#[cfg(test)]
mod tests;
