//! What to try on a matrix, and why.

use serde::Serialize;
use vcycle::matrix::Facts;
use vcycle::multigrid::Report;

/// Up to this many rows a factorisation is no burden.
const FACTORISED: usize = 20_000;
/// From this operator complexity on coarsening faster is worth a try.
const COMPLEX: f64 = 3.0;
/// From this share of diagonally dominant rows on multigrid suits matrices that are not symmetric.
const DOMINANT: f64 = 0.95;

/// A command and the reason for it.
#[derive(Debug, PartialEq, Serialize)]
pub struct Advice {
    pub command: String,
    pub reason: String,
}

/// Commands for the matrix `name`, the most promising first; none where nothing can be solved.
pub fn advise(name: &str, facts: &Facts, stencil: bool, hierarchy: Option<&Report>) -> Vec<Advice> {
    if facts.rows != facts.columns || facts.rows == 0 || facts.non_finite > 0 {
        return Vec::new();
    }
    let mut advice = List {
        name,
        advice: Vec::new(),
    };
    if facts.rows <= FACTORISED {
        let reason = format!("{} rows: a factorisation needs no iterations", facts.rows);
        advice.push("--solver direct", reason);
    }
    if stencil && facts.full_diagonal() && !facts.complex {
        let reason =
            "a stencil on a grid: structured multigrid knows the neighbours without looking";
        advice.push("--precond struct-mg", reason.to_owned());
    }
    match (facts.hermitian, facts.positive_diagonal()) {
        (true, true) => definite(&mut advice, facts, hierarchy),
        (true, false) if facts.negative_diagonal == facts.rows => {
            let reason = "symmetric with a negative diagonal: `auto` solves -A x = -b";
            advice.push("--precond amg", reason.to_owned());
        }
        (true, false) => indefinite(&mut advice, facts),
        _ => unsymmetric(&mut advice, facts, hierarchy),
    }
    let reason = "shows residuals, levels and where the time goes";
    advice.push("--report report.html", reason.to_owned());
    advice.advice
}

struct List<'n> {
    name: &'n str,
    advice: Vec<Advice>,
}

impl List<'_> {
    fn push(&mut self, options: &str, reason: String) {
        let command = match self.name.contains(char::is_whitespace) {
            true => format!("vcycle solve '{}' {options}", self.name),
            false => format!("vcycle solve {} {options}", self.name),
        };
        self.advice.push(Advice { command, reason });
    }
}

fn definite(advice: &mut List<'_>, facts: &Facts, hierarchy: Option<&Report>) {
    let looks = "symmetric with a positive diagonal";
    match hierarchy {
        Some(report) if report.stalled.is_none() => multigrid(advice, facts, report, looks),
        _ => {
            let why = hierarchy.and_then(|report| report.stalled.clone());
            let why = why.map_or(String::new(), |why| format!(", but {why}"));
            advice.push("--solver cg --precond ic0", format!("{looks}{why}"));
        }
    }
}

fn multigrid(advice: &mut List<'_>, facts: &Facts, report: &Report, looks: &str) {
    let levels = report.levels.len();
    let complexity = report.operator_complexity();
    let plural = if levels == 1 { "" } else { "s" };
    advice.push(
        "--solver cg --precond amg",
        format!(
            "{looks}; multigrid has {levels} level{plural}, operator complexity {complexity:.2}"
        ),
    );
    if complexity > COMPLEX {
        advice.push(
            "--solver cg --precond amg --coarsening pmis-aggressive",
            format!("all levels hold {complexity:.1} times the matrix: coarsens faster"),
        );
    }
    if facts.fits_f32 && levels > 1 {
        advice.push(
            "--solver cg --precond amg --precision dp-sp",
            "entries fit single precision: coarser levels in half the bytes".to_owned(),
        );
    }
}

fn indefinite(advice: &mut List<'_>, facts: &Facts) {
    let bad = facts.negative_diagonal + facts.zero_diagonal + facts.missing_diagonal;
    advice.push(
        "--solver minres --precond l1-jacobi",
        format!("symmetric, but {bad} diagonal entries are not positive: too little for cg"),
    );
}

fn unsymmetric(advice: &mut List<'_>, facts: &Facts, hierarchy: Option<&Report>) {
    if !facts.full_diagonal() {
        advice.push(
            "--solver gmres --match mc64 --reorder amd --precond ilut:5,1e-4",
            "not symmetric, with zeros on the diagonal, which matching removes".to_owned(),
        );
        return;
    }
    let reason = "not symmetric, with a full diagonal";
    advice.push("--solver gmres:50 --precond ilu0", reason.to_owned());
    let coarsens = hierarchy.is_some_and(|report| report.stalled.is_none());
    if coarsens && facts.dominant_rows >= DOMINANT {
        advice.push(
            "--solver fgmres:50 --precond amg",
            format!(
                "{:.0} % of the rows are diagonally dominant, which suits multigrid",
                100.0 * facts.dominant_rows
            ),
        );
    }
}
