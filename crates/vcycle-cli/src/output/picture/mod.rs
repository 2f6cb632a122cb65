//! The coarsening of a problem in the plane, as a picture.

mod groups;
mod lattice;

use std::fmt::Write;
use std::io::Write as _;

use vcycle::linop::LinOp;
use vcycle::multigrid::{Amg, CoarseMaps};
use vcycle_plot::escape;

use self::groups::Key;
use self::lattice::Lattice;
use super::format::count;
use super::write_file;
use crate::input::Source;
use crate::prelude::*;

/// The longer side of what is drawn, in pixels.
const SIDE: f64 = 720.0;
const MARGIN: f64 = 16.0;
/// Width of the key beside it.
const KEY: f64 = 250.0;
/// Height of a line of the key.
const LINE: f64 = 24.0;
/// More cannot be told apart.
const MOST_POINTS: usize = 250_000;
/// Of unknowns by the coarsest level they are on.
const DEPTHS: [&str; 7] = [
    "#c3c9d2", "#7fb8de", "#2e86de", "#1b4f9c", "#f0a04b", "#d9552c", "#7d1d2d",
];

/// Coarsens and writes the picture.
pub fn write<T: Wide>(path: &Path, amg: &Amg, source: &Source, a: &Arc<Csr<T>>) -> Result<()> {
    let points = drawable(source)?;
    let a: Arc<dyn LinOp<T>> = Arc::clone(a) as _;
    let maps = amg.coarse_maps(&a, &Workspace::new())?;
    if maps.maps.is_empty() {
        let rows = count(points.len());
        return Err(refused(format!(
            "nothing is coarsened: {rows} unknowns make one level; take a larger problem"
        )));
    }
    let svg = svg(&source.name, points, &maps);
    write_file(path, |out| out.write_all(svg.as_bytes()))
}

/// The points of a system, if they can be drawn.
pub fn drawable(source: &Source) -> Result<&[[f64; 2]]> {
    let points = source.plane.as_deref().ok_or_else(|| {
        let why = "is no problem of the gallery in the plane, like poisson5:40, aniso5:40,0.01 or lshape:o1,l4";
        refused(format!("{} {why}", source.name))
    })?;
    if points.len() > MOST_POINTS {
        let [found, most] = [points.len(), MOST_POINTS].map(count);
        let reason = format!("{found} points are too many for a picture, at most {most} are drawn");
        return Err(refused(reason));
    }
    Ok(points)
}

fn refused(reason: String) -> CliError {
    CliError::option("--plot-coarsening", reason)
}

/// The picture: points, larger the further down they are found, or groups of cells.
fn svg(name: &str, points: &[[f64; 2]], maps: &CoarseMaps) -> String {
    let lattice = Lattice::new(points, SIDE);
    let (drawing, key) = match maps.grouped {
        true => groups::draw(&lattice, maps),
        false => draw_points(&lattice, maps),
    };
    let [width, height] = lattice.size();
    let (full_width, key_left) = (width + KEY + 2.0 * MARGIN, width + 2.0 * MARGIN);
    let full_height = height.max(LINE * (key.len() + 1) as f64) + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {full_width:.0} {full_height:.0}\" \
         width=\"{full_width:.0}\" height=\"{full_height:.0}\" font-family=\"sans-serif\" font-size=\"15\">\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\
         <g transform=\"translate({MARGIN} {MARGIN})\">{drawing}</g>\
         <g transform=\"translate({key_left:.0} {MARGIN})\"><text y=\"14\" font-weight=\"bold\">{}</text>",
        escape(name)
    );
    for (line, (sign, text)) in key.iter().enumerate() {
        let y = LINE * (line + 1) as f64;
        let _ = write!(
            svg,
            "<g transform=\"translate(0 {y})\">{sign}<text x=\"36\" y=\"14\">{text}</text></g>"
        );
    }
    svg + "</g></svg>\n"
}

fn draw_points(lattice: &Lattice, maps: &CoarseMaps) -> (String, Key) {
    let depths = maps.depths();
    let deepest = depths.iter().copied().max().unwrap_or(0);
    let (mut drawing, mut key) = (String::new(), Key::new());
    for depth in 0..=deepest {
        let diameter = lattice.spacing() * (0.3 + 0.28 * depth as f64).min(1.7);
        let colour = DEPTHS[depth.min(DEPTHS.len() - 1)];
        let rows = (0..depths.len()).filter(|&row| depths[row] == depth);
        let mut path = String::new();
        for [x, y] in rows.clone().map(|row| lattice.point(row)) {
            let _ = write!(path, "M{x:.1} {y:.1}h0");
        }
        let _ = write!(
            drawing,
            "<path class=\"points\" d=\"{path}\" stroke=\"{colour}\" stroke-width=\"{diameter:.2}\" stroke-linecap=\"round\"/>"
        );
        let radius = 2.5 + 1.2 * depth.min(6) as f64;
        let sign = format!("<circle cx=\"14\" cy=\"9\" r=\"{radius:.1}\" fill=\"{colour}\"/>");
        let words = match depth {
            0 => "fine only".to_owned(),
            _ => format!("down to level {depth}"),
        };
        key.push((sign, format!("{words}: {}", count(rows.count()))));
    }
    (drawing, key)
}

#[cfg(test)]
mod tests {
    use vcycle::gallery;

    use super::*;
    use vcycle_plot::assert_well_formed;

    fn picture(spec: &str, amg: &str) -> (usize, String) {
        let problem = gallery::build(spec, &Executor::reference()).unwrap();
        let vcycle::config::PreconditionerConfig::Amg(amg) = amg.parse().unwrap() else {
            panic!("multigrid expected");
        };
        let ws = Workspace::new();
        let a: Arc<dyn LinOp<f64>> = Arc::new(problem.matrix.clone());
        let maps = amg.coarse_maps(&a, &ws).unwrap();
        let points = problem.plane().unwrap();
        (points.len(), svg(&problem.name, &points, &maps))
    }

    #[test]
    fn every_point_is_drawn_once() {
        for spec in ["poisson5:24x16", "aniso5:20,0.01,30", "lshape:o2,l3"] {
            let (count, svg) = picture(spec, "amg:pmis,coarsest-rows=10");
            assert_well_formed(&svg);
            assert_eq!(svg.matches("h0").count(), count, "{spec}");
            assert!(svg.contains("fine only") && svg.contains("down to level 2"));
        }
    }

    #[test]
    fn every_cell_of_a_group_is_drawn_once() {
        for amg in ["amg:pgm,coarsest-rows=10", "amg:sa,coarsest-rows=4"] {
            let (count, svg) = picture("poisson5:24x16", amg);
            assert_well_formed(&svg);
            let cells = svg.matches("zM").count() + svg.matches("z\"").count();
            assert_eq!(cells, count, "{amg}");
            assert!(svg.contains("groups of level 1"));
        }
    }
}
