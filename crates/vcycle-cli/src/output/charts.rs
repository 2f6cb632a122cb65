//! Plots of the report, which take their size and colours from the page.

use vcycle::multigrid::LevelFacts;
use vcycle_plot::{BarRow, COLOURS, Curve, Panel, key, lines, stacked};

use super::format::seconds;

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

/// Times as bars, one a row, cut into stages; and the key to the stages.
pub fn bars(bars: &[BarRow]) -> String {
    stacked(bars, seconds)
}
