//! Files that ranks read in parts.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use super::header::{FileLayout, Header, ValueKind};
use super::parse::{self, ParsedPiece};
use super::text::{LONGEST_LINE, Text};
use crate::communicator::Communicator;
use crate::error::{Error, Fault, Problem, Result, in_file};
use crate::executor::Executor;
use crate::io::MatrixReader;
use crate::io::triplets::{Triplets, check_plausible};
use crate::matrix::{Distributed, Extent};

/// Whether ranks can read a plain file in parts: that of a sparse, real and square matrix.
pub(in crate::io) fn is_read_in_parts(path: &Path) -> bool {
    let header = Part::open(path, 0, 1).map(|part| part.header);
    header.is_ok_and(|header| {
        let is_sparse = header.layout == FileLayout::Coordinate;
        let is_square = header.size.rows == header.size.cols;
        is_sparse && is_square && header.field != ValueKind::Complex
    })
}

/// The rows of a rank, of a file that [can be read in parts](is_read_in_parts): every rank parses its part of the text, and entries
/// are sent to the ranks of their rows. All ranks call it together.
pub(in crate::io) fn read(
    path: &Path,
    rank: &Executor,
    team: &dyn Communicator,
    reader: &MatrixReader,
) -> Result<Distributed<f64>> {
    let (own, ranks) = (team.rank(), team.size());
    let begun = Part::open(path, own, ranks).and_then(|part| {
        part.admit(reader, rank, ranks)?;
        Ok(part)
    });
    let part = team.agree(in_file(path, begun))?;
    let mut lines = 0;
    let parsed = part.parse(&rank.alone(), &mut lines);
    let before = team.all_numbers(lines as u64)?[..own].iter().sum::<u64>() as usize;
    let before = part.lines + before;
    let parsed = parsed.map_err(|fault| parse::moved_down(fault, before));
    let pieces = team.agree(in_file(path, parsed))?;
    let count: usize = pieces.iter().map(ParsedPiece::len).sum();
    let counts = team.all_numbers(count as u64)?;
    let checked = part.check_counts(&rank.alone(), &counts, own, before);
    team.agree(in_file(path, checked))?;
    let symmetry = part.header.symmetry;
    let entries = pieces.iter().flat_map(|piece| piece.entries(symmetry));
    let rows = part.header.size.rows as u64;
    let made = Distributed::from_entries(rank, rows, 1, entries, reader.duplicates);
    made.or_else(|error| named(error, path, team))
}

/// The error of the rank that has failed, with the name of the file, on all ranks.
fn named<T>(error: Error, path: &Path, team: &dyn Communicator) -> Result<T> {
    let own = match error {
        Error::DuplicateEntry { .. } => in_file(path, Err(Problem::from(error).into())),
        Error::OtherRank { .. } => Ok(()),
        other => Err(other),
    };
    team.agree(own)?;
    Err(Error::Team("no rank could read its part".to_owned()))
}

/// The lines of entries that a rank parses.
struct Part {
    header: Header,
    /// Lines before the first entry of all.
    lines: usize,
    file: File,
    range: Range<u64>,
}

impl Part {
    /// The part of one of so many ranks. It begins with the first line after as many bytes as are its share.
    fn open(path: &Path, rank: usize, ranks: usize) -> Result<Self, Fault> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut text = Text::new(Box::new(file.try_clone()?));
        let header = Header::read(&mut text)?;
        header.check_length(length)?;
        check_plausible(header.size, header.entries)?;
        let (first, lines) = (text.bytes, text.lines);
        let share = |rank: usize| {
            let bytes = u128::from(length.saturating_sub(first)) * rank as u128;
            first + (bytes / ranks as u128) as u64
        };
        let begin = |rank: usize| match share(rank) {
            place if place <= first => Ok(first),
            place if place >= length => Ok(length),
            place => line_at(&file, place),
        };
        let range = begin(rank)?..begin(rank + 1)?;
        Ok(Self {
            header,
            lines,
            file,
            range,
        })
    }

    /// Fails where a rank has no memory for its share.
    fn admit(&self, reader: &MatrixReader, rank: &Executor, ranks: usize) -> Result<(), Problem> {
        let (extent, triplets) = self.header.extent();
        let share = Extent {
            rows: extent.rows / ranks,
            entries: extent.entries / ranks,
            ..extent
        };
        reader.admission.check(share, triplets / ranks, rank)
    }

    /// Its text.
    fn text(&self) -> Result<Text, Fault> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(self.range.start))?;
        let length = self.range.end - self.range.start;
        Ok(Text::new(Box::new(file.take(length))))
    }

    /// All entries; counts the lines that were read.
    fn parse(&self, executor: &Executor, lines: &mut usize) -> Result<Vec<Triplets<f64>>, Fault> {
        let mut all = Vec::new();
        let mut each = |pieces: Vec<_>, _: &[u8], _: usize| {
            all.extend(pieces);
            Ok(())
        };
        parse::blocks(&mut self.text()?, executor, &self.header, lines, &mut each)?;
        Ok(all)
    }

    /// Fails, on the rank with the first one too many, where there are more entries or fewer than announced.
    fn check_counts(
        &self,
        executor: &Executor,
        counts: &[u64],
        rank: usize,
        before: usize,
    ) -> Result<(), Fault> {
        let (expected, found) = (self.header.entries, counts.iter().sum::<u64>() as usize);
        if found < expected && rank == 0 {
            return Err(Problem::TooFewEntries { expected, found }.into());
        }
        let above = counts[..rank].iter().sum::<u64>() as usize;
        let mut missing = match (above..above + counts[rank] as usize).contains(&expected) {
            true => expected - above,
            false => return Ok(()),
        };
        let mut each = |pieces: Vec<Triplets<f64>>, block: &[u8], lines: usize| {
            let here: usize = pieces.iter().map(ParsedPiece::len).sum();
            if missing < here {
                let place = parse::line_of_entry(block, lines, missing);
                return Err(Problem::TooManyEntries { expected, found }.at(place));
            }
            missing -= here;
            Ok(())
        };
        let mut lines = before;
        parse::blocks(
            &mut self.text()?,
            executor,
            &self.header,
            &mut lines,
            &mut each,
        )
    }
}

/// Where the first line begins that does not begin before a place.
fn line_at(file: &File, place: u64) -> Result<u64, Fault> {
    let mut file = file.try_clone()?;
    file.seek(SeekFrom::Start(place - 1))?;
    let mut rest = Vec::new();
    let mut limited = BufReader::new(file.take(LONGEST_LINE as u64));
    limited.read_until(b'\n', &mut rest)?;
    Ok(place - 1 + rest.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::communicator::threads;
    use crate::io::AnyMatrix;
    use crate::matrix::Csr;

    /// What ranks read of a text: the whole matrix, or what rank 0 says.
    fn read_by(ranks: usize, name: &str, text: &str) -> Result<Csr<f64>, String> {
        let name = format!("vcycle-part-{}-{name}.mtx", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        let read = threads::run(ranks, |team| {
            let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
            let a = MatrixReader::default().read_in_parts(&path, &rank);
            Ok(match a {
                Ok(a) => a.gathered()?.ok_or_else(String::new),
                Err(error) => Err(error.to_string()),
            })
        });
        std::fs::remove_file(&path).unwrap();
        read.unwrap().swap_remove(0)
    }

    #[test]
    fn parts_make_the_matrix_that_one_reader_makes() {
        let symmetric = "%%MatrixMarket matrix coordinate real symmetric\n% c\n4 4 6\n1 1 2.5\n2 1 -1\n\n2 2 3.5\n% c\n3 3 4\n4 1 -0.25\n4 4 5";
        let general = "%%MatrixMarket matrix coordinate integer general\r\n3 3 4\r\n3 1 7\r\n1 1 1\r\n2 2 1\r\n3 3 1\r\n";
        for (name, text) in [("symmetric", symmetric), ("general", general)] {
            let stream = Box::new(std::io::Cursor::new(text.as_bytes().to_vec()));
            let one = MatrixReader::default();
            let one = one.read_stream("text", stream, &Executor::cpu(), &mut |_| {});
            let AnyMatrix::Real(expected) = one.unwrap() else {
                panic!("a real matrix")
            };
            for ranks in [1, 2, 3, 9] {
                let found = read_by(ranks, name, text).unwrap();
                assert_eq!(found.offsets(), expected.offsets());
                assert_eq!(found.columns(), expected.columns());
                assert_eq!(found.values(), expected.values());
            }
        }
    }

    #[test]
    fn faults_name_the_line_of_the_file() {
        let head = "%%MatrixMarket matrix coordinate real general\n% c\n3 3 4\n";
        let cases = [
            ("word", "1 1 2\n2 2 2\n3 3 x\n1 2 1\n", ":6:5"),
            ("many", "1 1 2\n2 2 2\n3 3 2\n1 2 1\n\n2 1 1\n", ":9:1"),
            ("few", "1 1 2\n2 2 2.000\n3 3 2\n", "4"),
            ("twice", "1 1 2\n2 2 2\n3 3 2\n3 3 1\n", "row 3, column 3"),
        ];
        for (name, entries, expected) in cases {
            for ranks in [1, 2, 3] {
                let message = read_by(ranks, name, &format!("{head}{entries}")).unwrap_err();
                assert!(
                    message.contains(expected),
                    "{name}, {ranks} ranks: {message}"
                );
            }
        }
    }
}
