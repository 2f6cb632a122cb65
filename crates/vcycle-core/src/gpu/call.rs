//! Kernels with their arguments, and what may stand for an argument.

use std::marker::PhantomData;
use std::sync::Arc;

use vcycle_gpu::{Address, Argument, Shape};

use super::{Define, File, Gpu};
use crate::error::{Error, Result};
use crate::scalar::{Field, Kind};

/// A kernel with its arguments, to be queued. The functions of [`kernels`](super::kernels) make these.
#[derive(Debug)]
#[must_use]
pub(crate) struct Launch {
    pub file: File,
    name: &'static str,
    /// Those of its type parameters, and further ones of its program.
    defines: Vec<Define>,
    arguments: Vec<Argument>,
}

impl Launch {
    /// The same for a program with further definitions.
    pub(crate) fn with(mut self, defines: &[Define]) -> Self {
        self.defines.extend(defines);
        self
    }

    /// Another kernel of the file that has the same parameters.
    pub(crate) fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// The same with so many threads in a block.
    pub(crate) fn block(mut self, threads: u32) -> Self {
        self.file.block = threads;
        self
    }

    /// Queues it with so many blocks of threads; not at all where there are none.
    pub(crate) fn run(&self, gpu: &Gpu, blocks: usize) -> Result<()> {
        if blocks == 0 {
            return Ok(());
        }
        let kernel = gpu.kernel(self.file, self.name, self.all_defines())?;
        let shape = Shape {
            // What is left is done by the same blocks.
            blocks: blocks.min(i32::MAX as usize) as u32,
            threads: self.file.block,
        };
        // SAFETY: the functions that are generated from the sources give a kernel the arguments it has. Addresses are those of
        // arrays that whoever makes a launch holds, of the lengths that it says.
        Ok(unsafe { gpu.device.launch(&kernel, shape, &self.arguments) }?)
    }

    /// With those that the file has for launches that say nothing; a name there stands for another definition.
    fn all_defines(&self) -> Vec<Define> {
        let mut all = self.defines.clone();
        for &(name, value) in self.file.defaults {
            let given = |name: &str| all.iter().find(|(other, _)| *other == name);
            if given(name).is_none() {
                let value = given(value).map_or(value, |(_, other)| other);
                all.push((name, value));
            }
        }
        all
    }
}

/// The arguments of a launch while they are collected. What fails is kept until the end, so that the functions that
/// are generated for all types stay small.
#[derive(Default)]
pub(super) struct List {
    arguments: Vec<Argument>,
    failed: Option<Error>,
}

impl List {
    /// What stands for one parameter.
    pub fn pass<P: Single>(&mut self, given: impl Passes<P>) {
        if let Some(one) = self.take(given) {
            self.push(one.argument());
        }
    }

    /// The parameters that are passed for a group of them; nothing after a failure.
    pub fn take<P>(&mut self, given: impl Passes<P>) -> Option<P> {
        if self.failed.is_some() {
            return None;
        }
        match given.pass() {
            Ok(passed) => Some(passed),
            Err(error) => {
                self.failed = Some(error);
                None
            }
        }
    }

    pub fn push(&mut self, argument: Argument) {
        self.arguments.push(argument);
    }

    /// The launch of a kernel, with the names of type parameters, their types and what a program has for them without a definition.
    pub fn of(
        self,
        file: File,
        name: &'static str,
        kinds: &'static [(&'static str, &'static str, &'static str)],
    ) -> Result<Launch> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let needed = kinds.iter().filter(|(_, kind, default)| kind != default);
        Ok(Launch {
            file,
            name,
            defines: needed.map(|&(name, kind, _)| (name, kind)).collect(),
            arguments: self.arguments,
        })
    }
}

/// A parameter that is one argument.
pub(super) trait Single {
    fn argument(self) -> Argument;
}

/// A number of a type that the definitions of a launch name.
impl Single for Argument {
    fn argument(self) -> Argument {
        self
    }
}

/// The address of an array that a kernel reads; null unless it is given.
#[derive(Debug)]
pub(crate) struct Read<T>(Address, PhantomData<fn() -> T>);

/// The address of an array that a kernel writes; null unless it is given.
#[derive(Debug)]
pub(crate) struct Write<T>(Address, PhantomData<fn() -> T>);

/// Words of which the definitions of a launch say how long they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bits;

macro_rules! pointers {
    ($($name:ident),*) => {$(
        impl<T> $name<T> {
            /// An array at an address.
            pub(crate) fn new(address: Address) -> Self {
                Self(address, PhantomData)
            }

            /// The array from a place on.
            pub(crate) fn at(self, place: usize) -> Self {
                Self::new(self.0 + (place * size_of::<T>()) as u64)
            }

            /// The same array as words.
            pub(crate) fn bits(self) -> $name<Bits> {
                $name::new(self.0)
            }

            /// The same array as numbers of another type.
            pub(crate) fn cast<S>(self) -> $name<S> {
                $name::new(self.0)
            }

        }

        impl<T> Single for $name<T> {
            fn argument(self) -> Argument {
                Argument::Address(self.0)
            }
        }

        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T> Copy for $name<T> {}

        impl<T> Default for $name<T> {
            fn default() -> Self {
                Self::new(0)
            }
        }

        impl<T> Passes<$name<T>> for $name<T> {
            fn pass(self) -> Result<Self> {
                Ok(self)
            }
        }

        impl<T> Passes<$name<T>> for Null {
            fn pass(self) -> Result<$name<T>> {
                Ok($name::default())
            }
        }
    )*};
}
pointers!(Read, Write);

/// What stands for a parameter `P` of a kernel, or for several where it is a tuple.
pub(crate) trait Passes<P> {
    /// The parameter; memory is brought to the device for it.
    fn pass(self) -> Result<P>;
}

/// An array that a kernel does not look at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Null;

impl<P: Default, S: Passes<P>> Passes<P> for Option<S> {
    fn pass(self) -> Result<P> {
        self.map_or_else(|| Ok(P::default()), S::pass)
    }
}

impl<T> Read<T> {
    /// The same array for a kernel that writes to it although it is shared: it is scratch, or stays as it is.
    pub(crate) fn writable(self) -> Write<T> {
        Write::new(self.0)
    }
}

/// What is shared is passed as what it holds.
impl<'a, P, T> Passes<P> for &'a Arc<T>
where
    &'a T: Passes<P>,
{
    fn pass(self) -> Result<P> {
        (&**self).pass()
    }
}

/// Parameters as they are, for tuples of any length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given<P>(pub P);

impl<P> Passes<P> for Given<P> {
    fn pass(self) -> Result<P> {
        Ok(self.0)
    }
}

/// What has been written is read.
impl<T> Passes<Read<T>> for Write<T> {
    fn pass(self) -> Result<Read<T>> {
        Ok(Read::new(self.0))
    }
}

macro_rules! numbers {
    ($($given:ty => $passed:ty),*) => {$(
        impl Passes<$passed> for $given {
            fn pass(self) -> Result<$passed> {
                Ok(self as $passed)
            }
        }
    )*};
}
numbers!(usize => u32, u32 => u32, bool => u32, usize => u64, u64 => u64, f32 => f32, f64 => f64);

macro_rules! tuples {
    ($($($given:ident $passed:ident)*;)*) => {$(
        impl<$($passed, $given: Passes<$passed>),*> Passes<($($passed,)*)> for ($($given,)*) {
            #[allow(non_snake_case, reason = "values are named like their types")]
            fn pass(self) -> Result<($($passed,)*)> {
                let ($($given,)*) = self;
                Ok(($($given.pass()?,)*))
            }
        }
    )*};
}
tuples! {
    A P;
    A P B Q;
    A P B Q C R;
    A P B Q C R D S;
    A P B Q C R D S E T;
    A P B Q C R D S E T F U;
    A P B Q C R D S E T F U G V;
    A P B Q C R D S E T F U G V H W;
}

macro_rules! arguments {
    ($($type:ty => $variant:ident),*) => {$(
        impl Single for $type {
            fn argument(self) -> Argument {
                Argument::$variant(self)
            }
        }
    )*};
}
arguments!(u32 => U32, u64 => U64, f32 => F32, f64 => F64);

/// A number as a kernel takes it, in its own type.
pub(crate) fn number<A: Field>(value: A) -> Argument {
    let wide = value.to_c64();
    match A::KIND {
        Kind::F32 => Argument::F32(wide.re as f32),
        Kind::C32 => Argument::C32([wide.re as f32, wide.im as f32]),
        Kind::C64 => Argument::C64([wide.re, wide.im]),
        Kind::F64 | Kind::F16 | Kind::Bf16 => Argument::F64(wide.re),
    }
}

/// The definition of the type in which values of a type are moved.
pub(crate) fn word<T>() -> Define {
    let name = match size_of::<T>() {
        1 => "u8",
        2 => "u16",
        4 => "u32",
        8 => "u64",
        _ => "c64",
    };
    ("WORD", name)
}
