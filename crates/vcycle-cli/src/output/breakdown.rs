//! Where time goes, by level and stage.

use vcycle::log::{Profile, Stage};
use vcycle::multigrid::Report;

/// The times of one level.
pub struct Bar {
    pub label: String,
    /// Stages and their seconds.
    pub parts: Vec<(String, f64)>,
}

impl Bar {
    pub fn seconds(&self) -> f64 {
        self.parts.iter().map(|(_, seconds)| seconds).sum()
    }

    fn add(&mut self, name: &str, seconds: f64) {
        match self.parts.iter_mut().find(|(other, _)| other == name) {
            Some((_, sum)) => *sum += seconds,
            None => self.parts.push((name.to_owned(), seconds)),
        }
    }
}

/// The set-up of every level.
pub fn of_setup(report: &Report) -> Vec<Bar> {
    let bar = |(number, level): (usize, &vcycle::multigrid::LevelFacts)| Bar {
        label: format!("level {number}"),
        parts: level
            .setup
            .iter()
            .map(|time| (time.name.to_owned(), time.seconds))
            .collect(),
    };
    report.levels.iter().enumerate().map(bar).collect()
}

/// The iterations: the solver itself, then every level of its preconditioner.
pub fn of_solve(profile: &Profile) -> Vec<Bar> {
    let mut bars = Vec::new();
    for stage in profile.stages() {
        if !matches!(stage.name.as_str(), "analysis" | "set-up") {
            collect(stage, "solver", &mut bars);
        }
    }
    bars
}

/// Every stage counts with what its inner stages leave of its time.
fn collect(stage: &Stage, place: &str, bars: &mut Vec<Bar>) {
    let level = stage.name.starts_with("level ");
    let place = if level { stage.name.as_str() } else { place };
    let inner: f64 = stage.children.iter().map(|child| child.seconds).sum();
    let name = match (stage.children.is_empty(), level) {
        (true, true) => "coarsest solver",
        (true, false) => stage.name.as_str(),
        _ if stage.name == "solve" => "vectors",
        _ => "other",
    };
    bar_of(place, bars).add(name, (stage.seconds - inner).max(0.0));
    for child in &stage.children {
        collect(child, place, bars);
    }
}

fn bar_of<'b>(label: &str, bars: &'b mut Vec<Bar>) -> &'b mut Bar {
    let known = bars.iter().position(|bar| bar.label == label);
    let place = known.unwrap_or_else(|| {
        let label = label.to_owned();
        let parts = Vec::new();
        bars.push(Bar { label, parts });
        bars.len() - 1
    });
    &mut bars[place]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use vcycle::log::Observer;

    use super::*;

    #[test]
    fn no_time_is_counted_twice() {
        let mut profile = Profile::default();
        let path = ["solve", "preconditioner", "level 0", "level 1"];
        for name in path {
            profile.stage_begins(name);
        }
        for (seconds, name) in (1..).zip(path.iter().rev()) {
            profile.stage_ends(name, Duration::from_secs(seconds), 0);
        }
        let bars = of_solve(&profile);
        let labels: Vec<&str> = bars.iter().map(|bar| bar.label.as_str()).collect();
        assert_eq!(labels, ["solver", "level 0", "level 1"]);
        assert_eq!(bars.iter().map(Bar::seconds).sum::<f64>(), 4.0);
        assert_eq!(bars[2].parts, [("coarsest solver".to_owned(), 1.0)]);
    }
}
