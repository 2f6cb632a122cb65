//! The comparison as Markdown: docs/reproduction.md.

use std::fmt::Write;

use vcycle_plot::number;

use super::experiment::{Experiment, Paper, all};
use super::page::{anchor, chart};
use super::record::Record;
use super::summary::{Line, lines, machines, sizes};

const HEAD: &str = "# The papers, reproduced

Tables and figures of the papers that vcycle is built on, measured with vcycle and set beside what was published. `vcycle reproduce -o
FOLDER` makes this page, the same as one file (`index.html`), its charts and the raw numbers (JSON); `--quick` takes small problems, three
minutes on two cores. A run that is interrupted goes on where it was. `--peers hypre gamg amgcl` installs and measures these libraries in the
same run.

A ratio is ours relative to what was published. There is none for seconds, which are those of different machines, nor for
iterations of a problem that is only of the kind of the paper's, or smaller: they grow with the size; nor for anything but complexities where a row says that
small problems were run. Read iterations of the same problem, complexities
and factors (`x`) across machines, and times within a column.
";

const NOISE: &str = "
**Times are noisy**: they are those of one run on a machine with other work, and some differed by a factor of up to three when they were
measured again; the best of several such factors is too good.
";

const DEVICE: &str = "
This page is of a run on a device (`--device cuda:0`); experiments that need processors or several ranks are on
[the page of processors](reproduction.md). Problems have the size that two cores can solve and are small for a device: what a launch costs
shows in its times. Products with narrow matrices gain less than published (tsai/figures-4-11), and with them whole solves
(tsai/figures-14-19, 26-30); what limits them on this device was not looked into.
";

/// All records; charts are files of a folder beside the page.
pub(super) fn of(records: &[(&'static Experiment, Record)], charts: &str) -> String {
    let is_of_device = records.iter().all(|(_, record)| record.device != "cpu");
    let mut text = HEAD.to_owned();
    text += if is_of_device { DEVICE } else { NOISE };
    text += &overview(records);
    text += &missing(records, is_of_device);
    let mut paper = "";
    for (experiment, record) in records {
        if experiment.paper().key != paper {
            paper = &experiment.paper().key;
            let _ = write!(
                text,
                "\n## {}: {}\n",
                experiment.paper().authors,
                experiment.paper().title
            );
            text += &left_out(experiment.paper());
        }
        text += &section(experiment, record, charts);
    }
    text
}

/// The experiments that have no record here.
fn missing(records: &[(&'static Experiment, Record)], is_of_device: bool) -> String {
    let all = all().into_iter();
    let wanted = all.filter(|one| one.on_devices || !is_of_device);
    let names = wanted.map(Experiment::name);
    let is_there = |name: &String| records.iter().any(|(one, _)| one.name() == *name);
    let names: Vec<String> = names.filter(|name| !is_there(name)).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(
            "\nNot run here so far: {}. The same command measures what has no record.\n",
            names.join(", ")
        ),
    }
}

/// What has no section of its own.
fn left_out(paper: &Paper) -> String {
    let mut text = "\nWithout a section of their own:\n\n".to_owned();
    for (items, why) in &paper.left_out {
        let _ = writeln!(text, "- {items}: {why}.");
    }
    text
}

/// A line for every experiment: how many of its values are better, equal and worse.
fn overview(records: &[(&'static Experiment, Record)]) -> String {
    let mut text = "
## At a glance

Of every table or figure the quantity that is drawn, where a ratio to a published value makes sense: how often ours is better, within 5 %, and worse.

| paper | table or figure | quantity | better | equal | worse | ratios |
|---|---|---|---:|---:|---:|---|
"
    .to_owned();
    for (experiment, record) in records {
        let drawn = lines(experiment, record);
        let drawn = drawn
            .iter()
            .filter(|line| line.quantity == experiment.chart.quantity);
        let ratios: Vec<f64> = drawn.filter_map(|line| line.ratio).collect();
        let gains: Vec<f64> = ratios
            .iter()
            .filter_map(|&ratio| experiment.chart.gain(ratio))
            .collect();
        let count = |is: fn(f64) -> bool| match gains.iter().filter(|&&gain| is(gain)).count() {
            0 => String::new(),
            count => count.to_string(),
        };
        let range = match (
            ratios.iter().copied().reduce(f64::min),
            ratios.iter().copied().reduce(f64::max),
        ) {
            (Some(least), Some(most)) if least < most => format!("{least:.2} to {most:.2}"),
            (Some(only), _) => format!("{only:.2}"),
            _ => "none: see there".to_owned(),
        };
        let _ = writeln!(
            text,
            "| {} | [{}](#{}) | {} | {} | {} | {} | {range} |",
            experiment.paper().key,
            experiment.item,
            anchor(&heading(experiment)),
            experiment.chart.quantity,
            count(|gain| gain > 1.05),
            count(|gain| (1.0 / 1.05..=1.05).contains(&gain)),
            count(|gain| gain < 1.0 / 1.05),
        );
    }
    text
}

fn heading(experiment: &Experiment) -> String {
    format!("{}: {}", experiment.name(), experiment.title)
}

fn section(experiment: &Experiment, record: &Record, charts: &str) -> String {
    let mut text = format!(
        "\n### {}\n\n{} Published: {}. Ours: {}, `{}`, {}{}, by `vcycle reproduce {}`.\n\n",
        heading(experiment),
        experiment.problem,
        machines(experiment),
        record.machine,
        record.device,
        record.date,
        sizes(record),
        experiment.name(),
    );
    if let Some(why) = &record.failure {
        let _ = writeln!(text, "Not run: {why}.");
        return text;
    }
    if chart(experiment, record).is_some() {
        let (name, quantity) = (experiment.name(), &experiment.chart.quantity);
        let file = chart_name(experiment);
        let _ = writeln!(text, "![{name}: {quantity}]({charts}/{file})\n");
    }
    text += "| row | quantity | published | ours | ratio | |\n|---|---|---:|---:|---:|---|\n";
    for line in lines(experiment, record) {
        text += &row(&line);
    }
    let _ = write!(text, "\n{}\n", experiment.why);
    text
}

/// The file of a chart.
pub(super) fn chart_name(experiment: &Experiment) -> String {
    format!("{}.svg", experiment.name().replace('/', "-"))
}

fn row(line: &Line) -> String {
    let cell = |value: Option<f64>| value.map_or(String::new(), number);
    format!(
        "| {} | {} | {} | {} | {} | {} |\n",
        line.row,
        line.named(),
        cell(line.published),
        cell(line.ours),
        line.ratio
            .map_or(String::new(), |ratio| format!("{ratio:.2}")),
        line.remarks(),
    )
}
