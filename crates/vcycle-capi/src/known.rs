//! What is known of a matrix beside its entries.

use vcycle::multigrid::NearNullspace;

use crate::failure::Failure;

/// What callers have told.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    block_size: usize,
    vectors: Vec<Vec<f64>>,
    /// The dimension, and three coordinates for every node.
    coordinates: Option<(usize, Vec<[f64; 3]>)>,
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
    pub fn set_block_size(&mut self, block_size: usize) {
        self.block_size = block_size;
    }

    pub fn set_vectors(&mut self, vectors: Vec<Vec<f64>>) {
        self.vectors = vectors;
    }

    /// In one dimension nothing turns. A process without rows has no points, and yet as many motions as the others.
    pub fn set_coordinates(&mut self, dimension: usize, points: Vec<[f64; 3]>) {
        self.coordinates = (dimension > 1).then_some((dimension, points));
    }

    pub fn forget_coordinates(&mut self) {
        self.coordinates = None;
    }

    /// What multigrid wants to know of a matrix with so many rows.
    pub fn near_nullspace(&self, rows: usize) -> Result<Option<NearNullspace>, Failure> {
        if let Some(vector) = self.vectors.iter().find(|vector| vector.len() != rows) {
            return Err(Failure::argument(format!(
                "vectors of the near-nullspace have {} rows, the matrix has {rows}",
                vector.len()
            )));
        }
        if !self.vectors.is_empty() {
            return Ok(Some(NearNullspace::new(
                self.block_size,
                self.vectors.clone(),
            )?));
        }
        if let Some((dimension, points)) = &self.coordinates {
            if points.len() * dimension == rows {
                return Ok(Some(NearNullspace::rigid_body_modes(*dimension, points)?));
            }
            // One unknown a node: there are no motions to know of.
            if points.len() != rows {
                return Err(Failure::argument(format!(
                    "{} nodes in {dimension} dimensions, but the matrix has {rows} rows",
                    points.len()
                )));
            }
        }
        match self.block_size {
            1 => Ok(None),
            several => Ok(Some(NearNullspace::components(several)?)),
        }
    }
}
