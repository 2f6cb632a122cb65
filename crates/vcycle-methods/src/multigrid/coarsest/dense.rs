//! Dense factorisation of a small matrix.

use crate::dense::Lu;
use crate::linop::check_apply;
use crate::matrix::Dense;
use crate::operations::factor::{Pivoting, inverse};
use crate::prelude::*;

/// The diagonal is the pivot unless another entry of its column is much larger: so symmetric matrices keep a symmetric
/// inverse.
const PIVOTING: Pivoting = Pivoting {
    factor: 10.0,
    zero: 1e-11,
};

/// `P A = L U` in double precision, real or complex, for vectors of any precision.
///
/// A singular matrix is no error: unknowns without a pivot are set to zero. For consistent
/// right-hand sides, those of a problem with Neumann boundary say, that is a solution.
///
/// ```
/// use vcycle::{executor::{Executor, Workspace}, linop::LinOp, matrix::Csr, multigrid::DenseLu,
///              vector::Vector};
/// let cpu = Executor::cpu();
/// let lu = DenseLu::new(&Csr::diagonal_matrix(&cpu, vec![2.0, 0.0]));
/// let mut x = Vector::<f32>::zeros(&cpu, 2, 1)?;
/// lu.apply(&Vector::filled(&cpu, 2, 1, 1.0)?, &mut x, &Workspace::new())?;
/// assert_eq!(x.to_vec(), [0.5, 0.0]);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DenseLu<V: Field = f64> {
    executor: Executor,
    factors: Lu<V>,
}

impl<V: Field> DenseLu<V> {
    /// Factorises a square matrix.
    pub fn new(a: &Csr<V>) -> Self {
        Self {
            executor: a.executor().clone(),
            factors: Lu::new(a.size().rows, dense(a), PIVOTING),
        }
    }
}

impl DenseLu {
    /// The inverse instead, on an executor that is a device: a product has no order to keep. None on the host.
    pub fn inverse<T: Scalar>(executor: &Executor, a: &Csr<f64>) -> Result<Option<Dense<T>>> {
        let values = inverse(executor, a, PIVOTING)?;
        let dense = values.map(|values| Dense::from_buffer(a.size(), values));
        dense.transpose()
    }
}

fn dense<V: Field>(a: &Csr<V>) -> Vec<V> {
    let n = a.size().cols;
    let mut values = vec![V::zero(); a.size().rows * n];
    for row in 0..a.size().rows {
        let (columns, entries) = a.row(row);
        for (&column, value) in columns.iter().zip(entries) {
            values[row * n + column as usize] = *value;
        }
    }
    values
}

impl<V: Field, T: Mixes<T, T>> LinOp<T> for DenseLu<V> {
    fn size(&self) -> Size {
        Size::square(self.factors.rows())
    }

    fn executor(&self) -> &Executor {
        &self.executor
    }

    fn apply(&self, b: &Vector<T>, x: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        let size = Size::square(self.factors.rows());
        check_apply("dense factorisation", size, &self.executor, b, x)?;
        let mut column = ws.vector::<V>(&self.executor, size.rows, 1)?;
        let column = column.host_mut()?;
        let (cols, b, x) = (b.cols(), b.host()?, x.host_mut()?);
        for c in 0..cols {
            for (value, &row) in column.iter_mut().zip(&self.factors.order) {
                *value = V::from_c64(b[row * cols + c].to_c64());
            }
            self.factors.solve(column);
            for (row, &value) in column.iter().enumerate() {
                x[row * cols + c] = T::from_c64(value.to_c64());
            }
        }
        Ok(())
    }

    fn label(&self) -> &'static str {
        "dense"
    }

    fn footprint(&self) -> Footprint {
        Footprint::of_bytes(self.factors.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::multigrid::testing::{self, assert_near, csr};

    fn solve(n: usize, values: &[f64], b: &[f64]) -> Vec<f64> {
        let b = Vector::from_column(&Executor::reference(), b.to_vec());
        let mut x = Vector::zeros_like(&b).unwrap();
        let lu = DenseLu::new(&testing::dense(n, values));
        lu.apply(&b, &mut x, &Workspace::new()).unwrap();
        x.to_vec()
    }

    #[test]
    fn zeros_and_small_pivots_are_told_apart() {
        let exchanged = [0.0, 2.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 4.0];
        let consistent = [1.0, -1.0, 0.0, -1.0, 2.0, -1.0, 0.0, -1.0, 1.0];
        // Small rows beside large ones are not singular.
        let uneven = [1e20, 0.0, 0.0, 2.0];
        for (values, b, x) in [
            (&exchanged[..], &[2.0, 3.0, 4.0][..], &[2.0, 1.0, 1.0][..]),
            (&consistent, &[1.0, 0.0, -1.0], &[2.0, 1.0, 0.0]),
            (&uneven, &[1e20, 1.0], &[1.0, 0.5]),
        ] {
            assert_eq!(solve(b.len(), values, b), x);
        }
    }

    #[test]
    fn devices_invert_what_the_host_factorises() {
        let Some(device) = device() else { return };
        let host = Executor::reference();
        // A chain without ends, and one unknown that is coupled to nothing.
        let chain = |i: usize, j: usize| match i.abs_diff(j) {
            0 if i == 40 => 0.0,
            0 => 2.0,
            1 | 39 if i.max(j) < 40 => -1.0,
            _ => 0.0,
        };
        let rotation = |i: usize, j: usize| f64::from(u8::from(j == (i * 3 + 1) % 50)) * 2.0;
        let of = |n: usize, entry: &dyn Fn(usize, usize) -> f64| {
            let entries = (0..n * n).map(|place| entry(place / n, place % n));
            testing::dense(n, &entries.collect::<Vec<_>>())
        };
        for a in [
            csr("poisson5:6"),
            csr("convdiff7:4,100"),
            csr("jump7:5,1e6"),
            csr("poisson5:17"),
            csr("aniso5:23,0.01"),
            of(41, &chain),
            of(50, &rotation),
            of(3, &|_, _| 0.0),
            of(0, &|_, _| 0.0),
        ] {
            let n = a.size().rows;
            let unit = Vector::<f64>::identity(&host, n).unwrap();
            let mut expected = Vector::zeros(&host, n, n).unwrap();
            let lu = DenseLu::new(&a);
            lu.apply(&unit, &mut expected, &Workspace::new()).unwrap();
            for a in [a.copy_to(&device).unwrap(), a] {
                let found = DenseLu::inverse::<f64>(&device, &a).unwrap().unwrap();
                assert_near(found.values(), &expected.to_vec(), 1e-12, "inverse");
            }
        }
    }
}
