//! Incomplete Cholesky factorisation, without fill and with fill up to a level.

use std::borrow::Cow;

use num_traits::{Float, One};

use super::fill_levels::with_fill;
use super::order::Side;
use super::triangular::{Triangle, factors, of_device};
use super::{bad_pivot, check_hermitian, diagonal_places, example, square_entries};
use crate::host_stages::{IC0, TRIANGLES};
use crate::operations::on_host;
use crate::operations::triangular::Standing;
use crate::prelude::*;
use crate::registration::preconditioner;
use crate::scalar::RealOf;

/// The first shift tried after a breakdown; it doubles until the factorisation exists.
const FIRST_SHIFT: f64 = 1e-3;
/// Where even this shift does not help, the entries off the diagonal dwarf those on it.
const LAST_SHIFT: f64 = 1e4;

preconditioner! {
    /// `M = (L L^H)^-1` with `L L^H = A + shift D` on the pattern of `A` and no fill outside of it
    /// (Meijerink and van der Vorst 1977).
    ///
    /// A positive definite matrix can still meet a pivot that is not positive. The factorisation then
    /// starts anew with a larger shift of the diagonal `D` (Manteuffel 1980); the operator's `Debug`
    /// says which. Only the lower triangle of the matrix is read. The set-up is serial, an application
    /// is two triangular solves, level by level.
    ///
    /// **Choose it** with conjugate gradients for Hermitian positive definite matrices of moderate
    /// size: stronger than [`Ssor`](super::Ssor) at the same cost.
    ///
    #[doc = example!("Ic0", "Cg", "poisson5:16", 30)]
    pub struct Ic0 {
        /// The relative shift of the diagonal to begin with.
        pub shift: f64 = 0.0,
    }
    name: "ic0", summary: "Incomplete Cholesky factorisation.", after_colon: &["shift"],
    needs: &[Entries, DefiniteMatrix], support: Support::own_rows(&[IC0, TRIANGLES]),
    symmetry: Symmetric, memory: Memory::per(25, 56),
}

impl<T: Mixes<T, T>> Factory<T> for Ic0 {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        if !(self.shift >= 0.0 && self.shift.is_finite()) {
            return Err(Error::bad_parameter(
                "shift",
                format!("must be zero or positive, not {}", self.shift),
            ));
        }
        operator("ic0", a.as_ref(), (0, self.shift), "ilu0", ws)
    }
}

preconditioner! {
    /// `M = (L L^H)^-1` with fill up to a level: what [`Iluk`](super::Iluk) is for general matrices.
    ///
    /// Level 0 is [`Ic0`](super::Ic0), whose shifts take over where a pivot is not positive.
    ///
    /// **Choose it** with conjugate gradients where `Ic0` takes many iterations and memory allows more;
    /// [`ParIct`](super::ParIct) looks at the values.
    ///
    #[doc = example!("Ick", "Cg", "poisson5:16", 16)]
    pub struct Ick {
        /// The highest level of fill.
        pub level: usize = 1,
    }
    name: "ick", summary: "Incomplete Cholesky factorisation with fill up to a level.",
    after_colon: &["level"], needs: &[Entries, DefiniteMatrix],
    support: Support::own_rows(&[IC0, TRIANGLES]), symmetry: Symmetric, memory: Memory::per(25, 56);
    more memory: |own, _| Memory::per(25_usize.saturating_mul(own.level), 0);
}

impl<T: Mixes<T, T>> Factory<T> for Ick {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        operator("ick", a.as_ref(), (self.level, 0.0), "iluk", ws)
    }
}

/// `(L L^H)^-1` with fill up to a level and a shift of the diagonal; `instead` is for other matrices.
fn operator<T: Scalar>(
    component: &'static str,
    a: &dyn LinOp<T>,
    (level, shift): (usize, f64),
    instead: &'static str,
    ws: &Workspace,
) -> Result<Arc<dyn LinOp<T>>> {
    let _stage = ws.stage(&format!("{component} set-up"), 0);
    let (mut entries, mut diagonal) = definite_entries(component, a, instead)?;
    on_host(entries.executor(), IC0);
    if level > 0 {
        entries = Cow::Owned(with_fill(&entries, level)?);
        diagonal = diagonal_places(entries.pattern(), component)?;
    }
    let (values, shift) = factorise_shifted(component, &entries, &diagonal, shift)?;
    let label = format!("{component} (shift {shift})");
    cholesky(component, &label, entries.pattern(), &values, &diagonal)
}

/// The entries of a Hermitian matrix with a positive diagonal, and where that is.
fn definite_entries<'a, T: Scalar>(
    component: &'static str,
    a: &'a dyn LinOp<T>,
    instead: &'static str,
) -> Result<(Cow<'a, Csr<T>>, Vec<usize>)> {
    let entries = square_entries(a, component)?;
    let diagonal = diagonal_places(entries.pattern(), component)?;
    check_positive(component, &entries, &diagonal)?;
    check_hermitian(&entries, component, instead)?;
    Ok((entries, diagonal))
}

/// The lower triangle of a Hermitian matrix with a positive diagonal.
pub(super) fn lower_triangle<T: Scalar>(
    component: &'static str,
    a: &dyn LinOp<T>,
    instead: &'static str,
) -> Result<Csr<T>> {
    definite_entries(component, a, instead)?.0.lower()
}

/// `(L L^H)^-1` from the values of `L` on the lower triangle of a pattern.
pub(super) fn cholesky<T: Scalar>(
    component: &'static str,
    label: &str,
    pattern: &Pattern,
    values: &[T::Arith],
    diagonal: &[usize],
) -> Result<Arc<dyn LinOp<T>>> {
    let (entries, label) = ((pattern, diagonal, values), label.into());
    if let Some(made) = of_device((component, &label), Standing::Lower, entries)? {
        return factors(made);
    }
    let pivots = diagonal.iter().map(|&place| values[place]).collect();
    let value = |_, place: usize| values[place];
    let mut lower = Triangle::<T>::new(component, Side::Lower, pattern, Some(pivots), value)?;
    lower.label = label;
    let upper = lower.adjoint()?;
    factors([lower, upper])
}

/// No shift repairs a diagonal that is not positive.
fn check_positive<T: Scalar>(
    component: &'static str,
    a: &Csr<T>,
    diagonal: &[usize],
) -> Result<()> {
    let value = |place: usize| a.values()[place].load();
    for (row, &place) in diagonal.iter().enumerate() {
        if value(place) == T::Arith::default() {
            return Err(Error::ZeroDiagonal { component, row });
        }
        if value(place).real() < RealOf::<T>::default() {
            return Err(bad_pivot(component, row, "not positive"));
        }
    }
    Ok(())
}

/// The factor and the shift it needed, at least `shift`.
pub(super) fn factorise_shifted<T: Scalar>(
    component: &'static str,
    a: &Csr<T>,
    diagonal: &[usize],
    mut shift: f64,
) -> Result<(Vec<T::Arith>, f64)> {
    loop {
        match factorise(a, diagonal, shift) {
            Ok(values) => return Ok((values, shift)),
            Err(row) if shift >= LAST_SHIFT => {
                return Err(bad_pivot(component, row, "not positive"));
            }
            Err(_) => shift = (2.0 * shift).max(FIRST_SHIFT),
        }
    }
}

/// The factor `L` in the lower triangle of the pattern of `a`, or the row that broke down.
fn factorise<T: Scalar>(
    a: &Csr<T>,
    diagonal: &[usize],
    shift: f64,
) -> Result<Vec<T::Arith>, usize> {
    let (pattern, columns) = (a.pattern(), a.columns());
    let shifted = RealOf::<T>::one() + RealOf::<T>::from_f64(shift);
    let mut values = vec![T::Arith::default(); a.nonzeros()];
    // Where the current row has its entry of each column.
    let mut places = vec![None; diagonal.len()];
    for row in 0..diagonal.len() {
        let lower = pattern.range(row).start..diagonal[row];
        let on_diagonal = a.values()[diagonal[row]].load().real() * shifted;
        let mut pivot = on_diagonal;
        for place in lower.clone() {
            let above = columns[place] as usize;
            let mut sum = a.values()[place].load();
            for other in pattern.range(above).start..diagonal[above] {
                if let Some(target) = places[columns[other] as usize] {
                    sum -= values[target] * Field::conj(values[other]);
                }
            }
            values[place] = sum / values[diagonal[above]];
            pivot -= values[place].modulus_squared();
            places[above] = Some(place);
        }
        // What is left by rounding alone is no pivot.
        let usable = pivot > on_diagonal * RealOf::<T>::epsilon() && Float::is_finite(pivot);
        if !usable {
            return Err(row);
        }
        values[diagonal[row]] = T::Arith::from_real(Float::sqrt(pivot));
        for place in lower {
            places[columns[place] as usize] = None;
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::precond::testing::{assemble, from_dense, made, made_of};

    #[test]
    fn a_breakdown_is_cured_by_a_shift() {
        // Kershaw's matrix: positive definite, but its incomplete factor meets a negative pivot.
        let a = [
            3.0, -2.0, 0.0, 2.0, -2.0, 3.0, -2.0, 0.0, 0.0, -2.0, 3.0, -2.0, 2.0, 0.0, -2.0, 3.0,
        ];
        let m = made_of(&Ic0::default(), 4, &a).unwrap();
        let label = format!("{m:?}");
        assert!(label.contains("ic0 (shift 0."), "{label}");
        let values = assemble(m.as_ref(), None);
        assert!(values.iter().all(|value| value.is_finite()));
    }

    /// What two orders of summation make of the same number in a narrow precision.
    #[test]
    fn rounding_does_not_make_a_matrix_unsymmetric() {
        let rounded = [2.0, 1.0, 1.0 + f32::EPSILON, 2.0].map(f64::from);
        let rounded = from_dense(&Executor::reference(), 2, &rounded);
        assert!(made(&Ic0::default(), &rounded.convert::<f32>().unwrap()).is_ok());
    }
}
