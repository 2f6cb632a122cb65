//! Launches of transfers between grids.

use vcycle_gpu::{Address, Argument, Kernel};

use super::stencil::extents;
use crate::arrays::Vector;
use crate::error::Result;
use crate::gpu::{BLOCK, File, Gpu, kernel_file};
use crate::grid::Grid;
use crate::scalar::{Kind, Real};

pub(super) const FILE: File = kernel_file!("transfer.c");

/// Interpolation along some axes on the device: x first, then y, then z.
#[derive(Clone, Copy, Debug)]
pub struct TransferOperand {
    /// The fine grid.
    pub fine: Grid,
    /// Of the weights.
    pub kind: Kind,
    /// The weights along each axis that is halved.
    pub weights: [Option<Address>; 3],
}

impl TransferOperand {
    fn kernel<V: Real>(&self, gpu: &Gpu, name: &'static str) -> Result<Kernel> {
        let vectors = gpu.real(V::KIND)?;
        let flag = |set| if set { "1" } else { "0" };
        let [x, y, z] = self.weights.map(|weights| weights.is_some());
        let pairs = x && self.fine.length().is_multiple_of(2);
        let defines = [
            ("W", gpu.real(self.kind)?),
            ("X", vectors),
            ("ACC", vectors),
            ("HALF_X", flag(x)),
            ("HALF_Y", flag(y)),
            ("HALF_Z", flag(z)),
            ("PAIRS", flag(pairs)),
        ];
        gpu.kernel(FILE, name, &defines)
    }

    /// What both kernels have in common: a thread for each coarse cell and unknown.
    fn arguments<V: Real>(&self, cells: usize, q: Option<&Vector<V>>) -> Result<Vec<Argument>> {
        let mut arguments = extents(self.fine).to_vec();
        arguments.push(Argument::U32(cells as u32));
        let weights = self.weights.map(|weights| weights.unwrap_or(0));
        arguments.extend(weights.map(Argument::Address));
        arguments.push(Argument::Address(q.map_or(Ok(0), Vector::device)?));
        Ok(arguments)
    }

    /// `coarse = P^T (q fine)`.
    pub fn restrict<V: Real>(
        &self,
        gpu: &Gpu,
        q: Option<&Vector<V>>,
        fine: &Vector<V>,
        coarse: &mut Vector<V>,
    ) -> Result<()> {
        let kernel = self.kernel::<V>(gpu, "transfer_restrict")?;
        let mut arguments = self.arguments(coarse.rows(), q)?;
        arguments.extend([fine.device()?, coarse.device_mut()?].map(Argument::Address));
        gpu.launch(&kernel, blocks(coarse), &arguments)
    }

    /// `fine = q P coarse`, or added to `fine`.
    pub fn prolong<V: Real>(
        &self,
        gpu: &Gpu,
        q: Option<&Vector<V>>,
        coarse: &Vector<V>,
        (fine, add): (&mut Vector<V>, bool),
    ) -> Result<()> {
        let kernel = self.kernel::<V>(gpu, "transfer_prolong")?;
        let mut arguments = self.arguments(coarse.rows(), q)?;
        arguments.push(Argument::U32(u32::from(add)));
        arguments.extend([coarse.device()?, fine.device_mut()?].map(Argument::Address));
        gpu.launch(&kernel, blocks(coarse), &arguments)
    }
}

fn blocks<V: Real>(coarse: &Vector<V>) -> u32 {
    coarse.rows().div_ceil(BLOCK as usize) as u32
}
