//! Rows with the same pattern, where the numbering says nothing.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::evidence::{Evidence, Labels};
use super::{LARGEST, NO_ROW, Nodes, Numbering};
use crate::prelude::*;

/// Rows that are looked at first, and the least share of them that must have as many twins as most.
const SAMPLE: usize = 200;
const LEAST_SHARE: f64 = 0.4;
/// Nodes may lack this share of their unknowns.
const MOST_MISSING: f64 = 0.2;

/// The nodes of a matrix whose numbering has gaps: boundary conditions have removed some unknowns of a
/// node, not all. The rows of a node still have the same pattern, in whatever order they are. And the share of sums
/// that vanish.
pub(super) fn find<T: Scalar>(a: &Csr<T>) -> Option<(f64, Nodes)> {
    let block_size = twins_of_most(a)?;
    let groups = groups(a);
    let mut components = vec![NO_ROW; a.size().rows];
    for group in groups.iter().filter(|group| group.len() == block_size) {
        for (component, &row) in group.iter().enumerate() {
            components[row as usize] = component as u32;
        }
    }
    let found = assembled(a, block_size, &groups, &components);
    let missing = found.rows.len() - a.size().rows;
    let few = missing as f64 <= MOST_MISSING * found.rows.len() as f64;
    few.then_some(())?;
    let share = Evidence::of(a, &Placed::new(&found)).verdict()?;
    Some((share, found))
}

/// How many rows of the same pattern most rows belong to; all of them are entries of each.
fn twins_of_most<T: Scalar>(a: &Csr<T>) -> Option<usize> {
    let rows = a.size().rows;
    let sample = rows.min(SAMPLE);
    let mut counts = [0; LARGEST + 1];
    for number in 0..sample {
        let (columns, _) = a.row(number * rows / sample);
        let is_twin = |column: &&u32| a.row(**column as usize).0 == columns;
        let twins = columns.iter().filter(is_twin).count();
        if let Some(count) = counts.get_mut(twins) {
            *count += 1;
        }
    }
    let most = (2..=LARGEST).max_by_key(|twins| counts[*twins])?;
    (counts[most] as f64 >= LEAST_SHARE * sample as f64).then_some(most)
}

/// All rows by their pattern, in groups with rows in order, the groups by their first rows.
fn groups<T: Scalar>(a: &Csr<T>) -> Vec<Vec<u32>> {
    let hash = |row: usize| {
        let mut hasher = DefaultHasher::new();
        a.row(row).0.hash(&mut hasher);
        hasher.finish()
    };
    let hashes: Vec<u64> = a.map_rows(|| (), |(), row| hash(row));
    let mut order: Vec<u32> = (0..a.size().rows as u32).collect();
    order.sort_unstable_by_key(|&row| (hashes[row as usize], row));
    let alike = |x: &u32, y: &u32| {
        hashes[*x as usize] == hashes[*y as usize] && a.row(*x as usize).0 == a.row(*y as usize).0
    };
    let mut groups: Vec<Vec<u32>> = order.chunk_by(alike).map(<[u32]>::to_vec).collect();
    groups.sort_unstable_by_key(|group| group[0]);
    groups
}

/// Nodes of the groups. `components` are known of rows in groups of the right size.
fn assembled<T: Scalar>(
    a: &Csr<T>,
    block_size: usize,
    groups: &[Vec<u32>],
    components: &[u32],
) -> Nodes {
    let mut rows: Vec<u32> = Vec::with_capacity(components.len());
    let mut alone = Vec::new();
    for group in groups {
        if a.row(group[0] as usize).0.len() <= 1 {
            alone.extend(group);
            continue;
        }
        let first = rows.len();
        for &row in group {
            let component = match components[row as usize] {
                NO_ROW => likeliest(a, row as usize, components, block_size),
                known => known as usize,
            };
            // The first node of this group that has no such component yet.
            let mut place = first + component;
            while rows.get(place).is_some_and(|other| *other != NO_ROW) {
                place += block_size;
            }
            if place >= rows.len() {
                let nodes = place / block_size + 1;
                rows.resize(nodes * block_size, NO_ROW);
            }
            rows[place] = row;
        }
    }
    // Rows without any coupling go together, in whatever order.
    rows.extend(&alone);
    rows.resize(rows.len().next_multiple_of(block_size), NO_ROW);
    Nodes {
        block_size,
        numbering: Numbering::Mixed,
        rows,
        given: a.size().rows,
    }
}

/// The component to which a row is coupled most where all nodes beside its own move alike: all that is
/// left of the sum over the row is its own diagonal entry.
fn likeliest<T: Scalar>(a: &Csr<T>, row: usize, components: &[u32], block_size: usize) -> usize {
    let mut sums = [0.0_f64; LARGEST];
    let (columns, values) = a.row(row);
    for (&column, value) in columns.iter().zip(values) {
        if let Some(sum) = sums.get_mut(components[column as usize] as usize) {
            *sum += value.to_c64().re;
        }
    }
    let larger = |best: usize, next: usize| match sums[next].abs() > sums[best].abs() {
        true => next,
        false => best,
    };
    (0..block_size).fold(0, larger)
}

/// Nodes with the places of their rows.
struct Placed<'n> {
    nodes: &'n Nodes,
    places: Vec<u32>,
}

impl<'n> Placed<'n> {
    fn new(nodes: &'n Nodes) -> Self {
        Self {
            nodes,
            places: nodes.places(),
        }
    }
}

impl Labels for Placed<'_> {
    fn block_size(&self) -> usize {
        self.nodes.block_size
    }

    fn nodes(&self) -> usize {
        self.nodes.rows.len() / self.nodes.block_size
    }

    fn row(&self, node: usize, component: usize) -> Option<usize> {
        let row = self.nodes.rows[node * self.nodes.block_size + component];
        (row != NO_ROW).then_some(row as usize)
    }

    fn place(&self, row: usize) -> (usize, usize) {
        let (place, size) = (self.places[row] as usize, self.nodes.block_size);
        (place / size, place % size)
    }
}
