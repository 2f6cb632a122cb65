//! Steps that reduce the energy of a prolongation without changing its pattern.

use std::ops::Range;
use std::sync::Arc;

use super::over_ranks::RankLevel;
use crate::eigen::rounded;
use crate::error::{Error, Result};
use crate::linop::{Size, check_size};
use crate::matrix::{Csr, Halo, Pattern, Rows, build};
use crate::multigrid::coarsen::{NextNumbers, spread_over};
use crate::operations::interpolate::{EnergySpace, energy_space};
use crate::operations::{HostStage, on_host};
use crate::vector::{Coefficient, Scalars, Vector};

/// What the host does for devices.
pub(in crate::multigrid) const ON_HOST: HostStage = HostStage {
    name: "energy minimisation that keeps more than 16 vectors",
};

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
    let flags = || {
        (0..a.size().rows)
            .map(|row| u32::from(fixed(row)))
            .collect()
    };
    let values = match energy_space(a, p.pattern(), vectors, flags)? {
        Some(space) => lowered(&space, p, steps)?,
        None => {
            on_host(a.executor(), ON_HOST);
            let near = |x: &Vector<f64>| Ok(Csr::of_buffers(p.pattern(), x.buffer().clone()));
            let rows = OwnRows {
                rows: 0..a.size().rows,
                near,
                sum: Ok,
            };
            lowered(&ChangeSpace::new(a, p, vectors, fixed, rows), p, steps)?
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
    let own = OwnRows {
        rows: fine.own(),
        near: |x: &Vector<f64>| Ok(of_rows(x.to_vec())?.0),
        sum: |own: f64| {
            let mut all = [own];
            team.sum(&mut all)?;
            Ok(all[0])
        },
    };
    let values = lowered(&ChangeSpace::new(a, p, &vectors, fixed, own), p, steps)?;
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

/// The rows of a prolongation that are here, among those nearby.
struct OwnRows<N, S> {
    rows: Range<usize>,
    /// All rows nearby, for values of own ones.
    near: N,
    /// The sum over all ranks of what each has.
    sum: S,
}

/// Values of a prolongation after steps of conjugate gradients in a space.
fn lowered(space: &dyn Space, p: &Csr<f64>, steps: usize) -> Result<Vector<f64>> {
    let mut p = Vector::of_buffer(p.values_buffer().clone());
    let mut r = space.gradient(&p)?;
    r.scale(Coefficient::real(-1.0))?;
    let mut direction = space.scaled(&r)?;
    let mut slope = space.dot(&r, &direction)?;
    for _ in 0..steps {
        let image = space.gradient(&direction)?;
        let curvature = space.dot(&direction, &image)?;
        if slope <= 0.0 || curvature <= 0.0 {
            break;
        }
        let length = rounded(slope / curvature, KEPT);
        p.axpy(Coefficient::real(length), &direction)?;
        r.axpy(Coefficient::real(-length), &image)?;
        let mut next = space.scaled(&r)?;
        let last = std::mem::replace(&mut slope, space.dot(&r, &next)?);
        next.axpy(Coefficient::real(rounded(slope / last, KEPT)), &direction)?;
        direction = next;
    }
    Ok(p)
}

fn dot(x: &Vector<f64>, y: &Vector<f64>) -> Result<f64> {
    let mut out = Scalars::filled(x.executor(), 1, 0.0)?;
    x.dot(y, &mut out)?;
    out.get(0)
}

/// Changes of a prolongation, by their values.
trait Space {
    /// The product of two.
    fn dot(&self, x: &Vector<f64>, y: &Vector<f64>) -> Result<f64> {
        dot(x, y)
    }

    /// What is in the space of `A X`.
    fn gradient(&self, x: &Vector<f64>) -> Result<Vector<f64>>;

    /// `X` over the diagonal of the matrix.
    fn scaled(&self, x: &Vector<f64>) -> Result<Vector<f64>>;
}

impl Space for EnergySpace<'_> {
    fn gradient(&self, x: &Vector<f64>) -> Result<Vector<f64>> {
        self.gradient(x)
    }

    fn scaled(&self, x: &Vector<f64>) -> Result<Vector<f64>> {
        self.scaled(x)
    }
}

/// Changes of a prolongation that keep pattern, fixed rows and what vectors are mapped to.
struct ChangeSpace<'a, F, N, S> {
    a: &'a Csr<f64>,
    /// Of own rows.
    pattern: &'a Arc<Pattern>,
    inverse: Vec<f64>,
    vectors: &'a [Vec<f64>],
    fixed: F,
    own: OwnRows<N, S>,
}

impl<'a, F, N, S> ChangeSpace<'a, F, N, S> {
    fn new(
        a: &'a Csr<f64>,
        p: &'a Csr<f64>,
        vectors: &'a [Vec<f64>],
        fixed: F,
        own: OwnRows<N, S>,
    ) -> Self {
        let diagonal = a.diagonal();
        let inverse = diagonal[own.rows.clone()].iter().map(|entry| 1.0 / entry);
        Self {
            a,
            pattern: p.pattern(),
            inverse: inverse.collect(),
            vectors,
            fixed,
            own,
        }
    }
}

/// Of a row.
#[derive(Default)]
struct EnergyScratch {
    /// For each column its place in the row, and one; zero if it has none.
    places: Vec<u32>,
    values: Vec<f64>,
    /// Orthonormal directions of the vectors at the columns.
    directions: Vec<Vec<f64>>,
}

impl<F, N, S> Space for ChangeSpace<'_, F, N, S>
where
    F: Fn(usize) -> bool + Sync,
    N: Fn(&Vector<f64>) -> Result<Csr<f64>>,
    S: Fn(f64) -> Result<f64>,
{
    fn dot(&self, x: &Vector<f64>, y: &Vector<f64>) -> Result<f64> {
        (self.own.sum)(dot(x, y)?)
    }

    fn gradient(&self, x: &Vector<f64>) -> Result<Vector<f64>> {
        let (a, vectors, fixed) = (self.a, self.vectors, &self.fixed);
        let (x, rows) = (&(self.own.near)(x)?, self.own.rows.clone());
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
            out.reserve(executor, columns.len())?;
            let entries = columns.iter().zip(&scratch.values);
            entries.for_each(|(&column, &value)| out.push(column, value));
            Ok(())
        };
        let (pieces, bytes) = (self.pattern.pieces(), 8 * a.bytes());
        let arrays = build(executor, pieces, bytes, EnergyScratch::default, fill)?;
        let image = arrays.into_csr(executor, Size::new(rows.len(), x.size().cols));
        Ok(Vector::of_buffer(image.values_buffer().clone()))
    }

    fn scaled(&self, x: &Vector<f64>) -> Result<Vector<f64>> {
        let scaled = Csr::of_buffers(self.pattern, x.buffer().clone());
        let scaled = scaled.scale_rows(&self.inverse)?;
        Ok(Vector::of_buffer(scaled.values_buffer().clone()))
    }
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
                directions
                    .iter()
                    .for_each(|other| subtract(other, &mut here));
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

/// Makes `x` orthogonal to a direction of norm one.
fn subtract(direction: &[f64], x: &mut [f64]) {
    let part: f64 = direction.iter().zip(&*x).map(|(d, x)| d * x).sum();
    x.iter_mut()
        .zip(direction)
        .for_each(|(x, d)| *x -= part * d);
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|value| value * value).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::matrix::galerkin;
    use crate::multigrid::coarsen::NONE;
    use crate::multigrid::interpolate::{Bamg, bamg, smoothed, spectral_radius, testing};
    use crate::multigrid::testing::{assert_matrices_near, body};
    use vcycle_core::testing::device;

    fn energy(a: &Csr<f64>, p: &Csr<f64>) -> f64 {
        let coarse = galerkin(&p.transpose().unwrap(), a, p).unwrap();
        coarse.diagonal().iter().sum()
    }

    fn mapped(p: &Csr<f64>, vector: &[f64]) -> Vec<f64> {
        let row = |row| {
            let (columns, values) = p.row(row);
            let products = columns.iter().zip(values);
            products.map(|(&c, v)| v * vector[c as usize]).sum()
        };
        (0..p.size().rows).map(row).collect()
    }

    #[test]
    fn energy_falls_step_by_step_and_the_near_kernel_stays() {
        let (a, modes) = body("elasticity:6x3x3", &Executor::reference());
        let splitting = testing::greedy(a.pattern());
        let fit = Bamg::default();
        let (p, chosen) = bamg(a.pattern(), &splitting, modes.vectors(), &fit).unwrap();
        // As many entries a row as vectors leave nothing to choose.
        let damping = (0.5, spectral_radius(&a).unwrap());
        let p = smoothed(&a, &p, damping, None, Size::square(1)).unwrap();
        let coarse = chosen.of_coarse(modes.vectors());
        let fixed = |row: usize| chosen.coarse_index[row] != NONE;
        let mut last = energy(&a, &p);
        for steps in 1..4 {
            let best = energy_minimised(&a, &p, &coarse, fixed, steps).unwrap();
            assert_eq!(best.columns(), p.columns());
            let now = energy(&a, &best);
            assert!(now < last, "{steps}: {now} {last}");
            last = now;
            for vector in coarse.iter() {
                for (x, y) in mapped(&best, vector).iter().zip(mapped(&p, vector)) {
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
        let (a, modes) = body("elasticity:4x2x2", &Executor::reference());
        let splitting = testing::greedy(a.pattern());
        let (p, chosen) = bamg(a.pattern(), &splitting, modes.vectors(), &Bamg::default()).unwrap();
        let damping = (0.5, spectral_radius(&a).unwrap());
        let p = smoothed(&a, &p, damping, None, Size::square(1)).unwrap();
        let coarse = chosen.of_coarse(modes.vectors());
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
