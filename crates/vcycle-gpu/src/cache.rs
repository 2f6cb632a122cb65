//! Compiled kernels, kept on disk.
//!
//! One file per program, named after a hash of all that decides what the compiler makes of it. A
//! file that cannot be read, was cut short or is refused by the driver is written anew; a disk that
//! cannot be written costs a compilation the next time, nothing else.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use xxhash_rust::xxh3::xxh3_128;

use crate::archive;
use crate::driver::Driver;
use crate::error::Result;
use crate::hash;
use crate::kernel::{Handle, Source};
use crate::properties::Properties;
use crate::sync::lock;

const MAGIC: &[u8; 8] = b"vcycleK3";
const HEADER: usize = MAGIC.len() + size_of::<u128>();

/// Programs that a device was given, and the time it took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Builds {
    /// Programs that had to be compiled.
    pub compiled: u64,
    /// Programs that were loaded from an archive or from the disk.
    pub loaded: u64,
    /// Seconds spent with both.
    pub seconds: f64,
}

/// Loads a program: from an archive, from the disk if it was compiled before for this device and driver, or compiled, which
/// is announced.
pub(crate) fn load(
    driver: &dyn Driver,
    source: &Source,
    builds: &Mutex<Builds>,
    before_compiling: impl FnOnce(),
) -> Result<Handle> {
    if let Some(module) = load_kept(driver, source, builds) {
        return Ok(module);
    }
    let begin = Instant::now();
    before_compiling();
    let path = path(driver.properties(), source);
    let module = compile(driver, source, path.as_deref())?;
    let mut builds = lock(builds);
    builds.compiled += 1;
    builds.seconds += begin.elapsed().as_secs_f64();
    Ok(module)
}

/// Loads a program that need not be compiled.
pub(crate) fn load_kept(
    driver: &dyn Driver,
    source: &Source,
    builds: &Mutex<Builds>,
) -> Option<Handle> {
    let begin = Instant::now();
    let archived = archive::find(source, &driver.properties().architecture);
    let usable = |code: Vec<u8>| driver.load(&code, source).ok();
    let kept = || read(&path(driver.properties(), source)?);
    let loaded = archived
        .and_then(usable)
        .or_else(|| kept().and_then(usable));
    let mut builds = lock(builds);
    builds.loaded += u64::from(loaded.is_some());
    builds.seconds += begin.elapsed().as_secs_f64();
    loaded
}

/// What was kept under a name.
pub(crate) fn read_text(properties: &Properties, name: &str) -> Option<String> {
    let bytes = read(&folder()?.join(text_name(properties, name)))?;
    String::from_utf8(bytes).ok()
}

/// Keeps a text under a name.
pub(crate) fn write_text(properties: &Properties, name: &str, text: &str) {
    if let Some(folder) = folder() {
        // See above: a disk that is full or read-only is no error.
        let _ = write(&folder.join(text_name(properties, name)), text.as_bytes());
    }
}

fn text_name(properties: &Properties, name: &str) -> String {
    let all = [env!("CARGO_PKG_VERSION"), name].into_iter();
    format!(
        "{:032x}.requests",
        hash::of_parts(all.chain(identity(properties)))
    )
}

fn path(properties: &Properties, source: &Source) -> Option<PathBuf> {
    Some(folder()?.join(file_name(properties, source)))
}

/// What compiled programs are for.
fn identity(properties: &Properties) -> [&str; 3] {
    [
        &properties.model,
        &properties.architecture,
        &properties.driver,
    ]
}

fn compile(driver: &dyn Driver, source: &Source, path: Option<&Path>) -> Result<Handle> {
    let code = driver.compile(source)?;
    if let Some(path) = path {
        // See above: a disk that is full or read-only is no error.
        let _ = write(path, &code);
    }
    driver.load(&code, source)
}

/// Where compiled kernels are kept: `VCYCLE_CACHE`, or the user's folder for such things.
fn folder() -> Option<PathBuf> {
    folder_of(|name| std::env::var_os(name).filter(|value| !value.is_empty()))
}

fn folder_of(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(folder) = variable("VCYCLE_CACHE") {
        return Some(folder.into());
    }
    let home = |below: &str| variable("HOME").map(|home| Path::new(&home).join(below));
    let caches = if cfg!(windows) {
        variable("LOCALAPPDATA").map(PathBuf::from)
    } else if cfg!(target_os = "macos") {
        home("Library/Caches")
    } else {
        variable("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .or_else(|| home(".cache"))
    };
    caches.map(|caches| caches.join("vcycle"))
}

fn file_name(properties: &Properties, source: &Source) -> String {
    let fixed = [env!("CARGO_PKG_VERSION"), &source.file, &source.text];
    let defines = source.defines.iter().map(String::as_str);
    let all = fixed.into_iter().chain(identity(properties));
    format!("{:032x}.kernel", hash::of_parts(all.chain(defines)))
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = fs::read(path).ok()?;
    let code = bytes.get(HEADER..)?;
    if bytes[..HEADER] != header(code) {
        return None;
    }
    bytes.drain(..HEADER);
    Some(bytes)
}

/// Under a name of its own first, so that nobody reads half a file.
fn write(path: &Path, code: &[u8]) -> std::io::Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let own = path.with_extension(format!("{}-{number}", std::process::id()));
    let written =
        fs::write(&own, [&header(code), code].concat()).and_then(|()| fs::rename(&own, path));
    if written.is_err() {
        let _ = fs::remove_file(&own);
    }
    written
}

/// What a file with this code begins with.
fn header(code: &[u8]) -> Vec<u8> {
    [MAGIC.as_slice(), &xxh3_128(code).to_le_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> Source {
        Source {
            file: "one.c".into(),
            text: "text".into(),
            defines: vec!["A=1".into(), "B=2".into()],
        }
    }

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("vcycle-gpu-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn all_that_matters_changes_the_name() {
        let plain = Properties::default();
        let before = file_name(&plain, &source());
        assert_eq!(before, file_name(&plain, &source()));
        let device = |change: fn(&mut Properties)| {
            let mut properties = Properties::default();
            change(&mut properties);
            file_name(&properties, &source())
        };
        let text = |change: fn(&mut Source)| {
            let mut source = source();
            change(&mut source);
            file_name(&plain, &source)
        };
        let changed = [
            device(|properties| properties.model.push('x')),
            device(|properties| properties.driver.push('x')),
            device(|properties| properties.architecture.push('x')),
            text(|source| source.text = "other".into()),
            text(|source| source.defines = vec!["A=1B=2".into()]),
        ];
        assert!(changed.iter().all(|name| *name != before));
    }

    #[test]
    fn what_was_written_is_read() {
        let folder = scratch("whole");
        let path = folder.join("below/a.kernel");
        write(&path, b"code").unwrap();
        assert_eq!(read(&path).unwrap(), b"code");
        assert_eq!(fs::read_dir(folder.join("below")).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn damaged_files_are_ignored() {
        let folder = scratch("damaged");
        let path = folder.join("a.kernel");
        write(&path, b"code").unwrap();
        let whole = fs::read(&path).unwrap();
        for damaged in [
            &whole[..whole.len() - 1],
            &whole[..5],
            b"",
            &[&whole[..], b"x"].concat(),
        ] {
            fs::write(&path, damaged).unwrap();
            assert!(read(&path).is_none());
        }
        assert!(read(&folder.join("missing.kernel")).is_none());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn folder_follows_the_environment() {
        let set = |names: &'static [&str]| {
            folder_of(|name| names.contains(&name).then(|| format!("/{name}").into()))
        };
        assert_eq!(set(&["VCYCLE_CACHE", "HOME"]), Some("/VCYCLE_CACHE".into()));
        assert_eq!(set(&[]), None);
        if cfg!(target_os = "linux") {
            assert_eq!(
                set(&["XDG_CACHE_HOME", "HOME"]),
                Some("/XDG_CACHE_HOME/vcycle".into())
            );
            assert_eq!(set(&["HOME"]), Some("/HOME/.cache/vcycle".into()));
        }
    }
}
