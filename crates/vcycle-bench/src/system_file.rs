//! Linear systems handed to peers, as raw arrays.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::prelude::*;
use crate::problem::{self, BenchSystem};

/// `vcycle-bench system`: a problem as a file for the programs of peers, and the residual of what they leave.
pub(crate) fn run(args: &Args) -> Result<()> {
    let system = problem::system(&Executor::cpu(), args.text("PROBLEM"))?;
    if let Some(file) = args.path("FILE") {
        write(&file, &system)?;
    }
    if let Some(file) = args.path("solution") {
        write_zeros(&file, &system)?;
    }
    if let Some(file) = args.path("residual") {
        print_line!("{:.2e}", residual(&file, &system)?);
    }
    Ok(())
}

/// What a file begins with.
const MAGIC: &[u8; 8] = b"vcycle01";

/// Writes a system, all in the byte order of the machine's own programs, little-endian: eight
/// letters; rows, entries, unknowns of a node and modes (64-bit integers); offsets (the same);
/// columns (32-bit); values, right-hand side and one mode after the other (double).
pub(crate) fn write(path: &Path, system: &BenchSystem) -> Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let a = &system.matrix;
    file.write_all(MAGIC)?;
    let sizes = [
        a.size().rows,
        a.nonzeros(),
        system.block_size(),
        system.modes().len(),
    ];
    for number in sizes.iter().chain(a.offsets()) {
        file.write_all(&(*number as u64).to_le_bytes())?;
    }
    for column in a.columns() {
        file.write_all(&column.to_le_bytes())?;
    }
    for values in [a.values(), &system.rhs] {
        write_doubles(&mut file, values)?;
    }
    for mode in system.modes() {
        write_doubles(&mut file, mode)?;
    }
    Ok(file.flush()?)
}

fn write_doubles(file: &mut impl Write, values: &[f64]) -> std::io::Result<()> {
    values
        .iter()
        .try_for_each(|value| file.write_all(&value.to_le_bytes()))
}

/// Writes zeros, as many as a solution has numbers, that processes write their rows over.
pub(crate) fn write_zeros(path: &Path, system: &BenchSystem) -> Result<()> {
    let bytes = system.rhs.len() * size_of::<f64>();
    Ok(File::create(path)?.set_len(bytes as u64)?)
}

/// The relative residual of a solution that a program has left, in double precision.
pub(crate) fn residual(path: &Path, system: &BenchSystem) -> Result<f64> {
    let bytes = std::fs::read(path)?;
    let (numbers, _) = bytes.as_chunks();
    let numbers = numbers.iter().map(|&number| f64::from_le_bytes(number));
    system.residual(numbers.collect())
}

#[cfg(test)]
mod tests {
    use vcycle::multigrid::NearNullspace;

    use super::*;
    use crate::common::Folder;

    #[test]
    fn the_arrays_follow_one_another() {
        let system = BenchSystem {
            matrix: Csr::diagonal_matrix(&Executor::reference(), vec![2.0, 4.0]),
            rhs: vec![1.0, -1.0],
            near_nullspace: Some(NearNullspace::new(2, vec![vec![0.5, 0.25]]).unwrap()),
        };
        let folder = Folder::new().unwrap();
        let path = folder.path().join("system");
        write(&path, &system).unwrap();

        let mut expected = MAGIC.to_vec();
        for number in [2_u64, 2, 2, 1, 0, 1, 2] {
            expected.extend(number.to_le_bytes());
        }
        for column in [0_u32, 1] {
            expected.extend(column.to_le_bytes());
        }
        for value in [2.0_f64, 4.0, 1.0, -1.0, 0.5, 0.25] {
            expected.extend(value.to_le_bytes());
        }
        assert_eq!(std::fs::read(&path).unwrap(), expected);
    }
}
