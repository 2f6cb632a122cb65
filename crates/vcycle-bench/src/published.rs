//! Values that papers have published: data files with a line for every value.

/// A line of a data file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PublishedValue {
    pub(crate) experiment: &'static str,
    pub(crate) row: &'static str,
    pub(crate) quantity: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) value: f64,
    /// The machine and the program, and after a semicolon a remark on the value.
    pub(crate) measured_on: &'static str,
}

impl PublishedValue {
    /// The machine and the program.
    pub(crate) fn machine(&self) -> &'static str {
        self.measured_on.split(';').next().unwrap_or_default()
    }

    /// Whether it is of a solve that did not converge.
    pub(crate) fn is_of_a_failure(&self) -> bool {
        self.measured_on.ends_with("not converged")
    }
}

/// All values of a data file.
///
/// # Panics
/// For a malformed line: the files are part of the program, and a test reads them all.
pub(crate) fn values(text: &'static str) -> impl Iterator<Item = PublishedValue> {
    text.lines().skip(1).map(|line| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [experiment, row, quantity, unit, value, measured_on] = fields[..] else {
            panic!("six fields in a line of published values: {line}");
        };
        PublishedValue {
            experiment,
            row,
            quantity,
            unit,
            value: value.parse().expect("a published value is a number"),
            measured_on,
        }
    })
}

/// Milliseconds and iterations of a solve in mixed precision: tables 6.2 and 6.4 of Tsai's dissertation.
pub(crate) fn mixed_precision(problem: &str, precision: &str) -> Option<(f64, String)> {
    let problem = match problem {
        "beam:o3,l3" => "beam",
        "lshape:o3,l7" => "l-shape",
        _ => return None,
    };
    let row = format!("{problem}, {precision}");
    let of = |quantity: &str| {
        values(include_str!("../published/tsai.tsv")).find(|value| {
            ["table-6.2", "table-6.4"].contains(&value.experiment)
                && (value.row, value.quantity) == (&*row, quantity)
        })
    };
    let (time, iterations) = (of("solve")?, of("iterations")?);
    let end = match iterations.is_of_a_failure() {
        true => ": no",
        false => "",
    };
    Some((time.value, format!("{}{end}", iterations.value)))
}
