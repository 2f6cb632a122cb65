//! Sparse matrix times vector in all precisions, beside cuSPARSE.

use vcycle::executor::{Executor, Workspace};
use vcycle::linop::LinOp;
use vcycle::matrix::Csr;
use vcycle::scalar::{Mixes, Scalar, bf16, f16};
use vcycle::vector::Vector;

use super::bench::GpuBench;
use super::cusparse::{Cusparse, CusparseReal};
use super::report::MarkdownReport;
use crate::common::{Result, Table, cell};
use crate::timing::microseconds;

/// Copies of the operands that take turns are together larger than this, and so than any cache.
const BEYOND_CACHES: usize = 256 << 20;
const MOST_COPIES: usize = 32;

const FULL: [&str; 4] = ["poisson7:256", "poisson27:200", "beam:o3,l3", "G2_circuit"];
const SMALL: [&str; 4] = ["poisson7:24", "poisson27:16", "beam:o3,l1", "G2_circuit"];

/// One way to do a product: of what, in microseconds and bytes, and by cuSPARSE.
pub(super) struct ProductRow {
    kinds: String,
    bytes: usize,
    time: f64,
    cusparse: Option<f64>,
}

pub(super) fn run(bench: &GpuBench, bandwidth: f64, report: &mut MarkdownReport) -> Result<()> {
    report.add("## Sparse matrix times vector")?;
    let mut table = Table::new(
        "matrix | values | vectors | µs | GB/s | % of copy | x f64 | cuSPARSE µs | x cuSPARSE",
    );
    let mut notes = Vec::new();
    for name in bench.of_size(&FULL, &SMALL) {
        eprintln!("products with {name}");
        let rows = match rows(bench, name) {
            Ok(rows) => rows,
            Err(error) => {
                notes.push(format!("{name} was skipped: {error}."));
                continue;
            }
        };
        for ProductRow {
            kinds,
            bytes,
            time,
            cusparse,
        } in &rows
        {
            let speed = *bytes as f64 / (time * 1e-6);
            table.row(format!(
                "{name} | {kinds} | {time:.1} | {:.0} | {:.0} | {:.2} | {} | {}",
                speed * 1e-9,
                100.0 * speed / bandwidth,
                rows[0].time / time,
                cell(*cusparse, 1),
                cell(cusparse.map(|peer| peer / time), 2)
            ));
        }
    }
    report.add(&table)?;
    notes.extend(without_cusparse(bench));
    notes.push(
        "Bytes are counted once: values, columns and offsets of 4 bytes, x, y. A device may store \
         columns in fewer, and so read less than what is counted. Operands take turns \
         where they would stay in a cache; medians of device time, recorded launches. cuSPARSE: the \
         better of CUSPARSE_SPMV_ALG_DEFAULT and CUSPARSE_SPMV_CSR_ALG2, preprocessed, in the same \
         stream."
            .to_owned(),
    );
    report.add(notes.join("\n"))
}

/// Why there is no cuSPARSE.
fn without_cusparse(bench: &GpuBench) -> Option<String> {
    let error = Cusparse::load(&bench.device).err()?;
    Some(format!("cuSPARSE was not measured: {error}."))
}

/// Products with one matrix in all precisions; double comes first.
pub(super) fn rows(bench: &GpuBench, name: &str) -> Result<Vec<ProductRow>> {
    let a = &bench.problem(name)?.matrix;
    Ok(vec![
        with_peer::<f64>(bench, a)?,
        with_peer::<f32>(bench, a)?,
        row::<f32, f64>(bench, a)?.0,
        row::<f16, f16>(bench, a)?.0,
        row::<f16, f32>(bench, a)?.0,
        row::<f16, f64>(bench, a)?.0,
        row::<bf16, bf16>(bench, a)?.0,
        row::<bf16, f32>(bench, a)?.0,
    ])
}

/// What matrices are multiplied with.
fn ramp<V: Scalar>(rows: usize) -> Vector<V> {
    let values = (0..rows).map(|i| V::from_c64((1.0 + (i % 7) as f64 / 8.0).into()));
    Vector::from_column(&Executor::cpu(), values.collect())
}

/// Bytes of a product, everything counted once.
fn bytes<M, V>(a: &Csr<f64>) -> usize {
    let (size, index) = (a.size(), size_of::<u32>());
    a.nonzeros() * (size_of::<M>() + index)
        + (size.rows + 1) * index
        + (size.rows + size.cols) * size_of::<V>()
}

/// Operands that take turns, of so many bytes each.
fn copies(bytes: usize) -> usize {
    BEYOND_CACHES.div_ceil(bytes.max(1)).min(MOST_COPIES)
}

/// The time, and the product itself.
fn row<M: Mixes<V, V>, V: Scalar>(bench: &GpuBench, a: &Csr<f64>) -> Result<(ProductRow, Vec<V>)> {
    let (bytes, executor) = (bytes::<M, V>(a), &bench.executor);
    let (narrow, x) = (a.convert::<M>()?, ramp::<V>(a.size().cols));
    let mut operands = Vec::new();
    for _ in 0..copies(bytes) {
        operands.push((
            narrow.copy_to(executor)?,
            x.copy_to(executor)?,
            Vector::<V>::zeros(executor, a.size().rows, 1)?,
        ));
    }
    let (ws, count) = (Workspace::new(), operands.len());
    let mut round = || {
        let mut products = operands.iter_mut();
        Ok(products.try_for_each(|(a, x, y)| a.apply(x, y, &ws))?)
    };
    let row = ProductRow {
        kinds: format!("{} | {}", M::KIND, V::KIND),
        bytes,
        time: microseconds(&bench.device, count, &mut round)?,
        cusparse: None,
    };
    Ok((row, operands.swap_remove(0).2.to_vec()))
}

/// The same product by cuSPARSE, where there is one.
fn with_peer<V: Mixes<V, V> + CusparseReal>(bench: &GpuBench, a: &Csr<f64>) -> Result<ProductRow> {
    let (mut row, y) = row::<V, V>(bench, a)?;
    if let Ok(cusparse) = Cusparse::load(&bench.device) {
        let x = ramp::<V>(a.size().cols);
        let copies = copies(row.bytes);
        let (best, theirs) = cusparse.best(&a.convert::<V>()?, x.host()?, copies)?;
        same(&y, &theirs)?;
        row.cusparse = Some(best);
    }
    Ok(row)
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
        assert_eq!(bytes::<f64, f64>(&a), 10 * 12 + 11 * 4 + 2 * 80);
        assert_eq!(bytes::<f16, f32>(&a), 10 * 6 + 11 * 4 + 2 * 40);
        let counts = [1, 100 << 20, 1 << 30].map(copies);
        assert_eq!(counts, [32, 3, 1]);
        assert!(same(&[1.0, 2.0], &[1.0, 2.0 + 1e-9]).is_ok());
        assert!(same(&[1.0_f32, 2.0], &[1.1, 2.0]).is_err());
    }
}
