//! Set-ups and fifty cycles in four precisions, and the products of a hierarchy beside those of cuSPARSE, which the paper's
//! baseline calls.

use std::cell::RefCell;
use std::rc::Rc;

use vcycle::log::{Log, Profile};
use vcycle::multigrid::{Amg, Hierarchy, LevelFormat};

use super::products::timed;
use super::solves::variants;
use crate::gpu::cusparse::Cusparse;
use crate::options::{config, multigrid};
use crate::peers::Library;
use crate::prelude::*;
use crate::problem::Ready;
use crate::reproduce::experiment::{By, Experiment, Scope, Subject};
use crate::reproduce::record::Value;
use crate::timing::{Work, mean, shortest, turns, warm};

/// Cycles of a solve.
const CYCLES: f64 = 50.0;
/// How much longer the paper's format takes than those that a device chooses.
const TILES: &str = "tiles beside the chosen formats, total";
/// How much longer hypre takes.
pub(super) const HYPRE: &str = "hypre beside ours, total";
/// Its parts, and how much longer cuSPARSE takes for products of matrices, and with vectors: than in the formats that a device
/// chooses, and than in tiles.
const BESIDE: [&str; 7] = [
    HYPRE,
    "hypre beside ours, set-up",
    "cuSPARSE beside ours, products of matrices",
    "hypre beside ours, solve",
    "cuSPARSE beside ours, products with vectors",
    "cuSPARSE beside tiles, products of matrices",
    "cuSPARSE beside tiles, products with vectors",
];
/// Products of matrices that are timed, after one that is not; the shortest counts.
const ROUNDS: usize = 3;

pub(super) fn cycles(experiment: &Experiment, scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let (mut values, mut gains, mut beside) = (Vec::new(), Vec::new(), Vec::new());
    let what = "mixed precision, total";
    for subject in experiment.subjects(scope)? {
        let name = &subject.name;
        let ready = Ready::new(&subject.problem, &executor)?;
        let variants = variants(&experiment.base, &experiment.variants, &subject)?;
        let precisions: Vec<&str> = variants.iter().map(|one| one.name).collect();
        let amgs = variants.into_iter().map(|one| multigrid(one.config));
        let amgs = amgs.collect::<Result<Vec<_>>>()?;
        let made = amgs.iter().map(|amg| set_up(&ready, amg, scope));
        let made = made.collect::<Result<Vec<_>>>()?;
        let times = applied(scope, &ready, &made)?;
        let total = |place: usize| made[place].0 + CYCLES * times[place];
        for (place, precision) in precisions.iter().enumerate().skip(1) {
            let row = format!("{name}, {precision}");
            values.push(Value::factor(row, "cycle", times[0] / times[place]));
        }
        let last = total(amgs.len() - 1);
        gains.push(total(0) / last);
        values.push(Value::factor(name, what, total(0) / last));
        if executor.is_device() {
            // As in the paper: Galerkin products and cycles in tiles.
            let mut amg = amgs[amgs.len() - 1].clone();
            amg.format = LevelFormat::Mbsr;
            let made = set_up(&ready, &amg, scope)?;
            let tiles = made.0 + CYCLES * applied(scope, &ready, &[made])?[0];
            values.push(Value::factor(name, TILES, tiles / last));
        }
        beside.extend(beside_hypre(scope, &subject, &ready)?);
        beside.extend(beside_cusparse(name, &ready, &amgs[0], scope.seconds())?);
    }
    values.push(Value::factor("geometric mean", what, mean(&gains)));
    let means = BESIDE.iter().filter_map(|what| {
        let of = |value: &&Value| value.quantity == *what;
        let factors: Vec<f64> = beside.iter().filter(of).map(|one| one.value).collect();
        let who = &beside.iter().find(of)?.who;
        Some(Value::factor("geometric mean", what, mean(&factors)).by(who))
    });
    let means: Vec<Value> = means.collect();
    Ok([values, beside, means].concat())
}

/// Seconds of the shortest set-up, and a hierarchy.
type Made = (f64, Hierarchy<f64>);

fn set_up(ready: &Ready, amg: &Amg, scope: &Scope) -> Result<Made> {
    let (a, ws) = (ready.operator(), Workspace::new);
    let mut make = || Ok(amg.setup(&a, &ws())?.1);
    let (milliseconds, made) = shortest(a.executor(), scope.size([1, 2, 3]), &mut make)?;
    Ok((1e-3 * milliseconds, made))
}

/// Seconds of a cycle of each, in turns.
fn applied(scope: &Scope, ready: &Ready, made: &[Made]) -> Result<Vec<f64>> {
    let (b, ws) = (ready.rhs(), &Workspace::new());
    let mut all: Vec<Work<'_>> = Vec::new();
    for (_, hierarchy) in made {
        let mut x = Vector::zeros_like(b)?;
        all.push(Box::new(move || Ok(hierarchy.apply(b, &mut x, ws)?)));
    }
    let measuring = scope.size([(1, 0.0), (2, 0.05), (8, 0.2)]);
    turns(b.executor(), &mut all, measuring)
}

/// Set-up and solve to 1e-8, each as it chooses by itself; nothing where hypre is absent or does not converge, nor for nonsymmetric
/// problems: its program has conjugate gradients.
fn beside_hypre(scope: &Scope, subject: &Subject, ready: &Ready) -> Result<Vec<Value>> {
    if subject.extra.is_some() {
        return Ok(Vec::new());
    }
    let theirs = scope.solved_by(Library::Hypre, &subject.problem)?;
    let Some((who, theirs)) = theirs.iter().find(|(_, one)| one.converged()) else {
        return Ok(Vec::new());
    };
    let solution = ready.solve(&"rtol=1e-8".parse()?)?;
    let [setup, solve] = [solution.setup, solution.solving].map(|part| part.as_secs_f64());
    let factors = [
        (BESIDE[0], theirs.total() / (setup + solve)),
        (BESIDE[1], theirs.setup / setup),
        (BESIDE[3], theirs.solve / solve),
    ];
    let factor = |(what, factor)| Value::factor(&subject.name, what, factor).by(who);
    Ok(factors.map(factor).into())
}

/// Galerkin products of all levels, and a product with every matrix of theirs; nothing where there is no cuSPARSE.
fn beside_cusparse(name: &str, ready: &Ready, amg: &Amg, seconds: f64) -> Result<Vec<Value>> {
    let executor = ready.matrix().executor();
    let Some(Ok(cusparse)) = executor.device().map(Cusparse::load) else {
        return Ok(Vec::new());
    };
    // Seconds of all levels: as a device chooses, in tiles, by cuSPARSE.
    let [mut matrices, mut vectors] = [[0.0; 3]; 2];
    let add = |sums: &mut [f64; 3], times: [f64; 3]| {
        let pairs = sums.iter_mut().zip(times);
        pairs.for_each(|(sum, time)| *sum += time);
    };
    let with_vector = |a: &Csr<f64>| -> Result<[f64; 3]> {
        let (microseconds, _) = cusparse.best(a, &vec![1.0; a.size().cols], 1)?;
        let tiles = timed::<f64, f64>(&a.in_tiles()?, seconds)?;
        Ok([timed::<f64, f64>(a, seconds)?, tiles, 1e-6 * microseconds])
    };
    let of_matrices = |a: &Csr<f64>, b: &Csr<f64>| -> Result<[f64; 3]> {
        let theirs = [cusparse.matrix(a)?, cusparse.matrix(b)?];
        let mut product = || cusparse.product(&theirs[0], &theirs[1]);
        Ok([
            warm(executor, ROUNDS, &mut || Ok(a.multiply(b)?))?.0,
            warm(executor, ROUNDS, &mut || Ok(a.multiply_in_tiles(b)?))?.0,
            warm(executor, ROUNDS, &mut product)?.0,
        ])
    };
    let (finest, ws) = (ready.operator(), Workspace::new());
    let (setup, _) = amg.setup(&finest, &ws)?;
    for level in setup.matrices(&finest, &ws)? {
        let a = level.a.copy_to(executor)?;
        add(&mut vectors, with_vector(&a)?);
        if let (Some(r), Some(p)) = (level.restriction, level.prolongation) {
            let (r, p) = (r.copy_to(executor)?, p.copy_to(executor)?);
            add(&mut matrices, of_matrices(&a, &p)?);
            add(&mut matrices, of_matrices(&r, &a.multiply(&p)?)?);
            add(&mut vectors, with_vector(&r)?);
            add(&mut vectors, with_vector(&p)?);
        }
    }
    let all = [
        (BESIDE[2], matrices[2] / matrices[0]),
        (BESIDE[5], matrices[2] / matrices[1]),
        (BESIDE[4], vectors[2] / vectors[0]),
        (BESIDE[6], vectors[2] / vectors[1]),
    ];
    let factor = |(what, factor)| Value::factor(name, what, factor).by("cuSPARSE");
    Ok(all.map(factor).into())
}

/// The share of the cycles outside the coarsest level, in per cent.
pub(super) fn shares(experiment: &Experiment, scope: &Scope) -> Result<Vec<Value>> {
    let (executor, what) = (scope.executor()?, "products in the solve");
    let amg = multigrid(config(&[&experiment.base])?)?;
    let mut values = Vec::new();
    for subject in experiment.subjects(scope)? {
        let ready = Ready::new(&subject.problem, &executor)?;
        let (_, hierarchy) = amg.setup(&ready.operator(), &Workspace::new())?;
        let profile = Rc::new(RefCell::new(Profile::default()));
        let ws = Workspace::with_log(Log::new().with(Rc::clone(&profile)));
        let mut x = Vector::zeros_like(ready.rhs())?;
        for _ in 0..scope.size([1, 5, 20]) {
            hierarchy.apply(ready.rhs(), &mut x, &ws)?;
        }
        let share = 100.0 * products(&profile.borrow());
        values.push(Value::new(&subject.name, what, "%", share));
    }
    let shares: Vec<f64> = values.iter().map(|value| value.value).collect();
    values.push(Value::new("mean", what, "%", By::Mean.of(&shares)));
    Ok(values)
}

/// The share of stages without others in them that are not the solve of the coarsest level.
fn products(profile: &Profile) -> f64 {
    let all: f64 = profile.stages().iter().map(|stage| stage.seconds).sum();
    let rows = profile.rows();
    let leaves = rows.iter().filter(|(_, stage)| stage.children.is_empty());
    let products = leaves.filter(|(_, stage)| !stage.name.contains("coarsest"));
    products.map(|(_, stage)| stage.seconds).sum::<f64>() / all
}
