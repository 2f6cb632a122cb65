//! Progress on the terminal while a solve runs.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use vcycle::io;
use vcycle::log::{IterationEvent, Observer};

/// Steps of the bar from the initial residual to the tolerance.
const STEPS: u64 = 1000;

/// Stages whose inner stages are shown by name.
const BEFORE_ITERATIONS: [&str; 3] = ["analysis", "set-up", "amg set-up"];

/// A spinner that becomes a bar once residuals come in; shows nothing unless stderr is a
/// terminal.
#[derive(Clone)]
pub struct Progress {
    bar: ProgressBar,
    /// The open stages of what comes before the iterations, outermost first.
    open: Vec<String>,
}

impl Progress {
    /// Begins with what is done first; hidden where it is not wanted.
    pub fn begin(wanted: bool, task: &str) -> Self {
        if !wanted || !std::io::stderr().is_terminal() {
            return Self::with(ProgressBar::hidden());
        }
        let bar = ProgressBar::new(STEPS).with_style(
            ProgressStyle::with_template("{spinner} {msg:32} [{bar:30}] {elapsed}")
                .expect("the template is valid")
                .progress_chars("━╸ "),
        );
        bar.enable_steady_tick(Duration::from_millis(100));
        bar.set_message(task.to_owned());
        Self::with(bar)
    }

    fn with(bar: ProgressBar) -> Self {
        let open = Vec::new();
        Self { bar, open }
    }

    /// Whether anybody sees it.
    pub fn is_shown(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// So much of a file has been read.
    pub fn reading(&self, read: io::Progress) {
        self.bar
            .set_position(read.bytes * STEPS / read.total_bytes.max(1));
    }

    /// So many of all parts are done.
    pub fn part(&self, done: usize, all: usize) {
        self.bar
            .set_position((done as u64 * STEPS) / all.max(1) as u64);
    }

    /// Wipes the bar.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Progress {
    fn stage_begins(&mut self, name: &str) {
        if !self.open.is_empty() || BEFORE_ITERATIONS.contains(&name) {
            self.open.push(name.to_owned());
            self.bar.set_message(doing(&self.open));
        }
    }

    fn stage_ends(&mut self, _name: &str, _elapsed: Duration, _bytes: usize) {
        self.open.pop();
    }

    fn iteration(&mut self, event: &IterationEvent<'_>) {
        let residual = event.residuals.iter().copied().fold(0.0, f64::max);
        let share = residual.log10() / event.tolerance.max(f64::MIN_POSITIVE).log10();
        self.bar
            .set_position((share.clamp(0.0, 1.0) * STEPS as f64) as u64);
        self.bar
            .set_message(format!("iteration {}: {residual:.2e}", event.iteration));
    }
}

/// The level where there is one, and the innermost stage.
fn doing(open: &[String]) -> String {
    let level = open.iter().find(|name| name.starts_with("level "));
    match (level, open.last()) {
        (Some(level), Some(stage)) if level != stage => format!("{level}: {stage}"),
        (_, stage) => stage.cloned().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stages_of_the_set_up_are_told_with_their_level() {
        let mut progress = Progress::begin(false, "reading");
        let mut shown = Vec::new();
        for name in ["set-up", "amg set-up", "level 2", "strength"] {
            progress.stage_begins(name);
            shown.push(progress.bar.message());
        }
        assert_eq!(shown[0], "set-up");
        assert_eq!(shown[3], "level 2: strength");
        for _ in 0..4 {
            progress.stage_ends("", Duration::ZERO, 0);
        }
        progress.stage_begins("solve");
        assert_eq!(progress.bar.message(), shown[3]);
    }
}
