//! Matrices assembled from triplets again and again.

use super::pattern::outside;
use crate::operations::assembly::{self, Sorted};
use crate::prelude::*;

/// Triplets with duplicates, sorted once: values that change become a matrix by sums alone.
///
/// It is made where the indices are. On a device they are sorted by counting there and never leave it. Sums are formed in the order in which triplets
/// were given, so that the result is the same everywhere and every time.
///
/// ```
/// use vcycle::{executor::{Buffer, Executor}, linop::Size, matrix::Assembly};
/// let cpu = Executor::cpu();
/// let (rows, columns) = (Buffer::from_vec(&cpu, vec![1, 0, 1]), Buffer::from_vec(&cpu, vec![1, 0, 1]));
/// let assembly = Assembly::new(Size::square(2), &rows, &columns)?;
/// let a = assembly.matrix(&Buffer::from_vec(&cpu, vec![3.0, 2.0, 4.0]))?;
/// assert_eq!(a.values(), [2.0, 7.0]);
/// // New values, the same places.
/// let b = assembly.matrix(&Buffer::from_vec(&cpu, vec![1.0, 1.0, 1.0]))?;
/// assert_eq!(b.values(), [1.0, 2.0]);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Assembly {
    pattern: Arc<Pattern>,
    order: Buffer<u32>,
    starts: Buffer<usize>,
}

impl Assembly {
    /// Sorts triplets with these rows and columns.
    ///
    /// # Errors
    /// For arrays of different lengths or on different executors, an index out of range, more than 2^32 - 1 triplets, and when memory is short.
    pub fn new(size: Size, rows: &Buffer<u32>, columns: &Buffer<u32>) -> Result<Self> {
        rows.executor().check_same(columns.executor(), "assembly")?;
        if rows.len() != columns.len() || rows.len() >= u32::MAX as usize {
            let reason = format!("{} rows, {} columns", rows.len(), columns.len());
            return Err(Error::structure("triplets", reason));
        }
        check("row", rows, size.rows)?;
        check("column", columns, size.cols)?;
        let sorted = match assembly::sorted(size, rows, columns)? {
            Some(sorted) => sorted,
            None => on_host(size, rows, columns)?,
        };
        Ok(Self {
            pattern: Arc::new(sorted.pattern),
            order: sorted.order,
            starts: sorted.starts,
        })
    }

    /// The entries of every matrix that is made.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// The matrix of triplets with these values, in the order of their rows and columns.
    ///
    /// # Errors
    /// For another number of values, or on another executor, for complex values on a device, and when memory is short.
    pub fn matrix<T: Scalar>(&self, values: &Buffer<T>) -> Result<Csr<T>> {
        let (here, expected) = (values.len(), self.order.len());
        self.order
            .executor()
            .check_same(values.executor(), "assembly")?;
        if here != expected {
            let reason = format!("{here} values for {expected} rows and columns");
            return Err(Error::structure("triplets", reason));
        }
        if let Some(sums) = assembly::sums(&self.order, &self.starts, values)? {
            return Ok(Csr::of_buffers(&self.pattern, sums));
        }
        let (order, starts, values) = (self.order.host()?, self.starts.host()?, values.host()?);
        Csr::from_places(&self.pattern, |_, place| {
            let own = order[starts[place]..starts[place + 1]].iter();
            let mut sum = T::Arith::from_f64(0.0);
            own.for_each(|&triplet| sum += values[triplet as usize].load());
            T::store(sum)
        })
    }
}

/// Fails, naming the place, unless all indices are below a limit.
fn check(axis: &'static str, indices: &Buffer<u32>, limit: usize) -> Result<()> {
    let beyond = match assembly::first_beyond(indices, limit)? {
        Some(beyond) => beyond,
        None => (indices.host()?.iter()).position(|&index| index as usize >= limit),
    };
    match beyond {
        Some(place) => Err(outside(axis, place, indices.get(place)?, limit)),
        None => Ok(()),
    }
}

fn on_host(size: Size, rows: &Buffer<u32>, columns: &Buffer<u32>) -> Result<Sorted> {
    let executor = rows.executor();
    let (rows, columns) = (rows.host()?, columns.host()?);
    let place = |&triplet: &u32| (rows[triplet as usize], columns[triplet as usize]);
    let mut order: Vec<u32> = (0..rows.len() as u32).collect();
    order.sort_by_key(place);
    let (mut offsets, mut found, mut starts) = (vec![0; size.rows + 1], Vec::new(), Vec::new());
    for (at, triplet) in order.iter().enumerate() {
        let (row, column) = place(triplet);
        if at == 0 || place(&order[at - 1]) != (row, column) {
            found.push(column);
            starts.push(at);
            offsets[row as usize + 1] = found.len();
        }
    }
    starts.push(order.len());
    // Rows without entries begin where the one before ends.
    for row in 0..size.rows {
        offsets[row + 1] = offsets[row + 1].max(offsets[row]);
    }
    Ok(Sorted {
        pattern: Pattern::new(executor, size, offsets, found),
        order: Buffer::from_vec(executor, order),
        starts: Buffer::from_vec(executor, starts),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Duplicates;

    /// Triplets that look random, many of them in one place.
    fn triplets(count: usize, size: Size) -> (Vec<u32>, Vec<u32>, Vec<f64>) {
        let row = |i: usize| ((i * i * 31 + i * 7) % size.rows) as u32;
        let column = |i: usize| ((i * 17 + i * i) % size.cols) as u32;
        let value = |i: usize| (i % 11) as f64 * 0.1 - 0.3;
        let all = 0..count;
        (
            all.clone().map(row).collect(),
            all.clone().map(column).collect(),
            all.map(value).collect(),
        )
    }

    #[test]
    fn triplets_are_summed_as_given_wherever_they_are() {
        let mut places = vec![Executor::reference(), Executor::cpu()];
        places.extend(device());
        for size in [Size::new(60, 45), Size::new(3, 700)] {
            for count in [0, 1, 3000] {
                let (rows, columns, values) = triplets(count, size);
                let host = Executor::reference();
                let (r, c, v) = (rows.clone(), columns.clone(), values.clone());
                let expected = Csr::from_triplets(&host, size, r, c, v, Duplicates::Sum).unwrap();
                for executor in &places {
                    let [rows, columns] =
                        [&rows, &columns].map(|list| Buffer::from_vec(executor, list.clone()));
                    let assembly = Assembly::new(size, &rows, &columns).unwrap();
                    let sums = |values| assembly.matrix(&Buffer::from_vec(executor, values));
                    let a = sums(values.clone()).unwrap();
                    assert_eq!(a.offsets(), expected.offsets());
                    assert_eq!(a.columns(), expected.columns());
                    assert_eq!(a.values(), expected.values());
                    let ones = sums(vec![1.0; count]).unwrap();
                    assert_eq!(ones.values().iter().sum::<f64>(), count as f64);
                }
            }
        }
    }

    #[test]
    fn indices_out_of_range_are_named() {
        let mut places = vec![Executor::reference()];
        places.extend(device());
        for executor in &places {
            let list = |values: Vec<u32>| Buffer::from_vec(executor, values);
            let refuse = |rows, columns| {
                let refused = Assembly::new(Size::square(2), &list(rows), &list(columns));
                refused.unwrap_err().to_string()
            };
            assert!(refuse(vec![0, 2], vec![0, 0]).contains("row"));
            assert!(refuse(vec![0, 1], vec![0, 5]).contains('5'));
            assert!(refuse(vec![0], vec![0, 1]).contains("2 columns"));
            let assembly = Assembly::new(Size::square(2), &list(vec![1]), &list(vec![0])).unwrap();
            assert!(
                assembly
                    .matrix(&Buffer::from_vec(executor, vec![1.0; 2]))
                    .is_err()
            );
        }
    }
}
