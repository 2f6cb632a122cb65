//! Recursive bisection: numberings whose consecutive rows are compact parts, by METIS.

use std::sync::{Arc, Mutex, PoisonError};

use super::search::symmetrised;
use super::{Pattern, Permutation};
use crate::error::{Error, Result};

/// Parts that the graph is cut into, at most.
const PARTS: usize = 256;
/// Nodes of a part, at least.
const NODES: usize = 16;

/// METIS draws from the random numbers of the C library, of which a process has one sequence.
static DRAWING: Mutex<()> = Mutex::new(());

/// An order of a square pattern whose consecutive vertices form compact parts: METIS (Karypis and Kumar 1998) cuts the graph
/// of `A + A^T` in halves with few couplings between them, and both again, up to 256 parts; one half is numbered before the
/// other, and parts keep their order inside. `block` consecutive vertices, the unknowns of a node, stay together.
///
/// **Choose it** before rows are shared by several ranks, if their order says nothing of who is near. A graph has the same
/// order each time, as long as nothing else draws random numbers of the C library meanwhile.
///
/// ```
/// use vcycle::{executor::Executor, gallery, matrix::recursive_bisection};
/// let a = gallery::build("poisson5:20", &Executor::cpu())?.matrix;
/// assert_eq!(recursive_bisection(a.pattern(), 1)?.len(), 400);
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// When the pattern is not square, or has more entries than METIS can count (2^31), or memory is short.
pub fn recursive_bisection(pattern: &Arc<Pattern>, block: usize) -> Result<Permutation> {
    let block = block.max(1);
    let symmetric = symmetrised(pattern, "recursive bisection")?;
    let part = Graph::new(&symmetric, block)?.parts()?;
    let mut order: Vec<u32> = (0..part.len() as u32).collect();
    order.sort_by_key(|&node| part[node as usize]);
    let size = block as u32;
    let rows = order
        .into_iter()
        .flat_map(|node| node * size..(node + 1) * size);
    Permutation::new(rows.collect())
}

/// The graph of nodes as METIS takes it: symmetric, without edges from a node to itself.
struct Graph {
    offsets: Vec<i32>,
    neighbours: Vec<i32>,
}

impl Graph {
    /// The graph of nodes, `block` vertices each, of a symmetric pattern.
    fn new(pattern: &Pattern, block: usize) -> Result<Self> {
        let (mut offsets, mut neighbours) = (vec![0], Vec::new());
        for node in 0..pattern.size().rows / block {
            let entries =
                pattern.range(node * block).start..pattern.range((node + 1) * block - 1).end;
            let others = pattern.columns()[entries].iter();
            let others = others.map(|&other| (other / block as u32) as i32);
            let mut others: Vec<i32> = others.filter(|&other| other != node as i32).collect();
            if block > 1 {
                others.sort_unstable();
                others.dedup();
            }
            neighbours.extend(others);
            offsets.push(i32::try_from(neighbours.len()).map_err(|_| too_large())?);
        }
        Ok(Self {
            offsets,
            neighbours,
        })
    }

    /// The part of every node.
    fn parts(&self) -> Result<Vec<i32>> {
        let mut part = vec![0; self.offsets.len() - 1];
        // A power of two: then halves, quarters and so on end where parts do.
        let levels = (part.len() / NODES).clamp(1, PARTS).ilog2();
        if levels > 0 {
            let graph = metis::Graph::new(1, 1 << levels, &self.offsets, &self.neighbours);
            let graph = graph.map_err(|_| too_large())?;
            let _alone = DRAWING.lock().unwrap_or_else(PoisonError::into_inner);
            let cut = graph.part_recursive(&mut part);
            cut.map_err(|error| Error::structure("recursive bisection", error.to_string()))?;
        }
        Ok(part)
    }
}

fn too_large() -> Error {
    Error::structure("recursive bisection", "the graph has more than 2^31 edges")
}

#[cfg(test)]
mod tests {
    use super::super::testing::{grid, odd_graphs};
    use super::*;
    use crate::executor::Executor;

    #[test]
    fn halves_are_compact_and_nodes_stay_together() {
        let a = grid::<f64>(&Executor::reference(), 40);
        let order = recursive_bisection(a.pattern(), 2).unwrap();
        let place = order.inverse();
        let crossing = |old: usize| {
            let half = |old: u32| place.order()[old as usize] / 800;
            let others = a.pattern().columns()[a.pattern().range(old)].iter();
            others
                .filter(|&&other| half(other) != half(old as u32))
                .count()
        };
        let cut: usize = (0..1600).map(crossing).sum();
        assert!(cut < 200, "{cut} couplings cross the middle");
        assert!(
            order
                .order()
                .chunks(2)
                .all(|node| node[1] == node[0] + 1 && node[0] % 2 == 0)
        );
        let again = recursive_bisection(a.pattern(), 2).unwrap();
        assert_eq!(again.order(), order.order());
    }

    #[test]
    fn cliques_stars_and_single_vertices_are_numbered() {
        for pattern in odd_graphs() {
            let order = recursive_bisection(&pattern, 1).unwrap();
            assert_eq!(order.len(), pattern.size().rows);
        }
    }
}
