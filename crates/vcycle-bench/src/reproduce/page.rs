//! The comparison as one HTML page that needs nothing else.

use std::fmt::Write;

use super::experiment::{Experiment, Paper};
use super::record::Record;
use super::summary::{Line, lines, machines, sizes};
use crate::plot::{BarRow, bars, escape, number};

const HEAD: &str = r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The papers, reproduced with vcycle</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; color: #1b1f24; }
section { margin: 2.5rem 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; }
th, td { padding: 0.25rem 0.7rem; border-bottom: 1px solid #ddd; text-align: left; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
svg { width: 100%; max-width: 36rem; height: auto; display: block; margin: 1rem 0; }
@media (max-width: 40rem) { table { font-size: 0.75rem; } th, td { padding: 0.2rem 0.25rem; } ul { padding-left: 1.2rem; } }
.better { color: #16703c; } .worse { color: #a3271b; }
p.small { color: #57606a; font-size: 0.9rem; }
</style>
</head>
<body>
<h1>The papers, reproduced with vcycle</h1>
<p>Tables and figures of five papers, measured with vcycle and set beside what was published. A ratio is ours relative to what was
published. Times of different machines are not comparable, nor iterations of problems that are only of the kind of the paper's: read
iterations of the same problem, complexities and ratios across machines, and times within a column.</p>
"#;

/// All records.
pub(super) fn of(records: &[(&'static Experiment, Record)]) -> String {
    let mut text = HEAD.to_owned();
    text += "<nav><ul>\n";
    for (experiment, _) in records {
        let (name, title) = (experiment.name(), escape(experiment.title));
        let _ = writeln!(text, "<li><a href=\"#{name}\">{name}</a>: {title}</li>");
    }
    text += "</ul></nav>\n";
    let mut paper = "";
    for (experiment, record) in records {
        if experiment.paper.key != paper {
            paper = experiment.paper.key;
            text += &heading(experiment.paper);
        }
        text += &section(experiment, record);
    }
    text + "</body>\n</html>\n"
}

/// The bars of an experiment, where there are values of the quantity that is drawn.
pub(super) fn chart(experiment: &Experiment, record: &Record) -> Option<String> {
    let mut drawn = lines(experiment, record);
    drawn.retain(|line| line.quantity == experiment.chart.quantity);
    let named = drawn.iter().map(Line::named).next()?;
    let rows: Vec<BarRow> = drawn.iter().map(bar_row).collect();
    let logarithmic = experiment.chart.logarithmic;
    bars(&rows, &["published", "vcycle"], &named, logarithmic)
}

fn bar_row(line: &Line) -> BarRow {
    let both = [("published", line.published), ("vcycle", line.ours)];
    let both = both
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    BarRow {
        name: line.row.clone(),
        values: both.chain(line.peers.iter().cloned()).collect(),
    }
}

/// The paper, and what has no section of its own.
fn heading(paper: &Paper) -> String {
    let (authors, title) = (escape(paper.authors), escape(paper.title));
    let mut text =
        format!("<h2>{authors}: {title}</h2>\n<p>Without a section of their own:</p>\n<ul>\n");
    for (items, why) in paper.left_out {
        let _ = writeln!(text, "<li>{}: {}.</li>", escape(items), prose(why));
    }
    text + "</ul>\n"
}

fn section(experiment: &Experiment, record: &Record) -> String {
    let mut text = format!(
        "<section id=\"{}\">\n<h3>{}: {}</h3>\n<p>{}</p>\n\
         <p class=\"small\">Published: {}. Ours: {}, {}, {}{}, {:.0} s.</p>\n",
        experiment.name(),
        experiment.name(),
        escape(experiment.title),
        prose(experiment.problem),
        escape(&machines(experiment)),
        escape(&record.machine),
        escape(&record.device),
        record.date,
        sizes(record),
        record.seconds,
    );
    if let Some(why) = &record.failure {
        let _ = writeln!(text, "<p>Not run: {}.</p>\n</section>", escape(why));
        return text;
    }
    if let Some(chart) = chart(experiment, record) {
        let _ = writeln!(text, "<div class=\"wide\">{chart}</div>");
    }
    text += "<div class=\"wide\"><table>\n<tr><th>row</th><th>quantity</th><th class=\"number\">published</th>\
             <th class=\"number\">ours</th><th class=\"number\">ratio</th><th></th></tr>\n";
    for line in &lines(experiment, record) {
        text += &row(experiment, line);
    }
    let _ = writeln!(
        text,
        "</table></div>\n<p>{}</p>\n</section>",
        prose(experiment.why)
    );
    text
}

/// Text in which backticks mark code.
fn prose(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let part = |(place, part): (usize, &str)| match place % 2 {
        0 => escape(part),
        _ => format!("<code>{}</code>", escape(part)),
    };
    parts.map(part).collect()
}

fn row(experiment: &Experiment, line: &Line) -> String {
    let cell = |value: Option<f64>| value.map_or(String::new(), number);
    let drawn = line
        .ratio
        .filter(|_| line.quantity == experiment.chart.quantity);
    let class = match drawn.and_then(|ratio| experiment.chart.gain(ratio)) {
        Some(gain) if gain > 1.05 => "better",
        Some(gain) if gain < 1.0 / 1.05 => "worse",
        _ => "",
    };
    format!(
        "<tr><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
         <td class=\"number {class}\">{}</td><td>{}</td></tr>\n",
        escape(&line.row),
        escape(&line.named()),
        cell(line.published),
        cell(line.ours),
        line.ratio
            .map_or(String::new(), |ratio| format!("{ratio:.2}")),
        escape(&line.remarks()),
    )
}
