//! The products of a hierarchy beside those of cuSPARSE, which the paper's baseline calls.

use std::sync::Arc;
use std::time::Instant;

use vcycle::executor::Workspace;
use vcycle::linop::LinOp;
use vcycle::matrix::{Csr, ProductWay, Tiles};
use vcycle_gpu::Device;

use super::super::super::record::Value;
use super::super::product::timed;
use super::super::solving::Ready;
use super::cycles::stages;
use crate::common::Result;
use crate::gpu::cusparse::Cusparse;

/// How much longer cuSPARSE takes for products of matrices, and with vectors: than in the formats that a device chooses, and than in tiles.
pub(super) const PRODUCTS: [[&str; 2]; 2] = [
    [
        "cuSPARSE beside ours, products of matrices",
        "cuSPARSE beside tiles, products of matrices",
    ],
    [
        "cuSPARSE beside ours, products with vectors",
        "cuSPARSE beside tiles, products with vectors",
    ],
];
/// Products of matrices that are timed, after one that is not; the shortest counts.
const ROUNDS: usize = 3;

/// Seconds of the products of all levels, by us, in tiles, and by cuSPARSE.
#[derive(Default)]
struct Seconds {
    ours: [f64; 2],
    theirs: f64,
}

impl Seconds {
    fn add(&mut self, ours: [f64; 2], theirs: f64) {
        self.ours = [self.ours[0] + ours[0], self.ours[1] + ours[1]];
        self.theirs += theirs;
    }
}

/// Galerkin products of all levels, and a product with every matrix of theirs; nothing where there is no cuSPARSE.
pub(super) fn beside_cusparse(name: &str, ready: &Ready, seconds: f64) -> Result<Vec<Value>> {
    let executor = ready.matrix().executor();
    let Some(device) = executor.device() else {
        return Ok(Vec::new());
    };
    let Ok(cusparse) = Cusparse::load(device) else {
        return Ok(Vec::new());
    };
    let (finest, ws): (Arc<dyn LinOp<f64>>, _) = (ready.matrix().clone(), Workspace::new());
    let (setup, _) = stages("dp")?.setup(&finest, &ws)?;
    let [mut matrices, mut vectors] = [Seconds::default(), Seconds::default()];
    for level in setup.matrices(&finest, &ws)? {
        let a = level.a.copy_to(executor)?;
        with_vector(&cusparse, &a, seconds, &mut vectors)?;
        if let (Some(r), Some(p)) = (level.restriction, level.prolongation) {
            let (r, p) = (r.copy_to(executor)?, p.copy_to(executor)?);
            let ap = a.multiply(&p)?;
            of_matrices(device, &cusparse, [&a, &p], &mut matrices)?;
            of_matrices(device, &cusparse, [&r, &ap], &mut matrices)?;
            with_vector(&cusparse, &r, seconds, &mut vectors)?;
            with_vector(&cusparse, &p, seconds, &mut vectors)?;
        }
    }
    let both = PRODUCTS.into_iter().zip([matrices, vectors]);
    let factors = both.flat_map(|(ways, of)| {
        let factor = move |(what, ours)| Value::factor(name, what, of.theirs / ours).by("cuSPARSE");
        ways.into_iter().zip(of.ours).map(factor)
    });
    Ok(factors.collect())
}

fn with_vector(cusparse: &Cusparse, a: &Csr<f64>, seconds: f64, sum: &mut Seconds) -> Result<()> {
    let x = vec![1.0; a.size().cols];
    let (microseconds, _) = cusparse.best(a, &x, 1)?;
    let tiles = a.in_tiles(Tiles::Dense)?;
    let ours = [
        timed::<f64, f64>(a, seconds)?,
        timed::<f64, f64>(&tiles, seconds)?,
    ];
    sum.add(ours, 1e-6 * microseconds);
    Ok(())
}

fn of_matrices(
    device: &Device,
    cusparse: &Cusparse,
    [a, b]: [&Csr<f64>; 2],
    sum: &mut Seconds,
) -> Result<()> {
    let theirs = [cusparse.matrix(a)?, cusparse.matrix(b)?];
    let ours = [
        shortest(device, &mut || {
            a.multiply(b)?;
            Ok(())
        })?,
        shortest(device, &mut || {
            a.multiply_in_way(b, ProductWay::Tiles)?;
            Ok(())
        })?,
    ];
    let theirs = shortest(device, &mut || {
        cusparse.product(&theirs[0], &theirs[1])?;
        Ok(())
    })?;
    sum.add(ours, theirs);
    Ok(())
}

/// Seconds of the shortest of some rounds, until the device is done.
fn shortest(device: &Device, make: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
    make()?;
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        device.synchronize()?;
        let begin = Instant::now();
        make()?;
        device.synchronize()?;
        best = best.min(begin.elapsed().as_secs_f64());
    }
    Ok(best)
}
