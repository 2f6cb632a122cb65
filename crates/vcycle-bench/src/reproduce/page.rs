//! The comparison as one HTML page that needs nothing else.

use std::fmt::Write;

use super::experiment::Experiment;
use super::plot::{bars, escape};
use super::record::Record;
use super::summary::{Line, lines, machines, number};

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
svg { width: 100%; max-width: 42rem; height: auto; display: block; margin: 1rem 0; }
.better { color: #16703c; } .worse { color: #a3271b; }
p.small { color: #57606a; font-size: 0.9rem; }
</style>
</head>
<body>
<h1>The papers, reproduced with vcycle</h1>
<p>Tables and figures of five papers, measured with vcycle and set beside what was published. A ratio is ours relative to what was
published. Times of different machines are not comparable: read iterations, complexities and ratios across machines, and times within
a column.</p>
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
    for (experiment, record) in records {
        text += &section(experiment, record);
    }
    text + "</body>\n</html>\n"
}

fn section(experiment: &Experiment, record: &Record) -> String {
    let size = if record.quick {
        ", small problems in place of those named"
    } else {
        ""
    };
    let mut text = format!(
        "<section id=\"{}\">\n<h2>{}, {}: {}</h2>\n<p>{}</p>\n\
         <p class=\"small\">Published: {}. Ours: {}, {}, {}{size}, {:.0} s.</p>\n",
        experiment.name(),
        escape(experiment.paper.authors),
        experiment.item,
        escape(experiment.title),
        escape(experiment.problem),
        escape(&machines(experiment)),
        escape(&record.machine),
        escape(&record.device),
        record.date,
        record.seconds,
    );
    if let Some(why) = &record.failure {
        let _ = writeln!(text, "<p>Not run: {}.</p>\n</section>", escape(why));
        return text;
    }
    let all = lines(experiment, record);
    let (quantity, logarithmic) = experiment.chart;
    let drawn: Vec<Line> = all
        .iter()
        .filter(|line| line.quantity == quantity)
        .cloned()
        .collect();
    let unit = drawn.iter().find(|line| !line.unit.is_empty());
    let title = unit.map_or(quantity.to_owned(), |line| {
        format!("{quantity}, {}", line.unit)
    });
    text += &bars(&drawn, &title, logarithmic).unwrap_or_default();
    text += "<div class=\"wide\"><table>\n<tr><th>row</th><th>quantity</th><th class=\"number\">published</th>\
             <th class=\"number\">ours</th><th class=\"number\">ratio</th><th></th></tr>\n";
    for line in &all {
        text += &row(experiment, line);
    }
    let _ = writeln!(
        text,
        "</table></div>\n<p>{}</p>\n</section>",
        escape(experiment.why)
    );
    text
}

fn row(experiment: &Experiment, line: &Line) -> String {
    let cell = |value: Option<f64>| value.map_or(String::new(), number);
    let unit = match line.unit.as_str() {
        "" => String::new(),
        unit => format!(", {unit}"),
    };
    let class = match line.ratio.filter(|_| line.quantity == experiment.chart.0) {
        Some(ratio)
            if (ratio < 0.995) == experiment.less_is_better && (ratio - 1.0).abs() > 5e-3 =>
        {
            "better"
        }
        Some(ratio) if (ratio - 1.0).abs() > 5e-3 => "worse",
        _ => "",
    };
    format!(
        "<tr><td>{}</td><td>{}{unit}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
         <td class=\"number {class}\">{}</td><td>{}</td></tr>\n",
        escape(&line.row),
        escape(&line.quantity),
        cell(line.published),
        cell(line.ours),
        line.ratio
            .map_or(String::new(), |ratio| format!("{ratio:.2}")),
        escape(&line.note),
    )
}
