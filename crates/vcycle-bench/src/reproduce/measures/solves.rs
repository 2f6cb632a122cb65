//! Runs solves that are data.

use crate::options::{self, Options};
use crate::prelude::*;
use crate::problem::Ready;
use crate::reproduce::experiment::{Paper, Scope, Solves, Subject};
use crate::reproduce::record::Value;
use crate::solves::{quantity, remark};
use crate::timing::mean;

/// A configuration by its name, and whether it has no row of its own.
pub(super) struct Variant<'v> {
    pub name: &'v str,
    pub config: Config,
    is_hidden: bool,
}

/// The variants that a problem is solved with.
pub(super) fn variants<'v>(
    base: &Options,
    variants: &'v [Options],
    subject: &Subject,
) -> Result<Vec<Variant<'v>>> {
    let is_for_subject = |options: &&Options| {
        let only = options.get("only").and_then(|only| only.as_array());
        only.is_none_or(|names| names.iter().any(|name| name == subject.name.as_str()))
    };
    let mut solver = Options::new();
    if let Some(name) = &subject.extra {
        solver.insert("solver".to_owned(), name.as_str().into());
    }
    let variant = |options: &'v Options| {
        let mut own = options.clone();
        own.retain(|key, _| !["name", "only", "hidden"].contains(&key.as_str()));
        Ok(Variant {
            name: options
                .get("name")
                .and_then(|name| name.as_str())
                .unwrap_or(""),
            config: options::config(&[base, &solver, &own])?,
            is_hidden: options.contains_key("hidden"),
        })
    };
    variants
        .iter()
        .filter(is_for_subject)
        .map(variant)
        .collect()
}

/// Solves everything; the values of all rows.
pub(super) fn run(of: &Solves, paper: &Paper, scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let columns = || of.columns.iter().map(|column| &column.0);
    let on_processor = executor.is_device() && columns().any(|column| column.processor);
    // Values that ends are made of, by quantity, and how much longer peers take.
    let (mut values, mut counted, mut beside) = (Vec::new(), Vec::new(), Vec::new());
    for subject in paper.subjects(&of.problems, scope)? {
        let named = |row: &str, variant: &str| {
            let row = row.replace("{problem}", &subject.name);
            let row = row.replace("{variant}", variant);
            row.trim_end_matches(", ").to_owned()
        };
        let variants = variants(&of.base, &of.variants, &subject)?;
        let configs: Vec<Config> = variants.iter().map(|one| one.config.clone()).collect();
        let on = |executor: &Executor| {
            let ready = Ready::new(&subject.problem, executor)?;
            Ok::<_, Box<dyn std::error::Error>>(ready.race(&configs, scope.size(of.rounds)))
        };
        let solved = on(&executor)?;
        let slower = match on_processor {
            true => on(&Executor::cpu())?,
            false => Vec::new(),
        };
        let is_of_the_kind = of.of_the_kind && !of.same.contains(&subject.name);
        for (place, (variant, one)) in variants.iter().zip(&solved).enumerate() {
            let note = remark(one);
            let is_theirs = |name: &String| name == variant.name;
            for column in columns().filter(|column| column.variant.as_ref().is_none_or(is_theirs)) {
                let value = |one| quantity(&column.of, one, &solved[0]);
                let value = match column.processor {
                    false => value(one),
                    true => {
                        let both = slower.get(place).and_then(value).zip(value(one));
                        both.map(|(slower, one)| slower / one)
                    }
                };
                let Some(value) = value.filter(|_| !variant.is_hidden) else {
                    continue;
                };
                if column.of != "speed-up" || note.is_empty() && place > 0 {
                    counted.push((&column.quantity, value));
                }
                let row = named(column.row.as_ref().unwrap_or(&of.row), variant.name);
                let mut value = Value::new(row, &column.quantity, &column.unit, value);
                if column.of == "iterations" {
                    value.note.clone_from(&note);
                }
                values.push(value.of_the_kind(is_of_the_kind));
            }
        }
        for peer in &of.peers {
            for (who, theirs) in scope.solved_by(peer.library, &subject.problem)? {
                for column in columns().filter(|column| !column.processor) {
                    let (value, note) = match column.of.as_str() {
                        "iterations" => (theirs.iterations as f64, theirs.note()),
                        "set-up" => (theirs.setup, ""),
                        "solve" => (theirs.solve, ""),
                        _ => continue,
                    };
                    let row = named(&peer.row, "");
                    let value = Value::new(row, &column.quantity, &column.unit, value).by(who);
                    values.push(value.noting(note).of_the_kind(of.of_the_kind));
                }
                if let (Some(what), Some(Ok(ours))) = (&peer.mean, solved.last()) {
                    beside.push((who, what, theirs.solve / ours.solving.as_secs_f64()));
                }
            }
        }
    }
    for end in &of.ends {
        let all = counted.iter().filter(|(known, _)| **known == end.quantity);
        let all: Vec<f64> = all.map(|(_, value)| *value).collect();
        let unit = values.iter().find(|value| value.quantity == end.quantity);
        let unit = unit.map_or(String::new(), |value| value.unit.clone());
        values.push(Value::new(&end.row, &end.quantity, &unit, end.by.of(&all)));
    }
    if let Some((who, what, _)) = beside.first() {
        let factors: Vec<f64> = beside.iter().map(|one| one.2).collect();
        values.push(Value::factor("mean", what, mean(&factors)).by(who));
    }
    Ok(values)
}
