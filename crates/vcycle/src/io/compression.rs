//! Compressed streams, told by the extension of the file name.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use liblzma::read::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};
use liblzma::write::XzEncoder;

use crate::error::Problem;

/// Memory an xz stream may ask for to be decompressed; the strongest preset takes 65 MiB.
const XZ_MEMORY: u64 = 512 << 20;
/// Presets above this one gain little on numbers and take minutes on large matrices.
const XZ_PRESET: u32 = 3;

/// How a stream is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
    Xz,
    Zstd,
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
}

/// A file opened for reading, decompressed.
pub(super) fn open(
    path: &Path,
    compression: Compression,
) -> Result<(Box<dyn Read + Send>, Meter), Problem> {
    let file = File::open(path)?;
    let facts = file.metadata()?;
    let meter = Meter {
        length: facts.len(),
        text_length: (facts.is_file() && compression == Compression::None).then_some(facts.len()),
        taken: Arc::default(),
    };
    let taken = Arc::clone(&meter.taken);
    Ok((decoder(Counted { file, taken }, compression)?, meter))
}

/// How much of a file has been read.
pub(super) struct Meter {
    /// Bytes of the file, compressed.
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

fn decoder(file: Counted, compression: Compression) -> Result<Box<dyn Read + Send>, Problem> {
    Ok(match compression {
        Compression::None => Box::new(file),
        Compression::Gzip => Box::new(MultiGzDecoder::new(BufReader::new(file))),
        Compression::Xz => {
            let stream = Stream::new_stream_decoder(XZ_MEMORY, CONCATENATED)
                .map_err(std::io::Error::from)?;
            Box::new(XzDecoder::new_stream(BufReader::new(file), stream))
        }
        Compression::Zstd => Box::new(zstd::Decoder::new(file)?),
    })
}

/// A file that counts the bytes read from it.
struct Counted {
    file: File,
    taken: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Creates a file and lets `write` fill it through the compressor.
pub(super) fn create(
    path: &Path,
    compression: Compression,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let mut file = BufWriter::new(File::create(path).map_err(Problem::Unwritable)?);
    match compression {
        Compression::None => write(&mut file)?,
        Compression::Gzip => {
            let mut encoder = GzEncoder::new(&mut file, flate2::Compression::default());
            write(&mut encoder)?;
            encoder.finish()?;
        }
        Compression::Xz => {
            let mut encoder = XzEncoder::new(&mut file, XZ_PRESET);
            write(&mut encoder)?;
            encoder.finish()?;
        }
        Compression::Zstd => {
            let mut encoder = zstd::Encoder::new(&mut file, 0)?;
            write(&mut encoder)?;
            encoder.finish()?;
        }
    }
    Ok(file.flush()?)
}
