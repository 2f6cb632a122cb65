//! What a hierarchy looks like.

use std::fmt::{Display, Formatter};

use crate::config::Precision;

/// One level, in numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// Whether the matrix was [scaled](super::LevelScaling) into the range of its precision.
    pub scaled: bool,
    /// Bytes of the stored matrix and of both transfer operators.
    pub bytes: usize,
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
        writeln!(
            f,
            "{:>5} {:>12} {:>14} {:>9} {:>9} {:>12}",
            "level", "rows", "nonzeros", "per row", "precision", "bytes"
        )?;
        for (number, level) in self.levels.iter().enumerate() {
            let mean = level.nonzeros as f64 / level.rows.max(1) as f64;
            writeln!(
                f,
                "{number:>5} {:>12} {:>14} {mean:>9.1} {:>9} {:>12}",
                level.rows, level.nonzeros, level.precision, level.bytes
            )?;
        }
        write!(
            f,
            "operator complexity {:.2}, grid complexity {:.2}, coarsest level: {}",
            self.operator_complexity(),
            self.grid_complexity(),
            self.coarsest
        )?;
        match &self.stalled {
            None => Ok(()),
            Some(reason) => write!(f, "\n{reason}"),
        }
    }
}
