//! Breadth-first searches of the graph of a pattern.

use crate::error::check_square;
use crate::prelude::*;

/// The pattern of `A + A^T`.
pub(super) fn symmetrised(pattern: &Arc<Pattern>, component: &'static str) -> Result<Arc<Pattern>> {
    check_square(component, pattern.size())?;
    let transposed = pattern.transpose()?;
    if pattern.same_as(&transposed) {
        return Ok(Arc::clone(pattern));
    }
    pattern.union(&transposed)
}

/// What is searched, and which vertices were met.
pub(super) struct Search {
    graph: Arc<Pattern>,
    /// The search that met each vertex last.
    met: Vec<usize>,
    searches: usize,
}

/// Vertices by their distance from the first, and where each distance begins.
pub(super) type Levels = (Vec<u32>, Vec<usize>);

impl Search {
    pub fn new(graph: Arc<Pattern>) -> Self {
        Self {
            met: vec![0; graph.size().rows],
            searches: 0,
            graph,
        }
    }

    pub fn neighbours(&self, vertex: u32) -> &[u32] {
        &self.graph.columns()[self.graph.range(vertex as usize)]
    }

    pub fn degree(&self, vertex: u32) -> usize {
        self.graph.range(vertex as usize).len()
    }

    /// The vertices that can be reached by way of those inside.
    fn levels(&mut self, start: u32, is_inside: impl Fn(u32) -> bool) -> Levels {
        // Vertices met before are forgotten.
        self.searches += 1;
        self.met[start as usize] = self.searches;
        let (mut found, mut levels, mut next) = (vec![start], vec![0], 0);
        while next < found.len() {
            let end = found.len();
            levels.push(end);
            for place in next..end {
                for &other in &self.graph.columns()[self.graph.range(found[place] as usize)] {
                    let met = &mut self.met[other as usize];
                    if *met != self.searches && is_inside(other) {
                        *met = self.searches;
                        found.push(other);
                    }
                }
            }
            next = end;
        }
        (found, levels)
    }

    /// The same from a pseudo-peripheral vertex (George and Liu 1979), one that is about as far from some other as can be: of
    /// the farthest vertices the one with the least `key` is searched from, as long as distances grow.
    pub fn levels_from_rim<K: Ord>(
        &mut self,
        start: u32,
        is_inside: impl Fn(u32) -> bool + Copy,
        key: impl Fn(usize, u32) -> K,
    ) -> Levels {
        let (mut found, mut levels) = self.levels(start, is_inside);
        loop {
            let rim = found[levels[levels.len() - 2]..].iter().copied();
            let far = rim.min_by_key(|&vertex| key(self.degree(vertex), vertex));
            let (next, next_levels) = self.levels(far.unwrap_or(start), is_inside);
            if next_levels.len() <= levels.len() {
                return (found, levels);
            }
            (found, levels) = (next, next_levels);
        }
    }
}
