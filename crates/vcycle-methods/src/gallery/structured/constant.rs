//! Laplace's operator with 27 points.

use super::super::Entry;
use super::super::spec::Spec;
use super::{on_grid, problem};
use crate::error::Result;
use crate::executor::Executor;
use crate::structured::{Stencil, StencilMatrix};

pub(in super::super) const LAPLACE27: Entry = Entry {
    name: "laplace27",
    usage: "laplace27:N or laplace27:NxMxK",
    description: "the matrix of poisson27, under the name of structured multigrid's benchmarks",
    example: "laplace27:5x4x3",
    build: problem,
};

pub(in super::super) const LAPLACE27E8: Entry = Entry {
    name: "laplace27e8",
    usage: "laplace27e8:N or laplace27e8:NxMxK",
    description: "laplace27 times 10^8, far beyond the range of half precision",
    example: "laplace27e8:5x4x3",
    build: problem,
};

pub(super) fn laplace27(spec: &Spec<'_>, executor: &Executor) -> Result<StencilMatrix<f64>> {
    times(1.0, spec, executor)
}

pub(super) fn laplace27e8(spec: &Spec<'_>, executor: &Executor) -> Result<StencilMatrix<f64>> {
    times(1e8, spec, executor)
}

fn times(factor: f64, spec: &Spec<'_>, executor: &Executor) -> Result<StencilMatrix<f64>> {
    spec.at_most(1)?;
    let (grid, stencil) = on_grid(spec, 1, Stencil::full(3))?;
    let centre = stencil.centre();
    StencilMatrix::from_cells(executor, grid, stencil, 1, |_, entries| {
        entries.fill(-factor);
        entries[centre] = 26.0 * factor;
    })
}
