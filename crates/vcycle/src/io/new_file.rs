//! Files that are written as a whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A file that gets its name when it is complete: until then it is beside its place, and a write that fails leaves what was
/// there before. Devices and pipes are written to in place, and so is a file in a folder that takes no other.
///
/// ```
/// use std::io::Write;
/// use vcycle::io::NewFile;
/// # let path = std::env::temp_dir().join(format!("vcycle-new-file-{}", std::process::id()));
/// let mut file = NewFile::create(&path)?;
/// file.write_all(b"all of it")?;
/// assert!(!path.exists());
/// file.finish()?;
/// assert_eq!(std::fs::read(&path)?, b"all of it");
/// # std::fs::remove_file(path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct NewFile {
    out: BufWriter<File>,
    /// Where it is and where it belongs; none where it is written in place.
    moves: Option<Move>,
}

#[derive(Debug)]
struct Move {
    from: PathBuf,
    to: PathBuf,
}

impl NewFile {
    /// For a path that may or may not exist.
    pub fn create(path: &Path) -> io::Result<Self> {
        let there = match OpenOptions::new().write(true).open(path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let facts = there.as_ref().map(File::metadata).transpose()?;
        match there {
            Some(file) if !facts.as_ref().is_some_and(fs::Metadata::is_file) => {
                return Ok(Self::in_place(file));
            }
            // A link that leads nowhere: what it names is made.
            None if path.symlink_metadata().is_ok() => {
                return File::create(path).map(Self::in_place);
            }
            _ => {}
        }
        // A link stays one: the file that it names is replaced.
        let to = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let from = beside(&to);
        let Ok(file) = OpenOptions::new().write(true).create_new(true).open(&from) else {
            return File::create(path).map(Self::in_place);
        };
        let moves = Some(Move { from, to });
        let new = Self {
            out: BufWriter::new(file),
            moves,
        };
        if let Some(facts) = facts {
            new.out.get_ref().set_permissions(facts.permissions())?;
        }
        Ok(new)
    }

    fn in_place(file: File) -> Self {
        Self {
            out: BufWriter::new(file),
            moves: None,
        }
    }

    /// Writes what is left and gives the file its name.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()?;
        match &self.moves {
            Some(moves) => fs::rename(&moves.from, &moves.to)?,
            None => return Ok(()),
        }
        self.moves = None;
        Ok(())
    }
}

/// A name in the same folder that nothing has.
fn beside(path: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    path.with_file_name(format!(".{name}.{}-{number}.part", std::process::id()))
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(moves) = &self.moves {
            // It was given up, for a reason that has been reported.
            let _ = fs::remove_file(&moves.from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("vcycle-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn what_is_given_up_leaves_the_old_file_and_nothing_else() {
        let folder = folder("given-up");
        let path = folder.join("x.mtx");
        fs::write(&path, "old").unwrap();
        let mut file = NewFile::create(&path).unwrap();
        file.write_all(b"half of").unwrap();
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = folder("links");
        let (path, link, nowhere) = (folder.join("x"), folder.join("link"), folder.join("to"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&path, &link).unwrap();
        symlink(folder.join("made"), &nowhere).unwrap();
        for place in [&link, &nowhere] {
            let mut file = NewFile::create(place).unwrap();
            file.write_all(b"new").unwrap();
            file.finish().unwrap();
            assert!(place.symlink_metadata().unwrap().is_symlink());
            assert_eq!(fs::read(place).unwrap(), b"new");
        }
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_device_fails_and_is_no_file() {
        let mut file = NewFile::create(Path::new("/dev/full")).unwrap();
        file.write_all(b"more than none").unwrap();
        assert_eq!(file.finish().unwrap_err().kind(), ErrorKind::StorageFull);
    }
}
