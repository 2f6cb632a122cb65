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
    A tolerance;
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
        A curvature = dot(rows, p, q, run.scratch);
        if (!(curvature > 0))
            return INDEFINITE;
        A alpha = rho / curvature;
        FOR_ROWS(row) {
            run.x[row] += alpha * p[row];
            run.r[row] -= alpha * q[row];
        }
        *iterations += 1;
        if (norm(rows, run.r, run.scratch) <= run.tolerance)
            return GOING_ON;
        apply(run.inverse, run.a, run.r, z);
        A next = dot(rows, run.r, z, run.scratch);
        if (next == 0)
            return BREAKDOWN;
        A beta = next / rho;
        rho = next;
        FOR_ROWS(row) p[row] = z[row] + beta * p[row];
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
    A rho = 1, alpha = 1, omega = 1;
    while (*iterations < run.most) {
        A next = dot(rows, shadow, run.r, run.scratch);
        A beta = next / rho * (alpha / omega);
        if (next == 0 || !is_finite(beta))
            return BREAKDOWN;
        rho = next;
        FOR_ROWS(row) p[row] = run.r[row] + beta * (p[row] - omega * v[row]);
        apply(run.inverse, run.a, p, z);
        multiply(run.a, z, v);
        alpha = rho / dot(rows, shadow, v, run.scratch);
        if (!is_finite(alpha))
            return BREAKDOWN;
        FOR_ROWS(row) {
            run.x[row] += alpha * z[row];
            run.r[row] -= alpha * v[row];
        }
        *iterations += 1;
        if (norm(rows, run.r, run.scratch) <= run.tolerance)
            return GOING_ON;
        apply(run.inverse, run.a, run.r, z);
        multiply(run.a, z, t);
        A with_r = dot(rows, t, run.r, run.scratch);
        omega = with_r / dot(rows, t, t, run.scratch);
        if (omega == 0 || !is_finite(omega))
            return BREAKDOWN;
        FOR_ROWS(row) {
            run.x[row] += omega * z[row];
            run.r[row] -= omega * t[row];
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

// Turns the new column, whose last entry is the length that is left; gives the pivot.
FUNCTION void eliminate(LOCAL A *small, u32 step, A length) {
    LOCAL A *h = COLUMN(step);
    for (u32 k = 0; k < step; k++) {
        A upper = h[k], lower = h[k + 1];
        h[k] = COSINES[k] * upper + SINES[k] * lower;
        h[k + 1] = COSINES[k] * lower - SINES[k] * upper;
    }
    A radius = SQUARE_ROOT(A, h[step] * h[step] + length * length);
    COSINES[step] = radius != 0 ? h[step] / radius : 1;
    SINES[step] = radius != 0 ? length / radius : 0;
    h[step] = radius;
    SIDE[step + 1] = -SINES[step] * SIDE[step];
    SIDE[step] = COSINES[step] * SIDE[step];
}

FUNCTION void solve_projected(LOCAL A *small, u32 dimension) {
    for (u32 row = dimension; row-- > 0;) {
        A sum = SIDE[row];
        for (u32 k = row + 1; k < dimension; k++)
            sum -= COLUMN(k)[row] * SIDE[k];
        SIDE[row] = sum / COLUMN(row)[row];
    }
}

// One restart. Vectors of the basis lie `rows` apart; threads read what they wrote.
FUNCTION u32 iterate(Run run, LOCAL A *vectors, GLOBAL A *basis, LOCAL A *small, PRIVATE u32 *iterations) {
    u32 rows = run.a.rows, dimension = 0;
    LOCAL A *z = vectors;
    A length = norm(rows, run.r, run.scratch);
    if (thread_of_block() == 0)
        SIDE[0] = length;
    while (dimension < run.kept && *iterations < run.most) {
        u32 step = dimension;
        FOR_ROWS(row) {
            run.r[row] /= length;
            basis[step * rows + row] = run.r[row];
        }
        apply(run.inverse, run.a, run.r, z);
        multiply(run.a, z, run.r);
        for (u32 k = 0; k <= step; k++) {
            A part = 0;
            FOR_ROWS(row) part += basis[k * rows + row] * run.r[row];
            part = everywhere(part, run.scratch);
            FOR_ROWS(row) run.r[row] -= part * basis[k * rows + row];
            if (thread_of_block() == 0)
                COLUMN(step)[k] = part;
        }
        length = norm(rows, run.r, run.scratch);
        if (thread_of_block() == 0)
            eliminate(small, step, length);
        BARRIER();
        *iterations += 1;
        // NaN ends it, too.
        if (!(COLUMN(step)[step] > 0))
            break;
        dimension = step + 1;
        A left = SIDE[dimension] < 0 ? -SIDE[dimension] : SIDE[dimension];
        if (left <= run.tolerance || !(length > 0))
            break;
    }
    BARRIER();
    if (thread_of_block() == 0)
        solve_projected(small, dimension);
    BARRIER();
    FOR_ROWS(row) {
        A sum = 0;
        for (u32 k = 0; k < dimension; k++)
            sum += SIDE[k] * basis[k * rows + row];
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

KERNEL batch_solve(u32 systems, u32 rows, u32 width, GLOBAL const u32 *columns, GLOBAL const u32 *lengths,
                   GLOBAL const u32 *diagonal, GLOBAL const T *values, GLOBAL const T *bs, GLOBAL T *xs, Real rtol, Real atol,
                   u32 most, GLOBAL u32 *ended, u32 kept, GLOBAL A *bases, u32 size, u32 below,
                   u32 forward, u32 backward, GLOBAL const u32 *order, GLOBAL const u32 *starts, u32 factors_size,
                   GLOBAL A *rooms, u32 room_size, GLOBAL A *row_rooms) {
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
