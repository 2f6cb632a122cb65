//! Bars: what was published beside ours.

use std::fmt::Write;

use super::summary::{Line, number};

const WIDTH: f64 = 640.0;
const LEFT: f64 = 170.0;
const RIGHT: f64 = 60.0;
const BAR: f64 = 14.0;
const GAP: f64 = 12.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 34.0;
const COLOURS: [&str; 2] = ["#9aa5b1", "#2f6fb5"];

/// Horizontal bars for every row, with an axis of the quantity; nothing where there are no values.
pub(super) fn bars(lines: &[Line], title: &str, logarithmic: bool) -> Option<String> {
    let both = |line: &Line| [line.published, line.ours];
    let values = lines.iter().flat_map(both).flatten();
    let positive: Vec<f64> = values
        .filter(|value| *value > 0.0 && value.is_finite())
        .collect();
    let most = positive.iter().copied().reduce(f64::max)?;
    let least = positive.iter().copied().reduce(f64::min)?;
    let axis = Axis::new(least, most, logarithmic);
    let height = TOP + lines.len() as f64 * (2.0 * BAR + GAP) + BOTTOM;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>{}</title>\n",
        escape(title)
    );
    legend(&mut svg);
    for tick in axis.ticks() {
        let x = axis.place(tick);
        let (low, label) = (height - BOTTOM, number(tick));
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{low}\" stroke=\"#ddd\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            low + 14.0
        );
    }
    for (place, line) in lines.iter().enumerate() {
        let y = TOP + place as f64 * (2.0 * BAR + GAP) + GAP / 2.0;
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            y + BAR + 4.0,
            escape(&line.row)
        );
        for ((value, colour), shift) in both(line).into_iter().zip(COLOURS).zip([0.0, BAR]) {
            let Some(value) = value.filter(|value| *value > 0.0) else {
                continue;
            };
            let (end, top) = (axis.place(value), y + shift);
            let _ = writeln!(
                svg,
                "<rect x=\"{LEFT}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{}\" fill=\"{colour}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"10\">{}</text>",
                (end - LEFT).max(1.0),
                BAR - 1.0,
                end + 4.0,
                top + BAR - 4.0,
                number(value)
            );
        }
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n</svg>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        height - 4.0,
        escape(title)
    );
    Some(svg)
}

fn legend(svg: &mut String) {
    for ((name, colour), x) in ["published", "vcycle"]
        .into_iter()
        .zip(COLOURS)
        .zip([LEFT, LEFT + 110.0])
    {
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"8\" width=\"12\" height=\"12\" fill=\"{colour}\"/>\
             <text x=\"{}\" y=\"18\">{name}</text>",
            x + 18.0
        );
    }
}

/// From values to places.
struct Axis {
    from: f64,
    to: f64,
    logarithmic: bool,
}

impl Axis {
    fn new(least: f64, most: f64, logarithmic: bool) -> Self {
        let power = |value: f64| 10_f64.powf(value);
        let (from, to) = match logarithmic {
            true => (
                power((least * 0.999).log10().floor()),
                power((most * 1.001).log10().ceil()),
            ),
            false => (0.0, most),
        };
        Self {
            from,
            to,
            logarithmic,
        }
    }

    fn place(&self, value: f64) -> f64 {
        let share = match self.logarithmic {
            true => (value / self.from).ln() / (self.to / self.from).ln(),
            false => (value - self.from) / (self.to - self.from),
        };
        LEFT + (WIDTH - LEFT - RIGHT) * share.clamp(0.0, 1.0)
    }

    fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let (first, last) = (
                self.from.log10().round() as i32,
                self.to.log10().round() as i32,
            );
            return (first..=last)
                .map(|exponent| 10_f64.powi(exponent))
                .collect();
        }
        let rough = self.to / 5.0;
        let unit = 10_f64.powf(rough.log10().floor());
        let nice = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * unit);
        let step = nice
            .into_iter()
            .find(|step| *step >= rough)
            .unwrap_or(rough);
        let count = (self.to / step).floor() as usize;
        (0..=count).map(|number| number as f64 * step).collect()
    }
}

/// The text with its special characters written out.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
