//! Whether unknowns of a node are asked for, and what vectors of a near-nullspace say about them.

use super::modes::orthonormal;
use crate::configuration::{Config, Sort};
use crate::matrix::{Nodes, Numbering};
use crate::multigrid::NearNullspace;

/// A vector is in a space if less than this is left of it, relatively.
const LEFT: f64 = 1e-6;
/// Nodes with more unknowns are not looked for.
const LARGEST: usize = 6;

/// Whether the preconditioner may be multigrid for nodes.
pub(super) fn takes_nodes(config: &Config) -> bool {
    match config.preconditioner.sort() {
        Sort::Auto => true,
        Sort::Amg(amg) => amg.block_size == 1,
        Sort::None | Sort::StructMg(_) | Sort::Iterations | Sort::OfEntries => false,
    }
}

/// The nodes that vectors are for, if all translations are among their combinations: as many vectors as
/// components, or all motions of a rigid body (three in the plane, six in space).
pub(super) fn nodes(near: &NearNullspace) -> Option<Nodes> {
    let count = near.vectors().len();
    let rows = near.vectors().first()?.len();
    let fits = |k: &usize| (*k == count || k * (k + 1) / 2 == count) && rows.is_multiple_of(*k);
    let space = Space::of(near);
    (2..=LARGEST).filter(fits).find_map(|block_size| {
        let numbering = space.numbering(block_size)?;
        Some(Nodes::regular(rows, block_size, numbering))
    })
}

/// How the rows of vectors for so many unknowns a node are numbered, if translations tell.
pub(super) fn numbering(near: &NearNullspace, block_size: usize) -> Option<Numbering> {
    let rows = near.vectors().first()?.len();
    let whole = rows.is_multiple_of(block_size);
    whole.then(|| Space::of(near).numbering(block_size))?
}

/// What the vectors span.
struct Space {
    basis: Vec<Vec<f64>>,
    /// Rows where not all vectors are zero; at the others a boundary condition holds.
    free: Vec<bool>,
}

impl Space {
    fn of(near: &NearNullspace) -> Self {
        let rows = near.vectors().first().map_or(0, Vec::len);
        let is_free = |row: usize| near.vectors().iter().any(|v| v[row] != 0.0);
        Self {
            basis: orthonormal(near.vectors().to_vec()),
            free: (0..rows).map(is_free).collect(),
        }
    }

    fn numbering(&self, block_size: usize) -> Option<Numbering> {
        let regular = [Numbering::NodeByNode, Numbering::ComponentByComponent];
        let mut fitting = regular.into_iter().filter(|numbering| {
            (0..block_size).all(|component| self.has_translation(block_size, *numbering, component))
        });
        fitting.next()
    }

    /// Whether the constant of a component is a combination of the vectors.
    fn has_translation(&self, block_size: usize, numbering: Numbering, component: usize) -> bool {
        let nodes = self.free.len() / block_size;
        let is_its = |row: usize| match numbering {
            Numbering::NodeByNode => row % block_size == component,
            Numbering::ComponentByComponent | Numbering::Mixed => row / nodes == component,
        };
        let mut left: Vec<f64> = self
            .free
            .iter()
            .enumerate()
            .map(|(row, &free)| f64::from(u8::from(free && is_its(row))))
            .collect();
        let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
        let before = norm(&left);
        for unit in &self.basis {
            let share: f64 = unit.iter().zip(&left).map(|(u, v)| u * v).sum();
            left.iter_mut().zip(unit).for_each(|(v, u)| *v -= share * u);
        }
        before > 0.0 && norm(&left) <= LEFT * before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: [[f64; 3]; 5] = [
        [0.0, 0.1, 0.0],
        [1.0, 0.0, 0.3],
        [0.2, 1.0, 0.0],
        [0.0, 0.4, 1.0],
        [1.0, 1.0, 0.7],
    ];

    fn untold(vectors: Vec<Vec<f64>>) -> NearNullspace {
        NearNullspace::new(1, vectors).unwrap()
    }

    fn found(vectors: Vec<Vec<f64>>) -> Option<(usize, Numbering)> {
        nodes(&untold(vectors)).map(|nodes| (nodes.block_size(), nodes.numbering()))
    }

    #[test]
    fn motions_of_rigid_bodies_tell_the_unknowns_of_a_node() {
        for dimension in [2, 3] {
            let modes = NearNullspace::rigid_body_modes(dimension, &POINTS).unwrap();
            let vectors = modes.vectors().to_vec();
            let expected = Some((dimension, Numbering::NodeByNode));
            assert_eq!(found(vectors.clone()), expected);
            // Three translations are no motions of a plane, and three motions of a plane no translations.
            let translations = vectors[..dimension].to_vec();
            assert_eq!(found(translations), expected);
            // An orthonormal basis shows no translation by itself.
            let turned = orthonormal(vectors.into_iter().rev().collect());
            assert_eq!(found(turned), expected);
        }
    }

    #[test]
    fn rows_of_boundary_conditions_and_another_numbering_are_understood() {
        let modes = NearNullspace::rigid_body_modes(3, &POINTS).unwrap();
        let mut vectors = modes.vectors().to_vec();
        vectors.iter_mut().for_each(|v| v[..3].fill(0.0));
        assert_eq!(found(vectors.clone()), Some((3, Numbering::NodeByNode)));
        let turn = |v: &Vec<f64>| (0..15).map(|row| v[row % 5 * 3 + row / 5]).collect();
        let turned = vectors.iter().map(turn).collect();
        assert_eq!(found(turned), Some((3, Numbering::ComponentByComponent)));
    }

    #[test]
    fn other_vectors_tell_nothing() {
        assert_eq!(found(vec![vec![1.0; 6]]), None);
        let wave = |k: usize| (0..12).map(|row| ((row * k) as f64).cos()).collect();
        assert_eq!(found((0..3).map(wave).collect()), None);
        assert_eq!(found((0..6).map(wave).collect()), None);
    }
}
