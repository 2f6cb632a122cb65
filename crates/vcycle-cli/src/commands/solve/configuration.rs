//! The configuration that the options of `vcycle solve` ask for.

use std::str::FromStr;

use vcycle::config::{ConfigError, PreconditionerConfig};
use vcycle::multigrid::Amg;

use crate::args::SolveArgs;
use crate::prelude::*;

/// The configuration file, overridden by the options.
pub fn configuration(args: &SolveArgs) -> Result<Config> {
    let mut config = match (&args.config, &args.preset) {
        (Some(path), _) => Config::read(path)?,
        (None, Some(name)) => Config::preset(name)?,
        (None, None) => Config::default(),
    };
    set(&args.solver, &mut config.solver)?;
    set(&args.precond, &mut config.preconditioner)?;
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
    set(&args.nullspace, &mut config.nullspace)?;
    open(&args.equilibrate, &mut config.equilibrate)?;
    open(&args.matching, &mut config.matching)?;
    open(&args.reorder, &mut config.reorder)?;
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
    let of_both = [&args.smoother, &args.cycle, &args.scaling];
    // What structured multigrid does not have.
    let of_algebraic = [&args.coarsening, &args.interpolation, &args.post_smoother];
    let is_algebraic = of_algebraic.iter().any(|option| option.is_some())
        || args.plot_coarsening.is_some()
        || args.restriction_scaling.is_some()
        || args.fmg_start;
    let is_any = is_algebraic || of_both.iter().any(|option| option.is_some());
    if !is_any && precision.is_none() {
        return Ok(());
    }
    let mut amg = match preconditioner {
        PreconditionerConfig::Amg(amg) => amg.clone(),
        PreconditionerConfig::Auto(_) => Amg::default(),
        PreconditionerConfig::StructMg(structured) if !is_algebraic => {
            set(&args.smoother, &mut structured.smoother)?;
            set(&args.cycle, &mut structured.cycle)?;
            set(&args.scaling, &mut structured.scaling)?;
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
    set(&args.coarsening, &mut amg.coarsening)?;
    set(&args.interpolation, &mut amg.interpolation)?;
    set(&args.smoother, &mut amg.smoother)?;
    set(&args.post_smoother, &mut amg.post_smoother)?;
    amg.fmg_start |= args.fmg_start;
    set(&args.cycle, &mut amg.cycle)?;
    set(&args.scaling, &mut amg.scaling)?;
    set(&precision, &mut amg.precision)?;
    amg.restriction_scaling = args.restriction_scaling.unwrap_or(amg.restriction_scaling);
    *preconditioner = PreconditionerConfig::Amg(amg);
    Ok(())
}

/// Parses an option that was given and may be `auto`.
fn open<V: FromStr<Err = ConfigError>>(
    option: &Option<impl AsRef<str>>,
    value: &mut Option<V>,
) -> Result<()> {
    match option.as_ref().map(AsRef::as_ref) {
        None => {}
        Some("auto") => *value = None,
        Some(text) => *value = Some(text.parse()?),
    }
    Ok(())
}

/// Parses an option that was given.
fn set<V: FromStr<Err = ConfigError>>(
    option: &Option<impl AsRef<str>>,
    value: &mut V,
) -> Result<()> {
    if let Some(text) = option {
        *value = text.as_ref().parse()?;
    }
    Ok(())
}
