use std::collections::BTreeSet;

use super::*;
use crate::multigrid::strength::{Strength, Symmetric};
use crate::multigrid::testing::{chain, csr};
use crate::prelude::*;

fn strong(spec: &str) -> Arc<Pattern> {
    Strength::default().graph(&csr(spec)).unwrap()
}

/// What coarsenings in pairs look at.
fn pairs_of<'g>(a: &'g Csr<f64>, near: &'g Nearby, rank: &'g Executor) -> Graph<'g> {
    Graph {
        a,
        strength: a.pattern(),
        aggregate_size: 2,
        weak_pairs: false,
        seed: 1,
        near,
        rank,
    }
}

/// The five-point Laplacian with every seventh row replaced by one of the identity, the columns
/// kept and zeros stored.
fn with_conditions(side: usize) -> Csr<f64> {
    let mut a = csr(&format!("poisson5:{side}"));
    for row in (0..side * side).step_by(7) {
        let range = a.pattern().range(row);
        let diagonal = a.row(row).0.binary_search(&(row as u32)).unwrap();
        let values = &mut a.values_mut()[range];
        values.fill(0.0);
        values[diagonal] = 1.0;
    }
    a
}

fn row(graph: &Pattern, row: usize) -> Vec<usize> {
    rounds::neighbours(graph, row).collect()
}

fn is_coarse(splitting: &Splitting) -> impl Fn(&usize) -> bool {
    |&row| splitting.coarse_index[row] != NONE
}

/// The numbers are 0, 1, ... in their order.
fn assert_numbered(splitting: &Splitting) {
    let numbers = splitting.coarse_index.iter().copied();
    let numbers = numbers.filter(|&index| index != NONE);
    assert!(numbers.eq(0..splitting.coarse_count as u32));
}

fn assert_covers(graph: &Pattern, splitting: &Splitting) {
    assert_numbered(splitting);
    for unknown in (0..graph.size().rows).filter(|row| !is_coarse(splitting)(row)) {
        let near = row(graph, unknown);
        let is_covered = near.is_empty() || near.iter().any(is_coarse(splitting));
        assert!(is_covered, "row {unknown}");
    }
}

fn assert_independent(graph: &Pattern, splitting: &Splitting) {
    for unknown in (0..graph.size().rows).filter(is_coarse(splitting)) {
        let beside = row(graph, unknown).iter().any(is_coarse(splitting));
        assert!(!beside, "row {unknown}");
    }
}

/// The same matrix on 1, 2 and 3 threads.
fn on_threads(a: &Csr<f64>) -> Vec<Csr<f64>> {
    let threads = (1..=3).map(|threads| Executor::cpu_with_threads(threads).unwrap());
    threads.map(|cpu| a.copy_to(&cpu).unwrap()).collect()
}

type Choose = fn(&Arc<Pattern>) -> Splitting;

const CHOICES: [Choose; 3] = [
    |graph| pmis(graph, 1).unwrap(),
    |graph| hmis(graph, 1).unwrap(),
    |graph| ruge_stueben(graph).unwrap(),
];

#[test]
fn choices_are_independent_and_cover_the_rest() {
    let specs = [
        "poisson5:20",
        "poisson9:13x9",
        "poisson27:7",
        "aniso5:15,0.001",
        "poisson5:1",
    ];
    for graph in specs.map(strong) {
        for choose in CHOICES {
            let splitting = choose(&graph);
            assert_covers(&graph, &splitting);
            assert_independent(&graph, &splitting);
        }
    }
}

#[test]
fn couplings_of_one_direction_are_covered_too() {
    let a = with_conditions(20);
    let conditions = Strength::default().graph(&a).unwrap();
    for graph in [&conditions, &strong("convdiff7:7,100")] {
        for choose in CHOICES {
            assert_covers(graph, &choose(graph));
        }
    }
    let splitting = pmis(&conditions, 1).unwrap();
    let mut alone = (0..400).step_by(7);
    assert!(alone.all(|row| splitting.coarse_index[row] == NONE));
}

#[test]
fn threads_change_no_choice() {
    let a = csr("poisson9:200");
    let graph = Strength::default().graph(&a).unwrap();
    for same in on_threads(&a) {
        let threaded = Strength::default().graph(&same).unwrap();
        for choose in CHOICES {
            assert_eq!(choose(&threaded), choose(&graph));
        }
        let both = |graph| aggressive(graph, 1).unwrap();
        assert_eq!(both(&threaded), both(&graph));
        assert_eq!(mis2(&threaded, 1).unwrap(), mis2(&graph, 1).unwrap());
        assert_eq!(pgm(&same, 4, 1).unwrap(), pgm(&a, 4, 1).unwrap());
    }
}

#[test]
fn seeds_make_a_difference() {
    let (a, graph) = (csr("poisson5:20"), strong("poisson5:20"));
    assert_ne!(pmis(&graph, 1).unwrap(), pmis(&graph, 2).unwrap());
    assert_ne!(mis2(&graph, 1).unwrap(), mis2(&graph, 2).unwrap());
    assert_ne!(pgm(&a, 2, 1).unwrap(), pgm(&a, 2, 2).unwrap());
}

#[test]
fn the_second_choice_is_among_the_first() {
    for spec in ["poisson7:10", "poisson5:2"] {
        let Aggressive { first, second } = aggressive(&strong(spec), 1).unwrap();
        assert_numbered(&second);
        let mut second_rows = (0..first.coarse_index.len()).filter(is_coarse(&second));
        assert!(second_rows.all(|row| is_coarse(&first)(&row)));
        assert!(second.coarse_count > 0);
        assert!(first.coarse_count == 2 || 2 * second.coarse_count < first.coarse_count);
    }
}

fn mean_size(aggregates: &Aggregates) -> f64 {
    let grouped = aggregates.aggregate.iter().filter(|&&group| group != NONE);
    grouped.count() as f64 / aggregates.count as f64
}

/// Every group has a member.
fn assert_groups(aggregates: &Aggregates) {
    let found: BTreeSet<u32> = aggregates.aggregate.iter().copied().collect();
    let groups = found.into_iter().filter(|&group| group != NONE);
    assert!(groups.eq(0..aggregates.count as u32));
}

#[test]
fn matching_does_not_stall_on_uniform_stencils() {
    for spec in ["poisson5:32", "poisson7:12", "poisson27:9"] {
        for (size, least) in [(2, 1.8), (4, 3.0), (8, 6.0)] {
            let aggregates = pgm(&csr(spec), size, 1).unwrap();
            assert_groups(&aggregates);
            let mean = mean_size(&aggregates);
            let most = 1.6 * size as f64;
            assert!((least..most).contains(&mean), "{spec} {size}: {mean}");
            assert!(!aggregates.aggregate.contains(&NONE));
        }
    }
}

#[test]
fn pairs_follow_the_strong_direction() {
    let aggregates = pgm(&csr("aniso5:16,0.01"), 4, 1).unwrap();
    let mut line_of = vec![None; aggregates.count];
    for (unknown, &group) in aggregates.aggregate.iter().enumerate() {
        let line = *line_of[group as usize].get_or_insert(unknown / 16);
        assert_eq!(line, unknown / 16);
    }
}

#[test]
fn weights_that_grow_along_a_line_do_not_stall_the_matching() {
    let a = chain(4000.0, (1..1000).map(f64::from));
    assert!(mean_size(&pgm(&a, 2, 1).unwrap()) > 1.8);
}

#[test]
fn conditions_are_nobodys_partner() {
    let a = with_conditions(21);
    let graph = Strength::Symmetric(Symmetric::default()).graph(&a).unwrap();
    let aggregates = pgm(&a, 2, 1).unwrap();
    let alone: Vec<usize> = (0..441).step_by(7).collect();
    for unknown in 0..441 {
        let near = row(&graph, unknown);
        let left_out = alone.contains(&unknown) || near.iter().all(|other| alone.contains(other));
        assert_eq!(
            aggregates.aggregate[unknown] == NONE,
            left_out,
            "row {unknown}"
        );
    }
    let diagonal = Csr::diagonal_matrix(&Executor::reference(), vec![1.0; 5]);
    assert_eq!(pgm(&diagonal, 4, 1).unwrap().count, 0);
}

#[test]
fn roots_are_far_apart_and_all_are_grouped() {
    for spec in ["poisson5:20", "poisson7:9", "aniso5:15,0.001"] {
        let graph = strong(spec);
        let aggregates = mis2(&graph, 1).unwrap();
        assert_groups(&aggregates);
        assert!(!aggregates.aggregate.contains(&NONE));
        // A root's neighbours are all in its group; a group has such a member.
        let mut rooted = vec![false; aggregates.count];
        for unknown in 0..graph.size().rows {
            let group = aggregates.aggregate[unknown];
            let near = row(&graph, unknown);
            let mut others = near.into_iter().map(|other| aggregates.aggregate[other]);
            rooted[group as usize] |= others.all(|other| other == group);
        }
        assert!(rooted.into_iter().all(|is_rooted| is_rooted));
        let shortest = if spec.starts_with("aniso5") { 2.5 } else { 4.0 };
        assert!(mean_size(&aggregates) > shortest);
    }
}

#[test]
fn nodes_without_strong_couplings_are_in_no_group() {
    let cpu = Executor::reference();
    let alone = Strength::default().graph(&Csr::identity(&cpu, 4)).unwrap();
    assert_eq!(mis2(&alone, 1).unwrap().aggregate, [NONE; 4]);
    assert_eq!(pmis(&alone, 1).unwrap().coarse_count, 0);
}

#[test]
fn wrong_parameters_are_refused() {
    let a = csr("poisson5:4");
    assert_refused!(pgm(&a, 3, 1), BadParameter { .. });
    assert_refused!(uniform(4, 0), BadParameter { .. });
}

#[test]
fn weak_pairs_are_made_where_they_are_asked_for() {
    // A chain whose ends are pairs; of the two in the middle each has its strong neighbour taken.
    let a = chain(2.0, [1.0, 0.9, 0.1, 0.9, 1.0].into_iter());
    let near = Nearby::default();
    assert_eq!(pgm(&a, 2, 1).unwrap().count, 2);
    for (weak_pairs, groups) in [(false, 2), (true, 3)] {
        let graph = Graph {
            weak_pairs,
            ..pairs_of(&a, &near, a.executor())
        };
        assert_eq!(Coarsening::Pgm.coarsen(&graph).unwrap().count(), groups);
    }
}

/// The example of `docs/add-a-coarsening.md`.
#[test]
fn the_example_chooses_over_ranks_what_it_chooses_without() {
    let whole = csr("poisson5:6");
    for ranks in [1, 2, 5] {
        on_parts(None, ranks, &whole, |rank, a| {
            let near = a.surrounded(1, 1)?;
            let (matrix, rows) = (&near.matrix, Nearby::of(&near.halo));
            let choice = (every_third::EVERY_THIRD.coarsen)(&pairs_of(matrix, &rows, rank))?;
            assert_eq!(choice.count(), 12);
            let CoarseUnknowns::Chosen(found) = choice.coarse else {
                panic!("it chooses");
            };
            for row in near.halo.own() {
                assert_eq!(is_coarse(&found)(&row), near.halo.global(row) % 3 == 0);
            }
            Ok(())
        });
    }
}
