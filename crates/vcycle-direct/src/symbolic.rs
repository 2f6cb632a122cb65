//! What a factorisation does, found before values are looked at: the order, the fronts and where every entry goes.

use std::ops::Range;

use crate::elimination::{Elimination, Group, NONE, inverse};
use crate::graph::Graph;
use crate::order::Order;
use crate::{Failure, Pattern};

/// What the factorisations of all matrices of one pattern share.
///
/// Unknowns are numbered in the order of elimination, by *places*. Those that are eliminated together form a *front*: a dense
/// matrix with the rows of these pivots and of all rows below that their elimination changes (Duff and Reid 1983). What is left
/// of it after the elimination is added to the front of the next of these rows, its parent. Fronts are numbered so that
/// children come before their parent, the fronts of a subtree in one piece.
#[derive(Debug)]
pub struct Symbolic {
    /// The row of the matrix at every place.
    pub rows: Vec<u32>,
    /// The column of the matrix at every place.
    pub columns: Vec<u32>,
    /// Whether a row and its column are the same unknown, so that one half of a matrix is looked at.
    pub symmetric: bool,
    pub(crate) fronts: Vec<Front>,
    /// The places below the pivots of every front.
    pub(crate) below: Vec<u32>,
    /// The row that each of them is in the parent, where that eliminates all its pivots.
    pub(crate) targets: Vec<u32>,
    pub(crate) entries: Vec<Entry>,
    /// Entries of the matrix.
    pub(crate) nonzeros: usize,
}

/// Unknowns that are eliminated together.
#[derive(Clone, Debug)]
pub struct Front {
    /// The places that are eliminated.
    pub pivots: Range<usize>,
    /// The places below, as a part of all.
    pub(crate) below: Range<usize>,
    /// The entries of the matrix that are added here, as a part of all.
    pub(crate) entries: Range<usize>,
    /// The front that the rest is added to, or `NONE`.
    pub(crate) parent: u32,
    /// How many fronts have this one as parent.
    pub(crate) children: usize,
    /// The first front of the subtree.
    pub(crate) first: usize,
    /// Multiplications and additions of the subtree, about.
    pub(crate) operations: f64,
}

impl Front {
    /// Rows of the dense matrix.
    pub fn rows(&self) -> usize {
        self.pivots.len() + self.below.len()
    }

    /// How much work it is to look for pivots and to eliminate them, about.
    pub(crate) fn work(&self) -> f64 {
        (self.rows() as f64).powi(2) * self.pivots.len() as f64
    }

    /// The front that the rest of this one is added to.
    pub fn parent(&self) -> Option<usize> {
        (self.parent != NONE).then_some(self.parent as usize)
    }
}

/// Where an entry of the matrix goes: the row and column of a front.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Which entry it is.
    pub index: usize,
    /// The row.
    pub row: u32,
    /// The column; where one half of a matrix is looked at, the upper one.
    pub column: u32,
}

impl Symbolic {
    /// Of a matrix whose row `rows[v]` belongs to the unknown of column `v`.
    ///
    /// # Errors
    /// When memory is short.
    pub fn new(
        pattern: Pattern<'_>,
        rows: &[u32],
        symmetric: bool,
        order: Order<'_>,
    ) -> Result<Self, Failure> {
        let graph = Graph::symmetrised(pattern.offsets, pattern.columns, rows);
        let elimination = order.of(&graph)?;
        let groups = elimination.groups();
        let mut symbolic = Self {
            rows: elimination
                .order
                .iter()
                .map(|&v| rows[v as usize])
                .collect(),
            columns: elimination.order.clone(),
            symmetric,
            below: Vec::new(),
            targets: Vec::new(),
            entries: Vec::new(),
            nonzeros: pattern.columns.len(),
            fronts: Vec::with_capacity(groups.len()),
        };
        symbolic.add_fronts(&graph, &elimination, &groups);
        symbolic.add_collectors();
        symbolic.add_targets();
        symbolic.add_entries(pattern, &elimination);
        Ok(symbolic)
    }

    /// The fronts, children before parents.
    pub fn fronts(&self) -> &[Front] {
        &self.fronts
    }

    /// The places below the pivots of a front, and the rows that these are in the parent.
    pub fn below(&self, front: usize) -> (&[u32], &[u32]) {
        let below = self.fronts[front].below.clone();
        (&self.below[below.clone()], &self.targets[below])
    }

    /// The entries of the matrix that are added to a front.
    pub fn entries_of(&self, front: usize) -> &[Entry] {
        &self.entries[self.fronts[front].entries.clone()]
    }

    /// Rows of the matrix.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether the matrix has no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Numbers that the factors hold.
    pub fn fill(&self) -> usize {
        let both = if self.symmetric { 1 } else { 2 };
        let of = |front: &Front| {
            let pivots = front.pivots.len();
            pivots * pivots + both * pivots * front.below.len()
        };
        self.fronts.iter().map(of).sum()
    }

    /// Multiplications with additions that a factorisation takes, about.
    pub fn operations(&self) -> f64 {
        let once: f64 = self.roots().map(|front| front.operations).sum();
        if self.symmetric { once } else { 2.0 * once }
    }

    /// Numbers that are held at once while the matrix is factorised on one thread, the factors among them.
    pub fn peak(&self) -> usize {
        let (mut held, mut most) = (0, 0);
        let mut waiting: Vec<usize> = Vec::new();
        let both = if self.symmetric { 1 } else { 2 };
        for front in &self.fronts {
            let (pivots, below) = (front.pivots.len(), front.below.len());
            held += pivots * pivots + both * pivots * below + below * below;
            most = most.max(held);
            let children = waiting.len() - front.children;
            held -= waiting.drain(children..).sum::<usize>();
            if front.parent != NONE {
                waiting.push(below * below);
            }
        }
        most
    }

    fn roots(&self) -> impl Iterator<Item = &Front> {
        self.fronts.iter().filter(|front| front.parent == NONE)
    }

    fn add_fronts(&mut self, graph: &Graph, elimination: &Elimination, groups: &[Group]) {
        let mut front_of = vec![0_u32; self.len()];
        for (number, group) in groups.iter().enumerate() {
            front_of[group.columns.clone()].fill(number as u32);
        }
        let mut seen = vec![usize::MAX; self.len()];
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); groups.len()];
        for (number, group) in groups.iter().enumerate() {
            let (start, end) = (group.columns.start, group.columns.end);
            let first = self.below.len();
            let mut add = |below: &mut Vec<u32>, place: u32| {
                if place as usize >= end && seen[place as usize] != number {
                    seen[place as usize] = number;
                    below.push(place);
                }
            };
            let mut below = Vec::with_capacity(group.below);
            for &vertex in &elimination.order[start..end] {
                for &other in graph.of(vertex as usize) {
                    add(&mut below, elimination.places[other as usize]);
                }
            }
            let (mut operations, mut first_front) = (0.0, number);
            for &child in &children[number] {
                let child = &self.fronts[child as usize];
                operations += child.operations;
                first_front = first_front.min(child.first);
                for place in child.below.clone() {
                    add(&mut below, self.below[place]);
                }
            }
            below.sort_unstable();
            debug_assert_eq!(below.len(), group.below);
            let parent = below.first().map_or(NONE, |&next| front_of[next as usize]);
            if parent != NONE {
                children[parent as usize].push(number as u32);
            }
            for size in below.len()..below.len() + (end - start) {
                operations += (size as f64).powi(2);
            }
            self.below.extend(below);
            self.fronts.push(Front {
                pivots: start..end,
                below: first..self.below.len(),
                entries: 0..0,
                parent,
                children: children[number].len(),
                first: first_front,
                operations,
            });
        }
    }

    /// Finds where the rest of every front is added.
    fn add_targets(&mut self) {
        self.targets = vec![0; self.below.len()];
        let mut rows = vec![0_u32; self.len()];
        let mut waiting: Vec<usize> = Vec::new();
        for number in 0..self.fronts.len() {
            self.number_rows(number, &mut rows);
            let first = waiting.len() - self.fronts[number].children;
            for child in waiting.drain(first..) {
                for place in self.fronts[child].below.clone() {
                    self.targets[place] = rows[self.below[place] as usize];
                }
            }
            if self.fronts[number].parent != NONE {
                waiting.push(number);
            }
        }
    }

    /// Writes the row that each place of a front has there.
    fn number_rows(&self, number: usize, rows: &mut [u32]) {
        let front = &self.fronts[number];
        let below = self.below[front.below.clone()].iter();
        let places = front
            .pivots
            .clone()
            .chain(below.map(|&place| place as usize));
        for (row, place) in places.enumerate() {
            rows[place] = row as u32;
        }
    }

    fn add_entries(&mut self, pattern: Pattern<'_>, elimination: &Elimination) {
        let transposed = match self.symmetric {
            true => Transposed::default(),
            false => Transposed::of(pattern, &inverse(&self.rows)),
        };
        let mut rows = vec![0_u32; self.len()];
        for number in 0..self.fronts.len() {
            self.number_rows(number, &mut rows);
            let pivots = self.fronts[number].pivots.clone();
            let first = self.entries.len();
            for place in pivots.clone() {
                let own = (place - pivots.start) as u32;
                let row = self.rows[place] as usize;
                for index in pattern.offsets[row]..pattern.offsets[row + 1] {
                    let other = elimination.places[pattern.columns[index] as usize] as usize;
                    // Of pivots of this front a general matrix has both halves in the rows.
                    if other >= place || (!self.symmetric && other >= pivots.start) {
                        self.entries.push(Entry {
                            index,
                            row: own,
                            column: rows[other],
                        });
                    }
                }
                for &(other, index) in transposed.of_column(self.columns[place]) {
                    if other as usize >= pivots.end {
                        self.entries.push(Entry {
                            index,
                            row: rows[other as usize],
                            column: own,
                        });
                    }
                }
            }
            self.fronts[number].entries = first..self.entries.len();
        }
    }
}

/// The entries of columns: the place of the row, and which entry it is.
#[derive(Default)]
struct Transposed {
    offsets: Vec<usize>,
    entries: Vec<(u32, usize)>,
}

impl Transposed {
    fn of(pattern: Pattern<'_>, places: &[u32]) -> Self {
        let n = places.len();
        let mut offsets = vec![0; n + 1];
        for &column in pattern.columns {
            offsets[column as usize + 1] += 1;
        }
        for column in 0..n {
            offsets[column + 1] += offsets[column];
        }
        let mut next = offsets.clone();
        let mut entries = vec![(0, 0); pattern.columns.len()];
        for row in 0..n {
            for index in pattern.offsets[row]..pattern.offsets[row + 1] {
                let at = &mut next[pattern.columns[index] as usize];
                entries[*at] = (places[row], index);
                *at += 1;
            }
        }
        Self { offsets, entries }
    }

    fn of_column(&self, column: u32) -> &[(u32, usize)] {
        match self.offsets.is_empty() {
            true => &[],
            false => {
                let column = column as usize;
                &self.entries[self.offsets[column]..self.offsets[column + 1]]
            }
        }
    }
}
