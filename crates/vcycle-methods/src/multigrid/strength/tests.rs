use super::*;
use crate::executor::Executor;
use crate::multigrid::Amg;
use crate::multigrid::testing::{self, Matrix, amg, csr, dense};

fn all() -> [Strength; 4] {
    [
        Strength::Mutual(Mutual::default()),
        Strength::default(),
        Strength::Symmetric(Symmetric::default()),
        Strength::Absolute(Absolute::default()),
    ]
}

fn row(strength: Strength, a: &Csr<f64>, row: usize) -> Vec<u32> {
    let graph = strength.graph(a).unwrap();
    graph.columns()[graph.range(row)].to_vec()
}

#[test]
fn what_rounding_takes_below_the_threshold_is_strong() {
    let near = -0.25 * (1.0 - 1e-15);
    let a = dense(3, &[1.25, near, -1.0, near, 1.25, -1.0, -1.0, -1.0, 2.0]);
    assert_eq!(row(Strength::default(), &a, 0), [1, 2]);
    let below = -0.25 * (1.0 - 1e-8);
    let a = dense(3, &[1.25, below, -1.0, below, 1.25, -1.0, -1.0, -1.0, 2.0]);
    assert_eq!(row(Strength::default(), &a, 0), [2]);
}

#[test]
fn only_the_strong_direction_is_kept() {
    let a = csr("aniso5:6,0.01");
    for strength in all() {
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
    for strength in all() {
        assert_eq!(row(strength, &a, 2), [0], "a stored zero is no coupling");
    }
}

#[test]
fn rows_that_are_nearly_alone_have_no_strong_couplings() {
    let a = dense(3, &[10.0, -0.2, -0.2, -1.0, 2.0, -1.0, 0.0, 0.0, 1.0]);
    let classical = Classical::default();
    assert!(row(Strength::Classical(classical), &a, 0).is_empty());
    assert!(row(Strength::Classical(classical), &a, 2).is_empty());
    let max_row_sum = 1.0;
    let all_rows = Strength::Classical(Classical {
        max_row_sum,
        ..classical
    });
    assert_eq!(row(all_rows, &a, 0), [1, 2]);
}

#[test]
fn the_mean_number_of_connections_is_met() {
    let mut a = csr("poisson27:6");
    for (place, value) in a.values_mut().iter_mut().enumerate() {
        *value *= 1.5 + (place as f64).sin();
    }
    for mean in [2.0, 5.0, 9.0] {
        let connections = Some(mean);
        for strength in [
            Strength::Symmetric(Symmetric {
                connections,
                ..Symmetric::default()
            }),
            Strength::Absolute(Absolute {
                connections,
                ..Absolute::default()
            }),
        ] {
            let graph = strength.graph(&a).unwrap();
            let found = graph.nonzeros() as f64 / graph.size().rows as f64;
            assert!(
                (found - mean).abs() < 0.2 * mean,
                "{found} instead of {mean}"
            );
        }
    }
}

#[test]
fn threads_change_nothing() {
    let a = csr("aniso5:150,0.3,30");
    let connections = Some(3.0);
    let by_mean = Strength::Classical(Classical {
        connections,
        ..Classical::default()
    });
    let affinity = Strength::Affinity(Affinity {
        vectors: 4,
        sweeps: 5,
        ..Affinity::default()
    });
    for strength in all().into_iter().chain([by_mean, affinity]) {
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
    let threshold = f64::NAN;
    let strength = Strength::Absolute(Absolute {
        threshold,
        ..Absolute::default()
    });
    assert!(matches!(
        strength.graph(&a),
        Err(Error::BadParameter { .. })
    ));
    let read = |text: &str| serde_json::from_str::<Strength>(text);
    assert_eq!(
        read(r#"{"kind": "symmetric"}"#).unwrap(),
        Strength::Symmetric(Symmetric::default())
    );
    assert!(read(r#"{"kind": "classical", "max-row": 1}"#).is_err());
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
    if let Some(device) = vcycle_core::testing::device() {
        directions_are_seen(&a.copy_to(&device).unwrap());
    }
}

/// On a grid of 40 points a side whose couplings are strongest across it.
fn directions_are_seen(a: &Csr<f64>) {
    let side = 40;
    let connections = Some(2.0);
    let affinity = Strength::Affinity(Affinity {
        connections,
        sweeps: 20,
        ..Affinity::default()
    });
    let along = [-1, 1].map(|step: i64| step * (side + 1));
    let inner =
        |row: &i64| (5..side - 5).contains(&(row % side)) && (5..side - 5).contains(&(row / side));
    let share = |strength: Strength| {
        let graph = strength.graph(a).unwrap();
        let rows: Vec<i64> = (0..side * side).filter(inner).collect();
        let strong = |row: &i64| graph.columns()[graph.range(*row as usize)].to_vec();
        let all: usize = rows.iter().map(|row| strong(row).len()).sum();
        let right = |row: &i64, column: &u32| along.contains(&(i64::from(*column) - row));
        let right: usize = rows
            .iter()
            .map(|row| strong(row).iter().filter(|c| right(row, c)).count())
            .sum();
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
    let spec = "aniso5:64,0.001,34.377";
    let affinity = Strength::Affinity(Affinity::default());
    let host = Executor::reference();
    let (by_affinity, by_entries) = (
        iterations(affinity, spec, &host),
        iterations(Strength::default(), spec, &host),
    );
    assert!(
        10 * by_affinity < 9 * by_entries,
        "{by_affinity} {by_entries}"
    );
}

#[test]
fn affinity_of_a_device_serves_as_well_as_that_of_the_host() {
    let Some(device) = vcycle_core::testing::device() else {
        return;
    };
    let (affinity, spec) = (
        Strength::Affinity(Affinity::default()),
        "aniso5:40,0.001,34.377",
    );
    let [here, there] = [Executor::reference(), device].map(|on| iterations(affinity, spec, &on));
    assert!(here.abs_diff(there) <= 2, "{here} {there}");
}

#[test]
fn devices_find_the_threshold_of_a_mean_number_of_connections() {
    let Some(device) = vcycle_core::testing::device() else {
        return;
    };
    for spec in ["jump7:5,1e6", "aniso5:9,0.01", "convdiff7:4,100"] {
        let a = csr(spec);
        let there = a.copy_to(&device).unwrap();
        for mean in [0.0, 1.5, 3.0, 100.0] {
            let connections = Some(mean);
            for strength in [
                Strength::Classical(Classical {
                    connections,
                    ..Classical::default()
                }),
                Strength::Mutual(Mutual {
                    connections,
                    ..Mutual::default()
                }),
            ] {
                let [found, expected] = [&there, &a].map(|a| {
                    let graph = strength.graph(a).unwrap();
                    (graph.offsets().to_vec(), graph.columns().to_vec())
                });
                assert_eq!(found, expected, "{spec} {mean} {strength:?}");
            }
        }
    }
}

#[test]
fn small_couplings_and_those_of_the_sign_of_the_diagonal_are_weak_whatever_is_alike() {
    let affinity = Strength::Affinity(Affinity {
        threshold: 0.0,
        ..Affinity::default()
    });
    // The corners of the stencil that are positive, and entries that are nearly nothing.
    assert_eq!(
        row(affinity, &csr("aniso5:3,0.1,45"), 4),
        [0, 1, 3, 5, 7, 8]
    );
    assert_eq!(row(affinity, &csr("aniso5:3,0.001,0.6"), 4), [3, 5]);
}

#[test]
fn rows_without_diagonal_or_neighbours_have_no_affinity() {
    let affinity = Strength::Affinity(Affinity::default());
    let a = dense(3, &[0.0, -1.0, 0.0, -1.0, 2.0, 0.0, 0.0, 0.0, 1.0]);
    assert!(row(affinity, &a, 2).is_empty());
    let none = Csr::<f64>::identity(&Executor::reference(), 0);
    assert_eq!(affinity.graph(&none).unwrap().nonzeros(), 0);
}

#[test]
fn affinity_is_for_the_finest_levels() {
    let affinity = Strength::Affinity(Affinity {
        levels: 2,
        ..Affinity::default()
    });
    assert_eq!(affinity.at_level(1), affinity);
    assert_eq!(affinity.at_level(2), Strength::Auto);
}

#[test]
fn affinity_is_read_and_needs_vectors() {
    let read: Strength = serde_json::from_str(r#"{"kind": "affinity", "sweeps": 4}"#).unwrap();
    let sweeps = 4;
    assert_eq!(
        read,
        Strength::Affinity(Affinity {
            sweeps,
            ..Affinity::default()
        })
    );
    let none = Strength::Affinity(Affinity {
        vectors: 0,
        ..Affinity::default()
    });
    assert!(none.graph(&csr("poisson5:3")).is_err());
}
