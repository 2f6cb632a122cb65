//! Streams of xz, joined ones included.

use std::io::BufReader;

use liblzma::read::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};
use liblzma::write::XzEncoder;

use super::Codec;

/// Memory a stream may ask for to be decompressed; the strongest preset takes 65 MiB.
const MEMORY: u64 = 512 << 20;
/// Presets above this one gain little on numbers and take minutes on large matrices.
const PRESET: u32 = 3;

pub(super) const CODEC: Codec = Codec {
    decode: |file| {
        let stream = Stream::new_stream_decoder(MEMORY, CONCATENATED);
        let stream = stream.map_err(std::io::Error::from)?;
        Ok(Box::new(XzDecoder::new_stream(
            BufReader::new(file),
            stream,
        )))
    },
    encode: |out, fill| {
        let mut encoder = XzEncoder::new(out, PRESET);
        fill(&mut encoder)?;
        encoder.finish()?;
        Ok(())
    },
};
