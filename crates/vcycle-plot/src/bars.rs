//! Horizontal bars.

use std::fmt::Write;

use crate::{COLOURS, escape, file, key, number, piece};

/// Narrow enough for letters to be read on a phone.
const WIDTH: f64 = 440.0;
const RIGHT: f64 = 50.0;
/// The width of row labels beside the bars; where one needs more, all stand above theirs.
const LABELS: f64 = 130.0;
/// The width of a letter, about.
const LETTER: f64 = 7.0;
const BAR: f64 = 13.0;
const GAP: f64 = 12.0;
/// A line of the legend.
const LINE: f64 = 20.0;
const BOTTOM: f64 = 34.0;
/// The bars of one row.
#[derive(Clone, Debug)]
pub struct BarRow {
    /// Its label.
    pub name: String,
    /// Series, and its value in this row.
    pub values: Vec<(String, f64)>,
}

/// Bars for every row, with an axis of the quantity and a legend; nothing where there are no values. Series have colours in the
/// order of `first`, then as they come.
pub fn bars(rows: &[BarRow], first: &[&str], title: &str, logarithmic: bool) -> Option<String> {
    let series = series(rows, first);
    let of = |row: &BarRow| -> Vec<Option<f64>> {
        let value = |name: &String| {
            let found = row.values.iter().find(|(who, _)| who == name)?;
            Some(found.1).filter(|value| *value > 0.0 && value.is_finite())
        };
        series.iter().map(value).collect()
    };
    let positive: Vec<f64> = rows.iter().flat_map(of).flatten().collect();
    let most = positive.iter().copied().reduce(f64::max)?;
    let least = positive.iter().copied().reduce(f64::min)?;
    let letters = rows.iter().map(|row| row.name.chars().count()).max()?;
    let labels = match 16.0 + LETTER * letters as f64 <= LABELS {
        true => RowLabels::Beside,
        false => RowLabels::Above,
    };
    let left = labels.left();
    let axis = Axis::new(left, least, most, logarithmic);
    let height = |row: &BarRow| labels.height() + height(&of(row));
    let has_values = |place: &usize| rows.iter().any(|row| of(row)[*place].is_some());
    let shown: Vec<usize> = (0..series.len()).filter(has_values).collect();
    let (legend, lines) = legend(&series, &shown);
    let top = 14.0 + LINE * lines as f64;
    let inner: f64 = rows.iter().map(height).sum();
    let outer = top + inner + BOTTOM;
    let mut svg = file(WIDTH, outer, 12);
    let _ = writeln!(svg, "<title>{}</title>", escape(title));
    svg += &legend;
    for tick in axis.ticks() {
        let (x, low, label) = (axis.place(tick), outer - BOTTOM, number(tick));
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{low}\" stroke=\"#ddd\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            low + 14.0
        );
    }
    let mut y = top;
    for one in rows {
        row(&mut svg, &axis, (&one.name, labels), &of(one), y);
        y += height(one);
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n</svg>",
        (left + WIDTH) / 2.0,
        outer - 4.0,
        escape(&match logarithmic {
            true => format!("{title} (logarithmic)"),
            false => title.to_owned(),
        })
    );
    Some(svg)
}

/// What has bars.
fn series(rows: &[BarRow], first: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = first.iter().map(|&name| name.to_owned()).collect();
    for (who, _) in rows.iter().flat_map(|row| &row.values) {
        if !names.contains(who) {
            names.push(who.clone());
        }
    }
    names
}

/// Of the bars of a row and what is between rows.
fn height(values: &[Option<f64>]) -> f64 {
    BAR * values.iter().flatten().count().max(1) as f64 + GAP
}

/// Where the labels of rows stand.
#[derive(Clone, Copy)]
enum RowLabels {
    Beside,
    Above,
}

impl RowLabels {
    /// Where bars begin.
    fn left(self) -> f64 {
        match self {
            RowLabels::Beside => LABELS,
            RowLabels::Above => 8.0,
        }
    }

    /// What they take above bars.
    fn height(self) -> f64 {
        match self {
            RowLabels::Beside => 0.0,
            RowLabels::Above => BAR,
        }
    }
}

fn row(
    svg: &mut String,
    axis: &Axis,
    (name, labels): (&str, RowLabels),
    values: &[Option<f64>],
    y: f64,
) {
    let (x, at, anchor) = match labels {
        RowLabels::Beside => (axis.left - 8.0, height(values) / 2.0 + 4.0, "end"),
        RowLabels::Above => (axis.left, BAR + 2.0, "start"),
    };
    let _ = writeln!(
        svg,
        "<text x=\"{x}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
        y + at,
        escape(name)
    );
    let y = y + labels.height();
    let bars = values.iter().zip(COLOURS.iter().cycle());
    let bars = bars.filter_map(|(value, colour)| Some((value.as_ref()?, colour)));
    for (place, (&value, colour)) in bars.enumerate() {
        let (end, top) = (axis.place(value), y + GAP / 2.0 + BAR * place as f64);
        let _ = writeln!(
            svg,
            "<rect x=\"{}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{}\" fill=\"{colour}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"10\">{}</text>",
            axis.left,
            (end - axis.left).max(1.0),
            BAR - 1.0,
            end + 4.0,
            top + BAR - 3.0,
            number(value)
        );
    }
}

/// The series that are shown with their colours, in as many lines as it takes.
fn legend(series: &[String], shown: &[usize]) -> (String, usize) {
    let (mut svg, mut x, mut line) = (String::new(), 8.0, 0_u32);
    for &place in shown {
        let (name, colour) = (&series[place], COLOURS[place % COLOURS.len()]);
        let width = 40.0 + LETTER * name.chars().count() as f64;
        if x > 8.0 && x + width > WIDTH {
            (x, line) = (8.0, line + 1);
        }
        let y = 8.0 + LINE * f64::from(line);
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>\
             <text x=\"{}\" y=\"{}\">{}</text>",
            x + 18.0,
            y + 10.0,
            escape(name)
        );
        x += width;
    }
    (svg, line as usize + 1)
}

/// From values to places.
struct Axis {
    left: f64,
    from: f64,
    to: f64,
    logarithmic: bool,
}

impl Axis {
    fn new(left: f64, least: f64, most: f64, logarithmic: bool) -> Self {
        let power = |value: f64| 10_f64.powf(value);
        let (from, to) = match logarithmic {
            true => (
                power((least * 0.999).log10().floor()),
                power((most * 1.001).log10().ceil()),
            ),
            false => (0.0, most),
        };
        Self {
            left,
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
        self.left + (WIDTH - self.left - RIGHT) * share.clamp(0.0, 1.0)
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

/// Height of a stacked bar with the space to the next one.
const STACK: f64 = 26.0;
/// Where stacked bars begin, and where the longest ends, of the width of a page.
const STACKS: (f64, f64) = (80.0, 670.0);
const PAGE: f64 = 760.0;

/// Rows cut into parts, and the key to the parts; `label` writes a value.
pub fn stacked(rows: &[BarRow], label: impl Fn(f64) -> String) -> String {
    let names = series(rows, &[]);
    let colour = |name: &String| {
        let place = names.iter().position(|other| other == name);
        COLOURS[(1 + place.unwrap_or(0)) % COLOURS.len()]
    };
    let sum = |row: &BarRow| row.values.iter().map(|(_, value)| value).sum::<f64>();
    let longest = rows.iter().map(sum).fold(f64::MIN_POSITIVE, f64::max);
    let scale = (STACKS.1 - STACKS.0) / longest;
    let mut svg = piece(PAGE, STACK * rows.len() as f64);
    let (mut top, mut x);
    for (place, row) in rows.iter().enumerate() {
        (top, x) = (STACK * place as f64, STACKS.0);
        let middle = top + STACK / 2.0 + 5.0;
        let _ = write!(
            svg,
            "<text x=\"{}\" y=\"{middle}\" text-anchor=\"end\">{}</text>",
            STACKS.0 - 8.0,
            escape(&row.name)
        );
        for (name, value) in &row.values {
            let _ = write!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{}\" width=\"{:.1}\" height=\"{}\" fill=\"{}\"><title>{}: {}</title></rect>",
                top + 3.0,
                value * scale,
                STACK - 6.0,
                colour(name),
                escape(name),
                label(*value)
            );
            x += value * scale;
        }
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{middle}\">{}</text>",
            x + 6.0,
            label(sum(row))
        );
    }
    let parts = names.iter().map(|name| (name.as_str(), colour(name)));
    svg + "</svg>" + &key(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_have_bars_for_all_an_axis_and_a_legend() {
        let row = |name: &str, values: &[(&str, f64)]| BarRow {
            name: name.to_owned(),
            values: values.iter().map(|of| (of.0.to_owned(), of.1)).collect(),
        };
        let rows = [
            row("a < b", &[("published", 0.02), ("vcycle", 3.0)]),
            row("b", &[("vcycle", 40.0), ("hypre", 5.0), ("none", 0.0)]),
        ];
        for logarithmic in [false, true] {
            let svg = bars(&rows, &["published", "vcycle"], "time, s", logarithmic).unwrap();
            for text in ["a &lt; b", "published", "hypre", "time, s"] {
                assert!(svg.contains(text), "{text}: {svg}");
            }
            // The background, three of the legend, four bars: what has no value is not named.
            assert_eq!(svg.matches("<rect").count(), 1 + 3 + 4);
        }
        let long = ["a", "b", "c"].map(|name| (name.repeat(40), 1.0));
        let rows = [BarRow {
            name: "x".to_owned(),
            values: long.into(),
        }];
        let svg = bars(&rows, &[], "time", false).unwrap();
        assert!(svg.contains("y=\"28\"") && svg.contains("y=\"8\""), "{svg}");
        assert!(bars(&[], &[], "time", false).is_none());
    }

    #[test]
    fn stacked_bars_are_as_long_as_their_values_and_every_part_has_a_key() {
        let row = |name: &str, values: &[(&str, f64)]| BarRow {
            name: name.to_owned(),
            values: values.iter().map(|of| (of.0.to_owned(), of.1)).collect(),
        };
        let rows = [
            row("level 0", &[("a", 1.0), ("b < c", 1.0)]),
            row("level 1", &[("a", 0.5)]),
        ];
        let svg = stacked(&rows, number);
        crate::assert_well_formed(&svg);
        assert_eq!(svg.matches("<rect").count(), 3);
        assert_eq!(svg.matches("width=\"295.0\"").count(), 2);
        assert_eq!(svg.matches("<i ").count(), 2);
    }
}
