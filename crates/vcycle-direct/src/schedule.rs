//! Which fronts are worked on at the same time.

use std::ops::Range;

use crate::elimination::NONE;
use crate::symbolic::Symbolic;

/// Subtrees for every thread, so that none waits long for the last.
const SUBTREES: f64 = 4.0;
/// Operations that are worth a task of their own.
const WORTHWHILE: f64 = 2e5;

/// Subtrees that one thread works on each, and the fronts above, in levels of those that need not wait for each other.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// The fronts of every subtree, whose last is its root.
    pub subtrees: Vec<Range<usize>>,
    /// The fronts above.
    pub levels: Vec<Vec<usize>>,
}

impl Schedule {
    pub fn new(symbolic: &Symbolic, threads: usize) -> Self {
        let fronts = &symbolic.fronts;
        if threads == 1 {
            return Self::whole(fronts.len());
        }
        let all: f64 = fronts
            .iter()
            .filter(|front| front.parent == NONE)
            .map(|front| front.operations)
            .sum();
        let limit = (all / (SUBTREES * threads as f64)).max(WORTHWHILE);
        let is_below = |front: usize| fronts[front].operations <= limit;
        let (mut subtrees, mut levels) = (Vec::<Range<usize>>::new(), Vec::<Vec<usize>>::new());
        let mut heights = vec![0; fronts.len()];
        for (number, front) in fronts.iter().enumerate() {
            let parent = front.parent;
            if is_below(number) {
                if parent == NONE || !is_below(parent as usize) {
                    subtrees.push(front.first..number + 1);
                }
                continue;
            }
            let height = heights[number];
            if levels.len() <= height {
                levels.resize(height + 1, Vec::new());
            }
            levels[height].push(number);
            if parent != NONE {
                heights[parent as usize] = heights[parent as usize].max(height + 1);
            }
        }
        Self { subtrees, levels }
    }

    /// Of one thread.
    fn whole(fronts: usize) -> Self {
        Self {
            subtrees: std::iter::once(0..fronts).collect(),
            levels: Vec::new(),
        }
    }
}
