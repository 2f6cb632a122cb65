//! Parameters in terms of Rust, and the functions that are made of them.

use std::fmt::Write;

use crate::{Kernel, Program};

#[derive(Clone, PartialEq)]
pub enum Parameter {
    /// A number or a pointer.
    One { name: String, kind: Pass },
    /// What a macro stands for. A macro without arguments within it adds its parts to these, one with arguments is a tuple within
    /// the tuple.
    Group {
        name: String,
        has_arguments: bool,
        parts: Vec<Parameter>,
    },
}

#[derive(Clone, PartialEq)]
pub enum Pass {
    Number(Type),
    Read(Type),
    Write(Type),
}

/// A type of C in terms of Rust.
#[derive(Clone, PartialEq)]
pub struct Type {
    pub rust: String,
    /// The type parameters it is made of, and what they have to be.
    pub needs: Vec<(String, Bound)>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound {
    Element,
    Scalar,
    Field,
}

impl Program {
    /// The module of the program.
    pub fn module(&self, name: &str) -> String {
        let mut rust = format!(
            "/// The kernels of `{name}.c`.\n\
             pub(crate) mod {name} {{\n    \
             use super::*;\n    \
             /// The program.\n    \
             pub(crate) const FILE: File = File {{ name: \"{name}.c\", text: include_str!(concat!(env!(\"OUT_DIR\"), \"/{name}.c\")), block: {}, defaults: &{:?} }};\n",
            self.block, self.defaults
        );
        for kernel in &self.kernels {
            rust += &self.function(kernel, &kernel.parameters);
        }
        rust + "}\n"
    }

    fn function(&self, kernel: &Kernel, parameters: &[Parameter]) -> String {
        let mut needs: Vec<(String, Bound)> = Vec::new();
        let mut flat = Vec::new();
        for parameter in parameters {
            parameter.collect(&mut needs, &mut flat);
        }
        let mut bounds: Vec<(String, Bound)> = Vec::new();
        for (name, bound) in needs {
            match bounds.iter_mut().find(|(other, _)| *other == name) {
                Some((_, other)) => *other = bound.max(*other),
                None => bounds.push((name, bound)),
            }
        }
        let generics: Vec<String> = bounds
            .iter()
            .map(|(name, bound)| format!("{name}: {}", bound.name()))
            .collect();
        let kinds: Vec<String> = bounds
            .iter()
            .map(|(name, _)| match self.macros.defaults.get(name) {
                Some(default) => format!("super::kind::<{name}>(\"{name}\", \"{default}\")"),
                None => format!("Some((\"{name}\", <{name} as Element>::NAME))"),
            })
            .collect();
        let given: Vec<String> = parameters.iter().map(Parameter::declared).collect();
        let patterns: Vec<String> = parameters
            .iter()
            .map(|parameter| {
                format!(
                    "        let {} = {};\n",
                    parameter.pattern(),
                    parameter.passed()
                )
            })
            .collect();
        let mut rust = String::new();
        let doc = if kernel.doc.is_empty() {
            format!("`{}`.\n", kernel.name)
        } else {
            kernel.doc.clone()
        };
        for line in doc.lines() {
            writeln!(rust, "    #[doc = {line:?}]").expect("a string");
        }
        let generics = if generics.is_empty() {
            String::new()
        } else {
            format!("<{}>", generics.join(", "))
        };
        writeln!(
            rust,
            "    pub(crate) fn {}{generics}({}) -> Result<Launch> {{",
            kernel.name,
            given.join(", ")
        )
        .expect("a string");
        rust += &patterns.concat();
        writeln!(
            rust,
            "        Ok(Launch::new(FILE, \"{}\", &[{}], vec![{}]))\n    }}",
            kernel.name,
            kinds.join(", "),
            flat.join(", ")
        )
        .expect("a string");
        rust
    }
}

impl Parameter {
    fn name(&self) -> &str {
        match self {
            Self::One { name, .. } | Self::Group { name, .. } => name,
        }
    }

    /// The type parameters it needs, and its arguments one by one.
    fn collect(&self, needs: &mut Vec<(String, Bound)>, flat: &mut Vec<String>) {
        match self {
            Self::One { name, kind } => {
                let (Pass::Number(of) | Pass::Read(of) | Pass::Write(of)) = kind;
                needs.extend(of.needs.clone());
                flat.push(match kind {
                    Pass::Number(of) if !of.needs.is_empty() => {
                        format!("super::number({})", local(name))
                    }
                    _ => format!("{}.argument()", local(name)),
                });
            }
            Self::Group { parts, .. } => {
                for part in parts {
                    part.collect(needs, flat);
                }
            }
        }
    }

    /// The type that is passed in the end.
    fn target(&self) -> String {
        match self {
            Self::One { kind, .. } => match kind {
                Pass::Number(of) => of.rust.clone(),
                Pass::Read(of) => format!("Read<{}>", of.rust),
                Pass::Write(of) => format!("Write<{}>", of.rust),
            },
            Self::Group { parts, .. } => {
                let parts: Vec<String> = parts.iter().map(Self::target).collect();
                format!("({},)", parts.join(", "))
            }
        }
    }

    /// Whether it is what the function is given: a number that is not an index.
    fn is_plain(&self) -> bool {
        matches!(self, Self::One { kind: Pass::Number(of), .. } if of.rust != "u32" && of.rust != "u64")
    }

    fn declared(&self) -> String {
        match self.is_plain() {
            true => format!("{}: {}", self.name(), self.target()),
            false => format!("{}: impl Passes<{}>", self.name(), self.target()),
        }
    }

    fn passed(&self) -> String {
        match self.is_plain() {
            true => self.name().to_owned(),
            false => format!("{}.pass()?", self.name()),
        }
    }

    fn pattern(&self) -> String {
        match self {
            Self::One { name, .. } => local(name),
            Self::Group { parts, .. } => {
                let parts: Vec<String> = parts.iter().map(Self::pattern).collect();
                format!("({},)", parts.join(", "))
            }
        }
    }
}

impl Bound {
    fn name(self) -> &'static str {
        match self {
            Self::Element => "Element",
            Self::Scalar => "Scalar",
            Self::Field => "Field",
        }
    }
}

/// The variable that holds what is passed for a parameter.
fn local(name: &str) -> String {
    format!("p_{}", name.trim_start_matches("r#"))
}

/// Parameters of which none has the name of another: what a macro stands for may be called like one that it does not contain.
pub fn told_apart(mut parameters: Vec<Parameter>) -> Vec<Parameter> {
    let is_one = |parameter: &&Parameter| matches!(parameter, Parameter::One { .. });
    let ones = parameters.iter().filter(is_one).map(Parameter::name);
    let ones: Vec<String> = ones.map(str::to_owned).collect();
    for parameter in &mut parameters {
        if let Parameter::Group { name, .. } = parameter
            && ones.contains(name)
        {
            name.push_str("_group");
        }
    }
    parameters
}
