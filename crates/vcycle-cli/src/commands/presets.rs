//! `vcycle presets`.

use vcycle::config::Preset;

use crate::output::{print, table};
use crate::prelude::*;

/// Prints one preset as TOML, or the list of all.
pub fn run(name: Option<&str>) -> Result<ExitCode> {
    match name {
        Some(name) => print(Preset::named(name)?.text.trim_end()),
        None => {
            let rows = Preset::ALL.iter().map(|p| (p.name, p.summary()));
            print(&table::facts(rows));
            print("example: vcycle solve beam:o3,l3 --preset paper-pgm");
        }
    }
    Ok(ExitCode::SUCCESS)
}
