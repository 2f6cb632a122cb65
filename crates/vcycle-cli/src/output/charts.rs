//! Plots of the report, as SVG that takes its size and colours from the page.

use std::error::Error;
use std::fmt::Write;

use plotters::coord::types::RangedCoordusize;
use plotters::prelude::*;
use vcycle::multigrid::LevelFacts;

use super::breakdown::Bar;
use super::format::seconds;
use super::markup::escape;

/// Colours of lines and of stages, in turn.
pub const COLOURS: [RGBColor; 10] = [
    RGBColor(46, 134, 222),
    RGBColor(230, 126, 34),
    RGBColor(39, 154, 103),
    RGBColor(155, 89, 182),
    RGBColor(214, 96, 77),
    RGBColor(22, 160, 173),
    RGBColor(193, 156, 0),
    RGBColor(205, 92, 150),
    RGBColor(110, 120, 140),
    RGBColor(120, 170, 60),
];

const WIDTH: usize = 760;

type Drawn<T> = Result<T, Box<dyn Error>>;
type Plane = Cartesian2d<RangedCoordusize, LogCoord<f64>>;
type Chart<'c, 'b> = ChartContext<'c, SVGBackend<'b>, Plane>;

/// A colour as CSS writes it.
pub fn css(colour: RGBColor) -> String {
    format!("#{:02x}{:02x}{:02x}", colour.0, colour.1, colour.2)
}

/// The residuals over the iterations, and the tolerance; all are positive.
pub fn convergence(residuals: &[f64], tolerance: Option<f64>) -> Drawn<String> {
    let (low, high) = range(residuals.iter().copied().chain(tolerance));
    let last = residuals.len() - 1;
    logarithmic(
        ["iteration", "relative residual"],
        last,
        [low, high],
        |chart| {
            line(chart, residuals.iter().copied().enumerate(), COLOURS[0])?;
            if let Some(tolerance) = tolerance {
                let level = [(0, tolerance), (last, tolerance)];
                line(chart, level.into_iter(), COLOURS[4])?;
            }
            Ok(())
        },
    )
}

/// Rows and entries of every level.
pub fn coarsening(levels: &[LevelFacts]) -> Drawn<String> {
    let rows = levels.iter().map(|level| level.rows.max(1) as f64);
    let entries = levels.iter().map(|level| level.nonzeros.max(1) as f64);
    let (low, high) = range(rows.clone().chain(entries.clone()));
    logarithmic(
        ["level", "number"],
        levels.len() - 1,
        [low, high],
        |chart| {
            dotted(chart, rows.enumerate(), COLOURS[0])?;
            dotted(chart, entries.enumerate(), COLOURS[1])
        },
    )
}

/// Some room below the least and above the most.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    (low / 2.0, high * 2.0)
}

fn logarithmic(
    [x, y]: [&str; 2],
    last: usize,
    [low, high]: [f64; 2],
    draw: impl FnOnce(&mut Chart<'_, '_>) -> Drawn<()>,
) -> Drawn<String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH as u32, 340)).into_drawing_area();
        let mut chart = ChartBuilder::on(&root)
            .margin(8)
            .margin_right(24)
            .x_label_area_size(44)
            .y_label_area_size(76)
            .build_cartesian_2d(0..last, (low..high).log_scale())?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.15))
            .label_style(("sans-serif", 15))
            .axis_desc_style(("sans-serif", 16))
            .x_labels((last + 1).min(11))
            .x_desc(x)
            .y_desc(y)
            .y_label_formatter(&|value| format!("{value:.0e}"))
            .draw()?;
        draw(&mut chart)?;
        root.present()?;
    }
    // Inline SVG needs no namespace.
    Ok(svg.replace(" xmlns=\"http://www.w3.org/2000/svg\"", " class=\"plot\""))
}

fn line(
    chart: &mut Chart<'_, '_>,
    points: impl Iterator<Item = (usize, f64)>,
    colour: RGBColor,
) -> Drawn<()> {
    chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
    Ok(())
}

fn dotted(
    chart: &mut Chart<'_, '_>,
    points: impl Iterator<Item = (usize, f64)> + Clone,
    colour: RGBColor,
) -> Drawn<()> {
    line(chart, points.clone(), colour)?;
    chart.draw_series(points.map(|point| Circle::new(point, 4, colour.filled())))?;
    Ok(())
}

/// What the colours of a plot stand for.
pub fn key<'n>(names: impl IntoIterator<Item = (&'n str, RGBColor)>) -> String {
    let mut key = String::from("<p class=\"key\">");
    for (name, colour) in names {
        let (colour, name) = (css(colour), escape(name));
        let _ = write!(
            key,
            "<span><i style=\"background:{colour}\"></i>{name}</span>"
        );
    }
    key + "</p>"
}

/// Height of a bar with the space to the next one.
const BAR: usize = 26;
/// Where bars begin, and where the longest ends.
const BARS: (usize, usize) = (80, 670);

/// Times as bars, one a row, cut into stages; and the key to the stages.
pub fn bars(bars: &[Bar]) -> String {
    let names = stage_names(bars);
    let longest = bars
        .iter()
        .map(Bar::seconds)
        .fold(f64::MIN_POSITIVE, f64::max);
    let scale = (BARS.1 - BARS.0) as f64 / longest;
    let height = bars.len() * BAR;
    let mut svg = format!(
        "<svg class=\"plot\" role=\"img\" viewBox=\"0 0 {WIDTH} {height}\" font-size=\"14\" font-family=\"sans-serif\">"
    );
    for (row, bar) in bars.iter().enumerate() {
        draw_bar(&mut svg, bar, row * BAR, scale, &names);
    }
    svg += "</svg>";
    let colours = names.iter().enumerate();
    svg + &key(colours.map(|(place, name)| (*name, COLOURS[place % COLOURS.len()])))
}

/// The names of all stages, in the order they first come in.
fn stage_names(bars: &[Bar]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in bars.iter().flat_map(|bar| &bar.parts) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

fn draw_bar(svg: &mut String, bar: &Bar, top: usize, scale: f64, names: &[&str]) {
    let middle = top + BAR / 2 + 5;
    let _ = write!(
        svg,
        "<text x=\"{}\" y=\"{middle}\" text-anchor=\"end\">{}</text>",
        BARS.0 - 8,
        escape(&bar.label)
    );
    let mut x = BARS.0 as f64;
    for (name, time) in &bar.parts {
        let place = names.iter().position(|other| other == name).unwrap_or(0);
        let _ = write!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{}\" width=\"{:.1}\" height=\"{}\" fill=\"{}\"><title>{}: {}</title></rect>",
            top + 3,
            time * scale,
            BAR - 6,
            css(COLOURS[place % COLOURS.len()]),
            escape(name),
            seconds(*time)
        );
        x += time * scale;
    }
    let _ = write!(
        svg,
        "<text x=\"{:.1}\" y=\"{middle}\">{}</text>",
        x + 6.0,
        seconds(bar.seconds())
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::markup::assert_well_formed;

    #[test]
    fn bars_are_as_long_as_their_times_and_every_stage_has_a_key() {
        let bar = |label: &str, times: &[(&str, f64)]| Bar {
            label: label.to_owned(),
            parts: times
                .iter()
                .map(|&(name, time)| (name.to_owned(), time))
                .collect(),
        };
        let svg = bars(&[
            bar("level 0", &[("a", 1.0), ("b < c", 1.0)]),
            bar("level 1", &[("a", 0.5)]),
        ]);
        assert_well_formed(&svg);
        assert_eq!(svg.matches("<rect").count(), 3);
        assert_eq!(svg.matches("width=\"295.0\"").count(), 2);
        assert_eq!(svg.matches("<i ").count(), 2);
    }

    #[test]
    fn a_residual_curve_is_well_formed() {
        let svg = convergence(&[1.0, 1e-3, 1e-9], Some(1e-8)).unwrap();
        assert_well_formed(&svg);
        assert!(svg.contains("#2E86DE") && svg.contains("#D6604D"));
    }
}
