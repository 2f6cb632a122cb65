//! Times that others were measured with.

/// Milliseconds of a solve phase on an H200: b = ones, x0 = 0, conjugate gradients to 1e-8.
pub(super) struct PublishedPeer {
    problem: &'static str,
    /// hypre 3.1, CUDA: PMIS, extended+i(4), l1-Jacobi. Milliseconds and iterations.
    pub hypre: (f64, usize),
    /// AmgX 2.5, aggregation. Milliseconds and iterations.
    pub amgx: (f64, usize),
}

const fn peer(problem: &'static str, hypre: (f64, usize), amgx: (f64, usize)) -> PublishedPeer {
    PublishedPeer {
        problem,
        hypre,
        amgx,
    }
}

/// Measured in November 2026 on the kind of machine that the report in this repository comes from.
const PEERS: [PublishedPeer; 6] = [
    peer("poisson7:128", (31.0, 18), (56.0, 51)),
    peer("poisson7:256", (163.0, 21), (507.0, 91)),
    peer("poisson27:128", (32.0, 17), (81.0, 41)),
    peer("poisson27:200", (104.0, 18), (353.0, 59)),
    peer("jump7:128,1e6", (31.0, 19), (314.0, 276)),
    peer("aniso7:128,0.01", (26.0, 15), (64.0, 57)),
];

/// Milliseconds of set-ups, the second ones of a process: hypre's with PMIS and extended+i(4), AmgX's
/// with aggregates of two.
const SETUPS: [(&str, f64, f64); 6] = [
    ("poisson7:128", 72.0, 25.0),
    ("poisson7:256", 264.0, 76.0),
    ("poisson27:128", 71.0, 32.0),
    ("poisson27:200", 189.0, 96.0),
    ("jump7:128,1e6", 59.0, 17.0),
    ("aniso7:128,0.01", 67.0, 31.0),
];

/// What set-ups of hypre and AmgX take.
pub(super) fn setup_peers(problem: &str) -> Option<(f64, f64)> {
    let row = SETUPS.iter().find(|row| row.0 == problem)?;
    Some((row.1, row.2))
}

/// What peers take for a problem.
pub(super) fn peers(problem: &str) -> Option<&'static PublishedPeer> {
    PEERS.iter().find(|peer| peer.problem == problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_their_names() {
        assert_eq!(peers("poisson7:256").unwrap().hypre, (163.0, 21));
        assert!(peers("poisson7:20").is_none());
        assert_eq!(setup_peers("poisson27:200"), Some((189.0, 96.0)));
    }
}
