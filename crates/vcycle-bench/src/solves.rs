//! Solves of problems by several configurations, and the quantities of each.

use std::time::Duration;

use vcycle::config::{PreconditionerConfig, Solution};
use vcycle::multigrid::{Report, StageTime};
use vcycle::vector::Storage;

use crate::common::iterations;
use crate::options;
use crate::prelude::*;
use crate::problem::{Ready, Tried};
use crate::published::mixed_precision;

/// A quantity of a solve by its name; factors are those to the first solve. Zero where a solve was refused.
pub(crate) fn quantity(of: &str, one: &Tried, first: &Tried) -> Option<f64> {
    let Ok(one) = one else {
        let is_shown = ["iterations", "solve ms", "speed-up"].contains(&of);
        return is_shown.then_some(0.0);
    };
    if let Some(names) = of.strip_prefix("share ") {
        let stages = one.multigrid.as_ref()?.setup_by_stage();
        let all: f64 = stages.iter().map(|stage| stage.seconds).sum();
        let wanted = names.split(',').map(|name| seconds(&stages, name));
        return Some(100.0 * wanted.sum::<f64>() / all);
    }
    let levels = one.multigrid.as_ref();
    if let Some(name) = of.strip_prefix("first ") {
        return Some(seconds(&levels?.levels.first()?.setup, name));
    }
    let beside = |part: fn(&Solution<f64>) -> f64| first.as_ref().map_or(0.0, part) / part(one);
    let (outcome, solve) = (&one.outcome, one.solving.as_secs_f64());
    Some(match of {
        "grid complexity" => Report::grid_complexity(levels?),
        "operator complexity" => Report::operator_complexity(levels?),
        "iterations" => outcome.iterations as f64,
        "residual" => outcome.relative_residual,
        "recurrence" => outcome.recurrence_residual,
        "set-up" => one.setup.as_secs_f64(),
        "solve" => solve,
        "solve ms" => 1e3 * solve,
        "total" => total(one),
        "speed-up" => beside(|one| one.solving.as_secs_f64()),
        "gain" => beside(total),
        "times the iterations" => 1.0 / beside(|one| one.outcome.iterations as f64),
        "more-iterations" => 100.0 / beside(|one| one.outcome.iterations as f64) - 100.0,
        "blocks-a-second" => match &one.config.preconditioner {
            PreconditionerConfig::BlockJacobi(blocks) => {
                one.x.rows() as f64 / blocks.block_size as f64 / one.setup.as_secs_f64()
            }
            _ => return None,
        },
        "coarse-entries" => {
            let coarse = levels?.levels.get(1)?;
            coarse.nonzeros as f64 / coarse.rows as f64
        }
        _ => return None,
    })
}

/// Seconds of set-up and solve.
pub(crate) fn total<T>(solution: &Solution<T>) -> f64 {
    let parts: Duration = solution.setup + solution.solving;
    parts.as_secs_f64()
}

/// Seconds of the stages of a name.
fn seconds(stages: &[StageTime], name: &str) -> f64 {
    let wanted = stages.iter().filter(|stage| stage.name == name);
    wanted.map(|stage| stage.seconds).sum()
}

/// The status of a solve that did not converge, or the reason why there is none.
pub(crate) fn remark(tried: &Tried) -> String {
    match tried {
        Ok(solution) if solution.outcome.converged() => String::new(),
        Ok(solution) => solution.outcome.status.to_string(),
        Err(why) => format!("refused: {why}"),
    }
}

/// A row for every variant of every problem; columns are the quantities that the table names, or cells that `other` has for a
/// problem and a variant.
pub(crate) fn compare(
    args: &Args,
    (problems, rounds): (&[&str], usize),
    variants: &[(String, Config)],
    other: impl Fn(&str, &str, &str, &Tried) -> Option<Cell>,
) -> Result<String> {
    let (executor, mut table) = (args.executor()?, args.table("solves"));
    let quantities = table.quantities();
    let configs: Vec<Config> = variants.iter().map(|(_, config)| config.clone()).collect();
    for problem in problems {
        let ready = Ready::new(problem, &executor)?;
        let solved = ready.race(&configs, rounds);
        for ((variant, _), one) in variants.iter().zip(&solved) {
            let cell = |of: &String| match (of.as_str(), one) {
                ("problem", _) => Cell::from(*problem),
                ("rows", _) => ready.rhs().rows().into(),
                ("variant", _) => variant.into(),
                ("iterations", Ok(one)) => iterations(&one.outcome).into(),
                ("status", Ok(one)) => one.outcome.status.to_string().into(),
                ("status", Err(why)) => why.into(),
                (of, one) => other(of, problem, variant, one)
                    .unwrap_or_else(|| quantity(of, one, &solved[0]).into()),
            };
            table.show_row(quantities.iter().map(cell).collect());
        }
    }
    Ok(format!("{table}\n{}", args.note("end", &[])))
}

/// `vcycle-bench basis`: GMRES with its vectors in fewer bits, and pipelined, beside GMRES.
pub(crate) fn basis(args: &Args) -> Result<()> {
    let (restart, rtol) = (args.count("restart"), args.number("rtol"));
    let stored =
        Storage::ALL.map(|basis| (basis.name(), format!("gmres:{restart},{}", basis.name())));
    let pipelined = ("working, pipelined", format!("pipegmres:{restart}"));
    let variants = stored.into_iter().chain([pipelined]).map(|(name, solver)| {
        let text = format!("solver={solver} preconditioner=jacobi rtol={rtol} max-iterations=5000");
        Ok((name.to_owned(), text.parse()?))
    });
    let variants = variants.collect::<Result<Vec<_>>>()?;
    // One more round than given: the first compiles kernels.
    let what = (&args.list("PROBLEM")[..], args.count("rounds") + 1);
    print_line!("{}", compare(args, what, &variants, |_, _, _, _| None)?);
    Ok(())
}

/// Precisions as the papers have them, without remedies.
const PLAIN: &str = "dp dp-sp dp-sp-hp dp-hp dp-sp-bf dp-bf dp/sp dp/hp dp/dp-sp-hp dp-sp/sp dp-sp/hp dp-sp/dp-sp-hp";
/// Precisions with the remedies that are the default of this library.
const WITH_REMEDIES: &str = "dp-sp-hp dp-hp dp/hp dp-sp/hp dp-sp/dp-sp-hp";

/// The method of the papers with options, as the command line has them.
fn variants() -> Result<Vec<(String, Config)>> {
    let plain = PLAIN.split(' ');
    let plain = plain.map(|name| format!("--precision {name} --scaling none"));
    let halved = "--precision dp-sp-hp --scaling none --restriction-scaling 0.5".to_owned();
    let remedies = WITH_REMEDIES.split(' ');
    let remedies = remedies.map(|name| format!("--precision {name}"));
    let all = plain.chain([halved]).chain(remedies).map(|options| {
        let pairs = options
            .split("--")
            .filter_map(|pair| pair.trim().split_once(' '));
        let pairs = pairs.map(|(key, value)| match value.parse::<f64>() {
            Ok(_) => format!("{key} = {value}\n"),
            Err(_) => format!("{key} = \"{value}\"\n"),
        });
        let pairs: String = pairs.collect();
        let text = format!("preset = \"paper-pgm\"\n[preconditioner]\n{pairs}");
        let config = options::config(&[&toml::from_str(&text)?])?;
        Ok((options, config))
    });
    all.collect()
}

/// What the papers have: iterations, milliseconds, and how much longer the solve takes here.
fn paper(of: &str, problem: &str, options: &str, one: &Tried) -> Option<Cell> {
    let precision = options.strip_prefix("--precision ")?;
    let found = precision.strip_suffix(" --scaling none");
    let found = found.and_then(|precision| mixed_precision(problem, precision));
    match of {
        "paper" => Some(found.map_or(Cell::Nothing, |(_, count)| count.into())),
        "paper ms" => Some(found.map(|(time, _)| time).into()),
        "of paper" => Some(
            found
                .zip(quantity("solve ms", one, one))
                .map(|((time, _), ms)| ms / time)
                .into(),
        ),
        _ => None,
    }
}

/// `vcycle-bench precision`: mixed-precision multigrid beside the papers.
pub(crate) fn precision(args: &Args) -> Result<()> {
    for problem in args.list("PROBLEM") {
        print_line!("{}\n", precisions(args, problem)?);
    }
    Ok(())
}

/// A table of every precision on one problem.
pub(crate) fn precisions(args: &Args, problem: &str) -> Result<String> {
    let table = compare(args, (&[problem], 3), &variants()?, paper)?;
    Ok(format!("{problem}, --preset paper-pgm\n\n{table}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::multigrid;

    #[test]
    fn options_are_those_of_the_method_and_papers_have_iterations_for_their_own_problems_alone() {
        let all = variants().unwrap();
        assert_eq!(all.len(), 18);
        let amg = multigrid(all[12].1.clone()).unwrap();
        assert_eq!(amg.restriction_scaling, 0.5);
        assert_eq!(amg.precision.to_string(), "dp-sp-hp");
        let none: Tried = Err(String::new());
        let problems = ["beam:o3,l3", "lshape:o3,l7", "beam:o3,l1", "poisson5:8"];
        let counts = problems.map(|name| match paper("paper", name, &all[0].0, &none) {
            Some(Cell::Text(count)) => count,
            _ => String::new(),
        });
        assert_eq!(counts, ["44", "160", "", ""]);
        let failed = paper(
            "paper",
            "lshape:o3,l7",
            "--precision dp-sp-hp --scaling none",
            &none,
        );
        assert!(matches!(failed, Some(Cell::Text(count)) if count == "800: no"));
    }
}
