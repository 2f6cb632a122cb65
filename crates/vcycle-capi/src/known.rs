//! What is known of a matrix beside its entries.

use vcycle::multigrid::NearNullspace;

use crate::failure::{Failure, ensure};

/// What callers have set.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub block_size: usize,
    pub vectors: Vec<Vec<f64>>,
    /// The dimension, and three coordinates for every node.
    pub coordinates: Option<(usize, Vec<[f64; 3]>)>,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            block_size: 1,
            vectors: Vec::new(),
            coordinates: None,
        }
    }
}

impl Known {
    /// What multigrid wants to know of a matrix with so many rows.
    pub fn near_nullspace(&self, rows: usize) -> Result<Option<NearNullspace>, Failure> {
        for found in self.vectors.iter().map(Vec::len) {
            ensure!(
                found == rows,
                "vectors of the near-nullspace have {found} rows, the matrix has {rows}"
            );
        }
        if !self.vectors.is_empty() {
            let near = NearNullspace::new(self.block_size, self.vectors.clone());
            return Ok(Some(near?));
        }
        if let Some((dimension, points)) = &self.coordinates {
            if points.len() * dimension == rows {
                return Ok(Some(NearNullspace::rigid_body_modes(*dimension, points)?));
            }
            // One unknown a node: there are no motions to know of.
            let nodes = points.len();
            ensure!(
                nodes == rows,
                "{nodes} nodes in {dimension} dimensions, but the matrix has {rows} rows"
            );
        }
        match self.block_size {
            1 => Ok(None),
            several => Ok(Some(NearNullspace::components(several)?)),
        }
    }
}
