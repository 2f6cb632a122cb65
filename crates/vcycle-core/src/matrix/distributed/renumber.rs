//! Matrices in another order of their rows.

use std::sync::Arc;

use super::Distributed;
use super::fetch::{Rows, packed};
use super::partition::Partition;
use super::wire::{Reader, Writer};
use crate::error::Result;
use crate::matrix::Duplicates;
use crate::scalar::{Element, Scalar};

/// What a rank sends to another: the rows that will be its own, and their values in vectors.
struct Parcel<T> {
    places: Vec<u64>,
    rows: Rows<T>,
    values: Vec<T>,
}

impl<T: Scalar> Distributed<T> {
    /// A square matrix whose row and column `i` become row and column `place(i)`, about as many rows for every rank, and own
    /// rows of vectors alike. All ranks call it together, with the same order.
    ///
    /// # Errors
    /// When memory is short, or another rank has failed.
    pub fn renumbered(
        &self,
        place: impl Fn(u64) -> u64,
        vectors: &[Vec<T>],
    ) -> Result<(Self, Vec<Vec<T>>)> {
        let even = Partition::even(self.rows.total(), 1, self.team().size());
        self.moved_to(&Arc::new(even), place, vectors)
    }

    /// The same with some partition of the rows and columns.
    pub(super) fn moved_to(
        &self,
        partition: &Arc<Partition>,
        place: impl Fn(u64) -> u64,
        vectors: &[Vec<T>],
    ) -> Result<(Self, Vec<Vec<T>>)> {
        let team = self.team();
        let rank = team.rank();
        let places: Vec<u64> = self.rows.range(rank).map(&place).collect();
        let mut to = vec![Vec::new(); team.size()];
        for (row, &place) in places.iter().enumerate() {
            to[partition.rank_of(place)].push(row);
        }
        let columns = (0..self.columns.len()).map(|column| place(self.columns.global(column)));
        let columns: Vec<u64> = columns.collect();
        let parcel = |own: Vec<usize>| {
            let mut writer = Writer::default();
            writer.put(&[own.len() as u64]);
            writer.put_all(own.iter().map(|&row| places[row]));
            for vector in vectors {
                writer.put_all(own.iter().map(|&row| vector[row]));
            }
            let rows = own.iter().map(|&row| self.local.row(row));
            writer.put(&packed(rows, |column| columns[column as usize]));
            writer.bytes
        };
        let received = team.all_to_all(to.into_iter().map(parcel).collect())?;
        let parcels = received
            .iter()
            .map(|bytes| Parcel::read(bytes, vectors.len()));
        let parcels: Vec<Parcel<T>> = parcels.collect();
        let (arrays, vectors) = sorted(&parcels, partition.range(rank).start, vectors.len());
        let refuse = Duplicates::Refuse;
        let a = Self::of_columns(&self.executor, partition, partition, arrays, refuse)?;
        Ok((a, vectors))
    }
}

impl<T: Scalar> Parcel<T> {
    fn read(bytes: &[u8], vectors: usize) -> Self {
        let mut reader = Reader { bytes };
        let count = reader.number() as usize;
        let (mut places, mut values, mut rows) = (Vec::new(), Vec::new(), Rows::new());
        reader.take(count, &mut places);
        reader.take(count * vectors, &mut values);
        rows.read(reader.bytes);
        Self {
            places,
            rows,
            values,
        }
    }
}

/// Offsets, columns and values.
type Arrays<T> = (Vec<usize>, Vec<u64>, Vec<T>);

/// All rows by their places, of which `first` is the first, and their values in vectors.
fn sorted<T: Element>(
    parcels: &[Parcel<T>],
    first: u64,
    vectors: usize,
) -> (Arrays<T>, Vec<Vec<T>>) {
    let count = parcels.iter().map(|parcel| parcel.places.len()).sum();
    let mut at = vec![(0, 0); count];
    for (number, parcel) in parcels.iter().enumerate() {
        for (row, place) in parcel.places.iter().enumerate() {
            at[(place - first) as usize] = (number, row);
        }
    }
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for &(number, row) in &at {
        let rows = &parcels[number].rows;
        let range = rows.offsets[row]..rows.offsets[row + 1];
        columns.extend_from_slice(&rows.columns[range.clone()]);
        values.extend_from_slice(&rows.values[range]);
        offsets.push(columns.len());
    }
    let vector = |vector: usize| {
        let value = |&(number, row): &(usize, usize)| {
            let parcel: &Parcel<T> = &parcels[number];
            parcel.values[vector * parcel.places.len() + row]
        };
        at.iter().map(value).collect()
    };
    (
        (offsets, columns, values),
        (0..vectors).map(vector).collect(),
    )
}
