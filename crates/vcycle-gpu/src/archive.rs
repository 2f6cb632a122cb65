//! Kernels compiled ahead of time: one file of many programs, for several architectures.
//!
//! The file begins with a table: for each program the hash of its source and target, and where its code is. Code is
//! compressed and checked when it is read. A file that is missing or damaged costs compilations, nothing else.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::kernel::Source;
use crate::sync::lock;

const MAGIC: &[u8; 8] = b"vcycleA2";
/// Bytes of a row of the table: key, hash of the code, offset and length.
const ROW: usize = 16 + 16 + 8 + 8;
/// More programs than any archive has: a damaged count is noticed before memory is asked for.
const MOST: usize = 1 << 20;

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

/// Where the code of a program is.
#[derive(Clone, Copy, Debug)]
struct Place {
    hash: u128,
    offset: u64,
    length: u64,
}

/// An archive that is open for reading.
#[derive(Debug)]
struct Archive {
    file: Mutex<fs::File>,
    places: HashMap<u128, Place>,
}

/// Writes an archive; a file that is there is replaced when all is written.
///
/// # Errors
/// When the file cannot be written.
pub fn write_archive(path: &Path, programs: &[Compiled]) -> io::Result<()> {
    let mut table = Vec::new();
    let mut codes = Vec::new();
    let begin = MAGIC.len() + 8 + programs.len() * ROW;
    for program in programs {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&program.code)?;
        let code = encoder.finish()?;
        table.extend(key(&program.source, &program.target).to_le_bytes());
        table.extend(Hash::of(&code).to_le_bytes());
        table.extend(((begin + codes.len()) as u64).to_le_bytes());
        table.extend((code.len() as u64).to_le_bytes());
        codes.extend(code);
    }
    let count = (programs.len() as u64).to_le_bytes();
    let own = path.with_extension(format!("{}.new", std::process::id()));
    let written = fs::write(&own, [MAGIC.as_slice(), &count, &table, &codes].concat());
    let written = written.and_then(|()| fs::rename(&own, path));
    if written.is_err() {
        let _ = fs::remove_file(&own);
    }
    written
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
    Hash::of_parts(fixed.into_iter().chain(defines))
}

impl Archive {
    fn open(path: &Path) -> io::Result<Self> {
        let mut file = fs::File::open(path)?;
        let mut head = [0; MAGIC.len() + 8];
        file.read_exact(&mut head)?;
        let (magic, count) = head.split_at(MAGIC.len());
        let count = u64::from_le_bytes(array(count)) as usize;
        if magic != MAGIC || count > MOST {
            return Err(io::Error::other(format!(
                "{} is no archive of kernels of this version",
                path.display()
            )));
        }
        let mut table = vec![0; count * ROW];
        file.read_exact(&mut table)?;
        let places = table.chunks_exact(ROW).map(Place::read).collect();
        Ok(Self {
            file: Mutex::new(file),
            places,
        })
    }

    /// `None` where there is none, or it is damaged.
    fn code(&self, key: u128) -> Option<Vec<u8>> {
        let place = self.places.get(&key)?;
        let mut file = lock(&self.file);
        file.seek(SeekFrom::Start(place.offset)).ok()?;
        let mut code = Vec::new();
        (&mut *file)
            .take(place.length)
            .read_to_end(&mut code)
            .ok()?;
        if Hash::of(&code) != place.hash {
            return None;
        }
        let mut whole = Vec::new();
        ZlibDecoder::new(code.as_slice())
            .read_to_end(&mut whole)
            .ok()?;
        Some(whole)
    }
}

impl Place {
    /// A row of the table: the key and the place.
    fn read(row: &[u8]) -> (u128, Self) {
        let place = Self {
            hash: u128::from_le_bytes(array(&row[16..32])),
            offset: u64::from_le_bytes(array(&row[32..40])),
            length: u64::from_le_bytes(array(&row[40..48])),
        };
        (u128::from_le_bytes(array(&row[..16])), place)
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("as many bytes as the number has")
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
