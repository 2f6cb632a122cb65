//! Products in formats and precisions, beside libraries of vendors.

use vcycle::matrix::Csr;
use vcycle::scalar::{Mixes, f16};
use vcycle::vector::Vector;

use super::super::super::experiment::Scope;
use super::super::super::record::Value;
use super::super::product::{MATRICES, fastest, in_formats, mkl, product};
use super::super::solving::{Ready, mean};
use crate::common::Result;
use crate::gpu::cusparse::{Cusparse, CusparseReal};

const RATE: &str = "rate";
const BESIDE: &str = "vendor's library beside the fastest format, time";

/// What was measured, and how much longer the vendor's library took than our fastest format.
#[derive(Default)]
struct Products {
    values: Vec<Value>,
    beside: Vec<(&'static str, f64)>,
}

pub(super) fn products(scope: &Scope) -> Result<Vec<Value>> {
    let (mut all, executor) = (Products::default(), scope.executor()?);
    for (name, sizes) in MATRICES {
        let ready = Ready::new(scope.size(sizes), &executor)?;
        let a = ready.matrix();
        let mkl = mkl(scope, a)?;
        all.of::<f64>(name, a, scope, mkl)?;
        all.of::<f32>(name, &a.convert()?, scope, None)?;
        let half = product::<f16, f32, f32>(a, scope.seconds())?;
        all.push(&format!("{name}, f16, csr"), a.nonzeros(), half, "");
    }
    let Products { mut values, beside } = all;
    if let Some((who, _)) = beside.first() {
        let factors: Vec<f64> = beside.iter().map(|one| one.1).collect();
        values.push(Value::factor("geometric mean", BESIDE, mean(&factors)).by(who));
    }
    Ok(values)
}

impl Products {
    /// A matrix in all formats, and by the vendor of the machine where that is asked for.
    fn of<V: Mixes<V, V> + CusparseReal>(
        &mut self,
        name: &str,
        a: &Csr<V>,
        scope: &Scope,
        mkl: Option<f64>,
    ) -> Result<()> {
        let times = in_formats(a, scope.seconds())?;
        let row = |format: &str| format!("{name}, {}, {format}", V::KIND);
        for (format, time) in times {
            self.push(&row(format), a.nonzeros(), time, "");
        }
        let vendors = [("MKL", mkl), ("cuSPARSE", cusparse(a)?)];
        for (who, time) in vendors {
            if let Some(time) = time {
                self.push(&row("csr"), a.nonzeros(), time, who);
                self.beside.push((who, time / fastest(&times)));
            }
        }
        Ok(())
    }

    fn push(&mut self, row: &str, entries: usize, seconds: f64, who: &str) {
        let rate = 2e-9 * entries as f64 / seconds;
        self.values
            .push(Value::new(row, RATE, "GFLOP/s", rate).by(who));
    }
}

/// Seconds of cuSPARSE where the matrix is on a device that has it.
fn cusparse<V: CusparseReal>(a: &Csr<V>) -> Result<Option<f64>> {
    let Some(device) = a.executor().device() else {
        return Ok(None);
    };
    let Ok(cusparse) = Cusparse::load(device) else {
        return Ok(None);
    };
    let x = Vector::<V>::zeros(a.executor(), a.size().cols, 1)?;
    let (microseconds, _) = cusparse.best(a, &x.to_vec(), 1)?;
    Ok(Some(1e-6 * microseconds))
}
