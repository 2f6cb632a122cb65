//! The elimination tree of a symmetric graph, and which of its columns are eliminated together.

use std::ops::Range;

use crate::graph::Graph;

/// No vertex.
pub(crate) const NONE: u32 = u32::MAX;
/// Subtrees of so few columns are eliminated together, whatever fill that adds.
const SMALL: usize = 16;
/// Up to so many columns a group may have this share of zeros; the last one is for all others.
const ZEROS: [(usize, f64); 4] = [(16, 0.6), (32, 0.4), (96, 0.15), (usize::MAX, 0.05)];

/// How a symmetric graph is eliminated in an order of its vertices (Liu 1990).
///
/// The order is changed to a postorder of the tree, which does not change the fill: a subtree then has consecutive
/// columns.
#[derive(Debug)]
pub(crate) struct Elimination {
    /// The vertex of every column.
    pub order: Vec<u32>,
    /// The column of every vertex.
    pub places: Vec<u32>,
    /// The next column on the way to the root.
    parents: Vec<u32>,
    /// Entries of the columns of `L` with the diagonal.
    counts: Vec<u32>,
}

/// Consecutive columns that are eliminated together.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// The columns.
    pub columns: Range<usize>,
    /// Rows below that their elimination changes.
    pub below: usize,
}

impl Elimination {
    pub fn new(graph: &Graph, order: &[u32]) -> Self {
        let places = inverse(order);
        let parents = parents(graph, order, &places);
        let post = postorder(&parents);
        let order: Vec<u32> = post.iter().map(|&old| order[old as usize]).collect();
        let renamed = inverse(&post);
        let parent = |&old: &u32| match parents[old as usize] {
            NONE => NONE,
            parent => renamed[parent as usize],
        };
        let parents: Vec<u32> = post.iter().map(parent).collect();
        let places = inverse(&order);
        let counts = counts(graph, &order, &places, &parents);
        Self {
            order,
            places,
            parents,
            counts,
        }
    }

    /// Multiplications and additions of a symmetric factorisation, about.
    pub fn operations(&self) -> f64 {
        self.counts
            .iter()
            .map(|&count| f64::from(count).powi(2))
            .sum()
    }

    /// The groups of columns, the first ones first.
    pub fn groups(&self) -> Vec<Group> {
        let mut entries = vec![0];
        for &count in &self.counts {
            entries.push(entries[entries.len() - 1] + u64::from(count));
        }
        let is_full = |columns: &Range<usize>| {
            let (size, below) = (columns.len() as u64, self.below(columns.end - 1) as u64);
            let all = size * (size + 1) / 2 + size * below;
            let zeros = all - (entries[columns.end] - entries[columns.start]);
            let allowed = ZEROS.iter().find(|(most, _)| columns.len() <= *most);
            zeros as f64 <= allowed.map_or(0.0, |allowed| allowed.1) * all as f64
        };
        let mut groups: Vec<Range<usize>> = Vec::new();
        for mut next in self.fundamental() {
            // The last group so far may be the end of a subtree below this one, or lead to the same rows.
            while let Some(last) = groups.last()
                && (self.parents[last.end - 1] as usize == next.start
                    || self.are_alike(last, &next))
                && is_full(&(last.start..next.end))
            {
                next.start = last.start;
                groups.pop();
            }
            groups.push(next);
        }
        let group = |columns: Range<usize>| Group {
            below: self.below(columns.end - 1),
            columns,
        };
        groups.into_iter().map(group).collect()
    }

    /// Whether two groups, the second of which has none below it, change all rows of the same parent and no others.
    fn are_alike(&self, one: &Range<usize>, other: &Range<usize>) -> bool {
        let [first, second] = [one, other].map(|group| group.end - 1);
        let parent = self.parents[first];
        parent != NONE
            && parent == self.parents[second]
            && self.counts[parent as usize] as usize == self.below(first)
            && self.below(first) == self.below(second)
    }

    fn below(&self, column: usize) -> usize {
        self.counts[column] as usize - 1
    }

    /// Small subtrees as a whole, and of the other columns those together that have the same rows below.
    fn fundamental(&self) -> Vec<Range<usize>> {
        let n = self.parents.len();
        let mut sizes = vec![1_usize; n];
        for column in 0..n {
            if self.parents[column] != NONE {
                sizes[self.parents[column] as usize] += sizes[column];
            }
        }
        let mut groups: Vec<Range<usize>> = Vec::new();
        for column in 0..n {
            let parent = self.parents[column];
            let is_small = |column: usize| sizes[column] <= SMALL;
            if is_small(column) {
                if parent == NONE || !is_small(parent as usize) {
                    groups.push(column + 1 - sizes[column]..column + 1);
                }
                continue;
            }
            let follows = column > 0
                && self.parents[column - 1] as usize == column
                && self.counts[column - 1] == self.counts[column] + 1;
            match groups.last_mut() {
                Some(last) if follows => last.end = column + 1,
                _ => groups.push(column..column + 1),
            }
        }
        groups
    }
}

pub(crate) fn inverse(order: &[u32]) -> Vec<u32> {
    let mut places = vec![0; order.len()];
    for (place, &vertex) in order.iter().enumerate() {
        places[vertex as usize] = place as u32;
    }
    places
}

/// The columns of the neighbours of a column.
fn coupled<'a>(
    graph: &'a Graph,
    order: &'a [u32],
    places: &'a [u32],
    column: usize,
) -> impl Iterator<Item = usize> + 'a {
    let neighbours = graph.of(order[column] as usize).iter();
    neighbours.map(|&vertex| places[vertex as usize] as usize)
}

/// The elimination tree, by paths that are shortened as they are walked.
fn parents(graph: &Graph, order: &[u32], places: &[u32]) -> Vec<u32> {
    let n = order.len();
    let (mut parents, mut ancestors) = (vec![NONE; n], vec![NONE; n]);
    for column in 0..n {
        for mut at in coupled(graph, order, places, column).filter(|&other| other < column) {
            while at < column {
                let next = std::mem::replace(&mut ancestors[at], column as u32);
                if next == NONE {
                    parents[at] = column as u32;
                    break;
                }
                at = next as usize;
            }
        }
    }
    parents
}

/// The columns of a forest so that every subtree comes in one piece, its root last.
fn postorder(parents: &[u32]) -> Vec<u32> {
    let n = parents.len();
    let (mut first, mut next) = (vec![NONE; n], vec![NONE; n]);
    let mut left = Vec::new();
    for column in (0..n).rev() {
        match parents[column] {
            NONE => left.push(column as u32),
            parent => next[column] = std::mem::replace(&mut first[parent as usize], column as u32),
        }
    }
    let mut order = Vec::with_capacity(n);
    while let Some(&column) = left.last() {
        match first[column as usize] {
            NONE => {
                order.push(column);
                left.pop();
            }
            child => {
                first[column as usize] = next[child as usize];
                left.push(child);
            }
        }
    }
    order
}

/// Entries of the columns of `L` in time that hardly exceeds that of looking at the graph (Gilbert, Ng and Peyton 1994).
///
/// Row `i` of `L` is the subtree that leads from the neighbours of `i` to `i`. A column counts the leaves of such subtrees
/// below it, less those of them that meet.
fn counts(graph: &Graph, order: &[u32], places: &[u32], parents: &[u32]) -> Vec<u32> {
    let n = order.len();
    let mut first: Vec<u32> = (0..n as u32).collect();
    let mut changes = vec![1_i64; n];
    for column in 0..n {
        if parents[column] != NONE {
            let parent = parents[column] as usize;
            first[parent] = first[parent].min(first[column]);
            changes[parent] = 0;
        }
    }
    // The last leaf that was seen of a row's subtree, and the first descendant of the leaves seen so far.
    let (mut leaves, mut seen) = (vec![NONE; n], vec![NONE; n]);
    let mut ancestors: Vec<u32> = (0..n as u32).collect();
    for column in 0..n {
        if parents[column] != NONE {
            changes[parents[column] as usize] -= 1;
        }
        for row in coupled(graph, order, places, column).filter(|&row| row > column) {
            if seen[row] != NONE && first[column] <= seen[row] {
                continue;
            }
            seen[row] = first[column];
            changes[column] += 1;
            let before = std::mem::replace(&mut leaves[row], column as u32);
            if before != NONE {
                changes[root(&mut ancestors, before)] -= 1;
            }
        }
        if parents[column] != NONE {
            ancestors[column] = parents[column];
        }
    }
    for column in 0..n {
        if parents[column] != NONE {
            changes[parents[column] as usize] += changes[column];
        }
    }
    changes.into_iter().map(|count| count as u32).collect()
}

/// The root of the tree that a column is in by now; paths are halved on the way.
fn root(ancestors: &mut [u32], mut column: u32) -> usize {
    while ancestors[column as usize] != column {
        let next = ancestors[ancestors[column as usize] as usize];
        ancestors[column as usize] = next;
        column = next;
    }
    column as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{grid, natural};

    /// Counts by the definition: every row marks the columns on the ways from its entries.
    fn counted(graph: &Graph, elimination: &Elimination) -> Vec<u32> {
        let n = graph.len();
        let (mut counts, mut seen) = (vec![1; n], vec![NONE; n]);
        for row in 0..n {
            seen[row] = row as u32;
            let entries = coupled(graph, &elimination.order, &elimination.places, row);
            for mut at in entries.filter(|&other| other < row) {
                while seen[at] != row as u32 {
                    seen[at] = row as u32;
                    counts[at] += 1;
                    at = elimination.parents[at] as usize;
                }
            }
        }
        counts
    }

    #[test]
    fn columns_are_counted() {
        let graph = grid(12, 9).graph();
        for order in [
            natural(graph.len()),
            crate::order::minimum_degree(&graph).unwrap(),
        ] {
            let elimination = Elimination::new(&graph, &order);
            assert_eq!(elimination.counts, counted(&graph, &elimination));
        }
        // A chain in its order: every column has one entry below.
        let chain = grid(5, 1).graph();
        let elimination = Elimination::new(&chain, &natural(5));
        assert_eq!(elimination.counts, [2, 2, 2, 2, 1]);
        assert_eq!(elimination.parents, [1, 2, 3, 4, NONE]);
    }

    #[test]
    fn groups_cover_all_columns() {
        let graph = grid(20, 20).graph();
        let order = crate::order::minimum_degree(&graph).unwrap();
        let groups = Elimination::new(&graph, &order).groups();
        let mut end = 0;
        for group in &groups {
            assert_eq!(group.columns.start, end);
            end = group.columns.end;
        }
        assert_eq!(end, 400);
        assert!(groups.len() < 80, "{}", groups.len());
    }

    #[test]
    fn groups_that_lead_to_the_same_rows_are_one() {
        // Forty unknowns without couplings between them, each with all of eight others.
        let edges = |vertex: u32| if vertex < 40 { 40..48 } else { 0..40 };
        let graph = Graph {
            offsets: (0..=48)
                .map(|v: usize| 8 * v.min(40) + 40 * v.saturating_sub(40))
                .collect(),
            neighbours: (0..48).flat_map(edges).collect(),
        };
        let groups = Elimination::new(&graph, &natural(48)).groups();
        assert!(groups.len() <= 6, "{groups:?}");
        assert_eq!(groups[0].below, 8);
    }
}
