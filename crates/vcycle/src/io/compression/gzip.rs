//! Gzip streams, joined ones included.

use std::io::BufReader;

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::Codec;

pub(super) const CODEC: Codec = Codec {
    decode: |file| Ok(Box::new(MultiGzDecoder::new(BufReader::new(file)))),
    encode: |out, fill| {
        let mut encoder = GzEncoder::new(out, Compression::default());
        fill(&mut encoder)?;
        encoder.finish()?;
        Ok(())
    },
};
