//! What every rank has done, in tables.

use serde_json::Value;
use vcycle::multigrid::LevelPart;

use super::format::{bytes, count, duration};
use super::summary::{RankSummary, Summary};
use super::table;

/// Ranks that a table shows at most, one by one.
const SHOWN: usize = 16;

/// Rows, messages and waiting of every rank.
pub fn by_rank(ranks: &[RankSummary]) -> String {
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
    let head = "rank|rows|entries|neighbours|messages|sent|waiting";
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
    let row = |(number, level): (usize, &Value)| {
        let [all_rows, entries] = ["rows", "nonzeros"].map(|key| level[key].as_u64());
        let [all_rows, entries] = [all_rows, entries].map(|all| count(all.unwrap_or(0) as usize));
        let own = summary.ranks.iter();
        let parts: Vec<&LevelPart> = own.filter_map(|rank| rank.levels.get(number)).collect();
        let most = |value: fn(&LevelPart) -> usize| {
            let values = parts.iter().map(|part| value(part));
            values.max().unwrap_or(0)
        };
        let [rows, imbalance, neighbours, sent] = match parts.is_empty() {
            true => ["one rank", "", "", ""].map(str::to_owned),
            false => {
                let sum: usize = parts.iter().map(|part| part.nonzeros).sum();
                let most_entries = most(|part| part.nonzeros);
                // The most entries of a rank over the mean.
                let imbalance = (most_entries * parts.len()) as f64 / sum.max(1) as f64;
                [
                    count(most(|part| part.rows)),
                    format!("{imbalance:.2}"),
                    most(|part| part.neighbours).to_string(),
                    count(most(|part| part.sent)),
                ]
            }
        };
        [
            number.to_string(),
            all_rows,
            entries,
            rows,
            imbalance,
            neighbours,
            sent,
        ]
    };
    let head = "level|rows|entries|rows of a rank|imbalance|neighbours|sent in a product";
    table::grid(head, summary.levels.iter().enumerate().map(row))
}
