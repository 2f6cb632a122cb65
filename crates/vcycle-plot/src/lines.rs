//! Lines over a logarithmic axis.

use std::fmt::Write;

use crate::{COLOURS, escape, file, piece};

/// A line: its points have the numbers 0, 1, 2 .. to the right.
#[derive(Clone, Debug)]
pub struct Curve {
    /// What it is.
    pub name: String,
    /// The values; those that are not positive are left out.
    pub values: Vec<f64>,
    /// Dashes as SVG writes them; none for a whole line.
    pub dashes: String,
    /// Whether points are marked.
    pub dotted: bool,
}

impl Curve {
    /// A whole line.
    pub fn new(name: &str, values: Vec<f64>) -> Self {
        Self {
            name: name.to_owned(),
            values,
            dashes: String::new(),
            dotted: false,
        }
    }
}

/// Curves in a frame.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Above the frame.
    pub title: String,
    /// What is counted to the right, and what is shown upwards.
    pub axes: [String; 2],
    /// One colour after the other.
    pub curves: Vec<Curve>,
}

/// Where a frame is, and how large.
struct Frame {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

/// At most so many labels upwards.
const LABELS: i32 = 8;

impl Panel {
    fn draw(&self, svg: &mut String, frame: &Frame) {
        let Frame {
            x,
            y,
            width,
            height,
        } = frame;
        let values = || self.curves.iter().flat_map(|curve| &curve.values);
        let positive = || {
            values()
                .copied()
                .filter(|value| *value > 0.0 && value.is_finite())
        };
        let power = |value: f64| value.log10();
        let top = positive().map(power).fold(f64::MIN, f64::max).ceil();
        let bottom = positive().map(power).fold(f64::MAX, f64::min).floor();
        let (top, bottom) = (top.max(bottom + 1.0), bottom);
        let longest = self.curves.iter().map(|curve| curve.values.len()).max();
        let last = longest.unwrap_or(2).max(2) - 1;
        let right = |place: usize| x + width * place as f64 / last as f64;
        let up = |value: f64| y + height * ((top - power(value)) / (top - bottom)).clamp(0.0, 1.0);
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"none\" stroke=\"#888\"/>\
             <text x=\"{x}\" y=\"{}\" font-weight=\"bold\">{}</text>",
            y - 6.0,
            escape(&self.title)
        );
        let step = ((top - bottom) as i32 / LABELS).max(0) + 1;
        for exponent in (bottom as i32..=top as i32).rev().step_by(step as usize) {
            let at = up(10_f64.powi(exponent));
            let _ = writeln!(
                svg,
                "<line x1=\"{x}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#8884\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">1e{exponent}</text>",
                x + width,
                x - 4.0,
                at + 4.0
            );
        }
        let below = y + height + 16.0;
        let [across, upwards] = self.axes.each_ref().map(|axis| escape(axis));
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{below}\">0</text>\
             <text x=\"{}\" y=\"{below}\" text-anchor=\"end\">{last} {across}</text>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{upwards}</text>",
            x + width,
            x + width,
            y - 6.0
        );
        for (curve, colour) in self.curves.iter().zip(COLOURS.iter().skip(1).cycle()) {
            let shown = curve.values.iter().enumerate();
            let shown = shown.filter(|(_, value)| **value > 0.0 && value.is_finite());
            let points: Vec<(f64, f64)> = shown
                .map(|(place, value)| (right(place), up(*value)))
                .collect();
            let path: Vec<String> = points
                .iter()
                .map(|(x, y)| format!("{x:.1},{y:.1}"))
                .collect();
            let _ = writeln!(
                svg,
                "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{}\" points=\"{}\"/>",
                curve.dashes,
                path.join(" ")
            );
            for (x, y) in points.iter().filter(|_| curve.dotted) {
                let _ = writeln!(
                    svg,
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>"
                );
            }
        }
    }
}

/// A piece of a page: one panel, without a key.
pub fn lines(panel: &Panel) -> String {
    let mut svg = piece(760.0, 340.0);
    let frame = Frame {
        x: 60.0,
        y: 24.0,
        width: 680.0,
        height: 290.0,
    };
    panel.draw(&mut svg, &frame);
    svg + "</svg>"
}

/// Panels beside each other.
const ROW: usize = 3;

/// A file: panels in rows, and below them the key to the curves of the first.
pub fn panels(panels: &[Panel]) -> String {
    let key = panels.first().map_or(&[][..], |panel| &panel.curves);
    let rows = panels.len().div_ceil(ROW);
    let width = 50.0 + 290.0 * ROW as f64;
    let height = 30.0 + 260.0 * rows as f64 + 20.0 * key.len() as f64;
    let mut svg = file(width, height, 11);
    for (number, panel) in panels.iter().enumerate() {
        let frame = Frame {
            x: 50.0 + 290.0 * (number % ROW) as f64,
            y: 30.0 + 260.0 * (number / ROW) as f64,
            width: 240.0,
            height: 200.0,
        };
        panel.draw(&mut svg, &frame);
    }
    for (number, (curve, colour)) in key.iter().zip(COLOURS.iter().skip(1).cycle()).enumerate() {
        let y = height - 20.0 * (key.len() - number) as f64 + 5.0;
        let (dashes, name) = (&curve.dashes, escape(&curve.name));
        let _ = writeln!(
            svg,
            "<line x1=\"50\" x2=\"90\" y1=\"{y}\" y2=\"{y}\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\"/>\
             <text x=\"98\" y=\"{}\">{name}</text>",
            y + 4.0
        );
    }
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_have_colours_and_panels_a_key() {
        let panel = Panel {
            title: "a < b".to_owned(),
            axes: ["iterations", "residual"].map(str::to_owned),
            curves: vec![
                Curve::new("one", vec![1.0, 1e-3, 1e-9]),
                Curve::new("other", vec![1.0, f64::NAN, 0.0]),
            ],
        };
        let svg = lines(&panel);
        crate::assert_well_formed(&svg);
        assert!(svg.contains("1e-8") && svg.contains(COLOURS[1]) && svg.contains(COLOURS[2]));
        assert!(!svg.contains("NaN"));
        let both = panels(&[panel.clone(), panel]);
        crate::assert_well_formed(&both);
        assert_eq!(both.matches("<polyline").count(), 4);
        assert_eq!(both.matches(">other<").count(), 1);
        crate::assert_well_formed(&panels(&[]));
    }
}
