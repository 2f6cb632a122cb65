//! Times that others were measured with, on an H200: a data file with version, options, date and source of each.

/// A line for every problem and library.
const TABLE: &str = include_str!("../../published/gpu-peers.tsv");

/// What a library takes for a problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PublishedPeer {
    /// Milliseconds of a set-up, the second one of a process.
    pub setup: f64,
    /// Milliseconds of a solve phase.
    pub solve: f64,
}

impl PublishedPeer {
    /// Set-up and solve.
    pub fn total(&self) -> f64 {
        self.setup + self.solve
    }
}

/// What hypre and AmgX take for a problem.
pub(super) fn peers(problem: &str) -> Option<[PublishedPeer; 2]> {
    Some([of(problem, "hypre")?, of(problem, "AmgX")?])
}

fn of(problem: &str, library: &str) -> Option<PublishedPeer> {
    let mut lines = TABLE.lines().map(|line| line.split('\t').collect());
    let line: Vec<&str> = lines.find(|line: &Vec<&str>| line[..2] == [problem, library])?;
    let number = |place: usize| line[place].parse().expect("a published time is a number");
    Some(PublishedPeer {
        setup: number(2),
        solve: number(3),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_their_names() {
        let [hypre, amgx] = peers("poisson7:256").unwrap();
        assert_eq!((hypre.setup, hypre.solve), (264.0, 163.0));
        assert_eq!(amgx.total(), 583.0);
        assert!(peers("poisson7:20").is_none());
    }

    #[test]
    fn every_row_says_where_it_comes_from() {
        let count = TABLE.lines().next().unwrap().split('\t').count();
        for line in TABLE.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            assert_eq!(fields.len(), count, "{line}");
            assert!(fields.iter().all(|field| !field.is_empty()), "{line}");
        }
    }
}
