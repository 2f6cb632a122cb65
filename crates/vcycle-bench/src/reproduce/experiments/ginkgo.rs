//! Anzt et al.: Ginkgo.

use vcycle::config::Config;
use vcycle::vector::{Coefficient, Vector};

use super::super::experiment::{Experiment, Paper, Scope};
use super::super::record::Value;
use super::solving::Ready;
use crate::common::Result;
use crate::timing::Candidate;
use crate::triad::{Triad, pool};

const PAPER: Paper = Paper {
    key: "ginkgo",
    authors: "Anzt and others 2022",
    title: "Ginkgo, a linear operator algebra framework (TOMS)",
    published: include_str!("../../../published/ginkgo.tsv"),
};

pub(super) static EXPERIMENTS: [Experiment; 2] = [
    Experiment {
        paper: &PAPER,
        item: "table-3",
        title: "bandwidth of vector operations",
        problem: "The operations of the table by vcycle's vectors of 2^24 doubles (quick: 2^22).",
        why: "Bandwidths are those of the machines; how near the others come to the triad is to be compared. Mul and Add work in place here (a \
              vector is scaled, another added to it), which saves the read that a store into a new array costs: hence more than the triad.",
        chart: ("share of triad", false),
        less_is_better: false,
        run: bandwidths,
    },
    Experiment {
        paper: &PAPER,
        item: "figures-8-9",
        title: "bandwidth of Krylov methods",
        problem: "A hundred iterations of each method without a preconditioner on `poisson7`; bytes are those of the matrix and of the vectors \
                  that an iteration has to read and write.",
        why: "The paper draws these without numbers: no method is far below the others, and all are near the bandwidth of the triad. Small problems \
              fit into caches and exceed it.",
        chart: ("share of triad", false),
        less_is_better: false,
        run: krylov,
    },
];

/// Bytes a second of the STREAM triad.
fn triad() -> Result<f64> {
    let mut triad = Triad::new();
    let bytes = triad.bytes();
    let pool = pool(std::thread::available_parallelism()?.into())?;
    Ok(bytes / triad.on(&pool).best_within(1.0)?)
}

fn bandwidths(scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.on_processors()?;
    let rows = scope.size(1 << 22, 1 << 24);
    let bytes = (rows * size_of::<f64>()) as f64;
    let filled = |value: f64| Vector::<f64>::filled(&executor, rows, 1, value);
    let (x, y, mut z) = (filled(1.0)?, filled(2.0)?, filled(0.5)?);
    let seconds = scope.size(0.3, 1.0);
    let copy = (|| -> Result<()> { Ok(z.copy_from(&x)?) }).best_within(seconds)?;
    let mul = (|| -> Result<()> { Ok(z.scale(-Coefficient::one())?) }).best_within(seconds)?;
    let add = (|| -> Result<()> { Ok(z.axpy(Coefficient::one(), &y)?) }).best_within(seconds)?;
    let dot = (|| -> Result<()> {
        x.norms()?;
        Ok(())
    })
    .best_within(seconds)?;
    let triad = triad()?;
    let speeds = [
        ("Copy", 2.0 * bytes / copy),
        ("Mul", 2.0 * bytes / mul),
        ("Add", 3.0 * bytes / add),
        ("Triad", triad),
        ("Dot", bytes / dot),
    ];
    let values = speeds.iter().flat_map(|(row, speed)| {
        [
            Value::new(*row, "bandwidth", "GB/s", speed / 1e9),
            Value::new(*row, "share of triad", "", speed / triad),
        ]
    });
    Ok(values.collect())
}

/// Methods, and how many vectors an iteration reads or writes at least, beside those of its products.
const METHODS: [(&str, f64, f64); 3] = [
    ("cg", 1.0, 10.0),
    ("bicgstab", 2.0, 18.0),
    ("cgs", 2.0, 17.0),
];

fn krylov(scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.on_processors()?;
    let ready = Ready::new(scope.size("poisson7:64", "poisson7:128"), &executor)?;
    let (a, triad) = (ready.matrix(), triad()?);
    let vector = (a.size().rows * size_of::<f64>()) as f64;
    let product = a.bytes() as f64 + 2.0 * vector;
    let mut values = Vec::new();
    for (method, products, vectors) in METHODS {
        let text = format!("solver={method} preconditioner=none rtol=0 max-iterations=100");
        let config: Config = text.parse()?;
        let solution = ready.solve(&config)?;
        let iterations = solution.outcome.iterations.max(1) as f64;
        let bytes = iterations * (products * product + vectors * vector);
        let speed = bytes / solution.solving.as_secs_f64();
        let note = format!("{iterations} iterations, {}", solution.outcome.status);
        values.push(Value::new(method, "bandwidth", "GB/s", speed / 1e9).noting(note));
        values.push(Value::new(method, "share of triad", "", speed / triad));
    }
    Ok(values)
}
