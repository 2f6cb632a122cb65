//! Permeabilities of rock: measured ones of a folder, or made ones.

use std::fs::File;
use std::path::Path;

use super::super::spec::bad;
use super::noise;
use crate::prelude::*;

/// Measured fields: cells along x, y and z, and the files with the permeabilities along these axes.
pub(super) struct Model {
    size: [usize; 3],
    files: [&'static str; 3],
}

/// Layers 84 and 85 of the tenth SPE comparative solution project, model 2.
pub(super) const SPE10: Model = Model {
    size: [60, 220, 2],
    files: [
        "spe10_layers84_85_permx.geos.xz",
        "spe10_layers84_85_permy.geos.xz",
        "spe10_layers84_85_permz.geos.xz",
    ],
};

/// A sector of a reservoir, of the Open Porous Media initiative; more than half of its cells are tight.
pub(super) const SECTOR: Model = Model {
    size: [15, 25, 134],
    files: [
        "opm_sector01_PERMX.GRDECL.xz",
        "opm_sector01_PERMY.GRDECL.xz",
        "opm_sector01_PERMZ.GRDECL.xz",
    ],
};

/// What tight rock is taken to be.
const TIGHT: f64 = 1e-4;

/// Along x, y and z, in millidarcy.
pub(super) enum Permeability {
    /// Of a box of cells, tiled.
    Measured {
        size: [usize; 3],
        fields: [Vec<f64>; 3],
    },
    /// Channels in tight rock, like those of SPE10.
    Made,
}

impl Permeability {
    /// The measured fields of a folder.
    pub(super) fn read(folder: &str, model: &Model) -> Result<Self> {
        let cells = model.size.iter().product();
        let [x, y, z] = model
            .files
            .map(|name| read(&Path::new(folder).join(name), cells));
        Ok(Self::Measured {
            size: model.size,
            fields: [x?, y?, z?],
        })
    }

    /// Of a cell along the axes.
    pub(super) fn at(&self, cell: [usize; 3]) -> [f64; 3] {
        match self {
            Self::Made => made(cell),
            Self::Measured { size, fields } => {
                let [x, y, z] = [0, 1, 2].map(|axis| mirrored(cell[axis], size[axis]));
                let place = x + size[0] * (y + size[1] * z);
                [0, 1, 2].map(|axis| fields[axis][place].max(TIGHT))
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

/// The numbers of a file; comments and keywords of reservoir simulators stand around them.
fn read(path: &Path, expected: usize) -> Result<Vec<f64>> {
    let text = match File::open(path).and_then(decompressed) {
        Ok(text) => text,
        Err(why) => return bad("folder", format!("{}: {why}", path.display())),
    };
    let lines = text.lines().filter(|line| !line.starts_with("--"));
    let words = lines.flat_map(str::split_whitespace);
    let words = words.filter(|word| !word.starts_with(char::is_alphabetic) && *word != "/");
    let numbers: Option<Vec<f64>> = words.map(|word| word.parse().ok()).collect();
    match numbers {
        Some(numbers) if numbers.len() == expected => Ok(numbers),
        _ => bad(
            "folder",
            format!("{}: not {expected} numbers", path.display()),
        ),
    }
}

#[cfg(feature = "xz")]
fn decompressed(file: File) -> std::io::Result<String> {
    std::io::read_to_string(liblzma::read::XzDecoder::new(file))
}

#[cfg(not(feature = "xz"))]
fn decompressed(_: File) -> std::io::Result<String> {
    let why = "this build has no .xz files: build it with the feature `xz`";
    Err(std::io::Error::new(std::io::ErrorKind::Unsupported, why))
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
        assert!(Permeability::read("nowhere", &SPE10).is_err());
        let Some(folder) = vcycle_core::testing::shared("grids") else {
            return;
        };
        let folder = folder.to_str().unwrap();
        let field = Permeability::read(folder, &SPE10).unwrap();
        assert_eq!(field.at([0, 0, 0])[0], 0.064542);
        assert_eq!(field.at([119, 439, 3]), field.at([0, 0, 0]));
        let sector = Permeability::read(folder, &SECTOR).unwrap();
        assert_eq!(sector.at([0, 0, 0]), [TIGHT; 3]);
        assert_eq!(sector.at([14, 24, 133])[0], 21.9692);
        let other = Model {
            size: [1, 2, 3],
            ..SECTOR
        };
        assert!(Permeability::read(folder, &other).is_err());
    }
}
