/* hypre on a GPU: conjugate gradients with BoomerAMG, PMIS, extended+i interpolation with 4 elements a row, l1-Jacobi.
   For hypre configured with CUDA (HYPRE_USING_GPU is then defined by its headers):
     mpicc -O3 -I$HYPRE/include -I$CUDA/include hypre_gpu.c -o hypre_gpu -L$HYPRE/lib -L$CUDA/lib64 \
         -lHYPRE -lcusparse -lcublas -lcurand -lcusolver -lcudart -lstdc++ -lm
     vcycle bench system poisson7:128 system --solution x && ./hypre_gpu system x && vcycle bench system poisson7:128 --residual x
   Solves twice and prints a line for each: the first one has loaded kernels, the second one is to be compared. */
#include <cuda_runtime.h>
#define SYNCHRONIZE() cudaDeviceSynchronize()
#include "hypre.h"

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    HYPRE_Init();
    HYPRE_SetMemoryLocation(HYPRE_MEMORY_DEVICE);
    HYPRE_SetExecutionPolicy(HYPRE_EXEC_DEVICE);
    HYPRE_SetSpGemmUseVendor(0);
    double start = now();
    System s = read_system(argv[1]);
    for (int round = 0; round < 2; round++) {
        HYPRE_Solver amg;
        HYPRE_BoomerAMGCreate(&amg);
        HYPRE_BoomerAMGSetTol(amg, 0.0);
        HYPRE_BoomerAMGSetMaxIter(amg, 1);
        HYPRE_BoomerAMGSetCoarsenType(amg, 8);
        HYPRE_BoomerAMGSetInterpType(amg, 6);
        HYPRE_BoomerAMGSetPMaxElmts(amg, 4);
        HYPRE_BoomerAMGSetRelaxType(amg, 18);
        HYPRE_BoomerAMGSetRelaxOrder(amg, 0);
        HYPRE_BoomerAMGSetKeepTranspose(amg, 1);
        if (s.block > 1) HYPRE_BoomerAMGSetNumFunctions(amg, s.block);
        solve(&s, start, argv[2], (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSolve,
              (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSetup, amg);
        HYPRE_BoomerAMGDestroy(amg);
    }
    HYPRE_Finalize();
    MPI_Finalize();
}
