//! The files a solve writes, and what is recorded for them while it runs.

use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;

use vcycle::config::{PreconditionerConfig, Solution};
use vcycle::io::write_vector;
use vcycle::log::{ChromeTrace, Log, Profile};

use crate::args::SolveArgs;
use crate::input::Source;
use crate::interrupt::Interrupt;
use crate::output::progress::Progress;
use crate::output::report::HtmlReport;
use crate::output::summary::Summary;
use crate::output::{picture, spy, write_file};
use crate::prelude::*;

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

/// A solve that has ended, and what files are made of.
pub struct Answer<T> {
    pub summary: Summary,
    pub solution: Solution<T>,
    pub profile: Profile,
    pub trace: ChromeTrace,
}

impl<T: Wide> Answer<T> {
    /// Writes the solution of the matrix of this number, the trace, and where the matrix is known as a whole the picture and
    /// the report, as far as they are asked for.
    pub fn write(
        &self,
        args: &SolveArgs,
        number: usize,
        whole: Option<(&Source, &Arc<Csr<T>>)>,
    ) -> Result<()> {
        let config = &self.solution.config;
        if let Some(path) = &args.output {
            write_vector(numbered(path, number), &self.solution.x)?;
        }
        let Some((source, a)) = whole else {
            return Ok(());
        };
        if let (Some(path), PreconditionerConfig::Amg(amg)) =
            (&args.plot_coarsening, &config.preconditioner)
        {
            picture::write(path, amg, source, a)?;
        }
        if let Some(path) = &args.trace {
            write_file(path, |out| self.trace.write_to(out))?;
        }
        if let Some(path) = &args.report {
            let report = HtmlReport {
                summary: &self.summary,
                facts: &a.facts(),
                profile: &self.profile,
                spy: spy::svg(a.pattern()),
                tolerance: config.stop.rtol,
            };
            write_file(path, |out| out.write_all(report.html().as_bytes()))?;
        }
        Ok(())
    }
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

/// The times of all stages, in sum and one by one.
#[derive(Default)]
pub struct Records {
    pub profile: Rc<RefCell<Profile>>,
    pub trace: Rc<RefCell<ChromeTrace>>,
}

impl Records {
    /// Observers of stages cost a little in every iteration: only those whose output is asked for.
    pub fn log(&self, args: &SolveArgs, progress: &Progress) -> Log {
        let mut log = Log::new().with(Interrupt::default());
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
