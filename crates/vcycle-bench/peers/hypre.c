/* hypre: conjugate gradients with BoomerAMG and its defaults, which in 2.26 are HMIS coarsening,
   extended+i interpolation with 4 elements a row, strength threshold 0.25 and l1 hybrid
   Gauss-Seidel, forward before and backward after the coarse correction. */
#include "hypre.h"

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    HYPRE_Init();
    double start = now();
    System s = read_system(argv[1]);
    HYPRE_Solver amg;
    HYPRE_BoomerAMGCreate(&amg);
    HYPRE_BoomerAMGSetTol(amg, 0.0);
    HYPRE_BoomerAMGSetMaxIter(amg, 1);
    if (s.block > 1) HYPRE_BoomerAMGSetNumFunctions(amg, s.block);
    solve(&s, start, argv[2], (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSolve,
          (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSetup, amg);
    HYPRE_Finalize();
    MPI_Finalize();
}
