//! Anzt et al.: Ginkgo.

mod bandwidths;
mod preconditioners;
mod products;

use super::super::experiment::{Chart, Experiment, Paper};
use crate::published;

const PAPER: Paper = Paper {
    key: "ginkgo",
    authors: "Anzt and others 2022",
    title: "Ginkgo, a linear operator algebra framework (TOMS)",
    published: published::GINKGO,
    left_out: &[
        (
            "table 2",
            "bytes of an iteration: the formulas that figures 8 and 9 count by",
        ),
        (
            "figures 1 to 5",
            "they explain the design; `vcycle list` prints what vcycle has",
        ),
        (
            "figures 6, 9 and 11 on an AMD MI100",
            "none was at hand; `vcycle reproduce ginkgo --device hip:0` runs them",
        ),
    ],
};

pub(super) static EXPERIMENTS: [Experiment; 6] = [
    Experiment {
        paper: &PAPER,
        item: "table-1",
        title: "what an iteration costs beside its kernels",
        problem: "A diagonal matrix of 200 rows and a hundred iterations, on one thread; the paper has one row and goes on after a residual of zero, where vcycle stops.",
        why: "vcycle decides by columns which of them go on, keeps scalars beside the vectors and looks at the norm in every iteration: that, and the kernels on 200 rows, is what an iteration costs here.",
        chart: Chart::less("an iteration"),
        on_devices: false,
        run: bandwidths::overheads,
    },
    Experiment {
        paper: &PAPER,
        item: "table-3",
        title: "bandwidth of vector operations",
        problem: "The operations of the table by vcycle's vectors of 2^24 doubles (quick: 2^22).",
        why: "Bandwidths are those of the machines; how near the others come to the triad is to be compared. Mul and Add work in place here (a \
              vector is scaled, another added to it), which saves the read that a store into a new array costs: hence more than the triad.",
        chart: Chart::more("share of triad"),
        on_devices: true,
        run: bandwidths::vectors,
    },
    Experiment {
        paper: &PAPER,
        item: "figures-6-7",
        title: "products in formats and precisions, beside the vendor's library",
        problem: "Five matrices of the gallery in place of the whole SuiteSparse collection; two operations an entry are counted. Beside: cuSPARSE on a device of CUDA (the better of two algorithms), Intel MKL on a processor with `--mkl` (optimised for products).",
        why: "The paper draws profiles without numbers and says that its kernels are at least competitive with the vendors'. On processors CSR is the fastest: rows that repeat their \
              neighbour need not read their columns.",
        chart: Chart::more("rate"),
        on_devices: true,
        run: products::products,
    },
    Experiment {
        paper: &PAPER,
        item: "figures-8-9",
        title: "bandwidth of Krylov methods",
        problem: "A hundred iterations of each method without a preconditioner on `poisson7`; bytes of an iteration are those that table 2 of the paper counts, with the columns and \
                  offsets of CSR in place of coordinates.",
        why: "Methods of vcycle fuse vector operations and read some vectors less often than the formulas count, and rows that repeat each other need not read their \
              columns: hence more than the triad. GMRES is behind: what limits its orthogonalisation on two cores was not looked into.",
        chart: Chart::more("share of triad"),
        on_devices: true,
        run: bandwidths::krylov,
    },
    Experiment {
        paper: &PAPER,
        item: "figure-10",
        title: "incomplete factorisations for anisotropic flow",
        problem: "`aniso7` with a ratio of 100, GMRES: ILU(0) with triangular solves and ParILU by sweeps. The paper has ParILUT with thresholds, too, which is not measured here.",
        why: "The figure is drawn without numbers. ParILU has the pattern of ILU(0): iterations are nearly the same, and its factors need no order of rows.",
        chart: Chart::less("iterations"),
        on_devices: false,
        run: preconditioners::factorisations,
    },
    Experiment {
        paper: &PAPER,
        item: "figure-11",
        title: "block-Jacobi: making it, and blocks in adaptive precision",
        problem: "`elasticity`, blocks of up to 4 to 32 rows, in double and in adaptive precision.",
        why: "The figure is drawn without numbers. Precision is chosen by the condition of each block: iterations stay, bytes fall.",
        chart: Chart::more("blocks a second"),
        on_devices: false,
        run: preconditioners::blocks,
    },
];
