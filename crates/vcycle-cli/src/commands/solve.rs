//! `vcycle solve`.

use std::cell::RefCell;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use vcycle::config::{self, Config, ConfigError, PreconditionerConfig, Sequence, Solution, Wide};
use vcycle::executor::{Executor, Workspace};
use vcycle::io::write_vector;
use vcycle::log::{ChromeTrace, Log, Profile};
use vcycle::multigrid::Amg;

use crate::args::{InputArgs, PlaceArgs, SolveArgs};
use crate::error::{CliError, Result};
use crate::input::{AnySystem, System};
use crate::known::near_nullspace;
use crate::output::format::{bytes, count, duration};
use crate::output::progress::Progress;
use crate::output::report::Report;
use crate::output::style::{Colour, Style};
use crate::output::summary::Summary;
use crate::output::{picture, plot, print, spy, table};

/// Solves; success only if it converged.
pub fn run(args: &SolveArgs) -> Result<ExitCode> {
    let config = configuration(args)?;
    // What is wrong with the options is said before a large file is read.
    config.stop.stop()?;
    let files = [
        &args.output,
        &args.report,
        &args.trace,
        &args.plot_coarsening,
    ];
    for path in files.into_iter().flatten() {
        check_folder(path)?;
    }
    let executor = config.run.executor()?;
    let task = Task {
        args,
        config,
        executor,
    };
    let (system, read) = task.read(&args.input.source)?;
    match system {
        AnySystem::Real(system) => task.solve(system, read),
        AnySystem::Complex(system) => task.solve(system, read),
    }
}

/// Fails where a file could not be written after a long solve, for want of its folder.
fn check_folder(path: &Path) -> Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    std::fs::read_dir(folder)
        .map(drop)
        .map_err(CliError::writing(path))
}

/// The configuration file, overridden by the options.
fn configuration(args: &SolveArgs) -> Result<Config> {
    let mut config = match (&args.config, &args.preset) {
        (Some(path), _) => Config::read(path)?,
        (None, Some(name)) => Config::preset(name)?,
        (None, None) => Config::default(),
    };
    if let Some(text) = &args.solver {
        config.solver = text.parse()?;
    }
    if let Some(text) = &args.precond {
        config.preconditioner = text.parse()?;
    }
    match args.precision.as_deref() {
        Some(text) if !of_levels(text, &config.preconditioner) => {
            config.precision = Some(text.parse()?);
            multigrid(args, None, &mut config.preconditioner)?;
        }
        levels => multigrid(args, levels, &mut config.preconditioner)?,
    }
    if let Some(text) = &args.format {
        config.format = text.parse()?;
    }
    if args.rtol.is_some() {
        (config.stop.rtol, config.stop.reduction) = (args.rtol, None);
    }
    config.stop.max_iterations = args.max_iters.unwrap_or(config.stop.max_iterations);
    config.stop.time_limit = args.time_limit.or(config.stop.time_limit);
    place(&args.place, &mut config);
    Ok(config)
}

/// Whether a precision is that of multigrid's levels and not of the whole solve.
fn of_levels(precision: &str, preconditioner: &PreconditionerConfig) -> bool {
    use PreconditionerConfig::{Amg, StructMg};
    precision.contains('-') || matches!(preconditioner, Amg(_) | StructMg(_))
}

/// The options of multigrid, which choose it where nothing else is.
fn multigrid(
    args: &SolveArgs,
    precision: Option<&str>,
    preconditioner: &mut PreconditionerConfig,
) -> Result<()> {
    let options = [
        args.coarsening.as_deref(),
        args.interpolation.as_deref(),
        args.smoother.as_deref(),
        args.post_smoother.as_deref(),
        args.cycle.as_deref(),
        args.scaling.as_deref(),
        precision,
    ];
    let asked =
        args.plot_coarsening.is_some() || args.restriction_scaling.is_some() || args.fmg_start;
    if !asked && options.iter().all(Option::is_none) {
        return Ok(());
    }
    let mut amg = match preconditioner {
        PreconditionerConfig::Amg(amg) => amg.clone(),
        PreconditionerConfig::Auto(_) => Amg::default(),
        PreconditionerConfig::StructMg(structured) if only_structured(args) => {
            set(args.scaling.as_deref(), &mut structured.scaling)?;
            structured.precision = precision.map(str::parse).transpose()?;
            return Ok(());
        }
        other => {
            let reason = format!("an option of multigrid, but the preconditioner is `{other}`");
            return Err(CliError::Option {
                option: "--coarsening, --interpolation, --smoother, --post-smoother, --cycle, --fmg-start, --scaling, --precision or --plot-coarsening",
                reason,
            });
        }
    };
    set(args.coarsening.as_deref(), &mut amg.coarsening)?;
    set(args.interpolation.as_deref(), &mut amg.interpolation)?;
    set(args.smoother.as_deref(), &mut amg.smoother)?;
    set(args.post_smoother.as_deref(), &mut amg.post_smoother)?;
    amg.fmg_start |= args.fmg_start;
    set(args.cycle.as_deref(), &mut amg.cycle)?;
    set(args.scaling.as_deref(), &mut amg.scaling)?;
    set(precision, &mut amg.precision)?;
    amg.restriction_scaling = args.restriction_scaling.unwrap_or(amg.restriction_scaling);
    *preconditioner = PreconditionerConfig::Amg(amg);
    Ok(())
}

/// Whether all options of multigrid are such that structured multigrid has, too.
fn only_structured(args: &SolveArgs) -> bool {
    let others = [
        &args.coarsening,
        &args.interpolation,
        &args.smoother,
        &args.cycle,
    ];
    let more = args.plot_coarsening.is_some() || args.restriction_scaling.is_some();
    !more && others.iter().all(|option| option.is_none())
}

/// Parses an option that was given.
fn set<V: FromStr<Err = ConfigError>>(option: Option<&str>, value: &mut V) -> Result<()> {
    if let Some(text) = option {
        *value = text.parse()?;
    }
    Ok(())
}

/// The options that say where to run.
pub fn place(args: &PlaceArgs, config: &mut Config) {
    if let Some(device) = &args.device {
        config.run.device.clone_from(device);
    }
    config.run.threads = args.threads.or(config.run.threads);
}

/// Solves, from systems read to their output.
struct Task<'t> {
    args: &'t SolveArgs,
    config: Config,
    executor: Executor,
}

/// How a system was read.
struct Reading {
    progress: Progress,
    time: Duration,
}

impl Task<'_> {
    fn read(&self, source: &str) -> Result<(AnySystem, Reading)> {
        let progress = Progress::begin(!self.args.json && !self.args.quiet, "reading");
        let begin = Instant::now();
        let input = InputArgs {
            source: source.to_owned(),
            ..self.args.input
        };
        let system = AnySystem::read(&input, &self.executor, &progress)?;
        let time = begin.elapsed();
        Ok((system, Reading { progress, time }))
    }

    /// Solves for all matrices; success only if all converged.
    fn solve<T: Wide>(&self, first: System<T>, reading: Reading) -> Result<ExitCode> {
        let mut steps = Sequence::new(self.config.clone());
        let then = &self.args.then;
        let kept = (!then.is_empty()).then_some(&mut steps);
        let mut summary = self.solve_one(first, reading, kept, 1)?;
        self.print(&overview(&summary), &summary);
        for (number, source) in (2..).zip(then) {
            let (system, reading) = self.read(source)?;
            let system = system.of::<T>().ok_or_else(|| mixed(source))?;
            let next = self.solve_one(system, reading, Some(&mut steps), number)?;
            let mut rows = overview(&next);
            rows.retain(|(title, _)| ["matrix", "time", "note"].contains(title));
            self.print(&rows, &next);
            summary.then.push(next);
        }
        if self.args.json {
            print(&serde_json::to_string(&summary).expect("a summary is plain data"));
        }
        let mut all = [&summary].into_iter().chain(&summary.then);
        Ok(match all.all(|one| one.status == "converged") {
            true => ExitCode::SUCCESS,
            false => ExitCode::from(1),
        })
    }

    fn solve_one<T: Wide>(
        &self,
        mut system: System<T>,
        reading: Reading,
        kept: Option<&mut Sequence>,
        number: usize,
    ) -> Result<Summary> {
        if self.args.plot_coarsening.is_some() {
            picture::drawable(&system)?;
        }
        let b = system.right_hand_side(self.args.rhs.as_deref())?;
        let profile = Rc::new(RefCell::new(Profile::default()));
        let trace = Rc::new(RefCell::new(ChromeTrace::default()));
        let ws = Workspace::with_log(self.log(&reading.progress, &profile, &trace));
        let known = self.known(&system)?;
        let solution = match kept {
            None => config::solve_system(&self.config, &known, &b, &ws),
            Some(steps) => steps.solve(&known, &b, &ws),
        };
        reading.progress.end();
        let solution = solution?;
        let summary = Summary::new(
            &system.name,
            &system.a,
            &self.executor,
            &solution,
            reading.time,
        );
        if let Some(path) = &self.args.output {
            write_vector(numbered(path, number), &solution.x)?;
        }
        self.write_files(&system, &solution, &summary, &profile.borrow(), &trace)?;
        Ok(summary)
    }

    /// The matrix and what the options or else the problem tell of it.
    fn known<T: Wide>(&self, system: &System<T>) -> Result<config::System<T>> {
        let told = near_nullspace(&self.args.known, &self.executor)?;
        let mut known = config::System::new(Arc::clone(&system.a));
        known.near_nullspace = told.or_else(|| system.near_nullspace.clone());
        Ok(known)
    }

    /// Observers cost a little in every iteration: only those whose output is asked for.
    fn log(
        &self,
        progress: &Progress,
        profile: &Rc<RefCell<Profile>>,
        trace: &Rc<RefCell<ChromeTrace>>,
    ) -> Log {
        let mut log = Log::new();
        if progress.is_shown() {
            log = log.with(progress.clone());
        }
        if self.args.report.is_some() {
            log = log.with(Rc::clone(profile));
        }
        if self.args.trace.is_some() {
            log = log.with(Rc::clone(trace));
        }
        log
    }

    fn write_files<T: Wide>(
        &self,
        system: &System<T>,
        solution: &Solution<T>,
        summary: &Summary,
        profile: &Profile,
        trace: &Rc<RefCell<ChromeTrace>>,
    ) -> Result<()> {
        if let (Some(path), PreconditionerConfig::Amg(amg)) =
            (&self.args.plot_coarsening, &solution.config.preconditioner)
        {
            picture::write(path, amg, system)?;
        }
        if let Some(path) = &self.args.trace {
            write_trace(path, &trace.borrow()).map_err(CliError::writing(path))?;
        }
        if let Some(path) = &self.args.report {
            let report = Report {
                summary,
                facts: &system.a.facts(),
                profile,
                spy: spy::svg(system.a.pattern()),
                tolerance: solution.config.stop.rtol,
            };
            std::fs::write(path, report.html()).map_err(CliError::writing(path))?;
        }
        Ok(())
    }

    /// For people: facts, convergence and verdict.
    fn print(&self, rows: &[(&'static str, String)], summary: &Summary) {
        if self.args.json {
            return;
        }
        if !self.args.quiet {
            print(&table::facts(rows.iter().cloned()));
            for line in plot::convergence(&summary.history) {
                print(&line);
            }
        }
        print(&verdict(summary, Style::of(&std::io::stdout())));
    }
}

/// The file for the solution of the second, third... matrix: `x.mtx` becomes `x-2.mtx`.
fn numbered(path: &Path, number: usize) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match name.split_once('.') {
        _ if number == 1 => path.to_owned(),
        None => path.with_file_name(format!("{name}-{number}")),
        Some((stem, ending)) => path.with_file_name(format!("{stem}-{number}.{ending}")),
    }
}

fn mixed(source: &str) -> CliError {
    CliError::Option {
        option: "--then",
        reason: format!("of `{source}` and the first matrix one is complex and one is real"),
    }
}

fn write_trace(path: &Path, trace: &ChromeTrace) -> std::io::Result<()> {
    trace.write_to(BufWriter::new(File::create(path)?))
}

fn overview(summary: &Summary) -> Vec<(&'static str, String)> {
    let seconds = Duration::from_secs_f64;
    let config = &summary.config;
    let mut rows = vec![
        (
            "matrix",
            format!(
                "{}: {} rows, {} entries",
                summary.problem,
                count(summary.rows),
                count(summary.nonzeros)
            ),
        ),
        ("solver", spaced(&config.solver.brief())),
        ("preconditioner", spaced(&config.preconditioner.brief())),
        ("levels", levels(summary)),
        (
            "runs on",
            format!(
                "{}, {} threads, precision {}, format {}",
                summary.device,
                summary.threads,
                config.precision.unwrap_or_default(),
                config.format
            ),
        ),
        (
            "time",
            format!(
                "{} reading, {} set-up, {} solve",
                duration(seconds(summary.read_seconds)),
                duration(seconds(summary.setup_seconds)),
                duration(seconds(summary.solve_seconds))
            ),
        ),
        ("memory", memory(summary)),
    ];
    if summary.levels.len() == 1 {
        rows.retain(|(title, _)| *title != "levels");
    }
    rows.extend(summary.messages.iter().map(|m| ("note", m.clone())));
    rows
}

/// With places where a line may break.
fn spaced(component: &str) -> String {
    component.replace(',', ", ")
}

fn levels(summary: &Summary) -> String {
    format!(
        "{}, operator complexity {:.2}, grid complexity {:.2}",
        summary.levels.len(),
        summary.operator_complexity,
        summary.grid_complexity
    )
}

fn memory(summary: &Summary) -> String {
    let held = format!("{} matrix and preconditioner", bytes(summary.bytes));
    match summary.peak_memory_bytes {
        None => held,
        Some(peak) => format!("{held}, {} at most", bytes(peak)),
    }
}

fn verdict(summary: &Summary, style: Style) -> String {
    let colour = match summary.status {
        "converged" => Colour::Green,
        "iteration-limit" | "time-limit" => Colour::Yellow,
        _ => Colour::Red,
    };
    let recurrence = match summary.relative_residual > 2.0 * summary.recurrence_residual {
        true => format!(" (of the recurrence {:.2e})", summary.recurrence_residual),
        false => String::new(),
    };
    let advice = match summary.status {
        "converged" => String::new(),
        _ => format!(": {}", summary.explanation),
    };
    format!(
        "{} after {} iterations in {}, true relative residual {:.2e}{recurrence}{advice}",
        style.paint(summary.status, colour),
        count(summary.iterations),
        duration(Duration::from_secs_f64(
            summary.setup_seconds + summary.solve_seconds
        )),
        summary.relative_residual,
    )
}
