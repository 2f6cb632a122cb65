//! Products of sparse matrices.
//!
//! Row `i` of `A B` is the sum of the rows `k` of `B` weighted with `a_ik` (Gustavson 1978). Each
//! row is gathered in an [`Accumulator`] and sorted at the end. Every thread has its own; its table
//! takes memory only where columns are met, and for matrices of meshes these lie close together.

use vcycle_kernels::compiled;

use super::accumulator::{Accumulator, Numbers, Positions, Values};
use super::build::{Arrays, Rows, Value, build, fill_rows_with, zeroed};
use super::factor::{Factor, Plain};
use crate::cut::balance;
use crate::linop::check_size;
use crate::operations::products;
use crate::prelude::*;

impl<T: Scalar> Csr<T> {
    /// `A B` with this matrix as `A`.
    ///
    /// Sums are formed in the arithmetic of `T`, in the order of `A`'s columns, so the result is
    /// the same for any number of threads. To form the product again with other values, keep a
    /// [`SpGemm`]; it gives the same bits.
    pub fn multiply(&self, b: &Self) -> Result<Self> {
        compiled!(any T: fn(&Csr<T>, &Csr<T>) -> Result<Csr<T>> = |a, b| {
            let size = check_product(&a.pattern, &b.pattern)?;
            match products::multiply(a, b)? {
                Some(product) => Ok(product),
                None => a.multiply_on_host(b, size),
            }
        })(self, b)
    }

    /// The same, which a device forms in [tiles](super::super::Mbsr) of 4 by 4, as AmgT does.
    pub fn multiply_in_tiles(&self, b: &Self) -> Result<Self> {
        if let Some(product) = products::multiply_in_tiles(self, b)? {
            return Ok(product);
        }
        self.multiply(b)
    }

    fn multiply_on_host(&self, b: &Self, size: Size) -> Result<Self> {
        let pieces = balance_products(&self.pattern, &b.pattern);
        let values = (Values(self.values()), Values(b.values()));
        let arrays = rows_of_product((&self.pattern, &b.pattern), &pieces, values, T::store)?;
        Ok(arrays.into_csr(self.executor(), size))
    }
}

/// A product `C = A B` whose pattern is known, for matrices whose values change.
#[derive(Clone, Debug)]
pub struct SpGemm {
    a: Arc<Pattern>,
    b: Arc<Pattern>,
    c: Arc<Pattern>,
    pieces: Vec<usize>,
}

impl SpGemm {
    /// Finds where the entries of `A B` stand.
    pub fn symbolic(a: &Arc<Pattern>, b: &Arc<Pattern>) -> Result<Self> {
        let size = check_product(a, b)?;
        let (c, pieces) = match products::product_pattern(a, b)? {
            Some(product) => (Arc::new(product), Vec::new()),
            None => {
                let (pieces, numbers) = (balance_products(a, b), (Positions, Positions));
                let arrays = rows_of_product((a, b), &pieces, numbers, |()| ())?;
                (arrays.into_pattern(a.executor(), size), pieces)
            }
        };
        let [a, b] = [a, b].map(Arc::clone);
        Ok(Self { a, b, c, pieces })
    }

    /// Where the entries of the product stand.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.c
    }

    /// `A B`.
    ///
    /// # Errors
    /// When the patterns are not those of the symbolic phase.
    pub fn numeric<T: Scalar>(&self, a: &Csr<T>, b: &Csr<T>) -> Result<Csr<T>> {
        check_pattern("left factor", &self.a, a.pattern())?;
        check_pattern("right factor", &self.b, b.pattern())?;
        let patterns = (&*self.a, &*self.b);
        if let Some(values) = products::product_values(patterns, (a, b), &self.c)? {
            return Ok(Csr::of_buffers(&self.c, values));
        }
        let mut values = zeroed(self.c.executor(), self.c.nonzeros())?;
        let left = Values(a.values());
        let right = Plain::new(&self.b, Values(b.values()));
        fill_rows_with(
            self.c.executor(),
            self.c.offsets(),
            &self.pieces,
            &mut values,
            Accumulator::<T::Arith>::default,
            |sums, row, out| {
                sums.follow(&self.c, row)?;
                sums.multiply_row((&self.a, left), row, &right);
                for (out, &sum) in out.iter_mut().zip(sums.entries().1) {
                    *out = T::store(sum);
                }
                Ok(())
            },
        )?;
        Csr::with_pattern(&self.c, values)
    }
}

/// The size of `A B`.
pub fn check_product(a: &Pattern, b: &Pattern) -> Result<Size> {
    let fitting = Size::new(a.size().cols, b.size().cols);
    check_size("product of matrices", fitting, b.size())?;
    a.executor()
        .check_same(b.executor(), "product of matrices")?;
    Ok(Size::new(a.size().rows, b.size().cols))
}

pub(super) fn check_pattern(which: &str, expected: &Pattern, found: &Pattern) -> Result<()> {
    if expected.same_as(found) {
        return Ok(());
    }
    let reason = format!("the {which} has not the pattern of the symbolic product");
    Err(Error::structure("csr", reason))
}

/// Bounds of row ranges of `A B` with about equal numbers of multiplications, if the rows of `B` are about
/// equal.
pub(super) fn balance_products(a: &Pattern, b: &Pattern) -> Vec<usize> {
    let mean = b.nonzeros().div_ceil(b.size().rows.max(1)).max(1);
    let offsets = a.offsets();
    balance(a.size().rows, |row| {
        offsets[row].saturating_mul(mean).saturating_add(row)
    })
}

/// The most entries that a row has.
pub(super) fn longest_row(pattern: &Pattern) -> usize {
    let offsets = pattern.offsets();
    let longest = |rows: std::ops::Range<usize>| {
        rows.fold(0, |most, row| most.max(offsets[row + 1] - offsets[row]))
    };
    let ranges = super::build::ranges(pattern.pieces());
    let parts = pattern
        .executor()
        .run(size_of_val(offsets), ranges, longest);
    parts.into_iter().max().unwrap_or(0)
}

/// The rows of `A B`, each sum turned into an entry by `finish`.
fn rows_of_product<V: Value, W: Value>(
    (a, b): (&Pattern, &Pattern),
    pieces: &[usize],
    (left, right): (impl Numbers<V>, impl Numbers<V>),
    finish: impl Fn(V) -> W + Sync + Send,
) -> Result<Arrays<W>> {
    let (executor, longest) = (a.executor(), longest_row(b));
    let right = Plain::new(b, right);
    let row_of = |sums: &mut Accumulator<V>, row: usize, rows: &mut Rows<W>| {
        let most = a.range(row).len().saturating_mul(longest);
        sums.start(executor, b.size().cols, most)?;
        sums.multiply_row((a, left), row, &right);
        let (columns, sum) = sums.sorted();
        rows.append_by(executor, columns, |column| finish(sum(column)))
    };
    let bytes = a.bytes() + b.bytes();
    build(executor, pieces, bytes, Accumulator::default, row_of)
}

impl<V: Value> Accumulator<V> {
    /// Starts a row whose entries are, in this order, those of a row of `pattern`, all zero.
    pub(super) fn follow(&mut self, pattern: &Pattern, row: usize) -> Result<()> {
        let columns = &pattern.columns()[pattern.range(row)];
        self.start(pattern.executor(), pattern.size().cols, columns.len())?;
        columns.iter().for_each(|&column| _ = self.sum(column));
        Ok(())
    }

    /// Adds row `row` of `A B`.
    #[inline(always)]
    pub(super) fn multiply_row(
        &mut self,
        (a, left): (&Pattern, impl Numbers<V>),
        row: usize,
        b: &impl Factor<V>,
    ) {
        let inner = a.columns();
        for at in a.range(row) {
            let (columns, right) = b.row(inner[at] as usize);
            self.add_row(columns, right, left.at(at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{
        assert_close, assert_same, dense, dense_product, grid, of_rows, random,
    };
    use super::*;
    use crate::matrix::Duplicates;

    #[test]
    fn products_agree_with_dense_ones() {
        let host = Executor::reference();
        for (m, n, k) in [(0, 0, 0), (1, 1, 1), (3, 0, 2), (6, 9, 4), (40, 30, 50)] {
            let a = random::<c64>(&host, m, n, 0.4, 1);
            let b = random::<c64>(&host, n, k, 0.4, 2);
            let c = a.multiply(&b).unwrap();
            assert_eq!(c.size(), Size::new(m, k));
            assert_close(&dense(&c), &dense_product(&dense(&a), &dense(&b), k));
        }
    }

    #[test]
    fn values_of_a_known_pattern_equal_fresh_ones() {
        let mut a = grid::<f64>(&Executor::reference(), 20);
        let product = SpGemm::symbolic(a.pattern(), a.pattern()).unwrap();
        assert_same(&product.numeric(&a, &a).unwrap(), &a.multiply(&a).unwrap());
        for (place, value) in a.values_mut().iter_mut().enumerate() {
            *value = 1.0 / (place as f64 + 1.0);
        }
        assert_same(&product.numeric(&a, &a).unwrap(), &a.multiply(&a).unwrap());
    }

    #[test]
    fn half_precision_sums_in_single() {
        let host = Executor::reference();
        let row: Csr<f16> = of_rows(&host, Size::new(1, 4096), Duplicates::Refuse, |_| {
            (0..4096).map(|column| (column, 1.0)).collect()
        });
        let c = row.multiply(&row.transpose().unwrap()).unwrap();
        // In half precision the sum would stop at 2048.
        assert_eq!(c.values(), [f16::from_f32(4096.0)]);
    }

    #[test]
    fn other_patterns_are_refused() {
        let host = Executor::reference();
        let a = grid::<f64>(&host, 3);
        let product = SpGemm::symbolic(a.pattern(), a.pattern()).unwrap();
        let other = Csr::identity(&host, 9);
        assert_refused!(product.numeric(&a, &other), InvalidStructure { .. });
        assert_refused!(a.multiply(&Csr::identity(&host, 8)), SizeMismatch { .. });
    }
}
