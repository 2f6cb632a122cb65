//! Kernels compiled at run time: NVRTC and HIPRTC, which mirror each other.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;

use libloading::Library;

use crate::cuda::vendor::{OncePerVendor, Vendor};
use crate::library::Function;
use crate::prelude::*;

type Program = *mut c_void;
type Text = *const c_char;
type Size = unsafe extern "system" fn(Program, *mut usize) -> i32;
type Bytes = unsafe extern "system" fn(Program, *mut c_char) -> i32;

/// What was compiled: its size, then its bytes.
#[derive(Debug)]
struct Output {
    size: Function<Size>,
    bytes: Function<Bytes>,
}

/// One compiler of one vendor.
#[derive(Debug)]
pub(super) struct Compiler {
    vendor: Vendor,
    version: Function<unsafe extern "system" fn(*mut i32, *mut i32) -> i32>,
    error_string: Function<unsafe extern "system" fn(i32) -> Text>,
    create: Function<
        unsafe extern "system" fn(*mut Program, Text, Text, i32, *const Text, *const Text) -> i32,
    >,
    compile: Function<unsafe extern "system" fn(Program, i32, *const Text) -> i32>,
    destroy: Function<unsafe extern "system" fn(*mut Program) -> i32>,
    log: Output,
    code: Output,
    nvidia: Option<Nvidia>,
}

/// What only NVRTC has: intermediate code for devices newer than itself.
#[derive(Debug)]
struct Nvidia {
    ptx: Output,
    targets: Function<unsafe extern "system" fn(*mut i32) -> i32>,
    target_count: Function<unsafe extern "system" fn(*mut i32) -> i32>,
}

impl Compiler {
    /// A vendor's compiler, loaded on first use.
    pub fn of(vendor: Vendor) -> Result<&'static Self> {
        static LOADED: OncePerVendor<Compiler> = OncePerVendor::new();
        LOADED.get(vendor, || Self::load(vendor))
    }

    fn load(vendor: Vendor) -> Result<Self> {
        let wanted = vendor.compiler_library();
        // The functions live as long as the program.
        let library: &'static Library = Box::leak(Box::new(wanted.load(&vendor.folders())?));
        // Most functions have the same name behind that of their library.
        macro_rules! find {
            ($name:literal) => {
                find!($name, $name)
            };
            ($cuda:literal, $hip:literal) => {{
                let name = match vendor {
                    Vendor::Cuda => concat!("nvrtc", $cuda),
                    Vendor::Hip => concat!("hiprtc", $hip),
                };
                // SAFETY: both vendors document these functions with these arguments.
                unsafe { wanted.function(library, name) }?
            }};
        }
        Ok(Self {
            vendor,
            version: find!("Version"),
            error_string: find!("GetErrorString"),
            create: find!("CreateProgram"),
            compile: find!("CompileProgram"),
            destroy: find!("DestroyProgram"),
            log: Output {
                size: find!("GetProgramLogSize"),
                bytes: find!("GetProgramLog"),
            },
            code: Output {
                size: find!("GetCUBINSize", "GetCodeSize"),
                bytes: find!("GetCUBIN", "GetCode"),
            },
            nvidia: match vendor {
                Vendor::Cuda => Some(Nvidia {
                    ptx: Output {
                        size: find!("GetPTXSize"),
                        bytes: find!("GetPTX"),
                    },
                    targets: find!("GetSupportedArchs"),
                    target_count: find!("GetNumSupportedArchs"),
                }),
                Vendor::Hip => None,
            },
        })
    }

    /// Its name and version.
    pub fn version(&self) -> Result<String> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: writes two numbers.
        let code = unsafe { (self.version.pointer)(&mut major, &mut minor) };
        self.check(self.version.name, code)?;
        Ok(match self.vendor {
            Vendor::Cuda => format!("NVRTC {major}.{minor}"),
            Vendor::Hip => format!("HIPRTC {major}.{minor}"),
        })
    }

    /// Compiles for a target such as `sm_90` or `gfx90a`.
    pub fn compile(&self, target: &str, source: &Source) -> Result<Vec<u8>> {
        let (target, output) = self.output(target)?;
        let options = self.options(&target, source);
        let program = self.create(source)?;
        let options: Vec<CString> = options.iter().map(|option| text(option)).collect();
        let pointers: Vec<Text> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: a program, and as many options as it is told.
        let code = unsafe {
            (self.compile.pointer)(program.pointer, pointers.len() as i32, pointers.as_ptr())
        };
        if code != 0 {
            return Err(self.failure(&program, code, &target, source));
        }
        self.read(output, &program)
    }

    /// The target that is really asked for and what comes out: device code, or intermediate code
    /// where the compiler is older than the device.
    fn output(&self, target: &str) -> Result<(String, &Output)> {
        let exact = (target.to_owned(), &self.code);
        let Some(nvidia) = &self.nvidia else {
            return Ok(exact);
        };
        let number = target.trim_start_matches("sm_").parse::<i32>().unwrap_or(0);
        let known = self.targets(nvidia)?;
        let older = known.iter().filter(|known| **known <= number).max();
        Ok(match older {
            Some(older) if *older < number => (format!("compute_{older}"), &nvidia.ptx),
            _ => exact,
        })
    }

    fn targets(&self, nvidia: &Nvidia) -> Result<Vec<i32>> {
        let mut count = 0;
        // SAFETY: writes one number.
        let code = unsafe { (nvidia.target_count.pointer)(&mut count) };
        self.check(nvidia.target_count.name, code)?;
        let mut targets = vec![0; count.max(0) as usize];
        // SAFETY: writes as many numbers as it said.
        let code = unsafe { (nvidia.targets.pointer)(targets.as_mut_ptr()) };
        self.check(nvidia.targets.name, code)?;
        Ok(targets)
    }

    fn options(&self, target: &str, source: &Source) -> Vec<String> {
        let own = match self.vendor {
            Vendor::Cuda => vec![
                format!("--gpu-architecture={target}"),
                "--std=c++17".into(),
                "-default-device".into(),
                "--extra-device-vectorization".into(),
            ],
            Vendor::Hip => {
                vec![
                    format!("--offload-arch={target}"),
                    "--std=c++17".into(),
                    "-O3".into(),
                ]
            }
        };
        let defines = source.defines.iter().map(|define| format!("-D{define}"));
        own.into_iter().chain(defines).collect()
    }

    fn create(&self, source: &Source) -> Result<Owned<'_>> {
        let (code, name) = (text(&source.text), text(&source.file));
        let mut owned = Owned {
            compiler: self,
            pointer: ptr::null_mut(),
        };
        // SAFETY: two texts, which are copied, and no headers.
        let code = unsafe {
            (self.create.pointer)(
                &mut owned.pointer,
                code.as_ptr(),
                name.as_ptr(),
                0,
                ptr::null(),
                ptr::null(),
            )
        };
        self.check(self.create.name, code)?;
        Ok(owned)
    }

    fn read(&self, output: &Output, program: &Owned) -> Result<Vec<u8>> {
        let mut size = 0;
        // SAFETY: writes one number.
        let code = unsafe { (output.size.pointer)(program.pointer, &mut size) };
        self.check(output.size.name, code)?;
        let mut bytes = vec![0u8; size];
        // SAFETY: writes as many bytes as it said.
        let code = unsafe { (output.bytes.pointer)(program.pointer, bytes.as_mut_ptr().cast()) };
        self.check(output.bytes.name, code)?;
        Ok(bytes)
    }

    fn failure(&self, program: &Owned, code: i32, target: &str, source: &Source) -> Error {
        let log = self.read(&self.log, program).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let log = log.trim_end_matches(['\0', '\n']);
        Error::Compile {
            file: source.file.clone(),
            device: target.to_owned(),
            options: self.options(target, source).join(" "),
            log: if log.is_empty() {
                self.meaning(code)
            } else {
                log.to_owned()
            },
        }
    }

    fn check(&self, call: &'static str, code: i32) -> Result<()> {
        match code {
            0 => Ok(()),
            _ => {
                let device = self.vendor.name();
                Err(Error::of_call(
                    device,
                    call,
                    code,
                    self.meaning(code),
                    false,
                ))
            }
        }
    }

    fn meaning(&self, code: i32) -> String {
        // SAFETY: gives a text that is never freed, for any code.
        let text = unsafe { CStr::from_ptr((self.error_string.pointer)(code)) };
        text.to_string_lossy().into_owned()
    }
}

/// A program of the compiler, destroyed with this value.
struct Owned<'a> {
    compiler: &'a Compiler,
    pointer: Program,
}

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        if !self.pointer.is_null() {
            // SAFETY: made by `create`, used by nobody any more.
            unsafe { (self.compiler.destroy.pointer)(&mut self.pointer) };
        }
    }
}

fn text(text: &str) -> CString {
    CString::new(text).expect("sources and options have no zero bytes")
}
