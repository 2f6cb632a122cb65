//! `vcycle-bench reproduce`, which `vcycle reproduce` starts: tables and figures of papers, measured with vcycle and set beside
//! what was published.
//!
//! An [`Experiment`] is one table or figure, described in a data file. What it measures is a [`Record`], a JSON file of the folder; an experiment whose
//! record is there is not run again, so that a run can be interrupted. Page, Markdown and charts are made of the records and of the
//! [published values](crate::published), which are data files.

mod experiment;
mod machine;
mod markdown;
mod measures;
mod page;
mod record;
mod solves;
mod summary;

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

use experiment::{Experiment, Scope, Size};
use record::Record;

use crate::asked::Asked;
use crate::common::Result;
use crate::mkl;
use crate::peers::{Library, Peers, ProgramPlaces};
use crate::table::write;

/// How large problems are. An unoptimised program, whose times say nothing, takes the problems of tests for small ones.
fn size(asked: &Asked) -> Size {
    match asked.has("quick") {
        true if cfg!(debug_assertions) => Size::Tiny,
        true => Size::Quick,
        false => Size::Full,
    }
}

fn scope(asked: &Asked) -> Result<Scope> {
    let (device, places) = (asked.text("device"), ProgramPlaces::new(asked));
    let machine = asked.maybe("machine").map(str::to_owned);
    Ok(Scope {
        size: size(asked),
        device: device.to_owned(),
        machine: machine.unwrap_or_else(|| machine::name(device)),
        peers: Peers::install(&Library::asked(asked), &places),
        mkl: match asked.has("mkl") {
            true => Some(places.python(&mkl::PACKAGES)?),
            false => None,
        },
    })
}

pub(crate) fn run(asked: &Asked) -> Result<()> {
    let chosen = chosen(asked.maybe("ONLY"))?;
    let folder = Path::new(asked.text("output"));
    if !asked.has("report") {
        let named = |error| format!("{}: cannot be made: {error}", folder.display());
        std::fs::create_dir_all(folder).map_err(named)?;
        measure_all(asked, folder, chosen)?;
    }
    report(folder, asked.path("markdown").as_deref())
}

/// Runs the experiments that have no record.
fn measure_all(asked: &Asked, folder: &Path, mut chosen: Vec<&'static Experiment>) -> Result<()> {
    chosen.retain(|one| one.on_devices || asked.text("device") == "cpu");
    let scope = scope(asked)?;
    // Without its device none would be run, and records would say so.
    scope.executor()?;
    if scope.size == Size::Tiny {
        eprintln!(
            "this program is not optimised: its problems are tiny, and its times say nothing"
        );
    }
    let count = chosen.len();
    for (number, experiment) in chosen.into_iter().enumerate() {
        let name = experiment.name();
        let file = folder.join(record::file_name(&name));
        let is_there = Record::read(&file).is_some_and(|record| record.fits(&scope));
        if is_there && !asked.has("again") {
            eprintln!("{} of {count}  {name}: there already", number + 1);
            continue;
        }
        eprintln!("{} of {count}  {name}: {}", number + 1, experiment.title);
        let record = measure(experiment, &scope);
        write(&file, &serde_json::to_string_pretty(&record)?)?;
    }
    Ok(())
}

/// The experiments that a name selects.
fn chosen(only: Option<&str>) -> Result<Vec<&'static Experiment>> {
    let all = experiment::all();
    let Some(only) = only else { return Ok(all) };
    let names: Vec<String> = all.iter().map(|one| one.name()).collect();
    let fits = |one: &&Experiment| one.paper().key == only || one.name() == only;
    let chosen: Vec<_> = all.into_iter().filter(fits).collect();
    match chosen.is_empty() {
        true => Err(format!("there is no `{only}`; there are {}", names.join(", ")).into()),
        false => Ok(chosen),
    }
}

fn measure(experiment: &Experiment, scope: &Scope) -> Record {
    let begin = Instant::now();
    // One that cannot be run here, on a device say, is no reason to leave out the others.
    let (values, failure) = match measures::run(experiment, scope) {
        Ok(values) => (values, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    let seconds = begin.elapsed().as_secs_f64();
    match &failure {
        None => eprintln!("    {seconds:.1} s"),
        Some(why) => eprintln!("    not run: {why}"),
    }
    Record::new(experiment.name(), scope, values, failure, seconds)
}

/// Page, charts and Markdown of all records of a folder.
fn report(folder: &Path, also: Option<&Path>) -> Result<()> {
    let records = record::all(folder, &experiment::all());
    let mut charts = HashMap::new();
    for (experiment, record) in &records {
        if let Some(chart) = page::chart(experiment, record) {
            let name = markdown::chart_name(experiment);
            write(&folder.join(&name), &chart)?;
            charts.insert(name, chart);
        }
    }
    let text = markdown::of(&records, ".");
    write(&folder.join("reproduction.md"), &text)?;
    if let Some(file) = also {
        write(file, &markdown::of(&records, &folder_from(file, folder)))?;
    }
    let page = folder.join("index.html");
    write(&page, &page::of(&text, |name| charts.get(name).cloned()))?;
    say!("{}", page.display());
    Ok(())
}

/// How a file names a folder beside it or below; else by its whole path.
fn folder_from(file: &Path, folder: &Path) -> String {
    let beside = file.parent().unwrap_or(Path::new(""));
    let folder = folder.strip_prefix(beside).unwrap_or(folder);
    folder.display().to_string()
}

#[cfg(test)]
mod tests;
