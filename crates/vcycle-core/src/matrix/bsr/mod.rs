//! Block sparse rows (BSR): sparse rows of dense blocks.

mod product;

use super::rowwise::{self, RowKernel, Rowwise, Shape, check_padding, rowwise_operator};
use super::{Rows, balance, build, fill_rows, zeroed};
use crate::cpu::formats::BsrArrays;
use crate::linop::LinOp;
use crate::operations::rows::Part;
use crate::prelude::*;
use crate::reference::rows::{Column, Sum};

/// Rows and columns of the largest blocks.
const LARGEST: usize = 64;

/// A matrix of small dense blocks, all of one size, stored block row after block row (BSR).
///
/// Of a block only one column index is stored, and a product reads it once. Entries of a block
/// that the matrix does not have are stored as zeros.
///
/// **Choose it** for several unknowns a node that are all coupled, as in elasticity.
///
/// ```
/// use vcycle::{executor::Executor, gallery, linop::Size, matrix::Bsr};
/// let a = gallery::build("elasticity:3x2x2", &Executor::cpu())?.matrix;
/// let blocks = Bsr::from_csr(&a, Size::square(3))?;
/// assert_eq!(9 * blocks.pattern().nonzeros(), a.nonzeros());
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Bsr<T> {
    pattern: Arc<Pattern>,
    block: Size,
    /// Block after block, each row by row.
    values: Buffer<T>,
    pieces: Vec<usize>,
}

rowwise_operator!(Bsr);

impl<T: Scalar> Bsr<T> {
    /// The same matrix, from CSR, in blocks of the given size.
    ///
    /// # Errors
    /// For a matrix that is not made of whole blocks, and when blocks would be nearly
    /// [empty](Error::TooMuchPadding).
    pub fn from_csr(a: &Csr<T>, block: Size) -> Result<Self> {
        check_blocks(a.size(), block)?;
        let entries = block.rows * block.cols;
        let pattern = blocks_of(a, block)?;
        let slots = pattern.nonzeros().saturating_mul(entries);
        check_padding("bsr", slots, a.nonzeros())?;
        let mut values = zeroed(a.executor(), slots)?;
        let offsets = value_offsets(&pattern, entries);
        fill_rows(a.executor(), &offsets, &mut values, |node, out| {
            fill_blocks(a, &pattern, block, node, out);
        });
        Ok(Self::new(pattern, block, values))
    }

    fn new(pattern: Arc<Pattern>, block: Size, values: Vec<T>) -> Self {
        let pieces = pattern.pieces().iter().map(|row| row * block.rows);
        Self {
            pieces: pieces.collect(),
            values: Buffer::from_vec(pattern.executor(), values),
            pattern,
            block,
        }
    }

    /// [`to_csr`](Self::to_csr), where memory may be short.
    #[doc(hidden)]
    pub fn rows(&self) -> Result<Csr<T>> {
        rowwise::to_csr(self)
    }

    /// Where the blocks stand.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// Rows and columns of a block.
    pub fn block(&self) -> Size {
        self.block
    }

    fn arrays(&self) -> BsrArrays<'_, T> {
        BsrArrays {
            offsets: self.pattern.offsets(),
            columns: self.pattern.columns(),
            values: self.values.host().expect("matrix on a host executor"),
            block: (self.block.rows, self.block.cols),
        }
    }
}

/// Fails unless a matrix of that size is made of whole blocks.
fn check_blocks(size: Size, block: Size) -> Result<()> {
    let whole = |all: usize, part: usize| part > 0 && all.is_multiple_of(part);
    let small = block.rows.max(block.cols) <= LARGEST;
    match small && whole(size.rows, block.rows) && whole(size.cols, block.cols) {
        true => Ok(()),
        false => Err(Error::InvalidStructure {
            format: "bsr",
            reason: format!("a matrix of {size} is not made of small blocks of {block}"),
        }),
    }
}

/// The matrix in square blocks of so many rows, as an operator: a device that has kernels for such blocks multiplies with the
/// matrix itself.
pub(super) fn in_blocks<M, W>(a: &Arc<Csr<M>>, rows: usize) -> Result<Arc<dyn LinOp<W>>>
where
    M: Mixes<W, W>,
    W: Scalar,
{
    let block = Size::square(rows);
    if a.executor().is_device() {
        check_blocks(a.size(), block)?;
        // A thread has the registers for three rows of six.
        let strip = Size::new(if rows == 6 { 3 } else { rows }, rows);
        let there = a.on_device_in(Some(strip))?;
        if there.device_block()?.is_some() {
            return Ok(Arc::new(there));
        }
    }
    Ok(Arc::new(Bsr::from_csr(a, block)?))
}

/// For every block row the place of its first value.
fn value_offsets(pattern: &Pattern, entries: usize) -> Vec<usize> {
    let offsets = pattern.offsets().iter();
    offsets.map(|offset| offset * entries).collect()
}

/// Where `a` has blocks, the last of which may reach beyond it.
pub(super) fn blocks_of<T: Scalar>(a: &Csr<T>, block: Size) -> Result<Arc<Pattern>> {
    let executor = a.executor();
    let (rows, cols) = (a.size().rows, a.size().cols);
    let size = Size::new(rows.div_ceil(block.rows), cols.div_ceil(block.cols));
    let fill = |found: &mut Vec<u32>, node: usize, out: &mut Rows<()>| {
        found.clear();
        for row in node * block.rows..rows.min((node + 1) * block.rows) {
            let columns = a.row(row).0.iter().map(|column| column / block.cols as u32);
            // Rows of a block are mostly alike: then one of them is enough.
            let mut known = 0;
            for column in columns {
                while known < found.len() && found[known] < column {
                    known += 1;
                }
                if found.get(known) != Some(&column) {
                    found.insert(known, column);
                }
            }
        }
        out.reserve(executor, found.len())?;
        found.iter().for_each(|&column| out.push(column, ()));
        Ok(())
    };
    let before = |node: usize| a.offsets()[rows.min(node * block.rows)] + node;
    let bounds = balance(size.rows, before);
    let arrays = build(executor, &bounds, a.bytes(), Vec::new, fill)?;
    Ok(arrays.into_pattern(executor, size))
}

/// Writes the blocks of a block row.
fn fill_blocks<T: Scalar>(a: &Csr<T>, pattern: &Pattern, block: Size, node: usize, out: &mut [T]) {
    let places = &pattern.columns()[pattern.range(node)];
    for part in 0..block.rows {
        let (columns, values) = a.row(node * block.rows + part);
        let mut place = 0;
        for (&column, &value) in columns.iter().zip(values) {
            let (outer, inner) = (column / block.cols as u32, column % block.cols as u32);
            while places[place] != outer {
                place += 1;
            }
            out[(place * block.rows + part) * block.cols + inner as usize] = value;
        }
    }
}

impl<T: Scalar> Rowwise<T> for Bsr<T> {
    fn shape(&self) -> Shape<'_> {
        let (nodes, block) = (self.pattern.size(), self.block);
        Shape {
            name: "bsr product",
            size: Size::new(nodes.rows * block.rows, nodes.cols * block.cols),
            executor: self.values.executor(),
            nonzeros: self.values.len(),
            bytes: self.pattern.bytes() + self.values.bytes(),
            pieces: &self.pieces,
            rows_together: block.rows,
            keeps_zeros: false,
        }
    }

    fn take_row(&self, row: usize, columns: &mut Vec<u32>, values: &mut Vec<T>) {
        for (column, block) in self.arrays().row(row) {
            columns.extend((column as u32..).take(block.len()));
            values.extend_from_slice(block);
        }
    }

    fn parts(&self) -> Result<Vec<Part<'_, T>>> {
        Ok(vec![Part::Blocks {
            size: self.size(),
            block: self.block,
            pattern: &self.pattern,
            values: &self.values,
        }])
    }
}

impl<T: Scalar> RowKernel<T> for Bsr<T> {
    fn add<X: Scalar, Y: Scalar>(&self, first: usize, sums: &mut [Sum<T, X, Y>], x: Column<'_, X>)
    where
        T: Mixes<X, Y>,
    {
        self.arrays().add::<X, Y>(first, sums, x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::csr::testing::nodes;
    use crate::simd::testing::at_every_level;

    #[test]
    fn blocks_are_filled_and_zeros_left_out_again() {
        let host = Executor::reference();
        let a = Csr::diagonal_matrix(&host, vec![1.0, 2.0, 3.0, 4.0]);
        let blocks = Bsr::from_csr(&a, Size::square(2)).unwrap();
        assert_eq!((blocks.pattern().nonzeros(), blocks.nonzeros()), (2, 8));
        assert_eq!(blocks.to_csr().values(), a.values());
        assert_eq!(blocks.to_csr().columns(), a.columns());
        assert_eq!(blocks.rows().unwrap().columns(), a.columns());
    }

    #[test]
    fn what_is_not_made_of_blocks_is_refused() {
        let a = Csr::<f64>::identity(&Executor::reference(), 4);
        let large = Size::square(LARGEST + 1);
        for block in [Size::square(3), Size::new(2, 0), Size::new(4, 3), large] {
            let error = Bsr::from_csr(&a, block).unwrap_err();
            assert!(matches!(error, Error::InvalidStructure { .. }));
        }
    }

    fn product<M: Mixes<f32, f32>>(a: &Csr<f64>, executor: &Executor, size: usize) -> Vec<f32> {
        let n = a.size().rows;
        let blocks = Bsr::from_csr(&a.convert::<M>().unwrap(), Size::square(size)).unwrap();
        let x = (0..n).map(|i| (i % 17) as f32 - 8.0).collect();
        let mut y = Vector::<f32>::zeros(executor, n, 1).unwrap();
        let x = Vector::<f32>::from_column(executor, x);
        blocks.apply(&x, &mut y, &Workspace::new()).unwrap();
        y.to_vec()
    }

    #[test]
    fn every_instruction_set_agrees_with_the_reference() {
        let serial = Executor::cpu_with_threads(1).unwrap();
        let on = |executor: &Executor| nodes(executor, [4, 4, 3]);
        type Multiply = fn(&Csr<f64>, &Executor, usize) -> Vec<f32>;
        let check = |product: Multiply, size| {
            let host = Executor::reference();
            let expected = product(&on(&host), &host, size);
            at_every_level(|level| {
                let found = product(&on(&serial), &serial, size);
                for (found, expected) in found.iter().zip(&expected) {
                    assert!(
                        (found - expected).abs() < 1e-4,
                        "{level:?}: {found} {expected}"
                    );
                }
            });
        };
        for size in [2, 3, 4, 6] {
            check(product::<f64>, size);
            check(product::<f32>, size);
            check(product::<f16>, size);
        }
    }
}
