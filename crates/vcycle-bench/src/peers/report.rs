//! The tables.

use serde::Deserialize;
use serde_json::{Value, json};
use vcycle_plot::{BarRow, bars};

use super::measurement::{Attempt, Measurement, OURS};
use crate::prelude::*;

/// All solves of one problem with one number of threads, by name.
pub(crate) struct PeerGroup {
    pub(crate) problem: String,
    pub(crate) threads: usize,
    pub(crate) solves: Vec<(String, Attempt)>,
}

impl PeerGroup {
    /// Those of our solves, or of the peers', that succeeded.
    fn succeeded(&self, ours: bool) -> impl Iterator<Item = (&str, &Measurement)> {
        let of = self.solves.iter();
        let of = of.filter(move |(name, _)| name.starts_with(OURS) == ours);
        of.filter_map(|(name, attempt)| {
            let m = attempt.as_ref().ok().filter(|m| m.converged())?;
            Some((name.as_str(), m))
        })
    }

    /// The peer with the smallest total.
    fn best_peer(&self) -> Option<(&str, &Measurement)> {
        let peers = self.succeeded(false);
        peers.min_by(|one, other| one.1.total().total_cmp(&other.1.total()))
    }

    fn json(&self) -> Value {
        let best = self.best_peer();
        let solve = |(name, attempt): &(String, Attempt)| {
            let mut solve = match attempt {
                Ok(m) => json!(m),
                Err(why) => json!({"error": why}),
            };
            let converged = attempt.as_ref().ok().filter(|m| m.converged());
            let faster = converged
                .zip(best)
                .map(|(m, best)| best.1.total() / m.total());
            solve["name"] = name.as_str().into();
            solve["times_faster_than_best_peer"] = faster.into();
            solve
        };
        json!({
            "problem": self.problem,
            "threads": self.threads,
            "best_peer": best.map(|(name, _)| name),
            "solves": self.solves.iter().map(solve).collect::<Vec<_>>(),
        })
    }
}

/// As one line of JSON.
pub(crate) fn json(groups: &[PeerGroup]) -> Value {
    groups.iter().map(PeerGroup::json).collect()
}

/// What [`json`] made.
pub(crate) fn read(text: &str) -> Result<Vec<PeerGroup>> {
    #[derive(Deserialize)]
    struct Group {
        problem: String,
        threads: usize,
        solves: Vec<Value>,
    }
    let solve = |one: Value| {
        let name = one["name"]
            .as_str()
            .ok_or("a solve has no name")?
            .to_owned();
        let attempt = match one["error"].as_str() {
            Some(why) => Err(why.to_owned()),
            None => Ok(serde_json::from_value(one)?),
        };
        Ok((name, attempt))
    };
    let group = |group: Group| {
        Ok(PeerGroup {
            problem: group.problem,
            threads: group.threads,
            solves: group.solves.into_iter().map(solve).collect::<Result<_>>()?,
        })
    };
    let groups: Vec<Group> = serde_json::from_str(text)?;
    groups.into_iter().map(group).collect()
}

/// All solves in a table, and our rows beside the best peer in another.
pub(crate) fn text(args: &Args, groups: &[PeerGroup]) -> String {
    let mut all = args.table("all");
    for group in groups {
        for (name, attempt) in &group.solves {
            let mut cells = row![&group.problem, group.threads, name];
            cells.extend(match attempt {
                Err(why) => row!["", "", "", "", "", "", why],
                Ok(m) => {
                    let (total, note) = (m.total(), m.note());
                    row![
                        m.read,
                        m.setup,
                        m.solve,
                        total,
                        m.iterations,
                        m.residual,
                        note
                    ]
                }
            });
            all.row(cells);
        }
    }
    format!("{all}\n\n{}", beside_the_best(args, groups))
}

/// Totals of all that succeeded, as bars.
pub(crate) fn chart(groups: &[PeerGroup]) -> Option<String> {
    let row = |group: &PeerGroup| {
        let both = group.succeeded(true).chain(group.succeeded(false));
        let values = both.map(|(name, m)| (name.to_owned(), m.total()));
        let threads = match group.threads {
            1 => "1 thread".to_owned(),
            threads => format!("{threads} threads"),
        };
        BarRow {
            name: format!("{}, {threads}", group.problem),
            values: values.collect(),
        }
    };
    let rows: Vec<BarRow> = groups.iter().map(row).collect();
    bars(&rows, &[], "set-up and solve, s", true)
}

/// What begins and ends the lines of a file that [`with_parts`] writes.
const MARKS: [&str; 2] = [
    "<!-- vcycle bench peers --from docs/benchmarks/peers.json --parts README.md -->",
    "<!-- end -->",
];

/// A text with how much faster than the best peer we are between its marks: a Markdown table of what was measured with the most threads.
///
/// # Errors
/// For a text without the marks.
pub(crate) fn with_parts(text: &str, groups: &[PeerGroup]) -> Result<String> {
    let found = || {
        let (before, rest) = text.split_once(MARKS[0])?;
        Some((before, rest.split_once(MARKS[1])?.1))
    };
    let (before, after) = found().ok_or_else(|| format!("there is no `{}`", MARKS[0]))?;
    let [first, last] = MARKS;
    Ok(format!("{before}{first}\n{}{last}{after}", parts(groups)))
}

fn parts(groups: &[PeerGroup]) -> String {
    let threads = groups.iter().map(|group| group.threads).max().unwrap_or(1);
    let mut text = format!(
        "| problem, {threads} threads | vcycle, s | best peer, s | times faster |\n|---|---:|---:|---:|\n"
    );
    for group in groups.iter().filter(|group| group.threads == threads) {
        let Some(((_, ours), (name, best))) = group
            .succeeded(true)
            .find(|(name, _)| *name == OURS)
            .zip(group.best_peer())
        else {
            continue;
        };
        let (problem, faster) = (&group.problem, best.total() / ours.total());
        text += &format!(
            "| `{problem}` | {:.2} | {name} {:.2} | {faster:.1} |\n",
            ours.total(),
            best.total()
        );
    }
    text
}

fn beside_the_best(args: &Args, groups: &[PeerGroup]) -> Table {
    let mut ratios = args.table("best");
    for group in groups {
        let best = group.best_peer();
        let peer = best.map_or("none", |best| best.0);
        let theirs = best.map(|best| best.1.total());
        for (name, m) in group.succeeded(true) {
            let ours = m.total();
            let faster = theirs.map(|theirs| theirs / ours);
            let (problem, threads) = (&group.problem, group.threads);
            ratios.row(row![problem, threads, name, ours, peer, theirs, faster]);
        }
    }
    ratios
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(setup: f64, solve: f64, residual: f64) -> Attempt {
        Ok(Measurement {
            read: 0.5,
            setup,
            solve,
            iterations: 10,
            residual,
            complexity: None,
            messages: 0.0,
        })
    }

    #[test]
    fn the_readme_has_the_committed_measurements() {
        const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let file = |name: &str| std::fs::read_to_string(format!("{ROOT}/{name}")).unwrap();
        let groups = read(&file("docs/benchmarks/peers.json")).unwrap();
        let readme = file("README.md");
        assert!(
            with_parts(&readme, &groups).unwrap() == readme,
            "run `{}`",
            &MARKS[0][5..MARKS[0].len() - 4]
        );
        assert!(with_parts("", &groups).is_err());
    }

    fn group() -> PeerGroup {
        let solves = [
            (OURS, measured(1.0, 2.0, 1e-9)),
            ("vcycle --precond amg", measured(1.0, 3.0, 1e-9)),
            ("slow", measured(5.0, 1.0, 1e-9)),
            ("fast", measured(1.0, 1.0, 1e-9)),
            ("wrong", measured(0.5, 0.5, 1e-3)),
            ("absent", Err("not installed: no network".to_owned())),
        ];
        PeerGroup {
            problem: "poisson7:8".to_owned(),
            threads: 2,
            solves: solves
                .map(|(name, attempt)| (name.to_owned(), attempt))
                .into(),
        }
    }

    fn line(text: &str, name: &str) -> String {
        let plain = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut lines = text.lines().map(plain);
        lines.find(|line| line.contains(name)).unwrap()
    }

    #[test]
    fn ratios_are_of_totals_and_to_the_best_that_solved_it() {
        let args = &Args::parse("peers");
        let both = text(args, &[group()]);
        assert!(line(&both, "slow").ends_with("| 0.500 | 5.000 | 1.000 | 6.000 | 10 | 1.0e-9 | |"));
        assert!(line(&both, "wrong").ends_with("| 1.0e-3 | not converged |"));
        assert!(line(&both, "absent").ends_with("| | not installed: no network |"));
        let ratios = beside_the_best(args, &[group()]).to_string();
        assert!(line(&ratios, "| vcycle |").ends_with("| 3.000 | fast | 2.000 | 0.67 |"));
        assert!(line(&ratios, "amg").ends_with("| 4.000 | fast | 2.000 | 0.50 |"));
    }

    #[test]
    fn charts_show_what_succeeded() {
        let chart = chart(&[group()]).unwrap();
        assert!(chart.contains("poisson7:8, 2 threads") && chart.contains("slow"));
        assert!(!chart.contains("wrong") && !chart.contains("absent"));
    }

    #[test]
    fn json_has_the_same_and_is_read_again() {
        let value = json(&[group()]);
        let solves = &value[0]["solves"];
        assert_eq!(value[0]["best_peer"], "fast");
        assert_eq!(solves[0]["name"], "vcycle");
        assert_eq!(solves[1]["times_faster_than_best_peer"], 0.5);
        assert_eq!(solves[2]["read_seconds"], 0.5);
        assert_eq!(solves[4]["times_faster_than_best_peer"], Value::Null);
        assert_eq!(solves[5]["error"], "not installed: no network");
        let again = read(&value.to_string()).unwrap();
        let args = &Args::parse("peers");
        assert_eq!(text(args, &again), text(args, &[group()]));
    }

    #[test]
    fn nothing_is_compared_with_a_failure() {
        let mut failed = group();
        failed.solves[0].1 = Err("failed".to_owned());
        let args = &Args::parse("peers");
        let ratios = beside_the_best(args, &[failed]).to_string();
        assert_eq!(ratios.lines().count(), 3, "{ratios}");
        let mut alone = group();
        alone.solves.truncate(1);
        let ratios = beside_the_best(args, &[alone]).to_string();
        assert!(line(&ratios, "| vcycle |").contains("| none |"));
    }
}
