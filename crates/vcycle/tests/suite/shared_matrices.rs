//! Reads the shared collection of real matrices and compares with its manifest.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use vcycle::communicator::threads;
use vcycle::config::{self, Config, System};
use vcycle::executor::{Executor, Workspace};
use vcycle::io::{self, AnyMatrix, AnyVector};
use vcycle::linop::{Factory, LinOp};
use vcycle::matrix::{Csr, Distributed, Partition};
use vcycle::precond::{Fsai, Jacobi};
use vcycle::solver::{Cg, Solver};
use vcycle::vector::Vector;
use vcycle_gpu::testing::shared;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/matrices");

/// A line of the manifest.
struct Entry {
    name: String,
    rows: usize,
    /// In both triangles.
    entries: usize,
    complex: bool,
    /// Symmetric or Hermitian positive definite.
    definite: bool,
}

fn manifest() -> Option<Vec<Entry>> {
    let text = std::fs::read_to_string(shared("matrices/MANIFEST.tsv")?).unwrap();
    let line = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |field: &str| field.parse().expect("a number in the manifest");
        Entry {
            name: fields[0].to_owned(),
            rows: number(fields[1]),
            entries: number(fields[2]),
            complex: fields[3] == "complex",
            definite: fields[5].starts_with("SPD"),
        }
    };
    Some(text.lines().skip(1).map(line).collect())
}

fn file(name: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("{name}.mtx.xz"))
}

fn load(name: &str) -> AnyMatrix {
    io::load_matrix(file(name), &Executor::cpu()).unwrap()
}

/// A matrix that is real.
fn real(name: &str) -> Option<Csr<f64>> {
    match load(name) {
        AnyMatrix::Real(a) => Some(a),
        AnyMatrix::Complex(_) => None,
    }
}

#[test]
fn the_collection_is_what_its_manifest_says() {
    let Some(manifest) = manifest() else { return };
    for Entry {
        name,
        rows,
        entries,
        complex,
        ..
    } in manifest
    {
        let matrix = load(&name);
        assert_eq!(matrix.size().rows, rows, "rows of {name}");
        assert_eq!(matrix.nonzeros(), entries, "entries of {name}");
        let found = matches!(matrix, AnyMatrix::Complex(_));
        assert_eq!(found, complex, "field of {name}");
    }
}

#[test]
fn a_right_hand_side_is_read() {
    if manifest().is_none() {
        return;
    }
    let vector = io::read_vector(file("cavity14_b"), &Executor::cpu()).unwrap();
    let AnyVector::Real(vector) = vector else {
        panic!("the right-hand side is real");
    };
    assert_eq!((vector.rows(), vector.cols()), (2597, 1));
}

#[test]
fn singular_matrices_are_solved_for_what_is_in_their_range() {
    if manifest().is_none() {
        return;
    }
    let config: Config = "solver=cg preconditioner=amg".parse().unwrap();
    for name in ["amg_match_poisson4009", "pyamg_unit_square"] {
        let cpu = Executor::cpu();
        let a = real(name).expect("it is real");
        let guess = (0..a.size().rows).map(|row| (row * row % 101) as f64 - 50.0);
        let guess = Vector::from_column(&cpu, guess.collect());
        let (mut b, ws) = (Vector::<f64>::zeros_like(&guess).unwrap(), Workspace::new());
        a.apply(&guess, &mut b, &ws).unwrap();
        let solution = config::solve(&config, &Arc::new(a), &b, &ws).unwrap();
        let (outcome, messages) = (&solution.outcome, solution.messages.join("; "));
        eprintln!("{name}: {outcome}: {messages}");
        assert!(outcome.converged(), "{name}: {outcome}");
        let constant = name == "pyamg_unit_square";
        assert_eq!(
            messages.contains("annihilates constants"),
            constant,
            "{messages}"
        );
    }
}

/// The larger ones, and iterative methods, are left to the benchmarks.
#[cfg(feature = "direct")]
#[test]
fn small_definite_matrices_are_solved_by_factorisation() {
    let Some(manifest) = manifest() else { return };
    let small = |entry: &&Entry| entry.definite && entry.rows <= 5000;
    let mut solved = 0;
    for Entry { name, .. } in manifest.iter().filter(small) {
        let outcome = match load(name) {
            AnyMatrix::Real(a) => direct(a),
            AnyMatrix::Complex(a) => direct(a),
        };
        assert!(outcome.converged(), "{name}: {outcome}");
        solved += 1;
    }
    assert!(solved >= 20, "only {solved} in the collection");
}

/// Factorised and refined, for a right-hand side of ones.
#[cfg(feature = "direct")]
fn direct<T: vcycle::scalar::Mixes<T, T>>(a: vcycle::matrix::Csr<T>) -> vcycle::stop::Outcome {
    use vcycle::solver::{Direct, Ir};
    let b = Vector::filled(a.executor(), a.size().rows, 1, 1.0).unwrap();
    let mut x = Vector::zeros_like(&b).unwrap();
    let solver = Solver::<T>::new(Ir::default(), Arc::new(a)).unwrap();
    let solver = solver.preconditioned_by(&Direct::default()).unwrap();
    let stop = vcycle::stop::Stop::relative(1e-8).max_iterations(10);
    solver.stopping(stop).solve(&b, &mut x).unwrap()
}

/// Rows and entries of the levels that a matrix has over so many ranks, and the iterations it takes.
fn levels_over_ranks(whole: &Csr<f64>, ranks: usize) -> (Vec<(usize, usize)>, usize) {
    let config: Config = "solver=cg preconditioner=amg:pmis".parse().unwrap();
    let mut of_all = threads::run(ranks, |team| {
        let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
        let even = Partition::even(whole.size().rows as u64, 1, ranks);
        let a = Distributed::part_of(&rank, whole, even)?;
        let b = Vector::filled(&rank, a.size().rows, 1, 1.0)?;
        let system = System::new(Arc::new(a));
        let solution = config::solve_system(&config, &system, &b, &Workspace::new())?;
        assert!(solution.outcome.converged());
        let levels = solution.multigrid.iter().flat_map(|report| &report.levels);
        let levels = levels.map(|level| (level.rows, level.nonzeros)).collect();
        Ok((levels, solution.outcome.iterations))
    })
    .unwrap();
    of_all.swap_remove(0)
}

#[test]
fn levels_and_iterations_do_not_depend_on_ranks() {
    if manifest().is_none() {
        return;
    }
    for name in ["gr_30_30", "nos3", "1138_bus"] {
        let whole = real(name).expect("it is real");
        let (levels, iterations) = levels_over_ranks(&whole, 1);
        for ranks in [2, 7, 64] {
            let (found, taken) = levels_over_ranks(&whole, ranks);
            assert_eq!(found, levels, "{name} on {ranks} ranks");
            // Only the order of sums differs.
            assert!(
                taken.abs_diff(iterations) <= 1,
                "{name} on {ranks} ranks: {taken} and {iterations}"
            );
        }
    }
}

/// Iterations of conjugate gradients, if they converge.
fn iterations(factory: &dyn Factory<f64>, a: &Arc<Csr<f64>>) -> Option<f64> {
    let mut solver = Solver::new(Cg::default(), Arc::clone(a) as Arc<dyn LinOp<f64>>).ok()?;
    solver = solver.preconditioned_by(factory).unwrap();
    let b = Vector::filled(a.executor(), a.size().rows, 1, 1.0).unwrap();
    let outcome = solver.solve(&b, &mut Vector::zeros_like(&b).unwrap());
    let outcome = outcome.unwrap();
    outcome.converged().then_some(outcome.iterations as f64)
}

#[test]
fn fsai_takes_half_the_iterations_of_jacobi() {
    let Some(manifest) = manifest() else { return };
    let small = |entry: &&Entry| entry.definite && entry.rows <= 2000;
    let mut logarithms = Vec::new();
    for Entry { name, .. } in manifest.iter().filter(small) {
        let Some(a) = real(name).map(Arc::new) else {
            continue;
        };
        let fsai = iterations(&Fsai::default(), &a);
        let jacobi = iterations(&Jacobi::default(), &a);
        eprintln!("{name}: fsai {fsai:?}, jacobi {jacobi:?}");
        if let (Some(fsai), Some(jacobi)) = (fsai, jacobi) {
            logarithms.push((fsai / jacobi).ln());
        }
    }
    let mean = (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp();
    assert!(logarithms.len() >= 12 && mean < 0.5, "{mean}");
}
