use super::*;
use crate::multigrid::Amg;
use crate::multigrid::testing::{self, Matrix, amg, csr, dense, strengths};

/// A measure as options and files spell it.
fn measure(text: &str) -> Strength {
    serde_json::from_str(text).unwrap()
}

/// Affinity with some parameters, the others by default.
fn affinity(parameters: &str) -> Strength {
    measure(&format!(r#"{{"kind": "affinity"{parameters}}}"#))
}

/// A measure by the mean number of connections.
fn by_mean(kind: &str, connections: f64) -> Strength {
    measure(&format!(
        r#"{{"kind": "{kind}", "connections": {connections}}}"#
    ))
}

fn row(strength: Strength, a: &Csr<f64>, row: usize) -> Vec<u32> {
    let graph = strength.graph(a).unwrap();
    graph.columns()[graph.range(row)].to_vec()
}

#[test]
fn what_rounding_takes_below_the_threshold_is_strong() {
    for (below, strong) in [(1e-15, &[1, 2][..]), (1e-8, &[2])] {
        let near = -0.25 * (1.0 - below);
        let a = dense(3, &[1.25, near, -1.0, near, 1.25, -1.0, -1.0, -1.0, 2.0]);
        assert_eq!(row(Strength::default(), &a, 0), strong);
    }
}

#[test]
fn only_the_strong_direction_is_kept() {
    let a = csr("aniso5:6,0.01");
    for strength in strengths() {
        let graph = strength.graph(&a).unwrap();
        for row in 0..36_u32 {
            let along_x = [
                (row % 6 > 0).then(|| row - 1),
                (row % 6 < 5).then_some(row + 1),
            ];
            let expected: Vec<u32> = along_x.into_iter().flatten().collect();
            assert_eq!(graph.columns()[graph.range(row as usize)], expected);
        }
    }
}

#[test]
fn signs_are_those_of_the_measure() {
    let a = dense(3, &[4.0, -2.0, 1.0, 2.0, -4.0, -1.0, -2.0, 0.0, 4.0]);
    let classical = Strength::default();
    assert_eq!(row(classical, &a, 0), [1]);
    assert_eq!(row(classical, &a, 1), [0]);
    assert_eq!(row(Strength::Absolute(Absolute::default()), &a, 0), [1, 2]);
    for strength in strengths() {
        assert_eq!(row(strength, &a, 2), [0], "a stored zero is no coupling");
    }
}

#[test]
fn rows_that_are_nearly_alone_have_no_strong_couplings() {
    let a = dense(3, &[10.0, -0.2, -0.2, -1.0, 2.0, -1.0, 0.0, 0.0, 1.0]);
    assert!(row(Strength::default(), &a, 0).is_empty());
    assert!(row(Strength::default(), &a, 2).is_empty());
    let all_rows = measure(r#"{"kind": "classical", "max-row-sum": 1.0}"#);
    assert_eq!(row(all_rows, &a, 0), [1, 2]);
}

#[test]
fn the_mean_number_of_connections_is_met() {
    let mut a = csr("poisson27:6");
    for (place, value) in a.values_mut().iter_mut().enumerate() {
        *value *= 1.5 + (place as f64).sin();
    }
    for mean in [2.0, 5.0, 9.0] {
        for kind in ["symmetric", "absolute"] {
            let graph = by_mean(kind, mean).graph(&a).unwrap();
            let found = graph.nonzeros() as f64 / graph.size().rows as f64;
            assert!((found - mean).abs() < 0.2 * mean, "{found}, not {mean}");
        }
    }
}

#[test]
fn threads_change_nothing() {
    let a = csr("aniso5:150,0.3,30");
    let others = [
        by_mean("classical", 3.0),
        affinity(r#", "vectors": 4, "sweeps": 5"#),
    ];
    for strength in strengths().into_iter().chain(others) {
        let expected = strength.graph(&a).unwrap();
        for threads in 1..=3 {
            let cpu = Executor::cpu_with_threads(threads).unwrap();
            let graph = strength.graph(&a.copy_to(&cpu).unwrap()).unwrap();
            assert_eq!(graph.offsets(), expected.offsets());
            assert_eq!(graph.columns(), expected.columns());
        }
    }
}

#[test]
fn wrong_parameters_and_unknown_keys_are_refused() {
    let a = csr("poisson5:3");
    let strength = Strength::Absolute(Absolute {
        threshold: f64::NAN,
        ..Absolute::default()
    });
    assert_refused!(strength.graph(&a), BadParameter { .. });
    assert!(affinity(r#", "vectors": 0"#).graph(&a).is_err());
    let symmetric = Strength::Symmetric(Symmetric::default());
    assert_eq!(measure(r#"{"kind": "symmetric"}"#), symmetric);
    let unknown = r#"{"kind": "classical", "max-row": 1}"#;
    assert!(serde_json::from_str::<Strength>(unknown).is_err());
}

#[test]
fn couplings_across_a_jump_are_weak_on_both_sides() {
    // A chain of three whose last coupling is a thousand times smaller.
    let a = dense(3, &[1e3, -1e3, 0.0, -1e3, 1e3, -1.0, 0.0, -1.0, 2.0]);
    let mutual = Strength::Mutual(Mutual::default());
    assert_eq!(row(mutual, &a, 1), [0]);
    assert!(row(mutual, &a, 2).is_empty());
    assert_eq!(row(Strength::default(), &a, 2), [1]);
}

#[test]
fn affinity_sees_the_direction_that_entries_hide() {
    let a = csr("aniso5:40,0.001,45");
    directions_are_seen(&a);
    if let Some(device) = device() {
        directions_are_seen(&a.copy_to(&device).unwrap());
    }
}

/// On a grid of 40 points a side whose couplings are strongest across it.
fn directions_are_seen(a: &Csr<f64>) {
    let side = 40;
    let affinity = affinity(r#", "connections": 2, "sweeps": 20"#);
    let along = [-1, 1].map(|step: i64| step * (side + 1));
    let inner =
        |row: &i64| (5..side - 5).contains(&(row % side)) && (5..side - 5).contains(&(row / side));
    let share = |strength: Strength| {
        let graph = strength.graph(a).unwrap();
        let (mut right, mut all) = (0, 0);
        for row in (0..side * side).filter(inner) {
            for &column in &graph.columns()[graph.range(row as usize)] {
                right += usize::from(along.contains(&(i64::from(column) - row)));
                all += 1;
            }
        }
        right as f64 / all as f64
    };
    let (by_affinity, by_entries) = (share(affinity), share(Strength::default()));
    assert!(by_affinity > 0.75, "{by_affinity}");
    assert!(by_entries < 0.5, "{by_entries}");
}

/// Iterations of conjugate gradients with aggressive coarsening.
fn iterations(strength: Strength, spec: &str, executor: &Executor) -> usize {
    let amg = amg("coarsening=pmis-aggressive, smoother=chebyshev:2, coarsest-rows=50");
    let a: Matrix = Arc::new(csr(spec).copy_to(executor).unwrap());
    testing::iterations(&Amg { strength, ..amg }, &a)
}

#[test]
fn multigrid_by_affinity_takes_fewer_iterations_across_the_grid() {
    let (spec, host) = ("aniso5:64,0.001,34.377", Executor::reference());
    let [by_affinity, by_entries] =
        [affinity(""), Strength::default()].map(|strength| iterations(strength, spec, &host));
    assert!(
        10 * by_affinity < 9 * by_entries,
        "{by_affinity} {by_entries}"
    );
    let Some(device) = device() else { return };
    let spec = "aniso5:40,0.001,34.377";
    let [here, there] = [host, device].map(|on| iterations(affinity(""), spec, &on));
    assert!(here.abs_diff(there) <= 2, "{here} {there}");
}

#[test]
fn devices_find_the_threshold_of_a_mean_number_of_connections() {
    let Some(device) = device() else { return };
    for spec in ["jump7:5,1e6", "aniso5:9,0.01", "convdiff7:4,100"] {
        let a = csr(spec);
        let there = a.copy_to(&device).unwrap();
        for mean in [0.0, 1.5, 3.0, 100.0] {
            for kind in ["classical", "mutual"] {
                let [found, expected] = [&there, &a].map(|a| {
                    let graph = by_mean(kind, mean).graph(a).unwrap();
                    (graph.offsets().to_vec(), graph.columns().to_vec())
                });
                assert_eq!(found, expected, "{spec} {mean} {kind}");
            }
        }
    }
}

#[test]
fn small_couplings_and_those_of_the_sign_of_the_diagonal_are_weak_whatever_is_alike() {
    let affinity = affinity(r#", "threshold": 0"#);
    // The corners of the stencil that are positive, and entries that are nearly nothing.
    let corners = row(affinity, &csr("aniso5:3,0.1,45"), 4);
    assert_eq!(corners, [0, 1, 3, 5, 7, 8]);
    assert_eq!(row(affinity, &csr("aniso5:3,0.001,0.6"), 4), [3, 5]);
}

#[test]
fn rows_without_diagonal_or_neighbours_have_no_affinity() {
    let a = dense(3, &[0.0, -1.0, 0.0, -1.0, 2.0, 0.0, 0.0, 0.0, 1.0]);
    assert!(row(affinity(""), &a, 2).is_empty());
    let none = Csr::<f64>::identity(&Executor::reference(), 0);
    assert_eq!(affinity("").graph(&none).unwrap().nonzeros(), 0);
}

#[test]
fn affinity_is_for_the_finest_levels() {
    let affinity = affinity(r#", "levels": 2"#);
    assert_eq!(affinity.at_level(1), affinity);
    assert_eq!(affinity.at_level(2), Strength::Auto);
}
