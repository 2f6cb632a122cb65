use super::*;
use crate::gallery;
use crate::multigrid::coarsen::pmis;
use crate::multigrid::strength::{Strength, Symmetric};
use crate::multigrid::testing::csr;

/// Elasticity with its rigid-body modes, strong couplings and a choice of unknowns.
fn elasticity(cpu: &Executor) -> (std::sync::Arc<Pattern>, Splitting, Vec<Vec<f64>>) {
    let problem = gallery::build("elasticity:6x4x4", cpu).unwrap();
    let strength = Strength::Symmetric(Symmetric {
        threshold: 0.01,
        ..Symmetric::default()
    });
    let strong = strength.graph(&problem.matrix).unwrap();
    let splitting = pmis(&strong, 1).unwrap();
    let modes = problem.near_nullspace.unwrap();
    (strong, splitting, modes.vectors().to_vec())
}

/// The largest difference of `P` times the vectors at coarse unknowns from the vectors.
fn error(p: &Csr<f64>, chosen: &Splitting, vectors: &[Vec<f64>]) -> f64 {
    let mut worst = 0.0_f64;
    for vector in vectors {
        let coarse = (0..vector.len()).filter(|&i| chosen.coarse_index[i] != NONE);
        let coarse: Vec<f64> = coarse.map(|i| vector[i]).collect();
        for row in 0..p.size().rows {
            let (columns, values) = p.row(row);
            let terms = columns.iter().zip(values);
            let sum: f64 = terms.map(|(&j, w)| w * coarse[j as usize]).sum();
            worst = worst.max((sum - vector[row]).abs());
        }
    }
    worst
}

#[test]
fn rigid_bodies_are_reproduced_with_bounded_weights() {
    let (strong, splitting, modes) = elasticity(&Executor::reference());
    let parameters = Bamg {
        residual: 1e-10,
        ..Bamg::default()
    };
    let (p, chosen) = bamg(&strong, &splitting, &modes, &parameters).unwrap();
    let count = chosen.coarse_count;
    assert!(count >= splitting.coarse_count && 2 * count < p.size().rows);
    assert!(error(&p, &chosen, &modes) < 1e-8);
    assert_bounded(&p, modes.len(), &parameters);
}

/// Rows are sorted and short, and their weights small.
fn assert_bounded(p: &Csr<f64>, longest: usize, parameters: &Bamg) {
    for row in 0..p.size().rows {
        let (columns, values) = p.row(row);
        assert!(columns.is_sorted() && columns.len() <= longest);
        assert!(norm(values) <= parameters.norm);
    }
}

#[test]
fn what_cannot_be_interpolated_becomes_coarse() {
    // A line whose only coarse unknown is the first: the second vector is out of reach.
    let a = csr("poisson5:6x1");
    let first = Splitting::of(6, |i| i == 0);
    let vectors = [vec![1.0; 6], (0..6).map(f64::from).collect::<Vec<_>>()];
    let (p, chosen) = bamg(a.pattern(), &first, &vectors, &Bamg::default()).unwrap();
    assert_eq!(chosen.coarse_count, 6);
    assert_eq!(p.values(), [1.0; 6]);
    let (p, chosen) = bamg(a.pattern(), &first, &vectors[..1], &Bamg::default()).unwrap();
    // Four steps away is too far.
    assert_eq!(chosen.coarse_index, [0, NONE, NONE, NONE, 1, 2]);
    assert_eq!(p.row(3), (&[0][..], &[1.0][..]));
}

#[test]
fn unknowns_without_couplings_stay_as_they_are() {
    let a = csr("poisson5:3x1").filter(|_, _, _| false).unwrap();
    let none = Splitting::of(3, |_| false);
    let (p, chosen) = bamg(a.pattern(), &none, &[vec![1.0; 3]], &Bamg::default()).unwrap();
    assert_eq!((p.nonzeros(), chosen.coarse_count), (0, 0));
}

#[test]
fn threads_change_nothing() {
    let with = |threads: usize| {
        let cpu = Executor::cpu_with_threads(threads).unwrap();
        let (strong, splitting, modes) = elasticity(&cpu);
        let (p, chosen) = bamg(&strong, &splitting, &modes, &Bamg::default()).unwrap();
        (p.columns().to_vec(), p.values().to_vec(), chosen)
    };
    assert!(with(1) == with(3));
}

#[test]
fn wrong_arguments_are_named() {
    let a = csr("poisson5:4x1");
    let half = Splitting::of(4, |i| i % 2 == 0);
    let given = |vectors: &[Vec<f64>], parameters: &Bamg| {
        bamg(a.pattern(), &half, vectors, parameters).unwrap_err()
    };
    let good = Bamg::default();
    let nan = vec![1.0, 1.0, f64::NAN, 1.0];
    let far = Bamg {
        min_distance: 4,
        ..good
    };
    for (vectors, parameters, told) in [
        (vec![], good, "vectors: bamg needs at least one"),
        (
            vec![vec![1.0; 3]],
            good,
            "test vector: expected 4 x 1, found 3 x 1",
        ),
        (vec![vec![1.0; 4], nan], good, "row 2, column 1"),
        (vec![vec![1.0; 4]], far, "min-distance: "),
    ] {
        let error = given(&vectors, &parameters).to_string();
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn devices_interpolate_as_well_as_the_host_on_devices() {
    if let Some(device) = device() {
        for (max_distance, vectors) in [(3, 6), (2, 3), (1, 1)] {
            let (strong, splitting, mut modes) = elasticity(&device);
            modes.truncate(vectors);
            let parameters = Bamg {
                max_distance,
                ..Bamg::default()
            };
            let limits = parameters.limits();
            let numbers = splitting.coarse_index.buffer();
            let found = operations::interpolate::fitted(&strong, numbers, &modes, limits).unwrap();
            let (p, numbers, count) = found.expect("there is room for these neighbourhoods");
            let chosen = Splitting::of_device((numbers, count));
            let (host, here) = on_host(&strong, &splitting, &modes, &parameters);
            let [few, many] = [0.9, 1.1].map(|share| share * here.coarse_count as f64);
            assert!((few..many).contains(&(count as f64)), "{count}");
            assert_eq!(p.size(), Size::new(host.size().rows, count));
            let largest = modes.iter().flatten().fold(0.0_f64, |m, x| m.max(x.abs()));
            let limit = parameters.residual * largest * 2.0;
            assert!(error(&p, &chosen, &modes) < limit);
            let numbers = chosen.coarse_index.iter();
            let mut pairs = splitting.coarse_index.iter().zip(numbers);
            assert!(pairs.all(|(before, now)| *before == NONE || *now != NONE));
            assert_bounded(&p, modes.len(), &parameters);
        }
    }
}

/// What the host makes of the same choice.
fn on_host(
    strong: &Pattern,
    splitting: &Splitting,
    modes: &[Vec<f64>],
    parameters: &Bamg,
) -> (Csr<f64>, Splitting) {
    let (offsets, columns) = (strong.offsets().to_vec(), strong.columns().to_vec());
    let strong = Pattern::new(&Executor::reference(), strong.size(), offsets, columns);
    bamg(&strong, splitting, modes, parameters).unwrap()
}
