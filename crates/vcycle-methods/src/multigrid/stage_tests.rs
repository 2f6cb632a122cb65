//! The stages of multigrid on a CPU OpenCL device, compared with those of the host.

use crate::gallery;
use crate::multigrid::Interpolation;
use crate::multigrid::coarsen::{self, Aggregates, Splitting};
use crate::multigrid::interpolate::{self, Truncation};
use crate::multigrid::testing::*;
use crate::prelude::*;

/// Small problems with even and uneven couplings, of one sign and of both.
fn problems() -> Vec<Csr<f64>> {
    let specs = "poisson5:9 poisson27:4 jump7:5,1e6 aniso5:9,0.01 convdiff7:4,100";
    let all = specs.split(' ').map(csr);
    all.chain([scattered(90, 9)]).collect()
}

/// A matrix of symmetric pattern and values of both signs, rows of very different lengths.
fn scattered(n: u32, per_row: u32) -> Csr<f64> {
    let hash = |i: u32, k: u32| (i * 31 + k).wrapping_mul(0x9e37_79b1) >> 7;
    let mut triplets = Vec::new();
    for i in 0..n {
        let count = if i == 3 { n } else { hash(i, 0) % per_row };
        for k in 0..count {
            let j = hash(i, k + 1) % n;
            let value = -1.0 - f64::from(hash(k, j) % 7) * 0.5 + f64::from(hash(j, i) % 4);
            triplets.extend([(i, j, value), (j, i, value)]);
        }
        triplets.push((i, i, 40.0));
    }
    of_triplets(n as usize, triplets)
}

/// Every problem with its graphs by the first `count` measures, on the host and on the device.
fn for_each_problem(count: usize, check: impl Fn([(&Csr<f64>, &Arc<Pattern>); 2])) {
    let Some(executor) = device() else { return };
    for a in problems() {
        let copy = a.copy_to(&executor).unwrap();
        for strength in &strengths()[..count] {
            let (here, there) = (strength.graph(&a).unwrap(), strength.graph(&copy).unwrap());
            check([(&a, &here), (&copy, &there)]);
        }
    }
}

/// Equal patterns, and values up to rounding.
fn assert_close(found: &Csr<f64>, expected: &Csr<f64>) {
    assert_matrices_near(found, expected, 1e-12);
}

#[test]
fn strong_couplings_are_the_same() {
    for_each_problem(4, |[(_, here), (_, there)]| {
        assert_eq!(there.offsets(), here.offsets());
        assert_eq!(there.columns(), here.columns());
    });
}

#[test]
fn choices_and_groups_are_the_same() {
    for_each_problem(2, |[(a, here), (copy, there)]| {
        for seed in [0, 1] {
            let pmis = |graph| coarsen::pmis(graph, seed).unwrap();
            assert_eq!(pmis(there), pmis(here));
            let mis2 = |graph| coarsen::mis2(graph, seed).unwrap();
            assert_eq!(mis2(there), mis2(here));
            let aggressive = |graph| coarsen::aggressive(graph, seed).unwrap();
            assert_eq!(aggressive(there), aggressive(here));
        }
        for size in [2, 4, 8] {
            let pgm = |a| coarsen::pgm(a, size, 1).unwrap();
            assert_eq!(pgm(copy), pgm(a));
        }
    });
}

#[test]
fn prolongations_from_chosen_unknowns_are_the_same() {
    let methods = ["direct", "classical", "extended", "extended+i", "hybrid"];
    let mut by_factor = Truncation::none();
    by_factor.factor = 0.3;
    for_each_problem(2, |[(a, here), (copy, there)]| {
        let splitting = coarsen::pmis(here, 1).unwrap();
        for method in methods {
            for truncation in [&Truncation::none(), &Truncation::default(), &by_factor] {
                let method: Interpolation = method.parse().unwrap();
                let made = |a, graph| {
                    method
                        .prolongation(a, graph, &splitting, truncation)
                        .unwrap()
                };
                assert_close(&made(copy, there), &made(a, here));
            }
        }
        let twice = coarsen::aggressive(here, 1).unwrap();
        for truncation in [Truncation::none(), Truncation::default()] {
            let two_stage = |a, graph| {
                let (first, second) = (&twice.first, &twice.second);
                interpolate::two_stage(a, graph, first, second, &truncation).unwrap()
            };
            assert_close(&two_stage(copy, there), &two_stage(a, here));
        }
    });
}

#[test]
fn prolongations_of_groups_are_the_same() {
    let one = Size::square(1);
    for_each_problem(2, |[(a, here), (copy, there)]| {
        let groups: Aggregates = coarsen::mis2(here, 1).unwrap();
        let tentative = |a: &Csr<f64>| {
            let (t, _) = interpolate::tentative(&groups, &[], 1, a.executor()).unwrap();
            t
        };
        let (t, t_copy) = (tentative(a), tentative(copy));
        assert_close(&t_copy, &t);
        let radius = interpolate::spectral_radius(a).unwrap();
        let found = interpolate::spectral_radius(copy).unwrap();
        assert!((found - radius).abs() < 1e-12 * radius, "{found} {radius}");
        for (filter, filter_copy) in [(None, None), (Some(here), Some(there))] {
            let smoothed =
                |a, t, filter| interpolate::smoothed(a, t, (4.0 / 3.0, radius), filter, one);
            let expected = smoothed(a, &t, filter).unwrap();
            assert_close(&smoothed(copy, &t_copy, filter_copy).unwrap(), &expected);
        }
    });
}

#[test]
fn prolongations_in_blocks_are_those_by_entries() {
    let Some(executor) = device() else { return };
    let problem = gallery::build("elasticity:4x3x3", &executor).unwrap();
    let modes = problem.near_nullspace.unwrap();
    let nodes = problem.matrix.size().rows as u32 / 3;
    let pairs = Aggregates {
        aggregate: (0..nodes).map(|node| node / 4).collect::<Vec<_>>().into(),
        count: nodes.div_ceil(4) as usize,
    };
    let (t, _) = interpolate::tentative(&pairs, modes.vectors(), 3, &executor).unwrap();
    let smoothed = |block: Option<Size>, of_t| {
        let a = problem.matrix.on_device_in(block).unwrap();
        interpolate::smoothed(&a, &t, (4.0 / 3.0, 2.0), None, of_t).unwrap()
    };
    let expected = smoothed(None, Size::square(1));
    let found = smoothed(Some(Size::square(3)), Size::new(3, 6));
    assert_close(&found, &expected);
}

#[test]
fn prolongations_of_vectors_are_the_same() {
    let Some(executor) = device() else { return };
    let host = Executor::reference();
    let problem = gallery::build("elasticity:4x3x2", &host).unwrap();
    let modes = problem.near_nullspace.unwrap();
    let modes = modes.vectors();
    let nodes = modes[0].len() / 3;
    // Groups of different size, one of a single node, where rotations depend on translations, and two nodes
    // without any.
    let group = |node: usize| match node {
        0 => 0,
        1 | 20 => coarsen::NONE,
        _ => 1 + (node * node % 7) as u32,
    };
    let groups = Aggregates {
        aggregate: (0..nodes).map(group).collect(),
        count: 8,
    };
    let constant = vec![vec![1.0; 3 * nodes]];
    for (modes, block) in [(modes, 3), (&modes[..3], 3), (&constant, 3)] {
        let make = |executor| interpolate::tentative(&groups, modes, block, executor).unwrap();
        let ((t, coarse), (t_copy, coarse_copy)) = (make(&host), make(&executor));
        assert_close(&t_copy, &t);
        assert_eq!(coarse_copy.len(), coarse.len());
        for (found, expected) in coarse_copy.concat().iter().zip(coarse.concat()) {
            assert!((found - expected).abs() < 1e-13, "{found} {expected}");
        }
    }
    let refused = interpolate::tentative(&groups, &[vec![1.0]], 3, &executor);
    assert_refused!(refused, SizeMismatch { .. });
}

#[test]
fn long_rows_have_tables_in_global_memory() {
    let Some(executor) = device() else { return };
    // One row that is coupled with all others, which depend on nothing else.
    let n = 1500;
    let entries = |i| [(i, i, f64::from(n)), (i, 0, -1.0), (0, i, -1.0)];
    let a = of_triplets(n as usize, (0..n).flat_map(entries));
    let all_but_first = (0..n).map(|i| i.wrapping_sub(1)).collect();
    let splitting = Splitting {
        coarse_index: all_but_first,
        coarse_count: n as usize - 1,
    };
    let copy = a.copy_to(&executor).unwrap();
    let none = Truncation::none();
    let make = |a: &Csr<f64>| interpolate::extended_i(a, a.pattern(), &splitting, &none).unwrap();
    assert_close(&make(&copy), &make(&a));
}

#[test]
fn nodes_with_modes_are_set_up_as_by_the_host() {
    let Some(executor) = device() else { return };
    let (a, near) = body("elasticity:6x3x3", &Executor::reference());
    let amg = amg("coarsening=mis2, coarsest-rows=30, host-rows=0");
    let cycle = |executor: &Executor| {
        let a: Arc<dyn LinOp<f64>> = Arc::new(a.copy_to(executor).unwrap());
        let made = amg.hierarchy_with(&a, &near, &Workspace::new()).unwrap();
        assert!(made.report().levels.len() > 1);
        apply(&made, &irregular(&made, 0.0)).to_vec()
    };
    let [found, expected] = [&executor, &Executor::reference()].map(cycle);
    assert_near(&found, &expected, 1e-5, "a cycle");
}

#[test]
fn a_zero_on_the_diagonal_is_named() {
    let Some(executor) = device() else { return };
    let a = Csr::diagonal_matrix(&Executor::reference(), vec![1.0, 0.0]);
    let result = interpolate::spectral_radius(&a.copy_to(&executor).unwrap());
    assert_refused!(result, ZeroDiagonal { row: 1, .. });
}
