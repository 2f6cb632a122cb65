//! Zip archives as NumPy writes them: members that are stored or deflated.
//!
//! `rawzip` reads and writes the format, and checks lengths and checksums. What it leaves to its callers is done here: a file
//! from anywhere must not make us take the memory that a header claims (`tests/read_fuzz.rs`).

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use rawzip::{
    CompressionMethod, ErrorKind, FileReader, RECOMMENDED_BUFFER_SIZE, ReaderAt, ZipArchive,
    ZipArchiveEntryWayfinder, ZipArchiveWriter, ZipLocator,
};

use super::memory::reserve;
use crate::error::Problem;

/// What an archive begins with.
pub(super) const SIGNATURE: &[u8] = b"PK\x03\x04";
/// Deflate cannot shrink by more.
const DEFLATE_RATIO: u64 = 1032;

fn wrong(reason: impl std::fmt::Display) -> Problem {
    Problem::Array(format!("not a valid archive: {reason}"))
}

fn problem(error: rawzip::Error) -> Problem {
    match error.into_kind() {
        ErrorKind::IO(error) => error.into(),
        ErrorKind::Eof | ErrorKind::InvalidSize { .. } => Problem::Truncated,
        kind => wrong(kind),
    }
}

/// An archive opened for reading.
pub(super) struct Archive {
    zip: ZipArchive<Box<dyn ReaderAt>>,
    length: u64,
    members: Vec<Member>,
}

struct Member {
    name: Vec<u8>,
    method: CompressionMethod,
    packed: u64,
    size: u64,
    place: ZipArchiveEntryWayfinder,
}

impl Archive {
    pub(super) fn open(path: &Path) -> Result<Self, Problem> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Self::read(Box::new(FileReader::from(file)), length)
    }

    /// An archive in memory.
    pub(super) fn of_bytes(bytes: Vec<u8>) -> Result<Self, Problem> {
        let length = bytes.len() as u64;
        Self::read(Box::new(bytes), length)
    }

    fn read(source: Box<dyn ReaderAt>, length: u64) -> Result<Self, Problem> {
        let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
        let zip = ZipLocator::new().locate_in_reader(source, &mut buffer, length);
        let zip = zip.map_err(|(_, error)| problem(error))?;
        let mut members = Vec::new();
        let mut entries = zip.entries(&mut buffer);
        while let Some(entry) = entries.next_entry().map_err(problem)? {
            members.push(Member {
                name: entry.file_path().as_ref().to_vec(),
                method: entry.compression_method(),
                packed: entry.compressed_size_hint(),
                size: entry.uncompressed_size_hint(),
                place: entry.wayfinder(),
            });
        }
        Ok(Self {
            zip,
            length,
            members,
        })
    }

    /// Bytes of the archive.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    fn find(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|m| m.name == name.as_bytes())
    }

    /// Bytes that a member says it has, unpacked.
    pub(super) fn size_of(&self, name: &str) -> Option<usize> {
        usize::try_from(self.find(name)?.size).ok()
    }

    /// The contents of one member, if there is one of this name.
    pub(super) fn member(&self, name: &str) -> Result<Option<Vec<u8>>, Problem> {
        let Some(&Member {
            method,
            packed,
            size,
            place,
            ..
        }) = self.find(name)
        else {
            return Ok(None);
        };
        let ratio = match method {
            CompressionMethod::STORE => 1,
            CompressionMethod::DEFLATE => DEFLATE_RATIO,
            _ => return Err(wrong("unknown compression method")),
        };
        if packed > self.length || size > packed.saturating_mul(ratio) {
            return Err(wrong("a member is larger than the file"));
        }
        let entry = self.zip.get_entry(place).map_err(problem)?;
        let stream: Box<dyn Read> = match method {
            CompressionMethod::DEFLATE => inflated(entry.reader())?,
            _ => Box::new(entry.reader()),
        };
        let mut contents = reserve(usize::try_from(size).unwrap_or(usize::MAX))?;
        let mut stream = entry.verifying_reader(stream).take(size);
        stream.read_to_end(&mut contents).map_err(unwrapped)?;
        Ok(Some(contents))
    }
}

/// What is wrong with the contents of a member: `rawzip` wraps its own errors into those of streams.
fn unwrapped(error: io::Error) -> Problem {
    match error.downcast::<rawzip::Error>() {
        Ok(error) => problem(error),
        Err(error) => error.into(),
    }
}

#[cfg(feature = "gzip")]
fn inflated<'a>(packed: impl Read + 'a) -> Result<Box<dyn Read + 'a>, Problem> {
    Ok(Box::new(flate2::read::DeflateDecoder::new(packed)))
}

#[cfg(not(feature = "gzip"))]
fn inflated<'a>(_packed: impl Read + 'a) -> Result<Box<dyn Read + 'a>, Problem> {
    Err(Problem::LeftOut {
        format: "compressed .npz",
        feature: "gzip",
    })
}

/// An archive being written, whose members are stored as they are.
pub(super) struct Writer<'a>(ZipArchiveWriter<&'a mut dyn Write>);

impl<'a> Writer<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self(ZipArchiveWriter::new(out))
    }

    /// Adds a member with what `fill` writes.
    pub(super) fn member(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Problem> {
        let member = self.0.new_file(name);
        let (mut entry, config) = member.start().map_err(problem)?;
        let mut data = config.wrap(&mut entry);
        fill(&mut data)?;
        let (_, descriptor) = data.finish().map_err(problem)?;
        entry.finish(descriptor).map_err(problem)?;
        Ok(())
    }

    /// Writes the directory.
    pub(super) fn finish(self) -> Result<(), Problem> {
        self.0.finish().map(drop).map_err(problem)
    }
}
