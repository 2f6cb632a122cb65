//! What every rank has done, in tables.

use vcycle::multigrid::LevelPart;

use super::format::{bytes, count, duration};
use super::summary::{RankSummary, Summary};
use super::table;

/// Ranks that a table shows at most, one by one.
const SHOWN: usize = 16;

/// Rows, messages and waiting of every rank.
pub fn by_rank(ranks: &[RankSummary]) -> String {
    let head = [
        "rank",
        "rows",
        "entries",
        "neighbours",
        "messages",
        "sent",
        "waiting",
    ];
    let row = |(number, rank): (usize, &RankSummary)| {
        let solve = &rank.traffic[1];
        [
            number.to_string(),
            count(rank.rows),
            count(rank.nonzeros),
            rank.neighbours.to_string(),
            count(solve.messages as usize),
            bytes(solve.bytes as usize),
            duration(solve.waiting),
        ]
    };
    let mut table = table::grid(head, ranks.iter().take(SHOWN).enumerate().map(row));
    if ranks.len() > SHOWN {
        let more = ranks.len() - SHOWN;
        table +=
            &format!("\nand {more} ranks more; messages and waiting are those of the iterations");
    }
    table
}

/// How every level lies on the ranks.
pub fn by_level(summary: &Summary) -> String {
    let head = [
        "level",
        "rows",
        "entries",
        "rows of a rank",
        "imbalance",
        "neighbours",
        "sent in a product",
    ];
    let row = |(number, level): (usize, &super::summary::LevelSummary)| {
        let parts: Vec<LevelPart> = parts(&summary.ranks, number);
        let most = |value: fn(&LevelPart) -> usize| parts.iter().map(value).max().unwrap_or(0);
        let spread = match parts.is_empty() {
            true => ["one rank", "", "", ""].map(str::to_owned),
            false => [
                count(most(|part| part.rows)),
                format!("{:.2}", imbalance(&parts)),
                most(|part| part.neighbours).to_string(),
                count(most(|part| part.sent)),
            ],
        };
        let [rows, imbalance, neighbours, sent] = spread;
        [
            number.to_string(),
            count(level.rows),
            count(level.nonzeros),
            rows,
            imbalance,
            neighbours,
            sent,
        ]
    };
    table::grid(head, summary.levels.iter().enumerate().map(row))
}

/// The parts that ranks have of a level; none where one has all.
fn parts(ranks: &[RankSummary], level: usize) -> Vec<LevelPart> {
    let part = |rank: &RankSummary| rank.levels.get(level).copied();
    ranks.iter().filter_map(part).collect()
}

/// The most entries of a rank over the mean.
fn imbalance(parts: &[LevelPart]) -> f64 {
    let entries = parts.iter().map(|part| part.nonzeros);
    let (most, sum) = (entries.clone().max().unwrap_or(0), entries.sum::<usize>());
    most as f64 * parts.len() as f64 / sum.max(1) as f64
}
