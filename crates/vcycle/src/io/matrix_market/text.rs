//! A stream of text, taken by lines or by blocks of whole lines.

use std::io::{BufRead, BufReader, Read};

use crate::error::{Fault, Place, Problem};

/// The longest line accepted. The format allows 1024 bytes; comments in the wild are longer.
pub(super) const LONGEST_LINE: usize = 1 << 20;
/// Bytes of text in one block: the threads share it while the next one is read.
const BLOCK: usize = 16 << 20;

const TOO_LONG: Problem = Problem::LineTooLong {
    limit: LONGEST_LINE,
};

/// A text whose lines are counted.
pub(super) struct Text {
    stream: BufReader<Box<dyn Read + Send>>,
    /// The beginning of a line whose end has not been read.
    rest: Vec<u8>,
    /// Lines taken one by one so far, and their bytes.
    pub(super) lines: usize,
    pub(super) bytes: u64,
    /// Whether all blocks have been taken.
    pub(super) ended: bool,
}

impl Text {
    pub(super) fn new(stream: Box<dyn Read + Send>) -> Self {
        Self {
            stream: BufReader::with_capacity(1 << 16, stream),
            rest: Vec::new(),
            lines: 0,
            bytes: 0,
            ended: false,
        }
    }

    /// The next line without its end; `None` after the last one.
    pub(super) fn line(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        let mut line = Vec::new();
        let mut limited = (&mut self.stream).take(LONGEST_LINE as u64);
        let taken = limited.read_until(b'\n', &mut line)?;
        if taken == 0 {
            return Ok(None);
        }
        self.lines += 1;
        self.bytes += taken as u64;
        if line.pop_if(|byte| *byte == b'\n').is_none() && line.len() >= LONGEST_LINE {
            return Err(TOO_LONG.at(Place {
                line: self.lines,
                column: 1,
            }));
        }
        Ok(Some(line))
    }

    /// The next whole lines in the memory of `block`; empty after the last one.
    pub(super) fn block(&mut self, mut block: Vec<u8>) -> Result<Vec<u8>, Fault> {
        block.clear();
        block.append(&mut self.rest);
        let wanted = BLOCK - block.len();
        let found = (&mut self.stream)
            .take(wanted as u64)
            .read_to_end(&mut block)?;
        self.ended = found < wanted;
        if !self.ended {
            let end = block
                .iter()
                .rposition(|&byte| byte == b'\n')
                .map_or(0, |at| at + 1);
            if block.len() - end > LONGEST_LINE {
                return Err(TOO_LONG.into());
            }
            self.rest.extend_from_slice(&block[end..]);
            block.truncate(end);
        }
        Ok(block)
    }
}

/// How many lines end in a text; short runs are counted in single bytes, many at once.
pub(super) fn line_ends(text: &[u8]) -> usize {
    let count = |run: &[u8]| run.iter().map(|&byte| u8::from(byte == b'\n')).sum::<u8>();
    text.chunks(usize::from(u8::MAX))
        .map(|run| usize::from(count(run)))
        .sum()
}

/// Cuts a text at line ends into pieces of about `length` bytes.
pub(super) fn pieces(mut text: &[u8], length: usize) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    while !text.is_empty() {
        let from = length.min(text.len());
        let end = text[from..].iter().position(|&byte| byte == b'\n');
        let (piece, rest) = text.split_at(end.map_or(text.len(), |at| from + at + 1));
        pieces.push(piece);
        text = rest;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> Text {
        Text::new(Box::new(std::io::Cursor::new(bytes.to_vec())))
    }

    #[test]
    fn lines_then_blocks() {
        let mut text = text(b"a\nb\nc\nd");
        assert_eq!(text.line().unwrap().unwrap(), b"a");
        assert_eq!(text.block(Vec::new()).unwrap(), b"b\nc\nd");
        assert!(text.block(Vec::new()).unwrap().is_empty());
    }

    #[test]
    fn blocks_end_with_lines() {
        let line = b"0123456789\n";
        let bytes: Vec<u8> = line.iter().copied().cycle().take(BLOCK + 5).collect();
        let mut text = text(&bytes);
        let first = text.block(Vec::new()).unwrap();
        assert_eq!(first.last(), Some(&b'\n'));
        let second = text.block(Vec::new()).unwrap();
        assert_eq!([first, second].concat(), bytes);
    }

    #[test]
    fn line_ends_are_counted() {
        assert_eq!(line_ends(&vec![b'\n'; 1000]), 1000);
        assert_eq!(line_ends(b"a\nb"), 1);
    }

    #[test]
    fn endless_lines_are_refused() {
        let endless = || text(&vec![b'1'; BLOCK + 1]);
        assert!(endless().line().is_err());
        assert!(endless().block(Vec::new()).is_err());
    }

    #[test]
    fn pieces_keep_lines_whole() {
        assert_eq!(
            pieces(b"1 1\n22 2\n3", 2),
            [b"1 1\n".as_slice(), b"22 2\n", b"3"]
        );
        assert!(pieces(b"", 2).is_empty());
    }
}
