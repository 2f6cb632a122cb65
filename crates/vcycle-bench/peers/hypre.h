/* Matrices and vectors of hypre from a system, and conjugate gradients around a preconditioner. */
#include "system.h"

#include <HYPRE.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>

/* Where hypre was built for GPUs, arrays are handed over on the host and moved: others have no such functions. */
#ifdef HYPRE_USING_GPU
#define INITIALIZE(kind, ij) HYPRE_IJ##kind##Initialize_v2(ij, HYPRE_MEMORY_HOST)
#define MOVE(kind, ij, place) HYPRE_IJ##kind##Migrate(ij, HYPRE_MEMORY_##place)
#else
#define INITIALIZE(kind, ij) HYPRE_IJ##kind##Initialize(ij)
#define MOVE(kind, ij, place)
#endif

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
    INITIALIZE(Matrix, ij);
    HYPRE_IJMatrixSetValues(ij, s->local, counts, rows, s->columns, s->values);
    HYPRE_IJMatrixAssemble(ij);
    MOVE(Matrix, ij, DEVICE);
    HYPRE_IJMatrixGetObject(ij, (void **)&a);
    free(counts);
    free(rows);
    return a;
}

/* Of the values given, or of zeros. */
static HYPRE_IJVector vector(const System *s, const double *values) {
    HYPRE_IJVector ij;
    HYPRE_IJVectorCreate(MPI_COMM_WORLD, s->first, s->first + s->local - 1, &ij);
    HYPRE_IJVectorSetObjectType(ij, HYPRE_PARCSR);
    INITIALIZE(Vector, ij);
    for (int i = 0; i < s->local; i++) {
        int row = s->first + i;
        double value = values ? values[i] : 0.0;
        HYPRE_IJVectorSetValues(ij, 1, &row, &value);
    }
    HYPRE_IJVectorAssemble(ij);
    MOVE(Vector, ij, DEVICE);
    return ij;
}

static HYPRE_ParVector object(HYPRE_IJVector ij) {
    HYPRE_ParVector v;
    HYPRE_IJVectorGetObject(ij, (void **)&v);
    return v;
}

static void write_vector(const System *s, const char *path, HYPRE_IJVector ij) {
    int *rows = malloc(s->local * sizeof(int));
    double *values = malloc(s->local * sizeof(double));
    for (int i = 0; i < s->local; i++) rows[i] = s->first + i;
    MOVE(Vector, ij, HOST);
    HYPRE_IJVectorGetValues(ij, s->local, rows, values);
    write_solution(s, path, values);
}

/* Solves with a preconditioner that is configured, writes the solution and prints the answer. */
static void solve(const System *s, double start, const char *path, HYPRE_PtrToSolverFcn apply,
                  HYPRE_PtrToSolverFcn setup, HYPRE_Solver preconditioner) {
    HYPRE_ParCSRMatrix a = matrix(s);
    HYPRE_IJVector solution = vector(s, NULL);
    HYPRE_ParVector b = object(vector(s, s->rhs)), x = object(solution);
    HYPRE_Solver cg;
    HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &cg);
    HYPRE_PCGSetTwoNorm(cg, 1);
    HYPRE_PCGSetTol(cg, TOLERANCE);
    HYPRE_PCGSetMaxIter(cg, MAX_ITERATIONS);
    HYPRE_PCGSetPrecond(cg, apply, setup, preconditioner);
    double begin = now();
    HYPRE_ParCSRPCGSetup(cg, a, b, x);
    double ready = now();
    long before = sent;
    HYPRE_ParCSRPCGSolve(cg, a, b, x);
    double own = sent - before;
    double end = now();

    int iterations;
    HYPRE_PCGGetNumIterations(cg, &iterations);
    own /= iterations > 0 ? iterations : 1;
    MPI_Allreduce(&own, &messages, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    write_vector(s, path, solution);
    answer(begin - start, ready - begin, end - ready, iterations, 0);
}
