//! Residuals of five precisions and strategies, drawn: figure 6 of the paper.

use std::path::Path;

use vcycle::executor::Executor;
use vcycle::multigrid::LevelScaling;
use vcycle_plot::{Curve, Panel, panels};

use super::problem::Problem;
use super::settings::Settings;
use crate::common::Result;
use crate::table::write;

/// Name, precision, strategy and dashes of a curve.
const CURVES: [(&str, &str, LevelScaling, &str); 5] = [
    ("Full64", "K64P64D64", LevelScaling::Auto, ""),
    ("K64P32D32", "K64P32D32", LevelScaling::Auto, "6 3"),
    ("K64P32D16 none", "K64P32D16", LevelScaling::None, "2 2"),
    (
        "K64P32D16 scale-then-setup",
        "K64P32D16",
        LevelScaling::ScaleThenSetup,
        "8 2 2 2",
    ),
    (
        "K64P32D16 setup-then-scale",
        "K64P32D16",
        LevelScaling::Auto,
        "3 3",
    ),
];

/// Solves all problems in all ways, prints the iterations and writes the picture.
pub(super) fn run(settings: &Settings, executor: &Executor, file: &Path) -> Result<()> {
    let mut all = Vec::new();
    for name in settings.asked.list("PROBLEM") {
        let problem = Problem::new(executor, name)?;
        let mut curves = Vec::new();
        for (title, precision, scaling, dashes) in CURVES {
            let mut parameters = settings.multigrid(precision)?;
            parameters.scaling = scaling;
            let solved = problem.solved(settings, &parameters);
            let residuals = match solved {
                Ok(residuals) => residuals,
                Err(why) => {
                    say!("{name}: {title}: {why}");
                    Vec::new()
                }
            };
            if let Some(last) = residuals.last() {
                let end = if *last <= settings.rtol {
                    ""
                } else {
                    ", not converged"
                };
                let count = residuals.len() - 1;
                say!("{name}: {title}: {count} iterations to {last:.1e}{end}");
            }
            curves.push(Curve {
                dashes: dashes.to_owned(),
                ..Curve::new(title, residuals)
            });
        }
        all.push(Panel {
            title: problem.family().to_owned(),
            axes: ["iterations", ""].map(str::to_owned),
            curves,
        });
    }
    write(file, &panels(&all))
}
