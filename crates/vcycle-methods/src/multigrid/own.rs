//! Stages that users bring along, and the names they are registered under.

use std::fmt::{Debug, Display, Formatter};
use std::ops::Deref;
use std::sync::{PoisonError, RwLock};

use crate::error::ConfigError;
use crate::operations::HostStage;
use crate::prelude::*;

/// A user's own stage, as a plain value: a reference to something that lives as long as the program,
/// so that parameters can be copied and compared. Two are equal if they are the same object.
pub struct Own<S: ?Sized + 'static> {
    stage: &'static S,
    /// The name in options and files.
    name: &'static str,
}

impl<S: ?Sized> Own<S> {
    /// Refers to a stage by its name.
    pub const fn new(stage: &'static S, name: &'static str) -> Self {
        Self { stage, name }
    }
}

impl<S: ?Sized> Clone for Own<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: ?Sized> Copy for Own<S> {}

impl<S: ?Sized> PartialEq for Own<S> {
    fn eq(&self, other: &Self) -> bool {
        // The address of an object without data means nothing.
        let empty = size_of_val(self.stage) == 0 && size_of_val(other.stage) == 0;
        (empty || std::ptr::addr_eq(self.stage, other.stage)) && self.name == other.name
    }
}

impl<S: ?Sized> Eq for Own<S> {}

impl<S: ?Sized> Debug for Own<S> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl<S: ?Sized> Deref for Own<S> {
    type Target = S;

    fn deref(&self) -> &S {
        self.stage
    }
}

/// The stages of one family that users have registered.
pub(super) struct Register<S: ?Sized + 'static>(RwLock<Vec<Own<S>>>);

impl<S: ?Sized> Register<S> {
    pub const fn new() -> Self {
        Self(RwLock::new(Vec::new()))
    }

    /// Adds a stage under its name, which neither `known` ones nor others may have.
    pub fn add(
        &self,
        family: &'static str,
        known: &[&'static str],
        own: Own<S>,
    ) -> Result<Own<S>, ConfigError> {
        let name = own.name;
        let mut stages = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let other = stages.iter().find(|one| one.name == name);
        if known.contains(&name) || other.is_some_and(|other| *other != own) {
            return Err(ConfigError::Conflict(format!(
                "{family} `{name}` cannot be registered: there is one of that name"
            )));
        }
        if other.is_none() {
            stages.push(own);
        }
        Ok(own)
    }

    pub fn find(&self, name: &str) -> Option<Own<S>> {
        let stages = self.0.read().unwrap_or_else(PoisonError::into_inner);
        stages.iter().find(|one| one.name == name).copied()
    }

    /// All names, those of `known` stages first.
    pub fn names(&self, known: &[&'static str]) -> Vec<&'static str> {
        let stages = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let own = stages.iter().map(|one| one.name);
        known.iter().copied().chain(own).collect()
    }
}

/// What a stage does not declare to be for, in words for help; empty where that is nothing.
pub(super) fn limits(over_ranks: bool, complex: bool, on_host: &[HostStage]) -> String {
    let by_host = on_host.iter().map(|stage| stage.name);
    let by_host = by_host.collect::<Vec<_>>().join(", ");
    let mut all = Vec::new();
    if !over_ranks {
        all.push("not over ranks".to_owned());
    }
    if !complex {
        all.push("not for complex matrices".to_owned());
    }
    if !by_host.is_empty() {
        all.push(format!("the host does for devices: {by_host}"));
    }
    all.join("; ")
}

/// Refuses a stage that is not `over_ranks` for matrices that ranks share, with those to use instead.
pub(super) fn check_over_ranks(
    over_ranks: bool,
    family: &str,
    stage: &dyn Display,
    others: impl Iterator<Item: Display>,
) -> Result<(), Error> {
    if over_ranks {
        return Ok(());
    }
    let others: Vec<String> = others.map(|other| format!("`{other}`")).collect();
    let instead = match others.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => others.concat(),
    };
    let component = format!("the {family} `{stage}`");
    let operation = format!("matrices that several ranks share; use {instead}");
    Err(Error::unsupported(component, operation))
}

/// What users may do with a family of stages, beside those of the library that have `names`.
macro_rules! registered {
    ($family:ident, $title:literal, $stage:ident, $names:expr) => {
        static REGISTER: $crate::multigrid::own::Register<dyn $stage> =
            $crate::multigrid::own::Register::new();

        impl $family {
            /// One's own, without a name in options and files.
            pub fn own(stage: &'static dyn $stage) -> Self {
                Self::Own($crate::multigrid::own::Own::new(stage, stage.name()))
            }

            /// One's own, which options and files may name from here on.
            ///
            /// # Errors
            /// When there is another of that name.
            pub fn register(
                stage: &'static dyn $stage,
            ) -> std::result::Result<Self, $crate::error::ConfigError> {
                let own = $crate::multigrid::own::Own::new(stage, stage.name());
                REGISTER.add($title, &($names)(), own).map(Self::Own)
            }

            /// Every name that can be parsed now, those that users have registered last.
            pub fn names() -> Vec<&'static str> {
                REGISTER.names(&($names)())
            }
        }

        impl<S: $stage> From<&'static S> for $family {
            fn from(stage: &'static S) -> Self {
                Self::own(stage)
            }
        }

        $crate::text::as_text!($family);
    };
}

/// Makes the enum of a family of stages without parameters from the table of their registrations, which
/// stand in the files of the stages.
macro_rules! stages {
    (
        $(#[$doc:meta])*
        enum $family:ident($title:literal): $registration:ty, own $stage:ident $(or $other:path)? {
            $(#[$auto_doc:meta])*
            Auto = $auto:ident,
            $($variant:ident = $file:ident::$known:ident,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $family {
            $(#[$auto_doc])*
            #[default]
            Auto,
            $(
                #[doc = concat!("That of `", stringify!($file), ".rs`.")]
                $variant,
            )*
            /// A user's own.
            Own($crate::multigrid::own::Own<dyn $stage>),
        }

        impl $family {
            /// Every one of the library.
            pub const ALL: [Self; 1 + [$(stringify!($variant)),*].len()] =
                [Self::Auto, $(Self::$variant),*];

            /// What it says of itself; none for a user's own.
            pub fn registration(self) -> Option<&'static $registration> {
                match self {
                    Self::Auto => Some(&$auto),
                    $(Self::$variant => Some(&super::$file::$known),)*
                    Self::Own(_) => None,
                }
            }

            /// The name in options and files.
            pub fn name(self) -> &'static str {
                match self {
                    Self::Own(own) => own.name(),
                    known => known.registration().map_or("", |known| known.name),
                }
            }

        }

        $crate::multigrid::own::registered!($family, $title, $stage, || Self::ALL.map(Self::name));

        impl std::str::FromStr for $family {
            type Err = $crate::error::ConfigError;

            fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
                let known = Self::ALL.into_iter().find(|one| one.name() == text);
                let known = known.or_else(|| REGISTER.find(text).map(Self::Own));
                $(let known = known.or_else(|| $other(text).map(|one| Self::own(one)));)?
                known.ok_or_else(|| Self::Err::unknown_name($title, text, Self::names()))
            }
        }

        impl std::fmt::Display for $family {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

pub(super) use {registered, stages};
