//! Nested dissection: orders of graphs with little fill.

use std::sync::Arc;

use super::metis::{Graph, too_large};
use super::search::symmetrised;
use super::{Pattern, Permutation};
use crate::error::Result;

/// Graphs of so few nodes are not cut.
const LEAF: usize = 128;
/// Words of the sets of nodes of such a graph.
const WORDS: usize = LEAF / 64;
/// Graphs of so many nodes are worth a thread of their own.
const SHARED: usize = 1_000;

/// Nested dissection (George 1973) of a square pattern.
///
/// A few vertices separate the graph of `A + A^T` into parts of about the same size, which are cut again. Separators are
/// numbered after both sides. METIS (Karypis and Kumar 1998) finds them. Small parts are numbered by minimum degree.
///
/// **Choose it** before factorisations with much fill, and where triangular solves are to have few levels: the sides
/// of a separator do not depend on each other.
///
/// ```
/// use vcycle::{executor::Executor, gallery, matrix::nested_dissection};
/// let a = gallery::build("poisson5:20", &Executor::cpu())?.matrix;
/// let order = nested_dissection(a.pattern())?;
/// assert_eq!(order.len(), 400);
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// When the pattern is not square, or has more entries than METIS can count (2^31), or memory is short.
pub fn nested_dissection(pattern: &Arc<Pattern>) -> Result<Permutation> {
    let symmetric = symmetrised(pattern, "nested dissection")?;
    let (mut offsets, mut neighbours) = (vec![0], Vec::with_capacity(symmetric.columns().len()));
    for vertex in 0..symmetric.size().rows {
        let others = symmetric.columns()[symmetric.range(vertex)].iter();
        neighbours.extend(others.filter(|&&other| other as usize != vertex));
        offsets.push(neighbours.len());
    }
    let order = match pattern.executor().on_host().pool() {
        Some(pool) => pool.install(|| dissect(&offsets, &neighbours)),
        None => dissect(&offsets, &neighbours),
    };
    Permutation::new(order?)
}

/// The same of a symmetric graph without edges from a vertex to itself: the vertex at every place. It does not depend on the
/// number of threads, those of the pool that this is called in.
///
/// # Errors
/// As those of [`nested_dissection`].
pub fn dissect(offsets: &[usize], neighbours: &[u32]) -> Result<Vec<u32>> {
    i32::try_from(neighbours.len()).map_err(|_| too_large())?;
    let groups = Groups::of(offsets, neighbours);
    let graph = groups.graph(offsets, neighbours);
    let names: Vec<u32> = (0..graph.len() as u32).collect();
    let mut order = vec![0; graph.len()];
    number(graph, names, &mut order)?;
    let members = order.iter().flat_map(|&group| groups.members(group));
    Ok(members.copied().collect())
}

/// Vertices that are neighbours of each other and have the same neighbours besides, as unknowns of one node have: one stands
/// for all.
struct Groups {
    /// The group of every vertex.
    of: Vec<u32>,
    offsets: Vec<usize>,
    members: Vec<u32>,
}

impl Groups {
    fn of(offsets: &[usize], neighbours: &[u32]) -> Self {
        let n = offsets.len() - 1;
        let others = |vertex: u32| {
            let vertex = vertex as usize;
            &neighbours[offsets[vertex]..offsets[vertex + 1]]
        };
        // What is equal for vertices that have the same neighbours, and hardly ever for others.
        let sums: Vec<(usize, u64)> = (0..n as u32)
            .map(|vertex| {
                let all = others(vertex).iter().chain([&vertex]);
                let sum = all.fold(0, |sum: u64, &other| sum.wrapping_add(scattered(other)));
                (others(vertex).len(), sum)
            })
            .collect();
        let mut groups = Self {
            of: vec![u32::MAX; n],
            offsets: vec![0],
            members: Vec::with_capacity(n),
        };
        for vertex in 0..n as u32 {
            if groups.of[vertex as usize] != u32::MAX {
                continue;
            }
            let group = groups.offsets.len() as u32 - 1;
            let like = others(vertex)
                .iter()
                .filter(|&&other| other > vertex && sums[other as usize] == sums[vertex as usize]);
            for &member in [&vertex].into_iter().chain(like) {
                groups.of[member as usize] = group;
                groups.members.push(member);
            }
            groups.offsets.push(groups.members.len());
        }
        groups
    }

    fn members(&self, group: u32) -> &[u32] {
        let group = group as usize;
        &self.members[self.offsets[group]..self.offsets[group + 1]]
    }

    /// The graph of groups. A group has the neighbours of its first vertex; of every other group the first vertex counts.
    fn graph(&self, offsets: &[usize], neighbours: &[u32]) -> Graph {
        let count = self.offsets.len() - 1;
        let mut graph = Graph {
            offsets: vec![0],
            ..Graph::default()
        };
        for group in 0..count as u32 {
            let members = self.members(group);
            let first = members[0] as usize;
            let others = neighbours[offsets[first]..offsets[first + 1]].iter();
            let groups = others.filter_map(|&other| {
                let to = self.of[other as usize];
                (to != group && self.members(to)[0] == other).then_some(to as i32)
            });
            graph.neighbours.extend(groups);
            graph.offsets.push(graph.neighbours.len() as i32);
            graph.weights.push(members.len() as i32);
        }
        graph
    }
}

/// Bits that look random.
fn scattered(number: u32) -> u64 {
    let mixed = (u64::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// Writes the names of nodes in the order of their elimination.
fn number(mut graph: Graph, names: Vec<u32>, order: &mut [u32]) -> Result<()> {
    if graph.len() <= LEAF {
        by_minimum_degree(&graph, &names, order);
        return Ok(());
    }
    let sides = graph.separated()?;
    let [one, other] = [0, 1].map(|side| part(&graph, &names, &sides, side));
    let between = names.iter().zip(&sides).filter(|(_, side)| **side == 2);
    let between: Vec<u32> = between.map(|(&name, _)| name).collect();
    drop((graph, sides));
    if one.1.is_empty() || other.1.is_empty() {
        // Nothing separates such a graph.
        order.copy_from_slice(&[one.1, other.1, between].concat());
        return Ok(());
    }
    let (first, rest) = order.split_at_mut(one.1.len());
    let (second, last) = rest.split_at_mut(other.1.len());
    last.copy_from_slice(&between);
    let is_large = one.1.len().min(other.1.len()) > SHARED;
    let (one, other) = (
        move || number(one.0, one.1, first),
        move || number(other.0, other.1, second),
    );
    match is_large {
        true => {
            let (one, other) = rayon::join(one, other);
            one.and(other)
        }
        false => one().and_then(|()| other()),
    }
}

/// One side of a graph, and the names of its nodes.
fn part(graph: &Graph, names: &[u32], sides: &[i32], side: i32) -> (Graph, Vec<u32>) {
    let is_inside = |node: &usize| sides[*node] == side;
    let mut places = vec![0; graph.len()];
    for (place, node) in (0..graph.len()).filter(is_inside).enumerate() {
        places[node] = place as i32;
    }
    let mut made = Graph {
        offsets: vec![0],
        ..Graph::default()
    };
    let mut own = Vec::new();
    for node in (0..graph.len()).filter(is_inside) {
        let others = graph.of(node).iter().map(|&other| other as usize);
        let inside = others.filter(is_inside).map(|other| places[other]);
        made.neighbours.extend(inside);
        made.offsets.push(made.neighbours.len() as i32);
        made.weights.push(graph.weights[node]);
        own.push(names[node]);
    }
    (made, own)
}

/// The same for a small graph: each time the node with the fewest neighbours, which become neighbours of each other.
fn by_minimum_degree(graph: &Graph, names: &[u32], order: &mut [u32]) {
    let mut beside = vec![[0_u64; WORDS]; graph.len()];
    for (node, set) in beside.iter_mut().enumerate() {
        for &other in graph.of(node) {
            set[other as usize / 64] |= 1 << (other % 64);
        }
    }
    let count = |set: &[u64; WORDS]| set.iter().map(|word| word.count_ones()).sum::<u32>();
    let mut degrees: Vec<u32> = beside.iter().map(count).collect();
    for place in order {
        let Some(node) = (0..degrees.len()).min_by_key(|&node| degrees[node]) else {
            return;
        };
        *place = names[node];
        degrees[node] = u32::MAX;
        let others = beside[node];
        for word in 0..WORDS {
            let mut bits = others[word];
            while bits != 0 {
                let other = 64 * word + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let set = &mut beside[other];
                for (own, new) in set.iter_mut().zip(&others) {
                    *own |= new;
                }
                set[node / 64] &= !(1 << (node % 64));
                set[other / 64] &= !(1 << (other % 64));
                degrees[other] = count(set);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{grid, odd_graphs};
    use super::*;
    use crate::executor::Executor;

    #[test]
    fn cliques_stars_and_single_vertices_are_numbered() {
        for pattern in odd_graphs() {
            let rows = pattern.size().rows;
            assert_eq!(nested_dissection(&pattern).unwrap().len(), rows);
        }
    }

    /// Entries of the Cholesky factor, by elimination of the graph.
    fn fill(pattern: &Pattern, order: &Permutation) -> usize {
        let n = order.len();
        let place = order.inverse();
        let neighbours = |old: u32| pattern.columns()[pattern.range(old as usize)].iter();
        let mut later: Vec<Vec<u32>> = (0..n)
            .map(|new| {
                let places = neighbours(order.order()[new]).map(|&old| place.order()[old as usize]);
                places.filter(|&other| other as usize > new).collect()
            })
            .collect();
        for new in 0..n {
            later[new].sort_unstable();
            later[new].dedup();
            if let Some((&first, rest)) = later[new].clone().split_first() {
                later[first as usize].extend(rest);
            }
        }
        later.iter().map(Vec::len).sum()
    }

    #[test]
    fn separators_save_fill() {
        let a = grid::<f64>(&Executor::reference(), 40);
        let order = nested_dissection(a.pattern()).unwrap();
        let natural = Permutation::identity(1600).unwrap();
        let (cut, plain) = (fill(a.pattern(), &order), fill(a.pattern(), &natural));
        assert!(2 * cut < plain, "{cut} {plain}");
    }
}
