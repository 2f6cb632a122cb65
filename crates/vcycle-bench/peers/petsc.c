/* PETSc: conjugate gradients with GAMG and its defaults, and the modes as its near-nullspace; or with another
   PRECONDITIONER, for some ITERATIONS. */
#include "system.h"

#include <petscksp.h>

#ifndef PRECONDITIONER
#define PRECONDITIONER PCGAMG
#define ITERATIONS MAX_ITERATIONS
#define REDUCTION TOLERANCE
#endif

static Mat matrix(const System *s) {
    Mat a;
    MatCreate(PETSC_COMM_WORLD, &a);
    MatSetSizes(a, s->local, s->local, s->rows, s->rows);
    MatSetBlockSize(a, s->block);
    MatSetType(a, MATAIJ);
    /* The one that is not for the type of this matrix does nothing. */
    MatSeqAIJSetPreallocationCSR(a, s->offsets, s->columns, s->values);
    MatMPIAIJSetPreallocationCSR(a, s->offsets, s->columns, s->values);
    MatSetOption(a, MAT_SPD, PETSC_TRUE);
    return a;
}

static Vec vector(const System *s, const double *values) {
    Vec v;
    VecCreateMPIWithArray(PETSC_COMM_WORLD, s->block, s->local, s->rows, values, &v);
    return v;
}

/* PETSc wants the modes orthonormal. */
static void near_nullspace(const System *s, Mat a) {
    Vec *modes = malloc(s->modes * sizeof(Vec));
    MatNullSpace space;
    for (int m = 0; m < s->modes; m++) {
        modes[m] = vector(s, s->mode[m]);
        for (int k = 0; k < m; k++) {
            double share;
            VecDot(modes[m], modes[k], &share);
            VecAXPY(modes[m], -share, modes[k]);
        }
        VecNormalize(modes[m], NULL);
    }
    MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_FALSE, s->modes, modes, &space);
    MatSetNearNullSpace(a, space);
}

int main(int argc, char **argv) {
    PetscInitialize(&argc, &argv, NULL, NULL);
    double start = now();
    System s = read_system(argv[1]);
    Mat a = matrix(&s);
    if (s.modes > 0) near_nullspace(&s, a);
    Vec b = vector(&s, s.rhs), x;
    VecDuplicate(b, &x);

    KSP cg;
    PC preconditioner;
    KSPCreate(PETSC_COMM_WORLD, &cg);
    KSPSetType(cg, KSPCG);
    KSPSetNormType(cg, KSP_NORM_UNPRECONDITIONED);
    KSPSetTolerances(cg, REDUCTION, 0.0, 1e100, ITERATIONS);
    KSPSetOperators(cg, a, a);
    KSPGetPC(cg, &preconditioner);
    PCSetType(preconditioner, PRECONDITIONER);
    KSPSetFromOptions(cg);
    double begin = now();
    KSPSetUp(cg);
    double ready = now();
    KSPSolve(cg, b, x);
    double end = now();

    PetscInt iterations;
    PetscReal grid, operator = 1.0;
    PetscBool levels;
    const double *values;
    KSPGetIterationNumber(cg, &iterations);
    VecGetArrayRead(x, &values);
    write_solution(&s, argv[2], values);
    VecRestoreArrayRead(x, &values);
    PetscObjectTypeCompare((PetscObject)preconditioner, PCGAMG, &levels);
    if (levels) PCMGGetGridComplexity(preconditioner, &grid, &operator);
    answer(begin - start, ready - begin, end - ready, iterations, operator);
    PetscFinalize();
}
