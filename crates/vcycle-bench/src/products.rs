//! Products of a sparse matrix with vectors, in any precisions.

use std::ops::Range;

use vcycle::scalar::{bf16, f16};

use crate::prelude::*;
use crate::timing::Work;

/// The kinds of a matrix, of what it is multiplied with, and of the product.
pub(crate) type Kinds = [Kind; 3];

/// A matrix and vectors of some kinds.
pub(crate) const fn kinds(matrix: Kind, vectors: Kind) -> Kinds {
    [matrix, vectors, vectors]
}

/// Products that are ready to be timed.
pub(crate) struct Product {
    pub(crate) kinds: Kinds,
    /// Matrix and vectors of one product, everything counted once.
    pub(crate) bytes: f64,
    /// One product with every copy of the operands.
    pub(crate) work: Work<'static>,
}

/// Evaluates an expression with the type of a real kind.
macro_rules! with_type {
    ($kind:expr, $T:ident, $body:expr) => {
        match $kind {
            Kind::F64 => {
                type $T = f64;
                $body
            }
            Kind::F32 => {
                type $T = f32;
                $body
            }
            Kind::F16 => {
                type $T = f16;
                $body
            }
            Kind::Bf16 => {
                type $T = bf16;
                $body
            }
            Kind::C64 | Kind::C32 => Err("products of real numbers are timed".into()),
        }
    };
}

/// Products of a matrix; operands are stored several times where one of them would stay in a cache.
pub(crate) fn product(
    a: &Csr<f64>,
    kinds: Kinds,
    copies: usize,
    executor: &Executor,
) -> Result<Product> {
    let [matrix, input, output] = kinds;
    with_type!(matrix, M, {
        let a = a.convert::<M>()?.into_executor(executor)?;
        let work = with_type!(
            input,
            X,
            with_type!(output, Y, applied::<M, X, Y>(&a, copies))
        );
        let (work, vectors) = work?;
        Ok(Product {
            kinds,
            bytes: (a.bytes() + vectors) as f64,
            work,
        })
    })
}

/// Products with every copy, and the bytes of the vectors of one.
fn applied<M: Scalar, X: Scalar, Y: Scalar>(
    a: &Csr<M>,
    copies: usize,
) -> Result<(Work<'static>, usize)>
where
    Csr<M>: LinOp<X, Y>,
{
    let (size, executor) = (a.size(), a.executor());
    let given = Vector::from_column(executor, ramp(size.cols));
    let mut x = Vector::<X>::zeros(executor, size.cols, 1)?;
    x.copy_from(&given)?;
    let y = Vector::<Y>::zeros(executor, size.rows, 1)?;
    let bytes = x.bytes() + y.bytes();
    let mut operands = Vec::new();
    for _ in 0..copies {
        operands.push((
            a.copy_to(executor)?,
            x.copy_to(executor)?,
            y.copy_to(executor)?,
        ));
    }
    let ws = Workspace::new();
    let work = move || {
        let mut products = operands.iter_mut();
        Ok(products.try_for_each(|(a, x, y)| a.apply(x, y, &ws))?)
    };
    Ok((Box::new(work), bytes))
}

/// Columns of numbers between -1 and 1 (SplitMix64, Steele et al. 2014); a column is the same among any others.
pub(crate) fn random(rows: usize, columns: Range<usize>) -> Vec<f64> {
    let number = |row: usize, column: usize| {
        let place = (column as u64) << 40 | row as u64;
        let mut z = (place + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as f64 / u64::MAX as f64 * 2.0 - 1.0
    };
    let row = |row| columns.clone().map(move |column| number(row, column));
    (0..rows).flat_map(row).collect()
}

/// What matrices are multiplied with.
pub(crate) fn ramp(rows: usize) -> Vec<f64> {
    (0..rows).map(|i| 1.0 + (i % 7) as f64 / 8.0).collect()
}
