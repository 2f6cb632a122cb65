//! Solvers take their memory before they iterate: more iterations allocate nothing more.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use vcycle::config::SolverConfig;
use vcycle::executor::{Executor, Workspace};
use vcycle::linop::{LinOp, Size};
use vcycle::matrix::{Csr, Duplicates};
use vcycle::multigrid::{Amg, Cycle};
use vcycle::precond::Jacobi;
use vcycle::solver::{Fcg, Ir, Method, Solver, SolverFactory};
use vcycle::stop::{Status, Stop};
use vcycle::vector::Vector;

/// Counts the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending has no counter any more; nobody asks for it.
    let _ = ALLOCATIONS.try_with(|allocations| allocations.set(allocations.get() + 1));
}

// SAFETY: every call is handed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: `layout` is not of size zero, a condition of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: `memory` came from the system's allocator with this layout, a condition of `GlobalAlloc::dealloc`.
        unsafe { System.dealloc(memory, layout) }
    }
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: `memory` came from the system's allocator with this layout, and the new size is not zero,
        // conditions of `GlobalAlloc::realloc`.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn laplacian(n: usize) -> Arc<dyn LinOp<f64>> {
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..n {
        for column in row.saturating_sub(1)..(row + 2).min(n) {
            columns.push(column as u32);
            values.push(if row == column { 2.0 } else { -1.0 });
        }
        offsets.push(columns.len());
    }
    let host = Executor::reference();
    let size = Size::square(n);
    let a = Csr::from_arrays(&host, size, offsets, columns, values, Duplicates::Refuse);
    Arc::new(a.unwrap())
}

/// Those whose memory grows with a restart have a short one.
const METHODS: &str = "cg fcg pipecg minres bicg bicgstab cgs gmres:7 fgmres:7 pipegmres:7 idr gcr:7 ir:0.5 chebyshev";

fn methods() -> impl Iterator<Item = Arc<dyn Method<f64>>> {
    let method = |name: &str| name.parse::<SolverConfig>().unwrap().method().unwrap();
    METHODS.split_whitespace().map(method)
}

/// Allocations of a solve in a fresh workspace that ends at the limit of iterations.
fn allocations(solver: &Solver<f64>, iterations: usize) -> usize {
    let b = Vector::filled(&Executor::reference(), 400, 1, 1.0).unwrap();
    let mut x = Vector::zeros_like(&b).unwrap();
    let stop = Stop::fixed(iterations);
    let before = ALLOCATIONS.get();
    let outcome = solver
        .solve_in(&b, &mut x, &stop, &Workspace::new())
        .unwrap();
    let allocations = ALLOCATIONS.get() - before;
    assert_eq!(
        (outcome.status, outcome.iterations),
        (Status::IterationLimit, iterations)
    );
    allocations
}

#[test]
fn iterations_allocate_nothing() {
    for method in methods() {
        let factory = SolverFactory {
            method: method.clone(),
            preconditioner: Some(Arc::new(Jacobi::default())),
            stop: Stop::default(),
        };
        let solver = factory.solver(&laplacian(400), &Workspace::new()).unwrap();
        let (few, many) = (allocations(&solver, 10), allocations(&solver, 60));
        assert_eq!(few, many, "{method:?}");
    }
}

#[test]
fn a_solver_inside_another_allocates_nothing_after_its_first_use() {
    for method in methods() {
        let inner = SolverFactory {
            method: method.clone(),
            preconditioner: Some(Arc::new(Jacobi::default())),
            stop: Stop::fixed(5),
        };
        let outer = SolverFactory {
            method: Arc::new(Ir::default()),
            preconditioner: Some(Arc::new(inner)),
            stop: Stop::default(),
        };
        let solver = outer.solver(&laplacian(400), &Workspace::new()).unwrap();
        let (few, many) = (allocations(&solver, 2), allocations(&solver, 6));
        assert_eq!(few, many, "{method:?}");
    }
}

#[test]
fn a_multigrid_cycle_allocates_nothing_after_its_first_use() {
    for cycle in Cycle::ALL {
        let mut amg = Amg::default();
        (amg.cycle, amg.coarsest_rows) = (cycle, 20);
        let factory = SolverFactory {
            method: Arc::new(Fcg::default()),
            preconditioner: Some(Arc::new(amg)),
            stop: Stop::default(),
        };
        let solver = factory.solver(&laplacian(400), &Workspace::new()).unwrap();
        let (few, many) = (allocations(&solver, 2), allocations(&solver, 5));
        assert_eq!(few, many, "{cycle}");
    }
}
