//! A linear system of the gallery.

use crate::multigrid::NearNullspace;
use crate::prelude::*;

/// A linear system, with what is known of where it comes from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Problem<T = f64> {
    /// Its specification; [`build`](super::build) makes the same problem from it.
    pub name: String,
    /// The matrix.
    pub matrix: Csr<T>,
    /// The right-hand side: ones, but for the finite-element problems, which have their load.
    pub rhs: Vec<T>,
    /// Where each node lies, one for every `block_size` rows. `None` where [`grid`](Self::grid)
    /// says as much.
    pub coordinates: Option<Vec<[f64; 3]>>,
    /// Vectors the operator nearly annihilates, where they are more than the constant.
    pub near_nullspace: Option<NearNullspace>,
    /// Unknowns of a node, which are neighbours in the numbering.
    pub block_size: usize,
    /// Points along x, y and z of a stencil problem: row `i + nx (j + ny k)` is point `(i, j, k)`.
    pub grid: Option<[usize; 3]>,
}

impl<T: Scalar> Problem<T> {
    /// One unknown a node and ones on the right; nothing is known of where it comes from.
    pub(super) fn new(name: String, matrix: Csr<T>) -> Self {
        Self {
            name,
            rhs: vec![T::store(T::Arith::from_f64(1.0)); matrix.size().rows],
            matrix,
            coordinates: None,
            near_nullspace: None,
            block_size: 1,
            grid: None,
        }
    }
}

impl Problem {
    /// Where each unknown lies, of a problem in the plane with one unknown a point; else `None`.
    ///
    /// ```
    /// use vcycle::{executor::Executor, gallery};
    /// let plane = |spec| gallery::build(spec, &Executor::cpu()).map(|problem| problem.plane());
    /// assert_eq!(plane("poisson5:3x2")?.unwrap()[4], [1.0, 1.0]);
    /// assert_eq!(plane("poisson7:3")?, None);
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    pub fn plane(&self) -> Option<Vec<[f64; 2]>> {
        if self.block_size != 1 {
            return None;
        }
        if let Some([nx, ny, 1]) = self.grid {
            let points = (0..nx * ny).map(|row| [(row % nx) as f64, (row / nx) as f64]);
            return Some(points.collect());
        }
        let points = self.coordinates.as_ref()?;
        let flat = points.iter().all(|point| point[2] == points[0][2]);
        flat.then(|| points.iter().map(|&[x, y, _]| [x, y]).collect())
    }
}
