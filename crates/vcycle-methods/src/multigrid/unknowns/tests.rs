//! Several unknowns a node, from matrices to iterations.

use super::*;
use crate::gallery;
use crate::multigrid::testing::*;
use crate::multigrid::{Amg, Coarsening, Hierarchy};

/// Smoothed aggregation in which all couplings are strong.
fn aggregation(smoother: &str) -> Amg {
    amg(&format!(
        r#"coarsening=mis2, strength={{"kind":"symmetric","threshold":0.0}}, smoother={smoother}"#
    ))
}

fn set_up(amg: &Amg, a: &Matrix, near: &NearNullspace) -> Result<Hierarchy<f64>> {
    amg.hierarchy_with(a, near, &Workspace::new())
}

/// Iterations of conjugate gradients for ones on the right, and the hierarchy.
fn solve(amg: &Amg, a: Csr<f64>, near: &NearNullspace) -> (usize, Hierarchy<f64>) {
    let a: Matrix = Arc::new(a);
    let made = set_up(amg, &a, near).unwrap();
    (iterations_with(&a, made.clone()), made)
}

fn on_cpu(spec: &str) -> Csr<f64> {
    gallery::build(spec, &Executor::cpu()).unwrap().matrix
}

/// `count` copies of a scalar matrix, their unknowns numbered in turn, coupled by `coupling` on
/// the diagonal blocks.
fn interleaved(a: &Csr<f64>, count: usize, coupling: f64) -> Csr<f64> {
    let mut triplets = Vec::new();
    let mut push = |row: usize, column: usize, value: f64| {
        triplets.push((row as u32, column as u32, value));
    };
    for row in 0..a.size().rows {
        for part in 0..count {
            for (&column, &value) in a.row(row).0.iter().zip(a.row(row).1) {
                push(count * row + part, count * column as usize + part, value);
            }
            let others = (0..count).filter(|&other| other != part && coupling != 0.0);
            others.for_each(|other| push(count * row + part, count * row + other, coupling));
        }
    }
    of_triplets(count * a.size().rows, triplets)
        .copy_to(a.executor())
        .unwrap()
}

#[test]
fn rigid_body_modes_make_elasticity_easy() {
    let cpu = Executor::cpu();
    for (smoother, limit) in [("sgs", 16), ("chebyshev:2", 18)] {
        let amg = aggregation(smoother);
        let (a, near) = body("elasticity:18x8x8", &cpu);
        let (with, made) = solve(&amg, a.clone(), &near);
        let (without, _) = solve(&amg, a, &NearNullspace::components(3).unwrap());
        assert!(with <= limit, "{smoother}: {with}");
        assert!(3 * with < 2 * without, "{smoother}: {with}, not {without}");
        assert!(made.report().operator_complexity() < 1.2);
        let mut coarse = made.report().levels[1..].iter();
        assert!(coarse.all(|level| level.rows % 6 == 0));
    }
}

#[test]
fn every_treatment_converges_on_coupled_components() {
    let scalar = on_cpu("poisson5:32");
    let a = interleaved(&scalar, 2, 0.01);
    let near = NearNullspace::components(2).unwrap();
    for coarsening in Coarsening::ALL {
        for systems in Systems::ALL {
            let amg = amg(&format!("coarsening={coarsening}, systems={systems}"));
            let (count, _) = solve(&amg, a.clone(), &near);
            let limit = match coarsening {
                _ if coarsening.aggregates() => 60,
                Coarsening::PmisAggressive => 35,
                _ => 20,
            };
            assert!(count <= limit, "{coarsening} {systems}: {count}");
        }
    }
}

#[test]
fn components_apart_are_coarsened_as_if_alone() {
    let scalar = on_cpu("poisson5:40");
    let a = interleaved(&scalar, 2, 0.0);
    let [alone, both] = [(scalar, 1), (a, 2)].map(|(a, components)| {
        let near = NearNullspace::components(components).unwrap();
        solve(&Amg::default(), a, &near)
    });
    assert!(both.0 <= alone.0 + 1);
    let complexity = |made: &Hierarchy<f64>| made.report().operator_complexity();
    assert!((complexity(&both.1) / complexity(&alone.1) - 1.0).abs() < 0.1);
}

#[test]
fn groups_with_fewer_unknowns_than_modes_are_solved() {
    // Bars of two nodes each: six unknowns, of which rigid bodies take five.
    let cpu = Executor::cpu();
    let (bar, _) = body("elasticity:2x1x1", &cpu);
    let node = |row: usize| &bar.row(row).0[..3];
    assert_eq!(node(0), [0, 1, 2]);
    let mut triplets = Vec::new();
    for copy in 0..60_u32 {
        for row in 0..6 {
            let entries = bar.row(row).0.iter().zip(bar.row(row).1);
            for (&column, &value) in entries.filter(|(column, _)| **column < 6) {
                triplets.push((6 * copy + row as u32, 6 * copy + column, value));
            }
        }
    }
    let a = of_triplets(360, triplets).copy_to(&cpu).unwrap();
    let points: Vec<[f64; 3]> = (0..120).map(|node| [f64::from(node), 0.0, 0.0]).collect();
    let near = NearNullspace::rigid_body_modes(3, &points).unwrap();
    // 60 groups of 2 nodes with 6 modes each coarsen nothing; without vectors they halve.
    let amg = aggregation("l1-jacobi");
    let (_, stalled) = solve(&amg, a.clone(), &near);
    assert!(stalled.report().stalled.is_some());
    let (_, halved) = solve(&amg, a, &NearNullspace::components(3).unwrap());
    assert_eq!(halved.report().levels[1].rows, 180);
}

#[test]
fn modes_that_depend_on_each_other_leave_no_empty_row() {
    let a = on_cpu("poisson5:20");
    let constant = vec![1.0; 400];
    let near = NearNullspace::new(1, vec![constant.clone(), constant]).unwrap();
    let amg = aggregation("l1-jacobi");
    let (count, made) = solve(&amg, a, &near);
    assert!(made.report().levels.len() > 1 && count <= 25, "{count}");
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let with = |threads: usize| {
        let cpu = Executor::cpu_with_threads(threads).unwrap();
        let (a, near) = body("elasticity:20x10x10", &cpu);
        let made = set_up(&aggregation("chebyshev:2"), &(Arc::new(a) as _), &near).unwrap();
        apply(&made, &irregular(&made, 0.0)).to_vec()
    };
    assert!(with(1) == with(3));
}

#[test]
fn norms_of_blocks_make_the_matrix_of_nodes() {
    let scalar = csr("poisson5:3");
    let a = interleaved(&scalar, 2, 1.0);
    let nodes = condensed(&a, 2).unwrap();
    assert_eq!(nodes.columns(), scalar.columns());
    assert_eq!(nodes.entry(0, 0), Some(34_f64.sqrt()));
    assert_eq!(nodes.entry(0, 1), Some(-2_f64.sqrt()));
    let Some(device) = device() else { return };
    let there = condensed(&a.copy_to(&device).unwrap(), 2).unwrap();
    assert_matrices_near(&there, &nodes, 1e-15);
}

#[test]
fn wrong_sizes_are_named() {
    let (a, near) = body("elasticity:3x2x2", &Executor::reference());
    let a: Arc<dyn LinOp<f64>> = Arc::new(a);
    let short = NearNullspace::new(3, vec![vec![1.0; 78]]).unwrap();
    let pairs = NearNullspace::components(2).unwrap();
    for (amg, near, told) in [
        (
            Amg::default(),
            &short,
            "near-nullspace: expected 81 x 1, found 78 x 1",
        ),
        (
            Amg::default(),
            &pairs,
            "block-size: 81 rows are not made of",
        ),
        (amg("block-size=9"), &near, "block-size: "),
    ] {
        let error = set_up(&amg, &a, near).unwrap_err().to_string();
        assert!(error.starts_with(told), "{error}");
    }
}
