//! The report of a hierarchy: sizes, complexities and times of its levels.

use std::fmt::{Display, Formatter};

use serde::{Deserialize, Serialize};

use crate::precision::Precision;

/// One level, in numbers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LevelFacts {
    /// Unknowns.
    pub rows: usize,
    /// Entries of the matrix.
    pub nonzeros: usize,
    /// Entries of the prolongation from the next level; 0 on the coarsest.
    pub transfer_nonzeros: usize,
    /// In which vectors are computed and the matrix is stored.
    pub precision: Precision,
    /// How the matrix is stored for products: `csr`, `bsr 3x3`, `stencil`; `dense` where the level and all below it are one
    /// dense matrix.
    pub format: String,
    /// What smooths, with the sweeps before and after; on the coarsest level what solves.
    pub smoother: String,
    /// Whether the matrix was [scaled](super::LevelScaling) into the range of its precision.
    pub scaled: bool,
    /// Bytes of the stored matrix and of both transfer operators.
    pub bytes: usize,
    /// How long the stages of the set-up took.
    pub setup: Vec<StageTime>,
    /// The part of this rank, where several share the level.
    pub part: Option<LevelPart>,
}

/// What one rank has of a level, and what it sends in a product with its matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelPart {
    /// Rows of this rank.
    pub rows: usize,
    /// Entries of these rows.
    pub nonzeros: usize,
    /// Ranks it sends to.
    pub neighbours: usize,
    /// Numbers it sends.
    pub sent: usize,
}

impl LevelFacts {
    /// Entries of the matrix per row.
    pub fn per_row(&self) -> f64 {
        self.nonzeros as f64 / self.rows.max(1) as f64
    }

    /// Time of the set-up.
    pub fn setup_seconds(&self) -> f64 {
        self.setup.iter().map(|time| time.seconds).sum()
    }
}

/// How long a stage of the set-up took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StageTime {
    /// What was done.
    pub name: &'static str,
    /// How long it took.
    pub seconds: f64,
}

/// The levels of a hierarchy, from the finest down.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// Every level.
    pub levels: Vec<LevelFacts>,
    /// How the coarsest level is solved.
    pub coarsest: &'static str,
    /// Why coarsening ended before the matrix was small, if it did.
    pub stalled: Option<String>,
    /// What was done in another way than was asked for, and why.
    pub notes: Vec<String>,
}

impl Report {
    /// Entries of all matrices over those of the finest: what a cycle costs in products.
    pub fn operator_complexity(&self) -> f64 {
        self.over_finest(|level| level.nonzeros)
    }

    /// Unknowns of all levels over those of the finest.
    pub fn grid_complexity(&self) -> f64 {
        self.over_finest(|level| level.rows)
    }

    /// Bytes of all levels.
    pub fn bytes(&self) -> usize {
        self.levels.iter().map(|level| level.bytes).sum()
    }

    /// Time of the whole set-up.
    pub fn setup_seconds(&self) -> f64 {
        self.levels.iter().map(LevelFacts::setup_seconds).sum()
    }

    /// Time of every stage on all levels together, in the order of the first level.
    pub fn setup_by_stage(&self) -> Vec<StageTime> {
        let mut sums: Vec<StageTime> = Vec::new();
        for time in self.levels.iter().flat_map(|level| &level.setup) {
            match sums.iter_mut().find(|sum| sum.name == time.name) {
                Some(sum) => sum.seconds += time.seconds,
                None => sums.push(*time),
            }
        }
        sums
    }

    /// Which levels were scaled, in words; nothing if none was.
    pub fn scaling_note(&self) -> Option<String> {
        let levels = self.levels.iter().enumerate();
        let scaled = levels.filter(|(_, level)| level.scaled);
        let names: Vec<String> = scaled
            .map(|(number, level)| format!("{number} ({})", level.precision.matrix.name()))
            .collect();
        let note = format!(
            "scaled into the range of their precision: levels {}",
            names.join(", ")
        );
        (!names.is_empty()).then_some(note)
    }

    fn over_finest(&self, number: impl Fn(&LevelFacts) -> usize) -> f64 {
        let sum: usize = self.levels.iter().map(&number).sum();
        let finest = self.levels.first().map_or(0, &number).max(1);
        sum as f64 / finest as f64
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let width = self.levels.iter().map(|level| level.smoother.len()).max();
        let width = width.unwrap_or(0).max("smoother".len());
        writeln!(
            f,
            "level         rows       nonzeros  per row  precision  format   {:width$}        MB  set-up ms",
            "smoother"
        )?;
        for (number, level) in self.levels.iter().enumerate() {
            writeln!(
                f,
                "{number:>5} {:>12} {:>14} {:>8.1}  {:9}  {:7}  {:width$} {:>9.2} {:>10.2}",
                level.rows,
                level.nonzeros,
                level.per_row(),
                level.precision,
                level.format,
                level.smoother,
                level.bytes as f64 * 1e-6,
                level.setup_seconds() * 1e3,
            )?;
        }
        writeln!(
            f,
            "operator complexity {:.2}, grid complexity {:.2}, {:.2} MB in all",
            self.operator_complexity(),
            self.grid_complexity(),
            self.bytes() as f64 * 1e-6,
        )?;
        write!(f, "set-up {:.2} ms", self.setup_seconds() * 1e3)?;
        for (place, line) in self.setup_by_stage().chunks(STAGES_A_LINE).enumerate() {
            let before = if place == 0 { ": " } else { ",\n    " };
            write!(f, "{before}{}", milliseconds(line))?;
        }
        let mut said = self.stalled.iter().chain(&self.notes);
        said.try_for_each(|line| write!(f, "\n{line}"))
    }
}

/// Keeps lines within 100 columns.
const STAGES_A_LINE: usize = 4;

fn milliseconds(times: &[StageTime]) -> String {
    let text = |time: &StageTime| format!("{} {:.2}", time.name, time.seconds * 1e3);
    times.iter().map(text).collect::<Vec<_>>().join(", ")
}
