//! Triangular matrices ready to be solved with, and products of two of them.

use std::fmt::{Debug, Formatter};
use std::sync::OnceLock;

use super::bad_pivot;
use super::order::{Rows, Schedule, Side};
use crate::host_stages::TRIANGLES;
use crate::linop::{Product, check_apply};
use crate::operations::on_host;
use crate::operations::triangular::{self, Flaw, Groups, Kept, LevelTriangle, Standing};
use crate::prelude::*;

/// The inverse of a triangular matrix, applied by substitution.
///
/// The rows are stored in the order they are solved in. On `cpu` that may be level after level,
/// each by all threads; a solve then costs one pass over the entries and one synchronisation a
/// level. The adjoint is made when a transposed solve first asks for it.
#[derive(Clone)]
pub(super) struct Triangle<T: Scalar> {
    /// What it is part of, for [`Debug`].
    pub(super) label: Arc<str>,
    schedule: Schedule,
    off_diagonal: Csr<T>,
    inverse_diagonal: Option<Buffer<T::Arith>>,
    adjoint: OnceLock<Box<Self>>,
    kept: Kept,
}

impl<T: Scalar> Triangle<T> {
    /// The entries on one side of the diagonal of `pattern`, with the values
    /// `value(row, place)`, and the given diagonal (ones without).
    pub(super) fn new(
        component: &'static str,
        side: Side,
        pattern: &Pattern,
        diagonal: Option<Vec<T::Arith>>,
        value: impl Fn(usize, usize) -> T::Arith,
    ) -> Result<Self> {
        Self::of_rows(component, &Rows::Natural, side, pattern, diagonal, value)
    }

    /// The same where `rows` says which entries are on which side of the diagonal.
    pub(super) fn of_rows(
        component: &'static str,
        rows: &Rows,
        side: Side,
        pattern: &Pattern,
        diagonal: Option<Vec<T::Arith>>,
        value: impl Fn(usize, usize) -> T::Arith,
    ) -> Result<Self> {
        on_host(pattern.executor(), TRIANGLES);
        let inverse = diagonal.map(|diagonal| invert(component, diagonal));
        let inverse = inverse.transpose()?;
        let off_diagonal = off_diagonal(component, rows, side, pattern, value)?;
        let schedule = rows.schedule(side, &off_diagonal);
        let (label, inverse) = (component.into(), inverse.as_deref());
        Ok(Self::scheduled(label, schedule, &off_diagonal, inverse))
    }

    /// One that a device has made.
    fn of_levels(label: &Arc<str>, made: LevelTriangle<T>) -> Self {
        Self {
            label: Arc::clone(label),
            schedule: Schedule {
                order: made.order,
                groups: Groups::Levels(made.bounds),
            },
            off_diagonal: made.off_diagonal,
            inverse_diagonal: made.inverse_diagonal,
            adjoint: OnceLock::new(),
            kept: Kept::default(),
        }
    }

    /// A triangle given in the order of its rows.
    fn scheduled(
        label: Arc<str>,
        schedule: Schedule,
        rows: &Csr<T>,
        inverse_diagonal: Option<&[T::Arith]>,
    ) -> Self {
        let executor = rows.executor();
        let order = &schedule.order;
        let in_order = |d: &[T::Arith]| order.iter().map(|&row| d[row as usize]).collect();
        let inverse_diagonal = inverse_diagonal.map(in_order);
        Self {
            label,
            off_diagonal: take_rows(rows, order),
            inverse_diagonal: inverse_diagonal.map(|d| Buffer::from_vec(executor, d)),
            schedule,
            adjoint: OnceLock::new(),
            kept: Kept::default(),
        }
    }

    /// The conjugate transpose.
    pub(super) fn adjoint(&self) -> Result<Self> {
        let mut steps = vec![0; self.schedule.order.len()];
        for (step, &row) in self.schedule.order.iter().enumerate() {
            steps[row as usize] = step as u32;
        }
        let diagonal = self.inverse_diagonal.as_ref().map(Buffer::to_vec);
        let by_row = |d: Vec<T::Arith>| steps.iter().map(|&step| d[step as usize].conj()).collect();
        let diagonal: Option<Vec<T::Arith>> = diagonal.map(by_row);
        let transposed = take_rows(&self.off_diagonal, &steps).adjoint()?;
        let (label, schedule) = (Arc::clone(&self.label), self.schedule.reversed());
        let diagonal = diagonal.as_deref();
        Ok(Self::scheduled(label, schedule, &transposed, diagonal))
    }

    /// The conjugate transpose, kept for the next time.
    fn kept_adjoint(&self) -> Result<&Self> {
        Ok(kept(&self.adjoint, || Ok(Box::new(self.adjoint()?)))?)
    }

    /// `A y = b`, or with the conjugate of `A`.
    fn solve(&self, conjugate: bool, b: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        check_apply("triangular solve", self.size(), self.executor(), b, y)?;
        let steps = (&self.schedule.order[..], &self.schedule.groups);
        let inverse = self.inverse_diagonal.as_ref();
        // SAFETY: a schedule is made of the rows of its triangle, which are stored in its order.
        let a = unsafe {
            triangular::Triangle::new(steps, &self.off_diagonal, inverse, conjugate, &self.kept)
        };
        triangular::solve(&a, b, y)
    }
}

/// The rows of `a` in another order.
fn take_rows<T: Scalar>(a: &Csr<T>, order: &[u32]) -> Csr<T> {
    let mut offsets = vec![0];
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    columns.reserve_exact(a.nonzeros());
    values.reserve_exact(a.nonzeros());
    for &row in order {
        let (of_row, values_of_row) = a.row(row as usize);
        columns.extend_from_slice(of_row);
        values.extend_from_slice(values_of_row);
        offsets.push(columns.len());
    }
    Csr::from_canonical(a.executor(), a.size(), offsets, columns, values)
}

/// One over every entry of a diagonal.
pub(super) fn invert<A: Field>(component: &'static str, mut diagonal: Vec<A>) -> Result<Vec<A>> {
    for (row, value) in diagonal.iter_mut().enumerate() {
        if value.is_zero() {
            return Err(bad_pivot(component, row, "zero"));
        }
        *value = A::one() / *value;
        if !Field::is_finite(*value) {
            return Err(bad_pivot(component, row, "not finite"));
        }
    }
    Ok(diagonal)
}

/// The entries of a pattern on one side of the diagonal, with finite values.
pub(super) fn off_diagonal<T: Scalar>(
    component: &'static str,
    rows: &Rows,
    side: Side,
    pattern: &Pattern,
    value: impl Fn(usize, usize) -> T::Arith,
) -> Result<Csr<T>> {
    let holds = |row, place: usize| rows.holds(side, row, pattern.columns()[place] as usize);
    let found = entries_of::<T>(pattern, holds, value);
    match found.check_finite() {
        Err(Error::NonFiniteEntry { row, .. }) => Err(bad_pivot(component, row, "not finite")),
        _ => Ok(found),
    }
}

/// The entries of a pattern whose row and place `holds`, with their values.
pub(super) fn entries_of<T: Scalar>(
    pattern: &Pattern,
    holds: impl Fn(usize, usize) -> bool,
    value: impl Fn(usize, usize) -> T::Arith,
) -> Csr<T> {
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    let mut offsets = vec![0];
    for row in 0..pattern.size().rows {
        for place in pattern.range(row).filter(|&place| holds(row, place)) {
            columns.push(pattern.columns()[place]);
            values.push(T::store(value(row, place)));
        }
        offsets.push(columns.len());
    }
    Csr::from_canonical(pattern.executor(), pattern.size(), offsets, columns, values)
}

impl<T: Scalar> Debug for Triangle<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (label, entries) = (&self.label, self.off_diagonal.nonzeros());
        let rows = self.off_diagonal.size().rows;
        write!(f, "{label}: triangle of {rows} rows, {entries} entries")
    }
}

impl<T: Scalar> LinOp<T> for Triangle<T> {
    forward!(off_diagonal: size, executor);

    fn apply(&self, b: &Vector<T>, y: &mut Vector<T>, _ws: &Workspace) -> Result<()> {
        self.solve(false, b, y)
    }

    fn apply_transposed(
        &self,
        mode: Transpose,
        b: &Vector<T>,
        y: &mut Vector<T>,
        _ws: &Workspace,
    ) -> Result<()> {
        let adjoint = self.kept_adjoint()?;
        adjoint.solve(mode == Transpose::Plain, b, y)
    }

    fn footprint(&self) -> Footprint {
        let diagonal = self.inverse_diagonal.as_ref().map_or(0, Buffer::bytes);
        let moved = self.off_diagonal.bytes() + diagonal + self.schedule.bytes();
        let adjoint = self
            .adjoint
            .get()
            .map_or(0, |adjoint| adjoint.footprint().held);
        Footprint::new(moved + adjoint, moved)
    }
}

/// `(L U)^-1` with triangular `L` and `U`: what incomplete factorisations and SSOR apply.
pub(super) fn factors<T: Scalar>([lower, upper]: [Triangle<T>; 2]) -> Result<Arc<dyn LinOp<T>>> {
    Ok(Arc::new(Product::new(vec![
        Arc::new(upper),
        Arc::new(lower),
    ])?))
}

/// The triangles that a device makes of a pattern, the places of its diagonal and values; none where that is left to the host.
pub(super) fn of_device<T: Scalar>(
    (component, label): (&'static str, &Arc<str>),
    standing: Standing,
    (pattern, diagonal, values): (&Pattern, &[usize], &[T::Arith]),
) -> Result<Option<[Triangle<T>; 2]>> {
    let Some(made) = triangular::split::<T>(standing, pattern, diagonal, values)? else {
        return Ok(None);
    };
    let made = made.map_err(|flaw| match flaw {
        Flaw::Zero(row) => bad_pivot(component, row, "zero"),
        Flaw::NotFinite(row) => bad_pivot(component, row, "not finite"),
    })?;
    Ok(Some(made.map(|one| Triangle::of_levels(label, one))))
}

/// `(L U)^-1` for `L` with a unit diagonal below, `U` on and above the diagonal of a matrix of `pattern`, whose `values` hold both.
pub(super) fn unit_lower<T: Scalar>(
    component: &'static str,
    pattern: &Pattern,
    values: &[T::Arith],
    diagonal: &[usize],
) -> Result<Arc<dyn LinOp<T>>> {
    let (entries, label) = ((pattern, diagonal, values), component.into());
    if let Some(made) = of_device((component, &label), Standing::SideBySide, entries)? {
        return factors(made);
    }
    let value = |_, place: usize| values[place];
    let pivots = diagonal.iter().map(|&place| values[place]).collect();
    // The upper triangle first: its pivots name the row where trouble began.
    let upper = Triangle::new(component, Side::Upper, pattern, Some(pivots), value)?;
    let lower = Triangle::new(component, Side::Lower, pattern, None, value)?;
    factors([lower, upper])
}

#[cfg(test)]
mod tests;
