//! The HTML report: one file, nothing loaded from elsewhere.

use std::fmt::Write;
use std::time::Duration;

use plotters::prelude::*;
use vcycle::log::Profile;
use vcycle::matrix::Facts;

use super::format::{bytes, count, duration};
use super::summary::Summary;
use crate::commands::info::fact_rows;

/// What the report is made of.
pub struct Report<'r> {
    pub summary: &'r Summary,
    pub facts: &'r Facts,
    pub profile: &'r Profile,
    /// The picture of the matrix, SVG.
    pub spy: String,
    /// The tolerance on the relative residual, for a line in the plot.
    pub tolerance: Option<f64>,
}

impl Report<'_> {
    /// The whole page.
    pub fn html(&self) -> String {
        let title = escape(&self.summary.problem);
        let body = [
            self.headline(),
            section("Summary", &rows(self.summary_rows())),
            section("Convergence", &self.convergence()),
            section("Time", &self.profile_table()),
            section("Matrix", &self.matrix()),
            section("Configuration", &self.configuration()),
        ]
        .concat();
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <title>vcycle: {title}</title><style>{STYLE}</style></head>\
             <body><main>{body}</main></body></html>\n"
        )
    }

    fn headline(&self) -> String {
        let summary = self.summary;
        let (class, advice) = match summary.status {
            "converged" => ("good", String::new()),
            _ => ("bad", format!("<p>{}</p>", escape(summary.explanation))),
        };
        let plural = if summary.iterations == 1 { "" } else { "s" };
        format!(
            "<header><h1>{}</h1><p class=\"{class}\">{}</p>{advice}\
             <p>{} iteration{plural}, relative residual {:.3e}, {} set-up, {} solve</p></header>",
            escape(&summary.problem),
            summary.status,
            count(summary.iterations),
            summary.relative_residual,
            seconds(summary.setup_seconds),
            seconds(summary.solve_seconds)
        )
    }

    fn summary_rows(&self) -> Vec<(&'static str, String)> {
        let s = self.summary;
        let mut rows = vec![
            ("solver", s.config.solver.name().to_owned()),
            ("preconditioner", s.config.preconditioner.name().to_owned()),
            ("precision", s.config.precision.to_string()),
            ("device", format!("{}, {} threads", s.device, s.threads)),
            (
                "true relative residual",
                format!("{:.6e}", s.relative_residual),
            ),
            (
                "residual by recurrence",
                format!("{:.6e}", s.recurrence_residual),
            ),
            ("reading", seconds(s.read_seconds)),
            ("set-up", seconds(s.setup_seconds)),
            ("solve", seconds(s.solve_seconds)),
            ("matrix and preconditioner", bytes(s.bytes)),
        ];
        rows.extend(s.peak_memory_bytes.map(|peak| ("peak memory", bytes(peak))));
        rows.extend(s.messages.iter().map(|m| ("note", m.clone())));
        rows
    }

    fn convergence(&self) -> String {
        let residuals: Vec<f64> = self
            .summary
            .history
            .iter()
            .copied()
            .filter(|residual| residual.is_finite() && *residual > 0.0)
            .collect();
        if residuals.len() < 2 {
            return "<p>No iteration to show.</p>".to_owned();
        }
        match convergence_svg(&residuals, self.tolerance) {
            Ok(svg) => for_this_page(&svg) + &self.key(),
            Err(error) => format!("<p>No plot: {}</p>", escape(&error.to_string())),
        }
    }

    /// What the lines of the plot are.
    fn key(&self) -> String {
        let tolerance = self.tolerance.filter(|tolerance| *tolerance > 0.0);
        let tolerance = tolerance.map_or(String::new(), |tolerance| {
            format!("<i class=\"tolerance\"></i>tolerance {tolerance:e}")
        });
        format!("<p class=\"key\"><i></i>residual{tolerance}</p>")
    }

    fn profile_table(&self) -> String {
        let rows = self.profile.rows();
        let total: f64 = self
            .profile
            .stages()
            .iter()
            .map(|stage| stage.seconds)
            .sum();
        let mut table = String::from(
            "<table><tr><th>stage</th><th class=\"n\">calls</th><th class=\"n\">time</th>\
             <th class=\"n\">GB/s</th><th></th></tr>",
        );
        for (depth, stage) in rows {
            let share = 100.0 * stage.seconds / total.max(f64::MIN_POSITIVE);
            let bandwidth = stage.bandwidth().map_or("–".into(), |b| format!("{b:.1}"));
            let _ = write!(
                table,
                "<tr><td style=\"padding-left:{:.1}em\">{}</td><td class=\"n\">{}</td>\
                 <td class=\"n\">{}</td><td class=\"n\">{bandwidth}</td>\
                 <td class=\"bar\"><i style=\"width:{share:.1}%\"></i></td></tr>",
                0.6 + 1.4 * depth as f64,
                escape(&stage.name),
                count(stage.calls),
                seconds(stage.seconds)
            );
        }
        table + "</table>"
    }

    fn matrix(&self) -> String {
        let facts = fact_rows(self.facts);
        format!("<div class=\"side\">{}{}</div>", rows(facts), self.spy)
    }

    fn configuration(&self) -> String {
        format!("<pre>{}</pre>", escape(&self.summary.config.to_toml()))
    }
}

fn section(title: &str, content: &str) -> String {
    format!("<section><h2>{title}</h2>{content}</section>")
}

fn rows(rows: Vec<(&'static str, String)>) -> String {
    let lines: String = rows
        .iter()
        .map(|(name, value)| format!("<tr><th>{name}</th><td>{}</td></tr>", escape(value)))
        .collect();
    format!("<table class=\"facts\">{lines}</table>")
}

fn seconds(value: f64) -> String {
    duration(Duration::from_secs_f64(value))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Inline SVG needs no namespace, and takes the size and colours of the page.
fn for_this_page(svg: &str) -> String {
    svg.replace(" xmlns=\"http://www.w3.org/2000/svg\"", " class=\"plot\"")
}

fn convergence_svg(
    residuals: &[f64],
    tolerance: Option<f64>,
) -> Result<String, Box<dyn std::error::Error>> {
    let lowest = residuals
        .iter()
        .copied()
        .chain(tolerance.filter(|t| *t > 0.0));
    let lowest = lowest.fold(f64::MAX, f64::min) / 2.0;
    let highest = residuals.iter().copied().fold(f64::MIN, f64::max) * 2.0;
    let last = residuals.len() - 1;
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (760, 340)).into_drawing_area();
        let mut chart = ChartBuilder::on(&root)
            .margin(8)
            .margin_right(24)
            .x_label_area_size(44)
            .y_label_area_size(76)
            .build_cartesian_2d(0..last, (lowest..highest).log_scale())?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.15))
            .label_style(("sans-serif", 15))
            .axis_desc_style(("sans-serif", 16))
            .x_desc("iteration")
            .y_desc("relative residual")
            .y_label_formatter(&|value| format!("{value:.0e}"))
            .draw()?;
        let points = residuals.iter().copied().enumerate();
        let line = RGBColor(46, 134, 222).stroke_width(2);
        chart.draw_series(LineSeries::new(points, line))?;
        if let Some(tolerance) = tolerance.filter(|t| *t > 0.0) {
            let level = [(0, tolerance), (last, tolerance)];
            chart.draw_series(LineSeries::new(
                level,
                RGBColor(214, 96, 77).stroke_width(1),
            ))?;
        }
        root.present()?;
    }
    Ok(svg)
}

const STYLE: &str = "\
:root{color-scheme:light dark;--soft:#8883;--accent:#2e86de}\
body{font:16px/1.5 system-ui,sans-serif;margin:0;background:Canvas;color:CanvasText}\
main{max-width:60rem;margin:2rem auto;padding:0 1rem}\
h1{font-size:1.6rem;margin:0;overflow-wrap:anywhere}h2{font-size:1.1rem;margin:2rem 0 .5rem}\
header p{margin:.3rem 0}\
.good,.bad{display:inline-block;padding:.1rem .7rem;border-radius:1rem;color:#fff;font-weight:600}\
.good{background:#1b8a4b}.bad{background:#b3402e}\
table{border-collapse:collapse;width:100%}\
th,td{text-align:left;padding:.25rem .6rem;border-bottom:1px solid var(--soft);vertical-align:top}\
table.facts th{width:14rem;font-weight:500;opacity:.8}\
th.n,td.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\
td.bar{width:35%;padding-left:1.5rem;vertical-align:middle}td.bar i{display:block;height:.9em;background:var(--accent);border-radius:2px}\
.side{display:grid;grid-template-columns:1fr 20rem;gap:2rem;align-items:start}\
@media(max-width:45rem){.side{grid-template-columns:1fr}}\
svg.plot{width:100%;height:auto}svg.spy{width:100%;box-sizing:border-box;border:1px solid var(--soft)}\
svg.plot text{fill:CanvasText}svg.plot [stroke=\"#000000\"]{stroke:CanvasText}\
.key{margin:0;text-align:center;font-size:.9rem}\
.key i{display:inline-block;width:1.5rem;height:2px;margin:0 .4rem 0 1.2rem;vertical-align:middle;background:var(--accent)}\
.key i.tolerance{background:#d6604d}\
pre{background:var(--soft);padding:1rem;border-radius:6px;overflow:auto}";
