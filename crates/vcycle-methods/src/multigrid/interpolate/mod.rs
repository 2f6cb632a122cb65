//! The prolongation from the next level.
//!
//! After a choice of coarse unknowns ([`Splitting`](super::coarsen::Splitting)) every coarse
//! unknown keeps its value and every fine one gets a weighted mean of coarse ones:
//!
//! | method | coarse unknowns used for `i` | choose it for |
//! |---|---|---|
//! | `direct` | strong neighbours | the cheapest set-up |
//! | `classical` | strong neighbours | coarsenings where fine neighbours share coarse ones |
//! | `extended` | those and the strong neighbours of strong fine neighbours | sparse coarsenings |
//! | [`extended_i`] | the same, `i` itself in the sums | sparse coarsenings: the usual choice |
//! | `hybrid` | as few of the distant ones as are needed | lower complexity than [`extended_i`] |
//! | [`two_stage`] | two steps of [`extended_i`] | aggressive coarsening |
//!
//! [`bamg`] takes those that reproduce test vectors best, whatever the entries of the matrix; it may
//! be [`smoothed`] and then [`filtered`]. Any prolongation may be [`energy_minimised`].
//!
//! After [`Aggregates`](super::coarsen::Aggregates) the [`tentative`] prolongation copies the
//! near-nullspace piece by piece, and [`smoothed`] makes it smooth.
//!
//! The rows are made side by side and are the same for any number of threads. The notation is
//! that of the field: `C_i` and `F_i` are the coarse and fine unknowns that `i` strongly depends
//! on, `N_i^w` are its other neighbours.

mod bamg;
mod classical;
mod couplings;
mod energy;
mod filtered;
mod kept_rows;
mod kind;
mod prolongation;
mod registration;
mod row;
mod small;
mod smoothed;
mod tentative;
#[cfg(test)]
mod testing;
mod truncation;
mod two_stage;

pub(in crate::multigrid) use bamg::bamg_rows;
pub use bamg::{Bamg, bamg};
pub use classical::extended_i;
pub use energy::energy_minimised;
pub(in crate::multigrid) use energy::energy_minimised_over_ranks;
pub use filtered::filtered;
pub use kind::Interpolation;
pub(in crate::multigrid) use prolongation::{RankLevel, Weighing, weighted};
pub(in crate::multigrid) use registration::InterpolationMethod;
pub use registration::{CoarseLevel, Interpolate, InterpolationRegistration};
pub(in crate::multigrid) use smoothed::{shared_radius, smoothed_by_radius, smoothed_near};
pub use smoothed::{smoothed, spectral_radius};
pub use tentative::tentative;
pub(in crate::multigrid) use tentative::tentative_over_ranks;
pub use truncation::{Truncation, truncate};
pub use two_stage::two_stage;
pub(in crate::multigrid) use two_stage::two_stage_over_ranks;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery;
    use crate::multigrid::coarsen::{self, Splitting};
    use crate::multigrid::strength::Strength;
    use crate::prelude::*;

    const METHODS: [Interpolation; 5] = [
        Interpolation::Direct,
        Interpolation::Classical,
        Interpolation::Extended,
        Interpolation::ExtendedI,
        Interpolation::Hybrid,
    ];

    fn made(
        method: Interpolation,
        a: &Csr<f64>,
        splitting: &Splitting,
        truncation: &Truncation,
    ) -> Csr<f64> {
        let made = method.prolongation(a, a.pattern(), splitting, truncation);
        made.unwrap()
    }

    #[test]
    fn between_uncoupled_fine_unknowns_all_methods_are_ideal() {
        let a = gallery::build("poisson5:5x5", &Executor::reference()).unwrap();
        let a = a.matrix;
        let red = testing::every(2, 25);
        for method in METHODS {
            let p = made(method, &a, &red, &Truncation::none());
            assert_eq!(p.row(7).0, [1, 3, 4, 6]);
            for fine in (1..25).step_by(2) {
                assert!(p.row(fine).1.iter().all(|&weight| weight == 0.25));
            }
        }
    }

    #[test]
    fn constants_are_kept_with_and_without_truncation() {
        let a = testing::neumann(12);
        let splitting = testing::greedy(a.pattern());
        let sparse = testing::every(5, 144);
        for truncation in [Truncation::none(), Truncation::default()] {
            for method in METHODS {
                let p = made(method, &a, &splitting, &truncation);
                testing::assert_constants_kept(&p);
                assert!(
                    (0..144).all(|row| truncation.max_elements == 0 || p.row(row).0.len() <= 4)
                );
            }
            for &method in &METHODS[2..] {
                let p = made(method, &a, &sparse, &truncation);
                testing::assert_constants_kept(&p);
            }
        }
    }

    #[test]
    fn coarse_unknowns_keep_their_value_and_lonely_fine_ones_get_none() {
        let a = testing::line(9);
        let splitting =
            testing::choose(&[true, false, false, false, false, false, false, false, true]);
        for method in METHODS {
            let p = made(method, &a, &splitting, &Truncation::default());
            assert_eq!(p.row(8), (&[1][..], &[1.0][..]));
            assert!(p.row(4).0.is_empty());
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let with = |threads: usize| {
            let cpu = Executor::cpu_with_threads(threads).unwrap();
            let a = gallery::build("poisson9:200", &cpu).unwrap().matrix;
            let splitting = testing::greedy(a.pattern());
            METHODS.map(|method| {
                let p = made(method, &a, &splitting, &Truncation::default());
                (p.columns().to_vec(), p.values().to_vec())
            })
        };
        assert!(with(1) == with(3));
    }

    #[test]
    fn arguments_that_do_not_fit_are_refused() {
        let a = testing::line(4);
        let other = testing::line(3);
        let refuse = |strength: &Arc<Pattern>, splitting: &Splitting| {
            extended_i(&a, strength, splitting, &Truncation::default()).is_err()
        };
        assert!(refuse(other.pattern(), &testing::every(2, 4)));
        assert!(refuse(a.pattern(), &testing::every(2, 3)));
        let mut outside = testing::every(2, 4);
        outside.coarse_index[0] = 2;
        assert!(refuse(a.pattern(), &outside));
    }

    #[test]
    fn complex_weights_of_devices_are_those_of_the_host() {
        let Some(device) = device() else { return };
        let real = gallery::build("poisson5:9", &Executor::reference())
            .unwrap()
            .matrix;
        let strength = Strength::default().graph(&real).unwrap();
        let splitting = coarsen::pmis(&strength, 1).unwrap();
        let there = Strength::default()
            .graph(&real.copy_to(&device).unwrap())
            .unwrap();
        for spec in ["helmholtz:9,6,0.5", "magnetic:9,0.05"] {
            let a = gallery::build_complex(spec, &Executor::reference())
                .unwrap()
                .matrix;
            for &method in &METHODS[1..4] {
                for truncation in [Truncation::none(), Truncation::default()] {
                    let weights = |a: &Csr<c64>, strength: &Pattern| {
                        let given = Weighing::new(a, strength, &splitting, &truncation);
                        weighted(method.formula().unwrap(), &given).unwrap()
                    };
                    let expected = weights(&a, &strength);
                    let found = weights(&a.copy_to(&device).unwrap(), &there);
                    assert_eq!(found.columns(), expected.columns(), "{spec} {method}");
                    for (found, expected) in found.values().iter().zip(expected.values()) {
                        let apart = (found - expected).norm();
                        assert!(apart < 1e-12, "{spec} {method}: {found} {expected}");
                    }
                }
            }
        }
    }
}
