//! Coarse unknowns in the neighbourhood of a fine one.

use crate::multigrid::coarsen::NONE;
use crate::prelude::*;

/// A neighbourhood with more unknowns than this grows no further.
const LARGEST: usize = 3000;

/// Unknowns at a growing distance from one, along the graph of strong couplings.
#[derive(Default)]
pub(super) struct Neighbours {
    is_met: Vec<bool>,
    /// In the order they were met, the unknown itself first.
    met: Vec<u32>,
    /// Where those at the current distance begin.
    front: usize,
    /// The coarse ones among them, in the order they were met.
    pub(super) coarse: Vec<u32>,
}

impl Neighbours {
    /// Begins with unknown `i` alone.
    pub(super) fn start(&mut self, unknowns: usize, i: usize) {
        self.is_met.resize(unknowns, false);
        for &other in &self.met {
            self.is_met[other as usize] = false;
        }
        self.met.clear();
        self.coarse.clear();
        self.front = 0;
        self.met.push(i as u32);
        self.is_met[i] = true;
    }

    /// Adds those that are one step further away; says whether there are any.
    pub(super) fn grow(&mut self, strength: &Pattern, coarse_index: &[u32]) -> bool {
        let end = self.met.len();
        if end > LARGEST {
            return false;
        }
        for place in self.front..end {
            for &other in &strength.columns()[strength.range(self.met[place] as usize)] {
                if !std::mem::replace(&mut self.is_met[other as usize], true) {
                    self.met.push(other);
                    if coarse_index[other as usize] != NONE {
                        self.coarse.push(other);
                    }
                }
            }
        }
        self.front = end;
        self.met.len() > end
    }
}
