//! Overheads and bandwidths.

use vcycle::config::{System, solve_system};
use vcycle::vector::{Coefficient, Scalars};

use crate::common::cores;
use crate::prelude::*;
use crate::problem::Ready;
use crate::reproduce::experiment::{By, Experiment, Scope, Size};
use crate::reproduce::record::Value;
use crate::solves::remark;
use crate::timing::{Candidate, work};
use crate::triad::{Triad, pool};

/// Bytes a second of the STREAM triad. Devices have two vectors read and one written in place: they need not read what they
/// overwrite.
fn triad(scope: &Scope) -> Result<f64> {
    let executor = scope.executor()?;
    if executor.is_device() {
        let x = Vector::<f64>::filled(&executor, VALUES[2], 1, 1.0)?;
        let mut y = Vector::zeros_like(&x)?;
        let add = || Ok(y.axpy(Coefficient::constant(0.5), &x)?);
        let seconds = work(&executor, scope.seconds(), add)?;
        return Ok((3 * x.bytes()) as f64 / seconds);
    }
    let mut triad = match scope.size {
        Size::Tiny => Triad::of_length(1 << 10),
        Size::Quick | Size::Full => Triad::new(),
    };
    let (bytes, pool) = (triad.bytes(), pool(cores()?)?);
    Ok(bytes / triad.on(&pool).best_within(scope.seconds())?)
}

/// Values of a vector.
const VALUES: [usize; 3] = [1 << 10, 1 << 22, 1 << 24];
/// Rows of a matrix that is too small to take time, but does not let a method end.
const FEW: usize = 200;

/// A hundred iterations of a method without a preconditioner.
fn hundred(method: &str) -> Result<Config> {
    let text = format!("solver={method} preconditioner=none rtol=0 max-iterations=100");
    Ok(text.parse()?)
}

/// Iterations with a small diagonal matrix of condition 1e6.
pub(super) fn overheads(_: &Experiment, scope: &Scope) -> Result<Vec<Value>> {
    let executor = Executor::cpu_with_threads(1)?;
    let entry = |row: usize| 1e6_f64.powf(row as f64 / (FEW - 1) as f64);
    let a = Csr::diagonal_matrix(&executor, (0..FEW).map(entry).collect());
    let system = System::new(Arc::new(a));
    let b = Vector::filled(&executor, FEW, 1, 1.0)?;
    let iteration = |method| {
        let (config, mut best) = (hundred(method)?, f64::INFINITY);
        for _ in 0..scope.size([1, 20, 200]) {
            let solution = solve_system(&config, &system, &b, &Workspace::new())?;
            let count = solution.outcome.iterations.max(1) as f64;
            best = best.min(solution.solving.as_secs_f64() / count);
        }
        Ok(Value::new(method, "an iteration", "us", 1e6 * best))
    };
    let methods = ["bicgstab", "cg", "cgs", "fcg", "gmres"].into_iter();
    methods.map(iteration).collect()
}

/// A bandwidth, and its share of the triad's.
fn bandwidth(row: &str, speed: f64, triad: f64) -> [Value; 2] {
    [
        Value::new(row, "bandwidth", "GB/s", speed / 1e9),
        Value::new(row, "share of triad", "", speed / triad),
    ]
}

pub(super) fn vectors(_: &Experiment, scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let rows = scope.size(VALUES);
    let bytes = (rows * size_of::<f64>()) as f64;
    let filled = |value: f64| Vector::<f64>::filled(&executor, rows, 1, value);
    let (x, y, mut z) = (filled(1.0)?, filled(2.0)?, filled(0.5)?);
    let mut sum = Scalars::filled(&executor, 1, 0.0)?;
    let seconds = scope.seconds();
    let copy = work(&executor, seconds, || Ok(z.copy_from(&x)?))?;
    let mul = work(&executor, seconds, || Ok(z.scale(-Coefficient::one())?))?;
    let add = work(&executor, seconds, || Ok(z.axpy(Coefficient::one(), &y)?))?;
    let dot = work(&executor, seconds, || Ok(x.norm(&mut sum)?))?;
    let triad = triad(scope)?;
    let speeds = [
        ("Copy", 2.0 * bytes / copy),
        ("Mul", 2.0 * bytes / mul),
        ("Add", 3.0 * bytes / add),
        ("Triad", triad),
        ("Dot", bytes / dot),
    ];
    let values = speeds.map(|(row, speed)| bandwidth(row, speed, triad));
    Ok(values.into_iter().flatten().collect())
}

/// Methods, and by table 2 of the paper how many vectors and matrices an iteration reads or writes, and how many products it
/// has, each of which the paper counts; of GMRES with a restart of 100.
const METHODS: [(&str, f64, f64, f64); 5] = [
    ("cg", 18.0, 1.0, 1.0),
    ("fcg", 21.0, 1.0, 1.0),
    ("bicgstab", 15.5, 1.0, 2.0),
    ("cgs", 14.5, 1.0, 2.0),
    ("gmres:100", 250.0 + 10.5 + 0.14, 1.01, 1.0),
];

pub(super) fn krylov(experiment: &Experiment, scope: &Scope) -> Result<Vec<Value>> {
    let ready = Ready::new(&experiment.subject(scope)?.problem, &scope.executor()?)?;
    let (a, triad) = (ready.matrix(), triad(scope)?);
    let vector = (a.size().rows * size_of::<f64>()) as f64;
    let (mut values, mut shares) = (Vec::new(), Vec::new());
    for (method, vectors, matrices, products) in METHODS {
        let solution = ready.solve(&hundred(method)?)?;
        let iterations = solution.outcome.iterations.max(1) as f64;
        let bytes = products * iterations * (matrices * a.bytes() as f64 + vectors * vector);
        let speed = bytes / solution.solving.as_secs_f64();
        let note = format!("{iterations} iterations, {}", remark(&Ok(solution)));
        let [bandwidth, share] = bandwidth(method, speed, triad);
        shares.push(share.value);
        values.extend([bandwidth.noting(note), share]);
    }
    for (row, by) in [("least", By::Least), ("most", By::Most)] {
        values.push(Value::new(row, "share of triad", "", by.of(&shares)));
    }
    Ok(values)
}
