//! Permeabilities of rock: measured ones of a folder, or made ones.

use std::io::Read;
use std::path::Path;

use liblzma::read::XzDecoder;

use super::super::spec::bad;
use super::noise;
use crate::error::Result;

/// Cells along x, y and z of the two layers of the tenth SPE comparative solution project, model 2.
const SIZE: [usize; 3] = [60, 220, 2];
const FILES: [&str; 3] = [
    "spe10_layers84_85_permx.geos.xz",
    "spe10_layers84_85_permy.geos.xz",
    "spe10_layers84_85_permz.geos.xz",
];

/// Along x, y and z, in millidarcy.
pub(super) enum Permeability {
    /// Of layers 84 and 85 of SPE10, tiled.
    Measured([Vec<f64>; 3]),
    /// Channels in tight rock, like those.
    Made,
}

impl Permeability {
    /// The measured fields of a folder.
    pub(super) fn read(folder: &str) -> Result<Self> {
        let [x, y, z] = FILES.map(|name| read(&Path::new(folder).join(name)));
        Ok(Self::Measured([x?, y?, z?]))
    }

    /// Of a cell along the axes.
    pub(super) fn at(&self, cell: [usize; 3]) -> [f64; 3] {
        match self {
            Self::Made => made(cell),
            Self::Measured(fields) => {
                let [x, y, z] = [0, 1, 2].map(|axis| mirrored(cell[axis], SIZE[axis]));
                let place = x + SIZE[0] * (y + SIZE[1] * z);
                [0, 1, 2].map(|axis| fields[axis][place].max(1e-4))
            }
        }
    }
}

/// Every second tile is turned round, so that nothing jumps where tiles meet.
fn mirrored(place: usize, extent: usize) -> usize {
    let (tile, within) = (place / extent, place % extent);
    if tile % 2 == 0 {
        within
    } else {
        extent - 1 - within
    }
}

/// Winding channels of sand, thousands of millidarcy, in shale of some thousandths.
fn made(cell: [usize; 3]) -> [f64; 3] {
    let [x, y, z] = cell.map(|place| place as f64);
    let middle = 12.0 * (y / 23.0 + z / 7.0).sin() + 5.0 * (y / 11.0).cos();
    let from_channel = (x + 20.0 * (z / 5.0).floor() - middle).rem_euclid(30.0);
    let scatter = noise(cell, 7) - 0.5;
    let (exponent, vertical) = match from_channel < 10.0 {
        true => (2.5 + 1.5 * scatter, 0.3),
        false => (-1.0 + 3.0 * scatter, 1e-3),
    };
    let permeability = 10_f64.powf(exponent);
    [permeability, permeability, vertical * permeability]
}

fn read(path: &Path) -> Result<Vec<f64>> {
    let mut text = String::new();
    let read =
        std::fs::File::open(path).and_then(|file| XzDecoder::new(file).read_to_string(&mut text));
    if let Err(why) = read {
        return bad("folder", format!("{}: {why}", path.display()));
    }
    let numbers: Option<Vec<f64>> = text
        .split_whitespace()
        .map(|word| word.parse().ok())
        .collect();
    let expected: usize = SIZE.iter().product();
    match numbers {
        Some(numbers) if numbers.len() == expected => Ok(numbers),
        _ => bad(
            "folder",
            format!("{}: not {expected} numbers", path.display()),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_turned_round() {
        let places: Vec<usize> = (0..7).map(|place| mirrored(place, 3)).collect();
        assert_eq!(places, [0, 1, 2, 2, 1, 0, 0]);
    }

    #[test]
    fn measured_fields_are_read_and_others_refused() {
        assert!(Permeability::read("nowhere").is_err());
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/grids");
        if !Path::new(folder).join(FILES[0]).exists() {
            eprintln!("no {folder}: skipped");
            return;
        }
        let field = Permeability::read(folder).unwrap();
        assert_eq!(field.at([0, 0, 0])[0], 0.064542);
        assert_eq!(field.at([119, 439, 3]), field.at([0, 0, 0]));
    }
}
