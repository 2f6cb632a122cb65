//! What is known of a matrix beside its entries.

use std::path::Path;

use vcycle::executor::Executor;
use vcycle::io::{self, AnyVector};
use vcycle::multigrid::NearNullspace;
use vcycle::vector::Vector;

use crate::args::KnownArgs;
use crate::error::{CliError, Result};

/// What the options tell of the matrix, if anything.
pub fn near_nullspace(args: &KnownArgs, executor: &Executor) -> Result<Option<NearNullspace>> {
    let block_size = args.block_size.unwrap_or(1);
    if let Some(path) = &args.near_nullspace {
        let vectors = real_columns(path, "--near-nullspace", executor)?;
        let columns = (0..vectors.cols()).map(|column| self::column(&vectors, column));
        return Ok(Some(NearNullspace::new(block_size, columns.collect())?));
    }
    if let Some(path) = &args.coordinates {
        return rigid_body_modes(path, args.block_size, executor).map(Some);
    }
    match args.block_size {
        None => Ok(None),
        Some(size) => Ok(Some(NearNullspace::components(size)?)),
    }
}

fn rigid_body_modes(
    path: &Path,
    block_size: Option<usize>,
    executor: &Executor,
) -> Result<NearNullspace> {
    let option = "--coordinates";
    let points = real_columns(path, option, executor)?;
    let dimension = points.cols();
    let refuse = |reason| Err(CliError::option(option, reason));
    if !(2..=3).contains(&dimension) {
        let file = path.display();
        return refuse(format!(
            "`{file}` has {dimension} columns; a node has 2 or 3 coordinates"
        ));
    }
    if block_size.is_some_and(|size| size != dimension) {
        return refuse(format!(
            "a node with {dimension} coordinates has {dimension} unknowns"
        ));
    }
    let point = |row: &[f64]| std::array::from_fn(|axis| row.get(axis).copied().unwrap_or(0.0));
    let points: Vec<[f64; 3]> = points.host()?.chunks(dimension).map(point).collect();
    Ok(NearNullspace::rigid_body_modes(dimension, &points)?)
}

fn real_columns(path: &Path, option: &'static str, executor: &Executor) -> Result<Vector<f64>> {
    match io::read_vector(path, executor)? {
        AnyVector::Real(columns) => Ok(columns),
        AnyVector::Complex(_) => Err(CliError::file(option, path, "is complex")),
    }
}

fn column(vectors: &Vector<f64>, column: usize) -> Vec<f64> {
    let values = vectors.to_vec();
    values
        .into_iter()
        .skip(column)
        .step_by(vectors.cols())
        .collect()
}
