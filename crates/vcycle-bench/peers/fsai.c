/* hypre: conjugate gradients with its adaptive FSAI, growing as that of vcycle does by default: ten
   steps of one entry, Kaporin tolerance 1e-3. Processes look at their own rows and columns alone. */
#include "hypre.h"

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    HYPRE_Init();
    double start = now();
    System s = read_system(argv[1]);
    HYPRE_Solver fsai;
    HYPRE_FSAICreate(&fsai);
    HYPRE_FSAISetMaxSteps(fsai, 10);
    HYPRE_FSAISetMaxStepSize(fsai, 1);
    HYPRE_FSAISetKapTolerance(fsai, 1e-3);
    HYPRE_FSAISetMaxIterations(fsai, 1);
    HYPRE_FSAISetTolerance(fsai, 0.0);
    HYPRE_FSAISetZeroGuess(fsai, 1);
    HYPRE_FSAISetOmega(fsai, 1.0);
    solve(&s, start, argv[2], (HYPRE_PtrToSolverFcn)HYPRE_FSAISolve,
          (HYPRE_PtrToSolverFcn)HYPRE_FSAISetup, fsai);
    HYPRE_Finalize();
    MPI_Finalize();
}
