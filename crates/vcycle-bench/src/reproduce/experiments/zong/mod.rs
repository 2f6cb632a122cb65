//! Zong et al.: half precision in structured multigrid.

mod kernels;
mod solves;

use super::super::experiment::{Chart, Experiment, Paper};
use crate::published;

const PAPER: Paper = Paper {
    key: "zong",
    authors: "Zong, Yu, Huang, Xue 2024",
    title: "half precision in structured multigrid preconditioners (ICPP)",
    published: published::ZONG,
    left_out: &[
        (
            "figure 10",
            "strong scaling over up to 7,680 cores: two were at hand; scaling over ranks and a model of more of them are on the page on ranks",
        ),
        (
            "tables 1 and 2, figures 1 to 5",
            "they explain formats and show how numbers are distributed",
        ),
        (
            "figure 7, arrays of structures and MKL",
            "vcycle has the vectorised layout alone; MKL has no kernel for stencils, and `vcycle bench spmv` sets its CSR beside ours",
        ),
    ],
};

/// The problems, with cells in a direction.
const PROBLEMS: [(&str, [usize; 3]); 8] = [
    ("laplace27", [8, 40, 128]),
    ("laplace27e8", [8, 40, 128]),
    ("rhd", [8, 40, 128]),
    ("oil", [8, 32, 96]),
    ("weather", [8, 32, 96]),
    ("rhd-3T", [6, 24, 64]),
    ("oil-4C", [6, 20, 56]),
    ("solid-3D", [6, 20, 56]),
];

pub(super) static EXPERIMENTS: [Experiment; 5] = [
    Experiment {
        paper: &PAPER,
        item: "table-3",
        title: "grid and operator complexities",
        problem: "Laplace's are the same problems; the six of applications are made by formulas with the stencil and the range of \
                  numbers of theirs.",
        why: "Galerkin products of a stencil with 7 points have 27 points here, and 7 in the paper, which keeps the pattern: operators are larger and \
              iterations fewer. There is no option to keep it yet. Grid complexities are larger where couplings are anisotropic (oil, weather, rhd-3T): grids are then \
              coarsened in some directions only.",
        chart: Chart::less("operator complexity"),
        on_devices: false,
        run: solves::complexities,
    },
    Experiment {
        paper: &PAPER,
        item: "figure-6",
        title: "what scaling does to convergence",
        problem: "The five problems of the figure, on smaller grids; two sweeps before and after, the paper has one. Conjugate gradients to 1e-9, GMRES for weather.",
        why: "As in the paper: all five agree on Laplace's equation; without scaling only that is solved; scaling before the set-up costs iterations or fails, \
              scaling after it does not. Iterations are fewer by the second sweep and by full Galerkin operators.",
        chart: Chart::less("iterations"),
        on_devices: true,
        run: solves::ablation,
    },
    Experiment {
        paper: &PAPER,
        item: "figure-7",
        title: "half precision beside single in products and sweeps",
        problem: "Stencils of 7, 19 and 27 points: `oil`, `weather` and `laplace27`. For triangular solves (3d4, 3d10, 3d14 there) stand Gauss-Seidel sweeps, which solve \
                  with both triangles.",
        why: "The figure is drawn without numbers: the paper says that optimised kernels come near the bound by bytes, and so do ours; they exceed it where the matrix in half precision fits into the last cache and the one in single precision does not. Its layouts are arrays of structures for the naive kernels; vcycle has the vectorised one alone.",
        chart: Chart::more("half beside single"),
        on_devices: false,
        run: kernels::kernels,
    },
    Experiment {
        paper: &PAPER,
        item: "figures-8-9",
        title: "half precision beside double, structured multigrid",
        problem: "As in table 3, on smaller grids.",
        why: "The gain is bounded by the share of the matrix in all bytes that a cycle reads, and by how much of a processor's bandwidth its \
              cores can draw: the paper has 64 cores, which do. End to end counts what storing takes in the set-up. Half precision costs fewer iterations here: \
              sums of rows and weights are kept in 16 bits.",
        chart: Chart::more("preconditioner"),
        on_devices: true,
        run: solves::halves,
    },
    Experiment {
        paper: &PAPER,
        item: "section-8",
        title: "bfloat16 beside half precision",
        problem: "The problem `rhd` and four others, on smaller grids.",
        why: "As in the paper: bfloat16 never takes fewer iterations than half precision. Half precision costs less here, as sums of rows are kept. bfloat16, which has eight bits for them, costs more of far fewer iterations (12 in double precision, 51 there).",
        chart: Chart::less("more iterations than double"),
        on_devices: true,
        run: solves::bfloat,
    },
];
