//! Kernels compiled ahead of time: a zip archive of many programs, for several architectures.
//!
//! A member is named after its key, the hash of a program's source and target, and has this once more and then the code. Keys,
//! lengths and checksums are checked when it is read: a file that is missing, damaged or renamed costs compilations, nothing else.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use rawzip::{
    CompressionMethod, FileReader, RECOMMENDED_BUFFER_SIZE, ZipArchive, ZipArchiveEntryWayfinder,
    ZipArchiveWriter,
};

use crate::hash;
use crate::prelude::*;

/// The name of the file beside the program.
const NAME: &str = "vcycle.kernels";

/// A program that was compiled for a target such as `sm_90`.
#[derive(Debug)]
pub struct Compiled {
    /// What it was compiled from.
    pub source: Source,
    /// The architecture it was compiled for.
    pub target: String,
    /// What came out.
    pub code: Vec<u8>,
}

/// An archive that is open for reading.
#[derive(Debug)]
struct Archive {
    zip: ZipArchive<FileReader>,
    /// Where programs are, by their keys.
    places: HashMap<u128, ZipArchiveEntryWayfinder>,
}

/// Writes an archive; a file that is there is replaced when all is written.
pub fn write_archive(path: &Path, programs: &[Compiled]) -> io::Result<()> {
    let own = path.with_extension(format!("{}.new", std::process::id()));
    let written = write_members(&own, programs).and_then(|()| fs::rename(&own, path));
    if written.is_err() {
        let _ = fs::remove_file(&own);
    }
    written
}

fn write_members(path: &Path, programs: &[Compiled]) -> io::Result<()> {
    let mut archive = ZipArchiveWriter::new(BufWriter::new(File::create(path)?));
    for program in programs {
        let key = key(&program.source, &program.target);
        let name = format!("{key:032x}");
        let member = archive.new_file(&name);
        let member = member.compression_method(CompressionMethod::DEFLATE);
        let (mut entry, config) = member.start().map_err(io::Error::other)?;
        let encoder = DeflateEncoder::new(&mut entry, Compression::best());
        let mut data = config.wrap(encoder);
        data.write_all(&key.to_le_bytes())?;
        data.write_all(&program.code)?;
        let (encoder, descriptor) = data.finish().map_err(io::Error::other)?;
        encoder.finish()?;
        entry.finish(descriptor).map_err(io::Error::other)?;
    }
    archive.finish().map_err(io::Error::other)?.flush()
}

/// Uses an archive from now on, before those that are found by themselves: `VCYCLE_KERNELS`, and `vcycle.kernels` beside
/// the program.
///
/// # Errors
/// When it cannot be read or is no archive.
pub fn add_archive(path: &Path) -> io::Result<()> {
    let archive = Archive::open(path)?;
    lock(archives()).insert(0, archive);
    Ok(())
}

/// The code of a program in the first archive that has it.
pub(crate) fn find(source: &Source, target: &str) -> Option<Vec<u8>> {
    let archives = lock(archives());
    if archives.is_empty() {
        return None;
    }
    let key = key(source, target);
    archives.iter().find_map(|archive| archive.code(key))
}

fn archives() -> &'static Mutex<Vec<Archive>> {
    static ARCHIVES: OnceLock<Mutex<Vec<Archive>>> = OnceLock::new();
    ARCHIVES.get_or_init(|| {
        let open = places().into_iter().map(|path| Archive::open(&path));
        Mutex::new(open.filter_map(io::Result::ok).collect())
    })
}

/// Fails where `VCYCLE_KERNELS` names a file that cannot be used. Those that are found by themselves are passed over.
pub(crate) fn check_named() -> Result<()> {
    named().map_or(Ok(()), |path| check(&path))
}

fn check(path: &Path) -> Result<()> {
    Archive::open(path)
        .map(drop)
        .map_err(|error| Error::Archive {
            path: path.to_owned(),
            problem: error.to_string(),
        })
}

fn named() -> Option<PathBuf> {
    let path = std::env::var_os("VCYCLE_KERNELS").filter(|path| !path.is_empty());
    path.map(PathBuf::from)
}

/// Where archives are looked for.
fn places() -> Vec<PathBuf> {
    let program = std::env::current_exe().ok();
    let folder = program.as_deref().and_then(Path::parent);
    let beside = folder.map(|folder| folder.join(NAME));
    let shared = folder.and_then(Path::parent);
    let shared = shared.map(|prefix| prefix.join("share/vcycle").join(NAME));
    let all = [named(), beside, shared];
    all.into_iter().flatten().collect()
}

fn key(source: &Source, target: &str) -> u128 {
    let fixed = [
        env!("CARGO_PKG_VERSION"),
        target,
        &source.file,
        &source.text,
    ];
    let defines = source.defines.iter().map(String::as_str);
    hash::of_parts(fixed.into_iter().chain(defines))
}

impl Archive {
    fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        Self::read(file).map_err(|error| {
            let path = path.display();
            io::Error::other(format!("{path} is no archive of kernels: {error}"))
        })
    }

    fn read(file: File) -> std::result::Result<Self, rawzip::Error> {
        let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
        let zip = ZipArchive::from_file(file, &mut buffer)?;
        let mut places = HashMap::new();
        let mut entries = zip.entries(&mut buffer);
        while let Some(entry) = entries.next_entry()? {
            let path = entry.file_path();
            let name = std::str::from_utf8(path.as_ref()).unwrap_or_default();
            let is_ours = entry.compression_method() == CompressionMethod::DEFLATE;
            if let (true, Ok(key)) = (is_ours, u128::from_str_radix(name, 16)) {
                places.insert(key, entry.wayfinder());
            }
        }
        Ok(Self { zip, places })
    }

    /// `None` where there is none, or it is damaged.
    fn code(&self, key: u128) -> Option<Vec<u8>> {
        let entry = self.zip.get_entry(*self.places.get(&key)?).ok()?;
        let mut code = Vec::new();
        let inflated = DeflateDecoder::new(entry.reader());
        entry
            .verifying_reader(inflated)
            .read_to_end(&mut code)
            .ok()?;
        let code = code.strip_prefix(key.to_le_bytes().as_slice())?;
        Some(code.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(define: &str) -> Source {
        Source {
            file: "one.c".into(),
            text: "text".into(),
            defines: vec![define.into()],
        }
    }

    fn compiled(define: &str, target: &str, code: &[u8]) -> Compiled {
        Compiled {
            source: source(define),
            target: target.into(),
            code: code.to_vec(),
        }
    }

    fn written(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("vcycle-{}-{name}", std::process::id()));
        let programs = [
            compiled("A=1", "sm_80", b"one"),
            compiled("A=1", "sm_90", b"two"),
            compiled("A=2", "sm_90", &[7; 10_000]),
        ];
        write_archive(&path, &programs).unwrap();
        path
    }

    #[test]
    fn programs_are_found_by_source_and_target() {
        let path = written("found.kernels");
        let archive = Archive::open(&path).unwrap();
        let code = |define, target| archive.code(key(&source(define), target));
        assert_eq!(code("A=1", "sm_80").unwrap(), b"one");
        assert_eq!(code("A=1", "sm_90").unwrap(), b"two");
        assert_eq!(code("A=2", "sm_90").unwrap(), [7; 10_000]);
        assert_eq!(code("A=2", "sm_80"), None);
        assert!(fs::metadata(&path).unwrap().len() < 1_000, "compressed");
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn an_archive_that_was_added_is_used() {
        let path = written("added.kernels");
        add_archive(&path).unwrap();
        assert_eq!(find(&source("A=1"), "sm_90").unwrap(), b"two");
        assert_eq!(find(&source("A=1"), "gfx90a"), None);
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn damage_is_noticed() {
        let path = written("damaged.kernels");
        let whole = fs::read(&path).unwrap();
        let key = key(&source("A=2"), "sm_90");
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&path, &bytes).unwrap();
            let code = Archive::open(&path).ok().and_then(|it| it.code(key));
            assert!(code.is_none_or(|code| code == [7; 10_000]), "byte {at}");
        }
        for length in [0, 5, 20, whole.len() - 1] {
            fs::write(&path, &whole[..length]).unwrap();
            let code = Archive::open(&path).ok().and_then(|it| it.code(key));
            assert_eq!(code, None, "{length} bytes");
        }
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn members_under_other_names_are_ignored() {
        let path = written("renamed.kernels");
        let mut bytes = fs::read(&path).unwrap();
        let [one, other] =
            ["sm_80", "sm_90"].map(|target| format!("{:032x}", key(&source("A=1"), target)));
        for at in 0..bytes.len() - 32 {
            if bytes[at..at + 32] == *one.as_bytes() {
                bytes[at..at + 32].copy_from_slice(other.as_bytes());
            } else if bytes[at..at + 32] == *other.as_bytes() {
                bytes[at..at + 32].copy_from_slice(one.as_bytes());
            }
        }
        fs::write(&path, bytes).unwrap();
        let archive = Archive::open(&path).unwrap();
        for target in ["sm_80", "sm_90"] {
            assert_eq!(archive.code(key(&source("A=1"), target)), None);
        }
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn an_archive_that_is_named_and_missing_is_told() {
        let error = check(Path::new("missing.kernels")).unwrap_err().to_string();
        assert!(
            error.contains("VCYCLE_KERNELS names missing.kernels"),
            "{error}"
        );
    }

    #[test]
    fn a_file_of_another_kind_is_refused() {
        let path = std::env::temp_dir().join(format!("vcycle-{}-other", std::process::id()));
        fs::write(&path, "something else entirely").unwrap();
        let error = add_archive(&path).unwrap_err().to_string();
        assert!(error.contains("no archive of kernels"), "{error}");
        fs::remove_file(path).unwrap();
    }
}
