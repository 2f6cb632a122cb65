//! The near-nullspace: vectors that an operator nearly annihilates.

use crate::linop::check_size;
use crate::prelude::*;

/// Vectors that a matrix nearly annihilates, and how many unknowns a node has.
///
/// Smoothing hardly touches such vectors, so the coarse levels have to hold them: aggregation
/// interpolates them exactly. For a scalar problem it is the constant, for elasticity the
/// [rigid-body modes](Self::rigid_body_modes). Classical coarsening takes from here only which
/// unknowns belong together.
///
/// ```
/// use vcycle::multigrid::NearNullspace;
/// let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
/// let modes = NearNullspace::rigid_body_modes(2, &corners)?;
/// assert_eq!((modes.block_size(), modes.vectors().len()), (2, 3));
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NearNullspace {
    block_size: usize,
    /// Shared by clones and by the levels that begin with them.
    vectors: Arc<[Vec<f64>]>,
}

impl NearNullspace {
    /// Vectors for a matrix whose rows `block_size * node + component` belong to one node.
    ///
    /// # Errors
    /// For a block size of zero or one that the length is no multiple of, vectors of different
    /// lengths, and values that are not finite.
    pub fn new(block_size: usize, vectors: Vec<Vec<f64>>) -> Result<Self> {
        let near = Self {
            block_size,
            vectors: vectors.into(),
        };
        near.check(near.vectors.first().map_or(0, Vec::len))?;
        check_finite("near-nullspace", &near.vectors)?;
        Ok(near)
    }

    /// The constant of each of the `block_size` components of a node.
    ///
    /// # Errors
    /// For a block size of zero.
    pub fn components(block_size: usize) -> Result<Self> {
        Self::new(block_size, Vec::new())
    }

    /// The motions of a rigid body in 2 or 3 dimensions: translations along the axes, then the
    /// rotations about the mean of the points, `axis x (point - mean)`; 3 or 6 in all. In two
    /// dimensions the third coordinate is not looked at.
    ///
    /// # Errors
    /// For another dimension, and coordinates that are not finite.
    pub fn rigid_body_modes(dimension: usize, coordinates: &[[f64; 3]]) -> Result<Self> {
        // The plane of each rotation: the point moves along `to` as it lies along `from`.
        let planes: &[[usize; 2]] = match dimension {
            2 => &[[0, 1]],
            3 => &[[1, 2], [2, 0], [0, 1]],
            _ => {
                let reason = format!("bodies have 2 or 3 dimensions, not {dimension}");
                return Err(Error::bad_parameter("dimension", reason));
            }
        };
        let mean = mean(coordinates);
        let mode = |displacement: &dyn Fn(&[f64; 3], usize) -> f64| -> Vec<f64> {
            let of_node = |point| (0..dimension).map(move |axis| displacement(point, axis));
            coordinates.iter().flat_map(of_node).collect()
        };
        let translation = |along: usize| mode(&|_, axis| f64::from(u8::from(axis == along)));
        let rotation = |&[from, to]: &[usize; 2]| {
            mode(&|point, axis| match axis {
                _ if axis == to => point[from] - mean[from],
                _ if axis == from => mean[to] - point[to],
                _ => 0.0,
            })
        };
        let translations = (0..dimension).map(translation);
        let vectors = translations.chain(planes.iter().map(rotation)).collect();
        Self::new(dimension, vectors)
    }

    /// Unknowns of a node.
    pub fn block_size(&self) -> usize {
        self.block_size
    }

    /// The vectors; none stands for the constants of all components.
    pub fn vectors(&self) -> &[Vec<f64>] {
        &self.vectors
    }

    /// Whether nodes have one unknown, and no vector is given.
    pub(super) fn is_plain(&self) -> bool {
        self.block_size == 1 && self.vectors.is_empty()
    }

    pub(super) fn shared_vectors(&self) -> Arc<[Vec<f64>]> {
        Arc::clone(&self.vectors)
    }

    /// Whether there are as many vectors as a rigid body made of such nodes has motions.
    pub fn has_rigid_bodies(&self) -> bool {
        match self.block_size {
            2 => self.vectors.len() >= 3,
            3 => self.vectors.len() >= 6,
            _ => false,
        }
    }

    /// Whether they are for a matrix of so many rows.
    ///
    /// # Errors
    /// For vectors of another length, and rows that are not whole nodes.
    pub fn check(&self, rows: usize) -> Result<()> {
        for vector in self.vectors.iter() {
            let (expected, found) = (Size::new(rows, 1), Size::new(vector.len(), 1));
            check_size("near-nullspace", expected, found)?;
        }
        let size = self.block_size;
        let reason = format!("{rows} rows are not made of nodes with {size} unknowns each");
        let is_whole = size > 0 && rows.is_multiple_of(size);
        Error::check_parameter(is_whole, "block-size", reason)
    }
}

/// Fails for values that are not finite.
pub(super) fn check_finite(what: &'static str, vectors: &[Vec<f64>]) -> Result<()> {
    for (column, vector) in vectors.iter().enumerate() {
        if let Some(row) = vector.iter().position(|value| !value.is_finite()) {
            return Err(Error::NonFiniteVector { what, row, column });
        }
    }
    Ok(())
}

fn mean(points: &[[f64; 3]]) -> [f64; 3] {
    [0, 1, 2].map(|axis| {
        let sum: f64 = points.iter().map(|point| point[axis]).sum();
        sum / points.len().max(1) as f64
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotations_are_about_the_mean_and_keep_distances_to_first_order() {
        let points = [
            [1.0, 2.0, 3.0],
            [4.0, 0.0, -1.0],
            [0.5, 0.5, 7.0],
            [2.0, 2.0, 2.0],
        ];
        for dimension in [2, 3] {
            let modes = NearNullspace::rigid_body_modes(dimension, &points).unwrap();
            assert_eq!(modes.vectors().len(), 3 * (dimension - 1));
            for mode in &modes.vectors()[dimension..] {
                assert!(mode.iter().any(|&value| value != 0.0));
                assert!(mode.iter().sum::<f64>().abs() < 1e-14);
                for (p, u) in points.iter().zip(mode.chunks(dimension)) {
                    for (q, v) in points.iter().zip(mode.chunks(dimension)) {
                        let stretch = |axis| (p[axis] - q[axis]) * (u[axis] - v[axis]);
                        assert!((0..dimension).map(stretch).sum::<f64>().abs() < 1e-13);
                    }
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let error = |block_size, vectors| {
            let made = NearNullspace::new(block_size, vectors);
            made.unwrap_err().to_string()
        };
        let lengths = error(1, vec![vec![1.0; 4], vec![1.0; 3]]);
        assert_eq!(lengths, "near-nullspace: expected 4 x 1, found 3 x 1");
        let blocks = error(3, vec![vec![1.0; 4]]);
        assert!(blocks.starts_with("block-size: 4 rows"), "{blocks}");
        assert!(error(0, Vec::new()).starts_with("block-size"));
        let values = error(1, vec![vec![0.0], vec![f64::NAN]]);
        assert!(values.contains("row 0, column 1"), "{values}");
        assert!(NearNullspace::rigid_body_modes(1, &[]).is_err());
    }
}
