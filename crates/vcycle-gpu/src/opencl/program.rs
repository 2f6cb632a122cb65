//! Programs: compiled from source, kept as binaries.

use std::ffi::CString;
use std::fmt::Write;
use std::ptr::{null, null_mut};

use super::device::OpenCl;
use super::platform::{info, text};
use super::{api, api::Object};
use crate::prelude::*;

const BUILD_PROGRAM_FAILURE: i32 = -11;

impl OpenCl {
    pub(super) fn program_of_source(&self, source: &Source) -> Result<Object> {
        let whole = whole_text(source);
        let (pointer, length) = (whole.as_ptr().cast(), whole.len());
        let mut code = 0;
        // SAFETY: one text with its length, copied before the call returns.
        let program = unsafe {
            (self.api.create_program_with_source)(self.context, 1, &pointer, &length, &mut code)
        };
        self.check("clCreateProgramWithSource", code)?;
        let built = match self.build(program) {
            BUILD_PROGRAM_FAILURE => Err(self.compile_error(program, source)),
            code => self.check("clBuildProgram", code),
        };
        if let Err(error) = built {
            self.release(program);
            return Err(error);
        }
        Ok(program)
    }

    /// `None` where the driver refuses the binary, as after an update.
    pub(super) fn program_of_binary(&self, binary: &[u8]) -> Option<Object> {
        if binary.is_empty() {
            return None;
        }
        let (pointer, length) = (binary.as_ptr(), binary.len());
        let (mut status, mut code) = (0, 0);
        // SAFETY: one device, one binary with its length, copied before the call returns.
        let program = unsafe {
            (self.api.create_program_with_binary)(
                self.context,
                1,
                &self.device,
                &length,
                &pointer,
                &mut status,
                &mut code,
            )
        };
        if code != api::SUCCESS {
            return None;
        }
        if status != api::SUCCESS || self.build(program) != api::SUCCESS {
            self.release(program);
            return None;
        }
        Some(program)
    }

    /// CPU OpenCL devices are there for tests: what they run takes no time, but the compiler
    /// takes five times as long where it optimises.
    fn options(&self) -> String {
        let standard = format!("-cl-std={}", self.properties.architecture);
        match self.properties.is_cpu {
            true => standard + " -cl-opt-disable",
            false => standard,
        }
    }

    fn build(&self, program: Object) -> i32 {
        let options = CString::new(self.options()).expect("options have no zero byte");
        // SAFETY: one device, options that end with zero, no callback: the call waits.
        unsafe {
            (self.api.build_program)(
                program,
                1,
                &self.device,
                options.as_ptr(),
                null(),
                null_mut(),
            )
        }
    }

    fn compile_error(&self, program: Object, source: &Source) -> Error {
        let log = info("clGetProgramBuildInfo", |size, out, needed| {
            // SAFETY: `out` has room for `size` bytes.
            unsafe {
                (self.api.get_program_build_info)(
                    program,
                    self.device,
                    api::PROGRAM_BUILD_LOG,
                    size,
                    out,
                    needed,
                )
            }
        });
        Error::Compile {
            file: source.file.clone(),
            device: self.properties.name.clone(),
            options: format!("{} and {:?}", self.options(), source.defines),
            log: log.map_or_else(
                |error| error.to_string(),
                |log| placed(&text(&log), &whole_text(source)),
            ),
        }
    }

    /// The binary for the one device; empty where the driver gives none.
    pub(super) fn binary(&self, program: Object) -> Result<Vec<u8>> {
        let mut size = 0_usize;
        self.program_info(program, api::PROGRAM_BINARY_SIZES, &mut size)?;
        let mut binary = vec![0; size];
        self.program_info(program, api::PROGRAM_BINARIES, &mut binary.as_mut_ptr())?;
        Ok(binary)
    }

    fn program_info<T>(&self, program: Object, what: u32, value: &mut T) -> Result<()> {
        let place = (&raw mut *value).cast();
        // SAFETY: the context has one device, hence one size, and one pointer to room for as much.
        let code = unsafe {
            (self.api.get_program_info)(program, what, size_of::<T>(), place, null_mut())
        };
        self.check("clGetProgramInfo", code)
    }

    pub(super) fn release(&self, program: Object) {
        // SAFETY: a program that nobody else has. Its code reports bugs of ours only.
        unsafe { (self.api.release_program)(program) };
    }
}

/// The text after its definitions, which may have spaces, unlike those of the command line; lines
/// are counted from where the file begins.
fn whole_text(source: &Source) -> String {
    let mut whole = String::new();
    for define in &source.defines {
        let (name, value) = define.split_once('=').unwrap_or((define, "1"));
        writeln!(whole, "#define {name} {value}").expect("strings can be written to");
    }
    writeln!(whole, "#line 1 \"{}\"", source.file).expect("strings can be written to");
    whole + &source.text
}

/// A log in which files and lines are those of the sources: NVIDIA's compiler counts the lines of the
/// whole text, which it calls `<kernel>`.
fn placed(log: &str, whole: &str) -> String {
    let place = |line: &str| {
        let (number, rest) = line.strip_prefix("<kernel>:")?.split_once(':')?;
        let (file, number) = place_of(number.parse().ok()?, whole)?;
        Some(format!("{file}:{number}:{rest}"))
    };
    let lines = log.lines();
    let lines = lines.map(|line| place(line).unwrap_or_else(|| line.to_owned()));
    lines.collect::<Vec<_>>().join("\n")
}

/// What `#line` makes of a line of the whole text.
fn place_of(number: usize, whole: &str) -> Option<(&str, usize)> {
    let before = whole.lines().take(number.checked_sub(1)?).enumerate();
    let (at, directive) = before
        .filter(|(_, line)| line.starts_with("#line "))
        .last()?;
    let (first, file) = directive.strip_prefix("#line ")?.split_once(' ')?;
    let first: usize = first.parse().ok()?;
    Some((file.trim_matches('"'), first + number - at - 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_whole_text_become_those_of_files() {
        let whole = "#define A 1\n#line 1 \"one.c\"\nfirst;\n#line 7 \"two.c\"\nseventh;\n";
        let log = "<kernel>:3:9: error: first\nfirst;\n<kernel>:5:1: error\none.c:2: other";
        let expected = "one.c:1:9: error: first\nfirst;\ntwo.c:7:1: error\none.c:2: other";
        assert_eq!(placed(log, whole), expected);
        assert_eq!(placed("<kernel>:1:1: early", whole), "<kernel>:1:1: early");
    }

    #[test]
    fn definitions_go_before_the_first_line() {
        let source = Source {
            file: "one.c".into(),
            text: "A b;\n".into(),
            defines: vec!["A=unsigned int".into(), "F".into()],
        };
        let whole = "#define A unsigned int\n#define F 1\n#line 1 \"one.c\"\nA b;\n";
        assert_eq!(whole_text(&source), whole);
    }
}
