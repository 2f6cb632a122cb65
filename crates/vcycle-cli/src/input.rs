//! Systems from files and from the gallery.

use std::path::Path;

use vcycle::config::{AnySystem, Wide};
use vcycle::executor::Executor;
use vcycle::gallery;
use vcycle::io::{self, AnyVector, MatrixReader};
use vcycle::matrix::{Csr, Duplicates};
use vcycle::scalar::{Scalar, c64, convert};
use vcycle::vector::Vector;

use crate::args::InputArgs;
use crate::error::{CliError, Result};

/// What the source of a system tells beside the system.
pub struct Source {
    pub name: String,
    /// Where each unknown lies, of problems in the plane.
    pub plane: Option<Vec<[f64; 2]>>,
    rhs: Option<Vec<f64>>,
}

/// Reads a file if there is one of that name or it looks like one, else makes a problem of the gallery.
pub fn read(
    args: &InputArgs,
    executor: &Executor,
    progress: &mut dyn FnMut(io::Progress),
) -> Result<(Source, AnySystem)> {
    let source = args.source.as_str();
    let path = Path::new(source);
    if !gallery::is_problem(source) && (path.exists() || looks_like_file(path)) {
        let mut reader = MatrixReader::default();
        if args.sum_duplicates {
            reader.duplicates = Duplicates::Sum;
        }
        let file = Source {
            name: source.to_owned(),
            plane: None,
            rhs: None,
        };
        return Ok((file, reader.read(path, executor, progress)?.into()));
    }
    let mut problem = gallery::build(source, executor)?;
    let made = Source {
        plane: problem.plane(),
        name: std::mem::take(&mut problem.name),
        rhs: Some(std::mem::take(&mut problem.rhs)),
    };
    Ok((made, AnySystem::Real(problem.into())))
}

fn looks_like_file(path: &Path) -> bool {
    path.extension().is_some() || path.components().count() > 1
}

impl Source {
    /// The right-hand side of a system asked for, or its own, or ones. Takes its own.
    pub fn right_hand_side<T: Wide>(
        &mut self,
        a: &Csr<T>,
        spec: Option<&str>,
    ) -> Result<Vector<T>> {
        let (executor, rows) = (a.executor(), a.size().rows);
        match (spec, self.rhs.take()) {
            (None, Some(own)) => {
                let own = own.into_iter().map(convert).collect();
                Ok(Vector::from_column(executor, own))
            }
            (None | Some("ones"), _) => Ok(Vector::filled(executor, rows, 1, 1.0)?),
            (Some(spec), _) => match spec.strip_prefix("random") {
                Some(rest) if rest.is_empty() || rest.starts_with(':') => {
                    let seed = seed(rest.trim_start_matches(':'))?;
                    Ok(Vector::from_column(executor, random(rows, seed)))
                }
                _ => from_file(spec, executor, rows),
            },
        }
    }
}

fn seed(text: &str) -> Result<u64> {
    text.parse().map_err(|_| CliError::Option {
        option: "--rhs",
        reason: format!("`random:{text}` needs a whole number as its seed, like random:1"),
    })
}

/// Numbers between -1 and 1, the same for the same seed (SplitMix64, Steele et al. 2014).
fn random<T: Scalar>(rows: usize, seed: u64) -> Vec<T> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as f64 / u64::MAX as f64 * 2.0 - 1.0
    };
    (0..rows)
        .map(|_| T::from_c64(c64::new(next(), next())))
        .collect()
}

fn from_file<T: Scalar>(spec: &str, executor: &Executor, rows: usize) -> Result<Vector<T>> {
    let unusable = |reason: String| CliError::Option {
        option: "--rhs",
        reason: format!("`{spec}` {reason}"),
    };
    if !looks_like_file(Path::new(spec)) && !Path::new(spec).exists() {
        let reason = "is neither a file nor `ones` or `random:SEED`";
        return Err(unusable(reason.to_owned()));
    }
    let b = io::read_vector(spec, executor)?;
    if b.size().rows != rows {
        let found = b.size().rows;
        return Err(unusable(format!("has {found} rows, the matrix has {rows}")));
    }
    match b {
        AnyVector::Complex(_) if !T::KIND.is_complex() => {
            Err(unusable("is complex, the matrix is real".to_owned()))
        }
        AnyVector::Complex(b) => Ok(converted(&b)?),
        AnyVector::Real(b) => Ok(converted(&b)?),
    }
}

fn converted<S: Scalar, T: Scalar>(v: &Vector<S>) -> vcycle::Result<Vector<T>> {
    let mut out = Vector::zeros_like(v)?;
    out.copy_from(v)?;
    Ok(out)
}
