//! Parameters that are one word in options and files.

/// Parsing, printing and serialising for a `Copy` enum with `ALL` and `name()`.
macro_rules! named {
    ($type:ty, $family:literal) => {
        impl std::str::FromStr for $type {
            type Err = ConfigError;

            fn from_str(text: &str) -> std::result::Result<Self, ConfigError> {
                let known = Self::ALL.iter().find(|one| one.name() == text);
                known.copied().ok_or_else(|| {
                    $crate::error::ConfigError::unknown_name(
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

        $crate::text::as_text!($type);
    };
}

pub(crate) use named;
pub(crate) use vcycle_kernels::as_text;
