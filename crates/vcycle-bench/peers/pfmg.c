/* hypre: conjugate gradients with PFMG and its defaults, for a matrix on a cube of cells. */
#include "system.h"

#include <HYPRE.h>
#include <HYPRE_krylov.h>
#include <HYPRE_struct_ls.h>
#include <math.h>

static void refuse(const char *why) {
    fprintf(stderr, "%s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The place of the neighbour of a row, 0 to 26, or -1. */
static int place(int n, int row, int column) {
    int x = column % n - row % n, y = column / n % n - row / n % n, z = column / n / n - row / n / n;
    if (abs(x) > 1 || abs(y) > 1 || abs(z) > 1) return -1;
    return x + 1 + 3 * (y + 1) + 9 * (z + 1);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    HYPRE_Init();
    double start = now();
    System s = read_system(argv[1]);
    int n = (int)lround(cbrt(s.rows)), used[27] = {0}, entry[27], entries = 0;
    if (n * n * n != s.rows || s.block > 1) refuse("not a cube of cells with one unknown each");
    if (s.first % (n * n) || s.local % (n * n)) refuse("planes cannot be shared evenly");
    for (int i = 0; i < s.local; i++)
        for (int k = s.offsets[i]; k < s.offsets[i + 1]; k++) {
            int at = place(n, s.first + i, s.columns[k]);
            if (at < 0) refuse("not a stencil");
            used[at] = used[26 - at] = 1;
        }
    for (int at = 0; at < 27; at++)
        if (used[at]) entry[at] = entries++;

    HYPRE_StructGrid grid;
    HYPRE_StructStencil stencil;
    HYPRE_StructMatrix a;
    HYPRE_StructVector b, x;
    int low[3] = {0, 0, s.first / n / n}, high[3] = {n - 1, n - 1, (s.first + s.local) / n / n - 1};
    HYPRE_StructGridCreate(MPI_COMM_WORLD, 3, &grid);
    HYPRE_StructGridSetExtents(grid, low, high);
    HYPRE_StructGridAssemble(grid);
    HYPRE_StructStencilCreate(3, entries, &stencil);
    int indices[27];
    for (int at = 0; at < 27; at++)
        if (used[at]) {
            int offset[3] = {at % 3 - 1, at / 3 % 3 - 1, at / 9 - 1};
            HYPRE_StructStencilSetElement(stencil, entry[at], offset);
            indices[entry[at]] = entry[at];
        }
    double *values = calloc((size_t)s.local * entries, sizeof(double));
    for (int i = 0; i < s.local; i++)
        for (int k = s.offsets[i]; k < s.offsets[i + 1]; k++)
            values[(size_t)i * entries + entry[place(n, s.first + i, s.columns[k])]] = s.values[k];
    HYPRE_StructMatrixCreate(MPI_COMM_WORLD, grid, stencil, &a);
    HYPRE_StructMatrixInitialize(a);
    HYPRE_StructMatrixSetBoxValues(a, low, high, entries, indices, values);
    HYPRE_StructMatrixAssemble(a);
    HYPRE_StructVector *vectors[2] = {&b, &x};
    double *zeros = calloc(s.local, sizeof(double));
    for (int v = 0; v < 2; v++) {
        HYPRE_StructVectorCreate(MPI_COMM_WORLD, grid, vectors[v]);
        HYPRE_StructVectorInitialize(*vectors[v]);
        HYPRE_StructVectorSetBoxValues(*vectors[v], low, high, v == 1 ? zeros : s.rhs);
        HYPRE_StructVectorAssemble(*vectors[v]);
    }

    HYPRE_StructSolver pfmg, cg;
    HYPRE_StructPFMGCreate(MPI_COMM_WORLD, &pfmg);
    HYPRE_StructPFMGSetTol(pfmg, 0.0);
    HYPRE_StructPFMGSetMaxIter(pfmg, 1);
    HYPRE_StructPFMGSetZeroGuess(pfmg);
    HYPRE_StructPCGCreate(MPI_COMM_WORLD, &cg);
    HYPRE_StructPCGSetTwoNorm(cg, 1);
    HYPRE_StructPCGSetTol(cg, TOLERANCE);
    HYPRE_StructPCGSetMaxIter(cg, MAX_ITERATIONS);
    HYPRE_StructPCGSetPrecond(cg, HYPRE_StructPFMGSolve, HYPRE_StructPFMGSetup, pfmg);
    double begin = now();
    HYPRE_StructPCGSetup(cg, a, b, x);
    double ready = now();
    HYPRE_StructPCGSolve(cg, a, b, x);
    double end = now();

    int iterations;
    HYPRE_StructPCGGetNumIterations(cg, &iterations);
    double *solution = malloc(s.local * sizeof(double));
    HYPRE_StructVectorGetBoxValues(x, low, high, solution);
    write_solution(&s, argv[2], solution);
    answer(begin - start, ready - begin, end - ready, iterations, 0);
    HYPRE_Finalize();
    MPI_Finalize();
}
