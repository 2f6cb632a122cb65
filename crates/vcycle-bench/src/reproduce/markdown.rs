//! The comparison as Markdown: docs/reproduction.md.

use std::fmt::Write;

use super::experiment::Experiment;
use super::record::Record;
use super::summary::{lines, machines, number};

const HEAD: &str = "# The papers, reproduced

Tables and figures of the papers that vcycle is built on, measured with vcycle and set beside what was published. `vcycle reproduce -o
FOLDER` makes this page, the same with charts (`index.html`) and the raw numbers (JSON); `--quick` takes small problems, three minutes on two
cores. A run that is interrupted goes on where it was. A ratio is ours relative to what was published. **Times of different machines
are not comparable**: read iterations, complexities and ratios (`x`) across machines, and times within a column. Times of the run shown here are
those of one run on a machine with other work: some differed by a factor of up to three when they were measured again.
";

/// All records.
pub(super) fn of(records: &[(&'static Experiment, Record)]) -> String {
    let mut text = HEAD.to_owned();
    let mut paper = "";
    for (experiment, record) in records {
        if experiment.paper.key != paper {
            paper = experiment.paper.key;
            let _ = write!(
                text,
                "\n## {}: {}\n",
                experiment.paper.authors, experiment.paper.title
            );
        }
        text += &section(experiment, record);
    }
    text
}

fn section(experiment: &Experiment, record: &Record) -> String {
    let size = if record.quick {
        ", small problems in place of those named"
    } else {
        ""
    };
    let mut text = format!(
        "\n### {}: {}\n\n{} Published: {}. Ours: {}, `{}`, {}{size}, by `vcycle reproduce {}`.\n\n",
        experiment.item,
        experiment.title,
        experiment.problem,
        machines(experiment),
        record.machine,
        record.device,
        record.date,
        experiment.name(),
    );
    if let Some(why) = &record.failure {
        let _ = writeln!(text, "Not run: {why}.");
        return text;
    }
    text += "| row | quantity | published | ours | ratio | |\n|---|---|---:|---:|---:|---|\n";
    for line in lines(experiment, record) {
        let cell = |value: Option<f64>| value.map_or(String::new(), number);
        let unit = match line.unit.as_str() {
            "" => String::new(),
            unit => format!(", {unit}"),
        };
        let _ = writeln!(
            text,
            "| {} | {}{unit} | {} | {} | {} | {} |",
            line.row,
            line.quantity,
            cell(line.published),
            cell(line.ours),
            line.ratio
                .map_or(String::new(), |ratio| format!("{ratio:.2}")),
            line.note,
        );
    }
    let _ = write!(text, "\n{}\n", experiment.why);
    text
}
