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

impl Pass {
    fn of(&self) -> &Type {
        let (Self::Number(of) | Self::Read(of) | Self::Write(of)) = self;
        of
    }
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
        for parameter in parameters {
            parameter.collect(&mut needs);
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
            .map(|(name, _)| {
                let default = self.macros.defaults.get(name).map_or("", String::as_str);
                format!("(\"{name}\", <{name} as Element>::NAME, \"{default}\")")
            })
            .collect();
        let given: Vec<String> = parameters.iter().map(Parameter::declared).collect();
        let passed: Vec<String> = parameters.iter().map(Parameter::passed).collect();
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
        let list = match passed.is_empty() {
            true => "passed_arguments",
            false => "mut passed_arguments",
        };
        writeln!(
            rust,
            "        let {list} = List::default();\n{}        passed_arguments.of(FILE, \"{}\", const {{ &[{}] }})\n    }}",
            passed.concat(),
            kernel.name,
            kinds.join(", ")
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

    /// The type parameters it needs.
    fn collect(&self, needs: &mut Vec<(String, Bound)>) {
        match self {
            Self::One { kind, .. } => needs.extend(kind.of().needs.clone()),
            Self::Group { parts, .. } => {
                for part in parts {
                    part.collect(needs);
                }
            }
        }
    }

    /// The type that is passed in the end.
    fn target(&self) -> String {
        match self {
            Self::One { kind, .. } => match kind {
                Pass::Number(of) if of.rust == "Bits" => "Argument".to_owned(),
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

    /// What adds its arguments to the list.
    fn passed(&self) -> String {
        let name = self.name();
        match self {
            Self::One { .. } if self.is_plain() => format!("        {}", self.pushed(name)),
            Self::One { .. } => format!(
                "        passed_arguments.pass::<{}>({name});\n",
                self.target()
            ),
            Self::Group { .. } => format!(
                "        if let Some({}) = passed_arguments.take::<{}>({name}) {{\n{}        }}\n",
                self.pattern(),
                self.target(),
                self.pushed(name)
            ),
        }
    }

    /// What adds one argument to the list, or those of a group that was taken apart.
    fn pushed(&self, name: &str) -> String {
        match self {
            Self::One {
                kind: Pass::Number(of),
                ..
            } if !of.needs.is_empty() => {
                format!("passed_arguments.push(super::number({name}));\n")
            }
            Self::One { .. } => format!("passed_arguments.push({name}.argument());\n"),
            Self::Group { parts, .. } => {
                let parts = parts.iter().map(|part| part.pushed(&local(part.name())));
                parts.collect()
            }
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
pub fn distinct(mut parameters: Vec<Parameter>) -> Vec<Parameter> {
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
