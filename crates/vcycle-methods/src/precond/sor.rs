//! Successive over-relaxation and Gauss-Seidel, forwards or forwards and back: row after row, colour after colour, or within blocks.

use num_traits::{One, Zero};

use super::order::{Rows, Side, colours};
use super::triangular::{Triangle, factors};
use super::{example, nonzero_diagonal, square_entries};
use crate::host_stages::{COLOURS, TRIANGLES};
use crate::prelude::*;
use crate::registration::preconditioner;
use crate::scalar::RealOf;

preconditioner! {
    /// Sweeps of successive over-relaxation from a zero guess: `M = (D / omega + L)^-1` for one sweep,
    /// with the diagonal `D` and the strictly lower triangle `L` of the matrix. Gauss-Seidel is
    /// `omega = 1`.
    ///
    /// The result is that of relaxing the rows in their order, whatever the number of threads. Rows
    /// that do not depend on each other are relaxed at the same time where there are enough of them;
    /// a matrix with long chains of dependencies (a banded one) is left to one thread. The first sweep
    /// costs half a pass over the matrix, every further one and a half.
    ///
    /// **Choose it** with solvers for nonsymmetric matrices, or as a smoother. It is not symmetric;
    /// with conjugate gradients take [`Ssor`].
    ///
    #[doc = example!("Sor", "Gmres", "poisson5:16", 40)]
    pub struct Sor {
        /// The relaxation `omega`, between 0 and 2.
        pub omega: f64 = 1.0,
        /// How many sweeps an application makes.
        pub sweeps: usize = 1,
    }
    name: "sor", summary: "Successive over-relaxation.", after_colon: &["omega", "sweeps"],
    needs: &[Entries, Diagonal], support: Support::own_rows(&[TRIANGLES]), symmetry: OneSided,
    memory: Memory::per(12, 58),
}

impl<T: Mixes<T, T>> Factory<T> for Sor {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let relaxation = Relaxation {
            component: "sor",
            omega: self.omega,
            sweeps: self.sweeps,
            symmetric: false,
        };
        relaxation.operator(a, ws, &|_| Ok(Rows::Natural))
    }
}

preconditioner! {
    /// Symmetric over-relaxation from a zero guess: a sweep forwards, then one backwards.
    ///
    /// For one sweep `M = (2 - omega) / omega (D / omega + U)^-1 D (D / omega + L)^-1` with
    /// `A = L + D + U` (Axelsson 1974). The factors are stored as triangles, so an application costs
    /// one pass over the matrix, every further sweep two.
    ///
    /// **Choose it** with conjugate gradients: it is symmetric (Hermitian) positive definite where the
    /// matrix is. Symmetric Gauss-Seidel is `omega = 1`. It needs no factorisation, so it cannot fail
    /// as [`Ic0`](super::Ic0) can, which is stronger.
    ///
    #[doc = example!("Ssor", "Cg", "poisson5:16", 30)]
    pub struct Ssor {
        /// The relaxation `omega`, between 0 and 2.
        pub omega: f64 = 1.0,
        /// How many pairs of sweeps an application makes.
        pub sweeps: usize = 1,
    }
    name: "ssor", summary: "Symmetric successive over-relaxation.",
    after_colon: &["omega", "sweeps"], needs: &[Entries, Diagonal],
    support: Support::own_rows(&[TRIANGLES]), symmetry: Symmetric, memory: Memory::per(12, 58),
}

impl<T: Mixes<T, T>> Factory<T> for Ssor {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let relaxation = Relaxation {
            component: "ssor",
            omega: self.omega,
            sweeps: self.sweeps,
            symmetric: true,
        };
        relaxation.operator(a, ws, &|_| Ok(Rows::Natural))
    }
}

preconditioner! {
    /// Gauss-Seidel (over-relaxation) colour by colour, from a zero guess.
    ///
    /// Every row gets the first colour that no row before it has which is coupled to it (Adams and
    /// Ortega 1982), so that rows of one colour are relaxed at the same time by all threads. The
    /// result is that of [`Sor`] or [`Ssor`] for the matrix with its rows
    /// sorted by colour, whatever the number of threads.
    ///
    /// **Choose it** as a smoother on many threads where the sweeps of [`Sor`] are serial.
    /// On grids it smooths as well or better, as a preconditioner alone it is weaker; and every colour
    /// passes over all of the vectors, so that few threads are faster with
    /// [`HybridGs`].
    ///
    #[doc = example!("MulticolourGs", "Gmres", "poisson5:16", 50)]
    pub struct MulticolourGs {
        /// The relaxation `omega`, between 0 and 2.
        pub omega: f64 = 1.0,
        /// How many sweeps an application makes.
        pub sweeps: usize = 1,
        /// Whether a sweep through the colours is followed by one back.
        pub symmetric: bool = false,
    }
    name: "multicolour-gs", summary: "Gauss-Seidel colour by colour.",
    after_colon: &["omega", "sweeps"], needs: &[Entries, Diagonal],
    support: Support::own_rows(&[TRIANGLES, COLOURS]), symmetry: OneSided,
    memory: Memory::per(12, 24);
    symmetric if: |own| own.symmetric;
}

impl<T: Mixes<T, T>> Factory<T> for MulticolourGs {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let relaxation = Relaxation {
            component: "multicolour-gs",
            omega: self.omega,
            sweeps: self.sweeps,
            symmetric: self.symmetric,
        };
        let order = |entries: &Csr<T>| colours(entries.pattern()).map(Rows::Coloured);
        relaxation.operator(a, ws, &order)
    }
}

preconditioner! {
    /// Gauss-Seidel within blocks of consecutive rows, Jacobi between them, from a zero guess: l1
    /// hybrid Gauss-Seidel (Baker, Falgout, Kolev and Yang 2011).
    ///
    /// Half the absolute sum of a row's entries outside its block is added to its diagonal. With that
    /// `M^-1 + M^-T - A` is positive definite where `A` is, so the iteration converges whatever the
    /// matrix: it is `D + S - A_o` with the diagonal `D`, the couplings `A_o` between blocks and their
    /// absolute row sums `S`. The blocks are cut by the matrix alone, not by the number of threads:
    /// nor is the result.
    ///
    /// **Choose it** as a smoother in place of [`Sor`]: nearly the same, and the blocks
    /// are relaxed by all threads at once.
    ///
    #[doc = example!("HybridGs", "Gmres", "poisson5:16", 40)]
    pub struct HybridGs {
        /// Rows of a block.
        pub block_rows: usize = 4096,
        /// How many sweeps an application makes.
        pub sweeps: usize = 1,
        /// Whether a sweep through the rows of a block is followed by one back.
        pub symmetric: bool = false,
    }
    name: "hybrid-gs", summary: "Gauss-Seidel within blocks of rows.",
    after_colon: &["block-rows", "sweeps"], needs: &[Entries, Diagonal],
    support: Support::own_rows(&[TRIANGLES]), symmetry: OneSided, memory: Memory::per(12, 24);
    symmetric if: |own| own.symmetric;
}

impl<T: Mixes<T, T>> Factory<T> for HybridGs {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let block_rows = self.block_rows;
        if block_rows == 0 {
            return Err(Error::bad_parameter("block-rows", "must be at least 1"));
        }
        let relaxation = Relaxation {
            component: "hybrid-gs",
            omega: 1.0,
            sweeps: self.sweeps,
            symmetric: self.symmetric,
        };
        relaxation.operator(a, ws, &|_| Ok(Rows::Blocks(block_rows)))
    }
}

/// Sweeps through the rows of a matrix from a zero guess.
struct Relaxation {
    component: &'static str,
    omega: f64,
    sweeps: usize,
    /// Whether each is followed by one back.
    symmetric: bool,
}

impl Relaxation {
    /// The operator, with the rows in an order that the matrix gives.
    fn operator<T: Scalar>(
        &self,
        a: &Arc<dyn LinOp<T>>,
        ws: &Workspace,
        order: &dyn Fn(&Csr<T>) -> Result<Rows>,
    ) -> Result<Arc<dyn LinOp<T>>> {
        let (component, omega) = (self.component, self.omega);
        let _stage = ws.stage(&format!("{component} set-up"), 0);
        // It converges for no other parameter.
        if !(omega > 0.0 && omega < 2.0) {
            return Err(Error::bad_parameter(
                "omega",
                format!("must lie between 0 and 2, not {omega}"),
            ));
        }
        let entries = square_entries(a.as_ref(), component)?;
        let diagonal = nonzero_diagonal(&entries, component)?;
        let rows = order(&entries)?;
        let diagonal = match rows {
            Rows::Natural | Rows::Coloured(_) => diagonal,
            Rows::Blocks(length) => enlarged(&entries, &diagonal, length),
        };
        let lower = self.lower(&rows, &entries, &diagonal)?;
        let once: Arc<dyn LinOp<T>> = match self.symmetric {
            true => factors([lower, self.scaled_upper(&rows, &entries, &diagonal)?])?,
            false => Arc::new(lower),
        };
        match self.sweeps {
            0 => Err(Error::bad_parameter(
                "sweeps",
                format!("{component} needs at least 1"),
            )),
            1 => Ok(once),
            sweeps => Ok(Arc::new(Sweeps {
                a: Arc::clone(a),
                once,
                sweeps,
            })),
        }
    }

    /// `D / omega + L`.
    fn lower<T: Scalar>(
        &self,
        rows: &Rows,
        a: &Csr<T>,
        diagonal: &[T::Arith],
    ) -> Result<Triangle<T>> {
        let omega = T::Arith::from_f64(self.omega);
        let relaxed = diagonal.iter().map(|&value| value / omega).collect();
        let value = |_, place: usize| a.values()[place].load();
        let (pattern, side) = (a.pattern(), Side::Lower);
        Triangle::of_rows(self.component, rows, side, pattern, Some(relaxed), value)
    }

    /// `omega / (2 - omega) D^-1 (D / omega + U)`: the scaling between the two sweeps joined to the
    /// second of them.
    fn scaled_upper<T: Scalar>(
        &self,
        rows: &Rows,
        a: &Csr<T>,
        diagonal: &[T::Arith],
    ) -> Result<Triangle<T>> {
        let on_diagonal = T::Arith::one() / T::Arith::from_f64(2.0 - self.omega);
        let scale = T::Arith::from_f64(self.omega / (2.0 - self.omega));
        let value = |row: usize, place: usize| scale * a.values()[place].load() / diagonal[row];
        let on_diagonal = Some(vec![on_diagonal; diagonal.len()]);
        let (pattern, side) = (a.pattern(), Side::Upper);
        Triangle::of_rows(self.component, rows, side, pattern, on_diagonal, value)
    }
}

/// The diagonal, its modulus larger by half of what is outside the block of its row.
fn enlarged<T: Scalar>(a: &Csr<T>, diagonal: &[T::Arith], block_rows: usize) -> Vec<T::Arith> {
    let of_row = |row: usize| {
        let (columns, values) = a.row(row);
        let entries = columns.iter().zip(values);
        let outside =
            entries.filter(|(column, _)| **column as usize / block_rows != row / block_rows);
        let moduli = outside.map(|(_, value)| value.load().modulus());
        let sum = moduli.fold(RealOf::<T>::zero(), |sum, modulus| sum + modulus);
        let half = T::Arith::from_f64(0.5) * T::Arith::from_real(sum);
        diagonal[row] * (T::Arith::one() + half / T::Arith::from_real(diagonal[row].modulus()))
    };
    let parts = a.map_pieces(|rows| rows.map(of_row).collect::<Vec<_>>());
    parts.concat()
}

/// A preconditioner applied several times: steps `z += M (r - A z)` from `z = 0`.
#[derive(Debug)]
struct Sweeps<T: Scalar> {
    a: Arc<dyn LinOp<T>>,
    once: Arc<dyn LinOp<T>>,
    sweeps: usize,
}

impl<T: Scalar> LinOp<T> for Sweeps<T> {
    forward!(once: size, executor);

    fn apply(&self, r: &Vector<T>, z: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        self.once.apply(r, z, ws)?;
        self.once
            .improve(self.sweeps - 1, self.a.as_ref(), r, z, ws)
    }

    /// The transpose of the sum of all sweeps is that of the same sweeps with `M^T` and `A^T`.
    fn apply_transposed(
        &self,
        mode: Transpose,
        r: &Vector<T>,
        z: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        let [mut residual, mut step] = [ws.vector_like(r)?, ws.vector_like(r)?];
        self.once.apply_transposed(mode, r, z, ws)?;
        for _ in 1..self.sweeps {
            self.a.apply_transposed(mode, z, &mut residual, ws)?;
            residual.axpby(Coefficient::one(), r, Coefficient::real(-1.0))?;
            self.once.apply_transposed(mode, &residual, &mut step, ws)?;
            z.axpy(Coefficient::one(), &step)?;
        }
        Ok(())
    }

    fn footprint(&self) -> Footprint {
        let (a, once) = (self.a.footprint(), self.once.footprint());
        Footprint {
            held: once.held,
            moved: self.sweeps * once.moved + (self.sweeps - 1) * a.moved,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::precond::testing::{
        applied, convection, far_from_dominant, from_dense, identity_error, iterations_of,
        laplacian, made, matrix_of, multiply, to_dense, values_for,
    };
    use crate::solver::Ir;

    /// Relaxes unknowns one after the other, as the textbook says.
    fn textbook(a: &Csr<f64>, omega: f64, order: impl Iterator<Item = usize>) -> Vec<f64> {
        let n = a.size().rows;
        let (b, mut x) = (values_for::<f64>(n), vec![0.0; n]);
        for row in order {
            let (columns, values) = a.row(row);
            let products = columns.iter().zip(values).map(|(&c, v)| v * x[c as usize]);
            let residual = b[row] - products.sum::<f64>();
            x[row] += omega * residual / a.entry(row, row).unwrap();
        }
        x
    }

    #[test]
    fn sweeps_are_those_of_the_textbook() {
        let a = convection(&Executor::reference(), 5);
        let check = |factory: &dyn Factory<f64>, expected: Vec<f64>| {
            let found = applied(made(factory, &a).unwrap().as_ref(), 1);
            for (x, expected) in found.into_iter().zip(expected) {
                assert!((x - expected).abs() < 1e-13, "{factory:?}: {x} {expected}");
            }
        };
        for (omega, sweeps) in [(1.0, 1), (1.3, 1), (0.8, 3)] {
            let order = (0..sweeps).flat_map(|_| 0..25);
            check(&Sor { omega, sweeps }, textbook(&a, omega, order));
        }
        // The points of a chess board, the black ones first.
        let red_black = (0..25).step_by(2).chain((1..25).step_by(2));
        check(&MulticolourGs::default(), textbook(&a, 1.0, red_black));
    }

    #[test]
    fn the_symmetric_inverse_is_the_product_of_the_definition() {
        let (n, omega) = (16, 1.4);
        let a = convection(&Executor::reference(), 4);
        let dense = to_dense(&a);
        let part = |keep: fn(usize, usize) -> bool, on_diagonal: fn(f64) -> f64| -> Vec<f64> {
            let value = |i: usize| match i / n == i % n {
                true => on_diagonal(dense[i]),
                false if keep(i / n, i % n) => dense[i],
                false => 0.0,
            };
            (0..n * n).map(value).collect()
        };
        let lower = part(|row, column| column < row, |d| d / 1.4);
        let upper = part(|row, column| column > row, |d| d / 1.4);
        let between = part(|_, _| false, |d| 1.4 / (2.0 - 1.4) / d);
        let inverse = multiply(n, &multiply(n, &lower, &between), &upper);
        let m = matrix_of(&Ssor { omega, sweeps: 1 }, &a);
        assert!(identity_error(n, &multiply(n, &inverse, &m)) < 1e-13);
    }

    fn of_blocks(block_rows: usize, symmetric: bool) -> HybridGs {
        HybridGs {
            block_rows,
            symmetric,
            ..HybridGs::default()
        }
    }

    #[test]
    fn one_block_is_gauss_seidel_and_what_is_between_blocks_is_on_the_diagonal() {
        let host = Executor::reference();
        let a = convection::<f64>(&host, 5);
        let hybrid = matrix_of(&HybridGs::default(), &a);
        assert_eq!(hybrid, matrix_of(&Sor::default(), &a));
        let a = [2.0, -1.0, 0.0, -1.0, 2.0, -1.0, 0.0, -1.0, -2.0];
        let m = matrix_of::<f64>(&of_blocks(2, false), &from_dense(&host, 3, &a));
        let expected = [0.5, 0.0, 0.0, 0.2, 0.4, 0.0, 0.0, 0.0, -0.4];
        for (m, expected) in m.iter().zip(expected) {
            assert!((m - expected).abs() < 1e-15, "{m} {expected}");
        }
    }

    /// Strong couplings of one sign between all rows: plain Jacobi between blocks diverges.
    #[test]
    fn the_iteration_converges_whatever_the_matrix() {
        let host = Executor::reference();
        for a in [far_from_dominant(&host, 40), laplacian(&host, 8)] {
            for symmetric in [false, true] {
                iterations_of(Ir::default(), &a, &of_blocks(5, symmetric));
            }
        }
    }
}
