//! Products of a sparse matrix with vectors, in any precisions.

use vcycle::executor::{Executor, Workspace};
use vcycle::linop::LinOp;
use vcycle::matrix::Csr;
use vcycle::scalar::{Kind, Scalar, bf16, f16};
use vcycle::vector::Vector;

use crate::common::Result;
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

/// Products of a matrix with some columns; operands are stored several times where one of them would stay in a cache.
pub(crate) fn product(
    a: &Csr<f64>,
    kinds: Kinds,
    (columns, copies): (usize, usize),
    executor: &Executor,
) -> Result<Product> {
    let [matrix, input, output] = kinds;
    with_type!(matrix, M, {
        let a = a.convert::<M>()?.into_executor(executor)?;
        let work = with_type!(
            input,
            X,
            with_type!(output, Y, applied::<M, X, Y>(&a, columns, copies))
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
    columns: usize,
    copies: usize,
) -> Result<(Work<'static>, usize)>
where
    Csr<M>: LinOp<X, Y>,
{
    let (size, executor) = (a.size(), a.executor());
    let given = Vector::from_rows(executor, columns, ramp(size.cols * columns))?;
    let mut x = Vector::<X>::zeros(executor, size.cols, columns)?;
    x.copy_from(&given)?;
    let y = Vector::<Y>::zeros(executor, size.rows, columns)?;
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

/// What matrices are multiplied with.
pub(crate) fn ramp(rows: usize) -> Vec<f64> {
    (0..rows).map(|i| 1.0 + (i % 7) as f64 / 8.0).collect()
}
