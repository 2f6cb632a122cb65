//! Compressed streams, recognised by the extension of the file name or by their first bytes. Each format is a feature of the crate; one that
//! was left out is an error that names the feature.

#[cfg(feature = "gzip")]
mod gzip;
#[cfg(feature = "xz")]
mod xz;
#[cfg(feature = "zstd")]
mod zstd;

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Problem;

/// How a stream is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
    Xz,
    Zstd,
}

pub(super) type Reader = Box<dyn Read + Send>;
/// Writes the contents of a file.
type Fill<'f> = Box<dyn FnOnce(&mut dyn Write) -> Result<(), Problem> + 'f>;

/// What reads and what writes a format.
struct Codec {
    decode: fn(Counted) -> Result<Reader, Problem>,
    encode: fn(&mut dyn Write, Fill<'_>) -> Result<(), Problem>,
}

impl Compression {
    /// By the last extension of a lower-case file name, and the name without it.
    pub(super) fn of(name: &str) -> (Self, &str) {
        let known = [(".gz", Self::Gzip), (".xz", Self::Xz), (".zst", Self::Zstd)];
        known
            .iter()
            .find_map(|&(extension, kind)| Some((kind, name.strip_suffix(extension)?)))
            .unwrap_or((Self::None, name))
    }

    /// By the first bytes of a stream.
    pub(super) fn of_bytes(head: &[u8]) -> Self {
        let known: [(&[u8], Self); 3] = [
            (b"\x1f\x8b", Self::Gzip),
            (b"\xfd7zXZ\0", Self::Xz),
            (b"\x28\xb5\x2f\xfd", Self::Zstd),
        ];
        let found = known.iter().find(|(magic, _)| head.starts_with(magic));
        found.map_or(Self::None, |&(_, kind)| kind)
    }

    fn codec(self) -> Result<Codec, Problem> {
        match self {
            Self::None => Ok(Codec {
                decode: |file| Ok(Box::new(file)),
                encode: |file, fill| fill(file),
            }),
            #[cfg(feature = "gzip")]
            Self::Gzip => Ok(gzip::CODEC),
            #[cfg(not(feature = "gzip"))]
            Self::Gzip => Err(left_out(".gz", "gzip")),
            #[cfg(feature = "xz")]
            Self::Xz => Ok(xz::CODEC),
            #[cfg(not(feature = "xz"))]
            Self::Xz => Err(left_out(".xz", "xz")),
            #[cfg(feature = "zstd")]
            Self::Zstd => Ok(zstd::CODEC),
            #[cfg(not(feature = "zstd"))]
            Self::Zstd => Err(left_out(".zst", "zstd")),
        }
    }
}

#[cfg(not(all(feature = "gzip", feature = "xz", feature = "zstd")))]
fn left_out(format: &'static str, feature: &'static str) -> Problem {
    Problem::LeftOut { format, feature }
}

/// A file opened for reading, decompressed.
pub(super) fn open(path: &Path, compression: Compression) -> Result<(Reader, Meter), Problem> {
    // A format that was left out is reported before a file that is missing.
    let codec = compression.codec()?;
    let file = File::open(path)?;
    let facts = file.metadata()?;
    let known = (facts.is_file() && compression == Compression::None).then_some(facts.len());
    decoded(Box::new(file), &codec, facts.len(), known)
}

/// A stream of unknown length, decompressed.
pub(super) fn decode(stream: Reader, compression: Compression) -> Result<(Reader, Meter), Problem> {
    decoded(stream, &compression.codec()?, 0, None)
}

fn decoded(
    stream: Reader,
    codec: &Codec,
    length: u64,
    text_length: Option<u64>,
) -> Result<(Reader, Meter), Problem> {
    let meter = Meter {
        length,
        text_length,
        taken: Arc::default(),
    };
    let taken = Arc::clone(&meter.taken);
    Ok(((codec.decode)(Counted { stream, taken })?, meter))
}

/// How much of a file or stream has been read.
pub(super) struct Meter {
    /// Bytes of the file, compressed; 0 where that is unknown.
    pub(super) length: u64,
    /// Bytes of its contents, where they are known before reading.
    pub(super) text_length: Option<u64>,
    taken: Arc<AtomicU64>,
}

impl Meter {
    /// Bytes of the file that have been read so far.
    pub(super) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }
}

/// A stream that counts the bytes read from it.
struct Counted {
    stream: Reader,
    taken: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.stream.read(buffer)?;
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Creates a file and lets `fill` write into it through the compressor.
pub(super) fn create(
    path: &Path,
    compression: Compression,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let codec = compression.codec()?;
    let mut file = BufWriter::new(File::create(path).map_err(Problem::Unwritable)?);
    (codec.encode)(&mut file, Box::new(fill))?;
    Ok(file.flush()?)
}
