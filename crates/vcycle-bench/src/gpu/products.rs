//! Sparse matrix times vector in all precisions, beside cuSPARSE.

use vcycle::scalar::Kind::{Bf16, F16, F32, F64};

use super::GpuBench;
use super::cusparse::{Cusparse, CusparseReal};
use crate::prelude::*;
use crate::products::{Kinds, kinds, product, ramp};
use crate::timing::microseconds;

/// Copies of the operands that take turns are together larger than this, and so than any cache.
const BEYOND_CACHES: usize = 256 << 20;
const MOST_COPIES: usize = 32;

/// Kinds of matrices and vectors; double comes first, and cuSPARSE has the first two.
const PRECISIONS: [Kinds; 8] = [
    kinds(F64, F64),
    kinds(F32, F32),
    kinds(F32, F64),
    kinds(F16, F16),
    kinds(F16, F32),
    kinds(F16, F64),
    kinds(Bf16, Bf16),
    kinds(Bf16, F32),
];

/// A product in some kinds: bytes, and microseconds by this library and by cuSPARSE.
pub(super) struct ProductRow {
    kinds: Kinds,
    bytes: usize,
    time: f64,
    cusparse: Option<f64>,
}

pub(super) fn run(bench: &GpuBench, bandwidth: f64, report: &mut Report) -> Result<()> {
    report.add("## Sparse matrix times vector")?;
    let mut table = bench.args.table("spmv");
    let mut notes = Vec::new();
    for name in bench.args.listed("spmv") {
        eprintln!("products with {name}");
        let rows = match rows(bench, name) {
            Ok(rows) => rows,
            Err(error) => {
                notes.push(format!("{name} was skipped: {error}."));
                continue;
            }
        };
        for one in &rows {
            let speed = one.bytes as f64 / (one.time * 1e-6);
            table.row(row![
                name,
                one.kinds[0].name(),
                one.kinds[1].name(),
                one.time,
                speed * 1e-9,
                100.0 * speed / bandwidth,
                rows[0].time / one.time,
                one.cusparse,
                one.cusparse.map(|peer| peer / one.time),
            ]);
        }
    }
    report.add(&table)?;
    let missing = Cusparse::load(&bench.device).err();
    notes.extend(missing.map(|error| format!("cuSPARSE was not measured: {error}.")));
    notes.push(bench.args.note("spmv", &[]));
    report.add(notes.join("\n"))
}

/// Products with one matrix in all precisions.
pub(super) fn rows(bench: &GpuBench, name: &str) -> Result<Vec<ProductRow>> {
    let a = &bench.problem(name)?.matrix;
    let row = |kinds| {
        let bytes = bytes(a, kinds);
        let count = copies(bytes);
        let mut product = product(a, kinds, count, &bench.executor)?;
        Ok(ProductRow {
            kinds,
            bytes,
            time: microseconds(&bench.device, count, &mut product.work)?,
            cusparse: None,
        })
    };
    let rows = PRECISIONS.into_iter().map(row);
    let mut rows = rows.collect::<Result<Vec<_>>>()?;
    if let Ok(cusparse) = Cusparse::load(&bench.device) {
        let copies = [rows[0].bytes, rows[1].bytes].map(copies);
        rows[0].cusparse = Some(by_peer::<f64>(bench, &cusparse, a, copies[0])?);
        rows[1].cusparse = Some(by_peer::<f32>(bench, &cusparse, a, copies[1])?);
    }
    Ok(rows)
}

/// Bytes of a product, everything counted once.
fn bytes(a: &Csr<f64>, [matrix, input, output]: Kinds) -> usize {
    let (size, index) = (a.size(), size_of::<u32>());
    a.nonzeros() * (matrix.bytes() + index)
        + (size.rows + 1) * index
        + size.cols * input.bytes()
        + size.rows * output.bytes()
}

/// Operands that take turns, of so many bytes each.
fn copies(bytes: usize) -> usize {
    BEYOND_CACHES.div_ceil(bytes.max(1)).min(MOST_COPIES)
}

/// Microseconds of cuSPARSE for the same product.
fn by_peer<V: Mixes<V, V> + CusparseReal>(
    bench: &GpuBench,
    cusparse: &Cusparse,
    a: &Csr<f64>,
    copies: usize,
) -> Result<f64> {
    let (a, given) = (a.convert::<V>()?, ramp(a.size().cols));
    let x: Vec<V> = given
        .into_iter()
        .map(|value| V::from_c64(value.into()))
        .collect();
    let there = a.copy_to(&bench.executor)?;
    let mut y = Vector::<V>::zeros(&bench.executor, a.size().rows, 1)?;
    let on_device = Vector::from_column(&bench.executor, x.clone());
    there.apply(&on_device, &mut y, &Workspace::new())?;
    let (best, theirs) = cusparse.best(&a, &x, copies)?;
    same(&y.to_vec(), &theirs)?;
    Ok(best)
}

/// Fails unless both are the same but for rounding, relative to the largest number.
fn same<V: Scalar>(found: &[V], expected: &[V]) -> Result<()> {
    let size = |value: &V| value.to_c64().norm();
    let largest = expected.iter().map(size).fold(0.0, f64::max);
    let apart = found.iter().zip(expected);
    let apart = apart.map(|(found, expected)| (found.to_c64() - expected.to_c64()).norm());
    let most = apart.fold(0.0, f64::max);
    match most <= 1e-5 * largest {
        true => Ok(()),
        false => Err(format!("cuSPARSE found another product, {most:.1e} off").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_once_and_products_compared() {
        let a = Csr::<f64>::identity(&Executor::reference(), 10);
        assert_eq!(bytes(&a, kinds(F64, F64)), 10 * 12 + 11 * 4 + 2 * 80);
        assert_eq!(bytes(&a, kinds(F16, F32)), 10 * 6 + 11 * 4 + 2 * 40);
        let counts = [1, 100 << 20, 1 << 30].map(copies);
        assert_eq!(counts, [32, 3, 1]);
        assert!(same(&[1.0, 2.0], &[1.0, 2.0 + 1e-9]).is_ok());
        assert!(same(&[1.0_f32, 2.0], &[1.1, 2.0]).is_err());
    }
}
