//! Orthonormal columns that span those of a vector.

use crate::dense::{Independent, diagonal};
use num_traits::Float;

use crate::prelude::*;

/// Of the square of its norm, what has to be left of a column that is made orthonormal together with others: products of columns are as
/// accurate as rounding squared allows, and a second pass repairs what is left of it.
const TOGETHER: f64 = 1e-3;

/// Orthonormal columns with the span of `w`. A column counts as dependent on others, and adds none, where less than rounding makes of
/// a vector of its norm in `norms` is left; so does a column of zeros. Without any nothing is returned.
///
/// Columns that are far from dependent are made orthonormal together, twice (Cholesky QR: Yamamoto et al. 2015), and taken out of the rest;
/// then it is the turn of the rest.
pub(super) fn orthonormal<'w, T: Scalar>(
    w: &mut Vector<T>,
    norms: &[f64],
    ws: &'w Workspace,
) -> Result<Option<Scratch<'w, Vector<T>>>> {
    let rounding = 100.0 * <T::Arith as Field>::Real::epsilon().to_f64();
    let mut parts: Vec<Scratch<'w, Vector<T>>> = Vec::new();
    loop {
        let products = w.products(w)?;
        let size = w.cols();
        let is_left = |k: usize| diagonal(&products, size, k).sqrt() > rounding * norms[k];
        let open: Vec<usize> = (0..size).filter(|&k| is_left(k)).collect();
        if open.is_empty() {
            break;
        }
        let mut part = independent(w, &products, &open, ws)?;
        for before in &parts {
            take_out(before, &mut part)?;
        }
        let products = part.products(&part)?;
        let every: Vec<usize> = (0..part.cols()).collect();
        let part = independent(&part, &products, &every, ws)?;
        let all = part.cols() == open.len();
        if !all {
            take_out(&part, w)?;
        }
        parts.push(part);
        if all {
            break;
        }
    }
    joined(parts, ws)
}

/// The columns of `w` among those that are `open` which are far from dependent, made orthonormal by their products.
fn independent<'w, T: Scalar>(
    w: &Vector<T>,
    products: &[T::Arith],
    open: &[usize],
    ws: &'w Workspace,
) -> Result<Scratch<'w, Vector<T>>> {
    let size = w.cols();
    let entry = |&i: &usize| open.iter().map(move |&j| products[i * size + j]);
    let own: Vec<T::Arith> = open.iter().flat_map(entry).collect();
    let found = Independent::of(&own, open.len(), TOGETHER);
    let factors = found.orthonormalising(open.len());
    let mut all = vec![T::Arith::default(); size * found.len()];
    for (place, &column) in open.iter().enumerate() {
        let n = found.len();
        all[column * n..(column + 1) * n].copy_from_slice(&factors[place * n..(place + 1) * n]);
    }
    let mut made = ws.vector::<T>(w.executor(), w.rows(), found.len())?;
    made.fill(T::default())?;
    made.add_combination(w, &all)?;
    Ok(made)
}

/// Makes `w` orthogonal to orthonormal columns; returns what was taken, row after row.
pub(super) fn take_out<T: Scalar>(from: &Vector<T>, w: &mut Vector<T>) -> Result<Vec<T::Arith>> {
    let products = from.products(w)?;
    let negative: Vec<T::Arith> = products.iter().map(|&product| -product).collect();
    w.add_combination(from, &negative)?;
    Ok(products)
}

/// Vectors side by side.
fn joined<'w, T: Scalar>(
    mut parts: Vec<Scratch<'w, Vector<T>>>,
    ws: &'w Workspace,
) -> Result<Option<Scratch<'w, Vector<T>>>> {
    if parts.len() < 2 {
        return Ok(parts.pop());
    }
    let cols = parts.iter().map(|part| part.cols()).sum();
    let mut all = ws.vector::<T>(parts[0].executor(), parts[0].rows(), cols)?;
    all.fill(T::default())?;
    let mut first = 0;
    for part in &parts {
        let mut places = vec![T::Arith::default(); part.cols() * cols];
        for k in 0..part.cols() {
            places[k * cols + first + k] = T::Arith::from_f64(1.0);
        }
        all.add_combination(part, &places)?;
        first += part.cols();
    }
    Ok(Some(all))
}

/// The norms of the columns.
pub(super) fn norms<T: Scalar>(w: &Vector<T>) -> Result<Vec<f64>> {
    Ok(w.norms()?.into_iter().map(Real::to_f64).collect())
}

/// Whether all norms are numbers.
pub(super) fn finite(norms: &[f64]) -> bool {
    norms.iter().all(|norm| norm.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::testing::values;

    #[test]
    fn dependent_columns_add_none_and_nearly_dependent_ones_do() {
        let host = Executor::reference();
        let (rows, numbers) = (40, values::<f64>(120, 3));
        let mut all = Vec::new();
        for row in 0..rows {
            let [a, b, c] = [numbers[3 * row], numbers[3 * row + 1], numbers[3 * row + 2]];
            all.extend([a, 1e6 * b, a + 1e-7 * c, 2.0 * a - b, 0.0]);
        }
        let w = Vector::from_rows(&host, 5, all).unwrap();
        let ws = Workspace::new();
        let q = orthonormal(&mut w.clone(), &norms(&w).unwrap(), &ws)
            .unwrap()
            .unwrap();
        assert_eq!(q.cols(), 3);
        for (place, product) in q.products(&q).unwrap().into_iter().enumerate() {
            let expected = if place % 4 == 0 { 1.0 } else { 0.0 };
            assert!((product - expected).abs() < 1e-14, "{place}: {product}");
        }
        let mut left = w.clone();
        take_out(&q, &mut left).unwrap();
        for (left, norm) in norms(&left).unwrap().into_iter().zip(norms(&w).unwrap()) {
            assert!(left <= 1e-13 * norm);
        }
        let mut nothing = Vector::<f64>::zeros(&host, 4, 2).unwrap();
        assert!(orthonormal(&mut nothing, &[0.0; 2], &ws).unwrap().is_none());
    }
}
