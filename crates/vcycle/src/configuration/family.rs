//! What all families of components have: names, parameters, and text they are read from.

/// Makes an enum of components from the table of their parameter structs; what they are stands in their
/// own files ([`Registration`]). After `as`: what is made where that is not the struct itself; after `by`: the
/// method that makes it, which may fail. After `+`: what else may be named.
macro_rules! components {
    (
        $(#[$doc:meta])*
        enum $family:ident($title:literal) fn $make:ident makes $made:ty: dyn $trait:ident {
            $($variant:ident($parameters:ty) = $registration:expr $(, as $special:expr)? $(, by $own:ident)?;)*
            $(+ $other:ident($others:ty);)?
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        // A program holds few of them.
        #[allow(clippy::large_enum_variant)]
        pub enum $family {
            $(
                #[doc = concat!("With the parameters of [`", stringify!($parameters), "`].")]
                $variant($parameters),
            )*
            $(
                #[doc = concat!("See [`", stringify!($others), "`].")]
                $other($others),
            )?
        }

        impl Default for $family {
            fn default() -> Self {
                Self::Auto(NoParameters {})
            }
        }

        impl $family {
            /// Whether it is still to be chosen.
            pub fn is_auto(&self) -> bool {
                matches!(self, Self::Auto(_))
            }

            /// Every name, as options and files spell it.
            pub const NAMES: &[&str] = &[$($registration.name),*];

            /// What each of them says of itself.
            pub const REGISTRATIONS: &[Registration] = &[$($registration),*];

            /// What it says of itself.
            pub fn registration(&self) -> Registration {
                match self {
                    $(Self::$variant(_) => $registration,)*
                    $(Self::$other(other) => <$others>::registration(other),)?
                }
            }

            /// Whether something has to be given.
            pub fn has_need(&self, need: Need) -> bool {
                self.registration().has_need(need)
            }

            /// The name, as options and files spell it.
            pub fn name(&self) -> &'static str {
                self.registration().name
            }

            /// The memory it takes.
            pub fn memory(&self, of: MemoryOf) -> Memory {
                match self {
                    $(Self::$variant(p) => p.memory(of),)*
                    $(Self::$other(other) => <$others>::memory(other, of),)?
                }
            }

            /// Every component with its default parameters.
            pub fn all() -> Vec<Self> {
                vec![$(Self::$variant(Default::default())),*]
            }

            /// What kind of operator it makes of a symmetric matrix.
            pub fn symmetry(&self) -> Symmetry {
                match self {
                    $(Self::$variant(p) => p.symmetry(),)*
                    $(Self::$other(other) => <$others>::symmetry(other),)?
                }
            }

            /// The short form without the parameters that are as by default.
            pub fn brief(&self) -> String {
                let same = Self::named(self.name());
                brief_form(self.name(), self, &same)
            }

            fn named(name: &str) -> Option<Self> {
                Self::from_table(name, Table::new()).ok()
            }

            pub(super) fn from_table(name: &str, table: Table) -> Result<Self, ConfigError> {
                let place = format!("{} {name}", $title);
                $(
                    if name == $registration.name {
                        return parameters(&place, table).map(Self::$variant);
                    }
                )*
                $(
                    if <$others>::NAMES.contains(&name) {
                        return <$others>::from_table(&place, name, table).map(Self::$other);
                    }
                )?
                Err(ConfigError::unknown_name($title, name, Self::NAMES.to_vec()))
            }

            fn positional(name: &str) -> &'static [&'static str] {
                let known = Self::REGISTRATIONS.iter().find(|known| known.name == name);
                $(let known = known.or(Some(&<$others>::REGISTRATION));)?
                known.map_or(&[], |known| known.after_colon)
            }

            /// From a configuration file: a name, or a table with `name` and parameters.
            pub(super) fn from_value(value: Value) -> Result<Self, ConfigError> {
                match value {
                    Value::String(text) => text.parse(),
                    Value::Object(mut table) => match table.remove("name") {
                        Some(Value::String(name)) => Self::from_table(&name, table),
                        _ => Err(no_name($title)),
                    },
                    _ => Err(no_name($title)),
                }
            }

            fn $make<T: Mixes<T, T>>(&self) -> Result<$made, ConfigError> {
                match self {
                    $(Self::$variant(p) => components!(@made p, $trait $(, $special)? $(, by $own)?),)*
                    $(Self::$other(other) => <$others>::factory(other).map(Some),)?
                }
            }
        }

        impl Serialize for $family {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                let parameters = match self {
                    $(Self::$variant(parameters) => serde_json::to_value(parameters),)*
                    $(Self::$other(parameters) => serde_json::to_value(parameters),)?
                };
                named(self.name(), &parameters.map_err(serde::ser::Error::custom)?, to)
            }
        }

        /// The short form that can be parsed again: `gmres:restart=30`.
        impl std::fmt::Display for $family {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&short_form(self.name(), self))
            }
        }

        impl std::str::FromStr for $family {
            type Err = ConfigError;

            /// `name`, `name:value` or `name:key=value,...`.
            fn from_str(text: &str) -> Result<Self, ConfigError> {
                match text.split_once(':') {
                    None => Self::from_table(text, Table::new()),
                    Some((name, rest)) => {
                        let place = format!("{} {name}", $title);
                        // An unknown name is the more helpful complaint.
                        Self::from_table(name, Table::new())?;
                        Self::from_table(name, arguments(&place, rest, Self::positional(name))?)
                    }
                }
            }
        }
    };
    (@made $p:ident, Method) => {
        Ok(Some($p.method()))
    };
    (@made $p:ident, Factory) => {
        Ok(Some($p.factory()))
    };
    (@made $p:ident, $trait:ident, by $own:ident) => {
        $p.$own().map(Some)
    };
    (@made $p:ident, $trait:ident, $special:expr) => {{
        let _ = $p;
        $special
    }};
}

pub(super) use components;
