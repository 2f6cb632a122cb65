//! The gallery against figures computed independently: counts, sums, norms and quadratic forms.

use serde_json::Value;
use vcycle::executor::Executor;
use vcycle::gallery::{self, Problem};
use vcycle::matrix::Csr;
use vcycle_gpu::testing::shared;

/// The figures of `spec`, or of one of its `variant`s; `None` without the file.
fn fingerprint(spec: &str, variant: Option<&str>) -> Option<Value> {
    let text = std::fs::read_to_string(shared("fingerprints.json")?).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    let figures = &all[spec];
    Some(variant.map_or(figures, |name| &figures[name]).clone())
}

fn build(spec: &str) -> Problem {
    gallery::build(spec, &Executor::cpu()).unwrap()
}

/// A sum with Neumaier's compensation.
fn sum(terms: impl Iterator<Item = f64>) -> f64 {
    let (mut total, mut lost) = (0.0_f64, 0.0);
    for term in terms {
        let next = total + term;
        lost += if total.abs() >= term.abs() {
            (total - next) + term
        } else {
            (term - next) + total
        };
        total = next;
    }
    total + lost
}

fn quadratic_form(a: &Csr<f64>, x: &[f64]) -> f64 {
    sum((0..a.size().rows).flat_map(|row| {
        let (columns, values) = a.row(row);
        let entries = columns.iter().zip(values);
        entries.map(move |(&column, &value)| x[row] * value * x[column as usize])
    }))
}

/// Fails unless `value` is the figure `key`, to rounding of sums as large as `scale`.
fn check(figures: &Value, key: &str, value: f64, scale: f64) {
    let expected = figures[key].as_f64().unwrap_or_else(|| panic!("{key}"));
    let error = (value - expected).abs();
    assert!(
        error <= 1e-12 * expected.abs() + 1e-15 * scale,
        "{key}: {value:e} is not {expected:e}"
    );
}

fn check_matrix(a: &Csr<f64>, figures: &Value) {
    let largest = a.values().iter().fold(0.0_f64, |max, v| max.max(v.abs()));
    let sizes = || a.values().iter().map(|value| value.abs());
    let nonzero = || sizes().filter(|size| *size > 1e-13 * largest);
    let sum_abs = sum(sizes());
    let sines: Vec<f64> = (1..=a.size().rows).map(|i| (i as f64).sin()).collect();
    assert_eq!(a.size().rows as u64, figures["rows"]);
    assert_eq!(a.nonzeros() as u64, figures["nnz_stored"]);
    assert_eq!(nonzero().count() as u64, figures["nnz"]);
    check(figures, "sum", sum(a.values().iter().copied()), sum_abs);
    check(figures, "sum_abs", sum_abs, 0.0);
    check(figures, "fro", sum(sizes().map(|v| v * v)).sqrt(), 0.0);
    check(figures, "trace", sum(a.diagonal().into_iter()), 0.0);
    let smallest = nonzero().fold(largest, f64::min);
    check(figures, "abs_min", smallest, largest);
    check(figures, "abs_max", largest, 0.0);
    check(figures, "xAx", quadratic_form(a, &sines), 0.0);
}

/// Checks the form of `u = sin(1 + x + 2y + 3z + component)`.
fn check_coordinates(problem: &Problem, figures: &Value) {
    let coordinates = problem.coordinates.as_ref().unwrap();
    let values = |&[x, y, z]: &[f64; 3]| {
        let phase = 1.0 + x + 2.0 * y + 3.0 * z;
        (0..problem.block_size).map(move |component| (phase + component as f64).sin())
    };
    let x: Vec<f64> = coordinates.iter().flat_map(values).collect();
    let size: f64 = problem.matrix.values().iter().map(|v| v.abs()).sum();
    let form = quadratic_form(&problem.matrix, &x);
    check(figures, "xAx_coord", form, size);
}

#[test]
fn stencils_and_elasticity() {
    let specs = "poisson5:100 poisson9:100 poisson7:32 poisson27:32 aniso7:32,0.01 jump7:32,1e6 elasticity:8x4x4";
    for spec in specs.split(' ') {
        let Some(figures) = fingerprint(spec, None) else {
            return;
        };
        let problem = build(spec);
        check_matrix(&problem.matrix, &figures);
        if spec.starts_with("elasticity") {
            check_coordinates(&problem, &figures);
        }
    }
}

#[test]
fn beams_and_l_shapes() {
    // The fine ones are assembled for half a minute each where nothing is optimised.
    let fine: &[_] = match cfg!(debug_assertions) {
        true => &[],
        false => &["beam:o3,l3", "lshape:o3,l7"],
    };
    for spec in ["beam:o3,l1", "lshape:o3,l3"].iter().chain(fine) {
        let Some(figures) = fingerprint(spec, Some("diag_one")) else {
            return;
        };
        let problem = build(spec);
        check_matrix(&problem.matrix, &figures);
        check_coordinates(&problem, &figures);
        let squares = problem.rhs.iter().map(|value| value * value);
        check(&figures, "rhs_sum", sum(problem.rhs.iter().copied()), 0.0);
        check(&figures, "rhs_norm2", sum(squares).sqrt(), 0.0);
    }
}
