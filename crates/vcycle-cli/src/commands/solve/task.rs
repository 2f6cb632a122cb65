//! Solves, one matrix after the other.

use std::cell::Cell;
use std::time::{Duration, Instant};

use vcycle::config::{self, MemoryNeed, Sequence};
use vcycle::gallery::Problem;

use super::files::{Answer, Records};
use crate::args::{InputArgs, SolveArgs};
use crate::input::{self, Admit, Source};
use crate::output::overview::{overview, verdict};
use crate::output::progress::Progress;
use crate::output::summary::Summary;
use crate::output::{self, picture, plot, print, table};
use crate::prelude::*;

/// Solves, from systems read to their output.
pub struct Task<'t> {
    pub args: &'t SolveArgs,
    pub config: Config,
    pub executor: Executor,
    /// The first problem, where it was made while a device was opened.
    pub made: Cell<Option<Problem>>,
}

/// How and from where a system was read.
pub struct Reading {
    pub source: Source,
    pub progress: Progress,
    pub time: Duration,
}

impl Task<'_> {
    /// Reads a system.
    pub fn read(&self, source: &str) -> Result<(AnySystem, Reading)> {
        let progress = Progress::begin(!self.args.json && !self.args.quiet, "reading");
        let begin = Instant::now();
        let input = InputArgs {
            source: source.to_owned(),
            ..self.args.input
        };
        let read = &mut |read| progress.reading(read);
        let place = (&self.executor, self.made.take());
        let (source, system) = input::read(&input, place, self.admit(source), read)?;
        // That a matrix travels to a device is no part of the set-up.
        system.bring()?;
        let reading = Reading {
            source,
            time: begin.elapsed(),
            progress,
        };
        Ok((system, reading))
    }

    /// Refuses a matrix that a solve has no memory for.
    fn admit(&self, source: &str) -> Admit {
        let (config, executor) = (self.config.clone(), self.executor.clone());
        let what = format!("`{source}`");
        Arc::new(move |extent| {
            MemoryNeed::expected(&config, extent, 1, &executor).check(&executor, &what)
        })
    }

    /// Solves for all matrices; success only if all converged.
    pub fn solve<T: Wide>(&self, first: System<T>, reading: Reading) -> Result<ExitCode> {
        let mut steps = Sequence::new(self.config.clone());
        let then = &self.args.then;
        let kept = (!then.is_empty()).then_some(&mut steps);
        let mut summary = self.solve_one(first, reading, kept, 1)?;
        show(self.args, &overview(&summary), &summary);
        for (number, source) in (2..).zip(then) {
            if summary.then.last().unwrap_or(&summary).status == "interrupted" {
                break;
            }
            let (system, reading) = self.read(source)?;
            let system = system.of::<T>().ok_or_else(|| mixed(source))?;
            let next = self.solve_one(system, reading, Some(&mut steps), number)?;
            let mut rows = overview(&next);
            rows.retain(|(title, _)| ["matrix", "time", "note"].contains(title));
            show(self.args, &rows, &next);
            summary.then.push(next);
        }
        let mut all = [&summary].into_iter().chain(&summary.then);
        let converged = all.all(|one| one.status == "converged");
        Ok(end(self.args, &summary, converged))
    }

    fn solve_one<T: Wide>(
        &self,
        system: System<T>,
        mut reading: Reading,
        kept: Option<&mut Sequence<T>>,
        number: usize,
    ) -> Result<Summary> {
        if self.args.plot_coarsening.is_some() {
            picture::drawable(&reading.source)?;
        }
        let a = system.matrix.whole()?;
        let rhs = self.args.rhs.as_deref();
        let b = reading.source.right_hand_side(a, rhs)?;
        let records = Records::default();
        let ws = Workspace::with_log(records.log(self.args, &reading.progress));
        let known = self.known(&system, &b)?;
        let solution = match kept {
            None => config::solve_system(&self.config, &known, &b, &ws),
            Some(steps) => steps.solve(&known, &b, &ws),
        };
        reading.progress.end();
        let solution = solution?;
        let (name, size) = (
            &reading.source.name,
            [a.size().rows, a.nonzeros(), a.bytes()],
        );
        let answer = Answer {
            summary: Summary::new(name, size, &self.executor, &solution, reading.time),
            solution,
            profile: records.profile.take(),
            trace: records.trace.take(),
        };
        answer.write(self.args, number, Some((&reading.source, a)))?;
        Ok(answer.summary)
    }

    /// The matrix and what the options or else the problem say of it.
    pub fn known<T: Wide>(&self, system: &System<T>, b: &Vector<T>) -> Result<System<T>> {
        let given = input::near_nullspace(&self.args.known, &self.executor)?;
        let mut known = system.clone();
        known.near_nullspace = given.or(known.near_nullspace);
        if let Some(path) = &self.args.x0 {
            known.guess = Some(input::guess(path, b)?);
        }
        Ok(known)
    }
}

/// For people: facts, convergence and verdict.
pub fn show(args: &SolveArgs, rows: &[(&'static str, String)], summary: &Summary) {
    if args.json {
        return;
    }
    if !args.quiet {
        print(&table::facts(rows.iter().cloned()));
        for line in plot::convergence(&summary.history) {
            print(&line);
        }
    }
    if !args.quiet && !summary.ranks.is_empty() {
        print(&output::ranks::by_rank(&summary.ranks));
        print(&output::ranks::by_level(summary));
    }
    print(&verdict(summary));
}

/// Prints the object that is asked for; success only if all has converged.
pub fn end(args: &SolveArgs, summary: &Summary, converged: bool) -> ExitCode {
    if args.json {
        print(&serde_json::to_string(summary).expect("a summary is plain data"));
    }
    ExitCode::from(u8::from(!converged))
}

fn mixed(source: &str) -> CliError {
    let reason = format!("of `{source}` and the first matrix one is complex and one is real");
    CliError::option("--then", reason)
}
