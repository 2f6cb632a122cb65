//! Parameters that are one word in options and files.

/// The names of a `Copy` enum in options and files, `ALL` of its values, and parsing, printing and serialising by these.
macro_rules! named {
    ($type:ident, $family:literal: $($variant:ident = $name:literal),+ $(,)?) => {
        impl $type {
            /// Every choice.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The name in options and files.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }

        $crate::text::named!($type, $family);
    };
    ($type:ty, $family:literal) => {
        impl std::str::FromStr for $type {
            type Err = $crate::error::ConfigError;

            fn from_str(text: &str) -> std::result::Result<Self, $crate::error::ConfigError> {
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

/// Serialises a type as the text it prints and parses; the error of an unknown name lists the known ones.
macro_rules! as_text {
    ($type:ty) => {
        vcycle_kernels::as_text!($type, |error: $crate::error::ConfigError| error
            .with_known());
    };
}

pub(crate) use as_text;
pub(crate) use named;
