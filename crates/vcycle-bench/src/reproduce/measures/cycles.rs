//! Set-ups and fifty cycles in four precisions, and the products of a hierarchy beside those of cuSPARSE, which the paper's
//! baseline calls.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use vcycle::executor::Workspace;
use vcycle::linop::LinOp;
use vcycle::log::{Log, Profile};
use vcycle::matrix::Csr;
use vcycle::multigrid::{Amg, Hierarchy, LevelFormat};
use vcycle::vector::Vector;

use super::products::timed;
use super::solves::configs;
use crate::common::Result;
use crate::gpu::cusparse::Cusparse;
use crate::options::multigrid;
use crate::peers::Library;
use crate::problem::Ready;
use crate::reproduce::experiment::{Experiment, Scope, Subject};
use crate::reproduce::record::Value;
use crate::timing::{Work, mean, shortest, turns, warm};

/// Cycles of a solve.
const CYCLES: f64 = 50.0;
/// How much longer the paper's way takes than the formats that a device chooses.
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

/// The multigrid of every variant, by name.
fn stages<'e>(experiment: &'e Experiment, subject: &Subject) -> Result<Vec<(&'e str, Amg)>> {
    let all = configs(&experiment.base, &experiment.variants, subject)?;
    let named = |(name, _, config)| Ok((name, multigrid(config)?));
    all.into_iter().map(named).collect()
}

pub(super) fn cycles(experiment: &Experiment, scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let (mut values, mut gains, mut beside) = (Vec::new(), Vec::new(), Vec::new());
    let what = "mixed precision, total";
    for subject in experiment.subjects(scope)? {
        let name = &subject.name;
        let ready = Ready::new(&subject.problem, &executor)?;
        let stages = stages(experiment, &subject)?;
        let made = stages.iter().map(|(_, amg)| set_up(&ready, amg, scope));
        let made = made.collect::<Result<Vec<_>>>()?;
        let times = applied(scope, &ready, &made)?;
        let total = |place: usize| made[place].0 + CYCLES * times[place];
        for (place, (precision, _)) in stages.iter().enumerate().skip(1) {
            let row = format!("{name}, {precision}");
            values.push(Value::factor(row, "cycle", times[0] / times[place]));
        }
        let last = total(stages.len() - 1);
        gains.push(total(0) / last);
        values.push(Value::factor(name, what, total(0) / last));
        if executor.is_device() {
            let tiles = in_tiles(&ready, stages[stages.len() - 1].1.clone(), scope)?;
            values.push(Value::factor(name, TILES, tiles / last));
        }
        beside.extend(beside_hypre(scope, &subject, &ready)?);
        let double = &stages[0].1;
        beside.extend(beside_cusparse(name, &ready, double, scope.seconds())?);
    }
    values.push(Value::factor("geometric mean", what, mean(&gains)));
    let means = BESIDE.iter().filter_map(|what| {
        let of = |value: &&Value| value.quantity == *what;
        let factors: Vec<f64> = beside.iter().filter(of).map(|one| one.value).collect();
        let who = &beside.iter().find(of)?.who;
        Some(Value::factor("geometric mean", what, mean(&factors)).by(who))
    });
    let means: Vec<Value> = means.collect();
    values.extend(beside);
    values.extend(means);
    Ok(values)
}

/// Seconds of the shortest set-up, and a hierarchy.
type Made = (f64, Hierarchy<f64>);

fn set_up(ready: &Ready, amg: &Amg, scope: &Scope) -> Result<Made> {
    let a: Arc<dyn LinOp<f64>> = ready.matrix().clone();
    let rounds = scope.size([1, 2, 3]);
    shortest(a.executor(), rounds, &mut || {
        Ok(amg.setup(&a, &Workspace::new())?.1)
    })
}

/// Seconds of set-up and all cycles as in the paper: Galerkin products and cycles in tiles.
fn in_tiles(ready: &Ready, mut amg: Amg, scope: &Scope) -> Result<f64> {
    amg.format = LevelFormat::Mbsr;
    let made = set_up(ready, &amg, scope)?;
    Ok(made.0 + CYCLES * applied(scope, ready, &[made])?[0])
}

/// Seconds of a cycle of each, in turns.
fn applied(scope: &Scope, ready: &Ready, made: &[Made]) -> Result<Vec<f64>> {
    let (b, ws) = (ready.rhs(), &Workspace::new());
    let mut all: Vec<Work<'_>> = Vec::new();
    for (_, hierarchy) in made {
        let mut x = Vector::zeros_like(b)?;
        all.push(Box::new(move || Ok(hierarchy.apply(b, &mut x, ws)?)));
    }
    let measuring = (scope.size([1, 2, 8]), scope.size([0.0, 0.05, 0.2]));
    turns(b.executor(), all, measuring)
}

/// Set-up and solve to 1e-8, each as it chooses by itself; nothing where hypre is absent or does not converge, nor for what is not
/// symmetric: its program has conjugate gradients.
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

/// Seconds of products of all levels: as a device chooses, in tiles, by cuSPARSE.
type Sums = [f64; 3];

/// Galerkin products of all levels, and a product with every matrix of theirs; nothing where there is no cuSPARSE.
fn beside_cusparse(name: &str, ready: &Ready, amg: &Amg, seconds: f64) -> Result<Vec<Value>> {
    let executor = ready.matrix().executor();
    let Some(Ok(cusparse)) = executor.device().map(Cusparse::load) else {
        return Ok(Vec::new());
    };
    let (finest, ws): (Arc<dyn LinOp<f64>>, _) = (ready.matrix().clone(), Workspace::new());
    let (setup, _) = amg.setup(&finest, &ws)?;
    let [mut matrices, mut vectors]: [Sums; 2] = Default::default();
    for level in setup.matrices(&finest, &ws)? {
        let a = level.a.copy_to(executor)?;
        with_vector(&cusparse, &a, seconds, &mut vectors)?;
        if let (Some(r), Some(p)) = (level.restriction, level.prolongation) {
            let (r, p) = (r.copy_to(executor)?, p.copy_to(executor)?);
            of_matrices(&cusparse, [&a, &p], &mut matrices)?;
            of_matrices(&cusparse, [&r, &a.multiply(&p)?], &mut matrices)?;
            with_vector(&cusparse, &r, seconds, &mut vectors)?;
            with_vector(&cusparse, &p, seconds, &mut vectors)?;
        }
    }
    let factor =
        |what, of: Sums, ours: usize| Value::factor(name, what, of[2] / of[ours]).by("cuSPARSE");
    Ok(vec![
        factor(BESIDE[2], matrices, 0),
        factor(BESIDE[5], matrices, 1),
        factor(BESIDE[4], vectors, 0),
        factor(BESIDE[6], vectors, 1),
    ])
}

fn add(sums: &mut Sums, seconds: Sums) {
    let pairs = sums.iter_mut().zip(seconds);
    pairs.for_each(|(sum, seconds)| *sum += seconds);
}

fn with_vector(cusparse: &Cusparse, a: &Csr<f64>, seconds: f64, sums: &mut Sums) -> Result<()> {
    let (microseconds, _) = cusparse.best(a, &vec![1.0; a.size().cols], 1)?;
    let tiles = a.in_tiles()?;
    let ours = timed::<f64, f64>(a, seconds)?;
    add(
        sums,
        [
            ours,
            timed::<f64, f64>(&tiles, seconds)?,
            1e-6 * microseconds,
        ],
    );
    Ok(())
}

fn of_matrices(cusparse: &Cusparse, [a, b]: [&Csr<f64>; 2], sums: &mut Sums) -> Result<()> {
    let theirs = [cusparse.matrix(a)?, cusparse.matrix(b)?];
    let place = a.executor();
    let milliseconds = [
        warm(place, ROUNDS, &mut || Ok(a.multiply(b)?))?.0,
        warm(place, ROUNDS, &mut || Ok(a.multiply_in_tiles(b)?))?.0,
        warm(place, ROUNDS, &mut || {
            cusparse.product(&theirs[0], &theirs[1])
        })?
        .0,
    ];
    add(sums, milliseconds.map(|time| 1e-3 * time));
    Ok(())
}

/// What part of the cycles is everything but the coarsest level, in per cent.
pub(super) fn shares(experiment: &Experiment, scope: &Scope) -> Result<Vec<Value>> {
    let (executor, what) = (scope.executor()?, "products in the solve");
    let amg = multigrid(crate::options::config(&[&experiment.base])?)?;
    let mut values = Vec::new();
    for subject in experiment.subjects(scope)? {
        let ready = Ready::new(&subject.problem, &executor)?;
        let a: Arc<dyn LinOp<f64>> = ready.matrix().clone();
        let (_, hierarchy) = amg.setup(&a, &Workspace::new())?;
        let profile = Rc::new(RefCell::new(Profile::default()));
        let ws = Workspace::with_log(Log::new().with(Rc::clone(&profile)));
        let mut x = Vector::zeros_like(ready.rhs())?;
        for _ in 0..scope.size([1, 5, 20]) {
            hierarchy.apply(ready.rhs(), &mut x, &ws)?;
        }
        let share = 100.0 * products(&profile.borrow());
        values.push(Value::new(&subject.name, what, "%", share));
    }
    let sum: f64 = values.iter().map(|value| value.value).sum();
    let mean = sum / values.len() as f64;
    values.push(Value::new("mean", what, "%", mean));
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
