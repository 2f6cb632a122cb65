//! Runs solves that are data.

use vcycle::config::{Config, Solution};
use vcycle::executor::Executor;
use vcycle::multigrid::{Report, StageTime};

use crate::common::Result;
use crate::options::{self, Options};
use crate::peers::Measurement;
use crate::problem::{Ready, Tried, remark};
use crate::reproduce::experiment::{Paper, Scope, Subject};
use crate::reproduce::record::Value;
use crate::reproduce::solves::{Beside, Column, Solves};
use crate::timing::mean;

/// A variant on a problem.
struct Solved<'s> {
    options: &'s Options,
    name: &'s str,
    config: Config,
    tried: Tried,
}

/// The configurations of an experiment on a problem: variants that it is solved with, by name.
pub(super) fn configs<'v>(
    base: &Options,
    variants: &'v [Options],
    subject: &Subject,
) -> Result<Vec<(&'v str, &'v Options, Config)>> {
    let text = |options: &'v Options, key| options.get(key).and_then(|value| value.as_str());
    let is_meant = |options: &&Options| match options.get("only").and_then(|only| only.as_array()) {
        Some(names) => names.iter().any(|name| name == subject.name.as_str()),
        None => true,
    };
    let mut solver = Options::new();
    if let Some(name) = &subject.extra {
        solver.insert("solver".to_owned(), name.as_str().into());
    }
    let config = |options: &'v Options| {
        let mut own = options.clone();
        for key in ["name", "only", "hidden"] {
            own.remove(key);
        }
        let config = options::config(&[base, &solver, &own])?;
        Ok((text(options, "name").unwrap_or(""), options, config))
    };
    variants.iter().filter(is_meant).map(config).collect()
}

/// Solves that are being run.
struct Run<'r> {
    of: &'r Solves,
    columns: Vec<Column>,
    scope: &'r Scope,
}

/// Solves everything; the values of all rows.
pub(super) fn run(of: &Solves, paper: &Paper, scope: &Scope) -> Result<Vec<Value>> {
    let columns = of.columns();
    Run { of, columns, scope }.all(paper)
}

impl<'r> Run<'r> {
    fn all(&self, paper: &Paper) -> Result<Vec<Value>> {
        let executor = self.scope.executor()?;
        let mut all = Measured::default();
        for subject in paper.subjects(&self.of.problems, self.scope)? {
            let ready = Ready::new(&subject.problem, &executor)?;
            let solved = self.solved(&ready, &subject)?;
            let processor = self.on_processor(&subject, &executor)?;
            for (place, one) in solved.iter().enumerate() {
                if one.options.contains_key("hidden") {
                    continue;
                }
                let slower = processor.get(place);
                self.columns(&subject, (&ready, one, &solved[0], slower), &mut all);
            }
            for peer in &self.of.peers {
                self.beside(&subject, peer, solved.last(), &mut all)?;
            }
        }
        Ok(self.ended(all))
    }

    fn solved(&self, ready: &Ready, subject: &Subject) -> Result<Vec<Solved<'r>>> {
        let all = configs(&self.of.base, &self.of.variants, subject)?;
        let asked: Vec<Config> = all.iter().map(|(.., config)| config.clone()).collect();
        let tried = ready
            .race(&asked, self.scope.size(self.of.rounds))
            .into_iter();
        let solved = all.into_iter().zip(tried);
        let solved = solved.map(|((name, options, config), tried)| Solved {
            options,
            name,
            config,
            tried,
        });
        Ok(solved.collect())
    }

    /// The same on the processor where a device is measured and a column asks for it.
    fn on_processor(&self, subject: &Subject, executor: &Executor) -> Result<Vec<Solved<'r>>> {
        let is_asked = self.columns.iter().any(|column| column.processor);
        match executor.device().filter(|_| is_asked) {
            None => Ok(Vec::new()),
            Some(_) => {
                let ready = Ready::new(&subject.problem, &Executor::cpu())?;
                self.solved(&ready, subject)
            }
        }
    }

    fn named(&self, row: &str, subject: &Subject, variant: &str) -> String {
        let row = row.replace("{problem}", &subject.name);
        let row = row.replace("{variant}", variant);
        row.trim_end_matches(", ").to_owned()
    }

    fn columns(
        &self,
        subject: &Subject,
        (ready, one, first, slower): (&Ready, &Solved<'_>, &Solved<'_>, Option<&Solved<'_>>),
        all: &mut Measured,
    ) {
        let kind = self.of.of_the_kind && !self.of.same.contains(&subject.name);
        let note = match &one.tried {
            Ok(solution) => remark(solution),
            Err(why) => format!("refused: {why}"),
        };
        for column in &self.columns {
            if column.variant.as_ref().is_some_and(|name| name != one.name) {
                continue;
            }
            let value = match column.processor {
                false => column.value(one, first, ready),
                true => slower.and_then(|slower| {
                    let theirs = column.value(slower, first, ready)?;
                    Some(theirs / column.value(one, first, ready)?)
                }),
            };
            let Some(value) = value else { continue };
            let is_gain = column.of == "speed-up";
            if !is_gain || note.is_empty() && !std::ptr::eq(one, first) {
                all.counted.push((column.quantity.clone(), value));
            }
            let row = self.named(
                column.row.as_ref().unwrap_or(&self.of.row),
                subject,
                one.name,
            );
            let value = Value::new(row, &column.quantity, &column.unit, value).of_the_kind(kind);
            all.values.push(match column.of == "iterations" {
                true => value.noting(&note),
                false => value,
            });
        }
    }

    fn beside(
        &self,
        subject: &Subject,
        peer: &Beside,
        ours: Option<&Solved<'_>>,
        all: &mut Measured,
    ) -> Result<()> {
        for (who, theirs) in self.scope.solved_by(peer.library, &subject.problem)? {
            let row = self.named(&peer.row, subject, "");
            for column in self.columns.iter().filter(|column| !column.processor) {
                let Some(value) = column.of_peer(&theirs) else {
                    continue;
                };
                let value = Value::new(&row, &column.quantity, &column.unit, value).by(who);
                let fails = column.of == "iterations" && !theirs.converged();
                let note = if fails { "not converged" } else { "" };
                all.values
                    .push(value.noting(note).of_the_kind(self.of.of_the_kind));
            }
            if let (Some(quantity), Some(Ok(ours))) = (&peer.mean, ours.map(|one| &one.tried)) {
                let factor = theirs.solve / ours.solving.as_secs_f64();
                all.beside.push((who, quantity.clone(), factor));
            }
        }
        Ok(())
    }

    /// The values, and what is made of them.
    fn ended(&self, all: Measured) -> Vec<Value> {
        let Measured {
            mut values,
            counted,
            beside,
        } = all;
        for end in &self.of.ends {
            let of = counted.iter().filter(|(known, _)| *known == end.quantity);
            let of: Vec<f64> = of.map(|(_, value)| *value).collect();
            let unit = values.iter().find(|value| value.quantity == end.quantity);
            let unit = unit.map_or(String::new(), |value| value.unit.clone());
            values.push(Value::new(&end.row, &end.quantity, &unit, end.by.of(&of)));
        }
        if let Some((who, quantity, _)) = beside.first() {
            let factors: Vec<f64> = beside.iter().map(|one| one.2).collect();
            values.push(Value::factor("mean", quantity, mean(&factors)).by(who));
        }
        values
    }
}

#[derive(Default)]
struct Measured {
    values: Vec<Value>,
    /// What ends are made of.
    counted: Vec<(String, f64)>,
    /// How much longer peers take.
    beside: Vec<(&'static str, String, f64)>,
}

impl Column {
    /// The value of a solve, beside the first variant where it is a factor; zero where a solve was refused.
    fn value(&self, one: &Solved<'_>, first: &Solved<'_>, ready: &Ready) -> Option<f64> {
        let Ok(solution) = &one.tried else {
            let is_told = ["iterations", "solve ms", "speed-up"].contains(&self.of.as_str());
            return is_told.then_some(0.0);
        };
        let levels = solution.multigrid.as_ref();
        let (setup, solve) = (solution.setup.as_secs_f64(), solution.solving.as_secs_f64());
        let beside = |part: fn(&Solution<f64>) -> f64| match &first.tried {
            Ok(first) => part(first),
            Err(_) => 0.0,
        };
        let total = |one: &Solution<f64>| (one.setup + one.solving).as_secs_f64();
        if let Some(names) = self.of.strip_prefix("share ") {
            return Some(share(&levels?.setup_by_stage(), names));
        }
        if let Some(name) = self.of.strip_prefix("first ") {
            return Some(seconds(&levels?.levels.first()?.setup, name));
        }
        let iterations = solution.outcome.iterations as f64;
        Some(match self.of.as_str() {
            "grid complexity" => Report::grid_complexity(levels?),
            "operator complexity" => Report::operator_complexity(levels?),
            "iterations" => iterations,
            "set-up" => setup,
            "solve" => solve,
            "solve ms" => 1e3 * solve,
            "total" => setup + solve,
            "speed-up" => beside(|first| first.solving.as_secs_f64()) / solve,
            "gain" => beside(total) / (setup + solve),
            "more-iterations" => {
                100.0 * (iterations / beside(|first| first.outcome.iterations as f64) - 1.0)
            }
            "blocks-a-second" => {
                ready.matrix().size().rows as f64 / block_size(&one.config)? / setup
            }
            "coarse-entries" => {
                let coarse = levels?.levels.get(1)?;
                coarse.nonzeros as f64 / coarse.rows as f64
            }
            _ => return None,
        })
    }

    /// The same of a peer, where it is known.
    fn of_peer(&self, theirs: &Measurement) -> Option<f64> {
        match self.of.as_str() {
            "iterations" => Some(theirs.iterations as f64),
            "set-up" => Some(theirs.setup),
            "solve" => Some(theirs.solve),
            _ => None,
        }
    }
}

fn block_size(config: &Config) -> Option<f64> {
    match &config.preconditioner {
        vcycle::config::PreconditionerConfig::BlockJacobi(blocks) => Some(blocks.block_size as f64),
        _ => None,
    }
}

/// What part of a set-up some stages are, in per cent.
fn share(stages: &[StageTime], names: &str) -> f64 {
    let all: f64 = stages.iter().map(|stage| stage.seconds).sum();
    let wanted = names.split(',').map(|name| seconds(stages, name));
    100.0 * wanted.sum::<f64>() / all
}

fn seconds(stages: &[StageTime], name: &str) -> f64 {
    let wanted = stages.iter().filter(|stage| stage.name == name);
    wanted.map(|stage| stage.seconds).sum()
}
