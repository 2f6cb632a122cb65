//! Tsai: mixed precision in multigrid by aggregation.

mod levels;
mod products;
mod speedups;
mod tables;

use super::super::experiment::{Chart, Experiment, Paper};
use crate::published;

const PAPER: Paper = Paper {
    key: "tsai",
    authors: "Tsai 2024, Tsai, Beams and Anzt 2023",
    title: "portable mixed-precision algebraic multigrid on GPUs",
    published: published::TSAI,
    left_out: &[
        ("tables 5.1, 6.1, 6.3", "they describe matrices and labels"),
        (
            "figures 20 to 25 of the article, 4.12 to 4.15, 4.17, 4.18, 6.2, 6.3, 6.9 to 6.12 and 6.15 to 6.18 of the dissertation",
            "the same experiments on an AMD MI250X and an Intel Max 1550, which were not at hand; `vcycle reproduce tsai --device hip:0` or `opencl:0` runs them",
        ),
        (
            "AmgX in table 5.2 and hypre in table 5.3",
            "the tables have the published ratios; the page measured on an H200 sets both beside vcycle on other problems",
        ),
    ],
};

/// What stands for matrices of a collection that cannot be made here.
const STAND_INS: &str = "Beam and L-shape are the problems of the papers, made by the gallery. For matrices of a collection stand problems of the \
                         same kind, of the same or a quarter of the size: for 2cubes_sphere and offshore tetrahedra (`tet`), for thermal2 and tmt_sym diffusion in \
                         the plane (`poisson5`, `aniso5`); there is none for the cage matrices.";

pub(super) static EXPERIMENTS: [Experiment; 10] = [
    Experiment {
        paper: &PAPER,
        item: "table-4.2",
        title: "products in 64 combinations of precisions",
        problem: "`beam:o3,l3`: matrix, input and output in f64, f32, f16 and bf16, each with each; a product with narrow numbers beside one in double \
                  precision.",
        why: "All 64 are there, as in Ginkgo. A combination whose output is narrower than its input gains nothing more: the matrix takes most of \
              the bytes. Half-precision inputs cost conversions of single numbers, which processors cannot gather.",
        chart: Chart::more("speed-up"),
        on_devices: true,
        run: products::combinations,
    },
    Experiment {
        paper: &PAPER,
        item: "figures-4.10-4.19",
        title: "products in five formats",
        problem: "Matrices of the gallery in CSR, COO, ELL, SELL-P and hybrid storage, double precision; the time relative to the fastest format.",
        why: "The papers draw profiles over 2800 matrices: on GPUs CSR and ELL each win 30 % of them, COO is within 1.5 of the best nearly everywhere. On \
              processors CSR wins, since rows that repeat their neighbour need not read their columns and other formats have padding.",
        chart: Chart::less("times the fastest"),
        on_devices: true,
        run: products::formats,
    },
    Experiment {
        paper: &PAPER,
        item: "table-5.2",
        title: "conjugate gradients with pairwise aggregation, beside AmgX",
        problem: "The same problems and method (`--preset paper-pgm`); MFEM stops when the preconditioned residual has fallen by 1e-6, vcycle here when \
                  the residual has. The largest two are left out.",
        why: "Iterations differ by the norm that is stopped by, and by pairs, which depend on the order of the rows. vcycle's own choice of a method \
              takes far fewer: this is the method of the paper.",
        chart: Chart::less("iterations"),
        on_devices: true,
        run: tables::sizes,
    },
    Experiment {
        paper: &PAPER,
        item: "tables-5.3-5.4",
        title: "multigrid alone, a hundred cycles at most",
        problem: STAND_INS,
        why: "The text says a relative residual of 1e-9, and the tables show residual norms of 1e-9; here it is the norm. Stationary iterations by \
              plain aggregation are slow in both.",
        chart: Chart::less("iterations"),
        on_devices: true,
        run: tables::alone,
    },
    Experiment {
        paper: &PAPER,
        item: "table-6.2",
        title: "iterations with levels in single and half precision",
        problem: STAND_INS,
        why: "Beam: iterations differ where groups do: pairs depend on the order of the rows, which is not that of MFEM. The growth in half precision is \
              the finding to compare. L-shape: in half precision residuals leave its range, and solves end at 800 iterations in both. vcycle \
              scales levels into it unless told otherwise; this table is made without.",
        chart: Chart::less("iterations"),
        on_devices: true,
        run: |scope| tables::precisions(scope, &["dp", "dp-sp", "dp-sp-hp", "dp-hp"]),
    },
    Experiment {
        paper: &PAPER,
        item: "table-6.4",
        title: "iterations with levels in bfloat16",
        problem: STAND_INS,
        why: "bfloat16 has the range of single precision: nothing fails, as in the paper, and the beam takes as many iterations as in double precision.",
        chart: Chart::less("iterations"),
        on_devices: true,
        run: |scope| tables::precisions(scope, &["dp-sp-bf", "dp-bf"]),
    },
    Experiment {
        paper: &PAPER,
        item: "figures-4-11",
        title: "products with the matrix of every level in single and half precision",
        problem: "The levels of `beam:o3,l3` (`--preset paper-pgm`): CSR and vectors in double, in single, and matrices in half precision with vectors in single.",
        why: "Bytes allow 1.5 in single and 2 in half precision. Coarse levels fit into caches and gain less, as in the paper.",
        chart: Chart::more("speed-up"),
        on_devices: true,
        run: levels::products,
    },
    Experiment {
        paper: &PAPER,
        item: "figures-12-13",
        title: "from which level on precision may fall",
        problem: "The same problem and method: single precision from some level on, half precision from another.",
        why: "As in the paper: the later half precision begins, the fewer iterations, and single precision costs none.",
        chart: Chart::less("iterations"),
        on_devices: true,
        run: levels::delayed,
    },
    Experiment {
        paper: &PAPER,
        item: "figures-14-19",
        title: "speed-up of mixed precision with three smoothers",
        problem: "`beam:o3,l3` and `lshape:o3,l6`, refined once less than theirs, with Jacobi, block-Jacobi (blocks of 32) and l1-Chebyshev (twice before and after); precision of vectors / of matrices. \
                  The papers give the largest speed-up of each smoother in the text.",
        why: "Solves take turns; the speed-up is that of the whole solve, iterations included. Only matrices below a narrow precision gain: half-precision vectors \
              cost iterations and conversions.",
        chart: Chart::more("speed-up"),
        on_devices: true,
        run: speedups::smoothers,
    },
    Experiment {
        paper: &PAPER,
        item: "figures-26-30",
        title: "speed-up of mixed precision: multigrid alone, W-cycles of four levels",
        problem: "`beam:o3,l3`, alone to a residual norm of 1e-9; `beam:o3,l3` and `lshape:o3,l6` by conjugate gradients with W-cycles of four levels, Jacobi and l1-Chebyshev.",
        why: "Without a Krylov method around it, and with coarse levels visited more often, a larger share of the time is in narrow precision.",
        chart: Chart::more("speed-up"),
        on_devices: true,
        run: speedups::cycles,
    },
];
