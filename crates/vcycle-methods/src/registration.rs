//! What components say of themselves: each once, in its own file.
//!
//! Configuration files, the options of the program and their help, `vcycle config`, the reference of all options, what is
//! refused over ranks and the plan of memory are made of these. Nothing of it has a default: a component that leaves
//! something out does not compile.

use crate::operations::HostStage;
use crate::prelude::*;

/// A solver or preconditioner in words; the parameters, their keys and defaults are those of the struct
/// it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registration {
    /// The name in options and files.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// The parameters that may follow a colon without their keys, in order: `["restart"]` for `gmres:30`.
    pub after_colon: &'static [&'static str],
    /// What has to be given.
    pub needs: &'static [Need],
    /// Where it works, and in what numbers.
    pub support: Support,
    /// What kind of operator it makes of a symmetric matrix with its default parameters.
    pub symmetry: Symmetry,
    /// The memory it takes whatever its parameters are.
    pub memory: Memory,
}

impl Registration {
    /// Whether something has to be given.
    pub fn has_need(&self, need: Need) -> bool {
        self.needs.contains(&need)
    }

    /// All that it asks for, in words, as the reference of options has them.
    pub fn requirements(&self) -> Vec<&'static str> {
        let real = (!self.support.complex).then_some("a real matrix");
        self.needs
            .iter()
            .map(|need| need.words())
            .chain(real)
            .collect()
    }

    /// Fails for a component that cannot treat a matrix whose rows several ranks share.
    ///
    /// # Errors
    /// [`Error::Unsupported`], which says what to use in its place.
    pub fn check_over_ranks(&self) -> Result<()> {
        let name = self.name;
        match self.support.ranks {
            Ranks::Shared => Ok(()),
            Ranks::Own => Err(Error::Unsupported {
                component: name.to_owned(),
                operation: format!(
                    "matrices whose rows several ranks share; `schwarz:{name}` applies it to the rows of each rank"
                ),
            }),
        }
    }
}

/// Where a component works, and in what numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Support {
    /// What it does with a matrix whose rows several ranks share.
    pub ranks: Ranks,
    /// What the host does for a matrix on a device: some parameters or matrices lead there. Without any a device does all of it.
    pub host_stages: &'static [HostStage],
    /// Whether it takes complex matrices.
    pub complex: bool,
    /// Whether what it makes can be applied transposed.
    pub transposed: bool,
}

impl Support {
    /// That of methods made of products and vector operations alone, which run wherever these do.
    pub const METHOD: Self = Self {
        ranks: Ranks::Shared,
        host_stages: &[],
        complex: true,
        transposed: false,
    };
    /// That of preconditioners made of the rows that a rank has and a diagonal.
    pub const ROWS: Self = Self {
        transposed: true,
        ..Self::METHOD
    };

    /// That of preconditioners that know the rows of one rank alone, with what the host does for devices.
    pub const fn own_rows(host_stages: &'static [HostStage]) -> Self {
        Self {
            ranks: Ranks::Own,
            host_stages,
            complex: true,
            transposed: true,
        }
    }
}

/// What a component does with a matrix whose rows several ranks share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranks {
    /// Takes it as the matrix of one.
    Shared,
    /// Takes the rows of a rank by themselves alone, within `schwarz`.
    Own,
}

/// What memory depends on, beside the parameters of a component and the size of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryOf {
    /// Whether the matrix is taken as symmetric.
    pub symmetric: bool,
    /// Whether its nodes have several unknowns.
    pub nodes: bool,
    /// Whether it is on a device.
    pub on_device: bool,
}

/// The memory that a component takes beside the matrix, with what its set-up needs for the time being.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Bytes for every entry of a real matrix in double precision.
    pub entry: usize,
    /// Bytes for every row of it.
    pub row: usize,
    /// Vectors for every right-hand side, beside that and its solution.
    pub vectors: usize,
    /// Whether the host sets it up for a device, and holds it meanwhile.
    pub made_on_host: bool,
    /// Whether a device never multiplies with the matrix as it is given, which takes an arrangement of its entries.
    pub replaces_matrix: bool,
}

impl Memory {
    /// So many bytes for every entry and every row of a real matrix in double precision.
    pub const fn per(entry: usize, row: usize) -> Self {
        Self {
            entry,
            row,
            vectors: 0,
            made_on_host: false,
            replaces_matrix: false,
        }
    }

    /// So many vectors.
    pub const fn vectors(vectors: usize) -> Self {
        Self {
            vectors,
            ..Self::per(0, 0)
        }
    }

    /// That of two components together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            entry: self.entry.saturating_add(other.entry),
            row: self.row.saturating_add(other.row),
            vectors: self.vectors.saturating_add(other.vectors),
            made_on_host: self.made_on_host || other.made_on_host,
            replaces_matrix: self.replaces_matrix || other.replaces_matrix,
        }
    }
}

/// What a component asks of a matrix, of a preconditioner or of the place it runs at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Need {
    /// The entries of the matrix, not only products with it.
    Entries,
    /// A diagonal without zeros.
    Diagonal,
    /// A symmetric (Hermitian) matrix.
    SymmetricMatrix,
    /// A symmetric positive definite matrix.
    DefiniteMatrix,
    /// A matrix of a structured grid.
    Grid,
    /// A preconditioner that is symmetric where the matrix is.
    SymmetricPreconditioner,
    /// A preconditioner that is the same operator in every iteration.
    FixedPreconditioner,
}

impl Need {
    /// What short recurrences for symmetric matrices ask for.
    pub const SYMMETRIC_FIXED: &'static [Self] = &[
        Self::SymmetricMatrix,
        Self::SymmetricPreconditioner,
        Self::FixedPreconditioner,
    ];

    /// In words, as the reference of options has them.
    pub fn words(self) -> &'static str {
        match self {
            Self::Entries => "the entries of the matrix",
            Self::Diagonal => "a diagonal without zeros",
            Self::SymmetricMatrix => "a symmetric matrix",
            Self::DefiniteMatrix => "a symmetric positive definite matrix",
            Self::Grid => "a matrix of a structured grid",
            Self::SymmetricPreconditioner => "a symmetric preconditioner",
            Self::FixedPreconditioner => "a preconditioner that does not vary",
        }
    }
}

/// What kind of operator a component makes of a symmetric matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symmetry {
    /// A symmetric one: conjugate gradients may use it.
    Symmetric,
    /// One that is not symmetric.
    OneSided,
    /// None at all: what it does depends on the vector in more than a linear way. Only flexible methods
    /// may use it.
    Varying,
}

/// A component: parameters that are registered.
pub trait Component {
    /// What it is.
    const REGISTRATION: Registration;

    /// What kind of operator it makes of a symmetric matrix with these parameters.
    fn symmetry(&self) -> Symmetry {
        Self::REGISTRATION.symmetry
    }

    /// The memory it takes with these parameters. The factors are measured: `peak_memory_bytes` of `vcycle solve --json`, less the
    /// matrix and the vectors, for problems of 5 to 80 entries a row.
    fn memory(&self, _of: MemoryOf) -> Memory {
        Self::REGISTRATION.memory
    }
}

/// Parameters with their defaults, as options and files have them: keys with hyphens, any of them left out, unknown ones
/// refused. They are `Copy` unless they begin with `clone`.
macro_rules! parameters {
    (
        $(#[$($of_struct:tt)*])*
        pub struct $name:ident {
            $($(#[$($of_field:tt)*])* pub $field:ident: $type:ty = $default:expr,)*
        }
    ) => {
        $crate::registration::parameters! {
            @default Self::DEFAULT;
            #[derive(Copy)] $(#[$($of_struct)*])*
            pub struct $name { $($(#[$($of_field)*])* pub $field: $type,)* }
        }

        impl $name {
            pub(crate) const DEFAULT: Self = Self { $($field: $default,)* };
        }
    };
    // The same with defaults that are no constants, or parameters that are lists.
    (
        computed
        $(#[$($of_struct:tt)*])*
        pub struct $name:ident {
            $($(#[$($of_field:tt)*])* pub $field:ident: $type:ty = $default:expr,)*
        }
    ) => {
        $crate::registration::parameters! {
            @default Self { $($field: $default,)* };
            $(#[$($of_struct)*])*
            pub struct $name { $($(#[$($of_field)*])* pub $field: $type,)* }
        }
    };
    (
        @default $default:expr;
        $(#[$($of_struct:tt)*])*
        pub struct $name:ident { $($fields:tt)* }
    ) => {
        $(#[$($of_struct)*])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
        #[non_exhaustive]
        pub struct $name { $($fields)* }

        impl Default for $name {
            fn default() -> Self {
                $default
            }
        }
    };
}
pub(crate) use parameters;

/// Parameters as of [`parameters!`] that are a [`Component`]: behind the struct stand the fields of its [`Registration`], and what
/// depends on the parameters. `more memory` is added to that of the registration.
macro_rules! component {
    (
        $(#[$($of_struct:tt)*])*
        pub struct $name:ident { $($fields:tt)* }
        $($field:ident: $value:expr),* $(,)?
        $(; symmetric if: $is_symmetric:expr)?
        $(; more memory: $more:expr)?
        $(;)?
    ) => {
        crate::registration::parameters! {
            $(#[$($of_struct)*])*
            pub struct $name { $($fields)* }
        }

        #[allow(unused_imports)]
        const _: () = {
            use crate::registration::{
                Component, Memory, MemoryOf, Need::{self, *}, Registration, Support, Symmetry::{self, *},
            };

            impl Component for $name {
                const REGISTRATION: Registration = Registration { $($field: $value),* };
                $(
                    fn symmetry(&self) -> Symmetry {
                        let is_symmetric: fn(&Self) -> bool = $is_symmetric;
                        if is_symmetric(self) { Symmetric } else { OneSided }
                    }
                )?
                $(
                    fn memory(&self, of: MemoryOf) -> Memory {
                        let more: fn(&Self, MemoryOf) -> Memory = $more;
                        Self::REGISTRATION.memory.and(more(self, of))
                    }
                )?
            }
        };
    };
}
pub(crate) use component;

/// A component that makes preconditioners.
pub trait PreconditionerComponent: Component {
    /// What makes the operator on vectors of `T`; compiled once, with this crate.
    fn factory<T: Mixes<T, T>>(&self) -> Arc<dyn Factory<T>>;
}

/// Registers parameters that are a [`Factory`] as a preconditioner, or a whole [`component!`]; stands in their own file.
macro_rules! preconditioner {
    ($parameters:ident) => {
        impl crate::registration::PreconditionerComponent for $parameters {
            fn factory<T: crate::scalar::Mixes<T, T>>(&self) -> std::sync::Arc<dyn crate::linop::Factory<T>> {
                vcycle_kernels::compiled!(
                    working T: fn(&$parameters) -> std::sync::Arc<dyn crate::linop::Factory<T>> = |own| {
                        std::sync::Arc::new(own.to_owned())
                    }
                )(self)
            }
        }
    };
    ($(#[$($of_struct:tt)*])* pub struct $name:ident $($rest:tt)*) => {
        crate::registration::component! { $(#[$($of_struct)*])* pub struct $name $($rest)* }
        crate::registration::preconditioner!($name);
    };
}
pub(crate) use preconditioner;
