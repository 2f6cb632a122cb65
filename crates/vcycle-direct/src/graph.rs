//! The graph of a matrix: who is coupled with whom.

/// A symmetric graph without loops: the neighbours of every vertex.
#[derive(Clone, Debug)]
pub struct Graph {
    /// For every vertex the place of its first neighbour, and at the end their number.
    pub offsets: Vec<usize>,
    /// The neighbours, which increase for every vertex.
    pub neighbours: Vec<u32>,
}

impl Graph {
    /// Of `A + A^T`, where vertex `v` has the row `rows[v]` and the column `v`.
    pub(crate) fn symmetrised(offsets: &[usize], columns: &[u32], rows: &[u32]) -> Self {
        let edges = || {
            rows.iter().enumerate().flat_map(|(vertex, &row)| {
                let row = row as usize;
                let others = columns[offsets[row]..offsets[row + 1]].iter();
                others
                    .map(move |&other| (vertex, other as usize))
                    .filter(|(one, other)| one != other)
            })
        };
        let mut ends = vec![0; rows.len() + 1];
        for (one, other) in edges() {
            ends[one + 1] += 1;
            ends[other + 1] += 1;
        }
        for vertex in 0..rows.len() {
            ends[vertex + 1] += ends[vertex];
        }
        let mut next = ends.clone();
        let mut neighbours = vec![0; ends[rows.len()]];
        for (one, other) in edges() {
            for (from, to) in [(one, other), (other, one)] {
                neighbours[next[from]] = to as u32;
                next[from] += 1;
            }
        }
        Self::without_repeats(&ends, neighbours)
    }

    /// Sorts the neighbours of every vertex, and keeps one of those that are equal.
    fn without_repeats(ends: &[usize], mut neighbours: Vec<u32>) -> Self {
        let (mut offsets, mut kept) = (vec![0], 0);
        for bounds in ends.windows(2) {
            neighbours[bounds[0]..bounds[1]].sort_unstable();
            let first = kept;
            for place in bounds[0]..bounds[1] {
                if kept == first || neighbours[kept - 1] != neighbours[place] {
                    neighbours[kept] = neighbours[place];
                    kept += 1;
                }
            }
            offsets.push(kept);
        }
        neighbours.truncate(kept);
        Self {
            offsets,
            neighbours,
        }
    }

    /// The graph of groups of vertices: `group[v]` is that of vertex `v`.
    pub(crate) fn merged(&self, group: &[u32], groups: usize) -> Self {
        let mut ends = vec![0; groups + 1];
        for vertex in 0..self.len() {
            ends[group[vertex] as usize + 1] += self.of(vertex).len();
        }
        for place in 0..groups {
            ends[place + 1] += ends[place];
        }
        let mut next = ends.clone();
        let mut neighbours = vec![0; self.neighbours.len()];
        for vertex in 0..self.len() {
            let own = group[vertex];
            for &other in self.of(vertex) {
                let other = group[other as usize];
                if other != own {
                    neighbours[next[own as usize]] = other;
                    next[own as usize] += 1;
                }
            }
        }
        // Couplings inside a group leave gaps at its end.
        let mut filled = Vec::with_capacity(neighbours.len());
        let mut bounds = vec![0];
        for place in 0..groups {
            filled.extend_from_slice(&neighbours[ends[place]..next[place]]);
            bounds.push(filled.len());
        }
        Self::without_repeats(&bounds, filled)
    }

    /// How many vertices there are.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is no vertex.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The neighbours of a vertex.
    pub fn of(&self, vertex: usize) -> &[u32] {
        &self.neighbours[self.offsets[vertex]..self.offsets[vertex + 1]]
    }
}
