//! Vectors of several columns taken as matrices.

use crate::error::check_size;
use crate::operations::columns as operations;
use crate::prelude::*;

impl<T: Scalar> Vector<T> {
    /// All products of a column of `self` with a column of `y`, `X^H Y`, row after row.
    pub fn products(&self, y: &Self) -> Result<Vec<T::Arith>> {
        check_size("products", Size::new(self.rows, y.cols), y.size())?;
        let mut out = vec![T::Arith::default(); self.cols * y.cols];
        operations::products(self, y, &mut out)?;
        Ok(out)
    }

    /// Adds combinations of the columns of `x`: `self += X C` with the coefficients row after row, one row for each column of `x`. A
    /// zero does not touch its column.
    pub fn add_combination(&mut self, x: &Self, coefficients: &[T::Arith]) -> Result<()> {
        check_size("add_combination", Size::new(self.rows, x.cols), x.size())?;
        let given = Size::new(coefficients.len() / self.cols.max(1), self.cols);
        check_size("add_combination", Size::new(x.cols, self.cols), given)?;
        operations::add_combination(x, coefficients, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Products and a combination of vectors with small integers, which every order of adding finds exactly.
    fn made(executor: &Executor, p: usize, q: usize) -> (Vec<f64>, Vec<f64>) {
        let rows = 3001;
        let number = |k: usize| ((k * k + 3 * k) % 11) as f64 - 5.0;
        let vector = |cols: usize, shift: usize| {
            let values = (0..rows * cols).map(|k| number(k + shift)).collect();
            Vector::from_rows(executor, cols, values).unwrap()
        };
        let (x, mut y) = (vector(p, 0), vector(q, 7));
        let products = x.products(&y).unwrap();
        let coefficients: Vec<f64> = (0..p * q).map(number).collect();
        y.add_combination(&x, &coefficients).unwrap();
        (products, y.to_vec())
    }

    #[test]
    fn every_executor_multiplies_and_combines_columns() {
        let mut places = vec![Executor::cpu()];
        places.extend(device());
        for (p, q) in [(1, 1), (3, 8), (5, 2)] {
            let known = made(&Executor::reference(), p, q);
            for executor in &places {
                assert!(made(executor, p, q) == known, "{p} {q} on {executor:?}");
            }
        }
    }

    #[test]
    fn sizes_have_to_fit() {
        let host = Executor::reference();
        let x = Vector::<f64>::zeros(&host, 3, 2).unwrap();
        let mut y = Vector::<f64>::zeros(&host, 4, 2).unwrap();
        assert!(x.products(&y).is_err());
        assert!(y.clone().add_combination(&x, &[0.0; 4]).is_err());
        y = x.clone();
        assert!(y.add_combination(&x, &[0.0; 3]).is_err());
    }
}
