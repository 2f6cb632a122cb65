//! Strong scaling over ranks, in double and in half precision.

use vcycle::config::Config;

use super::super::super::experiment::Scope;
use super::super::super::record::Value;
use super::super::ranks::{Solved, counts, solve};
use super::PROBLEMS;
use crate::common::Result;

/// Names, and precisions as the paper spells them.
const PRECISIONS: [(&str, &str); 2] = [("double", "K64P64D64"), ("half", "K64P32D16")];
/// Problems that conjugate gradients cannot solve.
const NOT_SYMMETRIC: [&str; 3] = ["oil", "weather", "oil-4C"];

pub(super) fn strong(scope: &Scope) -> Result<Vec<Value>> {
    let (counts, mut values) = (counts(scope)?, Vec::new());
    for (name, [tiny, quick, full]) in PROBLEMS {
        let problem = format!("{name}:{}", scope.size([tiny, quick / 2, full * 3 / 4]));
        let configs = PRECISIONS.map(|(_, precision)| config(name, precision));
        let configs = configs.into_iter().collect::<Result<Vec<_>>>()?;
        let on_ranks =
            |&ranks: &usize| solve(scope, &problem, &configs, (ranks, scope.size([1, 1, 2])));
        let solved = counts.iter().map(on_ranks).collect::<Result<Vec<_>>>()?;
        for (place, (precision, _)) in PRECISIONS.iter().enumerate() {
            for (ranks, of_ranks) in counts.iter().zip(&solved) {
                let row = format!("{name}, {precision}, {ranks} ranks");
                values.extend(of_row(
                    &row,
                    &of_ranks[place],
                    efficiency(&solved, place, *ranks, of_ranks),
                ));
            }
        }
        if let (Some(ranks), Some(last)) = (counts.last(), solved.last()) {
            let [double, half] = [0, 1].map(|place| efficiency(&solved, place, *ranks, last));
            values.push(Value::new(name, OF_DOUBLE, "%", 100.0 * half / double));
            let gain = last[0].seconds / last[1].seconds;
            values.push(Value::factor(name, "half beside double", gain));
        }
    }
    Ok(values)
}

/// The efficiency of half precision as part of that of double precision.
pub(super) const OF_DOUBLE: &str = "efficiency, part of that of double";

fn config(name: &str, precision: &str) -> Result<Config> {
    let solver = match NOT_SYMMETRIC.contains(&name) {
        true => "fgmres:restart=10",
        false => "cg",
    };
    let text = format!(
        "solver={solver} preconditioner=struct-mg:precision={precision} rtol=1e-9 max-iterations=300"
    );
    Ok(text.parse()?)
}

/// How much of what so many ranks could gain over the first number they do gain, in per cent.
fn efficiency(solved: &[Vec<Solved>], place: usize, ranks: usize, of_ranks: &[Solved]) -> f64 {
    100.0 * solved[0][place].seconds / (ranks as f64 * of_ranks[place].seconds)
}

fn of_row(row: &str, solved: &Solved, efficiency: f64) -> [Value; 3] {
    let iterations = Value::iterations(row, solved.iterations).noting(solved.remark());
    [
        iterations.of_the_kind(true),
        Value::new(row, "set-up and solve", "s", solved.seconds),
        Value::new(row, "efficiency", "%", efficiency),
    ]
}
