//! The HTML report: one file, nothing loaded from elsewhere.

use std::fmt::Write;

use vcycle::log::Profile;
use vcycle::matrix::Facts;
use vcycle::multigrid;
use vcycle_plot::{BarRow, escape};

use super::charts;
use super::facts;
use super::format::{bytes, count, seconds};
use super::summary::Summary;

/// What the report is made of.
pub struct HtmlReport<'r> {
    pub summary: &'r Summary,
    pub facts: &'r Facts,
    pub profile: &'r Profile,
    /// The picture of the matrix, SVG.
    pub spy: String,
    /// The tolerance on the relative residual, for a line in the plot.
    pub tolerance: Option<f64>,
}

impl HtmlReport<'_> {
    /// The whole page.
    pub fn html(&self) -> String {
        let title = escape(&self.summary.problem);
        let body = [
            self.headline(),
            section("Summary", &rows(self.summary_rows())),
            section("Convergence", &self.convergence()),
            self.hierarchy(),
            section("Time", &self.time()),
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
            _ => ("bad", format!("<p>{}</p>", escape(&summary.explanation))),
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
            (
                "precision",
                s.config.precision.unwrap_or_default().to_string(),
            ),
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
        let tolerance = self.tolerance.filter(|tolerance| *tolerance > 0.0);
        charts::convergence(residuals, tolerance)
    }

    fn hierarchy(&self) -> String {
        let Some(report) = &self.summary.multigrid else {
            return String::new();
        };
        let plot = match report.levels.len() {
            0 | 1 => String::new(),
            _ => charts::coarsening(&report.levels),
        };
        let facts = format!(
            "<p>Operator complexity {:.2}, grid complexity {:.2}, {} in all.</p>",
            report.operator_complexity(),
            report.grid_complexity(),
            bytes(report.bytes())
        );
        section("Levels", &[levels_table(report), facts, plot].concat())
    }

    fn time(&self) -> String {
        let Some(report) = &self.summary.multigrid else {
            return self.profile_table();
        };
        let chart =
            |title: &str, bars: &[BarRow]| format!("<h3>{title}</h3>{}", charts::bars(bars));
        [
            chart("Set-up", &charts::of_setup(report)),
            chart("Iterations", &charts::of_solve(self.profile)),
            format!(
                "<details><summary>All stages</summary>{}</details>",
                self.profile_table()
            ),
        ]
        .concat()
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
        let facts = rows(facts::rows(self.facts));
        format!("<div class=\"side\">{facts}{}</div>", self.spy)
    }

    fn configuration(&self) -> String {
        format!("<pre>{}</pre>", escape(&self.summary.config.to_toml()))
    }
}

fn levels_table(report: &multigrid::Report) -> String {
    let mut table = String::from(
        "<table><tr><th>level</th><th class=\"n\">rows</th><th class=\"n\">nonzeros</th>\
         <th class=\"n\">per row</th><th>precision</th><th>format</th><th>smoother</th>\
         <th class=\"n\">memory</th><th class=\"n\">set-up</th></tr>",
    );
    for (number, level) in report.levels.iter().enumerate() {
        let _ = write!(
            table,
            "<tr><td>{number}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{:.1}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td></tr>",
            count(level.rows),
            count(level.nonzeros),
            level.per_row(),
            level.precision,
            escape(&level.format),
            escape(&level.smoother),
            bytes(level.bytes),
            seconds(level.setup_seconds())
        );
    }
    table + "</table>"
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

const STYLE: &str = "\
:root{color-scheme:light dark;--soft:#8883;--accent:#2e86de}\
body{font:16px/1.5 system-ui,sans-serif;margin:0;background:Canvas;color:CanvasText}\
main{max-width:60rem;margin:2rem auto;padding:0 1rem}\
h1{font-size:1.6rem;margin:0;overflow-wrap:anywhere}h2{font-size:1.1rem;margin:2rem 0 .5rem}h3{font-size:1rem;font-weight:500;margin:1rem 0 .3rem}\
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
svg.plot text{fill:CanvasText}\
.key{margin:.2rem 0 0;text-align:center;font-size:.9rem}\
.key span{display:inline-block;margin:0 .7rem}\
.key i{display:inline-block;width:1rem;height:.6rem;margin-right:.4rem;border-radius:2px}\
summary{cursor:pointer;margin:1rem 0 .3rem}\
pre{background:var(--soft);padding:1rem;border-radius:6px;overflow:auto}";
