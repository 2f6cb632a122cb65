/* AmgX on a GPU: conjugate gradients with aggregates of two and l1-Jacobi, or a configuration of one's own.
     mpicc -O3 -I$AMGX/include -I$CUDA/include amgx.c -o amgx -L$AMGX/lib -L$CUDA/lib64 -lamgxsh -lcudart -lm
     vcycle bench system poisson7:128 system --solution x && ./amgx system x && vcycle bench system poisson7:128 --residual x
   A third argument is a configuration of AmgX in place of the one below. One process; solves twice and prints a line for
   each: the first one has loaded kernels, the second one is to be compared. */
#include <amgx_c.h>
#include <cuda_runtime.h>
#define SYNCHRONIZE() cudaDeviceSynchronize()
#include "system.h"

static const char *CONFIGURATION =
    "config_version=2, solver(main)=PCG, main:max_iters=500, main:tolerance=1e-8, main:norm=L2, "
    "main:convergence=RELATIVE_INI_CORE, main:monitor_residual=1, main:preconditioner(amg)=AMG, "
    "amg:algorithm=AGGREGATION, amg:selector=SIZE_2, amg:cycle=V, amg:max_iters=1, amg:presweeps=1, "
    "amg:postsweeps=1, amg:smoother=JACOBI_L1, amg:coarse_solver=DENSE_LU_SOLVER";

static void quiet(const char *text, int length) {
    (void)text, (void)length;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    AMGX_SAFE_CALL(AMGX_initialize());
    AMGX_SAFE_CALL(AMGX_register_print_callback(quiet));
    double start = now();
    System s = read_system(argv[1]);
    AMGX_config_handle options;
    AMGX_resources_handle resources;
    AMGX_matrix_handle a;
    AMGX_vector_handle b, x;
    AMGX_SAFE_CALL(AMGX_config_create(&options, argc > 3 ? argv[3] : CONFIGURATION));
    AMGX_SAFE_CALL(AMGX_resources_create_simple(&resources, options));
    AMGX_SAFE_CALL(AMGX_matrix_create(&a, resources, AMGX_mode_dDDI));
    AMGX_SAFE_CALL(AMGX_vector_create(&b, resources, AMGX_mode_dDDI));
    AMGX_SAFE_CALL(AMGX_vector_create(&x, resources, AMGX_mode_dDDI));
    AMGX_SAFE_CALL(AMGX_matrix_upload_all(a, s.rows, s.offsets[s.rows], 1, 1, s.offsets, s.columns, s.values, NULL));
    AMGX_SAFE_CALL(AMGX_vector_upload(b, s.rows, 1, s.rhs));
    double *solution = malloc(s.rows * sizeof(double));
    for (int round = 0; round < 2; round++) {
        AMGX_solver_handle solver;
        int iterations;
        AMGX_SAFE_CALL(AMGX_solver_create(&solver, resources, AMGX_mode_dDDI, options));
        AMGX_SAFE_CALL(AMGX_vector_set_zero(x, s.rows, 1));
        double begin = now();
        AMGX_SAFE_CALL(AMGX_solver_setup(solver, a));
        double ready = now();
        AMGX_SAFE_CALL(AMGX_solver_solve_with_0_initial_guess(solver, b, x));
        double end = now();
        AMGX_SAFE_CALL(AMGX_solver_get_iterations_number(solver, &iterations));
        answer(begin - start, ready - begin, end - ready, iterations, 0);
        AMGX_SAFE_CALL(AMGX_solver_destroy(solver));
    }
    AMGX_SAFE_CALL(AMGX_vector_download(x, solution));
    write_solution(&s, argv[2], solution);
    MPI_Finalize();
}
