//! Reverse Cuthill-McKee: numberings of small bandwidth.

use super::Permutation;
use super::search::{Search, symmetrised};
use crate::prelude::*;

/// The reverse Cuthill-McKee order of a square pattern (Cuthill and McKee 1969, George 1971).
///
/// Each connected component of the graph of `A + A^T` is numbered breadth first, neighbours by
/// increasing degree, from a pseudo-peripheral vertex (George and Liu 1979); then all is reversed.
///
/// **Choose it** before incomplete factorisations and to gather memory accesses: neighbours in
/// the graph become neighbours in memory.
///
/// ```
/// use vcycle::{executor::Executor, linop::Size,
///              matrix::{Csr, Duplicates, reverse_cuthill_mckee}};
/// // The path 0 - 2 - 1.
/// let a = Csr::from_arrays(
///     &Executor::cpu(), Size::square(3),
///     vec![0, 1, 2, 4], vec![2, 2, 0, 1], vec![1.0; 4], Duplicates::Refuse,
/// )?;
/// let order = reverse_cuthill_mckee(a.pattern())?;
/// assert_eq!(a.pattern().bandwidth(), 2);
/// assert_eq!(a.permute_symmetric(&order)?.pattern().bandwidth(), 1);
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// When the pattern is not square or memory is short.
pub fn reverse_cuthill_mckee(pattern: &Arc<Pattern>) -> Result<Permutation> {
    let mut search = Search::new(symmetrised(pattern, "reverse Cuthill-McKee")?);
    let n = pattern.size().rows;
    let mut order = Vec::with_capacity(n);
    let mut placed = vec![false; n];
    for seed in 0..n as u32 {
        if !placed[seed as usize] {
            let by_degree = |degree: usize, vertex: u32| (degree, vertex);
            let (found, _) = search.levels_from_rim(seed, |_| true, by_degree);
            number_component(&search, found[0], &mut order, &mut placed);
        }
    }
    order.reverse();
    Permutation::new(order)
}

/// Appends the component of `root` in Cuthill-McKee order.
fn number_component(graph: &Search, root: u32, order: &mut Vec<u32>, placed: &mut [bool]) {
    let mut next = order.len();
    order.push(root);
    placed[root as usize] = true;
    while next < order.len() {
        let first = order.len();
        let new = |&&vertex: &&u32| !std::mem::replace(&mut placed[vertex as usize], true);
        order.extend(graph.neighbours(order[next]).iter().filter(new));
        order[first..].sort_by_key(|&vertex| (graph.degree(vertex), vertex));
        next += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{grid, uniform};
    use super::*;

    fn shuffled(n: usize) -> Permutation {
        let mut next = uniform(5);
        let mut order: Vec<u32> = (0..n as u32).collect();
        for last in (1..n).rev() {
            order.swap(last, (next() * (last + 1) as f64) as usize);
        }
        Permutation::new(order).unwrap()
    }

    #[test]
    fn a_shuffled_grid_gets_its_bandwidth_back() {
        let a = grid::<f64>(&Executor::reference(), 30);
        let mixed = a.permute_symmetric(&shuffled(900)).unwrap();
        let order = reverse_cuthill_mckee(mixed.pattern()).unwrap();
        let narrow = mixed.permute_symmetric(&order).unwrap();
        assert!(mixed.pattern().bandwidth() > 500);
        assert!(narrow.pattern().bandwidth() <= 31);
    }

    #[test]
    fn one_sided_patterns_and_components_are_ordered() {
        // Two grids, lower triangles only, interleaved, and an isolated vertex.
        let host = Executor::reference();
        let one = grid::<f64>(&host, 8).lower().unwrap();
        let (mut offsets, mut columns) = (vec![0], Vec::new());
        for copy in 0..2 {
            for row in 0..64 {
                columns.extend(one.row(row).0.iter().map(|c| c + 64 * copy));
                offsets.push(columns.len());
            }
        }
        offsets.push(columns.len());
        let values = vec![1.0; columns.len()];
        let size = crate::linop::Size::square(129);
        let a = Csr::from_canonical(&host, size, offsets, columns, values);
        let mixed = a.permute_symmetric(&shuffled(129)).unwrap();
        let order = reverse_cuthill_mckee(mixed.pattern()).unwrap();
        let narrow = mixed.permute_symmetric(&order).unwrap();
        assert!(narrow.pattern().bandwidth() <= 9);
    }

    #[test]
    fn rectangles_have_no_order_and_nothing_has_an_empty_one() {
        let host = Executor::reference();
        let empty = Csr::<f64>::identity(&host, 0);
        assert!(reverse_cuthill_mckee(empty.pattern()).unwrap().is_empty());
        let tall = super::super::testing::random::<f64>(&host, 3, 2, 0.5, 1);
        assert_refused!(reverse_cuthill_mckee(tall.pattern()), NotSquare { .. });
    }
}
