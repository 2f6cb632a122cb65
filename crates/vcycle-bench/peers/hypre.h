/* Matrices and vectors of hypre from a system, and conjugate gradients around a preconditioner. */
#include "system.h"

#include <HYPRE.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>
#include <math.h>

static HYPRE_ParCSRMatrix matrix(const System *s) {
    HYPRE_IJMatrix ij;
    HYPRE_ParCSRMatrix a;
    int last = s->first + s->local - 1;
    int *counts = malloc(s->local * sizeof(int)), *rows = malloc(s->local * sizeof(int));
    for (int i = 0; i < s->local; i++) {
        counts[i] = s->offsets[i + 1] - s->offsets[i];
        rows[i] = s->first + i;
    }
    HYPRE_IJMatrixCreate(MPI_COMM_WORLD, s->first, last, s->first, last, &ij);
    HYPRE_IJMatrixSetObjectType(ij, HYPRE_PARCSR);
    HYPRE_IJMatrixSetRowSizes(ij, counts);
    HYPRE_IJMatrixInitialize(ij);
    HYPRE_IJMatrixSetValues(ij, s->local, counts, rows, s->columns, s->values);
    HYPRE_IJMatrixAssemble(ij);
    HYPRE_IJMatrixGetObject(ij, (void **)&a);
    free(counts);
    free(rows);
    return a;
}

/* Of the values given, or of zeros. */
static HYPRE_ParVector vector(const System *s, const double *values) {
    HYPRE_IJVector ij;
    HYPRE_ParVector v;
    HYPRE_IJVectorCreate(MPI_COMM_WORLD, s->first, s->first + s->local - 1, &ij);
    HYPRE_IJVectorSetObjectType(ij, HYPRE_PARCSR);
    HYPRE_IJVectorInitialize(ij);
    for (int i = 0; i < s->local; i++) {
        int row = s->first + i;
        double value = values ? values[i] : 0.0;
        HYPRE_IJVectorSetValues(ij, 1, &row, &value);
    }
    HYPRE_IJVectorAssemble(ij);
    HYPRE_IJVectorGetObject(ij, (void **)&v);
    return v;
}

/* Solves with a preconditioner that is configured, and prints the answer. */
static void solve(const System *s, HYPRE_PtrToSolverFcn apply, HYPRE_PtrToSolverFcn setup,
                  HYPRE_Solver preconditioner) {
    HYPRE_ParCSRMatrix a = matrix(s);
    HYPRE_ParVector b = vector(s, s->rhs), x = vector(s, NULL), r = vector(s, s->rhs);
    HYPRE_Solver cg;
    HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &cg);
    HYPRE_PCGSetTwoNorm(cg, 1);
    HYPRE_PCGSetTol(cg, TOLERANCE);
    HYPRE_PCGSetMaxIter(cg, MAX_ITERATIONS);
    HYPRE_PCGSetPrecond(cg, apply, setup, preconditioner);
    double begin = now();
    HYPRE_ParCSRPCGSetup(cg, a, b, x);
    double ready = now();
    HYPRE_ParCSRPCGSolve(cg, a, b, x);
    double end = now();

    int iterations;
    double rr, bb;
    HYPRE_PCGGetNumIterations(cg, &iterations);
    HYPRE_ParCSRMatrixMatvec(-1.0, a, x, 1.0, r);
    HYPRE_ParVectorInnerProd(r, r, &rr);
    HYPRE_ParVectorInnerProd(b, b, &bb);
    answer(ready - begin, end - ready, iterations, sqrt(rr / bb), 0);
}
