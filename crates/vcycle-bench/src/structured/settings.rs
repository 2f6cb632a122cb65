//! What is measured, and how.

use vcycle::structured::StructMg;

use crate::asked::Asked;
use crate::common::Result;

/// What all measurements have in common.
pub(super) struct Settings {
    pub asked: Asked,
    /// Rounds, and the seconds of each.
    pub measuring: (usize, f64),
    pub rtol: f64,
}

impl Settings {
    pub fn new(asked: &Asked) -> Self {
        Self {
            asked: asked.clone(),
            measuring: asked.measuring(),
            rtol: asked.number("rtol"),
        }
    }

    /// The preconditioner in a precision, `sp/hp` or `K64P32D16` say.
    pub fn multigrid(&self, precision: &str) -> Result<StructMg> {
        let mut parameters = StructMg::default();
        parameters.precision = Some(precision.parse()?);
        if let Some(sweeps) = self.asked.maybe_count("sweeps") {
            (parameters.pre_sweeps, parameters.post_sweeps) = (sweeps, sweeps);
        }
        Ok(parameters)
    }
}
