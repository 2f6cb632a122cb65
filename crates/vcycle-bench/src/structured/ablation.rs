//! Residuals of five precisions and strategies, drawn: figure 6 of the paper.

use std::fmt::Write;
use std::path::Path;

use vcycle::executor::Executor;
use vcycle::multigrid::LevelScaling;

use super::args::StructuredArgs;
use super::problem::Problem;
use crate::common::{Result, write};

/// Name, precision, strategy, colour and dashes of a curve.
const CURVES: [(&str, &str, LevelScaling, &str, &str); 5] = [
    ("Full64", "K64P64D64", LevelScaling::Auto, "#222222", ""),
    (
        "K64P32D32",
        "K64P32D32",
        LevelScaling::Auto,
        "#0072b2",
        "6 3",
    ),
    (
        "K64P32D16 none",
        "K64P32D16",
        LevelScaling::None,
        "#e69f00",
        "2 2",
    ),
    (
        "K64P32D16 scale-then-setup",
        "K64P32D16",
        LevelScaling::ScaleThenSetup,
        "#cc3311",
        "8 2 2 2",
    ),
    (
        "K64P32D16 setup-then-scale",
        "K64P32D16",
        LevelScaling::Auto,
        "#009e73",
        "3 3",
    ),
];
/// Pixels of a panel, and around it.
const PANEL: [f64; 2] = [240.0, 200.0];
const LEFT: f64 = 50.0;
const TOP: f64 = 30.0;
const GAP: [f64; 2] = [50.0, 60.0];
/// Panels beside each other.
const ROW: usize = 3;

/// The residuals of a curve, relative to the right-hand side, or why there are none.
pub(crate) type History = std::result::Result<Vec<f64>, String>;

/// Solves all problems in all ways, prints the iterations and writes the picture.
pub(super) fn run(arguments: &StructuredArgs, executor: &Executor, file: &Path) -> Result<()> {
    let mut panels = String::new();
    for (number, name) in arguments.problems.iter().enumerate() {
        let problem = Problem::new(executor, name)?;
        let histories: Vec<History> = CURVES
            .iter()
            .map(|&(_, precision, scaling, ..)| history(arguments, &problem, precision, scaling))
            .collect();
        for ((title, ..), history) in CURVES.iter().zip(&histories) {
            say!("{name}: {title}: {}", in_words(history, arguments.rtol));
        }
        panels.push_str(&panel(number, &problem, &histories, arguments.rtol));
    }
    write(file, &picture(arguments.problems.len(), &panels))
}

pub(super) fn history(
    arguments: &StructuredArgs,
    problem: &Problem,
    precision: &str,
    scaling: LevelScaling,
) -> History {
    let solved = || -> Result<Vec<f64>> {
        let mut parameters = arguments.multigrid(precision)?;
        parameters.scaling = scaling;
        Ok(problem.solved(arguments, &parameters)?.1)
    };
    solved().map_err(|error| error.to_string())
}

fn in_words(history: &History, rtol: f64) -> String {
    match history {
        Err(why) => why.clone(),
        Ok(residuals) => {
            let last = residuals.last().copied().unwrap_or(f64::NAN);
            let end = if last <= rtol { "" } else { ", not converged" };
            format!(
                "{} iterations to {last:.1e}{end}",
                residuals.len().saturating_sub(1)
            )
        }
    }
}

fn picture(count: usize, panels: &str) -> String {
    let rows = count.div_ceil(ROW);
    let width = LEFT + ROW as f64 * (PANEL[0] + GAP[0]);
    let height = TOP + rows as f64 * (PANEL[1] + GAP[1]) + 20.0 * CURVES.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n{panels}"
    );
    for (number, (title, _, _, colour, dashes)) in CURVES.iter().enumerate() {
        let y = height - 20.0 * (CURVES.len() - number) as f64 + 5.0;
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{y}\" y2=\"{y}\" stroke=\"{colour}\" \
             stroke-width=\"2\" stroke-dasharray=\"{dashes}\"/>\
             <text x=\"{}\" y=\"{}\">{title}</text>",
            LEFT + 40.0,
            LEFT + 48.0,
            y + 4.0
        );
    }
    svg + "</svg>\n"
}

/// One problem: iterations to the right, powers of ten upwards.
fn panel(number: usize, problem: &Problem, histories: &[History], rtol: f64) -> String {
    let known = || histories.iter().flatten();
    let most = known().map(Vec::len).max().unwrap_or(2).max(2) - 1;
    let highest = known().flatten().copied().filter(|norm| norm.is_finite());
    let top = highest.fold(1.0, f64::max).log10().ceil();
    let bottom = rtol.log10().floor();
    let x0 = LEFT + (number % ROW) as f64 * (PANEL[0] + GAP[0]);
    let y0 = TOP + (number / ROW) as f64 * (PANEL[1] + GAP[1]);
    let x = |iteration: usize| x0 + PANEL[0] * iteration as f64 / most as f64;
    let y = |norm: f64| {
        let share = (top - norm.log10()) / (top - bottom);
        y0 + PANEL[1] * share.clamp(0.0, 1.0)
    };
    let mut svg = format!(
        "<rect x=\"{x0}\" y=\"{y0}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#888\"/>\n\
         <text x=\"{x0}\" y=\"{}\" font-weight=\"bold\">{}</text>\n\
         <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{most} iterations</text>\n",
        PANEL[0],
        PANEL[1],
        y0 - 6.0,
        problem.family(),
        x0 + PANEL[0],
        y0 + PANEL[1] + 14.0
    );
    for exponent in [top, 0.0, bottom] {
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">1e{exponent}</text>",
            x0 - 4.0,
            y(10_f64.powf(exponent)) + 4.0
        );
    }
    for ((_, _, _, colour, dashes), history) in CURVES.iter().zip(histories) {
        let points = history.iter().flatten().enumerate();
        let points: Vec<String> = points
            .filter(|(_, norm)| norm.is_finite())
            .map(|(iteration, &norm)| format!("{:.1},{:.1}", x(iteration), y(norm)))
            .collect();
        let _ = writeln!(
            svg,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" \
             stroke-dasharray=\"{dashes}\" points=\"{}\"/>",
            points.join(" ")
        );
    }
    svg
}
