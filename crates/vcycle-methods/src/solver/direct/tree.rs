//! The fronts of a symbolic factorisation as a device works on them.

use std::cmp::Reverse;
use std::sync::Arc;

use vcycle_direct::{Method, Order, Symbolic};

use super::preparation::{Matched, Structure, dissection, has_small_pivots, symbolic};
use crate::error::{Error, Result};
use crate::matrix::{Csr, Pattern, Permutation};
use crate::operations::multifrontal::FrontTree;
use crate::scalar::Field;

/// The tree of fronts of a matrix on the host.
///
/// Rows are moved and scaled by a matching where entries on the diagonal are small: there are no other pivots.
pub(super) fn tree<F: Field>(a: &Csr<F>, structure: Structure) -> Result<FrontTree> {
    let matched = match structure != Structure::PerhapsDefinite && has_small_pivots(a) {
        true => Matched::of(a, Method::Lu)?.0,
        false => Matched::none(a.size().rows),
    };
    let order = Order::Best(&dissection);
    let symbolic = symbolic(a.pattern(), &matched.rows, false, order)?;
    Ok(Numbered::new(&symbolic).tree(a.pattern(), &matched))
}

/// An order of little fill, by approximate minimum degree.
pub(crate) fn minimum_degree(pattern: &Arc<Pattern>) -> Result<Permutation> {
    let order = vcycle_direct::minimum_degree(pattern.offsets(), pattern.columns());
    let order = order.map_err(|_| Error::OutOfMemory {
        bytes: 12 * pattern.nonzeros(),
        executor: pattern.executor().name().to_owned(),
    })?;
    Permutation::new(order)
}

/// Levels from the leaves: a front comes after all that lead to it.
fn heights(symbolic: &Symbolic) -> Vec<usize> {
    let mut heights = vec![0; symbolic.fronts().len()];
    for (number, front) in symbolic.fronts().iter().enumerate() {
        if let Some(parent) = front.parent() {
            heights[parent] = heights[parent].max(heights[number] + 1);
        }
    }
    heights
}

/// Fronts in the order of a device: level after level, in each the largest first.
struct Numbered<'s> {
    symbolic: &'s Symbolic,
    order: Vec<usize>,
    levels: Vec<usize>,
}

impl<'s> Numbered<'s> {
    fn new(symbolic: &'s Symbolic) -> Self {
        let (heights, fronts) = (heights(symbolic), symbolic.fronts());
        let mut order: Vec<usize> = (0..fronts.len()).collect();
        order.sort_by_key(|&front| (heights[front], Reverse(fronts[front].pivots.len())));
        let last = heights.iter().max().map_or(0, |height| height + 1);
        let first = |level: usize| order.partition_point(|&front| heights[front] < level);
        Self {
            levels: (0..=last).map(first).collect(),
            symbolic,
            order,
        }
    }

    fn tree(&self, a: &Pattern, matched: &Matched) -> FrontTree {
        let (symbolic, fronts) = (self.symbolic, self.symbolic.fronts());
        let mut tree = FrontTree {
            levels: self.levels.clone(),
            ..FrontTree::default()
        };
        let mut children = vec![Vec::new(); fronts.len()];
        for (number, &front) in self.order.iter().enumerate() {
            let (below, targets) = symbolic.below(front);
            let front = &fronts[front];
            let pivots = front.pivots.clone();
            tree.sizes.push(front.rows() as u32);
            tree.pivots.push(pivots.len() as u32);
            tree.targets.extend(std::iter::repeat_n(0, pivots.len()));
            tree.unknowns.extend(pivots.map(|place| place as u32));
            tree.unknowns.extend(below);
            tree.targets.extend(targets);
            if let Some(parent) = front.parent() {
                children[parent].push(number as u32);
            }
        }
        tree.child_offsets.push(0);
        for &front in &self.order {
            tree.children.extend(&children[front]);
            tree.child_offsets.push(tree.children.len() as u32);
        }
        tree.entries = self.entries(a, matched);
        let scales =
            |of: &[u32], scales: &[f64]| of.iter().map(|&at| scales[at as usize]).collect();
        let [rows, columns] = &*matched.scales;
        tree.columns = (symbolic.columns.clone(), scales(&symbolic.columns, columns));
        tree.rows = (symbolic.rows.clone(), scales(&symbolic.rows, rows));
        tree
    }

    /// Where every entry of a matrix goes and what it is multiplied by.
    fn entries(&self, a: &Pattern, matched: &Matched) -> (Vec<usize>, Vec<f64>) {
        let mut places = vec![0; a.nonzeros()];
        let mut first = 0;
        for &front in &self.order {
            let size = self.symbolic.fronts()[front].rows();
            for entry in self.symbolic.entries_of(front) {
                places[entry.index] = first + entry.row as usize * size + entry.column as usize;
            }
            first += size * size;
        }
        let [rows, columns] = &*matched.scales;
        let scale = |row: usize| {
            let of_row = a.columns()[a.range(row)].iter();
            of_row.map(move |&column| rows[row] * columns[column as usize])
        };
        (places, (0..a.size().rows).flat_map(scale).collect())
    }
}
