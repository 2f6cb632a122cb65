//! Products, sweeps and set-ups on a device, beside its copy bandwidth.

use std::sync::Arc;
use std::time::Instant;

use comfy_table::Table;
use vcycle::executor::{Executor, Workspace};
use vcycle::linop::LinOp;
use vcycle::scalar::{Real, bf16, f16};
use vcycle::structured::{Direction, StencilMatrix, Storage, StructMg};
use vcycle::vector::Vector;
use vcycle_gpu::Device;

use crate::common::{Result, table};
use crate::gpu::timing::microseconds;

/// What was measured of one storage precision: microseconds and bytes of a product and of a sweep.
struct StorageRow {
    name: String,
    product: (f64, usize),
    sweep: (f64, usize),
}

/// A sweep: of a matrix, with a right-hand side and a guess.
type Sweep<M, V> =
    fn(&StencilMatrix<M>, &Vector<V>, &mut Vector<V>, &Workspace) -> vcycle::Result<()>;

/// Products and sweeps forward in four storage precisions; bytes of matrix and vectors are counted once.
pub(super) fn measure(name: &str, a: &StencilMatrix<f64>) -> Result<Table> {
    let (executor, device) = (Executor::gpu(name)?, Device::open(name)?);
    let place = (&executor, &device);
    let rows = [
        row::<f64, f64>(place, a, |a, b, x, ws| {
            a.gauss_seidel(Direction::Forward, b, x, ws)
        })?,
        row::<f32, f32>(place, a, |a, b, x, ws| {
            a.gauss_seidel(Direction::Forward, b, x, ws)
        })?,
        row::<f16, f32>(place, a, |a, b, x, ws| {
            a.gauss_seidel(Direction::Forward, b, x, ws)
        })?,
        row::<bf16, f32>(place, a, |a, b, x, ws| {
            a.gauss_seidel(Direction::Forward, b, x, ws)
        })?,
    ];
    let copy = device.copy_bandwidth()?;
    say!("a copy: {:.0} GB/s", copy * 1e-9);
    let mut table = table(&["kernel", "us", "GB/s", "% of copy", "x f64", "bytes allow"]);
    for kernel in ["product", "sweep"] {
        let of = |row: &StorageRow| match kernel {
            "product" => row.product,
            _ => row.sweep,
        };
        let (slowest, most) = of(&rows[0]);
        for row in &rows {
            let (time, bytes) = of(row);
            let speed = bytes as f64 / (time * 1e-6);
            table.add_row([
                format!("{kernel} {}", row.name),
                format!("{time:.1}"),
                format!("{:.0}", speed * 1e-9),
                format!("{:.0}", 100.0 * speed / copy),
                format!("{:.2}", slowest / time),
                format!("{:.2}", most as f64 / bytes as f64),
            ]);
        }
    }
    Ok(table)
}

/// How often a set-up is repeated.
const REPEATS: usize = 5;

/// Set-ups of what is on the device already, as a stencil and as a CSR matrix: the first one and the best of the next, in
/// milliseconds.
pub(super) fn measure_setups(name: &str, a: &StencilMatrix<f64>) -> Result<Table> {
    let executor = Executor::gpu(name)?;
    let mut table = table(&["set-up from", "first ms", "repeated ms"]);
    let stencil: Arc<dyn LinOp<f64>> = Arc::new(a.copy_to(&executor)?);
    let csr: Arc<dyn LinOp<f64>> = Arc::new(a.to_csr().copy_to(&executor)?);
    for (from, matrix) in [("a stencil", stencil), ("csr", csr)] {
        let times = (0..REPEATS).map(|_| setup_time(&executor, &matrix));
        let times = times.collect::<Result<Vec<f64>>>()?;
        let best = times[1..].iter().copied().fold(f64::INFINITY, f64::min);
        let cells = [times[0], best].map(|time| format!("{:.1}", 1e3 * time));
        table.add_row([from.to_owned()].into_iter().chain(cells));
    }
    Ok(table)
}

/// Seconds that a set-up takes until the device is done.
fn setup_time(executor: &Executor, a: &Arc<dyn LinOp<f64>>) -> Result<f64> {
    let (begin, ws) = (Instant::now(), Workspace::new());
    let made = StructMg::default().generate_with_report(a, &ws)?;
    executor.synchronize()?;
    drop(made);
    Ok(begin.elapsed().as_secs_f64())
}

fn row<M: Storage, V: Real>(
    (executor, device): (&Executor, &Arc<Device>),
    a: &StencilMatrix<f64>,
    sweep: Sweep<M, V>,
) -> Result<StorageRow>
where
    StencilMatrix<M>: LinOp<V>,
{
    let (a, ws) = (a.convert::<M>()?.into_executor(executor)?, Workspace::new());
    let vector = |value: f64| Vector::<V>::filled(executor, a.size().rows, 1, value);
    let (b, mut x, mut y) = (vector(1e-3)?, vector(1e-3)?, vector(0.0)?);
    let product = microseconds(device, 1, &mut || Ok(a.apply(&x, &mut y, &ws)?))?;
    let swept = microseconds(device, 1, &mut || Ok(sweep(&a, &b, &mut x, &ws)?))?;
    let bytes = |vectors| a.bytes() + vectors * b.bytes();
    Ok(StorageRow {
        name: format!("{}/{}", M::KIND, V::KIND),
        product: (product, bytes(2)),
        sweep: (swept, bytes(3)),
    })
}
