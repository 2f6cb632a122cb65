//! Greedy aggregation: roots of groups are taken in the order of the numbering.

use super::choice::Choice;
use super::registration::CoarseningRegistration;
use super::{Aggregates, CoarseUnknowns, NONE, check_square};
use crate::host_stages;
use crate::operations::on_host;
use crate::prelude::*;

/// Couplings with a group that a node beyond the neighbours of its root needs to be taken in.
const ENOUGH: u8 = 2;
/// How often a group takes in such nodes.
const ROUNDS: usize = 2;

pub(super) const GREEDY: CoarseningRegistration = CoarseningRegistration {
    name: "sa",
    summary: "Aggregation in the order of the numbering (Vaněk, Mandel and Brezina 1996, algorithm 5.1).",
    groups: true,
    reads: &["strength"],
    complex: true,
    on_host: &[host_stages::GREEDY],
    over_ranks: false,
    coarsen: |graph| {
        Ok(Choice::here(CoarseUnknowns::Grouped(greedy(
            graph.strength,
        )?)))
    },
};

/// Aggregation in the order of the numbering (Vaněk, Mandel and Brezina 1996, algorithm 5.1).
///
/// 1. A node none of whose neighbours is in a group yet becomes the root of one, which takes its
///    neighbours in. If no two of these are coupled, as with the five and seven points of
///    differences on a grid, the group is filled up by the free nodes with two couplings to it,
///    twice: crosses become squares and cubes.
/// 2. What is left joins the group that most of its neighbours belong to.
/// 3. What is still left makes groups with its free neighbours.
///
/// A node without strong couplings is left out. Whether the graph has its diagonal does not matter.
///
/// **Choose it** on CPUs for smoothed aggregation: one thread does it in less time than two
/// need for [`mis2`](super::mis2), and on grids the groups are boxes of three points a side,
/// which gives lower complexities. It makes no use of several threads.
///
/// ```
/// use vcycle::{executor::Executor, gallery, multigrid::{coarsen::greedy, strength::Strength}};
/// let a = gallery::build("poisson5:14", &Executor::cpu())?.matrix;
/// assert_eq!(greedy(&Strength::default().graph(&a)?)?.count, 25);
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// For a graph that is not square.
pub fn greedy(strength: &Arc<Pattern>) -> Result<Aggregates> {
    check_square("greedy aggregation", strength.size())?;
    on_host(strength.executor(), host_stages::GREEDY);
    let mut groups = GreedyGroups::new(strength);
    for node in 0..strength.size().rows {
        groups.found(node);
    }
    groups.join();
    groups.gather();
    Ok(Aggregates {
        aggregate: groups.of.into(),
        count: groups.count as usize,
    })
}

struct GreedyGroups<'a> {
    offsets: &'a [usize],
    columns: &'a [u32],
    /// For every node its group or [`NONE`].
    of: Vec<u32>,
    count: u32,
    /// For every node its couplings with the group under construction, zero between groups.
    couplings: Vec<u8>,
    /// The nodes with such couplings.
    met: Vec<u32>,
    /// Those that have joined the group last.
    latest: Vec<u32>,
}

impl<'a> GreedyGroups<'a> {
    fn new(graph: &'a Pattern) -> Self {
        let rows = graph.size().rows;
        Self {
            offsets: graph.offsets(),
            columns: graph.columns(),
            of: vec![NONE; rows],
            count: 0,
            couplings: vec![0; rows],
            met: Vec::new(),
            latest: Vec::new(),
        }
    }

    #[inline]
    fn neighbours(&self, node: usize) -> &'a [u32] {
        &self.columns[self.offsets[node]..self.offsets[node + 1]]
    }

    /// Whether a node has no couplings but, where the graph has its diagonal, one with itself.
    fn is_alone(&self, node: usize) -> bool {
        self.neighbours(node)
            .iter()
            .all(|&other| other as usize == node)
    }

    fn is_free(&self, node: u32) -> bool {
        self.of[node as usize] == NONE
    }

    /// Makes a node and its neighbours a group, if all of them are free.
    fn found(&mut self, root: usize) {
        let ring = self.neighbours(root);
        let free = self.is_free(root as u32) && ring.iter().all(|&node| self.is_free(node));
        if !free || self.is_alone(root) {
            return;
        }
        self.of[root] = self.count;
        ring.iter().for_each(|&n| self.of[n as usize] = self.count);
        self.fill(root, ring);
        self.count += 1;
    }

    /// Takes in free nodes around a ring of neighbours that are not coupled with each other.
    fn fill(&mut self, root: usize, ring: &[u32]) {
        let mut latest = std::mem::take(&mut self.latest);
        latest.clear();
        latest.extend(ring.iter().copied().filter(|&node| node as usize != root));
        for round in 0..ROUNDS {
            let within = self.meet(&latest, root);
            if round == 0 && within {
                break;
            }
            let enough = |&node: &u32| self.couplings[node as usize] >= ENOUGH;
            let joining = |node: &u32| self.is_free(*node) && enough(node);
            latest.clear();
            latest.extend(self.met.iter().copied().filter(joining));
            let joined = latest.iter();
            joined.for_each(|&n| self.of[n as usize] = self.count);
        }
        self.latest = latest;
        for node in self.met.drain(..) {
            self.couplings[node as usize] = 0;
        }
    }

    /// Counts the couplings of free nodes with `members`; whether those are coupled with any of
    /// the group but the root.
    fn meet(&mut self, members: &[u32], root: usize) -> bool {
        let mut within = false;
        for &member in members {
            for &node in self.neighbours(member as usize) {
                let group = self.of[node as usize];
                within |= group == self.count && node as usize != root && node != member;
                if group == NONE {
                    let count = &mut self.couplings[node as usize];
                    if *count == 0 {
                        self.met.push(node);
                    }
                    *count = count.saturating_add(1);
                }
            }
        }
        within
    }

    /// What is free joins the group most of its neighbours belong to, the first of several.
    fn join(&mut self) {
        let founded = self.of.clone();
        let mut around: Vec<u32> = Vec::new();
        for node in (0..founded.len()).filter(|&node| founded[node] == NONE) {
            around.clear();
            let groups = self.neighbours(node).iter().map(|&n| founded[n as usize]);
            around.extend(groups.filter(|&group| group != NONE));
            self.of[node] = most_common(&mut around).unwrap_or(NONE);
        }
    }

    /// What is still free makes groups with its free neighbours.
    fn gather(&mut self) {
        for node in 0..self.of.len() {
            let around = self.neighbours(node);
            if !self.is_free(node as u32) || self.is_alone(node) {
                continue;
            }
            self.of[node] = self.count;
            for &other in around {
                if self.is_free(other) {
                    self.of[other as usize] = self.count;
                }
            }
            self.count += 1;
        }
    }
}

/// The member that occurs most often, the smallest of several.
pub(crate) fn most_common(members: &mut [u32]) -> Option<u32> {
    members.sort_unstable();
    let runs = members.chunk_by(|a, b| a == b);
    runs.rev().max_by_key(|run| run.len()).map(|run| run[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::multigrid::coarsen::Nearby;
    use crate::multigrid::strength::{Mutual, Strength};
    use crate::multigrid::testing::{csr, of_triplets};

    fn groups(problem: &str) -> Aggregates {
        greedy(&Strength::default().graph(&csr(problem)).unwrap()).unwrap()
    }

    fn sizes(groups: &Aggregates) -> Vec<usize> {
        let mut sizes = vec![0; groups.count];
        let groups = groups.aggregate.iter();
        groups.for_each(|&group| sizes[group as usize] += 1);
        sizes
    }

    #[test]
    fn crosses_become_squares_and_cubes_which_full_stencils_are_already() {
        for (problem, count, size) in [
            ("poisson5:8", 9, 9),
            ("poisson7:8", 27, 27),
            ("poisson9:8", 9, 9),
            ("poisson27:8", 27, 27),
        ] {
            let groups = groups(problem);
            assert_eq!((groups.count, sizes(&groups)[count / 2]), (count, size));
        }
    }

    #[test]
    fn lines_follow_the_strong_couplings() {
        let groups = groups("aniso5:9,0.01");
        assert!((0..81).all(|i| groups.aggregate[i] / 3 == (i / 9) as u32));
    }

    #[test]
    fn everything_coupled_is_in_a_group() {
        for problem in ["poisson5:7", "poisson27:5", "jump7:16,1e6"] {
            let groups = groups(problem);
            let mut all = groups.aggregate.iter();
            assert!(all.all(|&group| (group as usize) < groups.count));
            assert!(sizes(&groups).iter().all(|&size| size > 0));
        }
    }

    #[test]
    fn the_diagonal_does_not_matter() {
        for problem in ["poisson5:7", "poisson27:5"] {
            let a = csr(problem);
            let measure = Strength::Mutual(Mutual::default());
            let all = measure.graph_near(&a, &Nearby::default(), true).unwrap();
            assert!(Arc::ptr_eq(&all, a.pattern()));
            let without = greedy(&measure.graph(&a).unwrap()).unwrap();
            assert_eq!(greedy(&all).unwrap().aggregate, without.aggregate);
        }
        let alone = Csr::<f64>::identity(&Executor::reference(), 2);
        assert_eq!(greedy(alone.pattern()).unwrap().count, 0);
    }

    #[test]
    fn any_number_of_couplings_can_be_counted() {
        // A root, its 300 neighbours, and a node that all of these are coupled with.
        let ring = || 1..301_u32;
        let pairs = ring().flat_map(|i| [(0, i), (i, 0), (i, 301), (301, i)]);
        let a = of_triplets(302, pairs.map(|(row, column)| (row, column, -1.0)));
        assert_eq!(greedy(a.pattern()).unwrap().count, 1);
    }

    #[test]
    fn the_most_common_is_the_smallest_of_several() {
        assert_eq!(most_common(&mut [3, 1, 3, 1, 2]), Some(1));
        assert_eq!(most_common(&mut []), None);
    }
}
