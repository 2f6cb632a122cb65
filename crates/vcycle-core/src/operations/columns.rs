//! Vectors of several columns taken as matrices: all products of columns, and combinations of columns.

use vcycle_kernels::compiled_fn;

use super::reductions::add_team_sums;
use crate::arrays::Vector;
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::launch;
use crate::scalar::Scalar;
use crate::{cpu, reference};

compiled_fn! {
    /// `out = X^H Y`, row after row.
    pub(crate) fn products[any T: Scalar](
        x: &Vector<T>,
        y: &Vector<T>,
        out: &mut [<T as Scalar>::Arith],
    ) -> Result<()> {
        let (p, q) = (x.cols(), y.cols());
        match x.executor() {
            Executor::Reference => reference::columns::products((x.host()?, p), (y.host()?, q), out),
            Executor::Cpu(threads) => {
                cpu::columns::products(threads, (x.host()?, p), (y.host()?, q), out);
            }
            Executor::Gpu(gpu) => launch::columns::products(gpu, x, y)?.read(out)?,
        }
        add_team_sums(x.executor(), out)
    }
}

compiled_fn! {
    /// `Y += X C` with coefficients row after row.
    pub(crate) fn add_combination[any T: Scalar](
        x: &Vector<T>,
        coefficients: &[<T as Scalar>::Arith],
        y: &mut Vector<T>,
    ) -> Result<()> {
        let (p, q) = (x.cols(), y.cols());
        match x.executor() {
            Executor::Reference => {
                reference::columns::add_combination((x.host()?, p), coefficients, (y.host_mut()?, q));
            }
            Executor::Cpu(threads) => {
                cpu::columns::add_combination(threads, (x.host()?, p), coefficients, (y.host_mut()?, q));
            }
            Executor::Gpu(gpu) => {
                let coefficients = Buffer::from_vec(x.executor(), coefficients.to_vec());
                launch::columns::add_combination(gpu, x, &coefficients, y)?;
            }
        }
        Ok(())
    }
}
