//! The tentative prolongation made smooth.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::linop::{LinOp, Size, check_size, check_square};
use crate::matrix::{Accumulator, Csr, Pattern, Rows, build, check_product};
use crate::multigrid::spectrum::{largest_row_sum, spectral_radius};
use crate::multigrid::systems::in_blocks;

/// The name in messages.
const COMPONENT: &str = "smoothed aggregation";
/// The power method finds the spectral radius from below.
const SAFETY: f64 = 1.1;

/// Smoothed aggregation (Vaněk, Mandel and Brezina 1996):
///
/// `P = (I - ω/ρ D^-1 A_F) T`
///
/// with the tentative prolongation `T`, the diagonal `D` of `A_F`, and an estimate `ρ` of the
/// spectral radius of `D^-1 A_F`: that of a few steps of the power method, a tenth added, but
/// never more than Gershgorin's bound. `omega` is 4/3 as a rule.
///
/// `A_F` is `A`, or with a `filter` (the strong couplings) the matrix whose other entries are
/// added to its diagonal. Where that would take the diagonal's sign, the diagonal of `A` stays.
///
/// `block` has the unknowns of a node and the coarse ones of a group, 1 x 1 for scalar problems:
/// the product is formed by blocks.
///
/// **Choose it** for problems with few entries a row, or elasticity with its rigid-body modes;
/// with the filter where couplings differ much in strength, or the coarse matrices fill up.
///
/// ```
/// use vcycle::{executor::Executor, gallery, linop::Size};
/// use vcycle::multigrid::{coarsen::Aggregates, interpolate::{smoothed, tentative}};
/// let cpu = Executor::cpu();
/// let a = gallery::poisson5([6, 1], &cpu)?.matrix;
/// let threes = Aggregates { aggregate: vec![0, 0, 0, 1, 1, 1], count: 2 };
/// let (t, _) = tentative(&threes, &[], 1, &cpu)?;
/// let p = smoothed(&a, &t, 4.0 / 3.0, None, Size::square(1))?;
/// assert_eq!(p.row(2).0, [0, 1]);
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// A zero on the diagonal, arguments that do not fit together, a negative `omega`; when memory is
/// short.
pub fn smoothed(
    a: &Csr<f64>,
    tentative: &Csr<f64>,
    omega: f64,
    filter: Option<&Arc<Pattern>>,
    block: Size,
) -> Result<Csr<f64>> {
    check_square(a as &dyn LinOp<f64>, COMPONENT)?;
    if !(omega >= 0.0 && omega.is_finite()) {
        return Err(Error::BadParameter {
            parameter: "omega",
            reason: format!("not negative and finite, not {omega}"),
        });
    }
    let filtered = filter.map(|filter| filtered(a, filter)).transpose()?;
    let a = filtered.as_ref().unwrap_or(a);
    let diagonal = a.diagonal();
    if let Some(row) = diagonal.iter().position(|&entry| entry == 0.0) {
        return Err(Error::ZeroDiagonal {
            component: COMPONENT,
            row,
        });
    }
    let factor = omega / radius(a, &diagonal)?;
    let Some((blocks, wide)) = in_blocks(a, tentative, block) else {
        return product(a, &diagonal, tentative, factor);
    };
    let factors: Vec<f64> = diagonal.iter().map(|entry| -factor / entry).collect();
    let correction = blocks.multiply(&wide)?.rows()?.scale_rows(&factors)?;
    tentative.add(1.0, 1.0, &correction)
}

/// `(I - factor D^-1 A) T`.
fn product(a: &Csr<f64>, diagonal: &[f64], tentative: &Csr<f64>, factor: f64) -> Result<Csr<f64>> {
    let size = check_product(a.pattern(), tentative.pattern())?;
    let executor = a.executor();
    let fill = |sums: &mut Accumulator<f64>, row: usize, out: &mut Rows<f64>| {
        let (columns, values) = a.row(row);
        let rows = columns.iter().map(|&column| column as usize);
        let most = rows.map(|row| tentative.row(row).0.len()).sum();
        sums.start(executor, size.cols, most)?;
        for (&column, &value) in columns.iter().zip(values) {
            let weight = match column as usize == row {
                true => 1.0 - factor,
                false => -factor * value / diagonal[row],
            };
            let (columns, values) = tentative.row(column as usize);
            for (&column, &value) in columns.iter().zip(values) {
                *sums.sum(column) += weight * value;
            }
        }
        out.reserve(executor, sums.entries().0.len())?;
        sums.sorted().for_each(|(c, v)| out.push(c, v));
        Ok(())
    };
    let pieces = a.pattern().pieces();
    let arrays = build(executor, pieces, a.bytes(), Accumulator::default, fill)?;
    Ok(arrays.into_csr(executor, size))
}

/// `A_F`.
fn filtered(a: &Csr<f64>, filter: &Pattern) -> Result<Csr<f64>> {
    check_size("strength of couplings", a.size(), filter.size())?;
    let executor = a.executor();
    let fill = |kept: &mut Vec<(u32, f64)>, row: usize, out: &mut Rows<f64>| {
        let diagonal = filtered_row(a, &filter.columns()[filter.range(row)], row, kept);
        out.reserve(executor, kept.len())?;
        for &(column, value) in kept.iter() {
            out.push(
                column,
                if column as usize == row {
                    diagonal
                } else {
                    value
                },
            );
        }
        Ok(())
    };
    let arrays = build(executor, a.pattern().pieces(), a.bytes(), Vec::new, fill)?;
    Ok(arrays.into_csr(executor, a.size()))
}

/// The diagonal entry of a row of `A_F`, and in `kept` the entries.
fn filtered_row(a: &Csr<f64>, strong: &[u32], row: usize, kept: &mut Vec<(u32, f64)>) -> f64 {
    let mut strong = strong.iter().copied().peekable();
    let (mut own, mut weak) = (0.0, 0.0);
    let (columns, values) = a.row(row);
    kept.clear();
    for (&column, &value) in columns.iter().zip(values) {
        while strong.next_if(|&next| next < column).is_some() {}
        if column as usize == row {
            own = value;
            kept.push((column, value));
        } else if strong.peek() == Some(&column) {
            kept.push((column, value));
        } else {
            weak += value;
        }
    }
    if (own + weak) * own > 0.0 {
        own + weak
    } else {
        own
    }
}

/// An estimate of the spectral radius of `D^-1 A`.
fn radius(a: &Csr<f64>, diagonal: &[f64]) -> Result<f64> {
    let inverse = diagonal.iter().map(|entry| 1.0 / entry).collect();
    let inverse = Csr::diagonal_matrix(a.executor(), inverse);
    let found = SAFETY * spectral_radius::<f64>(a, &inverse, &Workspace::new())?;
    let bound = largest_row_sum(a, diagonal);
    Ok(if found > 0.0 { bound.min(found) } else { bound })
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use crate::executor::Executor;
    use crate::gallery;
    use crate::matrix::galerkin;
    use crate::multigrid::coarsen::Aggregates;
    use crate::multigrid::interpolate::tentative;

    const OMEGA: f64 = 4.0 / 3.0;
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

    fn energy(a: &Csr<f64>, p: &Csr<f64>) -> f64 {
        let coarse = galerkin(&p.transpose().unwrap(), a, p).unwrap();
        coarse.diagonal().iter().sum()
    }

    #[test]
    fn smoothing_lowers_the_energy_and_keeps_constants() {
        let cpu = Executor::reference();
        let a = testing::neumann(&cpu, 12);
        let (t, _) = tentative(&squares(12, 3), &[], 1, &cpu).unwrap();
        let p = smoothed(&a, &t, OMEGA, None, ONE).unwrap();
        assert!(energy(&a, &p) < 0.6 * energy(&a, &t));
        testing::assert_constants_kept(&p);
    }

    #[test]
    fn weak_couplings_do_not_widen_the_rows() {
        let cpu = Executor::reference();
        let a = testing::neumann(&cpu, 12);
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
    fn the_radius_is_close_for_a_known_spectrum() {
        let a = gallery::poisson5([30, 30], &Executor::reference()).unwrap();
        let radius = radius(&a.matrix, &a.matrix.diagonal()).unwrap();
        assert!((1.9..=2.0).contains(&radius), "{radius}");
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let with = |threads: usize| {
            let cpu = Executor::cpu_with_threads(threads).unwrap();
            let a = gallery::poisson9([200, 200], &cpu).unwrap().matrix;
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
        assert!(smoothed(&a, &t, f64::NAN, None, ONE).is_err());
        assert!(smoothed(&a, &Csr::identity(&cpu, 2), OMEGA, None, ONE).is_err());
        let empty = Csr::diagonal_matrix(&cpu, vec![1.0, 0.0, 1.0]);
        assert!(matches!(
            smoothed(&empty, &t, OMEGA, None, ONE),
            Err(Error::ZeroDiagonal { row: 1, .. })
        ));
    }
}
