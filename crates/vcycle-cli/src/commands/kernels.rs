//! `vcycle kernels`: kernels compiled ahead of time.

use std::collections::HashSet;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use vcycle::config::{self, Config, System};
use vcycle::executor::{Executor, Workspace};
use vcycle::vector::Vector;
use vcycle::{gallery, programs};
use vcycle_gpu::{Compiled, Device, Source, compile_only, write_archive};

use crate::args::KernelsCommand;
use crate::error::{CliError, Result};
use crate::output::print;
use crate::output::progress::Progress;

/// What is solved to see which programs are needed: problems of all kinds, the most usual first.
const PROBLEMS: &str = "
    poisson7:64 poisson7:128 poisson7:24 poisson7:8 poisson5:20 elasticity:8x4x4 poisson7:200
    poisson27:80 poisson5:600 elasticity:30x10x10 elasticity:60x20x20 beam:o3,l3 beam:o2,l3
    jump7:64,1e6 tet:40 tet:80 aniso7:64,0.01 laplace27:64 convdiff7:48,10 rhd:48 lshape:o2,l5";

/// How: by itself, with other coarsenings, smoothers and precisions, without multigrid, on a grid.
const CONFIGS: [&str; 12] = [
    "",
    "coarsening=pmis",
    "coarsening=pgm",
    "coarsening=mis2",
    "coarsening=pmis-aggressive",
    "smoother=chebyshev",
    "preconditioner=amg:precision=dp",
    "preconditioner=amg:precision=dp-sp-hp",
    "solver=fgmres preconditioner=jacobi max-iterations=20",
    "solver=bicgstab preconditioner=ilu0 max-iterations=20",
    "solver=cg preconditioner=fsai max-iterations=20",
    "preconditioner=struct-mg",
];

/// What the others leave out, a problem and how it is solved (a preset, or options): cells and nodes of several unknowns, other formats, smoothers and
/// interpolations, complex numbers.
const FURTHER: &str = "
    solid-3D:40         | preconditioner=struct-mg
    oil-4C:40           | preconditioner=struct-mg
    rhd-3T:40           | preconditioner=struct-mg
    weather:40          | preconditioner=struct-mg
    elasticity:30x10x10 | mechanics
    elasticity:30x10x10 | bamg-fsai
    elasticity:30x10x10 | solver=cg energy-steps=2 coarse-filter=0.9 max-iterations=20
    poisson7:40         | solver=direct
    convdiff7:20,10     | solver=direct
    poisson7:40         | solver=gmres preconditioner=parilut max-iterations=20
    poisson7:40         | solver=gmres preconditioner=parilu max-iterations=20
    poisson7:40         | solver=cg preconditioner=parict max-iterations=20
    elasticity:8x4x4    | solver=gmres preconditioner=block-jacobi format=sellp max-iterations=20
    poisson7:40         | solver=minres preconditioner=jacobi format=ell max-iterations=20
    poisson7:40         | solver=cg preconditioner=jacobi format=coo max-iterations=20
    poisson7:40         | smoother=mcgs
    poisson7:64         | coarsening=pmis-aggressive strength.kind=affinity
    magnetic:200,0.05   | solver=cg preconditioner=amg
    helmholtz:200,12,0.5 | solver=fgmres coarsening=pmis";

/// The problems of the table above, and how each is solved.
fn further() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = FURTHER.lines().filter_map(|line| line.split_once('|'));
    rows.map(|(problem, how)| (problem.trim(), how.trim()))
}

/// Builds an archive, or lists what belongs into it.
pub fn run(what: &KernelsCommand) -> Result<ExitCode> {
    match what {
        KernelsCommand::Build { arch, output } => build(arch, output)?,
        KernelsCommand::List { device: None, .. } => print_lines(&programs::programs("sm_90")),
        KernelsCommand::List {
            device: Some(device),
            problem: None,
            ..
        } => list(device)?,
        KernelsCommand::List {
            device: Some(device),
            problem: Some(problem),
            how,
        } => {
            solve(problem, &configuration(how)?, &Executor::gpu(device)?)?;
            print_lines(&opened(device)?.programs());
        }
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
    let usual = CONFIGS.into_iter();
    let with = |text| {
        PROBLEMS
            .split_whitespace()
            .map(move |problem| (problem, text))
    };
    for (problem, text) in usual.flat_map(with).chain(further()) {
        if let Err(error) = solve(problem, &configuration(text)?, &executor) {
            eprintln!("{problem}, {text}: {error}");
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
        for (problem, text) in further() {
            assert!(configuration(text).is_ok(), "{text}");
            let is_known = gallery::is_problem(problem) || gallery::is_complex_problem(problem);
            assert!(is_known, "{problem}");
        }
        assert!(CONFIGS.iter().all(|text| configuration(text).is_ok()));
        assert!(PROBLEMS.split_whitespace().all(gallery::is_problem));
    }
}
