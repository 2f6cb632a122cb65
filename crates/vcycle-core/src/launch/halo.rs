//! Launches of what ranks do with rows they share.

use vcycle_gpu::{Address, Argument};

use super::rows::Finish;
use super::scalars::coefficient_arguments;
use crate::arrays::{Coefficient, Vector};
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{BLOCK, File, Gpu, kernel_file};
use crate::scalar::{Mixes, Scalar};

pub(super) const FILE: File = kernel_file!("halo.c");

/// Most blocks of a launch; enough for any device.
const MOST_BLOCKS: usize = 4096;

/// The entries of some rows in columns of other ranks.
#[derive(Debug)]
pub(crate) struct OtherColumns<'a, M> {
    /// Which rows these are.
    pub rows: &'a Buffer<u32>,
    /// Where the entries of each begin.
    pub offsets: &'a Buffer<usize>,
    /// Places among the columns of other ranks.
    pub columns: &'a Buffer<u32>,
    pub values: &'a Buffer<M>,
}

/// Copies rows of a vector one after the other, to some place.
pub(crate) fn pack<T: Scalar>(
    gpu: &Gpu,
    rows: &Buffer<u32>,
    x: &Vector<T>,
    packed: Address,
) -> Result<()> {
    let kernel = gpu.kernel(FILE, "halo_pack", &[("T", gpu.real(T::KIND)?)])?;
    let arguments = [
        Argument::U64(rows.len() as u64),
        Argument::U32(x.cols() as u32),
        Argument::Address(rows.device()?),
        Argument::Address(x.device()?),
        Argument::Address(packed),
    ];
    gpu.launch(&kernel, blocks(rows.len() * x.cols()), &arguments)
}

/// Adds to a product that is finished what the columns of other ranks have to it.
pub(crate) fn add<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    gpu: &Gpu,
    a: &OtherColumns<'_, M>,
    x: &Vector<X>,
    finish: &Finish<'_, Y>,
    y: &mut Vector<Y>,
) -> Result<()> {
    let (alpha, d) = match finish {
        Finish::Apply => (Coefficient::one(), None),
        Finish::Combine { alpha, .. } => (*alpha, None),
        Finish::Relax(sweep) => (Coefficient::real(-sweep.alpha), Some(sweep.d)),
    };
    let types = [
        ("M", gpu.real(M::KIND)?),
        ("X", gpu.real(X::KIND)?),
        ("Y", gpu.real(Y::KIND)?),
        ("ACC", gpu.real(M::Accumulator::KIND)?),
    ];
    let kernel = gpu.kernel(FILE, "halo_add", &types)?;
    let mut arguments = vec![
        Argument::U64(a.rows.len() as u64),
        Argument::U32(x.cols() as u32),
    ];
    let matrix = [
        a.rows.device()?,
        a.offsets.device()?,
        a.columns.device()?,
        a.values.device()?,
    ];
    arguments.extend(matrix.map(Argument::Address));
    arguments.push(Argument::Address(x.device()?));
    arguments.extend(coefficient_arguments(alpha)?);
    let d = d.map_or(Ok(0), Vector::device)?;
    arguments.extend([d, y.device_mut()?].map(Argument::Address));
    gpu.launch(&kernel, blocks(a.rows.len() * x.cols()), &arguments)
}

/// So many bytes that are copied from one place to another; those of message buffers that kernels reach, too.
pub(crate) struct Run {
    pub bytes: usize,
    pub from: Address,
    pub to: Address,
}

/// Copies up to three runs of bytes.
pub(crate) fn copy(gpu: &Gpu, runs: &[Run]) -> Result<()> {
    let bits = |bits: u64, run: &Run| bits | run.bytes as u64 | run.from | run.to;
    let (word, width) = match runs.iter().fold(0, bits).trailing_zeros() {
        3.. => ("u64", 8),
        2 => ("u32", 4),
        _ => ("u16", 2),
    };
    let kernel = gpu.kernel(FILE, "halo_move", &[("WORD", word)])?;
    let mut arguments = Vec::with_capacity(9);
    for place in 0..3 {
        let (words, from, to) = match runs.get(place) {
            Some(run) => ((run.bytes / width) as u64, run.from, run.to),
            None => (0, 0, 0),
        };
        arguments.push(Argument::U64(words));
        arguments.extend([from, to].map(Argument::Address));
    }
    let most = runs.iter().map(|run| run.bytes).max().unwrap_or(0);
    gpu.launch(&kernel, blocks(most / width), &arguments)
}

/// Blocks for so many items; none for none.
fn blocks(items: usize) -> u32 {
    items.div_ceil(BLOCK as usize).min(MOST_BLOCKS) as u32
}
