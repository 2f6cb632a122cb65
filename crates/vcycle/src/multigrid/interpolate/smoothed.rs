//! The tentative prolongation made smooth.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::linop::{LinOp, check_size, check_square};
use crate::matrix::{Accumulator, Csr, Pattern, Rows, build, check_product};
use crate::vector::{Coefficient, Scalars, Vector};

/// Steps of the power method.
const STEPS: usize = 12;
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
/// **Choose it** for problems with few entries a row, or elasticity with its rigid-body modes;
/// with the filter where couplings differ much in strength, or the coarse matrices fill up.
///
/// ```
/// use vcycle::{executor::Executor, gallery};
/// use vcycle::multigrid::{coarsen::Aggregates, interpolate::{smoothed, tentative}};
/// let cpu = Executor::cpu();
/// let a = gallery::poisson5([6, 1], &cpu)?.matrix;
/// let threes = Aggregates { aggregate: vec![0, 0, 0, 1, 1, 1], count: 2 };
/// let (t, _) = tentative(&threes, &[], 1, &cpu)?;
/// let p = smoothed(&a, &t, 4.0 / 3.0, None)?;
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
) -> Result<Csr<f64>> {
    check_square(a as &dyn LinOp<f64>, "smoothed aggregation")?;
    if !(omega >= 0.0 && omega.is_finite()) {
        return Err(Error::BadParameter {
            parameter: "omega",
            reason: format!("not negative and finite, not {omega}"),
        });
    }
    let filter = filter.map(Arc::as_ref);
    let radius = spectral_radius(&scaled(a, filter)?)?;
    product(a, tentative, omega / radius, filter)
}

/// `(I - factor D^-1 A_F) T`.
fn product(
    a: &Csr<f64>,
    tentative: &Csr<f64>,
    factor: f64,
    filter: Option<&Pattern>,
) -> Result<Csr<f64>> {
    let size = check_product(a.pattern(), tentative.pattern())?;
    let executor = a.executor();
    let fill = |scratch: &mut Scratch, row: usize, out: &mut Rows<f64>| {
        let diagonal = filtered_row(a, filter, row, &mut scratch.kept)?;
        let rows = scratch.kept.iter().map(|entry| entry.0 as usize);
        let most = rows.map(|row| tentative.row(row).0.len()).sum();
        scratch.sums.start(executor, size.cols, most)?;
        for &(column, value) in &scratch.kept {
            let weight = match column as usize == row {
                true => 1.0 - factor,
                false => -factor * value / diagonal,
            };
            let (columns, values) = tentative.row(column as usize);
            for (&column, &value) in columns.iter().zip(values) {
                *scratch.sums.sum(column) += weight * value;
            }
        }
        out.reserve(executor, scratch.sums.entries().0.len())?;
        scratch.sums.sorted().for_each(|(c, v)| out.push(c, v));
        Ok(())
    };
    let pieces = a.pattern().pieces();
    let arrays = build(executor, pieces, a.bytes(), Scratch::default, fill)?;
    Ok(arrays.into_csr(executor, size))
}

/// The entries of a row of `A_F`, and the row of the product under construction.
#[derive(Default)]
struct Scratch {
    kept: Vec<(u32, f64)>,
    sums: Accumulator<f64>,
}

/// `D^-1 A_F`, in single precision: the estimate of its spectral radius needs no more.
fn scaled(a: &Csr<f64>, filter: Option<&Pattern>) -> Result<Csr<f32>> {
    if let Some(filter) = filter {
        check_size("strength of couplings", a.size(), filter.size())?;
    }
    let executor = a.executor();
    let fill = |kept: &mut Vec<(u32, f64)>, row: usize, out: &mut Rows<f32>| {
        let diagonal = filtered_row(a, filter, row, kept)?;
        out.reserve(executor, kept.len())?;
        for &(column, value) in kept.iter() {
            let own = column as usize == row;
            out.push(column, if own { 1.0 } else { (value / diagonal) as f32 });
        }
        Ok(())
    };
    let arrays = build(executor, a.pattern().pieces(), a.bytes(), Vec::new, fill)?;
    Ok(arrays.into_csr(executor, a.size()))
}

/// The diagonal entry of a row of `A_F`, and in `kept` the entries.
fn filtered_row(
    a: &Csr<f64>,
    filter: Option<&Pattern>,
    row: usize,
    kept: &mut Vec<(u32, f64)>,
) -> Result<f64> {
    let (columns, values) = a.row(row);
    let entries = columns.iter().copied().zip(values.iter().copied());
    let (mut own, mut weak) = (0.0, 0.0);
    kept.clear();
    match filter {
        None => kept.extend(entries.inspect(|&(column, value)| {
            if column as usize == row {
                own = value;
            }
        })),
        Some(filter) => {
            let strong = &filter.columns()[filter.range(row)];
            let mut strong = strong.iter().copied().peekable();
            for (column, value) in entries {
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
        }
    }
    let component = "smoothed aggregation";
    match own {
        0.0 => Err(Error::ZeroDiagonal { component, row }),
        _ if (own + weak) * own > 0.0 => Ok(own + weak),
        _ => Ok(own),
    }
}

/// An estimate of the largest absolute value of an eigenvalue.
fn spectral_radius(a: &Csr<f32>) -> Result<f64> {
    let bound = f64::from(a.norm_inf());
    let (executor, rows, ws) = (a.executor(), a.size().rows, Workspace::new());
    let mut x = Vector::from_column(executor, rough(rows));
    let mut y = Vector::<f32>::zeros(executor, rows, 1)?;
    let mut norm = Scalars::<f32>::filled(executor, 1, 0.0)?;
    let mut radius = 0.0;
    for _ in 0..STEPS {
        x.norm(&mut norm)?;
        x.scale(Coefficient::one().over(&norm))?;
        a.apply(&x, &mut y, &ws)?;
        y.norm(&mut norm)?;
        radius = f64::from(norm.get(0)?);
        if !(radius > 0.0 && radius.is_finite()) {
            return Ok(bound);
        }
        std::mem::swap(&mut x, &mut y);
    }
    Ok(bound.min(SAFETY * radius))
}

/// Numbers without any relation to the problem: multiples of the golden ratio, whole parts off.
fn rough(rows: usize) -> Vec<f32> {
    let golden = 0.618_033_988_749_894_9;
    let rough = |row| ((row as f64 * golden).fract() - 0.5) as f32;
    (1..=rows).map(rough).collect()
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
        let p = smoothed(&a, &t, OMEGA, None).unwrap();
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
        let p = smoothed(&a, &t, OMEGA, Some(strong.pattern())).unwrap();
        testing::assert_constants_kept(&p);
        assert_eq!(p.row(26).0, [0, 1]);
        assert_eq!(p.row(25).0, [0]);
    }

    #[test]
    fn the_radius_is_close_for_a_known_spectrum() {
        let a = gallery::poisson5([30, 30], &Executor::reference()).unwrap();
        let radius = spectral_radius(&scaled(&a.matrix, None).unwrap()).unwrap();
        assert!((1.9..=2.0).contains(&radius), "{radius}");
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let with = |threads: usize| {
            let cpu = Executor::cpu_with_threads(threads).unwrap();
            let a = gallery::poisson9([200, 200], &cpu).unwrap().matrix;
            let (t, _) = tentative(&squares(200, 3), &[vec![1.0; 40_000]], 1, &cpu).unwrap();
            let p = smoothed(&a, &t, OMEGA, Some(a.pattern())).unwrap();
            (p.columns().to_vec(), p.values().to_vec())
        };
        assert!(with(1) == with(3));
    }

    #[test]
    fn wrong_arguments_are_refused() {
        let cpu = Executor::reference();
        let a = testing::line(3);
        let t = Csr::<f64>::identity(&cpu, 3);
        assert!(smoothed(&a, &t, f64::NAN, None).is_err());
        assert!(smoothed(&a, &Csr::identity(&cpu, 2), OMEGA, None).is_err());
        let empty = Csr::diagonal_matrix(&cpu, vec![1.0, 0.0, 1.0]);
        assert!(matches!(
            smoothed(&empty, &t, OMEGA, None),
            Err(Error::ZeroDiagonal { row: 1, .. })
        ));
    }
}
