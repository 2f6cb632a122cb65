//! Compiled kernels, kept on disk.
//!
//! One file per program, named after its key: a hash of all that decides what the compiler makes of it. A
//! file that cannot be read, has another key, was cut short or is refused by the driver is written anew; a disk that
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
use crate::hash;
use crate::prelude::*;

const MAGIC: &[u8; 8] = b"vcycleK4";
const HEADER: usize = MAGIC.len() + 2 * size_of::<u128>();

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
    let module = compile(driver, source)?;
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
    let kept = || read(&File::of_program(driver.properties(), source)?);
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
    let bytes = read(&File::of_text(properties, name)?)?;
    String::from_utf8(bytes).ok()
}

/// Keeps a text under a name.
pub(crate) fn write_text(properties: &Properties, name: &str, text: &str) {
    if let Some(file) = File::of_text(properties, name) {
        // See above: a disk that is full or read-only is no error.
        let _ = write(&file, text.as_bytes());
    }
}

/// A file and the key that it has to have.
struct File {
    path: PathBuf,
    key: u128,
}

impl File {
    fn of_program(properties: &Properties, source: &Source) -> Option<Self> {
        Some(Self::new(&folder()?, key(properties, source), "kernel"))
    }

    fn of_text(properties: &Properties, name: &str) -> Option<Self> {
        let all = [env!("CARGO_PKG_VERSION"), name].into_iter();
        let key = hash::of_parts(all.chain(identity(properties)));
        Some(Self::new(&folder()?, key, "requests"))
    }

    fn new(folder: &Path, key: u128, kind: &str) -> Self {
        let path = folder.join(format!("{key:032x}.{kind}"));
        Self { path, key }
    }

    /// What it begins with, before these contents.
    fn header(&self, contents: &[u8]) -> Vec<u8> {
        let numbers = [self.key, xxh3_128(contents)].map(u128::to_le_bytes);
        [MAGIC.as_slice(), numbers.as_flattened()].concat()
    }
}

/// What compiled programs are for.
fn identity(properties: &Properties) -> [&str; 3] {
    [
        &properties.model,
        &properties.architecture,
        &properties.driver,
    ]
}

fn compile(driver: &dyn Driver, source: &Source) -> Result<Handle> {
    let code = driver.compile(source)?;
    if let Some(file) = File::of_program(driver.properties(), source) {
        // See above: a disk that is full or read-only is no error.
        let _ = write(&file, &code);
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

fn key(properties: &Properties, source: &Source) -> u128 {
    let fixed = [env!("CARGO_PKG_VERSION"), &source.file, &source.text];
    let defines = source.defines.iter().map(String::as_str);
    let all = fixed.into_iter().chain(identity(properties));
    hash::of_parts(all.chain(defines))
}

fn read(file: &File) -> Option<Vec<u8>> {
    let mut bytes = fs::read(&file.path).ok()?;
    let contents = bytes.get(HEADER..)?;
    if bytes[..HEADER] != file.header(contents) {
        return None;
    }
    bytes.drain(..HEADER);
    Some(bytes)
}

/// Under a name of its own first, so that nobody reads half a file.
fn write(file: &File, contents: &[u8]) -> std::io::Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let path = &file.path;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let own = path.with_extension(format!("{}-{number}", std::process::id()));
    let whole = [&file.header(contents), contents].concat();
    let written = fs::write(&own, whole).and_then(|()| fs::rename(&own, path));
    if written.is_err() {
        let _ = fs::remove_file(&own);
    }
    written
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
    fn all_that_matters_changes_the_key() {
        let plain = Properties::default();
        let before = key(&plain, &source());
        assert_eq!(before, key(&plain, &source()));
        let device = |change: fn(&mut Properties)| {
            let mut properties = Properties::default();
            change(&mut properties);
            key(&properties, &source())
        };
        let text = |change: fn(&mut Source)| {
            let mut source = source();
            change(&mut source);
            key(&plain, &source)
        };
        let changed = [
            device(|properties| properties.model.push('x')),
            device(|properties| properties.driver.push('x')),
            device(|properties| properties.architecture.push('x')),
            text(|source| source.text = "other".into()),
            text(|source| source.defines = vec!["A=1B=2".into()]),
        ];
        assert!(changed.iter().all(|key| *key != before));
    }

    #[test]
    fn what_was_written_is_read() {
        let folder = scratch("whole");
        let file = File::new(&folder.join("below"), 1, "kernel");
        write(&file, b"code").unwrap();
        assert_eq!(read(&file).unwrap(), b"code");
        assert_eq!(fs::read_dir(folder.join("below")).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn damaged_files_are_ignored() {
        let folder = scratch("damaged");
        let file = File::new(&folder, 1, "kernel");
        write(&file, b"code").unwrap();
        let whole = fs::read(&file.path).unwrap();
        for damaged in [
            &whole[..whole.len() - 1],
            &whole[..5],
            b"",
            &[&whole[..], b"x"].concat(),
        ] {
            fs::write(&file.path, damaged).unwrap();
            assert!(read(&file).is_none());
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&file.path, damaged).unwrap();
            assert!(read(&file).is_none(), "byte {at}");
        }
        assert!(read(&File::new(&folder, 2, "kernel")).is_none());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn files_that_were_swapped_are_ignored() {
        let folder = scratch("swapped");
        let [one, other] = [1, 2].map(|key| File::new(&folder, key, "kernel"));
        write(&one, b"one").unwrap();
        write(&other, b"other").unwrap();
        let aside = folder.join("aside");
        fs::rename(&one.path, &aside).unwrap();
        fs::rename(&other.path, &one.path).unwrap();
        fs::rename(&aside, &other.path).unwrap();
        assert!(read(&one).is_none() && read(&other).is_none());
        write(&one, b"one").unwrap();
        assert_eq!(read(&one).unwrap(), b"one");
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
