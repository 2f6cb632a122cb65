//! Solves over several ranks, each a thread.

use vcycle::communicator::threads;
use vcycle::config::{System, solve_system};
use vcycle::gallery;
use vcycle::matrix::{Distributed, Partition};

use super::cycles::HYPRE;
use super::solves::variants;
use crate::common::cores;
use crate::options::config;
use crate::peers::Library;
use crate::prelude::*;
use crate::reproduce::experiment::{By, Experiment, Scope, Subject};
use crate::reproduce::record::Value;
use crate::timing::mean;

/// Set-up and solve over ranks.
#[derive(Clone, Copy)]
struct Solved {
    seconds: f64,
    iterations: usize,
    converged: bool,
}

impl Solved {
    fn values(&self, row: &str, is_of_the_kind: bool) -> [Value; 2] {
        let note = if self.converged { "" } else { "not converged" };
        let iterations = Value::iterations(row, self.iterations);
        [
            iterations.noting(note).of_the_kind(is_of_the_kind),
            Value::new(row, "set-up and solve", "s", self.seconds),
        ]
    }
}

/// The numbers of ranks: as many as cores at most, and two at least.
fn counts(scope: &Scope) -> Result<Vec<usize>> {
    let most = scope.size([2, 2, cores()?.max(2)]);
    let counts = [1, 2, 4, 8, 16].into_iter();
    Ok(counts.filter(|&count| count <= most).collect())
}

/// Lets configurations take turns for some rounds, on ranks of one thread each or on ranks that share a device; of each the shortest solve.
fn solve(
    scope: &Scope,
    problem: &str,
    configs: &[Config],
    (ranks, rounds): (usize, usize),
) -> Result<Vec<Solved>> {
    let whole = match gallery::is_made_in_parts(problem) {
        true => None,
        false => Some(gallery::build(problem, &Executor::cpu())?),
    };
    let mut run = scope.run_config();
    run.threads = (scope.device == "cpu").then_some(1);
    let solved = threads::run(ranks, |team| {
        let (rank, _) = run.executor_of_rank(&team)?;
        let (a, b) = match &whole {
            None => gallery::build_part(problem, &rank)?.expect("a problem that is made in parts"),
            Some(whole) => {
                let (rows, block) = (whole.rhs.len() as u64, whole.block_size as u64);
                let even = Partition::even(rows, block, team.size());
                let own = even.range(team.rank());
                let rhs = whole.rhs[own.start as usize..own.end as usize].to_vec();
                (Distributed::part_of(&rank, &whole.matrix, even)?, rhs)
            }
        };
        let (system, b) = (System::new(Arc::new(a)), Vector::from_column(&rank, b));
        let mut best: Vec<Option<Solved>> = vec![None; configs.len()];
        for _ in 0..rounds {
            for (config, best) in configs.iter().zip(&mut best) {
                let solution = solve_system(config, &system, &b, &Workspace::new())?;
                let seconds = crate::solves::total(&solution);
                if best.is_none_or(|best| seconds < best.seconds) {
                    *best = Some(Solved {
                        seconds,
                        iterations: solution.outcome.iterations,
                        converged: solution.outcome.converged(),
                    });
                }
            }
        }
        Ok(best.into_iter().flatten().collect())
    })?;
    let first = solved.into_iter().next();
    first.ok_or_else(|| "no rank has solved".into())
}

/// A problem of fixed size, and one that grows with the ranks.
pub(super) fn series(experiment: &Experiment, scope: &Scope) -> Result<Vec<Value>> {
    let Subject { name, problem, .. } = experiment.subject(scope)?;
    let (config, side) = ([config(&[&experiment.base])?], problem.parse::<usize>()?);
    let mut values = Vec::new();
    let mut first: Option<[f64; 2]> = None;
    for ranks in counts(scope)? {
        let grown = format!("{name}:{side}x{side}x{}", side * ranks);
        let strong = solve(scope, &format!("{name}:{side}"), &config, (ranks, 1))?[0];
        let weak = solve(scope, &grown, &config, (ranks, 1))?[0];
        let base = *first.get_or_insert([strong.seconds, weak.seconds]);
        for (series, one, ideal) in [
            ("strong", strong, base[0] / ranks as f64),
            ("weak", weak, base[1]),
        ] {
            let row = format!("{series}, {ranks} ranks");
            values.extend(one.values(&row, false));
            let efficiency = 100.0 * ideal / one.seconds;
            values.push(Value::new(&row, "efficiency", "%", efficiency));
        }
    }
    Ok(values)
}

/// Names and configurations of all variants.
fn configs<'e>(
    experiment: &'e Experiment,
    subject: &Subject,
) -> Result<(Vec<&'e str>, Vec<Config>)> {
    let all = variants(&experiment.base, &experiment.variants, subject)?.into_iter();
    Ok(all.map(|one| (one.name, one.config)).unzip())
}

/// Strong scaling in double precision and in half.
pub(super) fn strong(experiment: &Experiment, scope: &Scope) -> Result<Vec<Value>> {
    let (counts, mut values) = (counts(scope)?, Vec::new());
    for subject in experiment.subjects(scope)? {
        let (precisions, configs) = configs(experiment, &subject)?;
        let rounds = scope.size([1, 1, 2]);
        let on_ranks = |&ranks: &usize| solve(scope, &subject.problem, &configs, (ranks, rounds));
        let solved = counts.iter().map(on_ranks).collect::<Result<Vec<_>>>()?;
        // Per cent of the speed-up over the first number of ranks that is possible.
        let efficiency = |place: usize, of: usize| {
            let seconds = |of: usize| solved[of][place].seconds;
            100.0 * seconds(0) / (counts[of] as f64 * seconds(of))
        };
        let name = &subject.name;
        for (place, precision) in precisions.iter().enumerate() {
            for (of, ranks) in counts.iter().enumerate() {
                let row = format!("{name}, {precision}, {ranks} ranks");
                values.extend(solved[of][place].values(&row, true));
                let efficiency = efficiency(place, of);
                values.push(Value::new(&row, "efficiency", "%", efficiency));
            }
        }
        let last = counts.len() - 1;
        let part = 100.0 * efficiency(1, last) / efficiency(0, last);
        let what = "efficiency, part of that of double";
        values.push(Value::new(name, what, "%", part));
        let gain = solved[last][0].seconds / solved[last][1].seconds;
        values.push(Value::factor(name, "half beside double", gain));
    }
    Ok(values)
}

/// Double precision beside another, set-up and solve.
const MIXED: &str = "mixed precision, total";

/// Levels in four precisions on ranks that share a problem, and hypre.
pub(super) fn precisions(experiment: &Experiment, scope: &Scope) -> Result<Vec<Value>> {
    let ranks = match scope.device.as_str() {
        "cpu" => counts(scope)?.last().copied().unwrap_or(2),
        // They share it: more of them would only wait for each other.
        _ => 2,
    };
    let mut values = vec![Value::new("all", "ranks", "", ranks as f64)];
    let (mut gains, mut beside) = (Vec::new(), Vec::new());
    let (names, _) = configs(experiment, &experiment.subject(scope)?)?;
    for subject in experiment.subjects(scope)? {
        let (_, configs) = configs(experiment, &subject)?;
        let turns = (ranks, scope.size([1, 2, 3]));
        let solved = solve(scope, &subject.problem, &configs, turns)?;
        let gain = |one: &Solved| solved[0].seconds / one.seconds;
        for (precision, one) in names.iter().zip(&solved) {
            let row = format!("{}, {precision}", subject.name);
            values.extend(one.values(&row, true));
            values.push(Value::factor(&row, MIXED, gain(one)));
        }
        gains.push(solved.iter().map(gain).collect::<Vec<f64>>());
        beside.extend(beside_hypre(scope, &subject, &solved[0])?);
    }
    let of = |place: usize| -> Vec<f64> { gains.iter().map(|gains| gains[place]).collect() };
    for (place, precision) in names.iter().enumerate().skip(1) {
        let row = format!("geometric mean, {precision}");
        values.push(Value::factor(row, MIXED, mean(&of(place))));
    }
    // The last is what the paper has: vectors, too, fall to half precision.
    values.extend(summed(&of(names.len() - 1), MIXED));
    if let Some(who) = beside.first().map(|value| value.who.clone()) {
        let factors: Vec<f64> = beside.iter().map(|value| value.value).collect();
        values.extend(beside);
        values.extend(summed(&factors, HYPRE).map(|value| value.by(&who)));
    }
    Ok(values)
}

/// The geometric mean and the largest of some factors.
fn summed(factors: &[f64], what: &str) -> [Value; 2] {
    let rows = [("geometric mean", By::GeometricMean), ("largest", By::Most)];
    rows.map(|(row, by)| Value::factor(row, what, by.of(factors)))
}

/// hypre over as many processes as there are cores; nothing where it is absent or does not converge, nor for nonsymmetric problems,
/// since its program has conjugate gradients.
fn beside_hypre(scope: &Scope, subject: &Subject, ours: &Solved) -> Result<Option<Value>> {
    if subject.extra.is_some() {
        return Ok(None);
    }
    let solved = scope.solved_by(Library::Hypre, &subject.problem)?;
    let mut converged = solved.iter().filter(|(_, one)| one.converged());
    Ok(converged.next().map(|(who, theirs)| {
        Value::factor(&subject.name, HYPRE, theirs.total() / ours.seconds).by(who)
    }))
}
