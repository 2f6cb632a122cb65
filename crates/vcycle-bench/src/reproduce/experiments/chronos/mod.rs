//! Isotton: Chronos.

mod devices;
mod fractures;
mod multigrid;
mod orders;
mod scaling;

use super::super::experiment::{Chart, Experiment, Paper};
use crate::published;

const PAPER: Paper = Paper {
    key: "chronos",
    authors: "Isotton 2024",
    title: "Chronos, an algebraic multigrid solver (dissertation)",
    published: published::CHRONOS,
    left_out: &[
        (
            "tables 4.1, 4.11 and 4.12",
            "they describe matrices, which are not public",
        ),
        (
            "figures 4.1 to 4.3 and 4.15, 4.17, 4.19, 4.20",
            "they draw tables 4.2 to 4.10, which have rows",
        ),
        (
            "figures 4.16, 4.18, 4.21 and 4.22",
            "scaling over 4 to 128 GPUs: one was at hand; figures 4.4 and 4.9 to 4.14 are over ranks of this machine",
        ),
        (
            "figures 4.23 to 4.25",
            "a basin model with a billion unknowns, which is not public; FSAI on one device is in figure 4.8",
        ),
    ],
};

/// What stands for the matrices of fluid dynamics.
const FLOW: &str = "Problems of the same kind, and smaller: for `finger4m` (2-D porous flow) `poisson5`, for `poi65m` (3-D flow, 7 entries a row) `poisson7`, for \
                    `rtanis44m` (anisotropic porous flow) `aniso7` with a ratio of 100, for `Pflow73m` (reservoir with jumps) `jump7` with jumps of 1e6. PMIS, threshold 0.25, \
                    conjugate gradients to 1e-8, double precision.";
/// What stands for the matrices of mechanics.
const MECHANICS: &str = "Problems of the same kind, and smaller: `elasticity` for `tripod24m` and `agg14m`, with jumps of stiffness by 1000 for `guenda11m`, nearly incompressible (0.45) for `M20`. The \
                         presets `bamg-fsai`, `sbamg-fsai` and `fbamg-fsai` with rigid-body modes, conjugate gradients to 1e-8.";

pub(super) static EXPERIMENTS: [Experiment; 15] = [
    Experiment {
        paper: &PAPER,
        item: "tables-3.1-3.3",
        title: "R (A P) beside (R A) P",
        problem: "The first level of a problem of elasticity with rigid-body modes, as theirs, and smaller.",
        why: "On a GPU the order matters, since long rows of R A spill out of fast memory. On processors both orders have the same work: \
              the paper says so, too.",
        chart: Chart::less("time").logarithmic(),
        on_devices: true,
        run: orders::orders,
    },
    Experiment {
        paper: &PAPER,
        item: "table-4.2",
        title: "extended+i and Jacobi smoothing, beside BoomerAMG",
        problem: FLOW,
        why: "Extended+i keeps all its entries here, as there. Complexities are those of the paper where the stencil is. Iterations are of smaller problems. BoomerAMG of this run has \
              its own defaults: HMIS, four entries a row, hybrid Gauss-Seidel.",
        chart: Chart::less("operator complexity"),
        on_devices: true,
        run: |scope| multigrid::smoothed(scope, "jacobi"),
    },
    Experiment {
        paper: &PAPER,
        item: "table-4.3",
        title: "extended+i and adaptive FSAI as the smoother, beside BoomerAMG",
        problem: FLOW,
        why: "As in the paper FSAI saves iterations, most where coefficients jump, and costs set-up. Iterations are of smaller problems.",
        chart: Chart::less("operator complexity"),
        on_devices: true,
        run: |scope| multigrid::smoothed(scope, "fsai"),
    },
    Experiment {
        paper: &PAPER,
        item: "table-4.4",
        title: "classical, hybrid and extended+i interpolation",
        problem: FLOW,
        why: "No ratio of iterations: they grow with the size, and these problems are smaller. The order of the three, which is what the table shows, is to be compared: as there, \
              extended+i has the fewest iterations and the largest operators, classical interpolation the reverse. Complexities of `rtanis44m` differ with the matrix, which has 17 entries a row there.",
        chart: Chart::less("operator complexity"),
        on_devices: true,
        run: multigrid::interpolations,
    },
    Experiment {
        paper: &PAPER,
        item: "table-4.5",
        title: "a problem of elasticity with BAMG, beside BoomerAMG and GAMG",
        problem: MECHANICS,
        why: "vcycle's own choice where rigid bodies are known is smoothed aggregation, in the last row: groups of nodes take a fraction of the iterations of BAMG. GAMG and BoomerAMG of this \
              run have their defaults and the rigid-body modes, or three unknowns a node.",
        chart: Chart::less("operator complexity"),
        on_devices: true,
        run: multigrid::tripod,
    },
    Experiment {
        paper: &PAPER,
        item: "table-4.6",
        title: "BAMG, smoothed and filtered, on three problems of mechanics",
        problem: MECHANICS,
        why: "As there smoothing saves iterations and costs complexity, and filtering keeps the first and lowers the second.",
        chart: Chart::less("operator complexity"),
        on_devices: true,
        run: multigrid::mechanics,
    },
    Experiment {
        paper: &PAPER,
        item: "figure-4.8",
        title: "conjugate gradients with Jacobi and with adaptive FSAI",
        problem: "Elasticity, with jumps of stiffness, and flow with jumps: smaller than theirs.",
        why: "FSAI saves up to two thirds of the iterations. The paper has a GPU, on which its set-up is cheap beside thousands of iterations; on two cores and for small problems it takes longer than the iterations it saves.",
        chart: Chart::more("Jacobi beside FSAI, total time"),
        on_devices: true,
        run: multigrid::single_level,
    },
    Experiment {
        paper: &PAPER,
        item: "table-4.9",
        title: "what the stages of a set-up take",
        problem: "`elasticity` with the preset `fbamg-fsai`, for `M20`; all levels together, Chronos on processors.",
        why: "Shares depend on how many steps FSAI and the test space take: the preset has four steps of five entries. Rigid-body modes are given here: no test space is searched for.",
        chart: Chart::share("share of the set-up"),
        on_devices: true,
        run: multigrid::stages,
    },
    Experiment {
        paper: &PAPER,
        item: "table-4.13",
        title: "fracture networks: polynomials of growing degree",
        problem: "A made-up network: every fracture is a grid of unknowns, factorised; traces couple neighbours on a ring and a second one. The operator is the paper's reduced system, applied \
                  by products and solves of blocks, and never formed. Polynomials are those of Chebyshev.",
        why: "As there the number of iterations falls with the degree, if more slowly: this network is small and better conditioned than theirs, and polynomials of low degree find little to do. The best degree depends on what a dot product costs beside a \
              product of the operator: little on two cores, much on 128.",
        chart: Chart::less("iterations").logarithmic(),
        on_devices: false,
        run: fractures::degrees,
    },
    Experiment {
        paper: &PAPER,
        item: "table-4.14",
        title: "fracture networks: more cores",
        problem: "The same network and a polynomial of degree 127, on one core and on two.",
        why: "Iterations do not depend on the number of cores. Two cores of a shared machine say little of efficiency.",
        chart: Chart::more("efficiency"),
        on_devices: false,
        run: fractures::cores,
    },
    Experiment {
        paper: &PAPER,
        item: "figure-4.4",
        title: "strong and weak scaling over ranks",
        problem: "`poisson7` by PMIS and extended+i; ranks are threads of one process, each with its own rows, on the cores of this machine.",
        why: "The figure is drawn without numbers. The levels are the same on any number of ranks, to the bit.",
        chart: Chart::more("efficiency"),
        on_devices: false,
        run: scaling::multigrid,
    },
    Experiment {
        paper: &PAPER,
        item: "figures-4.5-4.7",
        title: "a hundred iterations of conjugate gradients with Jacobi, beside PETSc",
        problem: "`jump7` for `spe10`, `elasticity` with jumps of stiffness for `geo4m` and without for `agg14m`: smaller than theirs. Beside: PETSc over as many processes as there are cores, with `--peers petsc`.",
        why: "Products are what takes the time. PETSc stores columns of 4 bytes; vcycle need not read them where rows repeat their neighbour, and reads them in blocks for elasticity.",
        chart: Chart::less("100 iterations").logarithmic(),
        on_devices: true,
        run: devices::iterations,
    },
    Experiment {
        paper: &PAPER,
        item: "figures-4.9-4.14",
        title: "strong and weak scaling of adaptive FSAI over ranks",
        problem: "`poisson7`, conjugate gradients with adaptive FSAI; ranks are threads of one process, each with its own rows. The paper has 32 to 512 GPUs.",
        why: "The figures are drawn without numbers. As there iterations grow with the problem, since FSAI is no multigrid, and the factor is the same on any number of ranks.",
        chart: Chart::more("efficiency"),
        on_devices: false,
        run: scaling::fsai,
    },
    Experiment {
        paper: &PAPER,
        item: "tables-4.7-4.8",
        title: "BAMG interpolation and Galerkin product of the first level",
        problem: "`elasticity` for `wing4m` and `agg14m`, nearly incompressible for `M20`: smaller than theirs. The preset `bamg-fsai` with two levels.",
        why: "Seconds are those of other machines.",
        chart: Chart::less("product").logarithmic(),
        on_devices: true,
        run: devices::first_level,
    },
    Experiment {
        paper: &PAPER,
        item: "table-4.10",
        title: "set-up and solve, processors and devices",
        problem: "As in tables 4.7 and 4.8 with the preset `fbamg-fsai`; `poisson7` with extended+i and FSAI for `poi111m`. Chronos on processors.",
        why: "Complexities depend on the couplings and hardly on the size; iterations are of smaller problems.",
        chart: Chart::less("operator complexity"),
        on_devices: true,
        run: devices::whole,
    },
];
