//! One suite, written once and instantiated for every executor.
//!
//! Matrices and vectors hold small multiples of a quarter, so that every sum is exact in every
//! arithmetic: results must be equal to the reference's to the bit, in whatever order they are
//! formed. What rounds is compared within a tolerance.

mod formats;
mod matrices;
mod precisions;
mod preconditioners;
mod solvers;
mod stencils;
mod vectors;

use std::sync::Arc;

use vcycle::config::{self, Config};
use vcycle::executor::{Executor, Workspace};
use vcycle::matrix::Csr;
use vcycle::vector::Vector;
use vcycle_gpu::testing::devices;

fn on_each(case: fn(&Executor)) {
    for name in devices() {
        eprintln!("on {name}");
        case(&Executor::gpu(&name).unwrap());
    }
}

fn a_factorisation_solves(executor: &Executor) {
    let a = Arc::new(Csr::<f64>::diagonal_matrix(executor, vec![1.0, -2.0, 4.0]));
    let b = Vector::filled(executor, 3, 1, 1.0).unwrap();
    let config: Config = "solver=direct".parse().unwrap();
    let solution = config::solve(&config, &a, &b, &Workspace::new()).unwrap();
    assert_eq!(solution.x.to_vec(), [1.0, -0.5, 0.25]);
}

/// Tests that call cases with what gives them executors.
macro_rules! cases {
    ($each:expr; $($module:ident::{$($case:ident),* $(,)?}),* $(,)?) => {
        $(mod $module {
            $(#[test]
            fn $case() {
                $each(crate::conformance::$module::$case);
            })*
        })*
    };
}

/// Runs every case on one executor of the host.
macro_rules! suite {
    ($name:ident, $executor:expr) => {
        mod $name {
            use super::*;
            fn each(case: fn(&Executor)) {
                case(&$executor);
            }
            cases!(super::each;
                vectors::{
                    axpby_scale_and_fill, complex_axpby_scale_and_fill,
                    rows_of_other_types, reductions, complex_reductions,
                    conversions, complex_conversions, zero_coefficients,
                },
                precisions::{all_real_combinations, complex_combinations},
                formats::{
                    every_format_multiplies, every_format_multiplies_complex,
                    advanced_and_residual, transposes, complex_transposes, round_trips,
                },
                preconditioners::{
                    every_preconditioner_matches_the_reference,
                    every_preconditioner_matches_the_reference_complex,
                },
                solvers::{every_solver_finds_a_known_solution, columns_stop_individually},
            );
        }
    };
}

suite!(reference, Executor::reference());
suite!(cpu_one_thread, Executor::cpu_with_threads(1).unwrap());
suite!(cpu_five_threads, Executor::cpu_with_threads(5).unwrap());

mod on_devices {
    cases!(crate::conformance::on_each;
        vectors::{
            axpby_scale_and_fill, rows_of_other_types, reductions, conversions, zero_coefficients,
            complex_axpby_scale_and_fill, complex_reductions,
            complex_conversions_on_a_device,
        },
        precisions::{
            doubles_on_a_device, singles_on_a_device, halves_on_a_device, bfloats_on_a_device,
            bands_of_halves, complex_on_a_device,
        },
        formats::{
            every_format_multiplies, every_format_multiplies_complex, advanced_and_residual,
            transposes, complex_transposes, round_trips,
        },
        preconditioners::{
            every_preconditioner_matches_the_reference,
            every_preconditioner_matches_the_reference_complex,
        },
        stencils::{
            every_pattern, every_storage, several_unknowns, several_columns, transfers, cycles,
            sweeps_and_smoothers, structured_multigrid_takes_as_many_iterations,
        },
    );

    #[test]
    fn a_factorisation_solves() {
        super::on_each(super::a_factorisation_solves);
    }
}
