//! Products of block matrices, and their transposes.

use super::{Bsr, value_offsets};
use crate::matrix::csr::fill_rows_with;
use crate::matrix::{SpGemm, zeroed};
use crate::prelude::*;

impl Bsr<f64> {
    /// `A B`, in blocks with the rows of those of `A` and the columns of those of `B`.
    ///
    /// What is looked up is blocks: for several unknowns a node this is many times faster than the
    /// product of matrices stored row by row.
    pub fn multiply(&self, b: &Self) -> Result<Self> {
        if self.block.cols != b.block.rows {
            return Err(Error::SizeMismatch {
                operation: "product of blocks",
                expected: Size::new(self.block.cols, b.block.cols),
                found: b.block,
            });
        }
        let pattern = Arc::clone(SpGemm::symbolic(&self.pattern, &b.pattern)?.pattern());
        let block = Size::new(self.block.rows, b.block.cols);
        let entries = block.rows * block.cols;
        let mut values = zeroed(pattern.executor(), pattern.nonzeros() * entries)?;
        let shape = (self.block.cols, block.cols);
        let multiply = small_product(block.rows, shape.0, shape.1);
        fill_rows_with(
            pattern.executor(),
            &value_offsets(&pattern, entries),
            pattern.pieces(),
            &mut values,
            || vec![0_u32; pattern.size().cols],
            |places, node, out| {
                let columns = &pattern.columns()[pattern.range(node)];
                for (place, &column) in (0..).zip(columns) {
                    places[column as usize] = place;
                }
                self.each_product(b, node, |left, column, right| {
                    let place = places[column as usize] as usize * entries;
                    multiply(shape, left, right, &mut out[place..place + entries]);
                });
                Ok(())
            },
        )?;
        Ok(Self::new(pattern, block, values))
    }

    /// The blocks that a block row of `A B` is made of: that of `A`, the column, that of `B`.
    fn each_product<'m>(
        &'m self,
        b: &'m Self,
        node: usize,
        mut visit: impl FnMut(&'m [f64], u32, &'m [f64]),
    ) {
        let (left, right) = (self.arrays(), b.arrays());
        let (size, other) = (left.block.0 * left.block.1, right.block.0 * right.block.1);
        for place in self.pattern.range(node) {
            let mine = &left.values[place * size..(place + 1) * size];
            for place in b.pattern.range(left.columns[place] as usize) {
                let values = &right.values[place * other..(place + 1) * other];
                visit(mine, right.columns[place], values);
            }
        }
    }

    /// The transpose.
    pub fn transpose(&self) -> Result<Self> {
        // The transpose of the places shows where the blocks go.
        let places = Csr::from_places(&self.pattern, |_, place| place as f64)?.transpose()?;
        let (rows, cols) = (self.block.rows, self.block.cols);
        let (entries, pattern) = (rows * cols, places.pattern());
        let mut values = zeroed(pattern.executor(), pattern.nonzeros() * entries)?;
        let from = self.arrays().values;
        fill_rows_with(
            pattern.executor(),
            &value_offsets(pattern, entries),
            pattern.pieces(),
            &mut values,
            || (),
            |(), node, out| {
                let places = places.row(node).1;
                for (block, &place) in out.chunks_exact_mut(entries.max(1)).zip(places) {
                    let from = &from[place as usize * entries..][..entries];
                    for (to, value) in block.iter_mut().enumerate() {
                        *value = from[to % rows * cols + to / rows];
                    }
                }
                Ok(())
            },
        )?;
        Ok(Self::new(
            Arc::clone(pattern),
            Size::new(cols, rows),
            values,
        ))
    }
}

/// Adds the product of two blocks, the first with `shape.0` columns and the second with `shape.1`,
/// to a third.
type SmallProduct = fn(shape: (usize, usize), a: &[f64], b: &[f64], c: &mut [f64]);

/// The product of blocks of `rows x inner` and `inner x cols`.
fn small_product(rows: usize, inner: usize, cols: usize) -> SmallProduct {
    match (rows, inner, cols) {
        (2, 2, 2) => sized_product::<2, 2, 2>,
        (2, 2, 3) => sized_product::<2, 2, 3>,
        (3, 2, 3) => sized_product::<3, 2, 3>,
        (3, 3, 3) => sized_product::<3, 3, 3>,
        (3, 3, 6) => sized_product::<3, 3, 6>,
        (6, 3, 6) => sized_product::<6, 3, 6>,
        (6, 6, 6) => sized_product::<6, 6, 6>,
        _ => any_product,
    }
}

fn sized_product<const ROWS: usize, const INNER: usize, const COLS: usize>(
    _shape: (usize, usize),
    a: &[f64],
    b: &[f64],
    c: &mut [f64],
) {
    // Constant lengths let the compiler unroll all three loops.
    let (a, b, c) = (
        &a[..ROWS * INNER],
        &b[..INNER * COLS],
        &mut c[..ROWS * COLS],
    );
    for row in 0..ROWS {
        let mut sums: [f64; COLS] = std::array::from_fn(|col| c[row * COLS + col]);
        for k in 0..INNER {
            let factor = a[row * INNER + k];
            for col in 0..COLS {
                sums[col] += factor * b[k * COLS + col];
            }
        }
        c[row * COLS..(row + 1) * COLS].copy_from_slice(&sums);
    }
}

fn any_product((inner, cols): (usize, usize), a: &[f64], b: &[f64], c: &mut [f64]) {
    for (a, c) in a.chunks_exact(inner).zip(c.chunks_exact_mut(cols)) {
        for (factor, b) in a.iter().zip(b.chunks_exact(cols)) {
            c.iter_mut().zip(b).for_each(|(c, b)| *c += factor * b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Duplicates;
    use crate::matrix::csr::testing::{nodes, of_rows};

    /// A matrix without any order, `rows` by `cols`, about a fifth full.
    fn scattered(executor: &Executor, rows: usize, cols: usize, seed: usize) -> Csr<f64> {
        let mut count = 0;
        of_rows(executor, Size::new(rows, cols), Duplicates::Refuse, |row| {
            let there = |&col: &usize| (row * 7919 + col * 104_729 + seed * 31) % 97 < 20;
            let entries = (0..cols).filter(there).map(|col| {
                count += 1;
                (col, ((count - 1) % 11) as f64 - 5.0)
            });
            entries.collect()
        })
    }

    fn assert_equal(found: &Csr<f64>, expected: &Csr<f64>) {
        let nonzero = |a: &Csr<f64>| a.filter(|_, _, value| value != 0.0).unwrap();
        let (found, expected) = (nonzero(found), nonzero(expected));
        assert_eq!(found.columns(), expected.columns());
        assert_eq!(found.values(), expected.values());
    }

    #[test]
    fn products_and_transposes_are_those_of_rows() {
        for executor in [
            Executor::reference(),
            Executor::cpu_with_threads(3).unwrap(),
        ] {
            for (rows, inner, cols) in [(3, 3, 6), (6, 3, 6), (2, 2, 3), (1, 4, 2), (5, 3, 1)] {
                let a = scattered(&executor, 20 * rows, 30 * inner, 1);
                let b = scattered(&executor, 30 * inner, 10 * cols, 2);
                let left = Bsr::from_csr(&a, Size::new(rows, inner)).unwrap();
                let right = Bsr::from_csr(&b, Size::new(inner, cols)).unwrap();
                let product = left.multiply(&right).unwrap();
                assert_equal(&product.to_csr(), &a.multiply(&b).unwrap());
                let back = right.transpose().unwrap().to_csr();
                assert_equal(&back, &b.transpose().unwrap());
                assert!(left.multiply(&left).is_err() || rows == inner);
            }
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let square = |threads: usize| {
            let cpu = Executor::cpu_with_threads(threads).unwrap();
            let a = nodes(&cpu, [20, 10, 10]);
            let a = Bsr::from_csr(&a, Size::square(3)).unwrap();
            a.multiply(&a).unwrap().to_csr().values().to_vec()
        };
        assert!(square(1) == square(3));
    }
}
