//! Orders of elimination that make little fill.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::sparse::SymbolicSparseColMatRef;
use faer::sparse::linalg::amd;

use crate::elimination::{Elimination, NONE};
use crate::graph::Graph;
use crate::{Failure, NO_MEMORY};

/// An order of a graph by nested dissection, the vertex at every place; none where there is no such order.
pub type Dissection<'d> = &'d (dyn Fn(&Graph) -> Option<Vec<u32>> + Sync);

/// In which order unknowns are eliminated.
#[derive(Clone, Copy)]
pub enum Order<'o> {
    /// By minimum degree or nested dissection, whatever leads to fewer operations.
    Best(Dissection<'o>),
    /// The same, where unknowns have partners that are eliminated next to them, as constraints have: the partner of each, or
    /// the unknown itself.
    InPairs(&'o [u32], Dissection<'o>),
    /// By approximate minimum degree (Amestoy, Davis and Duff 1996).
    Degree,
    /// By nested dissection, or minimum degree where there is none.
    Dissection(Dissection<'o>),
}

impl Order<'_> {
    pub(crate) fn of(self, graph: &Graph) -> Result<Elimination, Failure> {
        match self {
            Self::Best(dissection) => best(graph, dissection),
            Self::InPairs(pairs, dissection) => in_pairs(graph, pairs, dissection),
            Self::Degree => Ok(Elimination::new(graph, &minimum_degree(graph)?)),
            Self::Dissection(dissection) => match dissection(graph) {
                Some(order) => Ok(Elimination::new(graph, &order)),
                None => Self::Degree.of(graph),
            },
        }
    }
}

/// Nested dissection takes about half the time of so many operations of a factorisation for every edge of the graph, and saves
/// half of them at best. It is looked at where minimum degree leads to more.
pub(crate) const OPERATIONS_FOR_EDGE: f64 = 2e4;

/// The order that leads to fewer operations: minimum degree or nested dissection.
fn best(graph: &Graph, dissection: Dissection<'_>) -> Result<Elimination, Failure> {
    let degree = Elimination::new(graph, &minimum_degree(graph)?);
    if degree.operations() < OPERATIONS_FOR_EDGE * graph.neighbours.len() as f64 {
        return Ok(degree);
    }
    let Some(order) = dissection(graph) else {
        return Ok(degree);
    };
    let dissected = Elimination::new(graph, &order);
    Ok(match dissected.operations() < degree.operations() {
        true => dissected,
        false => degree,
    })
}

/// An elimination where partners come one after the other: that of the graph of pairs.
fn in_pairs(
    graph: &Graph,
    pairs: &[u32],
    dissection: Dissection<'_>,
) -> Result<Elimination, Failure> {
    let mut group = vec![NONE; graph.len()];
    let mut members: Vec<[u32; 2]> = Vec::new();
    for vertex in 0..graph.len() {
        if group[vertex] == NONE {
            let partner = pairs[vertex];
            group[vertex] = members.len() as u32;
            group[partner as usize] = members.len() as u32;
            members.push([vertex as u32, partner]);
        }
    }
    let merged = graph.merged(&group, members.len());
    let mut order = Vec::with_capacity(graph.len());
    for &pair in &best(&merged, dissection)?.order {
        let [one, other] = members[pair as usize];
        order.push(one);
        if other != one {
            order.push(other);
        }
    }
    Ok(Elimination::new(graph, &order))
}

/// The approximate minimum degree order: the vertex at each place.
pub(crate) fn minimum_degree(graph: &Graph) -> Result<Vec<u32>, Failure> {
    let n = graph.len();
    let neighbours: Vec<usize> = graph.neighbours.iter().map(|&v| v as usize).collect();
    let pattern = SymbolicSparseColMatRef::new_checked(n, n, &graph.offsets, None, &neighbours);
    let (mut order, mut inverse) = (vec![0; n], vec![0; n]);
    let need = amd::order_scratch::<usize>(n, neighbours.len());
    let mut memory = MemBuffer::try_new(need).map_err(|_| NO_MEMORY)?;
    let stack = MemStack::new(&mut memory);
    amd::order(&mut order, &mut inverse, pattern, Default::default(), stack)
        .map_err(|_| NO_MEMORY)?;
    Ok(order.into_iter().map(|vertex| vertex as u32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_star_is_numbered_last() {
        let graph = Graph {
            offsets: vec![0, 4, 5, 6, 7, 8],
            neighbours: vec![1, 2, 3, 4, 0, 0, 0, 0],
        };
        let mut order = minimum_degree(&graph).unwrap();
        assert!(order[3..].contains(&0), "{order:?}");
        order.sort_unstable();
        assert_eq!(order, [0, 1, 2, 3, 4]);
    }
}
