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

/// Milliseconds and iterations on an H100: tables 6.2 and 6.4 of Tsai's dissertation (2024).
const PAPER: [(&str, &str, f64, &str); 12] = [
    ("beam:o3,l3", "dp", 43.65, "44"),
    ("beam:o3,l3", "dp-sp", 40.89, "44"),
    ("beam:o3,l3", "dp-sp-hp", 80.72, "86"),
    ("beam:o3,l3", "dp-hp", 117.62, "127"),
    ("beam:o3,l3", "dp-sp-bf", 42.90, "44"),
    ("beam:o3,l3", "dp-bf", 42.99, "44"),
    ("lshape:o3,l7", "dp", 195.31, "160"),
    ("lshape:o3,l7", "dp-sp", 191.62, "171"),
    ("lshape:o3,l7", "dp-sp-hp", 869.77, "800: no"),
    ("lshape:o3,l7", "dp-hp", 868.83, "800: no"),
    ("lshape:o3,l7", "dp-sp-bf", 203.06, "186"),
    ("lshape:o3,l7", "dp-bf", 208.69, "192"),
];

/// Milliseconds and iterations of the dissertation.
pub(super) fn paper(problem: &str, precision: &str) -> Option<(f64, &'static str)> {
    let row = PAPER
        .iter()
        .find(|row| (row.0, row.1) == (problem, precision));
    row.map(|row| (row.2, row.3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_their_names() {
        assert_eq!(peers("poisson7:256").unwrap().hypre, (163.0, 21));
        assert!(peers("poisson7:20").is_none());
        assert_eq!(setup_peers("poisson27:200"), Some((189.0, 96.0)));
        assert_eq!(paper("lshape:o3,l7", "dp"), Some((195.31, "160")));
        assert_eq!(paper("lshape:o3,l7", "dp/hp"), None);
    }
}
