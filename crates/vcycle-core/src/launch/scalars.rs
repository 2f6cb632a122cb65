//! Launches of the kernels on scalars, and coefficients as kernels take them.

use vcycle_gpu::Argument;

use crate::arrays::{Coefficient, Scalars};
use crate::error::Result;
use crate::gpu::{BLOCK, File, Gpu, kernel_file};
use crate::scalar::{Field, Kind, Scalar};

pub(super) const FILE: File = kernel_file!("scalars.c");

/// Every number the coefficient of its column.
pub(crate) fn assign<T: Scalar>(
    gpu: &Gpu,
    coefficient: Coefficient<'_, T>,
    out: &mut Scalars<T>,
) -> Result<()> {
    let mut arguments = vec![Argument::U32(out.len() as u32)];
    arguments.extend(coefficient_arguments(coefficient)?);
    arguments.push(Argument::Address(out.device_mut()?));
    launch::<T>(gpu, "scalars_assign", out.len(), &arguments)
}

/// Every number its square root.
pub(crate) fn square_root<T: Scalar>(gpu: &Gpu, values: &mut Scalars<T>) -> Result<()> {
    let length = values.len();
    let arguments = [
        Argument::U32(length as u32),
        Argument::Address(values.device_mut()?),
    ];
    launch::<T>(gpu, "scalars_square_root", length, &arguments)
}

fn launch<T: Scalar>(
    gpu: &Gpu,
    name: &'static str,
    length: usize,
    arguments: &[Argument],
) -> Result<()> {
    let kernel = gpu.kernel(FILE, name, &[("T", T::Arith::KIND.name())])?;
    gpu.launch(
        &kernel,
        length.div_ceil(BLOCK as usize).max(1) as u32,
        arguments,
    )
}

/// A number as a kernel takes it, in its own type.
pub(crate) fn number<A: Field>(value: A) -> Argument {
    let wide = value.to_c64();
    match A::KIND {
        Kind::F32 => Argument::F32(wide.re as f32),
        Kind::C32 => Argument::C32([wide.re as f32, wide.im as f32]),
        Kind::C64 => Argument::C64([wide.re, wide.im]),
        _ => Argument::F64(wide.re),
    }
}

/// What `COEFFICIENT` of the dialect stands for.
pub(crate) fn coefficient_arguments<T: Scalar>(
    coefficient: Coefficient<'_, T>,
) -> Result<[Argument; 6]> {
    let mut arguments = [Argument::Address(0); 6];
    arguments[0] = number(coefficient.factor());
    for (argument, scalars) in arguments[1..].iter_mut().zip(coefficient.parts()) {
        if let Some(scalars) = scalars {
            *argument = Argument::Address(scalars.device()?);
        }
    }
    Ok(arguments)
}
