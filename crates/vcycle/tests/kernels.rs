//! What runs on one device compiles for all: the programs that solves need on an OpenCL device are
//! compiled for NVIDIA's and AMD's GPUs. Skips where there is no such device or no such compiler.

use std::sync::Arc;

use vcycle::batch::{BatchDense, BatchMethod, BatchPreconditioner, BatchSolver};
use vcycle::communicator::threads;
use vcycle::config::{self, Config};
use vcycle::executor::{Buffer, Executor, Workspace};
use vcycle::gallery;
use vcycle::linop::{Factory, LinOp, Size};
use vcycle::matrix::{Assembly, Csr, Duplicates, Mbsr};
use vcycle::multigrid::{
    coarsen::Aggregates,
    interpolate::{spectral_radius, tentative},
};
use vcycle::structured::StructMg;
use vcycle::vector::Vector;
use vcycle_gpu::testing::{names_compiler, skip};
use vcycle_gpu::{Device, Source, compile_only, discover};

/// Configurations that together use most files of kernels, in all precisions.
const CONFIGS: [&str; 17] = [
    "solver=cg preconditioner=amg",
    "solver=fcg preconditioner=amg:cycle=k,precision=dp-sp-hp",
    "solver=bicgstab preconditioner=ilu0:isai=1",
    "solver=gmres preconditioner=parilut",
    "solver=gmres preconditioner=block-jacobi format=sellp",
    "solver=gmres:basis=i16 preconditioner=jacobi",
    "solver=direct",
    "solver=minres preconditioner=jacobi format=ell",
    "solver=fcg preconditioner=amg:smoother=mcgs,precision=dp-sp/bf",
    "solver=fcg preconditioner=amg:host-rows=0,coarsening=pmis-aggressive",
    "solver=cg preconditioner=amg:host-rows=0,coarsening=pmis,interpolation=bamg",
    "solver=gmres preconditioner=amg:host-rows=0,coarsening=pmis,interpolation=bamg,energy-steps=1,coarse-filter=0.9",
    "solver=cg preconditioner=fsai",
    "solver=cg preconditioner=amg:host-rows=0,smoother=chebyshev",
    "solver=cg preconditioner=struct-mg",
    "solver=fcg preconditioner=struct-mg:precision=K64P64D64,pre-sweeps=1",
    "solver=fcg preconditioner=struct-mg:precision=K64P32DB16,coarsest-cells=10",
];

/// Set-ups whose products depend on how long rows are.
const SETUPS: [&str; 4] = [
    "solver=fcg preconditioner=amg:host-rows=0,coarsening=pmis",
    "solver=fcg preconditioner=amg:host-rows=0,coarsening=pgm",
    "solver=fcg preconditioner=amg:host-rows=0,coarsening=mis2",
    "solver=fcg preconditioner=amg:host-rows=0,coarsening=pmis,strength.kind=affinity",
];

fn first_opencl_device() -> Option<String> {
    let found = discover()
        .into_iter()
        .find(|found| found.driver == "opencl");
    let devices = found?.devices.ok()?;
    devices.first().map(|device| device.name.clone())
}

/// Solves a problem with each of the configurations, for so many right-hand sides.
fn solve(problem: &str, configs: &[&str], sides: usize, executor: &Executor) {
    let matrix = Arc::new(gallery::build(problem, executor).unwrap().matrix);
    let b = Vector::filled(executor, matrix.size().rows, sides, 1.0).unwrap();
    for text in configs {
        let config: Config = text.parse().unwrap();
        let solved = config::solve(&config, &matrix, &b, &Workspace::new());
        assert!(solved.unwrap().outcome.converged(), "{problem}: {text}");
    }
}

/// Solves with complex values, by what has kernels for them.
fn solve_complex(executor: &Executor) {
    let problem = gallery::build_complex("magnetic:12,0.05", executor).unwrap();
    let (matrix, b) = (
        Arc::new(problem.matrix),
        Vector::from_column(executor, problem.rhs),
    );
    for text in [
        "solver=cg preconditioner=amg",
        "solver=direct",
        "solver=gmres preconditioner=ilu0",
    ] {
        let config: Config = text.parse().unwrap();
        let solved = config::solve(&config, &matrix, &b, &Workspace::new());
        assert!(solved.unwrap().outcome.converged(), "{text}");
    }
}

/// Multiplies in blocks, which devices do by themselves with large matrices, and rows of which many columns are neighbours.
fn in_blocks(executor: &Executor) {
    let a = gallery::build("elasticity:2x2x2", executor).unwrap().matrix;
    a.multiply(&a).unwrap();
    a.multiply_in_tiles(&a).unwrap();
    // Rows with many products in few words of columns.
    let (rows, size) = (465, Size::square(465));
    let offsets = (0..=rows).map(|row| rows * row).collect();
    let columns = (0..rows as u32).collect::<Vec<_>>().repeat(rows);
    let values = vec![1.0; rows * rows];
    let full = Csr::from_arrays(executor, size, offsets, columns, values, Duplicates::Refuse);
    let full = full.unwrap();
    full.multiply(&full).unwrap();
    // Rows that are shorter than teams.
    a.multiply(&Csr::identity(executor, a.size().rows)).unwrap();
    let x = Vector::<f64>::filled(executor, a.size().rows, 1, 1.0).unwrap();
    let mut y = Vector::<f64>::zeros_like(&x).unwrap();
    let a = a.on_device_in(Some(Size::square(3))).unwrap();
    a.apply(&x, &mut y, &Workspace::new()).unwrap();
    a.multiply(&a).unwrap();
    let several = Vector::<f64>::filled(executor, a.size().rows, 8, 1.0).unwrap();
    let mut products = Vector::<f64>::zeros_like(&several).unwrap();
    a.apply(&several, &mut products, &Workspace::new()).unwrap();
    // Tiles that reach beyond its 81 rows.
    let tiles = a.on_device_in(Some(Size::square(4))).unwrap();
    tiles.apply(&x, &mut y, &Workspace::new()).unwrap();
    Mbsr::from_csr(&a).unwrap().to_csr();
}

/// Solves small systems by every method, and with every preconditioner of batches.
fn batches(executor: &Executor) {
    let identities = BatchDense::new(1, vec![1.0; 3]).unwrap();
    // Too wide for a thread.
    let wide = (0..36).map(|at| f64::from(u8::from(at % 7 == 0)));
    let wide = BatchDense::new(6, wide.collect()).unwrap();
    let with = BatchPreconditioner::ALL.map(|one| (BatchMethod::Bicgstab, one));
    let others = [BatchMethod::Cg, BatchMethod::Gmres, BatchMethod::Direct];
    let others = others.map(|one| (one, BatchPreconditioner::Jacobi));
    for (method, preconditioner) in with.into_iter().chain(others) {
        let mut solver = BatchSolver::default();
        (solver.method, solver.preconditioner) = (method, preconditioner);
        solver
            .solve(executor, &identities, &[1.0; 3], &mut [0.0; 3])
            .unwrap();
        if method == BatchMethod::Direct {
            solver
                .solve(executor, &wide, &[1.0; 6], &mut [0.0; 6])
                .unwrap();
        }
    }
}

/// The programs that the configurations give a device.
fn programs(device: &str) -> Vec<Source> {
    let executor = Executor::gpu(device).unwrap();
    solve("poisson5:20", &CONFIGS, 1, &executor);
    solve_complex(&executor);
    // With more than one level: the coarsest has no sweeps.
    let systems = "solver=gmres preconditioner=struct-mg:coarsest-cells=10";
    solve("rhd-3T:4", &[systems], 1, &executor);
    let grid = "solver=cg preconditioner=struct-mg";
    solve("jump7:16,1e6", &[grid], 1, &executor);
    solve("poisson5:20", &SETUPS, 1, &executor);
    solve("poisson27:8", &SETUPS, 1, &executor);
    let several = [
        "preconditioner=struct-mg",
        "solver=block-cg preconditioner=jacobi format=coo",
    ];
    solve("poisson5:20", &several, 2, &executor);
    let unplaced = gallery::build("poisson5:20", &executor).unwrap().matrix;
    spectral_radius(&unplaced).unwrap();
    in_blocks(&executor);
    let pairs = Aggregates {
        aggregate: vec![0, 0, 1, 1].into(),
        count: 2,
    };
    tentative(&pairs, &[vec![1.0; 4]], 1, &executor).unwrap();
    batches(&executor);
    let one = Buffer::from_vec(&executor, vec![0]);
    let assembly = Assembly::new(Size::square(1), &one, &one).unwrap();
    assembly
        .matrix(&Buffer::from_vec(&executor, vec![1.0]))
        .unwrap();
    let mut programs = Device::open(device).unwrap().programs();
    programs.extend(of_ranks(device));
    programs
}

/// The programs that ranks with a device have besides.
fn of_ranks(device: &str) -> Vec<Source> {
    let found = threads::run(2, |team| {
        let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
        let rank = rank.with_device(device)?;
        let (a, b) = gallery::build_part("poisson5:20", &rank)?.unwrap();
        let b = Vector::from_column(&rank, b);
        let mut x = Vector::<f64>::zeros_like(&b)?;
        a.apply(&b, &mut x, &Workspace::new())?;
        a.with_rows_there()?.transpose()?;
        let mut grids = StructMg::default();
        grids.gather_cells = 0;
        let a: Arc<dyn LinOp<f64>> = Arc::new(a);
        let cycle = grids.generate(&a, &Workspace::new())?;
        cycle.apply(&b, &mut x, &Workspace::new())?;
        Ok(rank.device().unwrap().programs())
    });
    let mut found = found.unwrap().swap_remove(0);
    let of_ranks = ["cells.c", "halo.c", "parts.c"];
    found.retain(|program| of_ranks.contains(&program.file.as_str()));
    found
}

/// No file of kernels is left out.
fn assert_all_files(programs: &[Source]) {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../vcycle-core/src/gpu/kernels"
    );
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        // The build step marks where the text of a file begins; the dialect comes before all of them.
        let mark = format!("#line 1 \"{name}\"");
        let used = programs.iter().any(|program| program.text.contains(&mark));
        assert!(used || name == "dialect.h", "no program has {name}");
    }
}

/// Threads of a team, entries of its rows and slots of its tables, as larger problems have them.
const TEAMS: [[usize; 3]; 3] = [[16, 64, 128], [128, 2048, 3072], [128, 0, 0]];

/// The programs of teams that small problems have no rows for, each once.
fn of_wider_teams(programs: &[Source]) -> Vec<Source> {
    let is = |define: &str, name: &str| define.split('=').next() == Some(name);
    let sized = |program: &&Source| {
        let has = |name: &str| program.defines.iter().any(|define| is(define, name));
        let alone = program.defines.iter().any(|define| define == "THREADS=1");
        // Rows of blocks and of complex numbers have room for fewer of them.
        let is_complex = program.defines.iter().any(|define| define == "ACC=c64");
        let others = is_complex || ["ITEM", "HEIGHT"].into_iter().any(has);
        ["THREADS", "SIZE", "SLOTS"].into_iter().all(has) && !others && !alone
    };
    let mut wider: Vec<Source> = Vec::new();
    for program in programs.iter().filter(sized) {
        for team in TEAMS {
            let mut program = program.clone();
            for define in &mut program.defines {
                for (name, value) in ["THREADS", "SIZE", "SLOTS"].into_iter().zip(team) {
                    if is(define, name) {
                        *define = format!("{name}={value}");
                    }
                }
            }
            if !wider.contains(&program) {
                wider.push(program);
            }
        }
    }
    wider
}

/// The first program of every file.
fn one_of_each_file(programs: &[Source]) -> Vec<Source> {
    let mut once: Vec<Source> = Vec::new();
    for program in programs {
        if once.iter().all(|other| other.file != program.file) {
            once.push(program.clone());
        }
    }
    once
}

/// Those of a file.
fn of_file(programs: &[Source], file: &str) -> Vec<Source> {
    let own = programs.iter().filter(|program| program.file == file);
    own.cloned().collect()
}

fn compile_all(programs: &[Source], target: &str, width: usize) {
    for program in programs {
        let mut program = program.clone();
        let shares = program.defines.iter().any(|define| define == "LANES=1");
        for define in &mut program.defines {
            // A block has as many rows then.
            if shares && define == "BLOCK=2" {
                *define = "BLOCK=16".to_owned();
            }
            match define.split('=').next() {
                Some("WIDTH") => *define = format!("WIDTH={width}"),
                Some("IN_FLIGHT") => *define = "IN_FLIGHT=4".to_owned(),
                _ => {}
            }
            // Threads share rows where they can.
            if define == "LANES=1" {
                *define = "LANES=8".to_owned();
            }
        }
        if let Err(error) = compile_only(target, &program) {
            panic!("{target}, {:?}: {error}", program.defines);
        }
    }
}

#[test]
fn programs_of_one_device_compile_for_all() {
    let Some(device) = first_opencl_device() else {
        return skip("opencl");
    };
    let programs = programs(&device);
    assert_all_files(&programs);
    // What differs between teams, chips and vendors is seen in one program of a file.
    let once = one_of_each_file(&programs);
    let all = [&programs[..], &of_wider_teams(&once)].concat();
    let in_blocks = of_file(&programs, "sliced_blocks.c");
    let targets = [
        ("VCYCLE_NVRTC", "sm_80", 32, &once),
        ("VCYCLE_NVRTC", "sm_90", 32, &all),
        ("VCYCLE_NVRTC", "sm_100", 32, &in_blocks),
        ("VCYCLE_HIPRTC", "gfx90a", 64, &once),
    ];
    std::thread::scope(|scope| {
        for (variable, target, width, programs) in targets {
            if names_compiler(variable) {
                scope.spawn(move || compile_all(programs, target, width));
            }
        }
    });
}
