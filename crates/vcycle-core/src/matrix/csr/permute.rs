//! Permutations of rows and columns.

use vcycle_kernels::compiled;

use super::build::{Rows, build};
use crate::cut::balance;
use crate::linop::{check_apply, check_size};
use crate::prelude::*;

/// An order of `0..n`: which old index comes to each new place.
///
/// With `p` the order, `A` permuted symmetrically is `B(i, j) = A(p(i), p(j))`, and a vector
/// permuted alike is `y(i) = x(p(i))`.
///
/// ```
/// use vcycle::{executor::Executor, matrix::{Csr, Permutation}, vector::Vector};
/// let cpu = Executor::cpu();
/// let a = Csr::diagonal_matrix(&cpu, vec![1.0, 2.0, 3.0]);
/// let p = Permutation::new(vec![2, 0, 1])?;
/// assert_eq!(a.permute_symmetric(&p)?.values(), [3.0, 1.0, 2.0]);
/// let x = Vector::from_column(&cpu, vec![1.0, 2.0, 3.0]);
/// let mut y = Vector::zeros_like(&x)?;
/// p.apply(&x, &mut y)?;
/// assert_eq!(y.to_vec(), [3.0, 1.0, 2.0]);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    order: Vec<u32>,
}

impl Permutation {
    /// Takes the order over: `order[new] = old`.
    ///
    /// # Errors
    /// When an index is out of range or stands twice.
    pub fn new(order: Vec<u32>) -> Result<Self> {
        let mut seen = vec![false; order.len()];
        for (position, &old) in order.iter().enumerate() {
            let Some(seen) = seen.get_mut(old as usize) else {
                return Err(Error::IndexOutOfRange {
                    position,
                    axis: "row",
                    index: old as usize,
                    limit: order.len(),
                });
            };
            if std::mem::replace(seen, true) {
                return Err(Error::structure(
                    "permutation",
                    format!("index {old} stands twice, again at place {position}"),
                ));
            }
        }
        Ok(Self { order })
    }

    /// Every index in its place.
    ///
    /// # Errors
    /// When `n` does not fit 32-bit indices.
    pub fn identity(n: usize) -> Result<Self> {
        let n = u32::try_from(n).map_err(|_| {
            Error::structure("permutation", format!("{n} rows do not fit 32-bit indices"))
        })?;
        Ok(Self {
            order: (0..n).collect(),
        })
    }

    /// How many indices there are.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The old index at each new place.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The permutation that undoes this one.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let mut order = vec![0; self.len()];
        for (new, &old) in self.order.iter().enumerate() {
            order[old as usize] = new as u32;
        }
        Self { order }
    }

    /// `y(i) = x(p(i))`.
    pub fn apply<T: Scalar>(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        self.check(x, y)?;
        let pairs = self.order.iter().map(|&old| old as usize).enumerate();
        copy_rows(pairs, x.cols(), x.host()?, y.host_mut()?);
        Ok(())
    }

    /// `y(p(i)) = x(i)`, which undoes [`apply`](Self::apply).
    pub fn apply_inverse<T: Scalar>(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        self.check(x, y)?;
        let pairs = self.order.iter().map(|&old| old as usize).zip(0..);
        copy_rows(pairs, x.cols(), x.host()?, y.host_mut()?);
        Ok(())
    }

    fn check<T: Scalar>(&self, x: &Vector<T>, y: &Vector<T>) -> Result<()> {
        let size = Size::square(self.len());
        check_apply("permutation", size, x.executor(), x, y)
    }
}

/// Copies rows of `cols` numbers, given with the rows they go to.
pub(in crate::matrix) fn copy_rows<N: Copy>(
    pairs: impl Iterator<Item = (usize, usize)>,
    cols: usize,
    from: &[N],
    to: &mut [N],
) {
    for (target, source) in pairs {
        let source = &from[source * cols..(source + 1) * cols];
        to[target * cols..(target + 1) * cols].copy_from_slice(source);
    }
}

impl<T: Scalar> Csr<T> {
    /// `B(i, j) = A(p(i), p(j))`.
    ///
    /// # Errors
    /// Unless the matrix is square and of the permutation's size; when memory is short.
    pub fn permute_symmetric(&self, p: &Permutation) -> Result<Self> {
        self.permute((Some(p), Some(p)))
    }

    /// `B(i, j) = A(p(i), j)`.
    pub fn permute_rows(&self, p: &Permutation) -> Result<Self> {
        self.permute((Some(p), None))
    }

    /// `B(i, j) = A(i, p(j))`.
    pub fn permute_columns(&self, p: &Permutation) -> Result<Self> {
        self.permute((None, Some(p)))
    }

    fn permute(&self, by: (Option<&Permutation>, Option<&Permutation>)) -> Result<Self> {
        type By<'a> = (Option<&'a Permutation>, Option<&'a Permutation>);
        compiled!(any T: fn(&Csr<T>, By<'_>) -> Result<Csr<T>> = Csr::permuted)(self, by)
    }

    fn permuted(
        &self,
        (rows, columns): (Option<&Permutation>, Option<&Permutation>),
    ) -> Result<Self> {
        let size = self.size();
        let fitting = Size::new(
            rows.map_or(size.rows, Permutation::len),
            columns.map_or(size.cols, Permutation::len),
        );
        check_size("permutation of a matrix", size, fitting)?;
        let places = columns.map(Permutation::inverse);
        let source = |row: usize| Ok(rows.map_or(row, |p| p.order[row] as usize));
        let target = |column: u32| match &places {
            None => column,
            Some(places) => places.order[column as usize],
        };
        self.rearranged(size, source, target)
    }

    /// The matrix of a size whose rows have the entries of old ones with other columns; where there is no old one, a
    /// diagonal entry.
    pub(super) fn rearranged(
        &self,
        size: Size,
        source: impl Fn(usize) -> std::result::Result<usize, T> + Sync + Send,
        column: impl Fn(u32) -> u32 + Sync + Send,
    ) -> Result<Self> {
        let executor = self.executor();
        let mut offsets = vec![0];
        for row in 0..size.rows {
            let length = source(row).map_or(1, |old| self.pattern.range(old).len());
            offsets.push(offsets[row] + length);
        }
        let bounds = balance(size.rows, |row| offsets[row] + row);
        let fill = |entries: &mut Vec<(u32, T)>, row: usize, out: &mut Rows<T>| {
            entries.clear();
            match source(row) {
                Err(diagonal) => entries.push((row as u32, diagonal)),
                Ok(old) => {
                    let (columns, values) = self.row(old);
                    let columns = columns.iter().map(|&old| column(old));
                    entries.extend(columns.zip(values.iter().copied()));
                    entries.sort_unstable_by_key(|entry| entry.0);
                }
            }
            out.append_entries(executor, entries)
        };
        let arrays = build(executor, &bounds, self.bytes(), Vec::new, fill)?;
        Ok(arrays.into_csr(executor, size))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{dense, grid, random};
    use super::*;

    /// `k -> 7 k + 3 mod n`.
    fn shuffle(n: usize) -> Permutation {
        Permutation::new((0..n).map(|k| ((7 * k + 3) % n) as u32).collect()).unwrap()
    }

    #[test]
    fn permuted_matrices_agree_with_dense_ones() {
        let a = random::<f64>(&Executor::reference(), 9, 5, 0.5, 1);
        let (p, q) = (shuffle(9), shuffle(5));
        let b = a.permute_rows(&p).unwrap().permute_columns(&q).unwrap();
        let (a, b) = (dense(&a), dense(&b));
        for row in 0..9 {
            for column in 0..5 {
                let (i, j) = (p.order()[row] as usize, q.order()[column] as usize);
                assert_eq!(b[row][column], a[i][j]);
            }
        }
    }

    #[test]
    fn the_inverse_restores_vectors() {
        let host = Executor::reference();
        let x = Vector::from_rows(&host, 2, (0..8).map(f64::from).collect()).unwrap();
        let (mut y, mut z) = (x.clone(), x.clone());
        shuffle(4).apply(&x, &mut y).unwrap();
        shuffle(4).apply_inverse(&y, &mut z).unwrap();
        assert_eq!(y.to_vec()[..2], [6.0, 7.0]);
        assert_eq!(z.to_vec(), x.to_vec());
    }

    #[test]
    fn only_bijections_are_taken() {
        assert_refused!(
            Permutation::new(vec![0, 2]),
            IndexOutOfRange { position: 1, .. }
        );
        assert_refused!(Permutation::new(vec![1, 1]), InvalidStructure { .. });
        let a = grid::<f64>(&Executor::reference(), 2);
        let short = Permutation::identity(3).unwrap();
        assert_refused!(a.permute_symmetric(&short), SizeMismatch { .. });
    }
}
