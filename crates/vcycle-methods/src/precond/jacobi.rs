//! Jacobi and l1-Jacobi: the inverted diagonal of the matrix, or its inverted absolute row sums.

use num_traits::{One, Zero};

use super::{bad_pivot, example, square_rows};
use crate::linop::Sweep;
use crate::operations::entries::inverted_for;
use crate::prelude::*;
use crate::registration::preconditioner;
use crate::scalar::RealOf;

preconditioner! {
    /// `M = omega D^-1` with the diagonal `D` of the matrix.
    ///
    /// **Choose it** when nothing better is affordable: it costs one vector and repairs bad scaling.
    /// As a smoother it needs damping (`omega` near 2/3 for Poisson problems).
    ///
    #[doc = example!("Jacobi", "Cg", "poisson5:16", 60)]
    pub struct Jacobi {
        /// The damping `omega`.
        pub weight: f64 = 1.0,
    }
    name: "jacobi", summary: "The diagonal.", after_colon: &["weight"], needs: &[Diagonal],
    support: Support::ROWS, symmetry: Symmetric, memory: Memory::per(0, 8),
}

impl<T: Mixes<T, T>> Factory<T> for Jacobi {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("jacobi set-up", 0);
        Ok(Arc::new(self.inverse(a.as_ref())?))
    }
}

impl Jacobi {
    /// `omega D^-1`.
    pub(crate) fn inverse<T: Scalar>(&self, a: &dyn LinOp<T>) -> Result<Diagonal<T>> {
        let diagonal =
            |rows: &Csr<T>, first| rows.diagonal_from(first).into_iter().map(T::load).collect();
        Diagonal::over("jacobi", a, self.weight, false, diagonal)
    }
}

preconditioner! {
    /// `M = omega D^-1` with `d_i = sum of |a_ij|`, the diagonal included (Baker, Falgout, Kolev and
    /// Yang 2011).
    ///
    /// The weights are positive whatever the signs of the diagonal, and no diagonal entry need be
    /// stored: `M` is positive definite for any matrix without zero rows.
    ///
    /// **Choose it** as a smoother that needs no damping: for symmetric positive definite matrices
    /// `D - A` is positive semidefinite, so the iteration converges whatever the matrix. As a
    /// preconditioner of CG it is like [`Jacobi`] on rows of similar sums, and
    /// [`Minres`](crate::solver::Minres) takes it for indefinite matrices too.
    ///
    #[doc = example!("L1Jacobi", "Cg", "poisson5:16", 60)]
    pub struct L1Jacobi {
        /// The factor `omega`.
        pub weight: f64 = 1.0,
    }
    name: "l1-jacobi", summary: "The diagonal of absolute row sums.", after_colon: &["weight"],
    needs: &[Entries], support: Support::ROWS, symmetry: Symmetric, memory: Memory::per(0, 8),
}

impl<T: Mixes<T, T>> Factory<T> for L1Jacobi {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("l1-jacobi set-up", 0);
        Ok(Arc::new(self.inverse(a.as_ref())?))
    }
}

impl L1Jacobi {
    /// `omega D^-1`.
    pub(crate) fn inverse<T: Scalar>(&self, a: &dyn LinOp<T>) -> Result<Diagonal<T>> {
        let sums = |rows: &Csr<T>, _| absolute_sums(rows);
        Diagonal::over("l1-jacobi", a, self.weight, true, sums)
    }
}

fn absolute_sums<T: Scalar>(a: &Csr<T>) -> Vec<T::Arith> {
    let of_row = |(): &mut (), row: usize| {
        let moduli = a.row(row).1.iter().map(|value| value.load().modulus());
        T::Arith::from_real(moduli.fold(RealOf::<T>::zero(), |sum, modulus| sum + modulus))
    };
    a.map_rows(|| (), of_row)
}

/// A diagonal matrix as an operator.
#[derive(Clone, Debug)]
pub struct Diagonal<T> {
    values: Vector<T>,
}

impl<T: Scalar> Diagonal<T> {
    /// The entries of the diagonal.
    pub(crate) fn values(&self) -> &Vector<T> {
        &self.values
    }

    /// `weight` over the diagonal of a matrix or, `sums`, over the absolute sums of its rows, which `here` finds on the host for rows of which
    /// the first has its diagonal in the given column.
    pub(super) fn over(
        component: &'static str,
        a: &dyn LinOp<T>,
        weight: f64,
        sums: bool,
        here: impl FnOnce(&Csr<T>, usize) -> Vec<T::Arith>,
    ) -> Result<Self> {
        let (rows, first) = square_rows(a, component)?;
        let infinite = |row| bad_pivot(component, row, "not finite once inverted");
        if let Some((values, flaws)) = inverted_for(a.executor(), &rows, first, sums, weight)? {
            return match flaws {
                [Some(row), _] => Err(Error::ZeroDiagonal { component, row }),
                [None, Some(row)] => Err(infinite(row)),
                [None, None] => Ok(Self {
                    values: Vector::of_buffer(values),
                }),
            };
        }
        let diagonal = here(&rows, first);
        let checked = match diagonal.iter().position(Zero::is_zero) {
            Some(row) => Err(Error::ZeroDiagonal { component, row }),
            None => Ok(()),
        };
        a.executor().agree(checked)?;
        let weight = T::Arith::from_f64(weight);
        let invert = |value: T::Arith| T::store(weight * (T::Arith::one() / value));
        let values: Vec<T> = diagonal.into_iter().map(invert).collect();
        match values.iter().position(|value| !value.load().is_finite()) {
            Some(row) => Err(infinite(row)),
            None => Ok(Self {
                values: Vector::from_column(a.executor(), values),
            }),
        }
    }

    /// A diagonal that is known.
    pub(crate) fn of_values(values: Vector<T>) -> Self {
        Self { values }
    }

    /// The identity.
    pub(crate) fn ones(executor: &Executor, rows: usize) -> Result<Self> {
        let values = Vector::filled(executor, rows, 1, 1.0)?;
        Ok(Self { values })
    }
}

impl<T: Mixes<T, T>> Diagonal<T> {
    fn sweep<'v>(&'v self, b: &'v Vector<T>) -> Sweep<'v, T> {
        Sweep {
            b,
            d: &self.values,
            alpha: 1.0,
            beta: 1.0,
            gamma: 0.0,
        }
    }

    /// So many times two sweeps, from `x` to `other` and back.
    fn back_and_forth(
        &self,
        times: usize,
        a: &dyn LinOp<T>,
        b: &Vector<T>,
        x: &mut Vector<T>,
        other: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        for _ in 0..times {
            a.relax(self.sweep(b), x, other, ws)?;
            a.relax(self.sweep(b), other, x, ws)?;
        }
        Ok(())
    }
}

impl<T: Mixes<T, T>> LinOp<T> for Diagonal<T> {
    fn size(&self) -> Size {
        Size::square(self.values.rows())
    }

    fn executor(&self) -> &Executor {
        self.values.executor()
    }

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>, _ws: &Workspace) -> Result<()> {
        y.scale_rows(&self.values, false, x)
    }

    fn apply_advanced(
        &self,
        alpha: Coefficient<'_, T>,
        x: &Vector<T>,
        beta: Coefficient<'_, T>,
        y: &mut Vector<T>,
        _ws: &Workspace,
    ) -> Result<()> {
        y.combine_rows(alpha, (&self.values, false), x, beta)
    }

    /// Two sweeps at a time write to scratch and back; one alone has to keep `x` until all of the
    /// residual is known.
    fn improve(
        &self,
        sweeps: usize,
        a: &dyn LinOp<T>,
        b: &Vector<T>,
        x: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        let mut scratch = ws.vector_like::<T, T>(b)?;
        if sweeps % 2 == 1 {
            a.residual(b, x, &mut scratch, ws)?;
            let one = Coefficient::one;
            x.combine_rows(one(), (&self.values, false), &scratch, one())?;
        }
        self.back_and_forth(sweeps / 2, a, b, x, &mut scratch, ws)
    }

    fn prefers_out_of_place(&self, sweeps: usize) -> bool {
        sweeps % 2 == 1
    }

    fn improve_out_of_place(
        &self,
        sweeps: usize,
        a: &dyn LinOp<T>,
        b: &Vector<T>,
        guess: &mut Vector<T>,
        x: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        match self.prefers_out_of_place(sweeps) {
            true => a.relax(self.sweep(b), guess, x, ws)?,
            false => x.copy_from(guess)?,
        }
        self.back_and_forth(sweeps / 2, a, b, x, guess, ws)
    }

    fn apply_transposed(
        &self,
        mode: Transpose,
        x: &Vector<T>,
        y: &mut Vector<T>,
        _ws: &Workspace,
    ) -> Result<()> {
        y.scale_rows(&self.values, mode == Transpose::Conjugate, x)
    }

    fn footprint(&self) -> Footprint {
        Footprint::of_bytes(self.values.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::precond::testing::{from_dense, laplacian, made, matrix_of};

    #[test]
    fn what_is_too_large_for_a_narrow_type_is_named() {
        let host = Executor::reference();
        let small = [1.0, 1e-6].map(f16::from_f64).to_vec();
        let large = made(&Jacobi::default(), &Csr::diagonal_matrix(&host, small));
        assert_refused!(large, BadPivot { row: 1, .. });
        let a: Arc<dyn LinOp<f64>> = Arc::new(Csr::diagonal_matrix(&host, vec![1.0, 1e6]));
        let half = crate::linop::InPrecision::<f16>::new(Arc::new(Jacobi::default()));
        let entry = half.generate(&a, &Workspace::new());
        assert_refused!(entry, NonFiniteEntry { row: 1, .. });
    }

    #[test]
    fn many_sweeps_are_single_ones() {
        let ws = Workspace::new();
        let a: Arc<dyn LinOp<f64>> = Arc::new(laplacian::<f64>(&Executor::reference(), 4));
        let m = Jacobi { weight: 0.5 }.generate(&a, &ws).unwrap();
        let b = Vector::filled(a.executor(), 16, 1, 1.0).unwrap();
        let zeros = || Vector::zeros_like(&b).unwrap();
        let mut expected = zeros();
        for sweeps in 1..5 {
            let (mut x, mut y, mut guess) = (zeros(), zeros(), zeros());
            m.improve(1, a.as_ref(), &b, &mut expected, &ws).unwrap();
            m.improve(sweeps, a.as_ref(), &b, &mut x, &ws).unwrap();
            m.improve_out_of_place(sweeps, a.as_ref(), &b, &mut guess, &mut y, &ws)
                .unwrap();
            assert_eq!(x.to_vec(), expected.to_vec(), "{sweeps} sweeps");
            assert_eq!(y.to_vec(), expected.to_vec(), "{sweeps} sweeps beside");
        }
    }

    #[test]
    fn rows_are_divided_by_their_absolute_sums() {
        for (a, sums) in [
            ([2.0, -1.0, 5.0, -3.0], [3.0, 8.0]),
            ([0.0, 2.0, 2.0, 0.0], [2.0, 2.0]),
        ] {
            let a = from_dense::<f64>(&Executor::reference(), 2, &a);
            let m = matrix_of(&L1Jacobi { weight: 0.5 }, &a);
            assert_eq!(m, [0.5 / sums[0], 0.0, 0.0, 0.5 / sums[1]]);
        }
    }
}
