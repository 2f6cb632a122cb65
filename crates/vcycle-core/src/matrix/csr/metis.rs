//! Graphs cut by METIS (Karypis and Kumar 1998): orders with compact parts one after the other, and separators.

use std::ptr;
use std::sync::{Mutex, PoisonError};

use metis_sys::idx_t;

use super::Permutation;
use super::search::symmetrised;
use crate::prelude::*;

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

/// A graph as METIS takes it: symmetric, without edges from a node to itself.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub offsets: Vec<idx_t>,
    pub neighbours: Vec<idx_t>,
    /// How many vertices every node stands for.
    pub weights: Vec<idx_t>,
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
            weights: vec![1; offsets.len() - 1],
            offsets,
            neighbours,
        })
    }

    /// The neighbours of a node.
    pub fn of(&self, node: usize) -> &[idx_t] {
        &self.neighbours[self.offsets[node] as usize..self.offsets[node + 1] as usize]
    }

    /// The part of every node.
    fn parts(mut self) -> Result<Vec<idx_t>> {
        let mut part = vec![0; self.len()];
        // A power of two: then halves, quarters and so on end where parts do.
        let levels = (part.len() / NODES).clamp(1, PARTS).ilog2();
        if levels > 0 {
            let (mut count, mut weights, mut cut) = (self.len() as idx_t, 1, 0);
            let mut parts: idx_t = 1 << levels;
            let _alone = DRAWING.lock().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: `offsets` has an entry more than there are nodes, and increases to the number of `neighbours`, which
            // are nodes; `part` has an entry for every node. What is null is optional. METIS writes to `part` and `cut`.
            let status = unsafe {
                metis_sys::METIS_PartGraphRecursive(
                    &mut count,
                    &mut weights,
                    self.offsets.as_mut_ptr(),
                    self.neighbours.as_mut_ptr(),
                    ptr::null_mut(),
                    ptr::null_mut(),
                    ptr::null_mut(),
                    &mut parts,
                    ptr::null_mut(),
                    ptr::null_mut(),
                    ptr::null_mut(),
                    &mut cut,
                    part.as_mut_ptr(),
                )
            };
            check(status)?;
        }
        Ok(part)
    }

    /// Two sides of about the same weight, 0 and 1, and few nodes that separate them, 2.
    ///
    /// # Errors
    /// When memory is short.
    pub fn separated(&mut self) -> Result<Vec<idx_t>> {
        let mut sides = vec![0; self.len()];
        // METIS divides by the number of edges.
        if self.neighbours.is_empty() {
            return Ok(sides);
        }
        let (mut count, mut size) = (self.len() as idx_t, 0);
        let _alone = DRAWING.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: as above; `weights` and `sides` have an entry for every node.
        let status = unsafe {
            metis_sys::METIS_ComputeVertexSeparator(
                &mut count,
                self.offsets.as_mut_ptr(),
                self.neighbours.as_mut_ptr(),
                self.weights.as_mut_ptr(),
                ptr::null_mut(),
                &mut size,
                sides.as_mut_ptr(),
            )
        };
        check(status)?;
        Ok(sides)
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }
}

fn check(status: i32) -> Result<()> {
    match status {
        metis_sys::rstatus_et_METIS_OK => Ok(()),
        metis_sys::rstatus_et_METIS_ERROR_MEMORY => {
            Err(Error::structure("METIS", "memory is short"))
        }
        other => Err(Error::structure(
            "METIS",
            format!("it ended with status {other}"),
        )),
    }
}

pub(super) fn too_large() -> Error {
    Error::structure("METIS", "the graph has more than 2^31 edges")
}

#[cfg(test)]
mod tests {
    use super::super::testing::{grid, odd_graphs};
    use super::*;

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
            let rows = pattern.size().rows;
            assert_eq!(recursive_bisection(&pattern, 1).unwrap().len(), rows);
        }
    }
}
