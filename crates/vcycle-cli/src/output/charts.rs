//! Plots of the report, which take their size and colours from the page, and where time goes, by level and stage.

use vcycle::log::{Profile, Stage};
use vcycle::multigrid::{LevelFacts, Report};
use vcycle_plot::{BarRow, COLOURS, Curve, Panel, key, lines};

/// The residuals over the iterations, and the tolerance; all are positive.
pub fn convergence(residuals: Vec<f64>, tolerance: Option<f64>) -> String {
    let count = residuals.len();
    let mut curves = vec![Curve::new("residual", residuals)];
    curves.extend(tolerance.map(|tolerance| {
        let name = format!("tolerance {tolerance:e}");
        Curve::new(&name, vec![tolerance; count])
    }));
    with_key(["iterations", "relative residual"], curves)
}

/// Rows and entries of every level.
pub fn coarsening(levels: &[LevelFacts]) -> String {
    let curve = |name: &str, of: fn(&LevelFacts) -> usize| Curve {
        dotted: true,
        ..Curve::new(name, levels.iter().map(|level| of(level) as f64).collect())
    };
    let curves = vec![
        curve("rows", |level| level.rows),
        curve("nonzeros", |level| level.nonzeros),
    ];
    with_key(["levels", "number"], curves)
}

fn with_key(axes: [&str; 2], curves: Vec<Curve>) -> String {
    let panel = Panel {
        title: String::new(),
        axes: axes.map(str::to_owned),
        curves,
    };
    let names = panel.curves.iter().map(|curve| curve.name.as_str());
    lines(&panel) + &key(names.zip(COLOURS.into_iter().skip(1)))
}

/// The set-up of every level.
pub fn of_setup(report: &Report) -> Vec<BarRow> {
    let levels = report.levels.iter().enumerate().map(|(number, level)| {
        let stages = level.setup.iter();
        let values = stages.map(|time| (time.name.to_owned(), time.seconds));
        bar(format!("level {number}"), values.collect())
    });
    levels.collect()
}

fn bar(name: String, values: Vec<(String, f64)>) -> BarRow {
    BarRow { name, values }
}

/// The iterations: the solver itself, then every level of its preconditioner.
pub fn of_solve(profile: &Profile) -> Vec<BarRow> {
    let mut bars = Vec::new();
    for stage in profile.stages() {
        if !matches!(stage.name.as_str(), "analysis" | "set-up") {
            collect(stage, "solver", &mut bars);
        }
    }
    bars
}

/// Every stage counts with what its inner stages leave of its time.
fn collect(stage: &Stage, place: &str, bars: &mut Vec<BarRow>) {
    let level = stage.name.starts_with("level ");
    let place = if level { stage.name.as_str() } else { place };
    let inner: f64 = stage.children.iter().map(|child| child.seconds).sum();
    let name = match (stage.children.is_empty(), level) {
        (true, true) => "coarsest solver",
        (true, false) => stage.name.as_str(),
        _ if stage.name == "solve" => "vectors",
        _ => "other",
    };
    add(bars, place, name, (stage.seconds - inner).max(0.0));
    for child in &stage.children {
        collect(child, place, bars);
    }
}

/// Adds to the time of a stage in the bar of a place; either is made where it is new.
fn add(bars: &mut Vec<BarRow>, place: &str, stage: &str, seconds: f64) {
    let known = bars.iter().position(|bar| bar.name == place);
    let known = known.unwrap_or_else(|| {
        bars.push(bar(place.to_owned(), Vec::new()));
        bars.len() - 1
    });
    let stages = &mut bars[known].values;
    match stages.iter_mut().find(|(other, _)| other == stage) {
        Some((_, sum)) => *sum += seconds,
        None => stages.push((stage.to_owned(), seconds)),
    }
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
        let labels: Vec<&str> = bars.iter().map(|bar| bar.name.as_str()).collect();
        assert_eq!(labels, ["solver", "level 0", "level 1"]);
        let values = bars.iter().flat_map(|bar| &bar.values);
        assert_eq!(values.map(|(_, time)| time).sum::<f64>(), 4.0);
        assert_eq!(bars[2].values, [("coarsest solver".to_owned(), 1.0)]);
    }
}
