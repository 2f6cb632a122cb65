//! A preconditioner that every rank applies to its own rows.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::components::PreconditionerConfig;
use crate::error::ConfigError;
use crate::linop::Factory;
use crate::precond::AdditiveSchwarz;
use crate::registration::{Component, Memory, MemoryOf, Need, Registration, Support, Symmetry};
use crate::scalar::Mixes;

/// [`AdditiveSchwarz`] by names: `schwarz:ilu0`, `schwarz:ic0,overlap=0`, `schwarz:direct,1,restricted=true`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Schwarz {
    /// The preconditioner of the rows of a rank: `ilu0`, `ic0`, `direct` or any other.
    #[serde(deserialize_with = "local")]
    pub inner: Box<PreconditionerConfig>,
    /// Rings of rows around those of a rank, 0 to 8; with 0 it is block Jacobi.
    pub overlap: usize,
    /// Whether a rank keeps what it finds for own rows alone; not symmetric then.
    pub restricted: bool,
}

impl Default for Schwarz {
    fn default() -> Self {
        Self {
            inner: Box::new(PreconditionerConfig::Ilu0(crate::precond::Ilu0::default())),
            overlap: 1,
            restricted: false,
        }
    }
}

/// A preconditioner that is known before the matrix is.
fn local<'d, D: Deserializer<'d>>(from: D) -> Result<Box<PreconditionerConfig>, D::Error> {
    use serde::de::Error;
    let inner = PreconditionerConfig::from_value(Value::deserialize(from)?);
    match inner.map_err(Error::custom)? {
        PreconditionerConfig::Auto(_) | PreconditionerConfig::None(_) => Err(Error::custom(
            "name a preconditioner for the rows of each rank, `ilu0` say",
        )),
        inner => Ok(Box::new(inner)),
    }
}

impl Component for Schwarz {
    const REGISTRATION: Registration = Registration {
        name: "schwarz",
        summary: "Any preconditioner on the rows of each rank, which may overlap.",
        after_colon: &["inner", "overlap"],
        needs: &[Need::Entries],
        support: Support::METHOD,
        symmetry: Symmetry::Symmetric,
        memory: Memory::per(0, 0),
    };

    fn symmetry(&self) -> Symmetry {
        match (self.restricted, self.inner.symmetry()) {
            (true, Symmetry::Symmetric) => Symmetry::OneSided,
            (_, inner) => inner,
        }
    }

    fn memory(&self, of: MemoryOf) -> Memory {
        self.inner.memory(of)
    }
}

impl Schwarz {
    pub(super) fn factory<T: Mixes<T, T>>(&self) -> Result<Arc<dyn Factory<T>>, ConfigError> {
        let inner = self.inner.factory()?;
        let inner = inner.expect("it is neither `auto` nor `none`");
        Ok(Arc::new(AdditiveSchwarz {
            inner,
            overlap: self.overlap,
            restricted: self.restricted,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_tables_say_what_ranks_apply() {
        let short: PreconditionerConfig = "schwarz:ic0,0".parse().unwrap();
        let PreconditionerConfig::Schwarz(schwarz) = &short else {
            panic!("{short}");
        };
        assert_eq!((schwarz.inner.name(), schwarz.overlap), ("ic0", 0));
        assert_eq!(short.symmetry(), Symmetry::Symmetric);
        let again: PreconditionerConfig = short.to_string().parse().unwrap();
        assert_eq!(again, short);
        let one_sided: PreconditionerConfig = "schwarz:ic0,restricted=true".parse().unwrap();
        assert_eq!(one_sided.symmetry(), Symmetry::OneSided);
        for wrong in [
            "schwarz:auto",
            "schwarz:none",
            "schwarz:nothing",
            "schwarz:ilu0,x",
        ] {
            assert!(wrong.parse::<PreconditionerConfig>().is_err(), "{wrong}");
        }
    }
}
