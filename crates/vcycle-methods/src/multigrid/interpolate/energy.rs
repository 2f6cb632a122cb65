//! Steps that reduce the energy of a prolongation without changing its pattern.

use std::ops::Range;

use super::prolongation::RankLevel;
use super::small::{norm, subtract};
use crate::eigen::rounded;
use crate::host_stages;
use crate::linop::check_size;
use crate::matrix::{Halo, Rows, build};
use crate::multigrid::coarsen::{NextNumbers, spread_over};
use crate::operations::interpolate::energy_space;
use crate::operations::on_host;
use crate::prelude::*;

/// Directions of the near-kernel smaller than this beside the largest do not constrain a row.
const DEPENDENT: f64 = 1e-8;
/// Bits that lengths of steps keep: sums in another order, those of several ranks, make the same steps.
const KEPT: u32 = 20;

/// The prolongation of the same pattern that has less energy `trace(P^T A P)` and maps `vectors`,
/// the near-kernel of the next level, as `p` does: `steps` steps of conjugate gradients scaled by
/// the diagonal (Olson, Schroder and Tuminaro 2011). Rows that are `fixed` stay.
///
/// **Choose it** in place of [`smoothed`](super::smoothed) where the pattern must not grow, or
/// after [`filtered`](super::filtered): each step costs as much as the product `A P`.
///
/// ```
/// use vcycle::{executor::Executor, gallery, matrix::{Csr, galerkin}};
/// use vcycle::multigrid::{coarsen::Aggregates, interpolate::{energy_minimised, smoothed,
///                         spectral_radius, tentative}};
/// use vcycle::linop::Size;
/// let cpu = Executor::cpu();
/// let a = gallery::build("poisson5:6x1", &cpu)?.matrix;
/// let threes = Aggregates { aggregate: vec![0, 0, 0, 1, 1, 1].into(), count: 2 };
/// let (t, _) = tentative(&threes, &[], 1, &cpu)?;
/// let p = smoothed(&a, &t, (0.5, spectral_radius(&a)?), None, Size::square(1))?;
/// let best = energy_minimised(&a, &p, &[vec![1.0; 2]], |_| false, 4)?;
/// let energy = |p: &Csr<f64>| -> vcycle::Result<f64> {
///     Ok(galerkin(&p.transpose()?, &a, p)?.diagonal().iter().sum())
/// };
/// assert!(energy(&best)? < energy(&p)?);
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// For arguments that do not fit together and a zero on the diagonal; when memory is short.
pub fn energy_minimised(
    a: &Csr<f64>,
    p: &Csr<f64>,
    vectors: &[Vec<f64>],
    fixed: impl Fn(usize) -> bool + Sync,
    steps: usize,
) -> Result<Csr<f64>> {
    check_size("matrix", Size::square(p.size().rows), a.size())?;
    check(a, vectors, p.size().cols, 0..a.size().rows)?;
    let rows = 0..a.size().rows;
    let flags = || rows.clone().map(|row| u32::from(fixed(row))).collect();
    let values = match energy_space(a, p.pattern(), vectors, flags)? {
        Some(space) => {
            let gradient = |x: &Vector<f64>| space.gradient(x);
            let scaled = |x: &Vector<f64>| space.scaled(x);
            let space = Space {
                gradient: &gradient,
                scaled: &scaled,
                sum: &Ok,
            };
            lowered(&space, p, steps)?
        }
        None => {
            on_host(a.executor(), host_stages::ENERGY);
            let near = |x: &Vector<f64>| -> Result<Csr<f64>> {
                Ok(Csr::of_buffers(p.pattern(), x.buffer().clone()))
            };
            lowered_by_rows((a, rows), p, vectors, &fixed, (&near, &Ok), steps)?
        }
    };
    Ok(Csr::of_buffers(p.pattern(), values.buffer().clone()))
}

/// [`energy_minimised`] for own rows of a matrix that ranks share, given those nearby, and for own rows of vectors of the
/// next level. All ranks call it together.
pub(in crate::multigrid) fn energy_minimised_over_ranks(
    level: RankLevel<'_>,
    a: &Csr<f64>,
    (p, next): (&Csr<f64>, &NextNumbers),
    vectors: &[Vec<f64>],
    fixed: impl Fn(usize) -> bool + Sync,
    steps: usize,
) -> Result<Csr<f64>> {
    let (fine, team) = (level.near, level.near.team());
    let shared = level.prolongation((p.clone(), &next.numbers), next)?;
    let wanted = level.columns.others();
    let of_rows = |values: Vec<f64>| shared.with_values(values)?.rows_of(wanted, fine);
    let (_, columns) = of_rows(p.values().to_vec())?;
    let columns = Halo::new(team, &next.partition, columns.others().to_vec())?;
    let vectors = vectors.iter().map(|own| spread_over(&columns, own));
    let vectors: Vec<Vec<f64>> = vectors.collect::<Result<_>>()?;
    team.agree(check(a, &vectors, columns.len(), fine.own()))?;
    let near = |x: &Vector<f64>| -> Result<Csr<f64>> { Ok(of_rows(x.to_vec())?.0) };
    let sum = |own: f64| -> Result<f64> {
        let mut all = [own];
        team.sum(&mut all)?;
        Ok(all[0])
    };
    let rows = (a, fine.own());
    let values = lowered_by_rows(rows, p, &vectors, &fixed, (&near, &sum), steps)?;
    Ok(Csr::of_buffers(p.pattern(), values.buffer().clone()))
}

/// Fails for vectors of other lengths and a zero on the diagonal of some rows.
fn check(a: &Csr<f64>, vectors: &[Vec<f64>], columns: usize, rows: Range<usize>) -> Result<()> {
    for vector in vectors {
        let (expected, found) = (Size::new(columns, 1), Size::new(vector.len(), 1));
        check_size("near-kernel", expected, found)?;
    }
    let first = rows.start;
    match a.diagonal()[rows].iter().position(|&entry| entry == 0.0) {
        None => Ok(()),
        Some(row) => Err(Error::ZeroDiagonal {
            component: "minimisation of energy",
            row: first + row,
        }),
    }
}

type Vectors<'s> = &'s dyn Fn(&Vector<f64>) -> Result<Vector<f64>>;
/// All rows nearby, for values of own ones.
type Nearby<'s> = &'s dyn Fn(&Vector<f64>) -> Result<Csr<f64>>;
/// The sum over all ranks of what each has.
type Sum<'s> = &'s dyn Fn(f64) -> Result<f64>;

/// Changes of a prolongation, by their values.
struct Space<'s> {
    /// What is in the space of `A X`.
    gradient: Vectors<'s>,
    /// `X` over the diagonal of the matrix.
    scaled: Vectors<'s>,
    sum: Sum<'s>,
}

impl Space<'_> {
    fn dot(&self, x: &Vector<f64>, y: &Vector<f64>) -> Result<f64> {
        let mut out = Scalars::filled(x.executor(), 1, 0.0)?;
        x.dot(y, &mut out)?;
        (self.sum)(out.get(0)?)
    }
}

/// Values of a prolongation after steps of conjugate gradients in a space.
fn lowered(space: &Space<'_>, p: &Csr<f64>, steps: usize) -> Result<Vector<f64>> {
    let mut p = Vector::of_buffer(p.values_buffer().clone());
    let mut r = (space.gradient)(&p)?;
    r.scale(Coefficient::real(-1.0))?;
    let mut direction = (space.scaled)(&r)?;
    let mut slope = space.dot(&r, &direction)?;
    for _ in 0..steps {
        let image = (space.gradient)(&direction)?;
        let curvature = space.dot(&direction, &image)?;
        if slope <= 0.0 || curvature <= 0.0 {
            break;
        }
        let length = rounded(slope / curvature, KEPT);
        p.axpy(Coefficient::real(length), &direction)?;
        r.axpy(Coefficient::real(-length), &image)?;
        let mut next = (space.scaled)(&r)?;
        let last = std::mem::replace(&mut slope, space.dot(&r, &next)?);
        next.axpy(Coefficient::real(rounded(slope / last, KEPT)), &direction)?;
        direction = next;
    }
    Ok(p)
}

/// The same with changes of own rows among those nearby that keep pattern, fixed rows and what vectors are mapped to.
fn lowered_by_rows(
    (a, rows): (&Csr<f64>, Range<usize>),
    p: &Csr<f64>,
    vectors: &[Vec<f64>],
    fixed: &(dyn Fn(usize) -> bool + Sync),
    (near, sum): (Nearby<'_>, Sum<'_>),
    steps: usize,
) -> Result<Vector<f64>> {
    let diagonal = a.diagonal();
    let inverse = diagonal[rows.clone()].iter().map(|entry| 1.0 / entry);
    let inverse: Vec<f64> = inverse.collect();
    let gradient = |x: &Vector<f64>| -> Result<Vector<f64>> {
        let x = &near(x)?;
        let executor = x.executor();
        let fill = |scratch: &mut EnergyScratch, row: usize, out: &mut Rows<f64>| {
            let row = rows.start + row;
            let columns = x.row(row).0;
            scratch.values.clear();
            scratch.values.resize(columns.len(), 0.0);
            if !fixed(row) {
                scratch.product(a, x, row);
                scratch.project(vectors, columns);
            }
            out.append(executor, (columns, &scratch.values))
        };
        let (pieces, bytes) = (p.pattern().pieces(), 8 * a.bytes());
        let arrays = build(executor, pieces, bytes, EnergyScratch::default, fill)?;
        let image = arrays.into_csr(executor, Size::new(rows.len(), x.size().cols));
        Ok(Vector::of_buffer(image.values_buffer().clone()))
    };
    let scaled = |x: &Vector<f64>| -> Result<Vector<f64>> {
        let scaled = Csr::of_buffers(p.pattern(), x.buffer().clone());
        let scaled = scaled.scale_rows(&inverse)?;
        Ok(Vector::of_buffer(scaled.values_buffer().clone()))
    };
    let space = Space {
        gradient: &gradient,
        scaled: &scaled,
        sum,
    };
    lowered(&space, p, steps)
}

#[derive(Default)]
struct EnergyScratch {
    /// For each column its place in the row, and one; zero if it has none.
    places: Vec<u32>,
    values: Vec<f64>,
    /// Orthonormal directions of the vectors at the columns.
    directions: Vec<Vec<f64>>,
}

impl EnergyScratch {
    /// A row of `A X` at the columns that `X` has there.
    fn product(&mut self, a: &Csr<f64>, x: &Csr<f64>, row: usize) {
        self.places.resize(x.size().cols, 0);
        let columns = x.row(row).0;
        for (place, &column) in columns.iter().enumerate() {
            self.places[column as usize] = place as u32 + 1;
        }
        let (neighbours, weights) = a.row(row);
        for (&k, &weight) in neighbours.iter().zip(weights) {
            let (others, values) = x.row(k as usize);
            for (&column, &value) in others.iter().zip(values) {
                if let Some(place) = self.places[column as usize].checked_sub(1) {
                    self.values[place as usize] += weight * value;
                }
            }
        }
        for &column in columns {
            self.places[column as usize] = 0;
        }
    }

    /// Makes the row orthogonal to all vectors.
    fn project(&mut self, vectors: &[Vec<f64>], columns: &[u32]) {
        let EnergyScratch {
            values, directions, ..
        } = self;
        directions.clear();
        let at = |vector: &Vec<f64>| -> Vec<f64> {
            columns
                .iter()
                .map(|&column| vector[column as usize])
                .collect()
        };
        for mut here in vectors.iter().map(at) {
            let before = norm(&here);
            // The second pass removes what rounding left.
            for _ in 0..2 {
                for other in directions.iter() {
                    subtract(other, &mut here);
                }
            }
            let left = norm(&here);
            if left > DEPENDENT * before {
                here.iter_mut().for_each(|value| *value /= left);
                subtract(&here, values);
                directions.push(here);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::multigrid::coarsen::{NONE, Splitting};
    use crate::multigrid::interpolate::{Bamg, bamg, smoothed, spectral_radius, testing};
    use crate::multigrid::testing::{assert_matrices_near, body};

    /// A body, a prolongation of its modes with more entries a row than these, which would leave nothing to choose, the
    /// coarse unknowns and the modes at these.
    #[allow(clippy::type_complexity)]
    fn fitted(spec: &str) -> (Csr<f64>, Csr<f64>, Splitting, Arc<[Vec<f64>]>) {
        let (a, modes) = body(spec, &Executor::reference());
        let splitting = testing::greedy(a.pattern());
        let (p, chosen) = bamg(a.pattern(), &splitting, modes.vectors(), &Bamg::default()).unwrap();
        let damping = (0.5, spectral_radius(&a).unwrap());
        let p = smoothed(&a, &p, damping, None, Size::square(1)).unwrap();
        let coarse = chosen.of_coarse(modes.vectors());
        (a, p, chosen, coarse)
    }

    #[test]
    fn energy_falls_step_by_step_and_the_near_kernel_stays() {
        let (a, p, chosen, coarse) = fitted("elasticity:6x3x3");
        let fixed = |row: usize| chosen.coarse_index[row] != NONE;
        let mut last = testing::energy(&a, &p);
        for steps in 1..4 {
            let best = energy_minimised(&a, &p, &coarse, fixed, steps).unwrap();
            assert_eq!(best.columns(), p.columns());
            let now = testing::energy(&a, &best);
            assert!(now < last, "{steps}: {now} {last}");
            last = now;
            for vector in coarse.iter() {
                for (x, y) in testing::mapped(&best, vector)
                    .iter()
                    .zip(testing::mapped(&p, vector))
                {
                    assert!((x - y).abs() < 1e-12);
                }
            }
            let coarse_row = (0..a.size().rows).find(|&row| fixed(row)).unwrap();
            assert_eq!(best.row(coarse_row), p.row(coarse_row));
        }
    }

    #[test]
    fn a_device_lowers_energy_as_the_host_does() {
        let Some(device) = device() else { return };
        let (a, p, chosen, coarse) = fitted("elasticity:4x2x2");
        let fixed = |row: usize| chosen.coarse_index[row] != NONE;
        let [a_there, p_there] = [&a, &p].map(|matrix| matrix.copy_to(&device).unwrap());
        for (vectors, steps) in [(&coarse[..], 3), (&coarse[..2], 1), (&[], 2)] {
            let here = energy_minimised(&a, &p, vectors, fixed, steps).unwrap();
            let there = energy_minimised(&a_there, &p_there, vectors, fixed, steps).unwrap();
            assert_matrices_near(&there, &here, 1e-12);
        }
    }

    #[test]
    fn wrong_arguments_are_refused() {
        let a = testing::line(3);
        let p = Csr::<f64>::identity(a.executor(), 3);
        let with = |a: &Csr<f64>, vectors: &[Vec<f64>]| {
            energy_minimised(a, &p, vectors, |_| false, 1).unwrap_err()
        };
        assert!(matches!(with(&a, &[vec![1.0]]), Error::SizeMismatch { .. }));
        let small = testing::line(2);
        assert!(matches!(with(&small, &[]), Error::SizeMismatch { .. }));
        let holed = Csr::diagonal_matrix(a.executor(), vec![1.0, 0.0, 1.0]);
        assert!(matches!(
            with(&holed, &[]),
            Error::ZeroDiagonal { row: 1, .. }
        ));
    }
}
