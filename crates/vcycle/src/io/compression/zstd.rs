//! Zstandard streams.
//!
//! The C library, at the price of its build: of the crates without C that Rust 1.90 compiles, `ruzstd` 0.9 takes
//! three times as long to decompress a matrix and four times as long to compress it into a file twice the size.

use ::zstd::{Decoder, Encoder};

use super::Codec;

/// That of the command line of zstd.
const DEFAULT_LEVEL: i32 = 0;

pub(super) const CODEC: Codec = Codec {
    decode: |file| Ok(Box::new(Decoder::new(file)?)),
    encode: |out, fill| {
        let mut encoder = Encoder::new(out, DEFAULT_LEVEL)?;
        fill(&mut encoder)?;
        encoder.finish()?;
        Ok(())
    },
};
