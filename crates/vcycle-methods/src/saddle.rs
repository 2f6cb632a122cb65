//! Preconditioners of saddle points: blocks, and an approximate Schur complement.

use std::fmt::{Debug, Formatter};

use crate::error::ConfigError;
use crate::linop::{Sum, check_apply};
use crate::multigrid::Amg;
use crate::precond::{Ilut, nonzero_diagonal, square_entries};
use crate::prelude::*;
use crate::registration::preconditioner;
use crate::text;

preconditioner! {
    /// A preconditioner for `[F C; B D]` with a block `D` that is zero or nearly so: flow with pressure, mixed finite
    /// elements, constraints.
    ///
    /// The inverse of `F` is a cycle of multigrid, and so is that of the Schur complement, which is approximated by
    /// `S = D - B diag(F)^-1 C`. Where multigrid does not take a block, `ilut` does. The second block are the rows whose diagonal is
    /// zero or missing, or the last `second` rows.
    ///
    /// **Choose it** with `fgmres` for systems whose first block suits multigrid. Where `diag(F)` says little of `F`, as for strong
    /// convection, it takes many iterations, and converges only with a restart that is as long.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use vcycle::{executor::{Executor, Workspace}, linop::{Factory, LinOp, Size}, matrix::{Csr, Duplicates}, saddle::Saddle,
    ///     solver::{Fgmres, Solver}, vector::Vector};
    /// // [2 0 1; 0 2 1; 1 1 0]
    /// let cpu = Executor::cpu();
    /// let a: Arc<dyn LinOp<f64>> = Arc::new(Csr::from_arrays(&cpu, Size::square(3), vec![0, 2, 4, 6],
    ///     vec![0, 2, 1, 2, 0, 1], vec![2.0, 1.0, 2.0, 1.0, 1.0, 1.0], Duplicates::Refuse)?);
    /// let m = Saddle::default().generate(&a, &Workspace::new())?;
    /// let solver = Solver::new(Fgmres::default(), a)?.with_preconditioner(m)?;
    /// let mut x = Vector::zeros(&cpu, 3, 1)?;
    /// assert!(solver.solve(&Vector::filled(&cpu, 3, 1, 1.0)?, &mut x)?.iterations <= 3);
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    pub struct Saddle {
        /// How the blocks are put together.
        pub shape: SaddleShape = SaddleShape::Triangular,
        /// Rows at the end that are the second block; 0 for those whose diagonal is zero or missing.
        pub second: usize = 0,
    }
    name: "saddle",
    summary: "Blocks of a saddle point: multigrid, and an approximate Schur complement.",
    after_colon: &["shape", "second"], needs: &[Entries],
    support: Support { transposed: false, ..Support::own_rows(crate::host_stages::MULTIGRID) },
    symmetry: OneSided, memory: Memory::per(24, 24);
    // Both blocks are set up as the whole matrix is, and products with parts of it are stored.
    more memory: |_, of| Amg::default().memory(of);
}

/// How the blocks of a [`Saddle`] are put together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SaddleShape {
    /// `[F C; 0 S]^-1`: one solve with either block. With exact blocks two iterations.
    #[default]
    Triangular,
    /// SIMPLE (Patankar and Spalding 1972): `F`, then the Schur complement, then a correction by `diag(F)`.
    Simple,
}

text::named!(SaddleShape, "shape": Triangular = "triangular", Simple = "simple");

impl<T: Mixes<T, T>> Factory<T> for Saddle {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("saddle set-up", 0);
        let entries = square_entries(a.as_ref(), "saddle")?;
        let is_second = self.split(&entries)?;
        let [first, second] = [false, true].map(|wanted| selection(&entries, &is_second, wanted));
        let block = |rows: &Csr<T>, columns: &Csr<T>| {
            rows.multiply(&entries)?.multiply(&columns.transpose()?)
        };
        let (f, c) = (block(&first, &first)?, block(&first, &second)?);
        let (b, d) = (block(&second, &first)?, block(&second, &second)?);
        let inverse = inverse_diagonal(&f)?;
        let scaled = inverse.multiply(&c)?;
        let one = T::Arith::from_f64(1.0);
        let schur = d.add(one, -one, &b.multiply(&scaled)?)?;
        Ok(Arc::new(Blocks {
            shape: self.shape,
            back: [Arc::new(first.transpose()?), Arc::new(second.transpose()?)],
            take: [Arc::new(first), Arc::new(second)],
            f: approximate_inverse(f, ws)?,
            schur: approximate_inverse(schur, ws)?,
            b: Arc::new(b),
            c: Arc::new(c),
            scaled: Arc::new(scaled),
        }))
    }
}

impl Saddle {
    /// Which rows are the second block.
    fn split<T: Scalar>(&self, a: &Csr<T>) -> Result<Vec<bool>> {
        let n = a.size().rows;
        let is_second: Vec<bool> = match self.second {
            0 => a.diagonal().iter().map(|&d| d == T::default()).collect(),
            second if second < n => (0..n).map(|row| row >= n - second).collect(),
            second => {
                let reason = format!("{second} of {n} rows leave no first block");
                return Err(Error::bad_parameter("second", reason));
            }
        };
        match is_second.iter().filter(|second| **second).count() {
            0 => Err(ConfigError::Conflict(
                "saddle: no diagonal entry is zero; say how many rows at the end are the second block (`second`), or \
                 choose another preconditioner"
                    .to_owned(),
            )
            .into()),
            count if count == n => Err(ConfigError::Conflict(
                "saddle: every diagonal entry is zero, which leaves no first block".to_owned(),
            )
            .into()),
            _ => Ok(is_second),
        }
    }
}

/// The matrix that takes the rows of one block out of all.
fn selection<T: Scalar>(a: &Csr<T>, is_second: &[bool], wanted: bool) -> Csr<T> {
    let rows = (0..is_second.len() as u32).filter(|&row| is_second[row as usize] == wanted);
    let columns: Vec<u32> = rows.collect();
    let (count, one) = (columns.len(), T::store(T::Arith::from_f64(1.0)));
    let size = Size::new(count, is_second.len());
    let offsets = (0..=count).collect();
    Csr::from_canonical(a.executor(), size, offsets, columns, vec![one; count])
}

fn inverse_diagonal<T: Scalar>(f: &Csr<T>) -> Result<Csr<T>> {
    let invert = |value| T::store(T::Arith::from_f64(1.0) / value);
    let diagonal = nonzero_diagonal(f, "saddle")?.into_iter().map(invert);
    Ok(Csr::diagonal_matrix(f.executor(), diagonal.collect()))
}

/// A cycle of multigrid for a matrix or its negative, or incomplete factors where multigrid refuses.
fn approximate_inverse<T: Mixes<T, T>>(a: Csr<T>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
    let is_negative = a.diagonal().first().is_some_and(|d| d.to_c64().re < 0.0);
    let sign = if is_negative { -1.0 } else { 1.0 };
    let positive: Arc<dyn LinOp<T>> = Arc::new(a.scale(T::Arith::from_f64(sign))?);
    let made = match Amg::default().generate(&positive, ws) {
        Ok(made) => made,
        Err(_) => Ilut::default().generate(&positive, ws)?,
    };
    Ok(match is_negative {
        true => Arc::new(Sum::scaled(T::Arith::from_f64(sign), made)),
        false => made,
    })
}

/// The blocks, ready to be applied.
struct Blocks<T: Scalar> {
    shape: SaddleShape,
    take: [Arc<dyn LinOp<T>>; 2],
    back: [Arc<dyn LinOp<T>>; 2],
    f: Arc<dyn LinOp<T>>,
    schur: Arc<dyn LinOp<T>>,
    b: Arc<dyn LinOp<T>>,
    c: Arc<dyn LinOp<T>>,
    /// `diag(F)^-1 C`.
    scaled: Arc<dyn LinOp<T>>,
}

impl<T: Scalar> Debug for Blocks<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let [first, second] = [&self.f, &self.schur].map(|block| block.size().rows);
        write!(f, "saddle ({}): {first} and {second} rows", self.shape)
    }
}

impl<T: Scalar> LinOp<T> for Blocks<T> {
    fn size(&self) -> Size {
        Size::square(self.take[0].size().cols)
    }

    fn executor(&self) -> &Executor {
        self.take[0].executor()
    }

    fn apply(&self, r: &Vector<T>, z: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        check_apply("saddle", self.size(), self.executor(), r, z)?;
        let vector = |block: &Arc<dyn LinOp<T>>| {
            ws.vector::<T>(self.executor(), block.size().rows, r.cols())
        };
        let (mut r1, mut z1) = (vector(&self.f)?, vector(&self.f)?);
        let (mut r2, mut z2) = (vector(&self.schur)?, vector(&self.schur)?);
        let (one, minus) = (Coefficient::one, || Coefficient::real(-1.0));
        self.take[0].apply(r, &mut r1, ws)?;
        self.take[1].apply(r, &mut r2, ws)?;
        match self.shape {
            SaddleShape::Triangular => {
                self.schur.apply(&r2, &mut z2, ws)?;
                self.c.apply_advanced(minus(), &z2, one(), &mut r1, ws)?;
                self.f.apply(&r1, &mut z1, ws)?;
            }
            SaddleShape::Simple => {
                self.f.apply(&r1, &mut z1, ws)?;
                self.b.apply_advanced(minus(), &z1, one(), &mut r2, ws)?;
                self.schur.apply(&r2, &mut z2, ws)?;
                self.scaled
                    .apply_advanced(minus(), &z2, one(), &mut z1, ws)?;
            }
        }
        self.back[0].apply(&z1, z, ws)?;
        self.back[1].apply_advanced(one(), &z2, one(), z, ws)
    }

    fn footprint(&self) -> Footprint {
        let parts = [&self.f, &self.schur, &self.b, &self.c, &self.scaled];
        let moves = self.take.iter().chain(&self.back);
        parts
            .into_iter()
            .chain(moves)
            .map(|part| part.footprint())
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery;
    use crate::matrix::Duplicates;
    use crate::solver::{Fgmres, Solver};

    /// Two Laplacians and differences of a pressure that is zero behind the last point, rows of the blocks mixed on request.
    fn stokes(side: usize, mixed: bool) -> Csr<f64> {
        let host = Executor::reference();
        let spec = format!("poisson5:{side}");
        let laplacian = gallery::build(&spec, &host).unwrap().matrix;
        let (n, points) = (3 * side * side, side * side);
        let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut push = |row: usize, column: usize, value: f64| {
            let number = |k: usize| {
                if mixed {
                    3 * (k % points) + k / points
                } else {
                    k
                }
            };
            rows.push(number(row) as u32);
            columns.push(number(column) as u32);
            values.push(value);
        };
        for point in 0..points {
            for component in 0..2 {
                let (others, entries) = laplacian.row(point);
                let start = component * points;
                for (&other, &value) in others.iter().zip(entries) {
                    push(start + point, start + other as usize, value);
                }
                let next = [point + 1, point + side][component];
                let inside = [!next.is_multiple_of(side), next < points][component];
                let mut couple = |to: usize, value: f64| {
                    push(start + point, 2 * points + to, value);
                    push(2 * points + to, start + point, value);
                };
                couple(point, 1.0);
                if inside {
                    couple(next, -1.0);
                }
            }
        }
        let size = Size::square(n);
        Csr::from_triplets(&host, size, rows, columns, values, Duplicates::Refuse).unwrap()
    }

    fn iterations(a: Csr<f64>, saddle: Saddle) -> usize {
        let rows = a.size().rows;
        let a: Arc<dyn LinOp<f64>> = Arc::new(a);
        let m = saddle.generate(&a, &Workspace::new()).unwrap();
        let solver = Solver::new(Fgmres::default(), Arc::clone(&a)).unwrap();
        let solver = solver.with_preconditioner(m).unwrap();
        let b = Vector::filled(a.executor(), rows, 1, 1.0).unwrap();
        let mut x = Vector::zeros_like(&b).unwrap();
        let outcome = solver.solve(&b, &mut x).unwrap();
        assert!(outcome.converged(), "{saddle:?}: {outcome}");
        outcome.iterations
    }

    #[test]
    fn iterations_hardly_depend_on_the_size_or_the_numbering() {
        for shape in SaddleShape::ALL {
            let found = Saddle { shape, second: 0 };
            let small = iterations(stokes(8, false), found);
            assert!(iterations(stokes(16, false), found) <= 2 * small);
            let mixed = iterations(stokes(8, true), found);
            assert!(mixed.abs_diff(small) <= 2, "{mixed} {small}");
            let given = Saddle { shape, second: 64 };
            assert_eq!(iterations(stokes(8, false), given), small);
        }
    }

    #[test]
    fn what_has_no_blocks_is_refused() {
        let refused = |a: Csr<f64>, second: usize| {
            let a: Arc<dyn LinOp<f64>> = Arc::new(a);
            let shape = SaddleShape::Triangular;
            let made = Saddle { shape, second }.generate(&a, &Workspace::new());
            made.unwrap_err().to_string()
        };
        let host = Executor::reference();
        let message = refused(Csr::identity(&host, 3), 0);
        assert!(message.contains("no diagonal entry is zero"), "{message}");
        let message = refused(Csr::identity(&host, 3), 3);
        assert!(message.contains("second: 3 of 3 rows"), "{message}");
        let zero = Csr::diagonal_matrix(&host, vec![0.0, 0.0, 1.0]);
        let message = refused(zero, 1);
        assert!(message.contains("row 0 is zero"), "{message}");
    }
}
