//! The comparison as Markdown: docs/reproduction.md.

use std::fmt::Write;

use vcycle_plot::number;

use super::experiment::{Experiment, Paper, Size, all};
use super::page::anchor;
use super::record::Record;
use super::summary::{chart, lines};

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
    let mut key = "";
    for (experiment, record) in records {
        let paper = experiment.paper();
        if paper.key != key {
            key = &paper.key;
            text += &heading_of(paper);
        }
        text += &section(experiment, record, charts);
    }
    text
}

/// The experiments that have no record here.
fn missing(records: &[(&'static Experiment, Record)], is_of_device: bool) -> String {
    let is_there = |name: &String| records.iter().any(|(one, _)| one.name() == *name);
    let wanted = all().into_iter();
    let wanted = wanted.filter(|one| one.on_devices || !is_of_device);
    let names = wanted.map(Experiment::name).filter(|name| !is_there(name));
    let names: Vec<String> = names.collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(
            "\nNot run here so far: {}. The same command measures what has no record.\n",
            names.join(", ")
        ),
    }
}

/// The title of a paper, and what has no section of its own.
fn heading_of(paper: &Paper) -> String {
    let (authors, title) = (&paper.authors, &paper.title);
    let mut text = format!("\n## {authors}: {title}\n\nWithout a section of their own:\n\n");
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
        let chart = &experiment.chart;
        let mut drawn = lines(experiment, record);
        drawn.retain(|line| line.quantity == chart.quantity);
        let ratios: Vec<f64> = drawn.iter().filter_map(|line| line.ratio).collect();
        let gains = ratios.iter().filter_map(|&ratio| chart.gain(ratio));
        let gains: Vec<f64> = gains.collect();
        let count = |is: fn(f64) -> bool| match gains.iter().filter(|&&gain| is(gain)).count() {
            0 => String::new(),
            count => count.to_string(),
        };
        let [least, most] = [f64::min, f64::max].map(|of| ratios.iter().copied().reduce(of));
        let range = match (least, most) {
            (Some(least), Some(most)) if least < most => format!("{least:.2} to {most:.2}"),
            (Some(only), _) => format!("{only:.2}"),
            (None, _) => "none: see there".to_owned(),
        };
        let _ = writeln!(
            text,
            "| {} | [{}](#{}) | {} | {} | {} | {} | {range} |",
            experiment.paper().key,
            experiment.item,
            anchor(&heading(experiment)),
            chart.quantity,
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
    let mut machines: Vec<_> = experiment
        .published()
        .iter()
        .map(|one| one.machine())
        .collect();
    machines.sort_unstable();
    machines.dedup();
    if machines.is_empty() {
        machines.push("no numbers in the text of the paper");
    }
    let sizes = match record.size {
        Size::Full => "",
        Size::Quick | Size::Tiny => ", small problems in place of those named",
    };
    let mut text = format!(
        "\n### {}\n\n{} Published: {}. Ours: {}, `{}`, {}{sizes}, by `vcycle reproduce {}`.\n\n",
        heading(experiment),
        experiment.problem,
        machines.join("; "),
        record.machine,
        record.device,
        record.date,
        experiment.name(),
    );
    if let Some(why) = &record.failure {
        return text + &format!("Not run: {why}.\n");
    }
    if chart(experiment, record).is_some() {
        let (name, quantity) = (experiment.name(), &experiment.chart.quantity);
        let file = experiment.file_stem();
        let _ = writeln!(text, "![{name}: {quantity}]({charts}/{file}.svg)\n");
    }
    text += "| row | quantity | published | ours | ratio | |\n|---|---|---:|---:|---:|---|\n";
    for line in lines(experiment, record) {
        let [published, ours] = [line.published, line.ours].map(|value| value.map(number));
        let ratio = line.ratio.map(|ratio| format!("{ratio:.2}"));
        let [published, ours, ratio] = [published, ours, ratio].map(Option::unwrap_or_default);
        let (row, named, remarks) = (&line.row, line.named(), line.remarks());
        let _ = writeln!(
            text,
            "| {row} | {named} | {published} | {ours} | {ratio} | {remarks} |"
        );
    }
    text + &format!("\n{}\n", experiment.why)
}
