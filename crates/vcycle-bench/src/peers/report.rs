//! The table.

use serde_json::{Value, json};

use super::measurement::{Attempt, Measurement};
use crate::common::table;

/// vcycle as configured.
pub(crate) const OURS: &str = "vcycle";
/// vcycle in double precision, where it is configured otherwise.
pub(crate) const DOUBLE: &str = "vcycle, dp";

/// vcycle with the matrix assembled as a stencil before the clock starts, as PFMG has it.
pub(crate) const STENCIL: &str = "vcycle, from a stencil";

/// All solves of one problem with one number of threads, by name.
pub(crate) struct PeerGroup {
    pub(crate) problem: String,
    pub(crate) threads: usize,
    pub(crate) solves: Vec<(&'static str, Attempt)>,
}

impl PeerGroup {
    /// The solve of that name, if it came to an end.
    pub(crate) fn ended(&self, name: &str) -> Option<&Measurement> {
        let (_, attempt) = self.solves.iter().find(|(who, _)| *who == name)?;
        attempt.as_ref().ok()
    }

    /// The solve of that name, if it succeeded.
    pub(crate) fn measured(&self, name: &str) -> Option<&Measurement> {
        self.ended(name).filter(|m| m.converged())
    }

    /// Our total time as a part of theirs; only between solves that both succeeded.
    fn ratio(&self, theirs: &Measurement) -> Option<f64> {
        let ours = self.measured(OURS).filter(|_| theirs.converged())?;
        Some(ours.total() / theirs.total())
    }

    /// What mixed precision gains in the solve phase.
    fn gain(&self) -> Option<f64> {
        Some(self.measured(DOUBLE)?.solve / self.measured(OURS)?.solve)
    }

    /// The total from a stencil on as part of that of each peer, in words.
    fn with_a_stencil(&self) -> Option<String> {
        let (ours, mut parts) = (self.measured(STENCIL)?, Vec::new());
        for (name, attempt) in self
            .solves
            .iter()
            .filter(|(name, _)| !name.starts_with(OURS))
        {
            if let Some(theirs) = attempt.as_ref().ok().filter(|m| m.converged()) {
                parts.push(format!("{:.2} of {name}'s", ours.total() / theirs.total()));
            }
        }
        let (problem, threads) = (&self.problem, self.threads);
        let parts = parts.join(", ");
        (!parts.is_empty())
            .then(|| format!("\n{problem}, threads {threads}: from a stencil the total is {parts}"))
    }

    fn json(&self) -> Value {
        let solves = self.solves.iter().map(|(name, attempt)| match attempt {
            Ok(m) => json!({
                "name": name,
                "setup_seconds": m.setup,
                "solve_seconds": m.solve,
                "iterations": m.iterations,
                "relative_residual": m.residual,
                "operator_complexity": m.complexity,
                "ratio": self.ratio(m),
            }),
            Err(why) => json!({"name": name, "error": why}),
        });
        json!({
            "problem": self.problem,
            "threads": self.threads,
            "solves": solves.collect::<Vec<_>>(),
            "mixed_precision_gain": self.gain(),
        })
    }
}

/// As one line of JSON.
pub(crate) fn json(groups: &[PeerGroup]) -> String {
    Value::from_iter(groups.iter().map(PeerGroup::json)).to_string()
}

/// As a table with the gains of mixed precision below.
pub(crate) fn text(groups: &[PeerGroup]) -> String {
    let header = [
        "problem",
        "threads",
        "who",
        "set-up s",
        "solve s",
        "total s",
        "iterations",
        "residual",
        "vcycle / this",
        "note",
    ];
    let mut table = table(&header);
    for group in groups {
        for (name, attempt) in &group.solves {
            let threads = group.threads.to_string();
            let whose = [group.problem.clone(), threads, name.to_string()];
            table.add_row(whose.into_iter().chain(cells(group, attempt)));
        }
    }
    let gains = groups.iter().filter_map(|group| {
        let (problem, threads) = (&group.problem, group.threads);
        let gain = group.gain()?;
        Some(format!(
            "\n{problem}, threads {threads}: mixed precision solves {gain:.2} times as fast as dp"
        ))
    });
    let from_stencil = groups.iter().filter_map(PeerGroup::with_a_stencil);
    let lines: String = gains.chain(from_stencil).collect();
    format!("{table}{lines}")
}

fn cells(group: &PeerGroup, attempt: &Attempt) -> [String; 7] {
    match attempt {
        Ok(m) => [
            format!("{:.3}", m.setup),
            format!("{:.3}", m.solve),
            format!("{:.3}", m.total()),
            m.iterations.to_string(),
            format!("{:.1e}", m.residual),
            group
                .ratio(m)
                .map_or(String::new(), |ratio| format!("{ratio:.2}")),
            String::from(if m.converged() { "" } else { "not converged" }),
        ],
        Err(why) => {
            let mut cells = [const { String::new() }; 7];
            cells[6] = why.clone();
            cells
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(setup: f64, solve: f64, residual: f64) -> Attempt {
        Ok(Measurement {
            setup,
            solve,
            iterations: 10,
            residual,
            complexity: None,
        })
    }

    fn group() -> PeerGroup {
        PeerGroup {
            problem: "poisson7:8".to_owned(),
            threads: 2,
            solves: vec![
                (OURS, measured(1.0, 2.0, 1e-9)),
                (DOUBLE, measured(1.0, 3.0, 1e-9)),
                ("fast", measured(1.0, 1.0, 1e-9)),
                ("wrong", measured(1.0, 1.0, 1e-3)),
                ("absent", Err("not installed: no network".to_owned())),
            ],
        }
    }

    fn line(text: &str, name: &str) -> String {
        let line = text.lines().find(|line| line.contains(name)).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ratios_are_of_totals_and_between_solutions() {
        let text = text(&[group()]);
        assert!(line(&text, "vcycle, dp").ends_with("| 4.000 | 10 | 1.0e-9 | 0.75 | |"));
        assert!(line(&text, "fast |").ends_with("| 2.000 | 10 | 1.0e-9 | 1.50 | |"));
        assert!(line(&text, "wrong").ends_with("| 1.0e-3 | | not converged |"));
        assert!(line(&text, "absent").ends_with("| | not installed: no network |"));
        assert!(text.ends_with("mixed precision solves 1.50 times as fast as dp"));
    }

    #[test]
    fn totals_from_a_stencil_are_compared_with_peers() {
        let mut group = group();
        group.solves.push((STENCIL, measured(0.5, 1.0, 1e-9)));
        let text = text(&[group]);
        assert!(
            text.ends_with("poisson7:8, threads 2: from a stencil the total is 0.75 of fast's")
        );
    }

    #[test]
    fn json_has_the_same() {
        let value: Value = serde_json::from_str(&json(&[group()])).unwrap();
        let solves = &value[0]["solves"];
        assert_eq!(solves[0]["name"], "vcycle");
        assert_eq!(solves[2]["ratio"], 1.5);
        assert_eq!(solves[3]["ratio"], Value::Null);
        assert_eq!(solves[4]["error"], "not installed: no network");
        assert_eq!(value[0]["mixed_precision_gain"], 1.5);
    }

    #[test]
    fn nothing_is_compared_with_a_failure_of_ours() {
        let mut group = group();
        group.solves[0].1 = Err("failed".to_owned());
        let text = text(&[group]);
        assert!(line(&text, "fast |").ends_with("| 1.0e-9 | | |"));
        assert!(!text.contains("times as fast"));
    }
}
