// Solves the Poisson equation on a square: set-up, two right-hand sides, new values, and user-written conjugate gradients
// around vcycle's cycle.
//
//     cc poisson.c $(pkg-config --cflags --libs vcycle) -lm -o poisson && ./poisson
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <vcycle.h>

enum { SIDE = 100, ROWS = SIDE * SIDE };

static void check(int32_t code) {
    if (code != VCYCLE_OK) {
        fprintf(stderr, "vcycle: %s\n", vcycle_last_error());
        exit(1);
    }
}

// The five-point stencil, row by row.
static int assemble(int32_t *offsets, int32_t *columns, double *values) {
    int count = 0;
    for (int row = 0; row < ROWS; row++) {
        int i = row % SIDE, j = row / SIDE;
        offsets[row] = count;
        const int there[5] = {j > 0, i > 0, 1, i < SIDE - 1, j < SIDE - 1};
        const int step[5] = {-SIDE, -1, 0, 1, SIDE};
        for (int k = 0; k < 5; k++) {
            if (there[k]) {
                columns[count] = row + step[k];
                values[count++] = step[k] == 0 ? 4.0 : -1.0;
            }
        }
    }
    offsets[ROWS] = count;
    return count;
}

static void multiply(const int32_t *offsets, const int32_t *columns, const double *values, const double *x, double *y) {
    for (int row = 0; row < ROWS; row++) {
        y[row] = 0.0;
        for (int k = offsets[row]; k < offsets[row + 1]; k++) y[row] += values[k] * x[columns[k]];
    }
}

static double dot(const double *x, const double *y) {
    double sum = 0.0;
    for (int row = 0; row < ROWS; row++) sum += x[row] * y[row];
    return sum;
}

static int32_t progress(int64_t iteration, double residual, void *context) {
    *(double *)context = residual;
    return iteration > 1000; // anything but 0 ends the solve
}

int main(void) {
    static int32_t offsets[ROWS + 1], columns[5 * ROWS];
    static double values[5 * ROWS], b[ROWS], x[ROWS], r[ROWS], z[ROWS], p[ROWS], q[ROWS];
    int entries = assemble(offsets, columns, values);
    for (int row = 0; row < ROWS; row++) b[row] = 1.0;

    vcycle_solver *solver = NULL;
    check(vcycle_create("rtol=1e-10", &solver));
    vcycle_csr a = {
        .size = sizeof a, .rows = ROWS, .offsets = offsets, .columns = columns, .values = values,
        .offset_type = VCYCLE_I32, .column_type = VCYCLE_I32, .value_type = VCYCLE_F64,
    };
    check(vcycle_setup(solver, &a));

    double last = 1.0;
    check(vcycle_set_callback(solver, progress, &last));
    vcycle_report report = {.size = sizeof report};
    check(vcycle_solve(solver, 1, b, 0, x, 0, NULL, &report));
    printf("%s after %lld iterations, residual %.1e, %d levels\n", vcycle_status_name(report.status),
           (long long)report.iterations, report.relative_residual, report.levels);
    if (report.status != VCYCLE_CONVERGED || last > 1e-9) return 1;
    double middle = x[ROWS / 2 + SIDE / 2];

    for (int k = 0; k < entries; k++) values[k] *= 2.0;
    check(vcycle_update_values(solver, values));
    check(vcycle_solve(solver, 1, b, 0, x, 0, NULL, &report));
    if (report.status != VCYCLE_CONVERGED || fabs(2.0 * x[ROWS / 2 + SIDE / 2] - middle) > 1e-6 * middle) return 1;

    // User-written conjugate gradients, with a cycle as preconditioner.
    for (int row = 0; row < ROWS; row++) x[row] = 0.0, r[row] = b[row];
    check(vcycle_apply(solver, 1, r, 0, z, 0));
    for (int row = 0; row < ROWS; row++) p[row] = z[row];
    double rho = dot(r, z);
    int iteration = 0;
    while (sqrt(dot(r, r) / dot(b, b)) > 1e-8 && iteration < 100) {
        multiply(offsets, columns, values, p, q);
        double alpha = rho / dot(p, q);
        for (int row = 0; row < ROWS; row++) x[row] += alpha * p[row], r[row] -= alpha * q[row];
        check(vcycle_apply(solver, 1, r, 0, z, 0));
        double next = dot(r, z), beta = next / rho;
        for (int row = 0; row < ROWS; row++) p[row] = z[row] + beta * p[row];
        rho = next;
        iteration++;
    }
    printf("own conjugate gradients: %d iterations\n", iteration);
    if (iteration >= 30 || fabs(2.0 * x[ROWS / 2 + SIDE / 2] - middle) > 1e-5 * middle) return 1;

    check(vcycle_free(solver));
    // What was freed is known.
    return vcycle_apply(solver, 1, r, 0, z, 0) == VCYCLE_ERROR_HANDLE ? 0 : 1;
}
