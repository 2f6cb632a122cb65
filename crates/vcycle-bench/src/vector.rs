//! `vcycle-bench vector`: the operations Krylov methods are made of, beside the triad.

use vcycle::executor::Executor;
use vcycle::scalar::{Scalar, f16};
use vcycle::vector::{Coefficient, Scalars, Vector};

use crate::common::{Result, table, threads};
use crate::timing::race;
use crate::triad::{Triad, pool};

/// Rows of the vectors: 256 MiB in double precision.
const ROWS: usize = 32 * 1024 * 1024;

/// Options of `vector`.
#[derive(Clone, Debug, clap::Args)]
pub struct VectorArgs {
    /// Threads; all cores unless given
    #[arg(long)]
    threads: Option<usize>,
    /// Turns each candidate takes
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Seconds of one turn
    #[arg(long, default_value_t = 0.3)]
    seconds: f64,
}

pub(crate) fn run(arguments: &VectorArgs) -> Result<()> {
    let threads = threads(arguments.threads)?;
    let mut table = table(&["threads", "operation", "ms", "GB/s", "% of triad"]);
    for threads in [1, threads] {
        let executor = Executor::cpu_with_threads(threads)?;
        let (mut triad, pool) = (Triad::new(), pool(threads)?);
        let (x, mut y, mut z) = (
            filled::<f64>(&executor)?,
            filled(&executor)?,
            filled(&executor)?,
        );
        let (mut single, mut half) = (filled::<f32>(&executor)?, filled::<f16>(&executor)?);
        let mut out = Scalars::filled(&executor, 1, 0.0)?;
        let mut norm = out.clone();
        let alpha = Coefficient::real(1e-9);
        let times = race(
            [
                &mut triad.on(&pool),
                &mut || Ok(y.axpy(alpha, &x)?),
                &mut || Ok(x.dot(&x, &mut out)?),
                &mut || Ok(z.axpy_norm(alpha, &x, &mut norm)?),
                &mut || Ok(single.copy_from(&x)?),
                &mut || Ok(half.copy_from(&x)?),
            ],
            arguments.rounds,
            arguments.seconds,
        )?;
        let names = [
            "triad",
            "axpy f64",
            "norm f64",
            "axpy_norm f64",
            "f64 to f32",
            "f64 to f16",
        ];
        let rows = ROWS as f64;
        let bytes = [
            triad.bytes(),
            24.0 * rows,
            8.0 * rows,
            24.0 * rows,
            12.0 * rows,
            10.0 * rows,
        ];
        for (index, name) in names.into_iter().enumerate() {
            let speed = bytes[index] / times[index];
            table.add_row([
                threads.to_string(),
                name.to_owned(),
                format!("{:.2}", times[index] * 1e3),
                format!("{:.2}", speed / 1e9),
                format!("{:.0}", 100.0 * speed * times[0] / bytes[0]),
            ]);
        }
    }
    say!("{table}");
    Ok(())
}

fn filled<T: Scalar>(executor: &Executor) -> Result<Vector<T>> {
    Ok(Vector::filled(executor, ROWS, 1, 1.0)?)
}
