//! `vcycle-bench reproduce`, which `vcycle reproduce` starts: tables and figures of papers, measured with vcycle beside
//! what was published.
//!
//! An [`Experiment`] is one table or figure, described in a data file. Its measurements are a [`Record`], a JSON file of the folder; an experiment whose
//! record is there is not run again, so that a run can be interrupted. Page, Markdown and charts are made of the records and of the
//! [published values](crate::published), which are data files.

mod experiment;
mod markdown;
mod measures;
mod page;
mod record;
mod summary;

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

use experiment::{Experiment, Scope, Size};
use record::Record;

use crate::common::cores;
use crate::mkl;
use crate::peers::{Library, Peers, ProgramPlaces};
use crate::prelude::*;
use crate::table::write;

fn scope(args: &Args) -> Result<Scope> {
    let (device, places) = (args.text("device"), ProgramPlaces::new(args));
    Ok(Scope {
        // Times of an unoptimised program say nothing: it takes the problems of tests.
        size: match args.has("quick") {
            true if cfg!(debug_assertions) => Size::Tiny,
            true => Size::Quick,
            false => Size::Full,
        },
        device: device.to_owned(),
        machine: match args.maybe("machine") {
            Some(given) => given.to_owned(),
            None => machine(device)?,
        },
        peers: Peers::install(&Library::given(args), &places),
        mkl: match args.has("mkl") {
            true => Some(places.python(&mkl::PACKAGES)?),
            false => None,
        },
    })
}

/// The device, or the processor and the number of its cores.
fn machine(device: &str) -> Result<String> {
    if let Some(opened) = vcycle_gpu::Device::open(device)
        .ok()
        .filter(|_| device != "cpu")
    {
        return Ok(opened.properties().model.clone());
    }
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = text.lines().find(|line| line.starts_with("model name"));
    let model = named.and_then(|line| line.split(':').nth(1));
    let model = model.map_or(std::env::consts::ARCH, str::trim);
    Ok(format!("{} cores of {model}", cores()?))
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let chosen = chosen(args.maybe("ONLY"))?;
    let folder = Path::new(args.text("output"));
    if !args.has("report") {
        let named = |error| format!("{}: cannot be made: {error}", folder.display());
        std::fs::create_dir_all(folder).map_err(named)?;
        measure_all(args, folder, chosen)?;
    }
    report(folder, args.path("markdown").as_deref())
}

/// Runs the experiments that have no record.
fn measure_all(args: &Args, folder: &Path, mut chosen: Vec<&'static Experiment>) -> Result<()> {
    chosen.retain(|one| one.on_devices || args.text("device") == "cpu");
    let scope = scope(args)?;
    // Without its device every experiment would fail.
    scope.executor()?;
    if scope.size == Size::Tiny {
        eprintln!("this program is not optimised: problems are tiny, and times say nothing");
    }
    let count = chosen.len();
    for (number, experiment) in chosen.into_iter().enumerate() {
        let title = format!("{} of {count}  {}", number + 1, experiment.name());
        let known = Record::read(folder, experiment).filter(|record| record.fits(&scope));
        if known.is_some() && !args.has("again") {
            eprintln!("{title}: there already");
            continue;
        }
        eprintln!("{title}: {}", experiment.title);
        let begin = Instant::now();
        let measured = measures::run(experiment, &scope);
        let seconds = begin.elapsed().as_secs_f64();
        // One that cannot be run here, on a device say, is no reason to leave out the others.
        match &measured {
            Ok(_) => eprintln!("    {seconds:.1} s"),
            Err(why) => eprintln!("    not run: {why}"),
        }
        let record = Record::new(experiment, &scope, measured, seconds)?;
        let file = folder.join(record::file_name(experiment));
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

/// Page, charts and Markdown of all records of a folder.
fn report(folder: &Path, also: Option<&Path>) -> Result<()> {
    let records = record::all(folder);
    let mut charts = HashMap::new();
    for (experiment, record) in &records {
        if let Some(chart) = summary::chart(experiment, record) {
            let name = format!("{}.svg", experiment.file_stem());
            write(&folder.join(&name), &chart)?;
            charts.insert(name, chart);
        }
    }
    let text = markdown::of(&records, ".");
    write(&folder.join("reproduction.md"), &text)?;
    if let Some(file) = also {
        // The folder as the file names it, where it is beside the file or below.
        let beside = file.parent().unwrap_or(Path::new(""));
        let name = folder.strip_prefix(beside).unwrap_or(folder).display();
        write(file, &markdown::of(&records, &name.to_string()))?;
    }
    let page = folder.join("index.html");
    write(&page, &page::of(&text, |name| charts.get(name).cloned()))?;
    print_line!("{}", page.display());
    Ok(())
}

#[cfg(test)]
mod tests;
