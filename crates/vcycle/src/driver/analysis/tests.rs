use std::sync::Arc;

use super::super::testing::{
    assert_has, config, device, matrix, ones, solve, solved as solved_by, system, triplets,
};
use super::*;
use crate::config::Sequence;
use crate::executor::{Executor, Workspace};
use crate::gallery;
use crate::io::{self, AnyMatrix};
use crate::linop::LinOp;
use crate::matrix::Csr;
use crate::scalar::c64;

/// Conjugate gradients chosen automatically, even for few rows.
const AUTO: &str = "preconditioner=amg";
/// What is chosen without looking at the matrix.
const BARE: &str = "solver=cg preconditioner=amg";

fn elasticity(spec: &str) -> (Csr<f64>, Vector<f64>, NearNullspace) {
    let problem = gallery::build(spec, &Executor::cpu()).unwrap();
    let b = Vector::from_column(problem.matrix.executor(), problem.rhs);
    (problem.matrix, b, problem.near_nullspace.unwrap())
}

/// Solves, and looks at the residual of the system that was given.
fn solved(options: &str, system: &System<f64>, b: &Vector<f64>) -> Solution<f64> {
    let solution = solved_by(options, system, b);
    let mut r = Vector::zeros_like(b).unwrap();
    let (a, x) = (system.matrix.whole().unwrap(), &solution.x);
    a.residual(b, x, &mut r, &Workspace::new()).unwrap();
    assert!(r.norms().unwrap()[0] <= 2e-8 * b.norms().unwrap()[0]);
    solution
}

/// The matrix without some of its rows, and the rows that are left.
fn without(a: &Csr<f64>, removed: impl Fn(usize) -> bool) -> (Csr<f64>, Vec<usize>) {
    let left: Vec<usize> = (0..a.size().rows).filter(|&row| !removed(row)).collect();
    let mut entries = Vec::new();
    for (new, &row) in left.iter().enumerate() {
        let (of_row, values) = a.row(row);
        for (column, &value) in of_row.iter().zip(values) {
            if let Ok(place) = left.binary_search(&(*column as usize)) {
                entries.push((new, place, value));
            }
        }
    }
    (triplets(left.len(), &entries), left)
}

fn component_wise(a: &Csr<f64>, block_size: usize) -> (Csr<f64>, Vec<u32>) {
    let (rows, nodes) = (a.size().rows, a.size().rows / block_size);
    let order: Vec<u32> = (0..rows)
        .map(|row| (row % nodes * block_size + row / nodes) as u32)
        .collect();
    let permutation = crate::matrix::Permutation::new(order.clone()).unwrap();
    (a.permute_symmetric(&permutation).unwrap(), order)
}

/// A matrix and its negative, with a right-hand side.
fn both_signs(spec: &str) -> ([System; 2], Vector<f64>) {
    let plus = system(matrix(spec));
    let minus = system(matrix(spec).scale(-1.0).unwrap());
    let b = ones(&plus.matrix);
    ([minus, plus], b)
}

const NEGATIVE: &str = "every diagonal entry is negative";

#[test]
fn a_negative_matrix_is_solved_as_its_negative() {
    for (spec, options) in [
        ("poisson5:24", "preconditioner=amg"),
        ("poisson5:24", "preconditioner=ic0"),
        ("poisson5:24", "precision=sp"),
        ("poisson5:24", "solver=cg"),
        ("convdiff7:8,20", AUTO),
    ] {
        let (systems, b) = both_signs(spec);
        let [there, here] = systems.each_ref().map(|system| solved(options, system, &b));
        assert_has(&there.messages[0], NEGATIVE);
        assert_eq!(there.messages[1..], here.messages[..]);
        assert_eq!(there.outcome.history, here.outcome.history, "{options}");
        let opposite: Vec<f64> = here.x.to_vec().iter().map(|x| -x).collect();
        assert_eq!(there.x.to_vec(), opposite, "{options}");
    }
    // With a guess, too.
    let ([minus, _], b) = both_signs("poisson5:24");
    let near = minus.clone().with_guess(solved(AUTO, &minus, &b).x);
    assert_eq!(solved(AUTO, &near, &b).outcome.iterations, 0);
    // What is chosen is done, and what is wrong with it said.
    let told = solve("solver=cg preconditioner=jacobi", &minus, &b).unwrap();
    assert!(!told.outcome.converged());
    assert_has(told.messages.last().unwrap(), "solve -A x = -b");
}

#[test]
fn so_is_a_hermitian_one() {
    let row = |i: usize| [(i, i, -2.5), (i, i + 1, 1.0), (i + 1, i, -1.0)];
    let entries: Vec<_> = (0..2999)
        .flat_map(row)
        .chain([(2999, 2999, -2.5)])
        .collect();
    let line = triplets(3000, &entries);
    let value = |&v: &f64| match v {
        -2.5 => c64::from(v),
        _ => c64::new(0.0, v),
    };
    let values = line.values().iter().map(value).collect();
    let a = System::new(Arc::new(Csr::with_pattern(line.pattern(), values).unwrap()));
    let b = Vector::from_column(&Executor::cpu(), vec![c64::new(1.0, 2.0); 3000]);
    let solution = crate::config::solve_system(&config(""), &a, &b, &Workspace::new()).unwrap();
    assert!(solution.outcome.converged());
    assert_eq!(solution.config.solver.name(), "cg");
    assert_has(&solution.messages[0], NEGATIVE);
}

#[test]
fn negative_matrices_of_equal_patterns_share_a_set_up() {
    let mut steps = Sequence::new(config(AUTO));
    for (factor, reused) in [(-1.0, false), (-2.0, true), (3.0, true)] {
        let system = system(matrix("poisson5:40").scale(factor).unwrap());
        let b = ones(&system.matrix);
        let solution = steps.solve(&system, &b, &Workspace::new()).unwrap();
        assert!(solution.outcome.converged() && solution.config.solver.name() == "cg");
        let told = solution.messages.concat();
        assert_eq!(told.contains("earlier set-up reused"), reused, "{told}");
        assert_eq!(told.contains(NEGATIVE), factor < 0.0);
    }
}

#[test]
fn devices_see_signs_and_nodes() {
    let Some(device) = device() else { return };
    let a = matrix("elasticity:8x4x4").scale(-1.0).unwrap();
    let minus = system(a.into_executor(&device).unwrap());
    let solution = solved_by(AUTO, &minus, &ones(&minus.matrix));
    assert_has(solution.messages.concat(), NEGATIVE);
}

#[test]
fn blocks_are_found_in_both_numberings() {
    let (a, b, modes) = elasticity("elasticity:12x5x5");
    let nodes = system(a.clone()).with_near_nullspace(NearNullspace::components(3).unwrap());
    let expected = solved(BARE, &nodes, &b);
    let untold = solved(AUTO, &system(a.clone()), &b);
    assert_eq!(untold.outcome.iterations, expected.outcome.iterations);
    let message = "3 unknowns a node, numbered node by node, as the entries of the matrix show";
    assert_eq!(untold.messages[0], message);

    let (turned, order) = component_wise(&a, 3);
    let there: Vec<f64> = order.iter().map(|&row| b.to_vec()[row as usize]).collect();
    let there = Vector::from_column(a.executor(), there);
    let system_there = system(turned);
    let solution = solved(AUTO, &system_there, &there);
    assert_eq!(solution.outcome.iterations, expected.outcome.iterations);
    assert!(solution.messages[0].contains("component by component"));
    for (place, &row) in order.iter().enumerate() {
        assert_eq!(solution.x.to_vec()[place], untold.x.to_vec()[row as usize]);
    }

    // Modes from coordinates are numbered node by node; those of the user as the matrix is.
    let all = solved(BARE, &system(a).with_near_nullspace(modes.clone()), &b);
    let turn = |v: &Vec<f64>| order.iter().map(|&row| v[row as usize]).collect();
    let own = NearNullspace::new(1, modes.vectors().iter().map(turn).collect()).unwrap();
    for near in [own, modes] {
        let told = system_there.clone().with_near_nullspace(near);
        let solution = solved(AUTO, &told, &there);
        assert_eq!(solution.outcome.iterations, all.outcome.iterations);
    }
}

#[test]
fn six_vectors_imply_three_unknowns_a_node() {
    let (a, b, modes) = elasticity("elasticity:12x5x5");
    let untold = NearNullspace::new(1, modes.vectors().to_vec()).unwrap();
    let [untold, told] = [untold, modes].map(|near| {
        let system = system(a.clone()).with_near_nullspace(near);
        solved(AUTO, &system, &b).outcome.iterations
    });
    assert_eq!(untold, told);
}

#[test]
fn nodes_that_lack_unknowns_are_completed() {
    let (a, _, _) = elasticity("elasticity:12x5x5");
    let (turned, _) = component_wise(&a, 3);
    // One face slides: its nodes lose one of their three unknowns.
    let nodes = a.size().rows / 3;
    let first = |row: usize| row % 3 == 1 && (row / 3).is_multiple_of(5);
    let second = |row: usize| row / nodes == 1 && (row % nodes).is_multiple_of(5);
    for (a, _) in [without(&a, first), without(&turned, second)] {
        let system = system(a);
        let b = ones(&system.matrix);
        let found = solved(AUTO, &system, &b);
        assert_has(&found.messages[0], "3 unknowns a node, numbered with gaps");
        let scalar = solved(BARE, &system, &b);
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
    let specs = "poisson5:12 poisson9:12 poisson7:6 poisson27:6 aniso5:12,1e-6 aniso5:12,1e-6,90 aniso7:6,1e-6 \
                 convdiff7:6,20 jump7:6,1e6 elasticity:6x3x3";
    for spec in specs.split_whitespace() {
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
    let Some(folder) = vcycle_core::testing::shared("matrices") else {
        return;
    };
    let files = std::fs::read_dir(&folder).unwrap();
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
    let entries = [
        (0, 0, 2.0),
        (0, 2, 1.0),
        (1, 1, 2.0),
        (1, 2, 1.0),
        (2, 0, 1.0),
        (2, 1, 1.0),
    ];
    let saddle = system(triplets(3, &entries));
    let solution = solved("", &saddle, &ones(&saddle.matrix));
    assert_has(&solution.messages[0], "saddle point: 1 unknowns");
}
