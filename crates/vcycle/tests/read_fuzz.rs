//! Thousands of damaged files: a reader answers with a value or a typed error, never with a panic
//! and never by taking the memory that a damaged header asks for.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use vcycle::Error;
use vcycle::executor::Executor;
use vcycle::io::{self, MatrixReader};
use vcycle::matrix::{Csr, Duplicates};
use vcycle::vector::Vector;

/// No single allocation of a damaged small file may be larger: window of a zstd stream, offsets
/// of the most rows that are accepted without entries.
const LARGEST: usize = 160 << 20;

/// The system's allocator, remembering the largest request.
struct Watched;

static LARGEST_REQUEST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST_REQUEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: `layout` is not of size zero, a condition of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: `memory` came from the system's allocator with this layout.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// xorshift64*, seeded.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 11) as usize % limit.max(1)
    }
}

const SPLICES: [&[u8]; 16] = [
    b"0",
    b"-1",
    b"1000000000000",
    b"4294967295",
    b"18446744073709551616",
    b"nan",
    b"1e999",
    b"1e-999",
    b"\n",
    b" ",
    b"%",
    b"\xff\xfe",
    b"symmetric",
    b"array",
    b"complex",
    b"\xff\xff\xff\xff\xff\xff\xff\x7f",
];

/// One to four random injuries.
fn damage(original: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        let length = random.below(16).min(bytes.len() - at);
        match random.below(6) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            1 => drop(bytes.drain(at..at + length)),
            2 => {
                let copy = bytes[at..at + length].to_vec();
                bytes.splice(at..at, copy);
            }
            3 => bytes.truncate(at),
            4 => {
                let word = SPLICES[random.below(SPLICES.len())];
                bytes.splice(at..at + length, word.iter().copied());
            }
            _ => {
                let word = SPLICES[random.below(SPLICES.len())];
                let end = (at + word.len()).min(bytes.len());
                bytes[at..end].copy_from_slice(&word[..end - at]);
            }
        }
    }
    bytes
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{}-{name}", std::process::id()))
}

/// One test at a time: the largest request is that of the whole process.
static TURN: Mutex<()> = Mutex::new(());

/// Reads `count` damaged versions of a file as matrix and as vector.
fn read_damaged(name: &str, original: &[u8], seed: u64, count: usize) {
    let _turn = TURN.lock();
    LARGEST_REQUEST.store(0, Ordering::Relaxed);
    let executors = [
        Executor::reference(),
        Executor::cpu_with_threads(2).unwrap(),
    ];
    let mut summing = MatrixReader::default();
    summing.duplicates = Duplicates::Sum;
    let readers = [MatrixReader::default(), summing];
    let mut random = Random(seed);
    let path = path(name);
    let (mut read, mut refused) = (0, 0);
    for turn in 0..count {
        std::fs::write(&path, damage(original, &mut random)).unwrap();
        let executor = &executors[turn % 2];
        let matrix = readers[turn / 2 % 2].read(&path, executor, &mut |_| {});
        let vector = io::read_vector(&path, executor);
        for error in [matrix.err(), vector.err()] {
            match error {
                None => read += 1,
                Some(Error::File(_)) => refused += 1,
                Some(other) => panic!("not an error of a file: {other}"),
            }
        }
        // Writing over an old file waits for the disk on some file systems.
        std::fs::remove_file(&path).unwrap();
    }
    assert_eq!(read + refused, 2 * count);
    assert!(
        refused > count / 8,
        "the damage is too small to test anything"
    );
    let largest = LARGEST_REQUEST.load(Ordering::Relaxed);
    assert!(largest < LARGEST, "{name}: {largest} bytes were asked for");
}

const COORDINATE: &str = "%%MatrixMarket matrix coordinate real general\n% a comment\n4 5 6\n\
    1 1 1.0\n2 2 -2.5e-3\n3 3 1.0D+05\n4 4 12345678901234567890\n1 5 +7\n\n4 1 .5\n";
const HERMITIAN: &str = "%%MatrixMarket matrix coordinate complex hermitian\n3 3 4\n1 1 2 0\n2 2 3 0\n2 1 1 -1\n3 2 0 2\n";
const PATTERN: &str =
    "%%MatrixMarket matrix coordinate pattern symmetric\r\n3 3 3\r\n1 1\r\n2 1\r\n3 3\r\n";
const ARRAY: &str = "%%MatrixMarket matrix array real general\n3 2\n1\n2\n3\n4.5\n-5e-1\n0\n";
const TRIANGLE: &str = "%%MatrixMarket matrix array integer skew-symmetric\n3 3\n1\n2\n3\n";

#[test]
fn damaged_text() {
    for (seed, text) in [COORDINATE, HERMITIAN, PATTERN, ARRAY, TRIANGLE]
        .iter()
        .enumerate()
    {
        read_damaged("text.mtx", text.as_bytes(), seed as u64 + 1, 1500);
    }
}

#[test]
fn damaged_streams() {
    let text = COORDINATE.as_bytes();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 0);
    gzip.write_all(text).unwrap();
    xz.write_all(text).unwrap();
    let zstd = zstd::encode_all(text, 0).unwrap();
    read_damaged("stream.mtx.gz", &gzip.finish().unwrap(), 11, 800);
    read_damaged("stream.mtx.xz", &xz.finish().unwrap(), 12, 800);
    read_damaged("stream.mtx.zst", &zstd, 13, 800);
}

/// Compressed again after the damage, so that the text and not the checksum is at fault.
#[test]
fn damaged_text_in_good_streams() {
    let mut random = Random(14);
    for _ in 0..300 {
        let text = damage(COORDINATE.as_bytes(), &mut random);
        let path = path("recompressed.mtx.zst");
        std::fs::write(&path, zstd::encode_all(text.as_slice(), 0).unwrap()).unwrap();
        let result = io::load_matrix(&path, &Executor::reference());
        assert!(matches!(result, Ok(_) | Err(Error::File(_))));
        std::fs::remove_file(&path).unwrap();
    }
}

/// The bytes of a file that is written.
fn written(name: &str, write: impl FnOnce(&Path) -> vcycle::Result<()>) -> Vec<u8> {
    let path = path(name);
    write(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    bytes
}

#[test]
fn damaged_archives_and_arrays() {
    let host = Executor::reference();
    let a = Csr::diagonal_matrix(&host, vec![1.0, 2.0, 3.0]);
    let archive = written("original.npz", |path| io::write_matrix(path, &a));
    read_damaged("archive.npz", &archive, 15, 3000);
    let x = Vector::from_rows(&host, 2, vec![1.0, 2.0, 3.0, 4.0]).unwrap();
    let array = written("original.npy", |path| io::write_vector(path, &x));
    read_damaged("array.npy", &array, 16, 2000);
}

/// A header of 4 GiB, and an array of 8 TiB, in files of a hundred bytes.
#[test]
fn arrays_that_claim_more_than_there_is() {
    let _turn = TURN.lock();
    LARGEST_REQUEST.store(0, Ordering::Relaxed);
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,), }";
    let length = (header.len() as u16).to_le_bytes();
    let array = [
        b"\x93NUMPY\x01\x00".as_slice(),
        &length,
        header.as_bytes(),
        &[0; 16],
    ];
    let long_header = [b"\x93NUMPY\x02\x00".as_slice(), &[0xff; 4], &[b' '; 80]];
    let path = path("claims.npy");
    for bytes in [array.concat(), long_header.concat()] {
        std::fs::write(&path, bytes).unwrap();
        let result = io::read_vector(&path, &Executor::reference());
        assert!(matches!(result, Err(Error::File(_))));
    }
    std::fs::remove_file(&path).unwrap();
    assert!(LARGEST_REQUEST.load(Ordering::Relaxed) < LARGEST);
}
