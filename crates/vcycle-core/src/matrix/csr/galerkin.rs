//! The triple product of multigrid.
//!
//! Row `I` of `R A P` is made in one pass: row `I` of `R A` in one [`Accumulator`], its product with
//! `P` in another. Neither `R A` nor `A P` is ever stored, which for matrices of meshes are larger
//! than the result.

use vcycle_kernels::{compiled, compiled_fn};

use super::SpGemm;
use super::accumulator::{Accumulator, Numbers, Positions, Values};
use super::build::{Arrays, Rows, Value, build, fill_rows_with, zeroed};
use super::factor::{Factor, Plain, Stacked};
use super::spgemm::{balance_products, check_pattern, check_product, longest_row};
use crate::operations::products;
use crate::prelude::*;

/// The Galerkin product `R A P` with its symbolic phase kept, for matrices whose values change.
///
/// [`galerkin`] is the product alone.
///
/// ```
/// use vcycle::{executor::Executor, linop::Size, matrix::{Csr, Duplicates, Galerkin}};
/// let cpu = Executor::cpu();
/// let mut a = Csr::diagonal_matrix(&cpu, vec![1.0, 2.0]);
/// let p = Csr::from_arrays(&cpu, Size::new(2, 1), vec![0, 1, 2], vec![0, 0], vec![1.0; 2],
///                          Duplicates::Refuse)?;
/// let r = p.transpose()?;
/// let product = Galerkin::symbolic(&r, &a, &p)?;
/// assert_eq!(product.numeric(&r, &a, &p)?.values(), [3.0]);
/// a.values_mut()[0] = 5.0;
/// assert_eq!(product.numeric(&r, &a, &p)?.values(), [7.0]);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Galerkin {
    r: Arc<Pattern>,
    a: Arc<Pattern>,
    p: Arc<Pattern>,
    coarse: Arc<Pattern>,
    pieces: Vec<usize>,
    /// Both products, on a device: `A P` is stored there unless `P` has one entry a row.
    device: Option<Box<[SpGemm; 2]>>,
    /// The rows by their sizes, for a `P` on a device that has one entry a row; none if that does not
    /// serve.
    kept: products::Kept,
}

impl Galerkin {
    /// Finds where the entries of `R A P` stand.
    pub fn symbolic<T: Scalar>(r: &Csr<T>, a: &Csr<T>, p: &Csr<T>) -> Result<Self> {
        let (r, a, p) = (r.pattern(), a.pattern(), p.pattern());
        let size = check(r, a, p)?;
        if let Some(single) = products::has_single_entries(p)? {
            return Self::on_device(single, r, a, p);
        }
        let pieces = balance_products(r, a);
        let right = (Plain::new(a, Positions), Plain::new(p, Positions));
        let extent = Extent::of(r, [a], [p]);
        let arrays = rows_of_product((r, Positions), right, &extent, &pieces, |()| ())?;
        let coarse = arrays.into_pattern(r.executor(), size);
        Ok(Self::new([r, a, p, &coarse], pieces, None))
    }

    fn new(
        patterns: [&Arc<Pattern>; 4],
        pieces: Vec<usize>,
        device: Option<Box<[SpGemm; 2]>>,
    ) -> Self {
        let [r, a, p, coarse] = patterns.map(Arc::clone);
        Self {
            r,
            a,
            p,
            coarse,
            pieces,
            device,
            kept: products::Kept::default(),
        }
    }

    fn on_device(
        single: bool,
        r: &Arc<Pattern>,
        a: &Arc<Pattern>,
        p: &Arc<Pattern>,
    ) -> Result<Self> {
        let fused = match single {
            true => products::fused_pattern(r, a, p)?,
            false => None,
        };
        let (coarse, device) = match fused {
            Some(coarse) => (Arc::new(coarse), None),
            None => {
                let right = SpGemm::symbolic(a, p)?;
                let left = SpGemm::symbolic(r, right.pattern())?;
                (Arc::clone(left.pattern()), Some(Box::new([left, right])))
            }
        };
        Ok(Self::new([r, a, p, &coarse], Vec::new(), device))
    }

    /// `R A P`.
    ///
    /// # Errors
    /// When the patterns are not those of the symbolic phase.
    pub fn numeric<T: Scalar>(&self, r: &Csr<T>, a: &Csr<T>, p: &Csr<T>) -> Result<Csr<T>> {
        compiled!(working T: fn(&Galerkin, &Csr<T>, &Csr<T>, &Csr<T>) -> Result<Csr<T>> = Galerkin::values)(
            self, r, a, p,
        )
    }

    fn values<T: Scalar>(&self, r: &Csr<T>, a: &Csr<T>, p: &Csr<T>) -> Result<Csr<T>> {
        if let Some(products) = &self.device {
            let [left, right] = &**products;
            return left.numeric(r, &right.numeric(a, p)?);
        }
        self.check_factors(r, a, p)?;
        let patterns = (&*self.r, &*self.a, &*self.p);
        let factors = (r, a, p);
        if let Some(values) = products::fused_values(&self.kept, patterns, factors, &self.coarse)? {
            return Ok(Csr::of_buffers(&self.coarse, values));
        }
        let mut values = zeroed(self.coarse.executor(), self.coarse.nonzeros())?;
        let (left, inner, right) = (Values(r.values()), plain(a), plain(p));
        let most = [longest_row(&self.a), self.a.size().cols];
        fill_rows_with(
            self.coarse.executor(),
            self.coarse.offsets(),
            &self.pieces,
            &mut values,
            ProductRows::new,
            |scratch, row, out| {
                scratch.multiply_left((&self.r, left), row, most, &inner)?;
                scratch.row.follow(&self.coarse, row)?;
                scratch.multiply_right(&right);
                for (out, &sum) in out.iter_mut().zip(scratch.row.entries().1) {
                    *out = T::store(sum);
                }
                Ok(())
            },
        )?;
        Csr::with_pattern(&self.coarse, values)
    }

    fn check_factors<T: Scalar>(&self, r: &Csr<T>, a: &Csr<T>, p: &Csr<T>) -> Result<()> {
        check_pattern("restriction", &self.r, r.pattern())?;
        check_pattern("fine matrix", &self.a, a.pattern())?;
        check_pattern("prolongation", &self.p, p.pattern())
    }
}

compiled_fn! {
    /// `R A P`, the operator of the coarser level.
    pub fn galerkin[working T: Scalar](r: &Csr<T>, a: &Csr<T>, p: &Csr<T>) -> Result<Csr<T>> {
        let patterns = (&**r.pattern(), &**a.pattern(), &**p.pattern());
        let size = check(patterns.0, patterns.1, patterns.2)?;
        if let Some(product) = products::galerkin(r, a, p)? {
            return Ok(product);
        }
        let pieces = balance_products(patterns.0, patterns.1);
        let extent = Extent::of(patterns.0, [patterns.1], [patterns.2]);
        let left = (patterns.0, Values(r.values()));
        let arrays = rows_of_product(left, (plain(a), plain(p)), &extent, &pieces, T::store)?;
        Ok(arrays.into_csr(r.executor(), size))
    }
}

/// [`galerkin`] on the host for factors whose rows are those of several matrices. The columns of `R` and `A` may have any
/// numbers, sums have the same bits; those of `P` are in the order that rows of the result are to have.
pub(crate) fn galerkin_stacked<T: Scalar>(
    r: &Csr<T>,
    a: &Stacked<'_, T>,
    p: &Stacked<'_, T>,
) -> Result<Csr<T>> {
    let (left, extent) = (
        r.pattern(),
        Extent::of(r.pattern(), a.patterns(), p.patterns()),
    );
    let pieces = balance_products(left, a.parts[1].pattern());
    let (left, right) = ((&**left, Values(r.values())), (a.arrays(), p.arrays()));
    let arrays = rows_of_product(left, right, &extent, &pieces, T::store)?;
    let size = Size::new(r.size().rows, extent.right[1]);
    Ok(arrays.into_csr(r.executor(), size))
}

fn check(r: &Pattern, a: &Pattern, p: &Pattern) -> Result<Size> {
    check_product(r, a)?;
    check_product(a, p)?;
    Ok(Size::new(r.size().rows, p.size().cols))
}

/// A matrix and its values.
fn plain<T: Scalar>(a: &Csr<T>) -> Plain<'_, Values<'_, T>> {
    Plain::new(a.pattern(), Values(a.values()))
}

/// How much rows of `R A` and of `R A P` may hold.
struct Extent {
    /// The longest row of `A`, and its columns.
    left: [usize; 2],
    /// The same of `P`.
    right: [usize; 2],
    /// Bytes of all factors.
    bytes: usize,
}

impl Extent {
    fn of<const N: usize>(r: &Pattern, a: [&Pattern; N], p: [&Pattern; N]) -> Self {
        let most = |parts: [&Pattern; N]| {
            let each = parts.map(|part| [longest_row(part), part.size().cols]);
            let larger = |a: [usize; 2], b: [usize; 2]| [a[0].max(b[0]), a[1].max(b[1])];
            each.into_iter().fold([0; 2], larger)
        };
        let bytes = |parts: [&Pattern; N]| parts.map(Pattern::bytes).iter().sum::<usize>();
        Self {
            left: most(a),
            right: most(p),
            bytes: r.bytes() + bytes(a) + bytes(p),
        }
    }
}

/// The rows of `R A P`, each sum turned into an entry by `finish`.
fn rows_of_product<V: Value, W: Value>(
    (r, of_r): (&Pattern, impl Numbers<V>),
    (a, p): (impl Factor<V>, impl Factor<V>),
    extent: &Extent,
    pieces: &[usize],
    finish: impl Fn(V) -> W + Sync + Send,
) -> Result<Arrays<W>> {
    let executor = r.executor();
    let [longest, columns] = extent.right;
    let fill = |scratch: &mut ProductRows<V>, row: usize, rows: &mut Rows<W>| {
        scratch.multiply_left((r, of_r), row, extent.left, &a)?;
        let most = scratch.left.entries().0.len().saturating_mul(longest);
        scratch.row.start(executor, columns, most)?;
        scratch.multiply_right(&p);
        let (columns, sum) = scratch.row.sorted();
        rows.append_by(executor, columns, |column| finish(sum(column)))
    };
    build(executor, pieces, extent.bytes, ProductRows::new, fill)
}

/// A row of `R A` and one of `R A P`.
struct ProductRows<V> {
    left: Accumulator<V>,
    row: Accumulator<V>,
}

impl<V: Value> ProductRows<V> {
    fn new() -> Self {
        Self {
            left: Accumulator::default(),
            row: Accumulator::default(),
        }
    }

    /// Row `row` of `R A`, whose rows have so many entries at most, and columns.
    #[inline(always)]
    fn multiply_left(
        &mut self,
        (r, of_r): (&Pattern, impl Numbers<V>),
        row: usize,
        [longest, columns]: [usize; 2],
        a: &impl Factor<V>,
    ) -> Result<()> {
        let most = r.range(row).len().saturating_mul(longest);
        self.left.start(r.executor(), columns, most)?;
        self.left.multiply_row((r, of_r), row, a);
        Ok(())
    }

    /// Adds that row times `P`.
    #[inline(always)]
    fn multiply_right(&mut self, p: &impl Factor<V>) {
        let (columns, sums) = self.left.entries();
        for (at, &k) in columns.iter().enumerate() {
            let (columns, numbers) = p.row(k as usize);
            self.row.add_row(columns, numbers, sums[at]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, assert_same, dense, dense_product, grid, random};
    use super::*;

    #[test]
    fn galerkin_products_agree_with_dense_ones() {
        let host = Executor::reference();
        let a = grid::<f64>(&host, 5);
        let p = random::<f64>(&host, 25, 7, 0.3, 1);
        let r = p.transpose().unwrap();
        let coarse = galerkin(&r, &a, &p).unwrap();
        let right = dense_product(&dense(&a), &dense(&p), 7);
        assert_close(&dense(&coarse), &dense_product(&dense(&r), &right, 7));
        let product = Galerkin::symbolic(&r, &a, &p).unwrap();
        assert_same(&product.numeric(&r, &a, &p).unwrap(), &coarse);
    }
}
