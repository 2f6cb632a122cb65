//! Macros of C, and parameters that are written with them.

use std::collections::BTreeMap;

use crate::rust::{Bound, Parameter, Pass, Type};

/// Types of words whose length is defined at the launch.
const BITS: [&str; 3] = ["WORD", "MARK", "CODE"];

/// The definitions of a macro so far: parameters and text.
type Definition = (Option<Vec<String>>, String);

#[derive(Default)]
pub struct Macros {
    pub known: BTreeMap<String, Vec<Definition>>,
    /// Those that a definition of the program may replace, and what they are else.
    pub defaults: BTreeMap<String, String>,
    /// Types that launches name in definitions: their functions are made once for all types.
    pub by_name: Vec<String>,
}

impl Macros {
    pub fn define(&mut self, rest: &str, conditions: &[String]) {
        let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        let (parameters, body) = match rest.strip_prefix('(') {
            Some(rest) => {
                let (parameters, body) = rest.split_once(')').expect("an end of parameters");
                let parameters = parameters.split(',').map(|name| name.trim().to_owned());
                (Some(parameters.collect()), body)
            }
            None => (None, rest),
        };
        let body = body.split_whitespace().collect::<Vec<_>>().join(" ");
        let condition = conditions.last().map(String::as_str);
        if condition == Some(&format!("ifndef {name}")) {
            self.defaults.insert(name.to_owned(), body);
            return;
        }
        let known = self.known.entry(name.to_owned()).or_default();
        if conditions.is_empty() {
            known.clear();
        }
        if !known.contains(&(parameters.clone(), body.clone())) {
            known.push((parameters, body));
        }
    }

    /// Whether a line begins a kernel: with `KERNEL`, `KERNEL_OF` or a macro for one of these.
    pub fn is_kernel(&self, line: &str) -> bool {
        let end = line.find(|c: char| !is_word(c)).unwrap_or(line.len());
        let known = self.known.get(&line[..end]).map_or(&[][..], Vec::as_slice);
        line.starts_with("KERNEL")
            || !known.is_empty() && known.iter().all(|(_, body)| body.starts_with("KERNEL"))
    }

    /// The parameters of a kernel; none where they depend on definitions.
    pub fn parameters(&self, text: &str) -> Option<Vec<Parameter>> {
        split(text)
            .into_iter()
            .map(|one| self.parameter(&one))
            .collect()
    }

    fn parameter(&self, text: &str) -> Option<Parameter> {
        if let Some((name, body)) = self.expanded(text)? {
            let mut parts = Vec::new();
            for part in self.parameters(&body)? {
                match part {
                    Parameter::Group {
                        has_arguments: false,
                        parts: inner,
                        ..
                    } => parts.extend(inner),
                    other => parts.push(other),
                }
            }
            let has_arguments = text.ends_with(')');
            return Some(Parameter::Group {
                name,
                has_arguments,
                parts,
            });
        }
        // Pointers, `const` and types apart.
        let words = text.replace('*', " * ");
        let mut words: Vec<&str> = words
            .split_whitespace()
            .filter(|word| !["GLOBAL", "RESTRICT", "volatile"].contains(word))
            .collect();
        let name = words.pop()?;
        if !name.chars().all(is_word) {
            return None;
        }
        let is_pointer = words.last() == Some(&"*");
        words.retain(|word| *word != "*");
        let is_const = words.first() == Some(&"const");
        words.retain(|word| *word != "const");
        let of = self.type_of(&words.join(" "), !is_pointer)?;
        Some(Parameter::One {
            name: rust_name(name),
            kind: match (is_pointer, is_const) {
                (false, _) => Pass::Number(of),
                (true, true) => Pass::Read(of),
                (true, false) => Pass::Write(of),
            },
        })
    }

    /// What a macro of several parameters stands for, and a name for it. The outer one is empty where definitions decide.
    fn expanded(&self, text: &str) -> Option<Option<(String, String)>> {
        let end = text.find(|c: char| !is_word(c)).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        let Some(known) = self.known.get(name) else {
            return Some(None);
        };
        let arguments = match rest.trim().strip_prefix('(') {
            // A type such as `ARITH(T) value`.
            Some(rest) if !rest.ends_with(')') => return Some(None),
            Some(rest) => split(rest.strip_suffix(')')?),
            None if rest.trim().is_empty() => Vec::new(),
            // A type such as `A value`.
            None => return if known.len() == 1 { Some(None) } else { None },
        };
        let [(parameters, body)] = &known[..] else {
            return None;
        };
        let mut body = body.clone();
        for (parameter, argument) in parameters.iter().flatten().zip(&arguments) {
            body = replaced(&body, parameter, argument);
        }
        let name = arguments
            .last()
            .map_or_else(|| name.to_lowercase(), Clone::clone);
        Some(Some((rust_name(&name), body.replace("##", ""))))
    }

    fn type_of(&self, text: &str, is_number: bool) -> Option<Type> {
        let inner = |function: &str| {
            text.strip_prefix(function)?
                .strip_prefix('(')?
                .strip_suffix(')')
        };
        let through = |text: &str, make: &dyn Fn(&str) -> String| {
            let mut of = self.type_of(text, false)?;
            if of.rust == "Bits" {
                return Some(of);
            }
            of.rust = make(&of.rust);
            for (_, bound) in &mut of.needs {
                *bound = Bound::Scalar.max(*bound);
            }
            Some(of)
        };
        if let Some(of) = inner("ARITH") {
            return through(of, &|of| format!("<{of} as Scalar>::Arith"));
        }
        if let Some(of) = inner("REAL") {
            return through(of, &|of| {
                format!("<<{of} as Scalar>::Arith as Field>::Real")
            });
        }
        let plain = match text {
            "u8" | "u16" | "u32" | "u64" | "i32" | "f32" | "f64" | "f16" => Some(text),
            "double" => Some("f64"),
            "float" => Some("f32"),
            "uint2" => Some("u64"),
            "uint4" => Some("u32"),
            _ if BITS.contains(&text) => Some("Bits"),
            _ if self.by_name.iter().any(|name| name == text) => Some("Bits"),
            _ => None,
        };
        if let Some(plain) = plain {
            return Some(Type {
                rust: plain.to_owned(),
                needs: Vec::new(),
            });
        }
        if !text.chars().all(is_word) {
            return None;
        }
        match self.known.get(text).map(Vec::as_slice) {
            Some([(None, body)]) => self.type_of(body, is_number),
            Some(_) => None,
            None => {
                let bound = if is_number {
                    Bound::Field
                } else {
                    Bound::Element
                };
                Some(Type {
                    rust: text.to_owned(),
                    needs: vec![(text.to_owned(), bound)],
                })
            }
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn rust_name(name: &str) -> String {
    match name {
        "in" | "as" | "where" | "type" | "move" | "loop" | "match" | "ref" | "final" => {
            format!("r#{name}")
        }
        _ => name.to_owned(),
    }
}

/// At commas outside of parentheses.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for c in text.chars() {
        match c {
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        parts.last_mut().expect("at least one").push(c);
    }
    parts.iter().map(|part| part.trim().to_owned()).collect()
}

/// A text with a word replaced by another one, also within words that `##` joins.
fn replaced(text: &str, word: &str, by: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(place) = rest.find(word) {
        let (before, after) = (&rest[..place], &rest[place + word.len()..]);
        out += before;
        let is_whole = !out.ends_with(is_word) && !after.starts_with(is_word);
        out += if is_whole { by } else { word };
        rest = after;
    }
    out + rest
}
