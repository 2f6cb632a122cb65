//! A few vectors and what a matrix makes of them.

use super::Eigenpairs;
use crate::dense::{Cholesky, eigenpairs};
use crate::prelude::*;

/// A vector of which less than this share is left once it is orthogonal to those before it
/// depends on them.
const DEPENDENT: f64 = 1e-10;

pub(super) fn dot(x: &Vector<f64>, y: &Vector<f64>) -> Result<f64> {
    let mut out = Scalars::filled(x.executor(), 1, 0.0)?;
    x.dot(y, &mut out)?;
    out.get(0)
}

/// Replaces single-column vectors by orthonormal ones that span the same spaces: the first, the
/// first two, and so on.
///
/// ```
/// use vcycle::{Error, eigen::orthonormalise, executor::Executor, vector::Vector};
/// let cpu = Executor::cpu();
/// let mut vectors = vec![
///     Vector::from_column(&cpu, vec![2.0, 0.0]),
///     Vector::from_column(&cpu, vec![3.0, 4.0]),
/// ];
/// orthonormalise("example", &mut vectors)?;
/// assert_eq!(vectors[1].to_vec(), [0.0, 1.0]);
/// vectors[0] = vectors[1].clone();
/// let dependent = orthonormalise("example", &mut vectors);
/// assert!(matches!(dependent, Err(Error::DependentVectors { vector: 1, .. })));
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// Values that are not finite and vectors that depend on those before them, named by `what` and
/// their number.
pub fn orthonormalise(what: &'static str, vectors: &mut [Vector<f64>]) -> Result<()> {
    for vector in 0..vectors.len() {
        let (before, rest) = vectors.split_at_mut(vector);
        let x = &mut rest[0];
        let norm = x.norms()?[0];
        if !norm.is_finite() {
            let row = x.to_vec().iter().position(|value| !value.is_finite());
            return Err(Error::NonFiniteVector {
                what,
                row: row.unwrap_or_default(),
                column: vector,
            });
        }
        subtract(before, x)?;
        let left = x.norms()?[0];
        if left <= DEPENDENT * norm {
            return Err(Error::DependentVectors { what, vector });
        }
        x.scale(Coefficient::real(1.0 / left))?;
    }
    Ok(())
}

/// Whether vectors are clearly independent, by the Cholesky factor of their products: one pass over them. False for some
/// that are independent, too.
pub(crate) fn are_independent(vectors: &[Vec<f64>]) -> bool {
    /// What is left of the square of a norm, behind the vectors before: far above what rounding does to products.
    const CLEAR: f64 = 1e-6;
    let mut cholesky = Cholesky::default();
    products(vectors).into_iter().enumerate().all(|(k, row)| {
        let (own, mut next) = (row[k], row[..k].to_vec());
        let left = cholesky.eliminate(&mut next, own);
        cholesky.push(&next, 1.0 / left.sqrt(), 0.0);
        own > 0.0 && own.is_finite() && left > CLEAR * own
    })
}

/// The products of all pairs of vectors, piece by piece while these are in the cache.
fn products(vectors: &[Vec<f64>]) -> Vec<Vec<f64>> {
    const PIECE: usize = 512;
    const LANES: usize = 8;
    let rows = vectors.first().map_or(0, Vec::len);
    let mut sums = vec![vec![0.0; vectors.len()]; vectors.len()];
    for begin in (0..rows).step_by(PIECE) {
        let piece = begin..rows.min(begin + PIECE);
        for (i, row) in sums.iter_mut().enumerate() {
            for (j, sum) in row.iter_mut().enumerate().take(i + 1) {
                let (x, y) = (&vectors[i][piece.clone()], &vectors[j][piece.clone()]);
                let mut lanes = [0.0; LANES];
                for (x, y) in x.chunks(LANES).zip(y.chunks(LANES)) {
                    for (lane, (x, y)) in lanes.iter_mut().zip(x.iter().zip(y)) {
                        *lane += x * y;
                    }
                }
                *sum += lanes.iter().sum::<f64>();
            }
        }
    }
    sums
}

/// Makes `x` orthogonal to orthonormal vectors. The second pass removes what rounding left.
pub(super) fn subtract(before: &[Vector<f64>], x: &mut Vector<f64>) -> Result<()> {
    for _ in 0..2 {
        for other in before {
            let factor = dot(other, x)?;
            x.axpy(Coefficient::real(-factor), other)?;
        }
    }
    Ok(())
}

/// Vectors `x` with their images `A x`, kept in step.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    pub x: Vec<Vector<f64>>,
    pub ax: Vec<Vector<f64>>,
}

impl Block {
    /// `x` and `A x`.
    pub fn new(a: &dyn LinOp<f64>, x: Vec<Vector<f64>>, ws: &Workspace) -> Result<Self> {
        let image = |x: &Vector<f64>| {
            let mut ax = Vector::zeros_like(x)?;
            a.apply(x, &mut ax, ws)?;
            Ok(ax)
        };
        let ax = x.iter().map(image).collect::<Result<_>>()?;
        Ok(Self { x, ax })
    }

    /// Makes the norm of a vector one.
    pub fn normalise(&mut self, vector: usize) -> Result<()> {
        let factor = 1.0 / self.x[vector].norms()?[0];
        self.x[vector].scale(Coefficient::real(factor))?;
        self.ax[vector].scale(Coefficient::real(factor))
    }

    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// Adds a vector and its image, orthonormal to those before, unless it depends on these.
    pub fn push(&mut self, mut x: Vector<f64>, mut ax: Vector<f64>) -> Result<()> {
        let norm = x.norms()?[0];
        for _ in 0..2 {
            for (y, ay) in self.x.iter().zip(&self.ax) {
                let factor = Coefficient::real(-dot(y, &x)?);
                x.axpy(factor, y)?;
                ax.axpy(factor, ay)?;
            }
        }
        let left = x.norms()?[0];
        if left > DEPENDENT * norm {
            x.scale(Coefficient::real(1.0 / left))?;
            ax.scale(Coefficient::real(1.0 / left))?;
            self.x.push(x);
            self.ax.push(ax);
        }
        Ok(())
    }

    /// The Ritz values and vectors of orthonormal vectors.
    pub fn ritz(&self) -> Result<Eigenpairs> {
        let n = self.len();
        let mut projected = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                let entry = dot(&self.x[i], &self.ax[j])?;
                (projected[i * n + j], projected[j * n + i]) = (entry, entry);
            }
        }
        let (values, factors) = eigenpairs(n, projected);
        let combination = |factors: Vec<f64>| {
            let mut sum = Vector::zeros_like(&self.x[0])?;
            for (vector, factor) in self.x.iter().zip(factors) {
                sum.axpy(Coefficient::real(factor), vector)?;
            }
            Ok(sum)
        };
        let vectors = factors.into_iter().map(combination);
        let vectors = vectors.collect::<Result<_>>()?;
        Ok(Eigenpairs { values, vectors })
    }

    /// `A x - lambda x` of one vector.
    pub fn residual(&self, vector: usize, lambda: f64) -> Result<Vector<f64>> {
        let mut r = self.ax[vector].clone();
        r.axpy(Coefficient::real(-lambda), &self.x[vector])?;
        Ok(r)
    }
}

#[cfg(test)]
mod tests {
    use super::are_independent;

    #[test]
    fn products_show_whether_vectors_are_clearly_independent() {
        let line = |slope: f64| (0..1000).map(|k| 1.0 + slope * f64::from(k)).collect();
        let [constant, steep, steeper]: [Vec<f64>; 3] = [0.0, 1.0, 2.0].map(line);
        assert!(are_independent(&[]));
        assert!(are_independent(&[steep.clone(), constant.clone()]));
        let dependent = [constant.clone(), steep, steeper];
        assert!(!are_independent(&dependent));
        assert!(!are_independent(&[vec![0.0; 1000]]));
        let nearly: Vec<f64> = (0..1000).map(|k| 1.0 + 1e-7 * f64::from(k)).collect();
        assert!(!are_independent(&[constant, nearly]));
        assert!(!are_independent(&[vec![f64::NAN; 3]]));
    }
}
