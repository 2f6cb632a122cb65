//! Smoothed aggregation: a step of Jacobi applied to the tentative prolongation.

use std::borrow::Cow;
use std::ops::Range;

use super::kept_rows::{KeptRows, Pivot};
use super::registration::{InterpolationMethod, InterpolationRegistration};
use crate::eigen::{radius_by, row_sum_bound, row_sum_bound_of, spectral_radius as radius_of};
use crate::linop::{check_size, check_square};
use crate::matrix::{Accumulator, Rows, ShortRow, balance, build, check_product};
use crate::multigrid::number::{as_real, in_blocks, of_real};
use crate::operations;
use crate::precond::Jacobi;
use crate::prelude::*;

const COMPONENT: &str = "smoothed aggregation";

/// An estimate of the spectral radius of `D^-1 A` with the diagonal `D` of `A`: what a few steps of
/// the power method find and a fifth more, but never more than Gershgorin's bound.
///
/// # Errors
/// A zero on the diagonal; when memory is short.
pub fn spectral_radius<V: Field + Mixes<V, V>>(a: &Csr<V>) -> Result<f64> {
    let real = as_real(a);
    // With a layout for products these take less time than rows do; for complex rows there is no kernel.
    if (real.is_none() || a.is_placed())
        && let Some(inverted) = operations::entries::inverted(a, false, 1.0)?
    {
        return radius_by_products(a, inverted);
    }
    if let Some(real) = real
        && let Some(matrix) = operations::interpolate::filtered(real, None)?
    {
        if matrix.bound() == f64::INFINITY {
            nonzero(a.diagonal(), 0)?;
        }
        return radius_by(|steps| matrix.power_method(steps), matrix.bound());
    }
    FilteredMatrix::new(a, None, 0..a.size().rows)?.radius()
}

/// The same for a matrix of a device by products.
fn radius_by_products<V: Field + Mixes<V, V>>(
    a: &Csr<V>,
    (inverse, [zero, _]): (Buffer<V>, [Option<usize>; 2]),
) -> Result<f64> {
    if let Some(row) = zero {
        let component = COMPONENT;
        return Err(Error::ZeroDiagonal { component, row });
    }
    let (inverse, bound) = (Vector::of_buffer(inverse), row_sum_bound(a)?);
    radius_of::<V>(a, &inverse, bound, &Workspace::new())
}

/// The same for a matrix that ranks share, which call it together.
pub(in crate::multigrid) fn shared_radius<V: Mixes<V, V>>(a: &Distributed<V>) -> Result<f64> {
    let whole: &dyn LinOp<V> = a;
    let inverse = a.team().agree(Jacobi::default().inverse(whole))?;
    let bound = row_sum_bound_of(whole, "smoothed prolongation")?;
    radius_of(whole, inverse.values(), bound, &Workspace::new())
}

/// The diagonal of some rows, or an error that names its first zero.
fn nonzero<V: Field>(diagonal: Vec<V>, first: usize) -> Result<Vec<V>> {
    match diagonal.iter().position(|&entry| entry == V::zero()) {
        None => Ok(diagonal),
        Some(row) => Err(Error::ZeroDiagonal {
            component: COMPONENT,
            row: first + row,
        }),
    }
}

pub(super) const SMOOTHED: InterpolationRegistration = InterpolationRegistration {
    name: "smoothed",
    summary: "Smoothed aggregation (Vaněk, Mandel and Brezina 1996).",
    reads: &["strength", "energy-steps"],
    on_host: &[],
    over_ranks: true,
    method: InterpolationMethod::Groups { smoothed: true },
};

/// Smoothed aggregation (Vaněk, Mandel and Brezina 1996):
///
/// `P = (I - ω/ρ D^-1 A_F) T`
///
/// with the tentative prolongation `T`, the diagonal `D` of `A_F`, and an estimate `ρ` of the
/// spectral radius of `D^-1 A_F`, for which [`spectral_radius`] is the one to take. `omega` is 4/3
/// as a rule.
///
/// `A_F` is `A`, or with a `filter` (the strong couplings) the matrix whose other entries are
/// added to its diagonal. Where that would take the diagonal's sign, the diagonal of `A` stays.
/// `ρ` is then that of `A`, but at most Gershgorin's bound for `A_F`.
///
/// `block` has the unknowns of a node and the coarse ones of a group, 1 x 1 for scalar problems:
/// the product is formed by blocks.
///
/// **Choose it** for problems with few entries a row, or elasticity with its rigid-body modes;
/// with the filter where couplings differ much in strength, or the coarse matrices fill up.
///
/// ```
/// use vcycle::{executor::Executor, gallery, linop::Size};
/// use vcycle::multigrid::{coarsen::Aggregates, interpolate::{smoothed, spectral_radius, tentative}};
/// let cpu = Executor::cpu();
/// let a = gallery::build("poisson5:6x1", &cpu)?.matrix;
/// let threes = Aggregates { aggregate: vec![0, 0, 0, 1, 1, 1].into(), count: 2 };
/// let (t, _) = tentative(&threes, &[], 1, &cpu)?;
/// let p = smoothed(&a, &t, (4.0 / 3.0, spectral_radius(&a)?), None, Size::square(1))?;
/// assert_eq!(p.row(2).0, [0, 1]);
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// A zero on the diagonal, arguments that do not fit together, a negative `omega`; when memory is
/// short.
pub fn smoothed<V: Field + Mixes<V, V>>(
    a: &Csr<V>,
    tentative: &Csr<V>,
    damping: (f64, f64),
    filter: Option<&Arc<Pattern>>,
    block: Size,
) -> Result<Csr<V>> {
    check_square(a as &dyn LinOp<V>, COMPONENT)?;
    check_product(a.pattern(), tentative.pattern())?;
    let rows = 0..a.size().rows;
    smoothed_near((a, rows), tentative, damping, filter, block, Ok)
}

/// [`smoothed`] with the [`spectral_radius`], which comes with it: without a filter both take what one pass over
/// the matrix finds.
pub(in crate::multigrid) fn smoothed_by_radius<V: Field + Mixes<V, V>>(
    a: &Csr<V>,
    tentative: &Csr<V>,
    omega: f64,
    filter: Option<&Arc<Pattern>>,
    block: Size,
) -> Result<(Csr<V>, f64)> {
    check_square(a as &dyn LinOp<V>, COMPONENT)?;
    check_product(a.pattern(), tentative.pattern())?;
    if filter.is_some() || a.executor().is_device() {
        let radius = spectral_radius(a)?;
        let p = smoothed(a, tentative, (omega, radius), filter, block)?;
        return Ok((p, radius));
    }
    let kept = FilteredMatrix::new(a, None, 0..a.size().rows)?;
    let radius = kept.radius()?;
    Ok((kept.smoothed(tentative, (omega, radius), block)?, radius))
}

/// [`smoothed`] for some rows of a matrix, those of one rank, whose spectral radius is known; `largest` makes a bound of
/// these rows that of all.
pub(in crate::multigrid) fn smoothed_near<V: Field + Mixes<V, V>>(
    (a, rows): (&Csr<V>, Range<usize>),
    tentative: &Csr<V>,
    (omega, radius): (f64, f64),
    filter: Option<&Arc<Pattern>>,
    block: Size,
    largest: impl FnOnce(f64) -> Result<f64>,
) -> Result<Csr<V>> {
    let filter = filter.map(Arc::as_ref);
    if !a.executor().is_device() {
        let mut kept = FilteredMatrix::new(a, filter, rows)?;
        kept.bound = largest(kept.bound)?;
        return kept.smoothed(tentative, (omega, radius), block);
    }
    let factor = |bound: f64| -> Result<f64> {
        if bound == f64::INFINITY {
            let own = a.row_range(rows.clone())?.diagonal_from(rows.start);
            nonzero(own, rows.start)?;
        }
        let bound = largest(bound)?;
        damping(omega, radius, filter.map(|_| bound))
    };
    let made = match (as_real(a), as_real(tentative)) {
        (Some(a), Some(tentative)) => {
            let matrix = operations::interpolate::filtered_near(a, filter, rows.clone())?;
            let matrix = matrix.expect("the matrix is on a device");
            of_real(matrix.smoothed_in(tentative, factor(matrix.bound())?, block)?)?
        }
        _ => {
            let matrix = operations::interpolate::filtered_near(a, filter, rows.clone())?;
            let matrix = matrix.expect("the matrix is on a device");
            matrix.smoothed(tentative, factor(matrix.bound())?)?
        }
    };
    match rows.len() == a.size().rows {
        true => Ok(made),
        false => made.row_range(rows),
    }
}

/// `omega` over the spectral radius, which a bound may be less than.
fn damping(omega: f64, radius: f64, bound: Option<f64>) -> Result<f64> {
    let factor = omega / bound.map_or(radius, |bound| bound.min(radius));
    let reason = format!("not negative and finite over the radius, not {omega}");
    Error::check_parameter(factor >= 0.0 && factor.is_finite(), "omega", reason)?;
    Ok(factor)
}

/// `A_F`, whose entries but those of the diagonal are entries of `A`.
struct FilteredMatrix<'a, V: Field = f64> {
    a: &'a Csr<V>,
    filter: Option<&'a Pattern>,
    /// The rows that are looked at.
    rows: Range<usize>,
    /// Of these rows.
    pivots: Vec<Pivot<V>>,
    /// Gershgorin's bound of the spectral radius over the diagonal.
    bound: f64,
}

impl<'a, V: Field + Mixes<V, V>> FilteredMatrix<'a, V> {
    fn new(a: &'a Csr<V>, filter: Option<&'a Pattern>, rows: Range<usize>) -> Result<Self> {
        if let Some(filter) = filter {
            check_size("strength of couplings", a.size(), filter.size())?;
        }
        let kept = KeptRows::new(a, filter);
        let parts = a.map_pieces(|piece| {
            let piece = piece.start.max(rows.start)..piece.end.min(rows.end);
            let pivots: Vec<Pivot<V>> = piece.clone().map(|row| kept.pivot(row)).collect();
            let bound = pivots.iter().map(|pivot| pivot.row_sum);
            let zero = pivots.iter().position(|pivot| pivot.own == V::zero());
            (
                bound.fold(0.0, f64::max),
                zero.map(|at| piece.start + at),
                pivots,
            )
        });
        if let Some(row) = parts.iter().find_map(|part| part.1) {
            return Err(Error::ZeroDiagonal {
                component: COMPONENT,
                row,
            });
        }
        Ok(Self {
            a,
            filter,
            rows,
            bound: parts.iter().map(|part| part.0).fold(0.0, f64::max),
            pivots: parts.into_iter().flat_map(|part| part.2).collect(),
        })
    }

    /// The estimate of the spectral radius of `D^-1 A`; without a filter.
    fn radius(&self) -> Result<f64> {
        let inverse = self
            .a
            .map_rows(|| (), |(), row| V::one() / self.pivots[row].own);
        let inverse = Vector::from_column(self.a.executor(), inverse);
        radius_of::<V>(self.a, &inverse, self.bound, &Workspace::new())
    }

    /// `(I - factor D^-1 A_F) T`.
    fn product(&self, tentative: &Csr<V>, factor: f64) -> Result<Csr<V>> {
        let cols = check_product(self.a.pattern(), tentative.pattern())?.cols;
        let (executor, first) = (self.a.executor(), self.rows.start);
        let (rows, t) = (KeptRows::new(self.a, self.filter), tentative.at_hand());
        let singles = has_single_entries(tentative);
        let factor = V::from_f64(factor);
        let fill = |(sums, short): &mut (Accumulator<V>, ShortRow<V>),
                    number: usize,
                    out: &mut Rows<V>| {
            let (row, scale) = (first + number, -factor / self.pivots[number].own);
            let weight = |column: usize, value: V| match column == row {
                true => V::one() - factor,
                false => scale * value,
            };
            let columns = rows.a.row(row).0;
            if singles && columns.len() <= ShortRow::<V>::LONGEST {
                short.clear();
                rows.for_each(row, |k, value| {
                    short.add(t.columns[k], weight(k, value) * t.values[k]);
                });
                return out.append(executor, short.entries());
            }
            let lengths = columns.iter().map(|&k| t.row(k as usize).0.len());
            sums.start(executor, cols, lengths.sum())?;
            rows.for_each(row, |k, value| {
                let (weight, (columns, values)) = (weight(k, value), t.row(k));
                for (&column, &value) in columns.iter().zip(values) {
                    *sums.sum(column) += weight * value;
                }
            });
            let (columns, sum) = sums.sorted();
            out.append_by(executor, columns, sum)
        };
        let pieces = self.pieces();
        let arrays = build(executor, &pieces, self.a.bytes(), Default::default, fill)?;
        Ok(arrays.into_csr(executor, Size::new(self.rows.len(), cols)))
    }

    /// Where the rows are cut for threads.
    fn pieces(&self) -> Vec<usize> {
        let (offsets, first) = (self.a.offsets(), self.rows.start);
        match first == 0 && self.rows.end == self.a.size().rows {
            true => self.a.pattern().pieces().to_vec(),
            false => balance(self.rows.len(), |row| {
                offsets[first + row] - offsets[first] + row
            }),
        }
    }
}

impl<V: Field + Mixes<V, V>> FilteredMatrix<'_, V> {
    /// The entries of the rows that are looked at.
    fn own_rows<'m>(&self, of: &'m Csr<V>) -> Result<Cow<'m, Csr<V>>> {
        match self.rows.len() == of.size().rows {
            true => Ok(Cow::Borrowed(of)),
            false => Ok(Cow::Owned(of.row_range(self.rows.clone())?)),
        }
    }

    /// `(I - omega/radius D^-1 A_F) T`, formed by blocks if they are larger than an entry.
    fn smoothed(
        &self,
        tentative: &Csr<V>,
        (omega, radius): (f64, f64),
        block: Size,
    ) -> Result<Csr<V>> {
        let factor = damping(omega, radius, self.filter.map(|_| self.bound))?;
        let blocks = match self.filter {
            None if block != Size::square(1) => {
                in_blocks(self.own_rows(self.a)?.as_ref(), tentative, block)
            }
            _ => None,
        };
        let Some((blocks, wide)) = blocks else {
            return self.product(tentative, factor);
        };
        let pivots = self.pivots.iter();
        let factor = V::from_f64(-factor);
        let factors: Vec<V> = pivots.map(|pivot| factor / pivot.own).collect();
        let correction = of_real::<V>(blocks.multiply(&wide)?.rows()?)?.scale_rows(&factors)?;
        self.own_rows(tentative)?
            .add(V::one(), V::one(), &correction)
    }
}

/// Whether every row has exactly one entry.
fn has_single_entries<V: Field>(a: &Csr<V>) -> bool {
    let offsets = a.offsets();
    let single = |mut rows: std::ops::Range<usize>| rows.all(|row| offsets[row] == row);
    a.nonzeros() == a.size().rows && a.map_pieces(single).into_iter().all(|all| all)
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use crate::gallery;
    use crate::multigrid::coarsen::Aggregates;
    use crate::multigrid::interpolate::tentative;

    const OMEGA: (f64, f64) = (4.0 / 3.0, 2.0);
    const ONE: Size = Size { rows: 1, cols: 1 };

    /// Squares of `width` by `width` points on a grid of `side` by `side`.
    fn squares(side: usize, width: usize) -> Aggregates {
        let across = side.div_ceil(width);
        let group = |i: usize| (i % side / width + i / side / width * across) as u32;
        Aggregates {
            aggregate: (0..side * side).map(group).collect(),
            count: across * across,
        }
    }

    #[test]
    fn smoothing_lowers_the_energy_and_keeps_constants() {
        let cpu = Executor::reference();
        let a = testing::neumann(12);
        let (t, _) = tentative(&squares(12, 3), &[], 1, &cpu).unwrap();
        let p = smoothed(&a, &t, OMEGA, None, ONE).unwrap();
        assert!(testing::energy(&a, &p) < 0.6 * testing::energy(&a, &t));
        testing::assert_constants_kept(&p);
    }

    #[test]
    fn weak_couplings_do_not_widen_the_rows() {
        let cpu = Executor::reference();
        let a = testing::neumann(12);
        let (t, _) = tentative(&squares(12, 3), &[], 1, &cpu).unwrap();
        let along_x = |i: usize| (!i.is_multiple_of(12)).then(|| (i as u32 - 1, 1.0));
        let back = |i: usize| (i % 12 < 11).then(|| (i as u32 + 1, 1.0));
        let rows: Vec<_> = (0..144)
            .map(|i| along_x(i).into_iter().chain(back(i)).collect())
            .collect();
        let strong = testing::matrix(&rows);
        let p = smoothed(&a, &t, OMEGA, Some(strong.pattern()), ONE).unwrap();
        testing::assert_constants_kept(&p);
        assert_eq!(p.row(26).0, [0, 1]);
        assert_eq!(p.row(25).0, [0]);
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let with = |threads: usize| {
            let cpu = Executor::cpu_with_threads(threads).unwrap();
            let a = gallery::build("poisson9:200", &cpu).unwrap().matrix;
            let (t, _) = tentative(&squares(200, 3), &[vec![1.0; 40_000]], 1, &cpu).unwrap();
            let p = smoothed(&a, &t, OMEGA, Some(a.pattern()), ONE).unwrap();
            (p.columns().to_vec(), p.values().to_vec())
        };
        assert!(with(1) == with(3));
    }

    #[test]
    fn wrong_arguments_are_refused() {
        let cpu = Executor::reference();
        let a = testing::line(3);
        let t = Csr::<f64>::identity(&cpu, 3);
        assert!(smoothed(&a, &t, (f64::NAN, 2.0), None, ONE).is_err());
        assert!(smoothed(&a, &t, (1.0, 0.0), None, ONE).is_err());
        assert!(smoothed(&a, &Csr::identity(&cpu, 2), OMEGA, None, ONE).is_err());
        let empty = Csr::diagonal_matrix(&cpu, vec![1.0, 0.0, 1.0]);
        assert_refused!(
            smoothed(&empty, &t, OMEGA, None, ONE),
            ZeroDiagonal { row: 1, .. }
        );
    }
}
