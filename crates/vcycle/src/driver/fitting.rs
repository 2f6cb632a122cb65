//! Whether the solver that a user chose bears the preconditioner chosen with it.

use crate::configuration::{Config, MatchingKind, PreconditionerConfig, Sort};
use crate::multigrid::Cycle;
use crate::registration::{Need, Symmetry};

/// What to tell where a solver needs a symmetric preconditioner and gets one that is not; empty where they fit.
pub(super) fn warning(config: &Config) -> String {
    let (solver, preconditioner) = (&config.solver, &config.preconditioner);
    let is_matched = config
        .matching
        .is_some_and(|kind| kind != MatchingKind::None);
    let one_sided = preconditioner.symmetry() == Symmetry::OneSided || is_matched;
    if !one_sided || !solver.has_need(Need::SymmetricPreconditioner) {
        return String::new();
    }
    format!(
        "warning: {} needs a symmetric preconditioner, which {}{} is not, and may not converge; fgmres and gmres do \
         not need one",
        solver.name(),
        preconditioner.name(),
        match is_matched {
            true => " of a matched matrix",
            false => cause(preconditioner),
        }
    )
}

/// What costs multigrid its symmetry.
fn cause(preconditioner: &PreconditionerConfig) -> &'static str {
    let of_cycle = |cycle: Cycle| match cycle {
        Cycle::F => " with F-cycles",
        Cycle::Full => " with full multigrid cycles",
        Cycle::V | Cycle::W | Cycle::K => " with other sweeps before the correction than after it",
    };
    match preconditioner.sort() {
        Sort::Amg(amg) if amg.coarse_filter < 1.0 => " with filtered coarse matrices",
        Sort::Amg(amg) => of_cycle(amg.cycle),
        Sort::StructMg(structured) => of_cycle(structured.cycle),
        Sort::Auto | Sort::None | Sort::Iterations | Sort::OfEntries => "",
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_has, config};
    use super::*;

    #[test]
    fn a_preconditioner_without_symmetry_is_told_of() {
        let told = |solver: &str, preconditioner: &str| {
            warning(&config(&format!(
                "solver={solver} preconditioner={preconditioner}"
            )))
        };
        let one_sided = "sor isai multicolour-gs amg:cycle=f amg:cycle=full amg:coarse-filter=0.9 amg:post-sweeps=2 \
                         amg:post-smoother=jacobi struct-mg:cycle=f struct-mg:pre-sweeps=1";
        let symmetric = "ssor ilu0 isai:spd amg amg:smoother=gs struct-mg";
        for solver in ["cg", "fcg", "pipecg", "minres", "chebyshev"] {
            let warning = format!("warning: {solver} needs a symmetric preconditioner");
            for preconditioner in one_sided.split_whitespace() {
                assert_has(told(solver, preconditioner), &warning);
            }
            for preconditioner in symmetric.split_whitespace() {
                assert_eq!(told(solver, preconditioner), "", "{preconditioner}");
            }
        }
        assert_eq!(told("gmres", "sor"), "");
        assert_has(told("cg", "ic0 match=mc64"), "ic0 of a matched matrix");
        let filtered = told("cg", "amg:coarse-filter=0.9");
        assert_has(filtered, "amg with filtered coarse matrices");
    }
}
