//! Progress on the terminal while a solve runs.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use vcycle::log::{IterationEvent, Observer};

/// Steps of the bar from the initial residual to the tolerance.
const STEPS: u64 = 1000;

/// A spinner that becomes a bar once residuals come in; shows nothing unless stderr is a
/// terminal.
#[derive(Clone)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Begins with what is done first; hidden where it is not wanted.
    pub fn begin(wanted: bool, task: &str) -> Self {
        if !wanted || !std::io::stderr().is_terminal() {
            let bar = ProgressBar::hidden();
            return Self { bar };
        }
        let bar = ProgressBar::new(STEPS).with_style(
            ProgressStyle::with_template("{spinner} {msg:32} [{bar:30}] {elapsed}")
                .expect("the template is valid")
                .progress_chars("━╸ "),
        );
        bar.enable_steady_tick(Duration::from_millis(100));
        bar.set_message(task.to_owned());
        Self { bar }
    }

    /// Whether anybody sees it.
    pub fn is_shown(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// So much is done of the task that is running.
    pub fn share(&self, done: u64, total: u64) {
        self.bar.set_position(done * STEPS / total.max(1));
    }

    /// Wipes the bar.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Progress {
    fn stage_begins(&mut self, name: &str) {
        if matches!(name, "analysis" | "set-up") {
            self.bar.set_message(name.to_owned());
        }
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
