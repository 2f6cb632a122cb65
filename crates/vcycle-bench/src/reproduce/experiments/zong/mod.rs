//! Zong et al.: half precision in structured multigrid.

mod aos;
mod kernels;
mod scaling;
mod solves;

use super::super::experiment::{Chart, Experiment, Paper};
use crate::published;

const PAPER: Paper = Paper {
    key: "zong",
    authors: "Zong, Yu, Huang, Xue 2024",
    title: "half precision in structured multigrid preconditioners (ICPP)",
    published: published::ZONG,
    left_out: &[(
        "tables 1 and 2, figures 1 to 5",
        "they explain formats and show how numbers are distributed",
    )],
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

pub(super) static EXPERIMENTS: [Experiment; 6] = [
    Experiment {
        paper: &PAPER,
        item: "table-3",
        title: "grid and operator complexities",
        problem: "Laplace's are the same problems; the six of applications are made by formulas with the stencil and the range of \
                  numbers of theirs.",
        why: "The paper keeps 7 points on coarse grids where the finest has them: `struct-mg:coarse-stencil=same` does so here, and operators grow no more than grids. Rows `Galerkin` are vcycle's default, whose products have 27 points: \
              larger operators and, except for oil, fewer iterations; where cells have several unknowns (rhd-3T, oil-4C) 7 points cost a multiple of them. Grid complexities are larger where couplings are anisotropic (oil, weather, rhd-3T): grids are then coarsened in some directions only.",
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
        problem: "Stencils of 7, 19 and 27 points: `oil`, `weather` and `laplace27`; triangular solves with 4, 10 and 14 of them, in the order of eight colours, in which a sweep solves; \
                  whole sweeps. An array of structures is a plain loop over cells, whose entries lie side by side. MKL has no kernel for stencils: beside is its CSR in double precision, with `--mkl`.",
        why: "The figure is drawn without numbers: the paper says that optimised kernels come near the bound by bytes, and so do ours; they exceed it where the matrix in half precision fits into the last cache and the one in single precision does not. \
              As there an array of structures loses by half precision, since its numbers are converted one by one. Ours is a plain loop that the compiler does not vectorise, and each conversion is a call: its factors are those of such a loop, not of the layout alone.",
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
              sums of rows and weights are kept in 16 bits. On an H200 cells of several unknowns gain least (rhd-3T, oil-4C, solid-3D): a cycle of solid-3D in double precision \
              reads a quarter of the bytes a second that one of laplace27 reads, so that it is not bandwidth that half precision relieves.",
        chart: Chart::more("preconditioner"),
        on_devices: true,
        run: solves::halves,
    },
    Experiment {
        paper: &PAPER,
        item: "figure-10",
        title: "strong scaling of structured multigrid over ranks, in double and half precision",
        problem: "As in table 3, on smaller grids; ranks are threads of one process, each with slabs of planes and one thread, as many as this machine has cores. The paper has up to \
                  1,024 to 7,680 cores, and gives in the text what part of the efficiency in double precision half precision reaches.",
        why: "Cycles have the same bits on any number of ranks; the sums of the solver are added in another order, which may cost or save an iteration. The paper says why half precision scales worse on \
              many cores: messages take a larger part of less time. Two cores cannot show that. Efficiencies of a machine with other work say what time its ranks were given, not how they scale: both precisions take turns, so that what they have in common cancels in their ratio, and no more.",
        chart: Chart::more(scaling::OF_DOUBLE),
        on_devices: false,
        run: scaling::strong,
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
