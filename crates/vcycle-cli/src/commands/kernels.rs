//! `vcycle kernels`: kernels compiled ahead of time.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use vcycle::config;
use vcycle::{gallery, programs};
use vcycle_gpu::{Compiled, Device, Source, compile_only, write_archive};

use crate::args::KernelsCommand;
use crate::output::progress::Progress;
use crate::output::{complain, print};
use crate::prelude::*;

/// What is solved to see which programs are needed.
const SOLVES: &str = include_str!("kernels.txt");

/// The problems of that table, and how each is solved.
fn solves() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = SOLVES.lines().filter(|line| !line.starts_with('#'));
    let usual = lines.clone().find_map(|line| line.strip_prefix("usual = "));
    let usual = usual.unwrap_or_default();
    let rows = lines.filter_map(|line| line.split_once('|'));
    rows.flat_map(move |(problems, how)| {
        let problems = match problems.trim() {
            "usual" => usual,
            problems => problems,
        };
        problems
            .split_whitespace()
            .map(|problem| (problem, how.trim()))
    })
}

/// Builds an archive, or lists what belongs into it.
pub fn run(what: &KernelsCommand) -> Result<ExitCode> {
    match what {
        KernelsCommand::Build { arch, output } => build(arch, output)?,
        KernelsCommand::List { device: None, .. } => print_lines(&programs::programs("sm_90")),
        KernelsCommand::List {
            device: Some(device),
            problem,
            how,
        } => match problem {
            None => list(device)?,
            Some(problem) => {
                solve(problem, &configuration(how)?, &Executor::gpu(device)?)?;
                print_lines(&opened(device)?.programs());
            }
        },
    }
    Ok(ExitCode::SUCCESS)
}

fn print_lines(programs: &[Source]) {
    let lines = programs.iter().filter_map(programs::line);
    lines.for_each(|line| print(&line));
}

fn opened(device: &str) -> Result<Arc<Device>> {
    Device::open(device).map_err(|error| CliError::Library(error.into()))
}

/// Compiles all listed programs on all cores.
fn build(targets: &[String], output: &Path) -> Result<()> {
    // A missing folder is reported before minutes of compiling.
    CliError::check_folder(output)?;
    let of = |target: &String| {
        let programs = programs::programs(target).into_iter();
        let target = target.clone();
        programs.map(move |program| (target.clone(), program))
    };
    let work: Vec<(String, Source)> = targets.iter().flat_map(of).collect();
    let progress = Progress::begin(true, "compiling kernels");
    let compiled = in_parallel(work, &progress);
    progress.end();
    let compiled: vcycle_gpu::Result<Vec<Compiled>> = compiled.into_iter().collect();
    let compiled = compiled.map_err(|error| CliError::Library(error.into()))?;
    write_archive(output, &compiled).map_err(CliError::writing(output))?;
    let bytes = std::fs::metadata(output).map_or(0, |facts| facts.len());
    print(&format!(
        "{}: {} programs for {}, {:.1} MB",
        output.display(),
        compiled.len(),
        targets.join(", "),
        bytes as f64 / 1e6
    ));
    Ok(())
}

/// Compiles on all cores.
fn in_parallel(
    work: Vec<(String, Source)>,
    progress: &Progress,
) -> Vec<vcycle_gpu::Result<Compiled>> {
    let (done, all) = (AtomicUsize::new(0), work.len());
    Executor::cpu().run(usize::MAX, work, |(target, source)| {
        progress.part(done.fetch_add(1, Ordering::Relaxed) + 1, all);
        let code = compile_only(&target, &source)?;
        Ok(Compiled {
            source,
            target,
            code,
        })
    })
}

/// Solves the problems in all ways, and prints each program when it is needed first. What a problem or a device cannot do is
/// left out.
fn list(device: &str) -> Result<()> {
    let executor = Executor::gpu(device)?;
    let device = opened(device)?;
    let mut seen = HashSet::new();
    for (problem, text) in solves() {
        if let Err(error) = solve(problem, &configuration(text)?, &executor) {
            complain(&format!("{problem}, {text}: {error}"));
        }
        let lines = device.programs();
        for line in lines.iter().filter_map(programs::line) {
            if seen.insert(line.clone()) {
                print(&line);
            }
        }
    }
    Ok(())
}

/// What a preset, options in one line, or TOML, says.
fn configuration(text: &str) -> Result<Config> {
    Ok(Config::preset(text).or_else(|_| text.parse())?)
}

fn solve(problem: &str, config: &Config, executor: &Executor) -> vcycle::Result<()> {
    if gallery::is_complex_problem(problem) {
        let problem = gallery::build_complex(problem, executor)?;
        let b = Vector::from_column(executor, problem.rhs);
        let matrix = Arc::new(problem.matrix);
        return config::solve(config, &matrix, &b, &Workspace::new()).map(|_| ());
    }
    let system: System<f64> = gallery::build(problem, executor)?.into();
    let b = Vector::filled(executor, system.matrix.rows(), 1, 1.0)?;
    config::solve_system(config, &system, &b, &Workspace::new()).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_from_can_be_read() {
        assert!(solves().count() > 250);
        for (problem, text) in solves() {
            assert!(configuration(text).is_ok(), "{text}");
            let is_known = gallery::is_problem(problem) || gallery::is_complex_problem(problem);
            assert!(is_known, "{problem}");
        }
    }
}
