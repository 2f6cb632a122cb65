//! Products of matrices with vectors and with each other.

use std::cell::RefCell;

use vcycle::matrix::{Coo, Ell, Hybrid, SellP};

use crate::common::cores;
use crate::gpu::cusparse::{Cusparse, CusparseReal};
use crate::mkl::Mkl;
use crate::options::{config, multigrid};
use crate::prelude::*;
use crate::problem::{BenchSystem, Ready, system};
use crate::products::{self, Kinds, kinds};
use crate::reproduce::experiment::{Experiment, Scope};
use crate::reproduce::record::Value;
use crate::timing::{Candidate, mean, shortest, work};

/// Seconds of a product of an operator, the best within some.
pub(super) fn timed<X: Scalar, Y: Scalar>(a: &dyn LinOp<X, Y>, seconds: f64) -> Result<f64> {
    let (executor, ws) = (a.executor(), Workspace::new());
    let ones = Vector::<f64>::filled(executor, a.size().cols, 1, 1.0)?;
    let mut x = Vector::<X>::zeros(executor, a.size().cols, 1)?;
    x.copy_from(&ones)?;
    let mut y = Vector::<Y>::zeros(executor, a.size().rows, 1)?;
    work(executor, seconds, || Ok(a.apply(&x, &mut y, &ws)?))
}

const DOUBLE: Kinds = kinds(Kind::F64, Kind::F64);
const SINGLE: Kinds = kinds(Kind::F32, Kind::F32);
/// Half-precision matrices with vectors in single precision.
const HALF: Kinds = kinds(Kind::F16, Kind::F32);

/// Seconds of a product with a matrix, an input and an output of some kinds.
fn product(a: &Csr<f64>, kinds: Kinds, seconds: f64) -> Result<f64> {
    let product = products::product(a, kinds, 1, a.executor())?;
    work(a.executor(), seconds, product.work)
}

/// All 64 combinations of matrix, input and output.
pub(super) fn combinations(experiment: &Experiment, scope: &Scope) -> Result<Vec<Value>> {
    let ready = Ready::new(&experiment.subject(scope)?.problem, &scope.executor()?)?;
    let double = product(ready.matrix(), DOUBLE, scope.seconds())?;
    let kinds = [Kind::F64, Kind::F32, Kind::F16, Kind::Bf16];
    let count = kinds.len().pow(3) as f64;
    let mut values = vec![Value::new("combinations of real types", "kinds", "", count)];
    for matrix in kinds {
        for input in kinds {
            for output in kinds {
                let kinds = [matrix, input, output];
                let time = product(ready.matrix(), kinds, scope.size([0.0, 0.02, 0.1]))?;
                let row = format!("{matrix} x {input} = {output}");
                values.push(Value::factor(row, "speed-up", double / time));
            }
        }
    }
    Ok(values)
}

/// Seconds of a product in five formats; CSR comes first.
fn in_formats<V: Mixes<V, V>>(a: &Csr<V>, seconds: f64) -> Result<[(&'static str, f64); 5]> {
    Ok([
        ("csr", timed::<V, V>(a, seconds)?),
        ("coo", timed::<V, V>(&Coo::from_csr(a)?, seconds)?),
        ("ell", timed::<V, V>(&Ell::from_csr(a)?, seconds)?),
        ("sellp", timed::<V, V>(&SellP::from_csr(a)?, seconds)?),
        ("hybrid", timed::<V, V>(&Hybrid::from_csr(a)?, seconds)?),
    ])
}

fn fastest(times: &[(&str, f64)]) -> f64 {
    let times = times.iter().map(|(_, time)| *time);
    times.fold(f64::INFINITY, f64::min)
}

/// Five formats of every matrix.
pub(super) fn formats(experiment: &Experiment, scope: &Scope) -> Result<Vec<Value>> {
    let (mut values, executor) = (Vec::new(), scope.executor()?);
    for subject in experiment.subjects(scope)? {
        let ready = Ready::new(&subject.problem, &executor)?;
        let times = in_formats::<f64>(ready.matrix(), scope.seconds())?;
        let best = fastest(&times);
        for (format, time) in times {
            let row = format!("{}, {format}", subject.name);
            values.push(Value::factor(row, "times the fastest", time / best));
        }
    }
    Ok(values)
}

/// Levels whose products are timed: those below have next to nothing to do.
const LEVELS: usize = 4;

/// Products with the matrices of the finest levels.
pub(super) fn levels(experiment: &Experiment, scope: &Scope) -> Result<Vec<Value>> {
    let ready = Ready::new(&experiment.subject(scope)?.problem, &scope.executor()?)?;
    let amg = multigrid(config(&[&experiment.base])?)?;
    let (a, ws) = (ready.operator(), Workspace::new());
    let levels = amg.setup(&a, &ws)?.0.matrices(&a, &ws)?;
    let mut values = Vec::new();
    for (number, level) in levels.iter().take(LEVELS).enumerate() {
        let mut times = [f64::INFINITY; 3];
        for _ in 0..scope.size([1, 2, 5]) {
            for (best, kinds) in times.iter_mut().zip([DOUBLE, SINGLE, HALF]) {
                *best = best.min(product(&level.a, kinds, scope.seconds() / 5.0)?);
            }
        }
        for (precision, time) in [("single", times[1]), ("half", times[2])] {
            let row = format!("level {number}, {precision}");
            values.push(Value::factor(row, "speed-up", times[0] / time));
        }
    }
    Ok(values)
}

/// Matrices of half precision beside double.
pub(super) fn halves(experiment: &Experiment, scope: &Scope) -> Result<Vec<Value>> {
    let (mut values, executor) = (Vec::new(), scope.executor()?);
    let what = "mixed precision, products";
    for subject in experiment.subjects(scope)? {
        let ready = Ready::new(&subject.problem, &executor)?;
        let double = product(ready.matrix(), DOUBLE, scope.seconds())?;
        let half = product(ready.matrix(), HALF, scope.seconds())?;
        values.push(Value::factor(&subject.name, what, double / half));
    }
    let gains: Vec<f64> = values.iter().map(|value| value.value).collect();
    values.push(Value::factor("geometric mean", what, mean(&gains)));
    Ok(values)
}

/// Billions of operations a second.
fn rate(row: String, entries: usize, seconds: f64) -> Value {
    Value::new(row, "rate", "GFLOP/s", 2e-9 * entries as f64 / seconds)
}

/// Products in formats and precisions, beside libraries of vendors.
pub(super) fn vendors(experiment: &Experiment, scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let (mut values, mut beside) = (Vec::new(), Vec::new());
    for subject in experiment.subjects(scope)? {
        let ready = Ready::new(&subject.problem, &executor)?;
        let (name, a) = (&subject.name, ready.matrix());
        let mkl = mkl(scope, a)?;
        vendors_of::<f64>(name, a, scope, mkl, (&mut values, &mut beside))?;
        vendors_of::<f32>(name, &a.convert()?, scope, None, (&mut values, &mut beside))?;
        let half = product(a, HALF, scope.seconds())?;
        values.push(rate(format!("{name}, f16, csr"), a.nonzeros(), half));
    }
    if let Some((who, _)) = beside.first() {
        let factors: Vec<f64> = beside.iter().map(|one| one.1).collect();
        let what = "vendor's library beside the fastest format, time";
        values.push(Value::factor("geometric mean", what, mean(&factors)).by(who));
    }
    Ok(values)
}

/// A matrix in all formats, and by the vendor of the machine: rates, and how much longer the vendor's library takes than our fastest
/// format.
fn vendors_of<V: Mixes<V, V> + CusparseReal>(
    name: &str,
    a: &Csr<V>,
    scope: &Scope,
    mkl: Option<f64>,
    (values, beside): (&mut Vec<Value>, &mut Vec<(&'static str, f64)>),
) -> Result<()> {
    let (times, entries) = (in_formats(a, scope.seconds())?, a.nonzeros());
    let row = |format: &str| format!("{name}, {}, {format}", V::KIND);
    values.extend(times.map(|(format, time)| rate(row(format), entries, time)));
    for (who, time) in [("MKL", mkl), ("cuSPARSE", cusparse(a)?)] {
        if let Some(time) = time {
            values.push(rate(row("csr"), entries, time).by(who));
            beside.push((who, time / fastest(&times)));
        }
    }
    Ok(())
}

/// Seconds of cuSPARSE where the matrix is on a device that has it.
fn cusparse<V: CusparseReal>(a: &Csr<V>) -> Result<Option<f64>> {
    let device = a.executor().device();
    let Some(Ok(cusparse)) = device.map(Cusparse::load) else {
        return Ok(None);
    };
    let x = Vector::<V>::zeros(a.executor(), a.size().cols, 1)?;
    let (microseconds, _) = cusparse.best(a, &x.to_vec(), 1)?;
    Ok(Some(1e-6 * microseconds))
}

/// Seconds of MKL where it is installed and the matrix on the processor; it may store the matrix a second time.
pub(super) fn mkl(scope: &Scope, a: &Csr<f64>) -> Result<Option<f64>> {
    let is_here = a.executor().device().is_none();
    let Some(python) = scope.mkl.as_ref().filter(|_| is_here) else {
        return Ok(None);
    };
    let system = BenchSystem::plain(a.clone(), vec![1.0; a.size().cols]);
    let mkl = RefCell::new(Mkl::start(python, &system)?);
    let threads = cores()?;
    let time = |mode| Mkl::on(&mkl, mode, threads).best_within(scope.seconds());
    Ok(Some(f64::min(time("csr")?, time("copy")?)))
}

/// Two orders of a triple product.
pub(super) fn orders(experiment: &Experiment, scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let system = system(&executor, &experiment.subject(scope)?.problem)?;
    let near = system
        .near_nullspace
        .ok_or("elasticity has rigid-body modes")?;
    let a: Arc<dyn LinOp<f64>> = Arc::new(system.matrix);
    let text = "preconditioner=amg:coarsening=mis2,coarsest-rows=20";
    let (amg, ws) = (multigrid(text.parse()?)?, Workspace::new());
    let levels = amg.setup_with(&a, &near, &ws)?.0.matrices(&a, &ws)?;
    let a = &levels[0].a;
    let (Some(r), Some(p)) = (&levels[0].restriction, &levels[0].prolongation) else {
        return Err("there is no second level".into());
    };
    let (ap, ra) = (a.multiply(p)?, r.multiply(a)?);
    let factors: [(&str, &Csr<f64>, &Csr<f64>); 4] = [
        ("AP", a, p),
        ("R(AP)", r, &ap),
        ("RA", r, a),
        ("(RA)P", &ra, p),
    ];
    let mut values = Vec::new();
    for (row, left, right) in factors {
        let mut multiply = || Ok(left.multiply(right)?);
        let (time, _) = shortest(&executor, scope.size([1, 2, 4]), &mut multiply)?;
        values.push(Value::new(row, "time", "s", 1e-3 * time));
    }
    let both = |place: usize| values[place].value + values[place + 1].value;
    let ratio = both(2) / both(0);
    values.push(Value::factor("(RA)P beside R(AP)", "both products", ratio));
    for (row, matrix) in [("A", &**a), ("P", &**p), ("AP", &ap), ("RA", &ra)] {
        let entries = matrix.nonzeros() as f64 / matrix.size().rows as f64;
        values.push(Value::new(row, "entries a row", "", entries));
    }
    Ok(values)
}
