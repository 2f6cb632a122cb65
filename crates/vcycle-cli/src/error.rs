//! What ends the program with status 2.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use vcycle::config::ConfigError;
use vcycle::io::Problem;

pub type Result<T> = std::result::Result<T, CliError>;

/// Bad input, or a file that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    #[error(transparent)]
    Library(#[from] vcycle::Error),
    #[error("{}: cannot be written: {source}", path.display())]
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
    /// An option whose value cannot be used.
    #[error("{option}: {reason}")]
    Option {
        option: &'static str,
        reason: String,
    },
    /// The matrix is read from standard input, and that is a terminal.
    #[error("standard input: it is a terminal, a matrix is needed")]
    Terminal,
    /// The program of the benchmarks does not start.
    #[error("{}", no_benchmarks(.0))]
    Benchmarks(std::io::Error),
}

impl CliError {
    /// What to do about it, where that is known. Matching has been tried, unless it was refused.
    pub fn hint(&self, matching_refused: bool) -> Option<String> {
        match self {
            CliError::Library(vcycle::Error::Config(error)) => config_hint(error),
            CliError::Library(error) => library_hint(error, matching_refused),
            CliError::Benchmarks(_) => Some(
                "`cargo build --release -p vcycle-bench` builds it, `cargo install --path crates/vcycle-bench` installs it"
                    .to_owned(),
            ),
            CliError::Terminal => Some("`zcat matrix.mtx.gz | vcycle solve -` reads a matrix from there".to_owned()),
            CliError::Write { .. } | CliError::Option { .. } => None,
        }
    }

    /// Fails where a file could not be written for want of its folder.
    pub fn check_folder(path: &Path) -> Result<()> {
        let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
        let there = folder.map_or(Ok(()), |folder| std::fs::read_dir(folder).map(drop));
        there.map_err(Self::writing(path))
    }

    /// For an option whose value cannot be used.
    pub fn option(option: &'static str, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::Option { option, reason }
    }

    /// For an option whose file cannot be used.
    pub fn file(option: &'static str, path: &Path, reason: &str) -> Self {
        Self::option(option, format!("`{}` {reason}", path.display()))
    }

    /// For a file that could not be written.
    pub fn writing(path: &Path) -> impl FnOnce(std::io::Error) -> CliError {
        let path = path.to_owned();
        |source| CliError::Write { path, source }
    }
}

fn config_hint(error: &ConfigError) -> Option<String> {
    let (known, suggestion) = match error {
        ConfigError::UnknownName {
            known, suggestion, ..
        } => (known.join(", "), suggestion),
        ConfigError::UnknownKey {
            known, suggestion, ..
        } => (known.join(", "), suggestion),
        ConfigError::NotAvailable { .. } => {
            return Some("`vcycle config` and `vcycle devices` list what there is".to_owned());
        }
        _ => return None,
    };
    match (known.as_str(), suggestion) {
        ("", _) => Some("it has no parameters".to_owned()),
        (_, None) => Some(format!("known are {known}")),
        (_, Some(_)) => None,
    }
}

fn library_hint(error: &vcycle::Error, matching_refused: bool) -> Option<String> {
    use vcycle::Error::{
        BadPivot, File, NonFiniteEntry, NonFiniteVector, NotEnoughMemory, NotSquare, ZeroDiagonal,
    };
    if let File(file) = error
        && let Problem::Matrix(inner) = &file.problem
    {
        return library_hint(inner, matching_refused);
    }
    let hint = match error {
        File(file) if matches!(file.problem, Problem::Duplicate { .. }) => {
            "--sum-duplicates adds such entries up"
        }
        ZeroDiagonal { .. } | BadPivot { .. } if matching_refused => {
            "rows are counted from 0 here; `--match mc64` moves large entries to the diagonal; or choose another \
             preconditioner: `auto` falls back by itself, `none` always works"
        }
        ZeroDiagonal { .. } | BadPivot { .. } => {
            "rows are counted from 0 here; choose another preconditioner, or `--solver gmres`, which bears a matched \
             matrix: `auto` falls back by itself, `--precond none` always works"
        }
        NotSquare { .. } => "only square systems are solved; for least squares form A^H A first",
        NonFiniteEntry { .. } | NonFiniteVector { .. } => {
            "the data is damaged: look at how it was written"
        }
        NotEnoughMemory { .. } => {
            "`--solver cg --precond jacobi` needs the least; VCYCLE_MEMORY=unlimited tries it all the same"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

fn no_benchmarks(source: &std::io::Error) -> String {
    match source.kind() {
        ErrorKind::NotFound => "the program `vcycle-bench`, which has the benchmarks, is neither beside this program nor on PATH".to_owned(),
        _ => format!("the program `vcycle-bench` does not start: {source}"),
    }
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        CliError::Library(error.into())
    }
}
