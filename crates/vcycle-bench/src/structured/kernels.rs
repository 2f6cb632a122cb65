//! Products and sweeps in three storage precisions.

use comfy_table::Table;
use vcycle::executor::Workspace;
use vcycle::linop::LinOp;
use vcycle::scalar::f16;
use vcycle::structured::{Direction, StencilMatrix};
use vcycle::vector::Vector;

use super::args::StructuredArgs;
use crate::common::{Result, table};
use crate::timing::race;
use crate::triad::{Triad, pool};

/// Products and sweeps beside the triad.
pub(super) fn measure(arguments: &StructuredArgs, a: &StencilMatrix<f64>) -> Result<Table> {
    let executor = a.executor();
    let (mut triad, pool, ws) = (Triad::new(), pool(executor.threads())?, Workspace::new());
    let rows = a.size().rows;
    let (single, half) = (a.convert::<f32>()?, a.convert::<f16>()?);
    let doubles = || Vector::<f64>::filled(executor, rows, 1, 1e-3);
    let singles = || Vector::<f32>::filled(executor, rows, 1, 1e-3);
    let (x, mut y, mut u) = (doubles()?, doubles()?, doubles()?);
    let (v, mut w, mut s, mut z, mut t) =
        (singles()?, singles()?, singles()?, singles()?, singles()?);
    let forward = Direction::Forward;
    let times = race(
        [
            &mut triad.on(&pool),
            &mut || Ok(a.apply(&x, &mut y, &ws)?),
            &mut || Ok(single.apply(&v, &mut w, &ws)?),
            &mut || Ok(half.apply(&v, &mut z, &ws)?),
            &mut || Ok(a.gauss_seidel(forward, &x, &mut u, &ws)?),
            &mut || Ok(single.gauss_seidel(forward, &v, &mut s, &ws)?),
            &mut || Ok(half.gauss_seidel(forward, &v, &mut t, &ws)?),
        ],
        arguments.rounds,
        arguments.seconds,
    )?;
    let (wide, narrow) = ((16 * rows) as f64, (8 * rows) as f64);
    let matrices = [a.bytes(), single.bytes(), half.bytes()].map(|bytes| bytes as f64);
    let moved = |extra: f64| {
        [
            matrices[0] + wide + 2.0 * extra,
            matrices[1] + narrow + extra,
            matrices[2] + narrow + extra,
        ]
    };
    let bytes = [
        vec![triad.bytes()],
        moved(0.0).to_vec(),
        moved((4 * rows) as f64).to_vec(),
    ]
    .concat();
    let names = [
        "triad",
        "product f64",
        "product f32",
        "product f16/f32",
        "sweep f64",
        "sweep f32",
        "sweep f16/f32",
    ];
    let mut table = table(&["kernel", "ms", "GB/s", "% of triad", "x f64", "bytes allow"]);
    for (place, name) in names.into_iter().enumerate() {
        let first = if place == 0 {
            0
        } else {
            1 + (place - 1) / 3 * 3
        };
        let speed = bytes[place] / times[place];
        table.add_row([
            name.to_owned(),
            format!("{:.2}", times[place] * 1e3),
            format!("{:.2}", speed / 1e9),
            format!("{:.0}", 100.0 * speed * times[0] / bytes[0]),
            format!("{:.2}", times[first] / times[place]),
            format!("{:.2}", bytes[first] / bytes[place]),
        ]);
    }
    Ok(table)
}
