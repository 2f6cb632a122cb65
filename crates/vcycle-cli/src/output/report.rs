//! The HTML report: one file, nothing loaded from elsewhere.

use vcycle::log::{Profile, Stage};
use vcycle::matrix::Facts;
use vcycle::multigrid::Report;
use vcycle_plot::{BarRow, escape, stacked};

use super::format::{bytes, count, seconds};
use super::overview::overview;
use super::summary::Summary;
use super::{charts, facts};

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
        let residuals = [
            ("true relative residual", self.summary.relative_residual),
            ("residual by recurrence", self.summary.recurrence_residual),
        ];
        let residuals = residuals.map(|(name, size)| (name, format!("{size:.6e}")));
        overview(self.summary)
            .into_iter()
            .chain(residuals)
            .collect()
    }

    fn convergence(&self) -> String {
        let visible = |residual: &f64| residual.is_finite() && *residual > 0.0;
        let residuals = self.summary.history.iter().copied().filter(visible);
        let residuals: Vec<f64> = residuals.collect();
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
            |title: &str, bars: &[BarRow]| format!("<h3>{title}</h3>{}", stacked(bars, seconds));
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
        let stages = self.profile.stages().iter();
        let total: f64 = stages.map(|stage| stage.seconds).sum();
        let row = |(depth, stage): (usize, &Stage)| {
            let share = 100.0 * stage.seconds / total.max(f64::MIN_POSITIVE);
            let (indent, name) = (1.4 * depth as f64, escape(&stage.name));
            vec![
                format!("<span style=\"padding-left:{indent:.1}em\">{name}</span>"),
                count(stage.calls),
                seconds(stage.seconds),
                stage.bandwidth().map_or("–".into(), |b| format!("{b:.1}")),
                format!("<div class=\"bar\"><i style=\"width:{share:.1}%\"></i></div>"),
            ]
        };
        let titles = ["stage", "#calls", "#time", "#GB/s", ""];
        table(&titles, self.profile.rows().into_iter().map(row))
    }

    fn matrix(&self) -> String {
        let facts = rows(facts::rows(self.facts));
        format!("<div class=\"side\">{facts}{}</div>", self.spy)
    }

    fn configuration(&self) -> String {
        format!("<pre>{}</pre>", escape(&self.summary.config.to_toml()))
    }
}

fn levels_table(report: &Report) -> String {
    let titles = "level #rows #nonzeros #entries/row precision format smoother #memory #set-up";
    let titles: Vec<&str> = titles.split(' ').collect();
    let levels = report.levels.iter().enumerate().map(|(number, level)| {
        vec![
            number.to_string(),
            count(level.rows),
            count(level.nonzeros),
            format!("{:.1}", level.per_row()),
            level.precision.to_string(),
            escape(&level.format),
            escape(&level.smoother),
            bytes(level.bytes),
            seconds(level.setup_seconds()),
        ]
    });
    table(&titles, levels)
}

/// A table; columns of numbers have titles that begin with `#`.
fn table(titles: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let cell = |tag: &str, title: &str, text: &str| match title.starts_with('#') {
        true => format!("<{tag} class=\"n\">{text}</{tag}>"),
        false => format!("<{tag}>{text}</{tag}>"),
    };
    let head = titles
        .iter()
        .map(|title| cell("th", title, title.trim_start_matches('#')));
    let row = |cells: Vec<String>| -> String {
        let cells = titles.iter().zip(&cells);
        let cells: String = cells.map(|(title, text)| cell("td", title, text)).collect();
        format!("<tr>{cells}</tr>")
    };
    let (head, rows): (String, String) = (head.collect(), rows.map(row).collect());
    format!("<table><tr>{head}</tr>{rows}</table>")
}

fn section(title: &str, content: &str) -> String {
    format!("<section><h2>{title}</h2>{content}</section>")
}

fn rows(rows: Vec<(&'static str, String)>) -> String {
    let line = |(name, value)| format!("<tr><th>{name}</th><td>{}</td></tr>", escape(value));
    let lines: String = rows
        .iter()
        .map(|(name, value)| line((name, value)))
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
.bar{width:20rem;max-width:35vw}.bar i{display:block;height:.9em;background:var(--accent);border-radius:2px}\
.side{display:grid;grid-template-columns:1fr 20rem;gap:2rem;align-items:start}\
@media(max-width:45rem){.side{grid-template-columns:1fr}}\
svg.plot{width:100%;height:auto}svg.spy{width:100%;box-sizing:border-box;border:1px solid var(--soft)}\
svg.plot text{fill:CanvasText}\
.key{margin:.2rem 0 0;text-align:center;font-size:.9rem}\
.key span{display:inline-block;margin:0 .7rem}\
.key i{display:inline-block;width:1rem;height:.6rem;margin-right:.4rem;border-radius:2px}\
summary{cursor:pointer;margin:1rem 0 .3rem}\
pre{background:var(--soft);padding:1rem;border-radius:6px;overflow:auto}";
