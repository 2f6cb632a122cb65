#include "batch.h"
#include "batch_inverse.h"
#pragma block 64

// Many small systems A x = b of one pattern: a block solves one system from its first to its last iteration and takes the next.
//
// Definitions: those of batch.h and batch_inverse.h; RESTART, the room of the basis of GMRES; METHOD, one of
#define CG 0
#define BICGSTAB 1
#define GMRES 2

// What all iterations work on.
typedef struct {
    Matrix a;
    Inverse inverse;
    Real tolerance;
    // Iterations of a system, and vectors of a restart.
    u32 most, kept;
    LOCAL A *x, *r, *scratch;
} Run;

#if METHOD == CG
#define VECTORS 3
FUNCTION u32 iterate(Run run, LOCAL A *vectors, GLOBAL A *basis, LOCAL A *small, PRIVATE u32 *iterations) {
    u32 rows = run.a.rows;
    LOCAL A *p = vectors, *q = vectors + ROWS, *z = vectors + 2 * ROWS;
    apply(run.inverse, run.a, run.r, z);
    FOR_ROWS(row) p[row] = z[row];
    A rho = dot(rows, run.r, z, run.scratch);
    while (*iterations < run.most) {
        multiply(run.a, p, q);
        Real curvature = REAL_PART(A, dot(rows, p, q, run.scratch));
        if (!(curvature > 0))
            return INDEFINITE;
        A alpha = scaled(1 / curvature, rho);
        FOR_ROWS(row) {
            run.x[row] += MULTIPLY(A, alpha, p[row]);
            run.r[row] -= MULTIPLY(A, alpha, q[row]);
        }
        *iterations += 1;
        if (norm(rows, run.r, run.scratch) <= run.tolerance)
            return GOING_ON;
        apply(run.inverse, run.a, run.r, z);
        A next = dot(rows, run.r, z, run.scratch);
        if (IS_ZERO(A, next))
            return BREAKDOWN;
        A beta = OVER(A, next, rho);
        rho = next;
        FOR_ROWS(row) p[row] = z[row] + MULTIPLY(A, beta, p[row]);
    }
    return GOING_ON;
}
#elif METHOD == BICGSTAB
#define VECTORS 5
FUNCTION u32 iterate(Run run, LOCAL A *vectors, GLOBAL A *basis, LOCAL A *small, PRIVATE u32 *iterations) {
    u32 rows = run.a.rows;
    LOCAL A *shadow = vectors, *p = vectors + ROWS, *v = vectors + 2 * ROWS, *z = vectors + 3 * ROWS,
            *t = vectors + 4 * ROWS;
    FOR_ROWS(row) {
        shadow[row] = run.r[row];
        p[row] = v[row] = 0;
    }
    A rho = OF_REAL(A, 1), alpha = rho, omega = rho;
    while (*iterations < run.most) {
        A next = dot(rows, shadow, run.r, run.scratch);
        A beta = MULTIPLY(A, OVER(A, next, rho), OVER(A, alpha, omega));
        if (IS_ZERO(A, next) || !is_finite(MAGNITUDE(A, beta)))
            return BREAKDOWN;
        rho = next;
        FOR_ROWS(row) p[row] = run.r[row] + MULTIPLY(A, beta, p[row] - MULTIPLY(A, omega, v[row]));
        apply(run.inverse, run.a, p, z);
        multiply(run.a, z, v);
        alpha = OVER(A, rho, dot(rows, shadow, v, run.scratch));
        if (!is_finite(MAGNITUDE(A, alpha)))
            return BREAKDOWN;
        FOR_ROWS(row) {
            run.x[row] += MULTIPLY(A, alpha, z[row]);
            run.r[row] -= MULTIPLY(A, alpha, v[row]);
        }
        *iterations += 1;
        if (norm(rows, run.r, run.scratch) <= run.tolerance)
            return GOING_ON;
        apply(run.inverse, run.a, run.r, z);
        multiply(run.a, z, t);
        A with_r = dot(rows, t, run.r, run.scratch);
        omega = OVER(A, with_r, dot(rows, t, t, run.scratch));
        if (IS_ZERO(A, omega) || !is_finite(MAGNITUDE(A, omega)))
            return BREAKDOWN;
        FOR_ROWS(row) {
            run.x[row] += MULTIPLY(A, omega, z[row]);
            run.r[row] -= MULTIPLY(A, omega, t[row]);
        }
        if (norm(rows, run.r, run.scratch) <= run.tolerance)
            return GOING_ON;
    }
    return GOING_ON;
}
#else
#define VECTORS 1
// Of the projected problem: columns of the triangle, RESTART + 1 apart, cosines, sines, right-hand side.
#define COLUMN(step) (small + (step) * (RESTART + 1))
#define COSINES (small + RESTART * (RESTART + 1))
#define SINES (COSINES + RESTART)
#define SIDE (SINES + RESTART)

// Turns the new column, whose last entry is the length that is left, so that the pivot stands alone.
FUNCTION void eliminate(LOCAL A *small, u32 step, Real length) {
    LOCAL A *h = COLUMN(step);
    for (u32 k = 0; k < step; k++) {
        A upper = h[k], lower = h[k + 1];
        h[k] = MULTIPLY(A, COSINES[k], upper) + MULTIPLY(A, SINES[k], lower);
        h[k + 1] = MULTIPLY(A, COSINES[k], lower) - MULTIPLY(A, CONJ(A, SINES[k]), upper);
    }
    Real size = modulus(h[step]), radius = SQUARE_ROOT(Real, size * size + length * length);
    A direction = size != 0 ? scaled(1 / size, h[step]) : OF_REAL(A, 1);
    COSINES[step] = OF_REAL(A, radius != 0 ? size / radius : 1);
    SINES[step] = scaled(radius != 0 ? length / radius : 0, direction);
    h[step] = scaled(radius, direction);
    SIDE[step + 1] = -MULTIPLY(A, CONJ(A, SINES[step]), SIDE[step]);
    SIDE[step] = MULTIPLY(A, COSINES[step], SIDE[step]);
}

FUNCTION void solve_projected(LOCAL A *small, u32 dimension) {
    for (u32 row = dimension; row-- > 0;) {
        A sum = SIDE[row];
        for (u32 k = row + 1; k < dimension; k++)
            sum -= MULTIPLY(A, COLUMN(k)[row], SIDE[k]);
        SIDE[row] = OVER(A, sum, COLUMN(row)[row]);
    }
}

// One restart. Vectors of the basis lie `rows` apart; threads read what they wrote.
FUNCTION u32 iterate(Run run, LOCAL A *vectors, GLOBAL A *basis, LOCAL A *small, PRIVATE u32 *iterations) {
    u32 rows = run.a.rows, dimension = 0;
    LOCAL A *z = vectors;
    Real length = norm(rows, run.r, run.scratch);
    if (thread_of_block() == 0)
        SIDE[0] = OF_REAL(A, length);
    while (dimension < run.kept && *iterations < run.most) {
        u32 step = dimension;
        FOR_ROWS(row) {
            run.r[row] = scaled(1 / length, run.r[row]);
            basis[step * rows + row] = run.r[row];
        }
        apply(run.inverse, run.a, run.r, z);
        multiply(run.a, z, run.r);
        for (u32 k = 0; k <= step; k++) {
            A part = 0;
            FOR_ROWS(row) part += MULTIPLY(A, CONJ(A, basis[k * rows + row]), run.r[row]);
            part = everywhere(part, run.scratch);
            FOR_ROWS(row) run.r[row] -= MULTIPLY(A, part, basis[k * rows + row]);
            if (thread_of_block() == 0)
                COLUMN(step)[k] = part;
        }
        length = norm(rows, run.r, run.scratch);
        if (thread_of_block() == 0)
            eliminate(small, step, length);
        BARRIER();
        *iterations += 1;
        // NaN ends it, too.
        if (!(MAGNITUDE(A, COLUMN(step)[step]) > 0))
            break;
        dimension = step + 1;
        if (modulus(SIDE[dimension]) <= run.tolerance || !(length > 0))
            break;
    }
    BARRIER();
    if (thread_of_block() == 0)
        solve_projected(small, dimension);
    BARRIER();
    FOR_ROWS(row) {
        A sum = 0;
        for (u32 k = 0; k < dimension; k++)
            sum += MULTIPLY(A, SIDE[k], basis[k * rows + row]);
        run.r[row] = sum;
    }
    apply(run.inverse, run.a, run.r, z);
    FOR_ROWS(row) run.x[row] += z[row];
    BARRIER();
    return dimension > 0 ? GOING_ON : BREAKDOWN;
}
#endif

#if METHOD == GMRES
#define SMALL (RESTART * (RESTART + 1) + 3 * RESTART + 1)
#else
#define SMALL 1
#endif

KERNEL batch_solve(BATCH, u32 kept, GLOBAL A *bases, u32 size, u32 below, u32 forward, u32 backward,
                   GLOBAL const u32 *order, GLOBAL const u32 *starts, u32 factors_size, GLOBAL A *rooms,
                   u32 room_size, GLOBAL A *row_rooms) {
    LOCAL_ARRAY(A, x, ROWS);
    LOCAL_ARRAY(A, r, ROWS);
    LOCAL_ARRAY(A, vectors, VECTORS * ROWS);
    LOCAL_ARRAY(A, small, SMALL);
    LOCAL_ARRAY(A, scratch, BLOCK);
    LOCAL_ARRAY(u32, missing, 1);
    FACTORS_HERE(factors, rooms, factors_size);
    GLOBAL A *room = row_rooms + (u64)block_of_grid() * room_size;
    Inverse inverse = {size, below, forward, backward, order, starts, factors, room, missing};
    Matrix a = {rows, width, columns, lengths, diagonal, values};
    Run run = {a, inverse, 0, most, kept, x, r, scratch};
    GLOBAL A *basis = bases + (u64)block_of_grid() * (RESTART + 1) * rows;
    for (u32 system = block_of_grid(); system < systems; system += blocks_of_grid()) {
        u64 first = (u64)system * rows;
        run.a.values = values + first * width;
        Progress at = begin(rows, bs + first, xs + first, rtol, atol, x, scratch);
        run.tolerance = at.tolerance;
        u32 row = rows;
        while (has_to_start(&at, run.a, bs + first, most, x, r, scratch)) {
            if (at.starts++ == 0 && (row = set_up(inverse, run.a)) < rows) {
                at.status = BREAKDOWN;
                break;
            }
            at.status = iterate(run, vectors, basis, small, &at.iterations);
        }
        finish(at, system, rows, row, x, xs, ended);
    }
}
