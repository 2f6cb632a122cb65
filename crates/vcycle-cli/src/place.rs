//! Where to run.

use vcycle::config::Config;

use crate::args::PlaceArgs;

/// The options that say where to run.
pub fn place(args: &PlaceArgs, config: &mut Config) {
    if let Some(device) = &args.device {
        config.run.device.clone_from(device);
    }
    config.run.threads = args.threads.or(config.run.threads);
}
