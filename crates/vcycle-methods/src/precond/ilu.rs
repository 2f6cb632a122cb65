//! Incomplete LU factorisation, without fill and with fill up to a level.

use std::borrow::Cow;

use super::fill_levels::with_fill;
use super::incomplete::Incomplete;
use super::{diagonal_places, example, square_entries};
use crate::host_stages::{ILU0, TRIANGLES};
use crate::operations;
use crate::prelude::*;
use crate::registration::preconditioner;

preconditioner! {
    /// `M = (L U)^-1` with `L U = A` on the pattern of `A` and no fill outside of it (Meijerink and van
    /// der Vorst 1977; the row-wise algorithm is Saad's, 2003, section 10.3).
    ///
    /// The set-up is serial, on a device level by level. An application is two triangular solves, level by level, or a few sweeps in
    /// place of each.
    ///
    /// **Choose it** for general matrices with few entries a row. A zero pivot is an error that names
    /// its row; for Hermitian positive definite matrices take [`Ic0`](super::Ic0).
    ///
    #[doc = example!("Ilu0", "Gmres", "convdiff7:6,20", 20)]
    pub struct Ilu0 {
        /// Steps of Jacobi's iteration in place of each triangular solve (Anzt, Chow and Dongarra 2015);
        /// 0 for substitution. On a device a step is one launch, and substitution one a level. Where
        /// so many leave more than 0.3 of the residual of a triangular solve, as for matrices far from diagonally
        /// dominant, it is substitution nevertheless, and a message says so.
        pub sweeps: usize = 0,
        /// Power of the pattern on which approximate inverses take the place of triangular solves (Anzt, Huckle, Bräckle and
        /// Dongarra 2018); 0 for none.
        pub isai: usize = 0,
    }
    name: "ilu0", summary: "Incomplete LU factorisation.", after_colon: &["sweeps"],
    needs: &[Entries, Diagonal], support: Support::own_rows(&[ILU0, TRIANGLES]),
    symmetry: Symmetric, memory: Memory::per(12, 30);
    symmetric if: |own| own.isai == 0;
}

impl<T: Mixes<T, T>> Factory<T> for Ilu0 {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        operator("ilu0", a.as_ref(), 0, (self.sweeps, self.isai), ws)
    }
}

preconditioner! {
    /// `M = (L U)^-1` with fill up to a level (Saad 2003, section 10.3.3).
    ///
    /// Level 0 is [`Ilu0`](super::Ilu0). Each level lets in what the elimination of the one below it makes, whatever its
    /// value: factors grow, and iterations become fewer.
    ///
    /// **Choose it** where `Ilu0` takes many iterations and memory allows more; [`Ilut`](super::Ilut) looks at the
    /// values and is the better choice where they differ much.
    ///
    #[doc = example!("Iluk", "Gmres", "convdiff7:6,20", 12)]
    pub struct Iluk {
        /// The highest level of fill.
        pub level: usize = 1,
        /// Steps of Jacobi's iteration in place of each triangular solve; 0 for substitution. Where so many are far from
        /// it, it is substitution nevertheless.
        pub sweeps: usize = 0,
        /// Power of the pattern on which approximate inverses take the place of triangular solves; 0 for none.
        pub isai: usize = 0,
    }
    name: "iluk", summary: "Incomplete LU factorisation with fill up to a level.",
    after_colon: &["level"], needs: &[Entries, Diagonal],
    support: Support::own_rows(&[ILU0, TRIANGLES]), symmetry: Symmetric,
    memory: Memory::per(24, 60);
    symmetric if: |own| own.isai == 0;
    more memory: |own, _| Memory::per(24_usize.saturating_mul(own.level), 0);
}

impl<T: Mixes<T, T>> Factory<T> for Iluk {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        operator("iluk", a.as_ref(), self.level, (self.sweeps, self.isai), ws)
    }
}

/// `(L U)^-1` with fill up to a level.
fn operator<T: Mixes<T, T>>(
    component: &'static str,
    a: &dyn LinOp<T>,
    level: usize,
    solves: (usize, usize),
    ws: &Workspace,
) -> Result<Arc<dyn LinOp<T>>> {
    let _stage = ws.stage(&format!("{component} set-up"), 0);
    let mut entries = square_entries(a, component)?;
    let mut diagonal = diagonal_places(entries.pattern(), component)?;
    if level > 0 {
        entries = Cow::Owned(with_fill(&entries, level)?);
        diagonal = diagonal_places(entries.pattern(), component)?;
    }
    let factors = Incomplete::<T> {
        component,
        pattern: entries.pattern(),
        values: &in_order(&entries, &diagonal)?,
        diagonal: &diagonal,
    };
    factors.operator(solves, ws)
}

/// The factors on the pattern of `a`: on devices front after front of rows that do not depend on each other, else row after row.
/// Behind a zero pivot they are not finite.
pub(super) fn in_order<T: Scalar>(a: &Csr<T>, diagonal: &[usize]) -> Result<Vec<T::Arith>> {
    let by_fronts = operations::factor::ilu0(a, diagonal)?;
    Ok(by_fronts.unwrap_or_else(|| factorise(a, diagonal)))
}

/// The same row after row.
fn factorise<T: Scalar>(a: &Csr<T>, diagonal: &[usize]) -> Vec<T::Arith> {
    operations::on_host(a.executor(), ILU0);
    let mut values: Vec<T::Arith> = a.values().iter().map(|value| value.load()).collect();
    let mut places = vec![None; diagonal.len()];
    for row in 0..diagonal.len() {
        let pattern = (a.offsets(), a.columns(), diagonal);
        eliminate(row, pattern, &mut values, &mut places);
    }
    values
}

/// Replaces the entries of a row by those of both factors. The pattern is given by offsets, columns and places on the diagonal;
/// `places` of columns are none before and after.
pub(crate) fn eliminate<A: Field>(
    row: usize,
    (offsets, columns, diagonal): (&[usize], &[u32], &[usize]),
    values: &mut [A],
    places: &mut [Option<usize>],
) {
    let own = offsets[row]..offsets[row + 1];
    for place in own.clone() {
        places[columns[place] as usize] = Some(place);
    }
    for place in own.start..diagonal[row] {
        let above = columns[place] as usize;
        let factor = values[place] / values[diagonal[above]];
        values[place] = factor;
        for other in diagonal[above] + 1..offsets[above + 1] {
            if let Some(target) = places[columns[other] as usize] {
                let value = values[other];
                values[target] -= factor * value;
            }
        }
    }
    for place in own {
        places[columns[place] as usize] = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::precond::testing::{convection, error_of, from_dense, matrix_of, with_messages};

    #[test]
    fn sweeps_that_do_not_converge_give_way_to_substitution() {
        // Tridiagonal: `L` doubles what it meets in every row.
        let n = 20;
        let value = |i: usize| match (i / n).wrapping_sub(i % n) {
            0 => 1.0 + 2.0 * f64::from(u32::from(i > 0)),
            1 => 2.0,
            usize::MAX => 1.0,
            _ => 0.0,
        };
        let dense: Vec<f64> = (0..n * n).map(value).collect();
        let a = from_dense(&Executor::reference(), n, &dense);
        for sweeps in [1, 3, 10] {
            let (m, message) = with_messages(|| matrix_of(&Ilu0 { sweeps, isai: 0 }, &a));
            assert!(message.contains("by substitution"), "{sweeps}: {message}");
            assert_eq!(m, matrix_of(&Ilu0::default(), &a));
        }
    }

    #[test]
    fn a_full_band_is_solved_with_by_sweeps_and_by_inverses() {
        let a = convection::<f64>(&Executor::reference(), 5);
        let error = |sweeps, isai| {
            let level = 20;
            let iluk = Iluk {
                level,
                sweeps,
                isai,
            };
            error_of(&iluk, &a)
        };
        // A band is triangular in few sweeps, and a full pattern is the inverse.
        assert!(error(30, 0) < 1e-13);
        assert!(error(0, 5) < 1e-12 && error(0, 1) > 1e-6);
    }
}
