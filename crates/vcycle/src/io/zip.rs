//! The part of the zip format that NumPy archives use.
//!
//! The format: PKWARE APPNOTE 6.3, sections 4.3 and 4.5.3. A reader of files from anywhere must not panic, nor take the
//! memory that a header claims: `tests/read_fuzz.rs` sees to that.
//!
//! The crate `zip` (9.2.2, with `deflate-flate2` alone) is not known to lack anything: it refused a directory with more
//! members than the file can hold, and a member longer than it says. It is not used because of what it costs every
//! build: six more crates (`zip`, `typed-path`, `indexmap`, `hashbrown`, `equivalent`, `getrandom`) beside the 45 of
//! others that the library has with its default features, for the two methods that NumPy uses.

use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crc32fast::Hasher;

use super::memory::reserve;
use crate::error::Problem;

pub(super) const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END_64: u32 = 0x0606_4b50;
const LOCATOR_64: u32 = 0x0706_4b50;
/// Length of the end record without comment, and of the locator that may precede it.
const END_LENGTH: usize = 22;
const LOCATOR_LENGTH: usize = 20;
/// Length of a local header without name and extra field.
const LOCAL_LENGTH: usize = 30;
/// In a 32-bit field: look into the 64-bit extra field.
const SEE_EXTRA: u32 = u32::MAX;
const EXTRA_64: u16 = 1;
const VERSION: u16 = 45;
/// 1 January 1980, the earliest date the format can hold.
const DATE: u16 = 0x21;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// Deflate cannot shrink by more.
const DEFLATE_RATIO: u64 = 1032;

fn wrong(reason: &str) -> Problem {
    Problem::Array(format!("not a valid archive: {reason}"))
}

/// An archive opened for reading.
pub(super) struct Archive {
    file: Box<dyn Source>,
    length: u64,
    members: Vec<Member>,
}

/// What an archive is read from.
trait Source: Read + Seek {}

impl<S: Read + Seek> Source for S {}

struct Member {
    name: Vec<u8>,
    method: u16,
    checksum: u32,
    packed: u64,
    size: u64,
    start: u64,
}

impl Archive {
    pub(super) fn open(path: &Path) -> Result<Self, Problem> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Self::read(Box::new(file), length)
    }

    /// An archive in memory.
    pub(super) fn of_bytes(bytes: Vec<u8>) -> Result<Self, Problem> {
        let length = bytes.len() as u64;
        Self::read(Box::new(Cursor::new(bytes)), length)
    }

    /// Bytes that a member says it has, unpacked.
    pub(super) fn size_of(&self, name: &str) -> Option<usize> {
        let found = self.members.iter().find(|m| m.name == name.as_bytes());
        found.and_then(|member| usize::try_from(member.size).ok())
    }

    /// Bytes of the archive.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    fn read(file: Box<dyn Source>, length: u64) -> Result<Self, Problem> {
        let members = Vec::new();
        let mut archive = Self {
            file,
            length,
            members,
        };
        let (start, size) = archive.directory()?;
        let bytes = archive.bytes(start, size)?;
        let mut fields = Fields(&bytes);
        while !fields.0.is_empty() {
            archive.members.push(Member::read(&mut fields)?);
        }
        Ok(archive)
    }

    /// The contents of one member, if there is one of this name.
    pub(super) fn member(&mut self, name: &str) -> Result<Option<Vec<u8>>, Problem> {
        let found = self.members.iter().find(|m| m.name == name.as_bytes());
        let Some(&Member {
            method,
            checksum,
            packed,
            size,
            start,
            ..
        }) = found
        else {
            return Ok(None);
        };
        let header = self.bytes(start, LOCAL_LENGTH as u64)?;
        let mut fields = Fields(&header);
        fields.expect(LOCAL)?;
        fields.take(22)?;
        let names = u64::from(fields.u16()?) + u64::from(fields.u16()?);
        let data = start + LOCAL_LENGTH as u64 + names;
        let ratio = if method == DEFLATED { DEFLATE_RATIO } else { 1 };
        if packed > self.length || size > packed.saturating_mul(ratio) {
            return Err(wrong("a member is larger than the file"));
        }
        self.file.seek(SeekFrom::Start(data))?;
        let packed = (&mut self.file).take(packed);
        let contents = match method {
            STORED => read_exactly(packed, size)?,
            DEFLATED => inflated(packed, size)?,
            _ => return Err(wrong("unknown compression method")),
        };
        match crc32fast::hash(&contents) == checksum {
            true => Ok(Some(contents)),
            false => Err(wrong("checksum of a member differs")),
        }
    }

    /// Start and length of the central directory.
    fn directory(&mut self) -> Result<(u64, u64), Problem> {
        let most = (END_LENGTH + usize::from(u16::MAX)) as u64;
        let tail_start = self.length.saturating_sub(most);
        let tail = self.bytes(tail_start, self.length - tail_start)?;
        let end = tail
            .windows(END_LENGTH)
            .rposition(|window| window.starts_with(&END.to_le_bytes()))
            .ok_or_else(|| wrong("it has no end record"))?;
        let mut fields = Fields(&tail[end..]);
        fields.take(12)?;
        let (size, start) = (fields.u32()?, fields.u32()?);
        if start != SEE_EXTRA && size != SEE_EXTRA {
            return Ok((u64::from(start), u64::from(size)));
        }
        let locator = (tail_start + end as u64).checked_sub(LOCATOR_LENGTH as u64);
        let locator = locator.ok_or_else(|| wrong("it has no 64-bit end record"))?;
        self.directory_64(locator)
    }

    fn directory_64(&mut self, locator: u64) -> Result<(u64, u64), Problem> {
        let bytes = self.bytes(locator, LOCATOR_LENGTH as u64)?;
        let mut fields = Fields(&bytes);
        fields.expect(LOCATOR_64)?;
        fields.take(4)?;
        let bytes = self.bytes(fields.u64()?, 56)?;
        let mut fields = Fields(&bytes);
        fields.expect(END_64)?;
        fields.take(36)?;
        let (size, start) = (fields.u64()?, fields.u64()?);
        Ok((start, size))
    }

    fn bytes(&mut self, start: u64, length: u64) -> Result<Vec<u8>, Problem> {
        if start
            .checked_add(length)
            .is_none_or(|end| end > self.length)
        {
            return Err(Problem::Truncated);
        }
        self.file.seek(SeekFrom::Start(start))?;
        read_exactly((&mut self.file).take(length), length)
    }
}

impl Member {
    /// Reads one record of the central directory.
    fn read(fields: &mut Fields<'_>) -> Result<Self, Problem> {
        fields.expect(CENTRAL)?;
        fields.take(6)?;
        let method = fields.u16()?;
        fields.take(4)?;
        let checksum = fields.u32()?;
        let (packed, size) = (fields.u32()?, fields.u32()?);
        let lengths = [fields.u16()?, fields.u16()?, fields.u16()?];
        fields.take(8)?;
        let start = fields.u32()?;
        let name = fields.take(usize::from(lengths[0]))?.to_vec();
        let mut extra = extra_64(Fields(fields.take(usize::from(lengths[1]))?))?;
        fields.take(usize::from(lengths[2]))?;
        // The extra field has, in this order, those that do not fit 32 bits.
        let mut wide = |field: u32| match field {
            SEE_EXTRA => extra.u64(),
            field => Ok(u64::from(field)),
        };
        let (size, packed, start) = (wide(size)?, wide(packed)?, wide(start)?);
        Ok(Self {
            name,
            method,
            checksum,
            packed,
            size,
            start,
        })
    }
}

/// The 64-bit part of an extra field; empty where there is none.
fn extra_64(mut extra: Fields<'_>) -> Result<Fields<'_>, Problem> {
    while extra.0.len() >= 4 {
        let (id, length) = (extra.u16()?, extra.u16()?);
        let contents = extra.take(usize::from(length))?;
        if id == EXTRA_64 {
            return Ok(Fields(contents));
        }
    }
    Ok(Fields(&[]))
}

/// All of a stream, which must have `length` bytes.
fn read_exactly(stream: impl Read, length: u64) -> Result<Vec<u8>, Problem> {
    let mut bytes = reserve(usize::try_from(length).unwrap_or(usize::MAX))?;
    stream.take(length).read_to_end(&mut bytes)?;
    match bytes.len() as u64 == length {
        true => Ok(bytes),
        false => Err(Problem::Truncated),
    }
}

#[cfg(feature = "gzip")]
fn inflated(packed: impl Read, size: u64) -> Result<Vec<u8>, Problem> {
    read_exactly(flate2::read::DeflateDecoder::new(packed), size)
}

#[cfg(not(feature = "gzip"))]
fn inflated(_packed: impl Read, _size: u64) -> Result<Vec<u8>, Problem> {
    Err(Problem::LeftOut {
        format: "compressed .npz",
        feature: "gzip",
    })
}

/// Little-endian fields of a record.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Problem> {
        let (head, rest) = self.0.split_at_checked(length).ok_or(Problem::Truncated)?;
        self.0 = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Problem> {
        let (head, rest) = self.0.split_first_chunk().ok_or(Problem::Truncated)?;
        self.0 = rest;
        Ok(*head)
    }

    fn u16(&mut self) -> Result<u16, Problem> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, Problem> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, Problem> {
        self.array().map(u64::from_le_bytes)
    }

    fn expect(&mut self, signature: u32) -> Result<(), Problem> {
        match self.u32()? == signature {
            true => Ok(()),
            false => Err(wrong("a record has another signature")),
        }
    }
}

/// An archive being written: members stored as they are, all sizes in 64 bits.
pub(super) struct Writer<'a> {
    out: &'a mut dyn Write,
    position: u64,
    directory: Vec<u8>,
    members: u16,
}

/// The bytes of a record.
#[derive(Default)]
struct RecordBytes(Vec<u8>);

impl RecordBytes {
    fn u16(mut self, values: &[u16]) -> Self {
        values
            .iter()
            .for_each(|value| self.0.extend(value.to_le_bytes()));
        self
    }

    fn u32(mut self, values: &[u32]) -> Self {
        values
            .iter()
            .for_each(|value| self.0.extend(value.to_le_bytes()));
        self
    }

    fn u64(mut self, values: &[u64]) -> Self {
        values
            .iter()
            .for_each(|value| self.0.extend(value.to_le_bytes()));
        self
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }
}

/// Counts and checks what is written to it.
struct Checksum(Hasher, u64);

impl Write for Checksum {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        self.1 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> Writer<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self {
            out,
            position: 0,
            directory: Vec::new(),
            members: 0,
        }
    }

    /// Adds a member. `fill` is called twice: its checksum stands before it.
    pub(super) fn member(
        &mut self,
        name: &str,
        fill: impl Fn(&mut dyn Write) -> std::io::Result<()>,
    ) -> Result<(), Problem> {
        let mut sum = Checksum(Hasher::new(), 0);
        fill(&mut sum)?;
        let (checksum, size) = (sum.0.finalize(), sum.1);
        let start = self.position;
        let common = |record: RecordBytes, extra: u16| {
            record
                .u16(&[VERSION, 0, STORED, 0, DATE])
                .u32(&[checksum, SEE_EXTRA, SEE_EXTRA])
                .u16(&[name.len() as u16, extra])
        };
        let local = common(RecordBytes::default().u32(&[LOCAL]), 20)
            .bytes(name.as_bytes())
            .u16(&[EXTRA_64, 16])
            .u64(&[size, size]);
        let central = common(RecordBytes::default().u32(&[CENTRAL]).u16(&[VERSION]), 28)
            .u16(&[0, 0, 0])
            .u32(&[0, SEE_EXTRA])
            .bytes(name.as_bytes())
            .u16(&[EXTRA_64, 24])
            .u64(&[size, size, start]);
        self.out.write_all(&local.0)?;
        fill(self.out)?;
        self.position += local.0.len() as u64 + size;
        self.directory.extend(central.0);
        self.members += 1;
        Ok(())
    }

    /// Writes the directory.
    pub(super) fn finish(self) -> Result<(), Problem> {
        let size = self.directory.len() as u64;
        let members = u64::from(self.members);
        let end = RecordBytes::default()
            .u32(&[END_64])
            .u64(&[44])
            .u16(&[VERSION, VERSION])
            .u32(&[0, 0])
            .u64(&[members, members, size, self.position])
            .u32(&[LOCATOR_64, 0])
            .u64(&[self.position + size])
            .u32(&[1, END])
            .u16(&[0, 0, self.members, self.members])
            .u32(&[SEE_EXTRA, SEE_EXTRA])
            .u16(&[0]);
        self.out.write_all(&self.directory)?;
        Ok(self.out.write_all(&end.0)?)
    }
}
