//! The configuration that the options of `vcycle solve` ask for.

use std::str::FromStr;

use vcycle::config::{Config, ConfigError, PreconditionerConfig};
use vcycle::multigrid::Amg;

use crate::args::SolveArgs;
use crate::error::{CliError, Result};

/// The configuration file, overridden by the options.
pub fn configuration(args: &SolveArgs) -> Result<Config> {
    let mut config = match (&args.config, &args.preset) {
        (Some(path), _) => Config::read(path)?,
        (None, Some(name)) => Config::preset(name)?,
        (None, None) => Config::default(),
    };
    set(args.solver.as_deref(), &mut config.solver)?;
    set(args.precond.as_deref(), &mut config.preconditioner)?;
    match args.precision.as_deref() {
        Some(text) if !of_levels(text, &config.preconditioner) => {
            config.precision = Some(text.parse()?);
            multigrid(args, None, &mut config.preconditioner)?;
        }
        levels => multigrid(args, levels, &mut config.preconditioner)?,
    }
    if let Some(text) = &args.format {
        config.format = Some(text.parse()?);
    }
    open(args.equilibrate.as_deref(), &mut config.equilibrate)?;
    open(args.matching.as_deref(), &mut config.matching)?;
    open(args.reorder.as_deref(), &mut config.reorder)?;
    if args.rtol.is_some() {
        // The tolerance of a preset would be reached before this one.
        (config.stop.rtol, config.stop.reduction) = (args.rtol, None);
    }
    config.stop.atol = args.atol.or(config.stop.atol);
    config.stop.reduction = args.reduction.or(config.stop.reduction);
    config.stop.max_iterations = args.max_iters.unwrap_or(config.stop.max_iterations);
    config.stop.time_limit = args.time_limit.or(config.stop.time_limit);
    args.place.set(&mut config);
    Ok(config)
}

/// Whether a precision is that of multigrid's levels and not of the whole solve.
fn of_levels(precision: &str, preconditioner: &PreconditionerConfig) -> bool {
    use PreconditionerConfig::{Amg, StructMg};
    precision.contains('-') || matches!(preconditioner, Amg(_) | StructMg(_))
}

/// The options of multigrid, which choose it where nothing else is.
fn multigrid(
    args: &SolveArgs,
    precision: Option<&str>,
    preconditioner: &mut PreconditionerConfig,
) -> Result<()> {
    let [
        coarsening,
        interpolation,
        smoother,
        post_smoother,
        cycle,
        scaling,
    ] = [
        &args.coarsening,
        &args.interpolation,
        &args.smoother,
        &args.post_smoother,
        &args.cycle,
        &args.scaling,
    ]
    .map(|option| option.as_deref());
    // What structured multigrid does not have.
    let of_algebraic = coarsening.or(interpolation).or(post_smoother).is_some()
        || args.plot_coarsening.is_some()
        || args.restriction_scaling.is_some()
        || args.fmg_start;
    if !of_algebraic && smoother.or(cycle).or(scaling).or(precision).is_none() {
        return Ok(());
    }
    let mut amg = match preconditioner {
        PreconditionerConfig::Amg(amg) => amg.clone(),
        PreconditionerConfig::Auto(_) => Amg::default(),
        PreconditionerConfig::StructMg(structured) if !of_algebraic => {
            set(smoother, &mut structured.smoother)?;
            set(cycle, &mut structured.cycle)?;
            set(scaling, &mut structured.scaling)?;
            if let Some(text) = precision {
                structured.precision = Some(text.parse()?);
            }
            return Ok(());
        }
        other => {
            let reason = format!("an option of multigrid, but the preconditioner is `{other}`");
            let options = "--coarsening, --interpolation, --smoother, --post-smoother, --cycle, --fmg-start, --scaling, --precision or --plot-coarsening";
            return Err(CliError::option(options, reason));
        }
    };
    set(coarsening, &mut amg.coarsening)?;
    set(interpolation, &mut amg.interpolation)?;
    set(smoother, &mut amg.smoother)?;
    set(post_smoother, &mut amg.post_smoother)?;
    amg.fmg_start |= args.fmg_start;
    set(cycle, &mut amg.cycle)?;
    set(scaling, &mut amg.scaling)?;
    set(precision, &mut amg.precision)?;
    amg.restriction_scaling = args.restriction_scaling.unwrap_or(amg.restriction_scaling);
    *preconditioner = PreconditionerConfig::Amg(amg);
    Ok(())
}

/// Parses an option that was given and may be `auto`.
fn open<V: FromStr<Err = ConfigError>>(option: Option<&str>, value: &mut Option<V>) -> Result<()> {
    match option {
        None => {}
        Some("auto") => *value = None,
        Some(text) => *value = Some(text.parse()?),
    }
    Ok(())
}

/// Parses an option that was given.
fn set<V: FromStr<Err = ConfigError>>(option: Option<&str>, value: &mut V) -> Result<()> {
    if let Some(text) = option {
        *value = text.parse()?;
    }
    Ok(())
}
