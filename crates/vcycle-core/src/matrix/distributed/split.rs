//! Interior and boundary rows.

use std::sync::Arc;

use super::Distributed;
use crate::arrays::Pattern;
use crate::executor::{Buffer, Executor};
use crate::matrix::Csr;
use crate::scalar::Scalar;
use crate::size::Size;

/// The rows of a matrix, cut into those that refer to own columns only and the others.
///
/// The vector that the boundary rows multiply is gathered: first the own columns they refer to, then the columns of
/// other ranks. In a square matrix the first of the own ones are those of the rows themselves, as sweeps want it.
#[derive(Debug)]
pub(super) struct Split<T> {
    /// All rows with own columns; those of the boundary are empty.
    pub interior: Csr<T>,
    /// The rows of the boundary, entries in the order of the whole matrix, columns as they are gathered.
    pub boundary: Csr<T>,
    /// Which rows these are.
    pub rows: Vec<u32>,
    /// The own columns that are gathered.
    pub gathered: Vec<u32>,
}

impl<T: Scalar> Split<T> {
    pub fn new(a: &Distributed<T>) -> Self {
        let own = a.columns().own();
        let is_own = |column: &u32| own.contains(&(*column as usize));
        let count = a.local().size().rows;
        let is_interior = |row: usize| a.local().row(row).0.iter().all(is_own);
        let rows: Vec<u32> = (0..count as u32)
            .filter(|&row| !is_interior(row as usize))
            .collect();
        let gathered = gathered(a, &rows);
        let executor = a.executor().alone();
        Self {
            interior: interior(a, &rows, &executor),
            boundary: boundary(a, &rows, &gathered, &executor),
            rows,
            gathered,
        }
    }

    pub fn bytes(&self) -> usize {
        self.interior.bytes() + self.boundary.bytes()
    }
}

/// The own columns that rows refer to, counted from the first; in a square matrix those of the rows come first.
fn gathered<T: Scalar>(a: &Distributed<T>, rows: &[u32]) -> Vec<u32> {
    let own = a.columns().own();
    let is_square = Arc::ptr_eq(a.rows(), a.columns().partition());
    let mut gathered = match is_square {
        true => rows.to_vec(),
        false => Vec::new(),
    };
    let mut is_there = vec![false; own.len()];
    gathered
        .iter()
        .for_each(|&row| is_there[row as usize] = true);
    let first = gathered.len();
    for &row in rows {
        for &column in a.local().row(row as usize).0 {
            if own.contains(&(column as usize)) {
                let column = column - own.start as u32;
                if !std::mem::replace(&mut is_there[column as usize], true) {
                    gathered.push(column);
                }
            }
        }
    }
    gathered[first..].sort_unstable();
    gathered
}

fn interior<T: Scalar>(a: &Distributed<T>, rows: &[u32], executor: &Executor) -> Csr<T> {
    let (local, own) = (a.local(), a.columns().own());
    let mut offsets = Vec::with_capacity(local.size().rows + 1);
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    columns.reserve(local.nonzeros());
    values.reserve(local.nonzeros());
    offsets.push(0);
    let mut left_out = rows.iter().peekable();
    for row in 0..local.size().rows {
        if left_out.next_if_eq(&&(row as u32)).is_none() {
            let (numbers, entries) = local.row(row);
            columns.extend(numbers.iter().map(|column| column - own.start as u32));
            values.extend_from_slice(entries);
        }
        offsets.push(columns.len());
    }
    let size = Size::new(local.size().rows, own.len());
    Csr::from_canonical(executor, size, offsets, columns, values)
}

fn boundary<T: Scalar>(
    a: &Distributed<T>,
    rows: &[u32],
    gathered: &[u32],
    executor: &Executor,
) -> Csr<T> {
    let (local, halo) = (a.local(), a.columns());
    let mut place = vec![0; halo.len()];
    for (number, &column) in gathered.iter().enumerate() {
        place[halo.own().start + column as usize] = number as u32;
    }
    for other in 0..halo.others().len() {
        place[halo.of_other(other)] = (gathered.len() + other) as u32;
    }
    let mut offsets = vec![0];
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    for &row in rows {
        let (numbers, entries) = local.row(row as usize);
        columns.extend(numbers.iter().map(|&column| place[column as usize]));
        values.extend_from_slice(entries);
        offsets.push(columns.len());
    }
    let size = Size::new(rows.len(), gathered.len() + halo.others().len());
    let offsets = Buffer::from_vec(executor, offsets);
    // Columns of a row need not increase here: nothing but products looks at them.
    let pattern = Pattern::of_buffers(size, offsets, Buffer::from_vec(executor, columns));
    Csr::of_buffers(&Arc::new(pattern), Buffer::from_vec(executor, values))
}
