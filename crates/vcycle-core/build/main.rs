//! Makes a typed launch function of every kernel.
//!
//! `src/gpu/kernels/*.c` are the programs of devices. For each of them this writes a module with a function for every `KERNEL` it
//! declares, so that a wrong number or type of arguments does not compile. A pointer to `const` becomes a `Read`, any other
//! pointer a `Write`, and a macro of several parameters, such as `COEFFICIENT(A, alpha)`, one argument that stands for a tuple.
//! A type that only the definitions of a program name (`T`, `ACC`) becomes a type parameter; its definition is made of it.
//! `WORD`, `MARK` and `CODE` stand for words whose type the launch defines: these are `Bits`.
//!
//! `#include "rows.h"`, `#pragma block 64` (threads of a block, 256 by default) and `#pragma default LANES 1` (a definition for
//! launches that give none; its value may be the name of another one) are for this step alone: compilers of devices get a text
//! without them. A kernel may be declared several times, under definitions, with the same parameters.

mod macros;
mod rust;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use macros::Macros;
use rust::Parameter;

const FOLDER: &str = "src/gpu/kernels";
const BLOCK: u32 = 256;
fn main() {
    println!("cargo::rerun-if-changed={FOLDER}");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let entries = fs::read_dir(FOLDER).expect("the folder of kernels");
    let names = entries.map(|entry| entry.expect("a file").file_name());
    let mut names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
    names.sort();
    let mut rust = String::new();
    let mut list = String::new();
    for name in names.iter().filter_map(|name| name.strip_suffix(".c")) {
        let program = Program::read(name);
        fs::write(out.join(format!("{name}.c")), &program.text).expect("a file of OUT_DIR");
        rust += &program.module(name);
        writeln!(list, "    {name}::FILE,").expect("a string");
    }
    writeln!(
        rust,
        "/// All programs.\npub(crate) const FILES: &[File] = &[\n{list}];"
    )
    .expect("a string");
    fs::write(out.join("kernels.rs"), rust).expect("a file of OUT_DIR");
}

/// A file of kernels with what it includes.
struct Program {
    text: String,
    block: u32,
    defaults: Vec<(String, String)>,
    macros: Macros,
    kernels: Vec<Kernel>,
}

struct Kernel {
    name: String,
    doc: String,
    parameters: Vec<Parameter>,
}

impl Program {
    fn read(name: &str) -> Self {
        let mut program = Self {
            text: String::new(),
            block: BLOCK,
            defaults: Vec::new(),
            macros: Macros::default(),
            kernels: Vec::new(),
        };
        program.scan(&read("dialect.h"));
        // What the dialect has for one compiler alone is a word, not a macro of parameters.
        program.macros.known.retain(|_, known| known.len() == 1);
        program.include(&format!("{name}.c"), &mut Vec::new());
        let text = program.text.clone();
        program.scan(&text);
        program
    }

    /// Adds a file after those that it includes, each one once.
    fn include(&mut self, name: &str, included: &mut Vec<String>) {
        if included.iter().any(|other| other == name) {
            return;
        }
        included.push(name.to_owned());
        writeln!(self.text, "#line 1 \"{name}\"").expect("a string");
        for (number, line) in read(name).lines().enumerate() {
            if let Some(other) = line.strip_prefix("#include \"") {
                self.include(other.trim_end_matches('"'), included);
                writeln!(self.text, "#line {} \"{name}\"", number + 2).expect("a string");
            } else if let Some(block) = line.strip_prefix("#pragma block ") {
                self.block = block.trim().parse().expect("threads of a block");
                self.text.push('\n');
            } else if let Some(default) = line.strip_prefix("#pragma default ") {
                let (name, value) = default.split_once(' ').expect("a name and a value");
                if self.defaults.iter().all(|(other, _)| other != name) {
                    self.defaults.push((name.to_owned(), value.to_owned()));
                }
                self.text.push('\n');
            } else if let Some(names) = line.strip_prefix("#pragma by_name ") {
                let names = names.split_whitespace().map(str::to_owned);
                self.macros.by_name.extend(names);
                self.text.push('\n');
            } else {
                self.text += line;
                self.text.push('\n');
            }
        }
    }

    /// Finds macros and kernels.
    fn scan(&mut self, text: &str) {
        let joined = text.replace("\\\n", " ");
        let mut lines = joined.lines().peekable();
        let mut doc = String::new();
        let mut conditions: Vec<String> = Vec::new();
        while let Some(line) = lines.next() {
            if let Some(comment) = line.strip_prefix("//") {
                doc += comment.trim();
                doc.push('\n');
                continue;
            }
            let code = line.split("//").next().expect("at least one part").trim();
            if let Some(directive) = code.strip_prefix('#') {
                self.directive(directive.trim(), &mut conditions);
            } else if self.macros.is_kernel(code) {
                let mut head = code.to_owned();
                while !head.contains('{') {
                    let next = lines.next().expect("a kernel has a body");
                    head += " ";
                    head += next.split("//").next().expect("at least one part").trim();
                }
                self.kernel(&head, &doc);
            }
            doc.clear();
        }
    }

    fn directive(&mut self, directive: &str, conditions: &mut Vec<String>) {
        let (word, rest) = directive.split_once(' ').unwrap_or((directive, ""));
        match word {
            "if" | "ifdef" | "ifndef" => conditions.push(directive.to_owned()),
            "else" | "elif" => {
                *conditions.last_mut().expect("an open condition") = directive.to_owned()
            }
            "endif" => _ = conditions.pop(),
            "define" => self.macros.define(rest, conditions),
            _ => {}
        }
    }

    fn kernel(&mut self, head: &str, doc: &str) {
        let head = match head.strip_prefix("KERNEL_OF(") {
            Some(rest) => rest.split_once(')').expect("blocks of a multiprocessor").1,
            None => head,
        };
        let (name, rest) = head.split_once('(').expect("parameters");
        let name = name.split_whitespace().last().expect("a name");
        let parameters = rest.rsplit_once(')').expect("an end of parameters").0;
        let parameters = self.macros.parameters(parameters).map(rust::distinct);
        let parameters =
            parameters.unwrap_or_else(|| panic!("parameters of {name} depend on definitions"));
        match self.kernels.iter().find(|kernel| kernel.name == name) {
            Some(other) => assert!(
                other.parameters == parameters,
                "{name} has other parameters under other definitions"
            ),
            None => self.kernels.push(Kernel {
                name: name.to_owned(),
                doc: doc.to_owned(),
                parameters,
            }),
        }
    }
}

fn read(name: &str) -> String {
    let path = Path::new(FOLDER).join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
