//! What can be wrong with a configuration.

/// A wrong name, key or value, with its place and, where one is near, what may have been meant.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum ConfigError {
    /// A name that no component has.
    #[error("unknown {family} `{name}`{}", did_you_mean(.suggestion))]
    UnknownName {
        family: &'static str,
        name: String,
        suggestion: Option<String>,
        known: Vec<&'static str>,
    },
    /// A key that a component does not have.
    #[error("unknown key `{key}` in {place}{}", did_you_mean(.suggestion))]
    UnknownKey {
        place: String,
        key: String,
        suggestion: Option<String>,
        known: Vec<String>,
    },
    /// A value of the wrong type or outside its range.
    #[error("{place}: `{key}` cannot be {value}: {reason}")]
    BadValue {
        place: String,
        key: String,
        value: String,
        reason: String,
    },
    /// A name the project plans for and this version has not.
    #[error("{family} `{name}` is not available in this version")]
    NotAvailable { family: &'static str, name: String },
    /// Choices that exclude each other.
    #[error("{0}")]
    Conflict(String),
    /// A file that is not the TOML or JSON it should be.
    #[error("{origin}: {reason}")]
    Syntax { origin: String, reason: String },
    /// A file that cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        path: String,
        source: std::io::Error,
    },
}

impl ConfigError {
    /// The error for a name that no member of `family` has.
    pub fn unknown_name(family: &'static str, name: &str, known: Vec<&'static str>) -> Self {
        Self::UnknownName {
            family,
            name: name.to_owned(),
            suggestion: nearest(name, known.iter().copied()).map(str::to_owned),
            known,
        }
    }

    /// The message, with the known names where no similar one is suggested.
    pub fn with_known(&self) -> String {
        match self {
            Self::UnknownName {
                known,
                suggestion: None,
                ..
            } => format!("{self}; known are {}", known.join(", ")),
            _ => self.to_string(),
        }
    }
}

fn did_you_mean(suggestion: &Option<String>) -> String {
    suggestion
        .as_ref()
        .map_or(String::new(), |name| format!("; did you mean `{name}`?"))
}

/// The known name nearest to `name`, if one is near enough to be a slip of the fingers.
pub fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().max(3) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}
