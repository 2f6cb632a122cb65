//! Products, sweeps and set-ups in the storage precisions, beside the bandwidth of the memory.

use vcycle::scalar::{bf16, f16};
use vcycle::structured::{Direction, StencilMatrix, Storage, StructMg, Vectors};

use crate::prelude::*;
use crate::timing::{Candidate, Work, microseconds, race, shortest};
use crate::triad::{Triad, pool};

/// A product or a sweep forward that is ready to be timed.
struct Kernel {
    name: String,
    /// Those of the matrix and the vectors, counted once.
    bytes: f64,
    work: Work<'static>,
}

/// The product and the sweep of a matrix in `M` with vectors in `V`.
fn both<M: Storage, V: Vectors + Mixes<V, V>>(a: Arc<StencilMatrix<M>>) -> Result<[Kernel; 2]> {
    let vector = |value: f64| Vector::<V>::filled(a.executor(), a.size().rows, 1, value);
    let (b, x, mut y, mut z) = (vector(1e-3)?, vector(1e-3)?, vector(0.0)?, vector(1e-3)?);
    let name = match M::KIND == V::KIND {
        true => M::KIND.to_string(),
        false => format!("{}/{}", M::KIND, V::KIND),
    };
    let bytes = |vectors: usize| (a.bytes() + vectors * b.bytes()) as f64;
    let [two, three] = [bytes(2), bytes(3)];
    let again = Arc::clone(&a);
    let ws = Workspace::new();
    let product = move || Ok(a.apply(&x, &mut y, &ws)?);
    let ws = Workspace::new();
    let swept = move || Ok(again.gauss_seidel(Direction::Forward, &b, &mut z, &ws)?);
    let kernel = |name, bytes, work: Work<'static>| Kernel { name, bytes, work };
    Ok([
        kernel(format!("product {name}"), two, Box::new(product)),
        kernel(format!("sweep {name}"), three, Box::new(swept)),
    ])
}

/// A table of products and sweeps, beside the triad of the processor or a copy of the device.
pub(super) fn measure(
    args: &Args,
    a: &Arc<StencilMatrix<f64>>,
    executor: &Executor,
) -> Result<Table> {
    let double = match a.executor().shares_memory_with(executor) {
        true => Arc::clone(a),
        false => Arc::new(a.copy_to(executor)?),
    };
    let single = Arc::new(a.convert::<f32>()?.into_executor(executor)?);
    let half = Arc::new(a.convert::<f16>()?.into_executor(executor)?);
    let mut all = vec![
        both::<_, f64>(double)?,
        both::<_, f32>(single)?,
        both::<_, f32>(half)?,
    ];
    if executor.is_device() {
        let brain = Arc::new(a.convert::<bf16>()?.into_executor(executor)?);
        all.push(both::<_, f32>(brain)?);
    }
    let (mut products, mut sweeps) = (Vec::new(), Vec::new());
    for [product, sweep] in all {
        products.push(product);
        sweeps.push(sweep);
    }
    let count = products.len();
    let mut kernels: Vec<Kernel> = products.into_iter().chain(sweeps).collect();
    let (times, what, fastest) = timed(args, executor, &mut kernels)?;
    let mut table = args.table("kernels");
    for (place, (kernel, time)) in kernels.iter().zip(&times).enumerate() {
        let first = place / count * count;
        let speed = kernel.bytes / time;
        table.row(row![
            &kernel.name,
            time * 1e6,
            speed * 1e-9,
            100.0 * speed / fastest,
            times[first] / time,
            kernels[first].bytes / kernel.bytes,
        ]);
    }
    print_line!("a {what}: {:.1} GB/s", fastest * 1e-9);
    Ok(table)
}

/// Seconds of all kernels, and the bandwidth that they are compared with.
fn timed(
    args: &Args,
    executor: &Executor,
    kernels: &mut [Kernel],
) -> Result<(Vec<f64>, &'static str, f64)> {
    let measuring = args.measuring();
    if let Some(device) = executor.device() {
        let time = |kernel: &mut Kernel| Ok(microseconds(device, 1, &mut kernel.work)? * 1e-6);
        let times = kernels.iter_mut().map(time).collect::<Result<_>>()?;
        return Ok((times, "copy", device.copy_bandwidth()?));
    }
    let (mut triad, pool) = (Triad::new(), pool(executor.threads())?);
    let bytes = triad.bytes();
    let mut triad = triad.on(&pool);
    let mut candidates: Vec<&mut dyn Candidate> = vec![&mut triad];
    candidates.extend(
        kernels
            .iter_mut()
            .map(|one| &mut one.work as &mut dyn Candidate),
    );
    let mut times = race(&mut candidates, measuring)?;
    let fastest = bytes / times.remove(0);
    Ok((times, "triad", fastest))
}

/// How often a set-up is repeated.
const REPEATS: usize = 4;

/// Set-ups of a matrix that is on the device already, as a stencil and as a CSR matrix: the first one and the best of the next, in
/// milliseconds.
pub(super) fn measure_setups(
    args: &Args,
    executor: &Executor,
    a: &StencilMatrix<f64>,
) -> Result<Table> {
    let mut table = args.table("setups");
    let stencil: Arc<dyn LinOp<f64>> = Arc::new(a.copy_to(executor)?);
    let csr: Arc<dyn LinOp<f64>> = Arc::new(a.to_csr().copy_to(executor)?);
    for (from, matrix) in [("a stencil", stencil), ("csr", csr)] {
        let mut make = || Ok(StructMg::default().generate_with_report(&matrix, &Workspace::new())?);
        let (first, _) = shortest(executor, 1, &mut make)?;
        let (best, _) = shortest(executor, REPEATS, &mut make)?;
        table.row(row![from, first, best]);
    }
    Ok(table)
}
