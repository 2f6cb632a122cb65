//! Lu et al.: AmgT.

mod baseline;
mod cycles;
mod ranks;
mod shares;

use vcycle::scalar::f16;

use super::super::experiment::{Chart, Experiment, Paper, Scope};
use super::super::record::Value;
use super::product::product;
use super::solving::{Ready, mean};
use crate::common::Result;
use crate::published;

const PAPER: Paper = Paper {
    key: "amgt",
    authors: "Lu, Zeng, Wang and others 2024",
    title: "AmgT, algebraic multigrid on tensor cores (SC)",
    published: published::AMGT,
    left_out: &[
        (
            "tables I and II",
            "they describe GPUs and matrices; matrices of three of their classes stand for them in every experiment here",
        ),
        ("figures 3 to 6", "they explain the format and its kernels"),
        (
            "figure 7 on an AMD MI210",
            "none was at hand; `vcycle reproduce amgt --device hip:0` runs it",
        ),
    ],
};

/// Matrices of three of the paper's classes.
const PROBLEMS: [(&str, [&str; 3]); 3] = [
    (
        "heat, poisson5",
        ["poisson5:30", "poisson5:250", "poisson5:725"],
    ),
    (
        "flow, convdiff7",
        ["convdiff7:8,10", "convdiff7:24,10", "convdiff7:60,10"],
    ),
    (
        "structures, elasticity",
        ["elasticity:4", "elasticity:12", "elasticity:34"],
    ),
];

/// The classes, in words.
const CLASSES: &str = "Matrices of three of the paper's classes (heat, flow, structures) in place of its sixteen; PMIS, extended+i, l1-Jacobi, at most \
                       seven levels, as there.";

pub(super) static EXPERIMENTS: [Experiment; 5] = [
    Experiment {
        paper: &PAPER,
        item: "figure-1",
        title: "what part of the set-up are products of matrices",
        problem: CLASSES,
        why: "The paper counts three products a level on a GPU, one of them in the interpolation. Here Galerkin products are counted alone: extended+i is made row by row, \
              without a product.",
        chart: Chart::share("products in the set-up"),
        on_devices: true,
        run: shares::of_setup,
    },
    Experiment {
        paper: &PAPER,
        item: "figure-2",
        title: "what part of the solve are products",
        problem: CLASSES,
        why: "A sweep of vcycle is one pass over matrix and vectors, so that no time is left in vector operations of their own: everything on a level but the direct solve of \
              the coarsest is counted as a product.",
        chart: Chart::share("products in the solve"),
        on_devices: false,
        run: shares::of_solve,
    },
    Experiment {
        paper: &PAPER,
        item: "figure-7",
        title: "levels in single and half precision beside double, and hypre",
        problem: CLASSES,
        why: "Where mixed precision loses was measured here, cycle by cycle in turns: with single precision below the finest level a cycle gains; with half-precision matrices and \
              vectors in single precision it gains as much or more; with vectors in half precision, too, as in the paper, it loses. A product gathers its input one number at a time, \
              and processors have no instruction that gathers 16 bits: each is loaded and converted by itself (tsai/table-4.2: a product in double precision with an input of 16 bits takes two to three times as long). GPUs do that for free. The finest level, which takes most of the time, stays \
              in double precision in all of them. hypre and vcycle are measured as each chooses by itself, to 1e-8 by conjugate gradients, on the two symmetric problems. \
              The paper's hypre calls cuSPARSE; here that is measured on the matrices of all levels by itself, with both Galerkin products of a level, and a product with each matrix, where operands stay in the cache, as vcycle chooses formats and in tiles of 4 by 4 as in the paper. On devices the total in its precisions is measured in tiles, too (`amg:format=mbsr`, the preset `amgt`).",
        chart: Chart::more("mixed precision, total"),
        on_devices: true,
        run: cycles::cycles,
    },
    Experiment {
        paper: &PAPER,
        item: "figure-8",
        title: "products with matrices of half precision beside double",
        problem: "The same three matrices: CSR in double precision and in half precision, vectors in single.",
        why: "The paper's products use tensor cores on blocks of 4 by 4; those of processors gain by reading fewer bytes alone.",
        chart: Chart::more("mixed precision, products"),
        on_devices: true,
        run: products,
    },
    Experiment {
        paper: &PAPER,
        item: "figure-9",
        title: "levels in single and half precision beside double on several ranks, and hypre",
        problem: "The same three matrices and stages, shared by ranks: threads of one process, on processors one for each core, on a device two that share it. Conjugate gradients to 1e-8, flexible GMRES for flow. The \
                  paper has eight GPUs, one for each process.",
        why: "The geometric mean and the largest factor are those of `half`, the paper's precisions: double, single, then half precision, vectors included. On processors these vectors cost iterations and conversions (figure 7), and mixed precision \
              loses; the means of the other two precisions, which the paper has not, are beside. Set-ups are in double precision in all of them. hypre is measured over as many processes, with its defaults, on the two symmetric problems.",
        chart: Chart::more("mixed precision, total"),
        on_devices: true,
        run: ranks::precisions,
    },
];

fn products(scope: &Scope) -> Result<Vec<Value>> {
    let (mut values, mut gains) = (Vec::new(), Vec::new());
    let executor = scope.executor()?;
    for (name, sizes) in PROBLEMS {
        let ready = Ready::new(scope.size(sizes), &executor)?;
        let double = product::<f64, f64, f64>(ready.matrix(), scope.seconds())?;
        let half = product::<f16, f32, f32>(ready.matrix(), scope.seconds())?;
        let gain = double / half;
        values.push(Value::factor(name, "mixed precision, products", gain));
        gains.push(gain);
    }
    let all = mean(&gains);
    values.push(Value::factor(
        "geometric mean",
        "mixed precision, products",
        all,
    ));
    Ok(values)
}
