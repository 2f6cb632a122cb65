//! Fronts that eliminate nothing, and add up what many small ones leave for the same parent.

use crate::elimination::NONE;
use crate::symbolic::{Front, Symbolic};

/// What children leave is added up before it is so many times as large as their parent.
const LARGEST: usize = 8;

/// Children that wait to be added up, and how many numbers they leave.
#[derive(Default)]
struct Waiting {
    children: Vec<usize>,
    left: usize,
}

impl Symbolic {
    /// Puts collectors between fronts and their children where these leave much more than the front holds. Otherwise
    /// all of that would be in memory before it is added.
    pub(crate) fn add_collectors(&mut self) {
        let all = std::mem::take(&mut self.fronts);
        // Of every front those that have added up none, those that have added up such ones, and so on.
        let mut waiting: Vec<Vec<Waiting>> = Vec::new();
        waiting.resize_with(all.len(), Vec::new);
        let sizes: Vec<usize> = all.iter().map(|front| front.rows().pow(2)).collect();
        for (own, mut front) in all.into_iter().enumerate() {
            let children = std::mem::take(&mut waiting[own]).into_iter();
            let children: Vec<usize> = children.flat_map(|level| level.children).collect();
            let parent = std::mem::replace(&mut front.parent, NONE);
            let mut number = self.push(front, &children);
            if parent == NONE {
                continue;
            }
            let levels = &mut waiting[parent as usize];
            for level in 0.. {
                if levels.len() == level {
                    levels.push(Waiting::default());
                }
                let here = &mut levels[level];
                here.children.push(number);
                here.left += self.fronts[number].below.len().pow(2);
                if here.left < LARGEST * sizes[parent as usize] {
                    break;
                }
                number = self.collect(&std::mem::take(here).children);
            }
        }
    }

    /// Adds a front whose children are known.
    fn push(&mut self, mut front: Front, children: &[usize]) -> usize {
        let number = self.fronts.len();
        front.children = children.len();
        front.first = number;
        for &child in children {
            self.fronts[child].parent = number as u32;
            front.first = front.first.min(self.fronts[child].first);
        }
        self.fronts.push(front);
        number
    }

    /// Adds a front without pivots that has all rows of these children.
    fn collect(&mut self, children: &[usize]) -> usize {
        let below = |&child: &usize| &self.below[self.fronts[child].below.clone()];
        let mut all: Vec<u32> = children.iter().flat_map(below).copied().collect();
        all.sort_unstable();
        all.dedup();
        let (first, end) = (
            self.below.len(),
            self.fronts[self.fronts.len() - 1].pivots.end,
        );
        self.below.extend(all);
        let operations = children.iter().map(|&child| self.fronts[child].operations);
        let front = Front {
            pivots: end..end,
            below: first..self.below.len(),
            entries: 0..0,
            parent: NONE,
            children: 0,
            first: 0,
            operations: operations.sum(),
        };
        self.push(front, children)
    }
}
