//! Systems from files and from the gallery.

use std::io::IsTerminal;

use vcycle::gallery::{self, Problem};
use vcycle::io::{self, AnyMatrix, AnyVector, MatrixReader};
use vcycle::matrix::{Duplicates, Extent};
use vcycle::multigrid::NearNullspace;
use vcycle::scalar::{Scalar, c64, convert};

use crate::args::{InputArgs, KnownArgs};
use crate::prelude::*;

/// Says whether a matrix of some size may be read or made: what needs more memory than there is, is refused before.
pub type Admit = Arc<dyn Fn(Extent) -> vcycle::Result<()> + Send + Sync>;

/// What the source of a system has beside the system.
pub struct Source {
    pub name: String,
    /// Where each unknown lies, of problems in the plane.
    pub plane: Option<Vec<[f64; 2]>>,
    rhs: Option<Vec<f64>>,
}

/// Reads standard input for `-`, a file if there is one of that name or it looks like one, else makes a problem of
/// the gallery, unless that is `made` already.
pub fn read(
    args: &InputArgs,
    (executor, made): (&Executor, Option<Problem>),
    admit: Admit,
    progress: &mut dyn FnMut(io::Progress),
) -> Result<(Source, AnySystem)> {
    let source = args.source.as_str();
    let path = Path::new(source);
    let asked = Arc::clone(&admit);
    let mut reader = MatrixReader::default().asking(move |extent| asked(extent));
    if args.sum_duplicates {
        reader.duplicates = Duplicates::Sum;
    }
    if source == "-" {
        return read_standard_input(&reader, executor, progress);
    }
    if gallery::is_complex_problem(source) {
        let problem = gallery::build_complex(source, executor)?;
        let made = Source::unknown(&problem.name);
        return Ok((made, AnyMatrix::Complex(problem.matrix).into()));
    }
    if !gallery::is_problem(source) && (path.exists() || looks_like_file(path)) {
        let matrix = reader.read(path, executor, progress)?;
        return Ok((Source::unknown(source), matrix.into()));
    }
    admit(gallery::extent(source)?)?;
    let mut problem = match made {
        Some(made) => made,
        None => gallery::build(source, executor)?,
    };
    let made = Source {
        plane: problem.plane(),
        name: std::mem::take(&mut problem.name),
        rhs: Some(std::mem::take(&mut problem.rhs)),
    };
    Ok((made, AnySystem::Real(problem.into())))
}

fn read_standard_input(
    reader: &MatrixReader,
    executor: &Executor,
    progress: &mut dyn FnMut(io::Progress),
) -> Result<(Source, AnySystem)> {
    const NAME: &str = "standard input";
    let stream = std::io::stdin();
    if stream.is_terminal() {
        return Err(CliError::Terminal);
    }
    let matrix = reader.read_stream(NAME, Box::new(stream), executor, progress)?;
    Ok((Source::unknown(NAME), matrix.into()))
}

/// Whether a name is that of a file rather than of something made.
pub fn looks_like_file(path: &Path) -> bool {
    path.extension().is_some() || path.components().count() > 1
}

impl Source {
    /// Of a matrix of which nothing more is known.
    fn unknown(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            plane: None,
            rhs: None,
        }
    }

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
                    let (seed, columns) = seed_and_columns(rest.trim_start_matches(':'))?;
                    let values = random(rows * columns, seed);
                    Ok(Vector::from_rows(executor, columns, values)?)
                }
                _ => right_hand_side_file(spec, executor, rows),
            },
        }
    }
}

/// Of `SEED` or `SEED,COLUMNS`.
fn seed_and_columns(text: &str) -> Result<(u64, usize)> {
    let (seed, columns) = text.split_once(',').unwrap_or((text, "1"));
    let columns = columns.parse().ok().filter(|&columns| columns > 0);
    let found = seed.parse().ok().zip(columns);
    found.ok_or_else(|| {
        let wanted = "needs a whole number as its seed, like random:1, and perhaps columns, like random:1,32";
        CliError::option("--rhs", format!("`random:{text}` {wanted}"))
    })
}

/// Numbers between -1 and 1, the same for the same seed (SplitMix64, Steele et al. 2014).
fn random<T: Scalar>(count: usize, seed: u64) -> Vec<T> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as f64 / u64::MAX as f64 * 2.0 - 1.0
    };
    (0..count)
        .map(|_| T::from_c64(c64::new(next(), next())))
        .collect()
}

fn right_hand_side_file<T: Scalar>(
    spec: &str,
    executor: &Executor,
    rows: usize,
) -> Result<Vector<T>> {
    let (option, path) = ("--rhs", Path::new(spec));
    if !looks_like_file(path) && !path.exists() {
        let reason = "is neither a file nor `ones` or `random:SEED[,COLUMNS]`";
        return Err(CliError::file(option, path, reason));
    }
    columns_of(option, path, executor, rows)
}

/// The initial guess of a file, for every column of `b`: one for all of them, or as many as it has.
pub fn guess<T: Scalar>(path: &Path, b: &Vector<T>) -> Result<Vector<T>> {
    const OPTION: &str = "--x0";
    let guess: Vector<T> = columns_of(OPTION, path, b.executor(), b.rows())?;
    match (guess.cols(), b.cols()) {
        (found, wanted) if found == wanted => Ok(guess),
        (1, wanted) => {
            let repeated = |value: T| std::iter::repeat_n(value, wanted);
            let rows = guess.to_vec().into_iter().flat_map(repeated).collect();
            Ok(Vector::from_rows(b.executor(), wanted, rows)?)
        }
        (found, wanted) => {
            let reason = format!(
                "has {found} columns; 1 or {wanted} are needed, as the right-hand side has"
            );
            Err(CliError::file(OPTION, path, &reason))
        }
    }
}

/// The columns of a file, as long as the matrix.
fn columns_of<T: Scalar>(
    option: &'static str,
    path: &Path,
    executor: &Executor,
    rows: usize,
) -> Result<Vector<T>> {
    let columns = io::read_vector(path, executor)?;
    let found = columns.size().rows;
    if found != rows {
        let reason = format!("has {found} rows, the matrix has {rows}");
        return Err(CliError::file(option, path, &reason));
    }
    match columns {
        AnyVector::Complex(_) if !T::KIND.is_complex() => {
            let reason = "is complex, the matrix is real";
            Err(CliError::file(option, path, reason))
        }
        AnyVector::Complex(columns) => Ok(converted(&columns)?),
        AnyVector::Real(columns) => Ok(converted(&columns)?),
    }
}

fn converted<S: Scalar, T: Scalar>(v: &Vector<S>) -> vcycle::Result<Vector<T>> {
    let mut out = Vector::zeros_like(v)?;
    out.copy_from(v)?;
    Ok(out)
}

/// The columns of a file of real numbers.
pub fn real_columns(option: &'static str, path: &Path, executor: &Executor) -> Result<Vector<f64>> {
    match io::read_vector(path, executor)? {
        AnyVector::Real(columns) => Ok(columns),
        AnyVector::Complex(_) => {
            let reason = "is complex, real numbers are needed";
            Err(CliError::file(option, path, reason))
        }
    }
}

/// What the options say of the matrix beside its entries, if anything.
pub fn near_nullspace(args: &KnownArgs, executor: &Executor) -> Result<Option<NearNullspace>> {
    let block_size = args.block_size.unwrap_or(1);
    if let Some(path) = &args.near_nullspace {
        let vectors = real_columns("--near-nullspace", path, executor)?;
        let (values, cols) = (vectors.to_vec(), vectors.cols());
        let column = |column| values.iter().skip(column).step_by(cols).copied().collect();
        let near = NearNullspace::new(block_size, (0..cols).map(column).collect())?;
        return Ok(Some(near));
    }
    if let Some(path) = &args.coordinates {
        return rigid_body_modes(path, args.block_size, executor).map(Some);
    }
    let components = args.block_size.map(NearNullspace::components);
    Ok(components.transpose()?)
}

fn rigid_body_modes(
    path: &Path,
    block_size: Option<usize>,
    executor: &Executor,
) -> Result<NearNullspace> {
    let option = "--coordinates";
    let points = real_columns(option, path, executor)?;
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
