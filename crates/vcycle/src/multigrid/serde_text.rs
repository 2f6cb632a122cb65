//! Parameters that are one word in options and files.

/// Parsing, printing and serialising for a `Copy` enum with `ALL` and `name()`.
macro_rules! named {
    ($type:ty, $family:literal) => {
        impl std::str::FromStr for $type {
            type Err = ConfigError;

            fn from_str(text: &str) -> std::result::Result<Self, ConfigError> {
                let known = Self::ALL.iter().find(|one| one.name() == text);
                known.copied().ok_or_else(|| {
                    $crate::config::ConfigError::unknown_name(
                        $family,
                        text,
                        Self::ALL.iter().map(|one| one.name()).collect(),
                    )
                })
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        $crate::multigrid::serde_text::as_text!($type);
    };
}

/// Serialises a type as the text it prints and parses.
macro_rules! as_text {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(
                &self,
                to: S,
            ) -> std::result::Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(
                from: D,
            ) -> std::result::Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(from)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use {as_text, named};
