//! A trace file for the trace viewers of browsers.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{IterationEvent, Observer};

/// Records every stage and residual with its time, in the Trace Event Format that
/// `chrome://tracing` and Perfetto open.
///
/// ```
/// use std::{cell::RefCell, rc::Rc};
/// use vcycle::log::{ChromeTrace, Log};
/// let trace = Rc::new(RefCell::new(ChromeTrace::default()));
/// let log = Log::new().with(Rc::clone(&trace));
/// drop(log.stage("solve", 0));
/// let mut file = Vec::new();
/// trace.borrow().write_to(&mut file)?;
/// assert!(String::from_utf8_lossy(&file).contains(r#""name":"solve""#));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ChromeTrace {
    start: Instant,
    events: Vec<Event>,
}

#[derive(Clone, Debug)]
enum Event {
    Stage {
        name: String,
        start: Duration,
        elapsed: Duration,
        bytes: usize,
    },
    Residual {
        at: Duration,
        iteration: usize,
        residual: f64,
    },
}

impl Default for ChromeTrace {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            events: Vec::new(),
        }
    }
}

impl ChromeTrace {
    /// Writes the trace, one event a line.
    pub fn write_to(&self, mut out: impl Write) -> io::Result<()> {
        write!(out, "{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
        for (index, event) in self.events.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(out, "{comma}\n{}", event.to_json())?;
        }
        writeln!(out, "\n]}}")
    }
}

impl Event {
    fn to_json(&self) -> serde_json::Value {
        let microseconds = |time: &Duration| time.as_nanos() as f64 * 1e-3;
        match self {
            Event::Stage {
                name,
                start,
                elapsed,
                bytes,
            } => json!({
                "ph": "X", "pid": 1, "tid": 1, "name": name,
                "ts": microseconds(start), "dur": microseconds(elapsed),
                "args": { "bytes": bytes },
            }),
            Event::Residual {
                at,
                iteration,
                residual,
            } => json!({
                "ph": "C", "pid": 1, "tid": 1, "name": "log10 residual", "ts": microseconds(at),
                "args": { "log10": residual.max(f64::MIN_POSITIVE).log10(), "iteration": iteration },
            }),
        }
    }
}

impl Observer for ChromeTrace {
    fn stage_ends(&mut self, name: &str, elapsed: Duration, bytes: usize) {
        self.events.push(Event::Stage {
            name: name.to_owned(),
            start: self.start.elapsed().saturating_sub(elapsed),
            elapsed,
            bytes,
        });
    }

    fn iteration(&mut self, event: &IterationEvent<'_>) {
        self.events.push(Event::Residual {
            at: self.start.elapsed(),
            iteration: event.iteration,
            residual: event.residuals.iter().copied().fold(0.0, f64::max),
        });
    }

    fn times_stages(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_json_even_without_a_finite_residual() {
        let mut trace = ChromeTrace::default();
        trace.stage_ends("a \"quoted\" stage", Duration::from_micros(3), 10);
        trace.iteration(&IterationEvent {
            iteration: 1,
            residuals: &[f64::INFINITY],
            tolerance: 0.0,
        });
        let mut file = Vec::new();
        trace.write_to(&mut file).unwrap();
        let read: serde_json::Value = serde_json::from_slice(&file).unwrap();
        assert_eq!(read["traceEvents"].as_array().unwrap().len(), 2);
        assert_eq!(read["traceEvents"][0]["dur"], 3.0);
    }
}
