//! What attempts are predicted to take, which decides when a matrix is factorised.
//!
//! Multigrid takes time in proportion to the entries where it works, and nobody knows before how many iterations that is. A
//! factorisation nearly always works, and its order and fill tell what it takes. So it comes before the first attempt whose
//! predicted time, divided by its chance, is longer.
//!
//! The constants are seconds of two threads, fitted to the systems of `scripts/compare-systems`. The choice depends on them,
//! never on a clock: it is the same on every machine that has the memory for the factors.

use super::attempt::Attempt;
use super::case::Case;
use super::factors::{Analysed, analysed};
use super::facts::{Factorisation, Findings};
use crate::configuration::{Config, PreconditionerConfig, Sort};
use crate::executor::Workspace;
use crate::matrix::{Csr, Pattern};
use crate::multigrid::NearNullspace;
use crate::scalar::Scalar;

/// Finding an order and fill: seconds for every entry and row.
const ORDERING: (f64, f64) = (9e-8, 8e-7);
/// Factorising and solving: seconds for every multiplication, and for every number of the factors.
const FACTORS: (f64, f64) = (5e-11, 1.5e-8);
/// So many times more that takes for complex numbers, and where entries are missing on the diagonal: rows are matched then,
/// and pivots left for later.
const COMPLEX: f64 = 3.0;
const UNMATCHED: f64 = 2.5;
/// An attempt with less chance is compared with a factorisation whatever the graph looks like.
const LIKELY: f64 = 0.5;
/// Part of the time of a factorisation that an attempt before it may take, and of its own predicted time.
const PARTS: (f64, f64) = (0.3, 1.5);
/// Seconds of the vectors of an iteration for every row.
const VECTORS: f64 = 5e-9;
/// Diffusion has positive entries beside the diagonal in less than this part of the rows.
const FEW: f64 = 0.3;
/// Iterations that every attempt has before a factorisation takes its place.
const FEWEST: usize = 30;

/// Seconds of a factorisation, order and fill included.
fn seconds(factorisation: &Factorisation, found: &Findings) -> f64 {
    let facts = &found.facts;
    let factors = FACTORS.0 * factorisation.operations + FACTORS.1 * factorisation.fill as f64;
    let complex = if facts.complex { COMPLEX } else { 1.0 };
    let unmatched = if facts.full_diagonal() {
        1.0
    } else {
        UNMATCHED
    };
    unmatched * (ordering(found) + complex * factors)
}

fn ordering(found: &Findings) -> f64 {
    ORDERING.0 * found.facts.nonzeros as f64 + ORDERING.1 * found.facts.rows as f64
}

/// What an attempt takes where it works, and how often it does.
#[derive(Clone, Copy, Debug)]
struct Prediction {
    setup: f64,
    iteration: f64,
    iterations: f64,
    chance: f64,
}

impl Prediction {
    fn seconds(&self) -> f64 {
        self.setup + self.iterations * self.iteration
    }
}

/// Of an attempt that is no factorisation.
fn predict(attempt: &Attempt, case: &Case<'_>) -> Prediction {
    let facts = case.facts();
    // Seconds for every entry: of the set-up, and of an iteration.
    let (setup, iteration, iterations, chance) = match attempt.preconditioner.sort() {
        Sort::StructMg(_) if case.is_dominant() => (5e-8, 3e-9, 20.0, 0.95),
        Sort::StructMg(_) => (5e-8, 3e-9, 30.0, 0.7),
        Sort::Amg(_) if attempt.preset.is_some() && !case.has_rigid_bodies() => {
            (1e-6, 5e-9, 80.0, 0.5)
        }
        Sort::Amg(_) if !facts.hermitian => (1.2e-7, 4e-9, 30.0, 0.7),
        Sort::Amg(_) if case.has_rigid_bodies() => (1.2e-7, 3e-9, 30.0, 0.95),
        Sort::Amg(_) if case.is_dominant() => (1.2e-7, 3e-9, 20.0, 0.95),
        Sort::Amg(_) if case.has_nodes() => (1.2e-7, 3e-9, 50.0, 0.8),
        Sort::Amg(_) if facts.positive_rows < FEW => (1.2e-7, 3e-9, 40.0, 0.8),
        Sort::Amg(_) => (1.2e-7, 3e-9, 80.0, 0.45),
        Sort::Auto | Sort::None | Sort::Iterations | Sort::OfEntries => {
            let is_ilut = matches!(attempt.preconditioner, PreconditionerConfig::Ilut(_));
            let is_definite = facts.hermitian && facts.positive_diagonal();
            match (case.is_strongly_dominant(), is_ilut) {
                (true, _) => (0.0, 2e-9, 40.0, 0.99),
                (false, true) => (1.2e-6, 6e-9, 50.0, 0.4),
                (false, false) if is_definite => (8e-8, 4e-9, 300.0, 0.4),
                (false, false) if facts.hermitian => (1e-8, 3e-9, 500.0, 0.1),
                (false, false) => (8e-8, 5e-9, 150.0, 0.4),
            }
        }
    };
    let entries = facts.nonzeros as f64;
    Prediction {
        setup: setup * entries,
        iteration: iteration * entries + VECTORS * facts.rows as f64,
        iterations,
        chance,
    }
}

/// Finds order and fill of the factors of a matrix where they may be worth it, and adds to what is found what they take.
///
/// They are not looked for where solver or preconditioner are given, on devices, and where the nullspace is known.
pub(super) fn analysis<T: Scalar>(
    config: &Config,
    known: Option<&NearNullspace>,
    found: &mut Findings,
    first: &Attempt,
    a: &Csr<T>,
    ws: &Workspace,
) -> Option<Analysed> {
    let case = Case {
        config,
        known,
        found,
    };
    let is_open = config.solver.is_auto() && config.preconditioner.is_auto();
    if !is_open
        || found.singular
        || a.executor().is_device()
        || !may_factorise(first, &case, a.pattern())
    {
        return None;
    }
    // Where there is no order, the attempts go on without.
    let (analysed, factorisation, bytes) = analysed(a, ws)?;
    a.executor()
        .check_need(|| "the factors".to_owned(), bytes)
        .ok()?;
    found.factorisation = Some(factorisation);
    Some(analysed)
}

/// Whether it may be worth while to look for an order and the fill of factors, before which this would be the first attempt.
fn may_factorise(first: &Attempt, case: &Case<'_>, pattern: &Pattern) -> bool {
    let other = predict(first, case);
    let (limit, ordering) = (other.seconds() / other.chance, ordering(case.found));
    if first.is_direct() || ordering > limit {
        return false;
    }
    // The widest level of a search separates the graph, and factors have about the operations of its cube.
    let width = || width(pattern) as f64;
    other.chance < LIKELY || ordering + FACTORS.0 * width().powi(3) <= limit
}

/// Puts the factorisation before the first attempt that is predicted to take longer, given its chance; others before it have
/// a number of iterations that takes as long.
pub(super) fn arrange(attempts: &mut Vec<Attempt>, case: &Case<'_>, direct: Attempt) {
    let Some(factorisation) = &case.found.factorisation else {
        return;
    };
    let seconds = seconds(factorisation, case.found);
    let is_longer = |attempt: &Attempt| {
        let other = predict(attempt, case);
        attempt.is_direct() || other.chance * seconds <= other.seconds()
    };
    let place = attempts.iter().position(is_longer);
    attempts.retain(|attempt| !attempt.is_direct());
    let place = place.unwrap_or(attempts.len()).min(attempts.len());
    for (number, attempt) in attempts.iter_mut().enumerate() {
        let own = predict(attempt, case);
        attempt.seconds = Some(own.seconds());
        let longest = (PARTS.0 * seconds).max(PARTS.1 * own.seconds());
        let most = (longest - own.setup) / own.iteration;
        attempt.most_iterations = (number < place).then_some((most as usize).max(FEWEST));
    }
    let direct = Attempt {
        seconds: Some(seconds),
        ..direct
    };
    attempts.insert(place, direct);
}

/// Vertices of the widest level of a search of the graph, from a vertex far from the first one.
fn width(pattern: &Pattern) -> usize {
    let (far, _) = search(pattern, 0);
    search(pattern, far).1
}

/// The last vertex that a search of all parts of a graph reaches in the part of the first one, and the size of its widest level.
fn search(pattern: &Pattern, start: usize) -> (usize, usize) {
    let n = pattern.size().rows;
    let mut met = vec![false; n];
    let (mut last, mut widest) = (None, 0);
    for first in std::iter::once(start).chain(0..n) {
        if n == 0 || std::mem::replace(&mut met[first], true) {
            continue;
        }
        let mut level = vec![first];
        let mut next = Vec::new();
        while !level.is_empty() {
            widest = widest.max(level.len());
            for &vertex in &level {
                for &other in &pattern.columns()[pattern.range(vertex)] {
                    if !std::mem::replace(&mut met[other as usize], true) {
                        next.push(other as usize);
                    }
                }
            }
            if next.is_empty() {
                last.get_or_insert(level[0]);
            }
            (level, next) = (next, level);
            next.clear();
        }
    }
    (last.unwrap_or(start), widest)
}

#[cfg(test)]
mod tests {
    use super::super::auto::attempts;
    use super::super::testing::matrix;
    use super::*;

    /// The attempts for a symmetric matrix of 100,000 rows that is no diffusion, whose factors take so much.
    fn tries(operations: f64, fill: usize) -> Vec<Attempt> {
        let mut facts = matrix("poisson5:20").facts();
        (facts.rows, facts.nonzeros) = (100_000, 1_000_000);
        (facts.dominant_rows, facts.strongly_dominant_rows) = (0.0, 0.0);
        facts.positive_rows = 1.0;
        let mut found = Findings::from(facts);
        found.factorisation = Some(Factorisation { operations, fill });
        attempts(&Config::default(), None, || found)
    }

    #[test]
    fn the_quickest_comes_first() {
        let few = tries(1e8, 3_000_000);
        assert!(few[0].is_direct() && few[0].reason.contains("3.0e6 numbers"));
        assert_eq!(few.iter().filter(|attempt| attempt.is_direct()).count(), 1);
        assert!(few.iter().all(|attempt| attempt.most_iterations.is_none()));
        let many = tries(1e12, 1_000_000_000);
        let place = many.iter().position(Attempt::is_direct).unwrap();
        assert!(place > 0, "{:?}", many[0].reason);
        assert!(
            many[..place]
                .iter()
                .all(|attempt| attempt.most_iterations.is_some())
        );
        assert!(many.iter().all(|attempt| attempt.seconds.is_some()));
    }

    #[test]
    fn graphs_are_as_wide_as_their_widest_level() {
        assert_eq!(width(matrix("poisson5:30x1").pattern()), 1);
        let width = width(matrix("poisson5:30x8").pattern());
        assert!((8..12).contains(&width), "{width}");
    }
}
