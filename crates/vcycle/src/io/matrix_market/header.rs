//! The banner and the size line.

use super::number;
use super::text::Text;
use crate::error::{Fault, Place, Problem};
use crate::io::triplets::EntrySymmetry;
use crate::linop::Size;
use crate::matrix::Extent;
use crate::scalar::c64;

/// What a Matrix Market file says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) layout: FileLayout,
    pub(super) field: ValueKind,
    pub(super) symmetry: EntrySymmetry,
    pub(super) size: Size,
    /// Stored values; one triangle of a symmetric matrix.
    pub(super) entries: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileLayout {
    /// `row column value` on each line.
    Coordinate,
    /// All values, column by column.
    Array,
}

/// What values an entry has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    Real,
    Integer,
    Complex,
    Pattern,
}

impl Header {
    /// Reads up to and including the size line.
    pub(super) fn read(text: &mut Text) -> Result<Self, Fault> {
        let (layout, field, symmetry) = banner(text)?;
        let line = size_line(text)?;
        let place = Place {
            line: text.lines,
            column: 1,
        };
        let wrong = |reason: &str| Problem::SizeLine(reason.to_owned()).at(place);
        let (size, entries) = match (layout, numbers(&line)?.as_slice()) {
            (FileLayout::Coordinate, &[rows, cols, entries]) => {
                (Size::new(rows, cols), Some(entries))
            }
            (FileLayout::Array, &[rows, cols]) => {
                let size = Size::new(rows, cols);
                (size, stored(size, symmetry))
            }
            (FileLayout::Coordinate, _) => {
                return Err(wrong("rows, columns and entries are needed"));
            }
            (FileLayout::Array, _) => return Err(wrong("rows and columns are needed")),
        };
        if symmetry != EntrySymmetry::General && size.rows != size.cols {
            return Err(wrong("only a square matrix can be symmetric"));
        }
        if size.rows.max(size.cols) > u32::MAX as usize {
            return Err(wrong("more rows or columns than 32-bit indices can number"));
        }
        Ok(Self {
            layout,
            field,
            symmetry,
            size,
            entries: entries.ok_or_else(|| wrong("too many values"))?,
        })
    }

    /// How large the matrix will be, as far as one can know, and the bytes of its entries as they are read.
    pub(super) fn extent(&self) -> (Extent, usize) {
        let entries = match self.symmetry {
            EntrySymmetry::General => self.entries,
            _ => self.entries.saturating_mul(2),
        };
        let value_bytes = match self.field {
            ValueKind::Complex => size_of::<c64>(),
            _ => size_of::<f64>(),
        };
        let extent = Extent {
            rows: self.size.rows,
            entries,
            value_bytes,
        };
        let triplet = 2 * size_of::<u32>() + value_bytes;
        (extent, self.entries.saturating_mul(triplet))
    }

    /// Fails if `bytes` of text are too short for the entries announced.
    pub(super) fn check_length(&self, bytes: u64) -> Result<(), Problem> {
        let value = match self.field {
            ValueKind::Real | ValueKind::Integer => 2,
            ValueKind::Complex => 4,
            ValueKind::Pattern => 0,
        };
        let shortest = match self.layout {
            FileLayout::Coordinate => 4 + value,
            FileLayout::Array => value,
        };
        // The last line may lack its end.
        let most = usize::try_from((bytes + 1) / shortest).unwrap_or(usize::MAX);
        match self.entries > most {
            true => Err(Problem::TooShort {
                expected: self.entries,
                most,
            }),
            false => Ok(()),
        }
    }
}

fn banner(text: &mut Text) -> Result<(FileLayout, ValueKind, EntrySymmetry), Fault> {
    let place = Place { line: 1, column: 1 };
    let wrong = |reason: String| Problem::Banner(reason).at(place);
    let line = text
        .line()?
        .ok_or_else(|| wrong("the file is empty".to_owned()))?;
    let line = line.escape_ascii().to_string().to_lowercase();
    let words: Vec<&str> = line.trim_end_matches("\\r").split_whitespace().collect();
    let &["%%matrixmarket", "matrix", layout, field, symmetry] = words.as_slice() else {
        let shown: String = line.chars().take(80).collect();
        return Err(wrong(format!(
            "expected `%%MatrixMarket matrix FORMAT FIELD SYMMETRY`, found `{shown}`"
        )));
    };
    let layout = match layout {
        "coordinate" => FileLayout::Coordinate,
        "array" => FileLayout::Array,
        other => return Err(wrong(format!("unknown format `{other}`"))),
    };
    let field = match field {
        "real" | "double" => ValueKind::Real,
        "integer" => ValueKind::Integer,
        "complex" => ValueKind::Complex,
        "pattern" => ValueKind::Pattern,
        other => return Err(wrong(format!("unknown field `{other}`"))),
    };
    let symmetry = match symmetry {
        "general" => EntrySymmetry::General,
        "symmetric" => EntrySymmetry::Symmetric,
        "skew-symmetric" => EntrySymmetry::Skew,
        "hermitian" => EntrySymmetry::Hermitian,
        other => return Err(wrong(format!("unknown symmetry `{other}`"))),
    };
    let valued = layout == FileLayout::Array || symmetry == EntrySymmetry::Skew;
    let meaningless = (field == ValueKind::Pattern && valued)
        || (field != ValueKind::Complex && symmetry == EntrySymmetry::Hermitian);
    match meaningless {
        true => Err(wrong(format!("`{}` has no meaning", words[2..].join(" ")))),
        false => Ok((layout, field, symmetry)),
    }
}

/// The first line that is neither blank nor a comment.
fn size_line(text: &mut Text) -> Result<Vec<u8>, Fault> {
    while let Some(line) = text.line()? {
        let start = line.iter().find(|&&byte| !number::is_space(byte));
        if start.is_some_and(|&byte| byte != b'%') {
            return Ok(line);
        }
    }
    Err(Problem::SizeLine("the file ends before it".to_owned()).into())
}

fn numbers(line: &[u8]) -> Result<Vec<usize>, Fault> {
    line.split(|&byte| number::is_space(byte))
        .filter(|word| !word.is_empty())
        .map(|word| match number::integer(word) {
            Some((value, _)) => Ok(usize::try_from(value).unwrap_or(usize::MAX)),
            None => Err(Problem::SizeLine(format!(
                "expected a number, found `{}`",
                word.escape_ascii()
            ))
            .into()),
        })
        .collect()
}

/// How many values an array has; `None` if too many to count.
fn stored(size: Size, symmetry: EntrySymmetry) -> Option<usize> {
    match symmetry {
        EntrySymmetry::General => size.rows.checked_mul(size.cols),
        EntrySymmetry::Skew => Some(size.rows.checked_mul(size.rows.saturating_sub(1))? / 2),
        EntrySymmetry::Symmetric | EntrySymmetry::Hermitian => {
            Some(size.rows.checked_mul(size.rows.checked_add(1)?)? / 2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Header, Problem> {
        let bytes = text.as_bytes().to_vec();
        Header::read(&mut Text::new(Box::new(std::io::Cursor::new(bytes))))
            .map_err(|fault| fault.problem)
    }

    #[test]
    fn banners_are_read_in_any_case() {
        let header = read("%%matrixmarket MATRIX Array Complex HERMITIAN \r\n% c\r\n\r\n 3 3 \r\n");
        let Header {
            layout,
            field,
            symmetry,
            entries,
            ..
        } = header.unwrap();
        assert_eq!((layout, field), (FileLayout::Array, ValueKind::Complex));
        assert_eq!((symmetry, entries), (EntrySymmetry::Hermitian, 6));
        let header = read("%%MatrixMarket matrix array real skew-symmetric\n3 3\n").unwrap();
        assert_eq!(header.entries, 3);
    }

    #[test]
    fn wrong_banners_and_sizes_are_refused() {
        for kind in [
            "matrix coordinate real",
            "vector coordinate real general",
            "matrix dense real general",
            "matrix coordinate quaternion general",
            "matrix coordinate real lopsided",
            "matrix array pattern general",
            "matrix coordinate real hermitian",
            "matrix coordinate pattern skew-symmetric",
        ] {
            let text = format!("%%MatrixMarket {kind}\n1 1 1\n");
            assert!(matches!(read(&text), Err(Problem::Banner(_))), "{text}");
        }
        for text in ["", "1 1 1\n"] {
            assert!(matches!(read(text), Err(Problem::Banner(_))), "{text}");
        }
        for sizes in "|2 2|2 2 x|2 2 -1|2 3 1|5000000000 5000000000 1".split('|') {
            let text = format!("%%MatrixMarket matrix coordinate real symmetric\n%\n{sizes}\n");
            assert!(matches!(read(&text), Err(Problem::SizeLine(_))), "{sizes}");
        }
    }

    #[test]
    fn a_short_file_cannot_hold_many_entries() {
        let announced = |banner: &str, sizes: &str| {
            read(&format!("%%MatrixMarket matrix {banner}\n{sizes}\n")).unwrap()
        };
        let pattern = announced("coordinate pattern general", "9 9 3");
        assert!(pattern.check_length(11).is_ok());
        assert!(pattern.check_length(10).is_err());
        let huge = announced("coordinate real general", "9 9 1000000000000");
        assert!(matches!(
            huge.check_length(1000),
            Err(Problem::TooShort { most: 166, .. })
        ));
    }
}
