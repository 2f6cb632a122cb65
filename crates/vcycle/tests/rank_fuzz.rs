//! Random systems on ranks that are threads: whatever the matrix, the split of its rows and the method, ranks end together,
//! none panics, and a solve that says it has converged has.
//!
//! A bounded number of cases runs as a test. `VCYCLE_FUZZ=20000` runs so many, from `VCYCLE_SEED` on:
//!
//! ```sh
//! VCYCLE_FUZZ=20000 VCYCLE_SEED=7000 cargo test -p vcycle --all-features --test rank_fuzz
//! ```
//!
//! Where MPI has started the test, its processes are the ranks (`scripts/mpi-test`).

use std::fmt::{self, Display, Formatter};
use std::process::abort;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use vcycle::communicator::{Communicator, mpi, threads};
use vcycle::config::{
    Config, PreconditionerConfig, Solution, SolverConfig, System, Wide, solve_system,
};
use vcycle::executor::{Executor, Workspace};
use vcycle::matrix::{Distributed, Duplicates};
use vcycle::multigrid::Coarsening;
use vcycle::scalar::c64;
use vcycle::stop::{Outcome, Status};
use vcycle::vector::Vector;
use vcycle::{Error, Result};

/// Cases of a test.
const CASES: u64 = 200;
/// Most time of a case: no rank waits for another for so long, and no system is so large.
const LONGEST: Duration = Duration::from_secs(60);
/// How much larger than its tolerance the residual of a converged solve may be: rounding.
const SLACK: f64 = 10.0;
/// Where rounding is so much of the right-hand side nothing is known of the residual.
const ALL: f64 = 0.5;

/// xorshift64*, seeded.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        // Seeds that follow each other must not begin alike.
        let mixed = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Self(mixed ^ (mixed >> 29))
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 11) as usize % limit.max(1)
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// Between -1 and 1.
    fn number(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// Kinds of matrices by their names.
const KINDS: [&str; 22] = [
    "laplace",
    "neumann",
    "pairs",
    "rank-one",
    "outer",
    "hilbert",
    "rows-scaled",
    "huge",
    "tiny",
    "zero-rows",
    "zero",
    "single",
    "convection",
    "skew",
    "cycle",
    "indefinite",
    "sparse",
    "hermitian",
    "complex",
    "grid",
    "triangle",
    "shared-pair",
];

/// Entries of a matrix by rows, and a right-hand side.
#[derive(Debug)]
struct Given {
    rows: Vec<Vec<(u64, c64)>>,
    b: Vec<c64>,
    /// A solution, where one is known.
    known: Option<Vec<c64>>,
}

impl Given {
    fn new(kind: &str, rows: usize, random: &mut Random) -> Self {
        let vector: Vec<f64> = (0..rows).map(|_| random.number()).collect();
        let others: Vec<f64> = (0..rows).map(|_| random.number()).collect();
        let side = 1 + rows.isqrt();
        let last = rows - 1;
        let near = |i: usize, j: usize| i.abs_diff(j) == 1;
        let beside =
            |i: usize, j: usize| i.abs_diff(j) == side || (near(i, j) && i / side == j / side);
        let mut values = vec![vec![c64::default(); rows]; rows];
        let sparse = 1 + random.below(4);
        for i in 0..rows {
            let scale = 10f64.powf(8.0 * vector[i]);
            for j in 0..rows {
                let (is_near, on) = (near(i, j), i == j);
                let line = f64::from(u8::from(on)) * 2.0 - f64::from(u8::from(is_near));
                let drawn = match on || random.below(rows) < sparse {
                    true => random.number(),
                    false => 0.0,
                };
                let real = match kind {
                    "laplace" => line,
                    "huge" => 1e300 * line,
                    "tiny" => 1e-300 * line,
                    "neumann" if on && (i == 0 || i == last) => f64::from(u8::from(rows > 1)),
                    "neumann" => line,
                    "pairs" if on => 1.0,
                    "pairs" => -f64::from(u8::from(i ^ 1 == j)),
                    "rank-one" => vector[i] * vector[j],
                    "outer" => vector[i] * others[j],
                    "hilbert" => 1.0 / (i + j + 1) as f64,
                    "rows-scaled" => scale * if on { 4.0 } else { drawn },
                    "zero-rows" if i % 3 == 1 => 0.0,
                    "zero-rows" => line,
                    "zero" => 0.0,
                    "single" => *random.of(&[0.0, 1.0, -3.0, 1e-300]),
                    "convection" if i == j + 1 => -1.9,
                    "convection" => line + 0.9 * f64::from(u8::from(j == i + 1)),
                    "skew" if j < i => -f64::from(u8::from(is_near)),
                    "skew" => f64::from(u8::from(is_near)),
                    "cycle" => f64::from(u8::from(j == (i + 1) % rows)) * (1.0 + i as f64),
                    "indefinite" => line - f64::from(u8::from(on)) * 1.3,
                    "grid" => f64::from(u8::from(on)) * 4.0 - f64::from(u8::from(beside(i, j))),
                    "triangle" if j < i => 0.0,
                    "shared-pair" if on => 1.0,
                    "shared-pair" => -f64::from(u8::from(i + j == last)),
                    "hermitian" => line,
                    _ => drawn,
                };
                let imaginary = match kind {
                    "hermitian" if is_near => 0.3 * (j as f64 - i as f64),
                    "complex" if drawn != 0.0 => random.number(),
                    _ => 0.0,
                };
                values[i][j] = c64::new(real, imaginary);
            }
        }
        let kept = |(column, value): (usize, c64)| (column as u64, value);
        let has_value = |(_, value): &(u64, c64)| value.norm() != 0.0;
        let row = |row: Vec<c64>| row.into_iter().enumerate().map(kept).filter(has_value);
        let rows: Vec<Vec<_>> = values
            .into_iter()
            .map(|values| row(values).collect())
            .collect();
        let mut given = Self {
            rows,
            b: Vec::new(),
            known: None,
        };
        given.draw_right_hand_side(random);
        given
    }

    /// Zero, in the range of the matrix, ones, or anything.
    fn draw_right_hand_side(&mut self, random: &mut Random) {
        let kind = random.below(8);
        let drawn: Vec<c64> = (0..self.rows.len())
            .map(|_| match kind {
                0 => c64::default(),
                1 => c64::new(1.0, 0.0),
                _ => c64::new(random.number(), 0.0),
            })
            .collect();
        match kind {
            2..5 => (self.b, self.known) = (self.product(&drawn, 1.0), Some(drawn)),
            _ => self.b = drawn,
        }
    }

    fn product(&self, x: &[c64], scale: f64) -> Vec<c64> {
        let row = |row: &Vec<(u64, c64)>| {
            let terms = row
                .iter()
                .map(|&(column, value)| value * scale * x[column as usize]);
            terms.fold(c64::default(), |sum, term| sum + term)
        };
        self.rows.iter().map(row).collect()
    }

    /// The norm of the residual and what rounding may make of it, relative to the right-hand side. Numbers are scaled, so that
    /// none overflows.
    fn residual(&self, x: &[c64]) -> [f64; 2] {
        let largest = |all: &[c64]| all.iter().map(|value| value.norm()).fold(0.0, f64::max);
        let (of_b, of_x) = (largest(&self.b), largest(x).max(f64::MIN_POSITIVE));
        if of_b == 0.0 {
            return [0.0; 2];
        }
        let scaled: Vec<c64> = x.iter().map(|value| value / of_x).collect();
        let moduli: Vec<f64> = scaled.iter().map(|value| value.norm()).collect();
        let (mut square, mut of_terms, mut of_all) = (0.0, 0.0, 0.0);
        for ((row, b), product) in self
            .rows
            .iter()
            .zip(&self.b)
            .zip(self.product(&scaled, 1.0))
        {
            let terms = row
                .iter()
                .map(|&(column, value)| value.norm() * moduli[column as usize]);
            let (b, terms) = (b / of_b, terms.sum::<f64>() / of_b * of_x);
            square += (b - product / of_b * of_x).norm_sqr();
            of_terms += terms * terms;
            of_all += b.norm_sqr();
        }
        let rounding = f64::EPSILON * (of_terms / of_all).sqrt();
        [(square / of_all).sqrt(), rounding]
    }

    fn is_real(&self) -> bool {
        let values = self.rows.iter().flatten().map(|(_, value)| value);
        values.chain(&self.b).all(|value| value.im == 0.0)
    }
}

/// A system, how it is split, and the options of its solve.
#[derive(Debug)]
struct Case {
    seed: u64,
    kind: &'static str,
    given: Given,
    /// The first rows of all ranks, and behind the last one.
    starts: Vec<usize>,
    options: String,
}

impl Case {
    fn new(seed: u64) -> Self {
        let random = &mut Random::new(seed);
        let kind = *random.of(&KINDS);
        let most = *random.of(&[4, 20, 60]);
        let rows = match kind {
            "single" => 1,
            _ => 1 + random.below(most),
        };
        let given = Given::new(kind, rows, random);
        let ranks = 1 + random.below(7);
        let ranks = world().map_or(ranks, |team| team.size());
        let mut starts: Vec<usize> = match random.below(3) {
            0 => (0..=ranks).map(|rank| rank * rows / ranks).collect(),
            _ => (0..=ranks).map(|_| random.below(rows + 1)).collect(),
        };
        starts.sort_unstable();
        (starts[0], starts[ranks]) = (0, rows);
        let options = options(random);
        Self {
            seed,
            kind,
            given,
            starts,
            options,
        }
    }

    /// With the options of the program, where default options or these end in vain.
    fn fixed(kind: &'static str, rows: usize, ranks: usize, options: &str) -> Self {
        let given = Given::new(kind, rows, &mut Random::new(1));
        Self {
            seed: 0,
            kind,
            given,
            starts: (0..=ranks).map(|rank| rank * rows / ranks).collect(),
            options: options.to_owned(),
        }
    }

    /// What is wrong with it, if anything is.
    fn failure(&self) -> Option<String> {
        match self.given.is_real() {
            true => self.solved::<f64>(|value| value.re, |value| c64::new(value, 0.0)),
            false => self.solved::<c64>(|value| value, |value| value),
        }
    }

    fn solved<T: Wide>(&self, from: fn(c64) -> T, to: fn(T) -> c64) -> Option<String> {
        let config: Config = match self.options.parse() {
            Ok(config) => config,
            Err(error) => return Some(format!("options: {error}")),
        };
        if let Some(team) = world() {
            let solved = self.solved_by_process(team, &config, from, to);
            return solved.unwrap_or_else(|error| Some(error.to_string()));
        }
        // A rank that fails does not end the others, as processes do not: all of them have to know.
        let solved = threads::run(self.starts.len() - 1, |team| {
            let solved = self.solved_by_rank(&team, &config, from);
            Ok(solved.map(|solution| (solution.x.to_vec(), solution)))
        });
        let all = match solved {
            Ok(all) => all,
            Err(error) => return Some(error.to_string()),
        };
        let failed = all.iter().filter(|one| one.is_err()).count();
        let is_agreed = [0, all.len()].contains(&failed);
        let all = match all.into_iter().collect::<Result<Vec<_>>>() {
            Ok(all) => all,
            Err(error) if is_agreed => return mistake(&error),
            Err(error) => return Some(format!("some ranks have failed: {error}")),
        };
        let (_, first) = &all[0];
        let is_other = |(_, other): &(_, Solution<T>)| other.outcome.status != first.outcome.status;
        if let Some(rank) = all.iter().position(is_other) {
            let [own, other] = [first, &all[rank].1].map(|solution| solution.outcome.status);
            return Some(format!("rank 0 ends as {own}, rank {rank} as {other}"));
        }
        let x = all.iter().flat_map(|(x, _)| x).map(|&value| to(value));
        self.contradiction(&first.outcome, &x.collect::<Vec<_>>(), &config)
    }

    /// The same where each rank is a process.
    fn solved_by_process<T: Wide>(
        &self,
        team: &Arc<dyn Communicator>,
        config: &Config,
        from: fn(c64) -> T,
        to: fn(T) -> c64,
    ) -> Result<Option<String>> {
        let solved = self.solved_by_rank(team, config, from);
        let failed = team.total(u64::from(solved.is_err()))?;
        let Solution { x, outcome, .. } = match solved {
            Err(error) if failed == team.size() as u64 => return Ok(mistake(&error)),
            Err(error) => return Ok(Some(format!("some ranks have failed: {error}"))),
            Ok(_) if failed > 0 => return Ok(Some("other ranks have failed".to_owned())),
            Ok(solution) => solution,
        };
        if team.alike(outcome.status.name().as_bytes())?.1 < team.size() {
            return Ok(Some(format!(
                "other ranks do not end as {}",
                outcome.status
            )));
        }
        let values = x.to_vec().into_iter().map(to);
        let own: Vec<u64> = values
            .flat_map(|value| [value.re, value.im].map(f64::to_bits))
            .collect();
        let all = team.all_to_all_numbers(vec![own; team.size()])?.concat();
        let value = |&[re, im]: &[u64; 2]| c64::new(f64::from_bits(re), f64::from_bits(im));
        let x: Vec<c64> = all.as_chunks().0.iter().map(value).collect();
        Ok(self.contradiction(&outcome, &x, config))
    }

    fn solved_by_rank<T: Wide>(
        &self,
        team: &Arc<dyn Communicator>,
        config: &Config,
        from: fn(c64) -> T,
    ) -> Result<Solution<T>> {
        let rank = &Executor::cpu_with_threads(1)?.with_team(team)?;
        let own = self.starts[team.rank()]..self.starts[team.rank() + 1];
        let rows = &self.given.rows[own.clone()];
        let mut offsets = vec![0];
        rows.iter()
            .for_each(|row| offsets.push(offsets[offsets.len() - 1] + row.len()));
        let (columns, values) = rows.iter().flatten().map(|&(c, v)| (c, from(v))).unzip();
        let a = Distributed::from_rows(rank, offsets, columns, values, Duplicates::Refuse)?;
        let b = self.given.b[own].iter().map(|&value| from(value));
        let b = Vector::from_column(rank, b.collect());
        solve_system(config, &System::new(Arc::new(a)), &b, &Workspace::new())
    }

    /// Where what ranks say is not true.
    fn contradiction(&self, outcome: &Outcome, x: &[c64], config: &Config) -> Option<String> {
        let [residual, rounding] = self.given.residual(x);
        let tolerance = config.stop.rtol.unwrap_or(0.0).max(f64::EPSILON);
        let is_wrong = residual > SLACK * (tolerance + rounding) || rounding > ALL;
        if outcome.converged() && is_wrong {
            return Some(format!(
                "{outcome}, but its residual is {residual:.1e}, rounding {rounding:.1e}"
            ));
        }
        let known = self.given.known.as_ref().map(|x| self.given.residual(x)[0]);
        let is_known = known.is_some_and(|residual| residual < 1e-12);
        if outcome.status == Status::Inconsistent && is_known {
            return Some(format!("{outcome}, but there is a solution"));
        }
        None
    }
}

impl Display for Case {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (seed, kind, starts, options) = (self.seed, self.kind, &self.starts, &self.options);
        write!(f, "seed {seed}, {kind}, rows from {starts:?}, {options}")
    }
}

/// An error that a user cannot have caused.
fn mistake(error: &Error) -> Option<String> {
    let text = error.to_string();
    let signs = ["panicked", "do not call the same", "in vain", "bytes, "];
    signs.iter().any(|sign| text.contains(sign)).then_some(text)
}

fn options(random: &mut Random) -> String {
    let mut options = "max-iterations=60".to_owned();
    if random.one_in(4) {
        return options;
    }
    if !random.one_in(4) {
        options += &format!(" solver={}", random.of(SolverConfig::NAMES));
    }
    if !random.one_in(4) {
        let name = *random.of(PreconditionerConfig::NAMES);
        let is_own = random.one_in(3) && !["auto", "none"].contains(&name);
        options += &format!(
            " preconditioner={}{name}",
            if is_own { "schwarz:" } else { "" }
        );
        if name == "amg" && !is_own {
            options += &multigrid(random);
        }
    }
    if random.one_in(6) {
        options += &format!(
            " precision={}",
            random.of(&["sp", "dp/sp", "sp/hp", "dp/bf"])
        );
    }
    if random.one_in(6) {
        options += &format!(" rtol={}", random.of(&["1e-2", "1e-12", "0"]));
    }
    options
}

/// Few rows are enough for several levels that ranks share.
fn multigrid(random: &mut Random) -> String {
    let mut options = String::new();
    if !random.one_in(4) {
        options += &format!(" coarsening={}", random.of(&Coarsening::names()));
    }
    if !random.one_in(4) {
        options += &format!(" gather-rows={} coarsest-rows=2", random.of(&[0, 3, 10]));
    }
    options
}

/// The processes that MPI has started, if it has.
fn world() -> Option<&'static Arc<dyn Communicator>> {
    static WORLD: OnceLock<Option<Arc<dyn Communicator>>> = OnceLock::new();
    let start = || mpi::is_launched().then(|| mpi::world().expect("MPI starts"));
    WORLD.get_or_init(start).as_ref()
}

/// Runs cases, and ends the program where one takes too long; a lock, as tests may run at once.
fn run(cases: impl Iterator<Item = Case>) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock();
    let (begin, begun) = channel::<String>();
    let watch = std::thread::spawn(move || {
        let mut last = String::new();
        loop {
            match begun.recv_timeout(LONGEST) {
                Ok(case) => last = case,
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    eprintln!("takes too long: {last}");
                    abort();
                }
            }
        }
    });
    let mut failed = Vec::new();
    for case in cases {
        begin.send(case.to_string()).expect("it listens");
        if let Some(failure) = case.failure() {
            eprintln!("{case}\n    {failure}");
            failed.push(case.seed);
        }
    }
    drop(begin);
    watch.join().expect("it has nothing to say");
    assert!(
        failed.is_empty(),
        "{} cases failed: {failed:?}",
        failed.len()
    );
}

#[test]
fn ranks_end_together_and_say_what_is_true() {
    let number = |name| std::env::var(name).ok()?.parse::<u64>().ok();
    let (count, first) = (number("VCYCLE_FUZZ"), number("VCYCLE_SEED"));
    let first = first.unwrap_or(1);
    run((first..first + count.unwrap_or(CASES)).map(Case::new));
    mpi::finish();
}

#[test]
fn ranks_that_once_hung_end_together() {
    if world().is_some() {
        return;
    }
    let cases = [
        Case::fixed("rank-one", 20, 3, ""),
        Case::fixed("rank-one", 20, 7, ""),
        Case::fixed("rows-scaled", 100, 3, ""),
        Case::fixed("rows-scaled", 100, 7, ""),
        Case::fixed("hilbert", 14, 3, ""),
        Case::fixed("grid", 6, 4, "solver=idr preconditioner=none"),
        Case::fixed(
            "grid",
            100,
            3,
            "solver=gmres preconditioner=none rtol=1e-11",
        ),
    ];
    run(cases.into_iter());
}
