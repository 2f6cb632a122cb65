//! Lines of entries, parsed by all threads at once.

use super::header::{Header, ValueKind};
use super::number;
use super::text::{Text, line_ends, pieces};
use crate::error::{Fault, Place, Problem};
use crate::executor::Executor;
use crate::io::memory::reserve;
use crate::io::triplets::{EntrySymmetry, Triplets};
use crate::scalar::{Field, c64};

/// Bytes of text that one thread parses at a time.
const PIECE: usize = 1 << 20;

/// A type that entries of a file are read into.
pub(super) trait ParsedValue: Field {
    /// Reads the words of one value.
    fn read(cursor: &mut Cursor<'_>, field: ValueKind) -> Result<Self, Problem>;
}

impl ParsedValue for f64 {
    #[inline(always)]
    fn read(cursor: &mut Cursor<'_>, field: ValueKind) -> Result<f64, Problem> {
        match field {
            ValueKind::Pattern => Ok(1.0),
            ValueKind::Integer => cursor.whole_number(),
            ValueKind::Real | ValueKind::Complex => cursor.number(),
        }
    }
}

impl ParsedValue for c64 {
    #[inline(always)]
    fn read(cursor: &mut Cursor<'_>, _: ValueKind) -> Result<c64, Problem> {
        Ok(c64::new(cursor.number()?, cursor.number()?))
    }
}

/// What a piece of text is parsed to.
pub(super) trait ParsedPiece: Sized + Send {
    /// Parses whole lines.
    fn parse(text: &[u8], lines: usize, header: &Header) -> Result<Self, (usize, Problem)>;
    /// Entries in it.
    fn len(&self) -> usize;
}

impl<T: ParsedValue> ParsedPiece for Triplets<T> {
    fn parse(text: &[u8], lines: usize, header: &Header) -> Result<Self, (usize, Problem)> {
        let nowhere = |problem| (0, problem);
        let mut rows = reserve(lines).map_err(nowhere)?;
        let mut columns = reserve(lines).map_err(nowhere)?;
        let mut values = reserve(lines).map_err(nowhere)?;
        each_line(text, |cursor| {
            let (row, column, value) = entry(cursor, header)?;
            rows.push(row);
            columns.push(column);
            values.push(value);
            Ok(())
        })?;
        Ok(Triplets::new(rows, columns, values, header.symmetry))
    }

    fn len(&self) -> usize {
        Triplets::len(self)
    }
}

/// The values of an array.
impl<T: ParsedValue> ParsedPiece for Vec<T> {
    fn parse(text: &[u8], lines: usize, header: &Header) -> Result<Self, (usize, Problem)> {
        let mut values = reserve(lines).map_err(|problem| (0, problem))?;
        each_line(text, |cursor| {
            let start = cursor.at;
            let value = T::read(cursor, header.field)?;
            if !value.is_finite() {
                cursor.at = start;
                return Err(cursor.unexpected("a finite number"));
            }
            values.push(value);
            Ok(())
        })?;
        Ok(values)
    }

    fn len(&self) -> usize {
        Vec::len(self)
    }
}

/// What is done with the pieces of a block, with its text and the number of lines before it.
pub(super) type EachBlock<'e, P> = dyn FnMut(Vec<P>, &[u8], usize) -> Result<(), Fault> + 'e;

/// Parses the rest of a text and counts its lines; the next block is read while one is parsed.
pub(super) fn blocks<P: ParsedPiece>(
    text: &mut Text,
    executor: &Executor,
    header: &Header,
    lines: &mut usize,
    each: &mut EachBlock<'_, P>,
) -> Result<(), Fault> {
    let (mut current, mut spare) = (text.block(Vec::new())?, Vec::new());
    while !current.is_empty() {
        let parse = || block::<P>(executor, &current, header, *lines);
        let (next, parsed) = match text.ended {
            true => (Ok(Vec::new()), parse()),
            false => executor.join(|| text.block(std::mem::take(&mut spare)), parse),
        };
        let (pieces, more) = parsed?;
        each(pieces, &current, *lines)?;
        *lines += more;
        spare = std::mem::replace(&mut current, next?);
    }
    Ok(())
}

/// Parses a block of whole lines; `before` lines precede it. Returns the number of its lines.
fn block<P: ParsedPiece>(
    executor: &Executor,
    text: &[u8],
    header: &Header,
    before: usize,
) -> Result<(Vec<P>, usize), Fault> {
    let parsed = executor.run(text.len(), pieces(text, PIECE), |piece| {
        let ends = line_ends(piece);
        let lines = ends + usize::from(piece.last() != Some(&b'\n'));
        let result =
            P::parse(piece, lines, header).map_err(|(at, problem)| problem.at(place(piece, at)));
        (result, ends)
    });
    let mut all = Vec::with_capacity(parsed.len());
    let mut lines = 0;
    for (result, ends) in parsed {
        all.push(result.map_err(|fault| moved_down(fault, before + lines))?);
        lines += ends;
    }
    Ok((all, lines))
}

/// The line of the `skip`-th entry of a block, from 0.
pub(super) fn line_of_entry(text: &[u8], before: usize, skip: usize) -> Place {
    let is_entry = |line: &&[u8]| {
        let start = line.iter().find(|&&byte| !number::is_space(byte));
        start.is_some_and(|&byte| byte != b'%')
    };
    let lines = text.split(|&byte| byte == b'\n').enumerate();
    let line = lines.filter(|(_, line)| is_entry(line)).nth(skip);
    Place {
        line: before + line.map_or(0, |(line, _)| line) + 1,
        column: 1,
    }
}

fn place(text: &[u8], at: usize) -> Place {
    let before = &text[..at];
    let start = before.iter().rposition(|&byte| byte == b'\n');
    Place {
        line: line_ends(before) + 1,
        column: at - start.map_or(0, |start| start + 1) + 1,
    }
}

/// The same fault so many lines further down.
pub(super) fn moved_down(fault: Fault, lines: usize) -> Fault {
    let place = fault.place.map(|place| Place {
        line: place.line + lines,
        ..place
    });
    Fault { place, ..fault }
}

/// `each` at the beginning of every line that is neither blank nor a comment; it must leave the
/// cursor behind the last word.
#[inline(always)]
fn each_line(
    text: &[u8],
    mut each: impl FnMut(&mut Cursor<'_>) -> Result<(), Problem>,
) -> Result<(), (usize, Problem)> {
    let mut cursor = Cursor { text, at: 0 };
    while cursor.find_entry() {
        each(&mut cursor)
            .and_then(|()| cursor.end_of_line())
            .map_err(|problem| (cursor.at, problem))?;
    }
    Ok(())
}

/// One line of a coordinate file; indices from 0.
#[inline(always)]
fn entry<T: ParsedValue>(
    cursor: &mut Cursor<'_>,
    header: &Header,
) -> Result<(u32, u32, T), Problem> {
    let start = cursor.at;
    let row = cursor.index("row", header.size.rows)?;
    let column = cursor.index("column", header.size.cols)?;
    let value = T::read(cursor, header.field)?;
    let problem = if !value.is_finite() {
        Some(Problem::NonFinite {
            row: row as usize,
            column: column as usize,
        })
    } else {
        symmetry_problem(header.symmetry, row, column, value)
    };
    match problem {
        None => Ok((row - 1, column - 1, value)),
        Some(problem) => {
            cursor.at = start;
            Err(problem)
        }
    }
}

/// What is wrong with an entry in view of the symmetry announced; indices from 1.
#[inline(always)]
pub(super) fn symmetry_problem<T: Field>(
    symmetry: EntrySymmetry,
    row: u32,
    column: u32,
    value: T,
) -> Option<Problem> {
    let reason = match symmetry {
        EntrySymmetry::General => return None,
        _ if row > column => return None,
        _ if row < column => "is above the diagonal",
        EntrySymmetry::Symmetric => return None,
        EntrySymmetry::Skew => "is on the diagonal",
        EntrySymmetry::Hermitian if value.conj() != value => "is on the diagonal and not real",
        EntrySymmetry::Hermitian => return None,
    };
    Some(Problem::Symmetry {
        row: row as usize,
        column: column as usize,
        symmetry: symmetry.name(),
        reason,
    })
}

/// A place in a text. After a problem it is at the word that caused it.
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    /// Goes to the next word that begins an entry; `false` at the end of the text.
    #[inline(always)]
    fn find_entry(&mut self) -> bool {
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'%' => self.skip_line(),
                byte if number::is_space(byte) => self.at += 1,
                _ => return true,
            }
        }
        false
    }

    #[cold]
    fn skip_line(&mut self) {
        let end = self.text[self.at..].iter().position(|&byte| byte == b'\n');
        self.at = end.map_or(self.text.len(), |end| self.at + end);
    }

    /// Skips blanks within the line.
    #[inline(always)]
    fn skip_blanks(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    #[inline(always)]
    fn rest(&self) -> &[u8] {
        &self.text[self.at..]
    }

    /// An index from 1 to `limit`.
    #[inline(always)]
    fn index(&mut self, axis: &'static str, limit: usize) -> Result<u32, Problem> {
        self.skip_blanks();
        let Some((index, length)) = number::integer(self.rest()) else {
            return Err(self.unexpected("an index"));
        };
        if index == 0 || index > limit as u64 {
            return Err(Problem::IndexOutOfRange { axis, index, limit });
        }
        self.at += length;
        Ok(index as u32)
    }

    #[inline(always)]
    fn number(&mut self) -> Result<f64, Problem> {
        self.skip_blanks();
        let Some((value, length)) = number::decimal(self.rest()) else {
            return Err(self.unexpected("a number"));
        };
        self.at += length;
        Ok(value)
    }

    fn whole_number(&mut self) -> Result<f64, Problem> {
        self.skip_blanks();
        match number::decimal(self.rest()) {
            Some((value, length)) if value.fract() == 0.0 || !value.is_finite() => {
                self.at += length;
                Ok(value)
            }
            _ => Err(self.unexpected("an integer")),
        }
    }

    #[inline(always)]
    fn end_of_line(&mut self) -> Result<(), Problem> {
        self.skip_blanks();
        match self.text.get(self.at) {
            None | Some(b'\n') => Ok(()),
            Some(_) => Err(self.unexpected("the end of the line")),
        }
    }

    #[cold]
    fn unexpected(&self, expected: &'static str) -> Problem {
        let word = number::word(self.rest());
        let shown = &word[..word.len().min(40)];
        let found = match shown.is_empty() {
            true => "end of line".to_owned(),
            false => shown.escape_ascii().to_string(),
        };
        Problem::Token { expected, found }
    }
}
