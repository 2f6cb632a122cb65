//! Nested dissection: numberings for factorisations with little fill.

use std::sync::Arc;

use super::search::{Search, symmetrised};
use super::{Pattern, Permutation};
use crate::error::Result;

/// Parts of so few vertices are not cut any more.
const LEAF: usize = 64;
/// A part that has more than this of the vertices it was cut from is not worth the cut.
const LOPSIDED: f64 = 0.9;

/// Nested dissection of a square pattern by level structures (George and Liu 1978).
///
/// A part of the graph of `A + A^T` is searched breadth first from a vertex at its rim. The vertices of the middle
/// distance that touch the next one separate the part; what is left on either side is cut again. Separators are numbered
/// after both sides, and small parts breadth first.
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
/// When the pattern is not square or memory is short.
pub fn nested_dissection(pattern: &Arc<Pattern>) -> Result<Permutation> {
    let graph = symmetrised(pattern, "nested dissection")?;
    let n = graph.size().rows;
    let mut parts = Parts::new(graph);
    let mut order = Vec::with_capacity(n);
    let mut left = vec![Task::Cut((0..n as u32).collect())];
    while let Some(task) = left.pop() {
        match task {
            Task::Number(vertices) => order.extend(vertices),
            Task::Cut(vertices) => parts.cut(vertices, &mut left),
        }
    }
    Permutation::new(order)
}

/// What is still to be done, the last first.
enum Task {
    Cut(Vec<u32>),
    Number(Vec<u32>),
}

struct Parts {
    search: Search,
    /// The part each vertex belongs to.
    part: Vec<u32>,
    last: u32,
}

impl Parts {
    fn new(graph: Arc<Pattern>) -> Self {
        Self {
            part: vec![0; graph.size().rows],
            search: Search::new(graph),
            last: 0,
        }
    }

    /// Makes vertices a part of their own.
    fn part_of(&mut self, vertices: &[u32]) {
        self.last += 1;
        for &vertex in vertices {
            self.part[vertex as usize] = self.last;
        }
    }

    /// Cuts one part, whose vertices are of no other.
    fn cut(&mut self, vertices: Vec<u32>, left: &mut Vec<Task>) {
        if vertices.is_empty() {
            return;
        }
        self.part_of(&vertices);
        let (part, last) = (&self.part, self.last);
        let is_inside = |vertex: u32| part[vertex as usize] == last;
        let search = &mut self.search;
        let (connected, levels) =
            search.levels_from_rim(vertices[0], is_inside, |degree, _| degree);
        if connected.len() < vertices.len() {
            self.part_of(&connected);
            let others = vertices.into_iter();
            let others = others.filter(|&vertex| self.part[vertex as usize] != self.last);
            left.push(Task::Cut(others.collect()));
            left.push(Task::Cut(connected));
            return;
        }
        let separated = self.separated(&connected, &levels);
        let size = connected.len() as f64;
        let is_worth_it = |cut: &[Vec<u32>; 3]| {
            let larger = cut[0].len().max(cut[1].len());
            (larger as f64) < LOPSIDED * size
        };
        match separated.filter(is_worth_it) {
            Some([before, after, separator]) if connected.len() > LEAF => {
                left.push(Task::Number(separator));
                left.push(Task::Cut(after));
                left.push(Task::Cut(before));
            }
            _ => left.push(Task::Number(connected)),
        }
    }

    /// What is nearer than the middle distance, what is farther, and what separates the two; none where there is
    /// no distance between the first and the last.
    fn separated(&mut self, found: &[u32], levels: &[usize]) -> Option<[Vec<u32>; 3]> {
        let inner = 1..levels.len().saturating_sub(2);
        let larger_side = |&level: &usize| levels[level].max(found.len() - levels[level + 1]);
        let middle = inner.min_by_key(larger_side)?;
        let (begin, end) = (levels[middle], levels[middle + 1]);
        let next = &found[end..levels[middle + 2]];
        self.search.meet(next);
        let touches = |&vertex: &u32| {
            let mut neighbours = self.search.neighbours(vertex).iter();
            neighbours.any(|&other| self.search.has_met(other))
        };
        let (separator, rest): (Vec<u32>, Vec<u32>) =
            found[begin..end].iter().copied().partition(touches);
        let before = found[..begin].iter().copied().chain(rest).collect();
        Some([before, found[end..].to_vec(), separator])
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{grid, odd_graphs};
    use super::*;
    use crate::executor::Executor;

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

    #[test]
    fn cliques_stars_and_single_vertices_are_numbered() {
        for pattern in odd_graphs() {
            let order = nested_dissection(&pattern).unwrap();
            assert_eq!(order.len(), pattern.size().rows);
        }
    }
}
