//! The files a solve writes, and what is recorded for them while it runs.

use std::cell::RefCell;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use vcycle::config::{PreconditionerConfig, Solution, Wide};
use vcycle::log::{ChromeTrace, Log, Profile};
use vcycle::matrix::Csr;

use crate::args::SolveArgs;
use crate::error::{CliError, Result};
use crate::input::Source;
use crate::output::progress::Progress;
use crate::output::report::HtmlReport;
use crate::output::summary::Summary;
use crate::output::{picture, spy};

/// Fails where a file could not be written after a long solve, for want of its folder.
pub fn check_folders(args: &SolveArgs) -> Result<()> {
    let files = [
        &args.output,
        &args.report,
        &args.trace,
        &args.plot_coarsening,
    ];
    let mut asked = files.into_iter().flatten();
    asked.try_for_each(|path| CliError::check_folder(path))
}

/// What files are made of.
pub struct Written<'w, T: Wide> {
    pub source: &'w Source,
    pub a: &'w Arc<Csr<T>>,
    pub solution: &'w Solution<T>,
    pub summary: &'w Summary,
    pub profile: &'w Profile,
    pub trace: &'w ChromeTrace,
}

/// The picture, the trace and the report, as far as they are asked for.
pub fn write_files<T: Wide>(args: &SolveArgs, written: &Written<'_, T>) -> Result<()> {
    let &Written { a, solution, .. } = written;
    if let (Some(path), PreconditionerConfig::Amg(amg)) =
        (&args.plot_coarsening, &solution.config.preconditioner)
    {
        picture::write(path, amg, written.source, a)?;
    }
    if let Some(path) = &args.trace {
        write_trace(path, written.trace).map_err(CliError::writing(path))?;
    }
    if let Some(path) = &args.report {
        let report = HtmlReport {
            summary: written.summary,
            facts: &a.facts(),
            profile: written.profile,
            spy: spy::svg(a.pattern()),
            tolerance: solution.config.stop.rtol,
        };
        std::fs::write(path, report.html()).map_err(CliError::writing(path))?;
    }
    Ok(())
}

/// The file for the solution of the second, third... matrix: `x.mtx` becomes `x-2.mtx`.
pub fn numbered(path: &Path, number: usize) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match name.split_once('.') {
        _ if number == 1 => path.to_owned(),
        None => path.with_file_name(format!("{name}-{number}")),
        Some((stem, ending)) => path.with_file_name(format!("{stem}-{number}.{ending}")),
    }
}

fn write_trace(path: &Path, trace: &ChromeTrace) -> std::io::Result<()> {
    trace.write_to(BufWriter::new(File::create(path)?))
}

/// The times of all stages, in sum and one by one.
#[derive(Default)]
pub struct Records {
    pub profile: Rc<RefCell<Profile>>,
    pub trace: Rc<RefCell<ChromeTrace>>,
}

impl Records {
    /// Observers cost a little in every iteration: only those whose output is asked for.
    pub fn log(&self, args: &SolveArgs, progress: &Progress) -> Log {
        let mut log = Log::new();
        if progress.is_shown() {
            log = log.with(progress.clone());
        }
        if args.report.is_some() {
            log = log.with(Rc::clone(&self.profile));
        }
        if args.trace.is_some() {
            log = log.with(Rc::clone(&self.trace));
        }
        log
    }
}
