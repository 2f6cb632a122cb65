//! Sparse matrix times vector.

use comfy_table::Table;
use vcycle::executor::Workspace;
use vcycle::linop::LinOp;
use vcycle::matrix::Csr;
use vcycle::scalar::{Mixes, Scalar, bf16, f16};
use vcycle::vector::Vector;

use super::bench::GpuBench;
use super::cusparse::{Cusparse, CusparseReal};
use super::report::{MarkdownReport, cell};
use super::timing::microseconds;
use crate::common::{Result, table};

/// Copies of the operands that take turns are together larger than this, and so than any cache.
const BEYOND_CACHES: usize = 256 << 20;
const MOST_COPIES: usize = 32;

const FULL: [&str; 4] = ["poisson7:256", "poisson27:200", "beam:o3,l3", "G2_circuit"];
const SMALL: [&str; 4] = ["poisson7:24", "poisson27:16", "beam:o3,l1", "G2_circuit"];

/// One way to do a product.
pub(super) struct ProductRow {
    values: &'static str,
    vectors: &'static str,
    bytes: usize,
    microseconds: f64,
    cusparse: Option<f64>,
}

pub(super) fn run(bench: &GpuBench, report: &mut MarkdownReport) -> Result<()> {
    report.add("## Sparse matrix times vector")?;
    let head = [
        "matrix",
        "values",
        "vectors",
        "µs",
        "GB/s",
        "% of copy",
        "x f64",
        "cuSPARSE µs",
        "x cuSPARSE",
    ];
    let mut table = table(&head);
    let mut skipped = Vec::new();
    for name in if bench.small { SMALL } else { FULL } {
        eprintln!("products with {name}");
        match products(bench, name) {
            Ok(rows) => add(bench, name, &rows, &mut table),
            Err(error) => skipped.push(format!("{name} was skipped: {error}.")),
        }
    }
    report.add(&table)?;
    if let Err(error) = Cusparse::load(&bench.device) {
        skipped.push(format!("cuSPARSE was not measured: {error}."));
    }
    skipped.push(
        "Bytes are counted once: values, columns and offsets of 4 bytes, x, y. A device may store \
         columns in fewer, and so read less than what is counted. Operands take turns \
         where they would stay in a cache; medians of device time, recorded launches. cuSPARSE: the \
         better of CUSPARSE_SPMV_ALG_DEFAULT and CUSPARSE_SPMV_CSR_ALG2, preprocessed, in the same \
         stream."
            .to_owned(),
    );
    report.add(skipped.join("\n"))
}

fn add(bench: &GpuBench, name: &str, rows: &[ProductRow], table: &mut Table) {
    for row in rows {
        let speed = row.bytes as f64 / (row.microseconds * 1e-6);
        table.add_row([
            name.to_owned(),
            row.values.to_owned(),
            row.vectors.to_owned(),
            format!("{:.1}", row.microseconds),
            format!("{:.0}", speed * 1e-9),
            format!("{:.0}", 100.0 * speed / bench.bandwidth),
            format!("{:.2}", rows[0].microseconds / row.microseconds),
            cell(row.cusparse, 1),
            cell(row.cusparse.map(|peer| peer / row.microseconds), 2),
        ]);
    }
}

/// Products with one matrix in all precisions; double comes first.
pub(super) fn products(bench: &GpuBench, name: &str) -> Result<Vec<ProductRow>> {
    let a = &bench.problems.get(name)?.matrix;
    Ok(vec![
        with_peer::<f64>(bench, a)?,
        with_peer::<f32>(bench, a)?,
        ours::<f32, f64>(bench, a)?.0,
        ours::<f16, f16>(bench, a)?.0,
        ours::<f16, f32>(bench, a)?.0,
        ours::<f16, f64>(bench, a)?.0,
        ours::<bf16, bf16>(bench, a)?.0,
        ours::<bf16, f32>(bench, a)?.0,
    ])
}

/// What matrices are multiplied with.
fn ramp<V: Scalar>(len: usize) -> Result<Vector<V>> {
    let host = vcycle::executor::Executor::cpu();
    let values = (0..len).map(|i| 1.0 + (i % 7) as f64 / 8.0).collect();
    let wide = Vector::<f64>::from_column(&host, values);
    let mut x = Vector::zeros_like(&wide)?;
    x.copy_from(&wide)?;
    Ok(x)
}

/// Bytes of a product, everything counted once.
fn bytes<M, V>(a: &Csr<f64>) -> usize {
    let (size, index) = (a.size(), size_of::<u32>());
    a.nonzeros() * (size_of::<M>() + index)
        + (size.rows + 1) * index
        + (size.rows + size.cols) * size_of::<V>()
}

fn copies(bytes: usize) -> usize {
    BEYOND_CACHES.div_ceil(bytes.max(1)).min(MOST_COPIES)
}

/// The time, and the product itself.
fn ours<M: Mixes<V, V>, V: Scalar>(
    bench: &GpuBench,
    a: &Csr<f64>,
) -> Result<(ProductRow, Vector<V>)> {
    let bytes = bytes::<M, V>(a);
    let narrow = a.convert::<M>()?;
    let x = ramp::<V>(a.size().cols)?;
    let mut operands = Vec::new();
    for _ in 0..copies(bytes) {
        operands.push((
            narrow.copy_to(&bench.executor)?,
            x.copy_to(&bench.executor)?,
            Vector::<V>::zeros(&bench.executor, a.size().rows, 1)?,
        ));
    }
    let ws = Workspace::new();
    let count = operands.len();
    let mut round = || {
        let mut products = operands.iter_mut();
        Ok(products.try_for_each(|(a, x, y)| a.apply(x, y, &ws))?)
    };
    let microseconds = microseconds(&bench.device, count, &mut round)?;
    let row = ProductRow {
        values: M::KIND.name(),
        vectors: V::KIND.name(),
        bytes,
        microseconds,
        cusparse: None,
    };
    Ok((row, operands.swap_remove(0).2))
}

/// The same product by cuSPARSE, where there is one.
fn with_peer<V: Mixes<V, V> + CusparseReal>(bench: &GpuBench, a: &Csr<f64>) -> Result<ProductRow> {
    let (mut row, y) = ours::<V, V>(bench, a)?;
    if let Ok(cusparse) = Cusparse::load(&bench.device) {
        let x = ramp::<V>(a.size().cols)?;
        let (best, theirs) = cusparse.best(&a.convert::<V>()?, x.host()?, copies(row.bytes))?;
        check(&y.to_vec(), &theirs)?;
        row.cusparse = Some(best);
    }
    Ok(row)
}

/// Fails unless both are the same but for rounding.
fn check<V: CusparseReal>(ours: &[V], theirs: &[V]) -> Result<()> {
    let pairs = ours.iter().zip(theirs);
    let pairs = pairs.map(|(&ours, &theirs)| (ours.to_f64(), theirs.to_f64()));
    let (mut most, mut largest) = (0.0_f64, 0.0_f64);
    for (ours, theirs) in pairs {
        most = most.max((ours - theirs).abs());
        largest = largest.max(ours.abs());
    }
    match most <= 1e-5 * largest {
        true => Ok(()),
        false => Err(format!("cuSPARSE found another product, {most:.1e} off").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vcycle::executor::Executor;

    #[test]
    fn everything_is_counted_once() {
        let a = Csr::<f64>::identity(&Executor::reference(), 10);
        assert_eq!(bytes::<f64, f64>(&a), 10 * 12 + 11 * 4 + 2 * 80);
        assert_eq!(bytes::<f16, f32>(&a), 10 * 6 + 11 * 4 + 2 * 40);
        assert_eq!((copies(1), copies(100 << 20), copies(1 << 30)), (32, 3, 1));
    }

    #[test]
    fn products_are_compared() {
        assert!(check(&[1.0, 2.0], &[1.0, 2.0 + 1e-9]).is_ok());
        assert!(check(&[1.0_f32, 2.0], &[1.1, 2.0]).is_err());
    }
}
