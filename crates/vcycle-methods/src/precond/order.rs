//! Orders in which rows are relaxed: by number, by colour, or by number within blocks.

use crate::host_stages::COLOURS;
use crate::operations;
use crate::operations::triangular::{Groups, levels};
use crate::prelude::*;

/// Which triangle of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Lower,
    Upper,
}

/// Which rows come before which: a triangle holds the entries of rows that come before (or after)
/// their own.
#[derive(Clone, Debug)]
pub(super) enum Rows {
    /// As they are numbered.
    Natural,
    /// Colour after colour; the colour of every row. Rows of one colour are not coupled.
    Coloured(Vec<u32>),
    /// As they are numbered within blocks of so many rows, which do not know of each other.
    Blocks(usize),
}

impl Rows {
    /// Whether an entry belongs to that triangle.
    pub(super) fn holds(&self, side: Side, row: usize, column: usize) -> bool {
        let (first, second) = match side {
            Side::Lower => (column, row),
            Side::Upper => (row, column),
        };
        match self {
            Self::Natural => first < second,
            Self::Coloured(colours) => colours[first] < colours[second],
            Self::Blocks(length) => first < second && first / length == second / length,
        }
    }

    /// How to solve with a triangle that has these entries off the diagonal.
    pub(super) fn schedule<T: Scalar>(&self, side: Side, off_diagonal: &Csr<T>) -> Schedule {
        let n = off_diagonal.size().rows;
        let forwards = match self {
            Self::Natural => return natural(side, off_diagonal),
            Self::Coloured(colours) => by_colour(colours),
            // Levels of all blocks at once.
            Self::Blocks(_) if off_diagonal.executor().is_device() => {
                return natural(side, off_diagonal);
            }
            Self::Blocks(length) => Schedule {
                order: (0..n as u32).collect(),
                groups: Groups::Blocks((0..n).step_by(*length).chain([n]).collect()),
            },
        };
        match side {
            Side::Lower => forwards,
            Side::Upper => forwards.reversed(),
        }
    }
}

/// The steps of a triangular solve.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    /// The row that each step solves.
    pub(super) order: Vec<u32>,
    pub(super) groups: Groups,
}

impl Schedule {
    /// The steps of the transposed triangle.
    pub(super) fn reversed(&self) -> Self {
        let n = self.order.len();
        let turned = |bounds: &[usize]| bounds.iter().rev().map(|bound| n - bound).collect();
        Self {
            order: self.order.iter().rev().copied().collect(),
            groups: match &self.groups {
                Groups::Serial => Groups::Serial,
                Groups::Levels(bounds) => Groups::Levels(turned(bounds)),
                Groups::Blocks(bounds) => Groups::Blocks(turned(bounds)),
            },
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let groups = match &self.groups {
            Groups::Serial => 0,
            Groups::Levels(bounds) | Groups::Blocks(bounds) => size_of_val(&bounds[..]),
        };
        size_of_val(&self.order[..]) + groups
    }
}

/// By levels on devices, and on `cpu` where they are worth it, else one row after the other.
fn natural<T: Scalar>(side: Side, rows: &Csr<T>) -> Schedule {
    let n = rows.size().rows as u32;
    let step = |step: u32| match side {
        Side::Lower => step,
        Side::Upper => n - 1 - step,
    };
    let steps = (0..n).map(step);
    match levels(rows, steps.clone()) {
        Some(levels) => Schedule {
            order: levels.order,
            groups: Groups::Levels(levels.bounds),
        },
        None => Schedule {
            order: steps.collect(),
            groups: Groups::Serial,
        },
    }
}

fn by_colour(colours: &[u32]) -> Schedule {
    let mut order: Vec<u32> = (0..colours.len() as u32).collect();
    order.sort_by_key(|&row| colours[row as usize]);
    let count = colours.iter().max().map_or(0, |last| last + 1);
    let start = |colour| order.partition_point(|&row| colours[row as usize] < colour);
    Schedule {
        groups: Groups::Levels((0..=count).map(start).collect()),
        order,
    }
}

/// For every row the first colour that no row before it has which is coupled to it, either way.
pub(super) fn colours(pattern: &Pattern) -> Result<Vec<u32>> {
    let transposed = pattern.transpose()?;
    let coupled = || pattern.union(&transposed);
    if let Some(colours) = operations::factor::colours(pattern, coupled)? {
        return Ok(colours);
    }
    operations::on_host(pattern.executor(), COLOURS);
    let n = pattern.size().rows;
    let mut colours = vec![0_u32; n];
    // For every colour the last row that found it taken.
    let mut taken = Vec::new();
    for row in 0..n {
        for graph in [pattern, &transposed] {
            let columns = graph.columns()[graph.range(row)].iter();
            for &before in columns.take_while(|&&column| (column as usize) < row) {
                taken[colours[before as usize] as usize] = row;
            }
        }
        let free = taken.iter().position(|&last| last != row);
        let colour = free.unwrap_or(taken.len());
        if colour == taken.len() {
            taken.push(n);
        }
        colours[row] = colour as u32;
    }
    Ok(colours)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery;
    use crate::precond::testing::{convection, from_dense, red_black};

    #[test]
    fn a_grid_has_two_colours_and_couplings_in_one_direction_count() {
        let a = convection::<f64>(&Executor::reference(), 6);
        let found = colours(a.pattern()).unwrap();
        for (row, &colour) in found.iter().enumerate() {
            assert_eq!(colour as usize, (row % 6 + row / 6) % 2);
        }
        let a = [1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0];
        let a = from_dense(&Executor::reference(), 3, &a);
        assert_eq!(colours(a.pattern()).unwrap(), [0, 1, 2]);
    }

    #[test]
    fn devices_find_the_colours_of_the_host() {
        let Some(device) = device() else { return };
        let host = Executor::reference();
        let built = |spec| gallery::build(spec, &host).unwrap().matrix;
        let one_way = built("poisson7:5").filter(|row, column, _| row % 3 != 1 || column <= row);
        for a in [
            convection(&host, 9),
            red_black(&host, 50), // fronts for several blocks
            built("poisson27:5"),
            one_way.unwrap(),
            built("poisson5:20000x1"),
            from_dense(&host, 70, &[1.0; 70 * 70]),
            from_dense(&host, 0, &[]),
        ] {
            let copy = a.copy_to(&device).unwrap();
            let expected = colours(a.pattern()).unwrap();
            assert_eq!(colours(copy.pattern()).unwrap(), expected);
        }
    }
}
