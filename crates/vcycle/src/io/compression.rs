//! Compressed streams, recognised by the extension of the file name or by their first bytes. Each format is a feature of the crate; one that
//! was left out is an error that names the feature.

use std::fs::File;
#[cfg(any(feature = "gzip", feature = "xz"))]
use std::io::BufReader;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::new_file::NewFile;
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

/// A format that files are compressed in.
struct Format {
    kind: Compression,
    /// At the end of file names.
    extension: &'static str,
    /// What streams begin with.
    magic: &'static [u8],
    feature: &'static str,
    /// None where the feature was left out.
    codec: Option<Codec>,
}

/// Memory that a stream of xz may ask for to be decompressed; the strongest preset takes 65 MiB.
#[cfg(feature = "xz")]
const XZ_MEMORY: u64 = 512 << 20;
/// Presets above this one gain little on numbers and take minutes on large matrices.
#[cfg(feature = "xz")]
const XZ_PRESET: u32 = 3;
/// That of the command line of zstd.
#[cfg(feature = "zstd")]
const ZSTD_LEVEL: i32 = 0;

/// A format: how it decodes a file, and its encoder of an output. Joined streams are decoded, too.
macro_rules! compressed {
    ($kind:ident, $extension:literal, $magic:literal, $feature:literal, |$file:ident| $decode:expr, |$out:ident| $encode:expr) => {
        Format {
            kind: Compression::$kind,
            extension: $extension,
            magic: $magic,
            feature: $feature,
            #[cfg(feature = $feature)]
            codec: Some(Codec {
                decode: |$file| Ok(Box::new($decode)),
                encode: |$out, fill| {
                    let mut encoder = $encode;
                    fill(&mut encoder)?;
                    encoder.finish()?;
                    Ok(())
                },
            }),
            #[cfg(not(feature = $feature))]
            codec: None,
        }
    };
}

/// All formats. The one of zstd is the C library, at the price of its build: of the crates without C that Rust 1.90 compiles,
/// `ruzstd` 0.9 takes three times as long to decompress a matrix and four times as long to compress it into a file twice the
/// size.
const FORMATS: [Format; 3] = [
    compressed!(
        Gzip,
        ".gz",
        b"\x1f\x8b",
        "gzip",
        |file| flate2::read::MultiGzDecoder::new(BufReader::new(file)),
        |out| flate2::write::GzEncoder::new(out, flate2::Compression::default())
    ),
    compressed!(
        Xz,
        ".xz",
        b"\xfd7zXZ\0",
        "xz",
        |file| liblzma::read::XzDecoder::new_stream(BufReader::new(file), xz_stream()?),
        |out| liblzma::write::XzEncoder::new(out, XZ_PRESET)
    ),
    compressed!(
        Zstd,
        ".zst",
        b"\x28\xb5\x2f\xfd",
        "zstd",
        |file| zstd::Decoder::new(file)?,
        |out| zstd::Encoder::new(out, ZSTD_LEVEL)?
    ),
];

#[cfg(feature = "xz")]
fn xz_stream() -> std::io::Result<liblzma::stream::Stream> {
    use liblzma::stream::{CONCATENATED, Stream};
    Ok(Stream::new_stream_decoder(XZ_MEMORY, CONCATENATED)?)
}

impl Format {
    fn codec(self) -> Result<Codec, Problem> {
        self.codec.ok_or(Problem::LeftOut {
            format: self.extension,
            feature: self.feature,
        })
    }
}

impl Compression {
    /// By the last extension of a lower-case file name, and the name without it.
    pub(super) fn of(name: &str) -> (Self, &str) {
        let mut formats = FORMATS.iter();
        let found = formats.find_map(|one| Some((one.kind, name.strip_suffix(one.extension)?)));
        found.unwrap_or((Self::None, name))
    }

    /// By the first bytes of a stream.
    pub(super) fn of_bytes(head: &[u8]) -> Self {
        let found = FORMATS.iter().find(|one| head.starts_with(one.magic));
        found.map_or(Self::None, |one| one.kind)
    }

    fn codec(self) -> Result<Codec, Problem> {
        let found = FORMATS.into_iter().find(|one| one.kind == self);
        let plain = Codec {
            decode: |file| Ok(Box::new(file)),
            encode: |file, fill| fill(file),
        };
        found.map_or(Ok(plain), Format::codec)
    }
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
    let mut file = NewFile::create(path).map_err(Problem::Unwritable)?;
    (codec.encode)(&mut file, Box::new(fill))?;
    Ok(file.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_that_was_left_out_names_its_feature() {
        for format in FORMATS {
            let wanted = format!("build it with the feature `{}`", format.feature);
            let left_out = Format {
                codec: None,
                ..format
            };
            let message = left_out.codec().err().expect("it has no codec").to_string();
            assert!(message.ends_with(&wanted), "{message}");
        }
    }
}
