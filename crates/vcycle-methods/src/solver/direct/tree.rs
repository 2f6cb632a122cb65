//! What a factorisation on a device does, found on the host before the values are looked at.

use std::cmp::Reverse;

use super::elimination::{Elimination, Group};
use crate::error::{Error, Result};
use crate::matrix::{Csr, Pattern, Permutation, Scaling, nested_dissection};
use crate::operations::multifrontal::FrontTree;
use crate::scalar::{Field, Real};

/// Pivots that a device eliminates between two launches, seconds of such a launch, and operations a second: which of two
/// orders is the faster one does not depend on them much.
const PANEL: usize = 32;
const LAUNCH: f64 = 5e-6;
const RATE: f64 = 5e11;

/// The tree of fronts of a matrix on the host.
///
/// Rows are moved and scaled by a matching unless the matrix is Hermitian with a positive diagonal, so that large entries
/// stand on the diagonal: there are no other pivots. Of nested dissection and minimum degree the order is taken
/// that a device needs less time with.
pub(super) fn tree<F: Field>(a: &Csr<F>, is_hermitian: bool) -> Result<FrontTree> {
    let (rows, scaling) = match is_hermitian && has_positive_diagonal(a) {
        true => unchanged(a.size().rows)?,
        false => {
            let matching = a.maximum_product_matching()?;
            (matching.rows, matching.scaling)
        }
    };
    let moved = a.permute_rows(&rows)?;
    let graph = moved.pattern().union(&*moved.pattern().transpose()?)?;
    let dissection = Elimination::new(&graph, nested_dissection(&graph)?.order());
    let degree = Elimination::new(&graph, minimum_degree(&graph)?.order());
    let (elimination, groups) = [dissection, degree]
        .map(|elimination| {
            let groups = elimination.groups();
            (elimination, groups)
        })
        .into_iter()
        .min_by(|one, other| cost(&one.1).total_cmp(&cost(&other.1)))
        .expect("there are two orders");
    let fronts = Numbered::new(&graph, &elimination, groups);
    Ok(fronts.tree(a.pattern(), &elimination, &rows, &scaling))
}

fn has_positive_diagonal<F: Field>(a: &Csr<F>) -> bool {
    let diagonal = a.diagonal();
    diagonal.iter().all(|value| value.real().to_f64() > 0.0)
}

fn unchanged(n: usize) -> Result<(Permutation, Scaling)> {
    let (rows, columns) = (vec![1.0; n], vec![1.0; n]);
    Ok((Permutation::identity(n)?, Scaling { rows, columns }))
}

/// An order of little fill, by approximate minimum degree.
pub(crate) fn minimum_degree(graph: &Pattern) -> Result<Permutation> {
    let columns: Vec<usize> = graph.columns().iter().map(|&c| c as usize).collect();
    let order = vcycle_direct::minimum_degree(graph.offsets(), &columns);
    let order = order.map_err(|_| Error::OutOfMemory {
        bytes: 8 * size_of_val(&columns[..]),
        executor: graph.executor().name().to_owned(),
    })?;
    Permutation::new(order.into_iter().map(|old| old as u32).collect())
}

/// The group of every column.
fn groups_of_columns(groups: &[Group]) -> Vec<usize> {
    let of = |(number, group): (usize, &Group)| std::iter::repeat_n(number, group.columns.len());
    groups.iter().enumerate().flat_map(of).collect()
}

/// Levels from the leaves: a group comes after all that lead to it.
fn heights(groups: &[Group], of_columns: &[usize]) -> Vec<usize> {
    let mut heights = vec![0; groups.len()];
    for (number, group) in groups.iter().enumerate() {
        if let Some(next) = group.next {
            let next = of_columns[next];
            heights[next] = heights[next].max(heights[number] + 1);
        }
    }
    heights
}

/// Seconds that a device is thought to take.
fn cost(groups: &[Group]) -> f64 {
    let heights = heights(groups, &groups_of_columns(groups));
    let mut most = vec![0; heights.iter().max().map_or(0, |height| height + 1)];
    let mut operations = 0.0;
    for (group, &height) in groups.iter().zip(&heights) {
        let pivots = group.columns.len();
        most[height] = pivots.max(most[height]);
        operations += 2.0 * pivots as f64 * ((pivots + group.below) as f64).powi(2);
    }
    let launches = |&most: &usize| 3 + 3 * most.div_ceil(PANEL);
    let launches: usize = most.iter().map(launches).sum();
    LAUNCH * launches as f64 + operations / RATE
}

/// The groups of columns with their rows, and their numbers as fronts.
struct Numbered {
    groups: Vec<Group>,
    of_columns: Vec<usize>,
    /// The rows below every group.
    below: Vec<Vec<u32>>,
    /// Groups in the order of fronts, and the first one of every level.
    order: Vec<usize>,
    levels: Vec<usize>,
}

impl Numbered {
    fn new(graph: &Pattern, elimination: &Elimination, groups: Vec<Group>) -> Self {
        let of_columns = groups_of_columns(&groups);
        let heights = heights(&groups, &of_columns);
        let mut order: Vec<usize> = (0..groups.len()).collect();
        order.sort_by_key(|&group| (heights[group], Reverse(groups[group].columns.len())));
        let last = heights.iter().max().map_or(0, |height| height + 1);
        let first = |level: usize| order.partition_point(|&group| heights[group] < level);
        let levels = (0..=last).map(first).collect();
        let below = rows_below(graph, elimination, &groups, &of_columns);
        Self {
            groups,
            of_columns,
            below,
            order,
            levels,
        }
    }

    fn size(&self, group: usize) -> usize {
        self.groups[group].columns.len() + self.below[group].len()
    }

    /// The row of a front that an unknown has.
    fn row_in(&self, group: usize, unknown: u32) -> usize {
        let columns = &self.groups[group].columns;
        match columns.contains(&(unknown as usize)) {
            true => unknown as usize - columns.start,
            false => {
                let at = self.below[group].binary_search(&unknown);
                columns.len() + at.expect("fronts have the rows of all that is added to them")
            }
        }
    }

    fn tree(
        &self,
        a: &Pattern,
        elimination: &Elimination,
        rows: &Permutation,
        scaling: &Scaling,
    ) -> FrontTree {
        let mut tree = FrontTree {
            levels: self.levels.clone(),
            ..FrontTree::default()
        };
        let mut children = vec![Vec::new(); self.groups.len()];
        for (number, &group) in self.order.iter().enumerate() {
            let pivots = self.groups[group].columns.len();
            tree.sizes.push(self.size(group) as u32);
            tree.pivots.push(pivots as u32);
            let own = self.groups[group].columns.clone();
            tree.unknowns.extend(own.map(|column| column as u32));
            tree.unknowns.extend(&self.below[group]);
            tree.targets.extend(std::iter::repeat_n(0, pivots));
            if let Some(next) = self.groups[group].next {
                let next = self.of_columns[next];
                children[next].push(number as u32);
                let target = |&row: &u32| self.row_in(next, row) as u32;
                tree.targets.extend(self.below[group].iter().map(target));
            }
        }
        tree.child_offsets.push(0);
        for &group in &self.order {
            tree.children.extend(&children[group]);
            tree.child_offsets.push(tree.children.len() as u32);
        }
        let taken = |vertex: &u32| rows.order()[*vertex as usize];
        let of_rows: Vec<u32> = elimination.order.iter().map(taken).collect();
        tree.entries = self.entries(a, elimination, &of_rows, scaling);
        let over = |divisors: &[f64], of: &[u32]| {
            of.iter().map(|&at| 1.0 / divisors[at as usize]).collect()
        };
        let columns = elimination.order.clone();
        tree.columns = (columns.clone(), over(&scaling.columns, &columns));
        let scales = over(&scaling.rows, &of_rows);
        tree.rows = (of_rows, scales);
        tree
    }

    /// Where every entry of a matrix goes and what it is multiplied by; `of_rows` are the rows of unknowns.
    fn entries(
        &self,
        a: &Pattern,
        elimination: &Elimination,
        of_rows: &[u32],
        scaling: &Scaling,
    ) -> (Vec<usize>, Vec<f64>) {
        let mut first = vec![0; self.groups.len()];
        let mut next = 0;
        for &group in &self.order {
            first[group] = next;
            next += self.size(group).pow(2);
        }
        let mut unknowns = vec![0; of_rows.len()];
        for (unknown, &row) in (0..).zip(of_rows) {
            unknowns[row as usize] = unknown;
        }
        let (mut places, mut scales) = (Vec::new(), Vec::new());
        for row in 0..of_rows.len() {
            for &column in &a.columns()[a.range(row)] {
                let (i, j) = (unknowns[row], elimination.places[column as usize]);
                let group = self.of_columns[i.min(j) as usize];
                let [i, j] = [i, j].map(|unknown| self.row_in(group, unknown));
                places.push(first[group] + i * self.size(group) + j);
                scales.push(1.0 / (scaling.rows[row] * scaling.columns[column as usize]));
            }
        }
        (places, scales)
    }
}

/// The rows below every group: those of its columns, and of the groups that lead to it.
fn rows_below(
    graph: &Pattern,
    elimination: &Elimination,
    groups: &[Group],
    of_columns: &[usize],
) -> Vec<Vec<u32>> {
    let mut seen = vec![usize::MAX; of_columns.len()];
    let mut below: Vec<Vec<u32>> = vec![Vec::new(); groups.len()];
    for (number, group) in groups.iter().enumerate() {
        // What groups before have left here is sorted and without duplicates below.
        let mut rows = std::mem::take(&mut below[number]);
        for &vertex in &elimination.order[group.columns.clone()] {
            let neighbours = &graph.columns()[graph.range(vertex as usize)];
            rows.extend(neighbours.iter().map(|&v| elimination.places[v as usize]));
        }
        rows.retain(|&row| {
            let is_new = std::mem::replace(&mut seen[row as usize], number) != number;
            row as usize >= group.columns.end && is_new
        });
        rows.sort_unstable();
        debug_assert_eq!(rows.len(), group.below);
        if let Some(next) = group.next {
            below[of_columns[next]].extend(&rows);
        }
        below[number] = rows;
    }
    below
}
