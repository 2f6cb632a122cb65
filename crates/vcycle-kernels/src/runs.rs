//! Runs of similar rows: a product reads what they have in common once, not for each of them.

use std::ops::Range;

/// Fewer rows than this are no run: going from one run to the next costs as much as they save.
const WORTH: usize = 8;
/// Rows with the same columns that are looked for: nodes of up to so many unknowns.
const MOST_SAME: usize = 12;
/// Rows with more entries than this are not short.
pub const SHORT: usize = 8;

/// What the rows of a run have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alike {
    /// Each has the columns of the row before it, moved by one: matrices of grids are made of these.
    Moved,
    /// Groups of so many rows, 2 to 4, have the same columns each.
    Same(u8),
    /// The same, and the columns are neighbours, too, in groups of as many: the unknowns of nodes.
    Nodes(u8),
    /// All are short and equally long.
    Equal,
    /// All are short.
    Short,
    /// Nothing.
    Not,
}

/// Rows from `first` up to the next run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first row.
    pub first: usize,
    /// What its rows have in common.
    pub alike: Alike,
}

/// What is found out about the rows of a pattern.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// Piece by piece.
    pub list: Vec<Run>,
    /// First columns of nodes, as [`node_columns`] has them, piece by piece.
    pub nodes: Vec<u32>,
}

/// The runs of one piece of a pattern's rows. None crosses the bounds of a piece, so every piece begins with one.
pub fn runs(piece: Range<usize>, offsets: &[usize], columns: &[u32]) -> Vec<Run> {
    PieceRows { offsets, columns }.runs(piece)
}

/// The runs of the rows of one piece with their rows.
pub fn runs_within(
    runs: &[Run],
    rows: Range<usize>,
) -> impl Iterator<Item = (Alike, Range<usize>)> {
    let from = runs.partition_point(|run| run.first < rows.start);
    let inside = move |run: &&Run| run.first < rows.end;
    runs[from..]
        .iter()
        .take_while(inside)
        .enumerate()
        .map(move |(index, run)| {
            let next = runs.get(from + index + 1);
            let end = next.map_or(rows.end, |next| next.first.min(rows.end));
            (run.alike, run.first..end)
        })
}

/// The first columns of the nodes in a piece's runs of [`Alike::Nodes`] of a size: those of a row begin at the place of its first
/// entry over `size * size`, counted from the same of the piece. So they follow each other as the rows do.
pub fn node_columns(
    runs: &[Run],
    size: u8,
    piece: Range<usize>,
    offsets: &[usize],
    columns: &[u32],
) -> Vec<u32> {
    let step = usize::from(size);
    let place = |row: usize| offsets[row] / (step * step);
    let start = place(piece.start);
    let mut nodes = vec![0; place(piece.end) - start];
    let of_size = runs_within(runs, piece).filter(|(alike, _)| *alike == Alike::Nodes(size));
    for row in of_size.flat_map(|(_, rows)| rows.step_by(step)) {
        let row_columns = &columns[offsets[row]..offsets[row + 1]];
        let to = &mut nodes[place(row) - start..];
        for (to, node) in to.iter_mut().zip(row_columns.chunks(step)) {
            *to = node[0];
        }
    }
    nodes
}

struct PieceRows<'a> {
    offsets: &'a [usize],
    columns: &'a [u32],
}

impl PieceRows<'_> {
    #[inline]
    fn length(&self, row: usize) -> usize {
        self.offsets[row + 1] - self.offsets[row]
    }

    #[inline]
    fn columns(&self, row: usize) -> &[u32] {
        &self.columns[self.offsets[row]..self.offsets[row + 1]]
    }

    /// The runs of a piece; rows between two of them are one more, without much in common.
    fn runs(&self, piece: Range<usize>) -> Vec<Run> {
        let mut runs = Vec::new();
        let (mut loose, mut row) = (piece.start, piece.start);
        while row < piece.end {
            let (alike, count) = self.run_at(row, piece.end);
            if alike != Alike::Not {
                self.push_loose(loose..row, &mut runs);
                runs.push(Run { first: row, alike });
                loose = row + count;
            }
            row += count;
        }
        self.push_loose(loose..row, &mut runs);
        runs
    }

    fn push_loose(&self, rows: Range<usize>, runs: &mut Vec<Run>) {
        let first = rows.start;
        let short = rows.clone().all(|row| self.length(row) <= SHORT);
        let alike = if short { Alike::Short } else { Alike::Not };
        if !rows.is_empty() {
            runs.push(Run { first, alike });
        }
    }

    /// The run that begins with a row, and its length.
    fn run_at(&self, row: usize, end: usize) -> (Alike, usize) {
        let length = self.length(row);
        let mut count = self.moved(row, end);
        if count >= WORTH && length > 0 {
            return (Alike::Moved, count);
        }
        if length > SHORT {
            return match self.same(row, end) {
                Some((size, count)) => match self.are_nodes(row..row + count, size) {
                    true => (Alike::Nodes(size as u8), count),
                    false => (Alike::Same(size as u8), count),
                },
                None => (Alike::Not, 1),
            };
        }
        while row + count < end && self.length(row + count) == length {
            let next = self.moved(row + count, end.min(row + count + WORTH));
            if next >= WORTH {
                break;
            }
            count += next;
        }
        match count >= WORTH && (1..=SHORT).contains(&length) {
            true => (Alike::Equal, count),
            false => (Alike::Not, count),
        }
    }

    /// The size of groups of rows with the same columns from `row` on, and how many rows they are.
    fn same(&self, row: usize, end: usize) -> Option<(usize, usize)> {
        let alike = |first: usize, most: usize| {
            let like = |&other: &usize| self.columns(other) == self.columns(first);
            1 + (first + 1..end.min(first + most)).take_while(like).count()
        };
        let found = alike(row, MOST_SAME);
        let size = [3, 4, 2].into_iter().find(|size| found % size == 0)?;
        let mut count = found;
        while row + count + size <= end && alike(row + count, size) == size {
            count += size;
        }
        (count >= WORTH).then_some((size, count))
    }

    /// Whether the columns of groups of rows are neighbours, in groups of as many.
    fn are_nodes(&self, rows: Range<usize>, size: usize) -> bool {
        let is_node = |node: &[u32]| {
            node.len() == size
                && (node[0]..)
                    .zip(node)
                    .all(|(wanted, &found)| wanted == found)
        };
        rows.step_by(size)
            .all(|row| self.columns(row).chunks(size).all(is_node))
    }

    /// How many rows from `row` on follow each other moved by one column.
    fn moved(&self, row: usize, end: usize) -> usize {
        let follows = |&below: &usize| {
            let (above, below) = (self.columns(below - 1), self.columns(below));
            above.len() == below.len() && above.iter().zip(below).all(|(a, b)| a + 1 == *b)
        };
        1 + (row + 1..end).take_while(follows).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pattern from its rows.
    fn pattern(rows: &[Vec<u32>]) -> (Vec<usize>, Vec<u32>) {
        let mut offsets = vec![0];
        offsets.extend(rows.iter().scan(0, |sum, row| {
            *sum += row.len();
            Some(*sum)
        }));
        (offsets, rows.concat())
    }

    fn found(rows: &[Vec<u32>], pieces: &[usize]) -> Vec<(Alike, Range<usize>)> {
        let (offsets, columns) = pattern(rows);
        let pieces = pieces.windows(2);
        let runs: Vec<Run> = pieces
            .clone()
            .flat_map(|pair| runs(pair[0]..pair[1], &offsets, &columns))
            .collect();
        pieces
            .flat_map(|pair| runs_within(&runs, pair[0]..pair[1]).collect::<Vec<_>>())
            .collect()
    }

    /// Ten rows that move, ten of equal length, then some of other lengths.
    fn rows() -> Vec<Vec<u32>> {
        let mut rows: Vec<Vec<u32>> = (0..10).map(|row| vec![row, row + 3]).collect();
        rows.extend((0..10).map(|row| vec![row * 7 % 5, 20]));
        rows.extend([vec![1], vec![], vec![1, 2, 3]]);
        rows.push((0..30).collect());
        rows
    }

    #[test]
    fn rows_alike_are_found() {
        let expected = [
            (Alike::Moved, 0..10),
            (Alike::Equal, 10..20),
            (Alike::Not, 20..24),
        ];
        assert_eq!(found(&rows(), &[0, 24]), expected);
        let short = found(&rows()[..23], &[0, 23]);
        assert_eq!(short[2], (Alike::Short, 20..23));
    }

    #[test]
    fn nodes_are_found_from_their_first_row_on() {
        let of_node = |node: u32| (node..node + 12).collect::<Vec<u32>>();
        let rows: Vec<_> = (0..30).map(|row| of_node(row / 3)).collect();
        let expected = [(Alike::Not, 0..2), (Alike::Nodes(3), 2..29)];
        assert_eq!(found(&rows[1..], &[0, 29]), expected);
        let pairs: Vec<_> = (0..10).map(|row| of_node(row / 2 * 2)).collect();
        assert_eq!(found(&pairs, &[0, 10]), [(Alike::Nodes(2), 0..10)]);
        assert_eq!(
            found(&pairs, &[0, 9]),
            [(Alike::Nodes(2), 0..8), (Alike::Not, 8..9)]
        );
        let apart = |node: u32| (node..node + 12).map(|column| 2 * column).collect();
        let rows: Vec<_> = (0..30).map(|row| apart(row / 3)).collect();
        assert_eq!(found(&rows, &[0, 30]), [(Alike::Same(3), 0..30)]);
    }

    #[test]
    fn columns_of_nodes_follow_each_other() {
        let mut rows = vec![vec![5]];
        rows.extend((0..9).map(|row| (row / 3..row / 3 + 12).collect()));
        let (offsets, columns) = pattern(&rows);
        let runs = runs(0..10, &offsets, &columns);
        let nodes = node_columns(&runs, 3, 0..10, &offsets, &columns);
        assert_eq!(nodes, [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]);
    }

    #[test]
    fn runs_end_with_pieces() {
        let expected = [
            (Alike::Short, 0..4),
            (Alike::Equal, 4..20),
            (Alike::Not, 20..24),
        ];
        assert_eq!(found(&rows(), &[0, 4, 24]), expected);
        assert_eq!(found(&[], &[0, 0]), []);
    }
}
