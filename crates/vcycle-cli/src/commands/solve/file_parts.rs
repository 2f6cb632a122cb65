//! Files that ranks read in parts.

use vcycle::gallery;
use vcycle::io::{self, MatrixReader};
use vcycle::linop::{Size, check_size};
use vcycle::matrix::Duplicates;

use crate::args::{PartitionKind, SolveArgs};
use crate::input::{looks_like_file, real_columns};
use crate::prelude::*;

/// A file of which every rank reads its part, and the right-hand side that one of them has read.
pub struct FileParts {
    source: String,
    reader: MatrixReader,
    b: Option<Vector<f64>>,
}

impl FileParts {
    /// Whether the ranks of a solve can read its file in parts: nothing else needs the whole matrix.
    pub fn can_read_parts(args: &SolveArgs, kind: PartitionKind) -> bool {
        let (source, rhs) = (args.input.source.as_str(), args.rhs.as_deref());
        let is_plain_rhs = |rhs| rhs == "ones" || is_real_file(Path::new(rhs));
        kind == PartitionKind::Rows
            && needs_no_whole(args)
            && rhs.is_none_or(is_plain_rhs)
            && !gallery::is_problem(source)
            && io::is_read_in_parts(Path::new(source))
    }

    /// Reads the right-hand side, where that is in a file, if this rank `leads`.
    pub fn new(args: &SolveArgs, host: &Executor, leads: bool) -> Result<Self> {
        let mut reader = MatrixReader::default();
        if args.input.sum_duplicates {
            reader.duplicates = Duplicates::Sum;
        }
        let rhs = args.rhs.as_deref().filter(|&rhs| leads && rhs != "ones");
        let read = |rhs| real_columns("--rhs", Path::new(rhs), host);
        let b = rhs.map(read).transpose()?;
        Ok(Self {
            source: args.input.source.clone(),
            reader,
            b,
        })
    }

    pub fn name(&self) -> &str {
        &self.source
    }

    /// Own rows of the matrix and of the right-hand side.
    pub fn part(&self, rank: &Executor) -> vcycle::Result<(System, Vector<f64>)> {
        let a = self.reader.read_in_parts(Path::new(&self.source), rank)?;
        let (team, rows) = (a.team(), a.rows().total() as usize);
        let size = self.b.as_ref().map(Vector::size);
        let size = size.filter(|_| team.rank() == 0);
        let cols = team.all_numbers(size.map_or(0, |size| size.cols) as u64)?[0] as usize;
        let fits = size.map_or(Ok(()), |found| {
            check_size("right-hand side", Size::new(rows, found.cols), found)
        });
        team.agree(fits)?;
        let b = match cols {
            0 => Vector::filled(rank, a.size().rows, 1, 1.0)?,
            cols => {
                let b = self.b.as_ref().filter(|_| team.rank() == 0);
                let own = a.spread_values(b.map(Vector::to_vec).as_deref(), cols)?;
                Vector::from_rows(rank, cols, own)?
            }
        };
        Ok((System::new(Arc::new(a)), b))
    }
}

/// Whether a right-hand side is a file that can be read; others are reported where all is read at once.
fn is_real_file(path: &Path) -> bool {
    looks_like_file(path) && path.exists()
}

/// Whether no option asks for the whole matrix, or for vectors that belong to it.
pub(super) fn needs_no_whole(args: &SolveArgs) -> bool {
    let known = &args.known;
    args.x0.is_none()
        && args.report.is_none()
        && args.trace.is_none()
        && known.near_nullspace.is_none()
        && known.coordinates.is_none()
        && known.block_size.is_none()
}
