use std::path::Path;

use std::sync::Arc;

use super::*;
use crate::config::{Sequence, solve_system};
use crate::executor::{Executor, Workspace};
use crate::gallery;
use crate::io::{self, AnyMatrix};
use crate::linop::{LinOp, Size};
use crate::matrix::Csr;
use crate::scalar::c64;

fn config(text: &str) -> Config {
    Config::from_toml(text).unwrap()
}

/// Conjugate gradients chosen automatically, even for few rows.
fn auto() -> Config {
    config("preconditioner = \"amg\"")
}

fn elasticity(spec: &str) -> (Csr<f64>, Vector<f64>, NearNullspace) {
    let problem = gallery::build(spec, &Executor::cpu()).unwrap();
    let b = Vector::from_column(problem.matrix.executor(), problem.rhs);
    (problem.matrix, b, problem.near_nullspace.unwrap())
}

fn solved(config: &Config, system: &System<f64>, b: &Vector<f64>) -> Solution<f64> {
    let solution = solve_system(config, system, b, &Workspace::new()).unwrap();
    assert!(solution.outcome.converged(), "{}", solution.outcome);
    let mut r = Vector::zeros_like(b).unwrap();
    let (a, x) = (system.matrix.whole().unwrap(), &solution.x);
    a.residual(b, x, &mut r, &Workspace::new()).unwrap();
    assert!(r.norms().unwrap()[0] <= 2e-8 * b.norms().unwrap()[0]);
    solution
}

/// The matrix without some of its rows, and the rows that are left.
fn without(a: &Csr<f64>, removed: impl Fn(usize) -> bool) -> (Csr<f64>, Vec<usize>) {
    let left: Vec<usize> = (0..a.size().rows).filter(|&row| !removed(row)).collect();
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for (new, &row) in left.iter().enumerate() {
        let (of_row, entries) = a.row(row);
        for (column, value) in of_row.iter().zip(entries) {
            if let Ok(place) = left.binary_search(&(*column as usize)) {
                rows.push(new as u32);
                columns.push(place as u32);
                values.push(*value);
            }
        }
    }
    let size = Size::square(left.len());
    let refuse = crate::matrix::Duplicates::Refuse;
    let a = Csr::from_triplets(a.executor(), size, rows, columns, values, refuse);
    (a.unwrap(), left)
}

fn component_wise(a: &Csr<f64>, block_size: usize) -> (Csr<f64>, Vec<u32>) {
    let (rows, nodes) = (a.size().rows, a.size().rows / block_size);
    let order: Vec<u32> = (0..rows)
        .map(|row| (row % nodes * block_size + row / nodes) as u32)
        .collect();
    let permutation = crate::matrix::Permutation::new(order.clone()).unwrap();
    (a.permute_symmetric(&permutation).unwrap(), order)
}

#[test]
fn a_negative_definite_matrix_is_solved_as_its_negative() {
    let problem = gallery::build("poisson5:24", &Executor::cpu()).unwrap();
    let b = Vector::from_column(problem.matrix.executor(), problem.rhs.clone());
    let minus = System::new(Arc::new(problem.matrix.scale(-1.0).unwrap()));
    let plus = System::new(Arc::new(problem.matrix));
    for text in [
        "preconditioner = \"amg\"",
        "preconditioner = \"ic0\"",
        "precision = \"sp\"",
        "solver = \"cg\"",
    ] {
        let config = config(text);
        let [there, here] = [&minus, &plus].map(|system| solved(&config, system, &b));
        assert!(
            there.messages[0].starts_with("every diagonal entry is negative"),
            "{text}"
        );
        assert_eq!(there.messages[1..], here.messages[..]);
        assert_eq!(there.outcome.history, here.outcome.history, "{text}");
        let opposite: Vec<f64> = here.x.to_vec().iter().map(|x| -x).collect();
        assert_eq!(there.x.to_vec(), opposite, "{text}");
    }
    // With a guess, too.
    let found = solved(&auto(), &minus, &b).x;
    let near = minus.clone().with_guess(found);
    assert_eq!(solved(&auto(), &near, &b).outcome.iterations, 0);
    // What is chosen is done, and what is wrong with it said.
    let chosen = config("solver = \"cg\"\npreconditioner = \"jacobi\"");
    let told = solve_system(&chosen, &minus, &b, &Workspace::new()).unwrap();
    assert!(!told.outcome.converged());
    let last = told.messages.last().unwrap();
    assert!(last.contains("solve -A x = -b"), "{last}");
}

#[test]
fn so_is_a_hermitian_one() {
    let host = Executor::cpu();
    let n = 3000;
    let i = c64::new(0.0, 1.0);
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..n as u32 {
        let beside = [
            (row.wrapping_sub(1), -i),
            (row, c64::new(-2.5, 0.0)),
            (row + 1, i),
        ];
        for (column, value) in beside.into_iter().filter(|(c, _)| *c < n as u32) {
            rows.push(row);
            columns.push(column);
            values.push(value);
        }
    }
    let refuse = crate::matrix::Duplicates::Refuse;
    let a = Csr::from_triplets(&host, Size::square(n), rows, columns, values, refuse).unwrap();
    let b = Vector::from_column(&host, vec![c64::new(1.0, 2.0); n]);
    let solution = solve_system(
        &Config::default(),
        &System::new(Arc::new(a)),
        &b,
        &Workspace::new(),
    )
    .unwrap();
    assert!(solution.outcome.converged());
    assert_eq!(solution.config.solver.name(), "cg");
    assert!(solution.messages[0].starts_with("every diagonal entry is negative"));
}

#[test]
fn so_is_one_that_is_not_symmetric() {
    let problem = gallery::build("convdiff7:8,20", &Executor::cpu()).unwrap();
    let b = Vector::from_column(problem.matrix.executor(), problem.rhs);
    let minus = System::new(Arc::new(problem.matrix.scale(-1.0).unwrap()));
    let plus = System::new(Arc::new(problem.matrix));
    let [there, here] = [&minus, &plus].map(|system| solved(&auto(), system, &b));
    assert_eq!(there.outcome.history, here.outcome.history);
}

#[test]
fn negative_matrices_of_equal_patterns_share_a_set_up() {
    let a = gallery::build("poisson5:40", &Executor::cpu())
        .unwrap()
        .matrix;
    let b = Vector::filled(a.executor(), 1600, 1, 1.0).unwrap();
    let mut steps = Sequence::new(auto());
    for (factor, reused) in [(-1.0, false), (-2.0, true), (3.0, true)] {
        let system = System::new(Arc::new(a.scale(factor).unwrap()));
        let solution = steps.solve(&system, &b, &Workspace::new()).unwrap();
        assert!(solution.outcome.converged() && solution.config.solver.name() == "cg");
        let told = solution.messages.concat();
        assert_eq!(told.contains("earlier set-up reused"), reused, "{told}");
        assert_eq!(
            told.contains("every diagonal entry is negative"),
            factor < 0.0
        );
    }
}

#[test]
fn devices_see_signs_and_nodes() {
    let Some(device) = vcycle_core::testing::device() else {
        return;
    };
    let (a, b, _) = elasticity("elasticity:8x4x4");
    let minus = System::new(Arc::new(
        a.scale(-1.0).unwrap().into_executor(&device).unwrap(),
    ));
    let b = b.copy_to(&device).unwrap();
    let solution = solve_system(&auto(), &minus, &b, &Workspace::new()).unwrap();
    assert!(solution.outcome.converged());
    let told = solution.messages.concat();
    assert!(told.contains("every diagonal entry is negative"), "{told}");
}

#[test]
fn blocks_are_found_in_both_numberings() {
    let (a, b, modes) = elasticity("elasticity:12x5x5");
    let nodes =
        System::new(Arc::new(a.clone())).with_near_nullspace(NearNullspace::components(3).unwrap());
    let bare = Config::from_toml("solver = \"cg\"\npreconditioner = \"amg\"").unwrap();
    let expected = solved(&bare, &nodes, &b);
    let untold = solved(&auto(), &System::new(Arc::new(a.clone())), &b);
    assert_eq!(untold.outcome.iterations, expected.outcome.iterations);
    let message = &untold.messages[0];
    assert_eq!(
        message,
        "3 unknowns a node, numbered node by node, as the entries of the matrix show"
    );

    let (turned, order) = component_wise(&a, 3);
    let there: Vec<f64> = order.iter().map(|&row| b.to_vec()[row as usize]).collect();
    let there = Vector::from_column(a.executor(), there);
    let system = System::new(Arc::new(turned));
    let solution = solved(&auto(), &system, &there);
    assert_eq!(solution.outcome.iterations, expected.outcome.iterations);
    assert!(solution.messages[0].contains("component by component"));
    for (place, &row) in order.iter().enumerate() {
        assert_eq!(solution.x.to_vec()[place], untold.x.to_vec()[row as usize]);
    }

    // Modes from coordinates are numbered node by node; those of the user as the matrix is.
    let all = solved(
        &bare,
        &System::new(Arc::new(a)).with_near_nullspace(modes.clone()),
        &b,
    );
    let turn = |v: &Vec<f64>| order.iter().map(|&row| v[row as usize]).collect();
    let own = NearNullspace::new(1, modes.vectors().iter().map(turn).collect()).unwrap();
    for near in [own, modes] {
        let solution = solved(&auto(), &system.clone().with_near_nullspace(near), &there);
        assert_eq!(solution.outcome.iterations, all.outcome.iterations);
    }
}

#[test]
fn six_vectors_imply_three_unknowns_a_node() {
    let (a, b, modes) = elasticity("elasticity:12x5x5");
    let untold = NearNullspace::new(1, modes.vectors().to_vec()).unwrap();
    let system = System::new(Arc::new(a));
    let [untold, told] = [untold, modes].map(|near| {
        let solution = solved(&auto(), &system.clone().with_near_nullspace(near), &b);
        solution.outcome.iterations
    });
    assert_eq!(untold, told);
}

#[test]
fn nodes_that_lack_unknowns_are_completed() {
    let (a, _, _) = elasticity("elasticity:12x5x5");
    let (turned, _) = component_wise(&a, 3);
    // One face slides: its nodes lose one of their three unknowns.
    let nodes = a.size().rows / 3;
    for (a, removed) in [
        (
            a,
            Box::new(|row: usize| row % 3 == 1 && (row / 3).is_multiple_of(5))
                as Box<dyn Fn(usize) -> bool>,
        ),
        (
            turned,
            Box::new(move |row: usize| row / nodes == 1 && (row % nodes).is_multiple_of(5)),
        ),
    ] {
        let (a, _) = without(&a, removed);
        let b = Vector::filled(a.executor(), a.size().rows, 1, 1.0).unwrap();
        let system = System::new(Arc::new(a));
        let found = solved(&auto(), &system, &b);
        let message = &found.messages[0];
        assert!(
            message.starts_with("3 unknowns a node, numbered with gaps"),
            "{message}"
        );
        let scalar = solved(
            &config("solver = \"cg\"\npreconditioner = \"amg\""),
            &system,
            &b,
        );
        assert!(found.outcome.iterations < scalar.outcome.iterations);
    }
}

#[test]
fn no_scalar_problem_is_taken_for_one_with_nodes() {
    let host = Executor::cpu();
    let block_size = |spec: &str| {
        let problem = gallery::build(spec, &host).unwrap();
        let found = Nodes::find(&problem.matrix).map_or(1, |nodes| nodes.block_size());
        (found, problem.block_size)
    };
    for spec in [
        "poisson5:12",
        "poisson9:12",
        "poisson7:6",
        "poisson27:6",
        "aniso5:12,1e-6",
        "aniso5:12,1e-6,90",
        "aniso7:6,1e-6",
        "convdiff7:6,20",
        "jump7:6,1e6",
        "elasticity:6x3x3",
    ] {
        let (found, told) = block_size(spec);
        assert_eq!(found, told, "{spec}");
    }
    for entry in gallery::catalogue() {
        let (found, told) = block_size(entry.example);
        assert!(found == told || found == 1, "{}: {found}", entry.example);
    }
}

#[test]
fn matrices_of_structures_have_nodes_and_others_have_none() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/matrices");
    let Ok(files) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: no matrices beside the checkout");
        return;
    };
    let expected = [
        ("LF10", 2),
        ("bcsstk02", 3),
        ("bcsstk09", 3),
        ("bcsstk14", 6),
        ("bcsstk15", 6),
        ("bcsstk16", 3),
        // A beam: deflection and rotation.
        ("LF10", 2),
        ("nos3", 2),
        ("pyamg_bar", 3),
        ("trilinos_beam", 2),
    ];
    for file in files {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(".mtx.xz") else {
            continue;
        };
        // Reading takes long without optimisation.
        if std::fs::metadata(&path).unwrap().len() > 600_000 {
            continue;
        }
        let Ok(AnyMatrix::Real(a)) = io::load_matrix(&path, &Executor::cpu()) else {
            continue;
        };
        let known = expected.iter().find(|(known, _)| *known == name);
        let found = Nodes::find(&a).map_or(1, |nodes| nodes.block_size());
        assert_eq!(found, known.map_or(1, |(_, size)| *size), "{name}");
    }
}

#[test]
fn a_saddle_point_and_a_row_of_zeros_are_named() {
    let host = Executor::cpu();
    let refuse = crate::matrix::Duplicates::Refuse;
    let a = Csr::from_triplets(
        &host,
        Size::square(3),
        vec![0, 0, 1, 1, 2, 2],
        vec![0, 2, 1, 2, 0, 1],
        vec![2.0, 1.0, 2.0, 1.0, 1.0, 1.0],
        refuse,
    );
    let b = Vector::filled(&host, 3, 1, 1.0).unwrap();
    let system = System::new(Arc::new(a.unwrap()));
    let solution = solved(&Config::default(), &system, &b);
    assert!(solution.messages[0].starts_with("saddle point: 1 unknowns"));
}
