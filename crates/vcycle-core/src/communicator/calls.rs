//! What ranks call, and whether all of them call the same.
//!
//! Ranks that take different ways wait for each other for ever, or take the numbers of another sum for theirs. Where calls are
//! compared, every rank sends those that it works with a line of text before each operation: what it calls, with how many numbers, and where. A
//! line that is not the expected one ends all ranks with both.

use std::fmt::{self, Display, Formatter};
use std::panic::Location;
use std::sync::OnceLock;

use super::{Communicator, Span};
use crate::error::Result;

/// The environment variable that says whether ranks compare their calls.
const ASKED: &str = "VCYCLE_CHECK_RANKS";

/// Without being asked, unoptimised programs compare the calls of so many ranks: every rank sends a line to each other one.
const FEW: usize = 64;

/// Bytes of a line; longer ones are cut.
const LINE: usize = 192;

type Line = [u8; LINE];

/// An operation, how many numbers or bytes it is for, and where it is called.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    operation: Operation,
    size: usize,
    place: &'static Location<'static>,
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    Sum,
    Exchange,
    AllToAll,
    Split,
}

impl Call {
    #[track_caller]
    pub(super) fn sum(numbers: usize) -> Self {
        Self::new(Operation::Sum, numbers)
    }

    #[track_caller]
    pub(super) fn exchange() -> Self {
        Self::new(Operation::Exchange, 0)
    }

    #[track_caller]
    pub(super) fn all_to_all() -> Self {
        Self::new(Operation::AllToAll, 0)
    }

    #[track_caller]
    pub(super) fn split() -> Self {
        Self::new(Operation::Split, 0)
    }

    #[track_caller]
    fn new(operation: Operation, size: usize) -> Self {
        let place = Location::caller();
        Self {
            operation,
            size,
            place,
        }
    }

    fn line(&self) -> Line {
        let (mut line, text) = ([0; LINE], self.to_string());
        let bytes = text.len().min(LINE);
        line[..bytes].copy_from_slice(&text.as_bytes()[..bytes]);
        line
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let size = self.size;
        match self.operation {
            Operation::Sum => write!(f, "adds {size} numbers"),
            Operation::Exchange if size == 0 => write!(f, "exchanges messages"),
            Operation::Exchange => write!(f, "exchanges {size} bytes"),
            Operation::AllToAll => write!(f, "gathers messages"),
            Operation::Split => write!(f, "splits the team"),
        }?;
        write!(f, " at {}:{}", self.place.file(), self.place.line())
    }
}

/// Whether so many ranks compare their calls.
pub(super) fn are_compared(ranks: usize) -> bool {
    static COMPARED: OnceLock<Option<bool>> = OnceLock::new();
    let asked = COMPARED.get_or_init(|| Some(std::env::var(ASKED).ok()? != "0"));
    asked.unwrap_or(cfg!(debug_assertions) && ranks <= FEW)
}

impl dyn Communicator + '_ {
    /// Begins an operation of all ranks.
    pub(super) fn together(&self, call: Call) -> Result<()> {
        match self.begins(call) {
            true => {
                let others = (0..self.size()).filter(|&rank| rank != self.rank());
                let lines: Vec<_> = others.map(|rank| (rank, call.line())).collect();
                self.compare(&lines, &lines)
            }
            false => Ok(()),
        }
    }

    /// Begins an operation with the ranks that messages go to and come from.
    pub(super) fn beside(&self, call: Call, sent: &[Span], received: &[Span]) -> Result<()> {
        if !self.begins(call) {
            return Ok(());
        }
        let line = |span: &Span| {
            let size = span.bytes;
            (span.rank, Call { size, ..call }.line())
        };
        let lines = |spans: &[Span]| spans.iter().map(line).collect::<Vec<_>>();
        self.compare(&lines(sent), &lines(received))
    }

    fn compare(&self, sent: &[(usize, Line)], expected: &[(usize, Line)]) -> Result<()> {
        let span = |rank: usize, address: u64| Span {
            rank,
            address,
            bytes: LINE,
        };
        let mut found = vec![[0; LINE]; expected.len()];
        let own = sent
            .iter()
            .map(|(rank, line)| span(*rank, line.as_ptr() as u64));
        let others = expected.iter().zip(&mut found);
        let others = others.map(|((rank, _), line)| span(*rank, line.as_mut_ptr() as u64));
        let (own, others): (Vec<_>, Vec<_>) = (own.collect(), others.collect());
        // SAFETY: lines of these arrays, which are here until it returns.
        unsafe { self.transfer(&own, &others, &mut || Ok(())) }?;
        match expected
            .iter()
            .zip(&found)
            .find(|((_, line), found)| line != *found)
        {
            None => Ok(()),
            Some(((other, own), found)) => Err(self.give_up(format!(
                "ranks do not call the same: rank {} {}, rank {other} {}",
                self.rank(),
                text(own),
                text(found)
            ))),
        }
    }
}

fn text(line: &Line) -> String {
    let text = String::from_utf8_lossy(line);
    text.trim_end_matches('\0').to_owned()
}
