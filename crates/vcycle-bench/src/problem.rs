//! The matrices of the benchmarks.

use std::io::Read;
use std::path::Path;

use vcycle::executor::Executor;
use vcycle::linop::Size;
use vcycle::matrix::{Csr, Duplicates};

use crate::Result;

/// `poisson7:N`, `poisson27:N` or a Matrix Market file (`.mtx`, `.mtx.xz`).
pub(crate) fn matrix(executor: &Executor, name: &str) -> Result<Csr<f64>> {
    match name.split_once(':') {
        Some(("poisson7", size)) => poisson(executor, size.parse()?, 1, 6.0),
        Some(("poisson27", size)) => poisson(executor, size.parse()?, 3, 26.0),
        _ => read(executor, Path::new(name)),
    }
}

/// The neighbours at most `reach` steps away, -1 each, in a cube of `n` points a side.
fn poisson(executor: &Executor, n: usize, reach: usize, diagonal: f64) -> Result<Csr<f64>> {
    let around = |i: usize| i.saturating_sub(1)..(i + 2).min(n);
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for point in 0..n * n * n {
        let (x, y, z) = (point % n, point / n % n, point / n / n);
        for k in around(z) {
            for j in around(y) {
                for i in around(x) {
                    let steps = k.abs_diff(z) + j.abs_diff(y) + i.abs_diff(x);
                    if steps <= reach {
                        columns.push(((k * n + j) * n + i) as u32);
                        values.push(if steps == 0 { diagonal } else { -1.0 });
                    }
                }
            }
        }
        offsets.push(columns.len());
    }
    let size = Size::square(n * n * n);
    Ok(Csr::from_arrays(
        executor,
        size,
        offsets,
        columns,
        values,
        Duplicates::Refuse,
    )?)
}

/// A real Matrix Market file with coordinates, general or symmetric.
fn read(executor: &Executor, path: &Path) -> Result<Csr<f64>> {
    let named = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut text = String::new();
    let mut file = std::fs::File::open(path).map_err(named)?;
    match path.extension() {
        Some(end) if end == "xz" => liblzma::read::XzDecoder::new(file).read_to_string(&mut text),
        _ => file.read_to_string(&mut text),
    }
    .map_err(named)?;
    let symmetric = text
        .lines()
        .next()
        .is_some_and(|line| line.contains("symmetric"));
    let mut numbers = text
        .lines()
        .filter(|line| !line.starts_with('%'))
        .flat_map(str::split_whitespace);
    let mut next = || numbers.next().ok_or("the file ends early");
    let (rows, cols, count) = (
        next()?.parse()?,
        next()?.parse()?,
        next()?.parse::<usize>()?,
    );
    let mut entries: Vec<(usize, u32, f64)> = Vec::with_capacity(2 * count);
    for _ in 0..count {
        let (row, column): (usize, usize) = (next()?.parse()?, next()?.parse()?);
        let value = next()?.parse()?;
        entries.push((row - 1, column as u32 - 1, value));
        if symmetric && row != column {
            entries.push((column - 1, row as u32 - 1, value));
        }
    }
    entries.sort_by_key(|&(row, column, _)| (row, column));
    let offsets = (0..=rows)
        .map(|row| entries.partition_point(|entry| entry.0 < row))
        .collect();
    let columns = entries.iter().map(|entry| entry.1).collect();
    let values = entries.iter().map(|entry| entry.2).collect();
    let size = Size::new(rows, cols);
    Ok(Csr::from_arrays(
        executor,
        size,
        offsets,
        columns,
        values,
        Duplicates::Sum,
    )?)
}
