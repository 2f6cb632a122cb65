//! Solves over several ranks, each a thread.

use std::sync::Arc;

use vcycle::communicator::threads;
use vcycle::config::{Config, RunConfig, System, solve_system};
use vcycle::executor::{Executor, Workspace};
use vcycle::gallery::{self, Problem};
use vcycle::matrix::{Distributed, Partition};
use vcycle::vector::Vector;

use super::cycles::HYPRE;
use super::solves::configs;
use crate::common::Result;
use crate::options::config;
use crate::peers::Library;
use crate::reproduce::experiment::{Experiment, Scope, Subject};
use crate::reproduce::record::Value;
use crate::timing::mean;

/// What a solve over ranks took, set-up and iterations, and how many.
#[derive(Clone, Copy)]
struct Solved {
    seconds: f64,
    iterations: usize,
    converged: bool,
}

impl Solved {
    fn iterations(&self, row: &str) -> Value {
        let note = if self.converged { "" } else { "not converged" };
        Value::iterations(row, self.iterations).noting(note)
    }

    fn seconds(&self, row: &str) -> Value {
        Value::new(row, "set-up and solve", "s", self.seconds)
    }
}

/// How many ranks there are to be: as many as cores at most, and two at least.
fn counts(scope: &Scope) -> Result<Vec<usize>> {
    let cores = std::thread::available_parallelism()?.get();
    let most = scope.size([2, 2, cores.max(2)]);
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
    let mut run = RunConfig::default();
    run.device.clone_from(&scope.device);
    run.threads = (scope.device == "cpu").then_some(1);
    let solved = threads::run(ranks, |team| {
        let (rank, _) = run.executor_of_rank(&team)?;
        let (a, b) = part(problem, whole.as_ref(), &rank)?;
        let b = Vector::from_column(&rank, b);
        let system = System::new(Arc::new(a));
        let mut best: Vec<Option<Solved>> = vec![None; configs.len()];
        for _ in 0..rounds {
            for (config, best) in configs.iter().zip(&mut best) {
                let solution = solve_system(config, &system, &b, &Workspace::new())?;
                let seconds = (solution.setup + solution.solving).as_secs_f64();
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

/// The rows of a rank, of a problem that is made in parts, or as a whole.
fn part(
    problem: &str,
    whole: Option<&Problem>,
    rank: &Executor,
) -> vcycle::Result<(Distributed<f64>, Vec<f64>)> {
    let Some(whole) = whole else {
        let part = gallery::build_part(problem, rank)?;
        return Ok(part.expect("a problem that is made in parts"));
    };
    let team = rank.team().expect("the executor of a rank");
    let (rows, block) = (whole.rhs.len() as u64, whole.block_size as u64);
    let even = Partition::even(rows, block, team.size());
    let own = even.range(team.rank());
    let a = Distributed::part_of(rank, &whole.matrix, even)?;
    Ok((a, whole.rhs[own.start as usize..own.end as usize].to_vec()))
}

/// A problem of fixed size, and one that grows with the ranks.
pub(super) fn series(experiment: &Experiment, scope: &Scope) -> Result<Vec<Value>> {
    let Subject { name, problem, .. } = &experiment.subjects(scope)?[0];
    let (config, side) = (config(&[&experiment.base])?, problem.parse::<usize>()?);
    let mut values = Vec::new();
    let mut first: Option<[f64; 2]> = None;
    for ranks in counts(scope)? {
        let solve = |problem: String| -> Result<Solved> {
            let solved = solve(scope, &problem, std::slice::from_ref(&config), (ranks, 1))?;
            Ok(solved[0])
        };
        let strong = solve(format!("{name}:{side}"))?;
        let weak = solve(format!("{name}:{side}x{side}x{}", side * ranks))?;
        let base = *first.get_or_insert([strong.seconds, weak.seconds]);
        for (name, one, ideal) in [
            ("strong", strong, base[0] / ranks as f64),
            ("weak", weak, base[1]),
        ] {
            let row = format!("{name}, {ranks} ranks");
            let efficiency = 100.0 * ideal / one.seconds;
            values.push(Value::iterations(&row, one.iterations));
            values.push(one.seconds(&row));
            values.push(Value::new(&row, "efficiency", "%", efficiency));
        }
    }
    Ok(values)
}

/// Names and configurations of all variants.
fn variants<'e>(
    experiment: &'e Experiment,
    subject: &Subject,
) -> Result<(Vec<&'e str>, Vec<Config>)> {
    let all = configs(&experiment.base, &experiment.variants, subject)?;
    Ok(all
        .into_iter()
        .map(|(name, _, config)| (name, config))
        .unzip())
}

/// Strong scaling in double precision and in half.
pub(super) fn strong(experiment: &Experiment, scope: &Scope) -> Result<Vec<Value>> {
    let (counts, mut values) = (counts(scope)?, Vec::new());
    for subject in experiment.subjects(scope)? {
        let (precisions, configs) = variants(experiment, &subject)?;
        let on_ranks = |&ranks: &usize| {
            let rounds = scope.size([1, 1, 2]);
            solve(scope, &subject.problem, &configs, (ranks, rounds))
        };
        let solved = counts.iter().map(on_ranks).collect::<Result<Vec<_>>>()?;
        // How much of what so many ranks could gain over the first number they do gain, in per cent.
        let efficiency = |place: usize, of: usize| {
            let seconds = |of: usize| solved[of][place].seconds;
            100.0 * seconds(0) / (counts[of] as f64 * seconds(of))
        };
        for (place, precision) in precisions.iter().enumerate() {
            for (of, ranks) in counts.iter().enumerate() {
                let row = format!("{}, {precision}, {ranks} ranks", subject.name);
                let one = &solved[of][place];
                values.push(one.iterations(&row).of_the_kind(true));
                values.push(one.seconds(&row));
                let efficiency = efficiency(place, of);
                values.push(Value::new(&row, "efficiency", "%", efficiency));
            }
        }
        let (name, last) = (&subject.name, counts.len() - 1);
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
    let names: Vec<&str> = variants(experiment, &experiment.subjects(scope)?[0])?.0;
    for subject in experiment.subjects(scope)? {
        let (_, configs) = variants(experiment, &subject)?;
        let turns = (ranks, scope.size([1, 2, 3]));
        let solved = solve(scope, &subject.problem, &configs, turns)?;
        let gain = |one: &Solved| solved[0].seconds / one.seconds;
        for (precision, one) in names.iter().zip(&solved) {
            let row = format!("{}, {precision}", subject.name);
            values.push(one.iterations(&row).of_the_kind(true));
            values.push(one.seconds(&row));
            values.push(Value::factor(&row, MIXED, gain(one)));
        }
        gains.push(solved.iter().map(gain).collect::<Vec<f64>>());
        beside.extend(beside_hypre(scope, &subject, &solved[0])?);
    }
    let of = |place: usize| gains.iter().map(move |gains| gains[place]);
    for (place, precision) in names.iter().enumerate().skip(1) {
        let row = format!("geometric mean, {precision}");
        let gains: Vec<f64> = of(place).collect();
        values.push(Value::factor(row, MIXED, mean(&gains)));
    }
    // The last is what the paper has: vectors, too, fall to half precision.
    let half: Vec<f64> = of(names.len() - 1).collect();
    values.extend(summed(&half, MIXED));
    if let Some(who) = beside.first().map(|value| value.who.clone()) {
        let factors: Vec<f64> = beside.iter().map(|value| value.value).collect();
        values.extend(beside);
        values.extend(summed(&factors, HYPRE).map(|value| value.by(&who)));
    }
    Ok(values)
}

/// The geometric mean and the largest of some factors.
fn summed(factors: &[f64], what: &str) -> [Value; 2] {
    let most = factors.iter().copied().fold(0.0, f64::max);
    [
        Value::factor("geometric mean", what, mean(factors)),
        Value::factor("largest", what, most),
    ]
}

/// hypre over as many processes as there are cores; nothing where it is absent or does not converge, nor for what is not
/// symmetric, since its program has conjugate gradients.
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
