// Many small systems A x = b of one pattern: a block solves one system from its first to its last iteration, with its vectors in
// local memory, and takes the next. ROWS is the room of a vector, RESTART that of the basis of GMRES, METHOD one of
#define CG 0
#define BICGSTAB 1
#define GMRES 2

#define A ARITH(T)
#define FOR_ROWS(row) for (u32 row = thread_of_block(); row < rows; row += BLOCK)

// How a system ended.
#define CONVERGED 0
#define NON_FINITE 1
#define BREAKDOWN 2
#define ITERATION_LIMIT 3
#define ACCURACY_LIMIT 4
#define INDEFINITE 5
#define GOING_ON 6

// The matrix at hand: entry `slot` of a row is `slot * rows` behind its first one.
typedef struct {
    u32 rows, width;
    GLOBAL const u32 *columns;
    GLOBAL const T *values;
} Matrix;

// Threads keep to their rows, so that only what products read has to be waited for.
FUNCTION void multiply(Matrix a, LOCAL const A *x, LOCAL A *y) {
    u32 rows = a.rows;
    BARRIER();
    FOR_ROWS(row) {
        A sum = 0;
        for (u32 at = row, slot = 0; slot < a.width; slot++, at += rows)
            sum += (A)LOAD(T, a.values, at) * x[a.columns[at]];
        y[row] = sum;
    }
    BARRIER();
}

// The sum over the block, in every thread.
FUNCTION A everywhere(A value, LOCAL A *scratch) {
    value = BLOCK_SUM(A, value, scratch);
    BARRIER();
    if (thread_of_block() == 0)
        scratch[0] = value;
    BARRIER();
    return scratch[0];
}

FUNCTION A dot(u32 rows, LOCAL const A *x, LOCAL const A *y, LOCAL A *scratch) {
    A sum = 0;
    FOR_ROWS(row) sum += x[row] * y[row];
    return everywhere(sum, scratch);
}

FUNCTION A norm(u32 rows, LOCAL const A *x, LOCAL A *scratch) {
    return SQUARE_ROOT(A, dot(rows, x, x, scratch));
}

FUNCTION bool is_finite(A value) { return value - value == 0; }

// What all iterations work on; `inverse` is that of the diagonal, or ones.
typedef struct {
    Matrix a;
    A tolerance;
    // Iterations of a system, and vectors of a restart.
    u32 most, kept;
    LOCAL A *x, *r, *inverse, *scratch;
} Run;

#if METHOD == CG
#define VECTORS 3
FUNCTION u32 iterate(Run run, LOCAL A *vectors, GLOBAL A *basis, LOCAL A *small, PRIVATE u32 *iterations) {
    u32 rows = run.a.rows;
    LOCAL A *p = vectors, *q = vectors + ROWS, *z = vectors + 2 * ROWS;
    FOR_ROWS(row) p[row] = z[row] = run.inverse[row] * run.r[row];
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
            z[row] = run.inverse[row] * run.r[row];
        }
        *iterations += 1;
        if (norm(rows, run.r, run.scratch) <= run.tolerance)
            return GOING_ON;
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
        FOR_ROWS(row) {
            p[row] = run.r[row] + beta * (p[row] - omega * v[row]);
            z[row] = run.inverse[row] * p[row];
        }
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
        FOR_ROWS(row) z[row] = run.inverse[row] * run.r[row];
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
            basis[step * rows + row] = run.r[row] / length;
            z[row] = run.inverse[row] * basis[step * rows + row];
        }
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
        run.x[row] += run.inverse[row] * sum;
    }
    BARRIER();
    return dimension > 0 ? GOING_ON : BREAKDOWN;
}
#endif

#if METHOD == GMRES
#define SMALL (RESTART * (RESTART + 1) + 3 * RESTART + 1)
#else
#define SMALL 1
#endif

// One over the diagonal, or ones. The first row without a pivot is left in `missing`.
FUNCTION void invert_diagonal(Matrix a, u32 jacobi, LOCAL A *inverse, LOCAL u32 *missing) {
    u32 rows = a.rows;
    if (thread_of_block() == 0)
        *missing = rows;
    BARRIER();
    FOR_ROWS(row) {
        A pivot = 0;
        for (u32 at = row, slot = 0; slot < a.width; slot++, at += rows)
            pivot += a.columns[at] == row ? (A)LOAD(T, a.values, at) : 0;
        inverse[row] = jacobi ? 1 / pivot : 1;
        if (jacobi && pivot == 0)
            ATOMIC_MIN(missing, row);
    }
    BARRIER();
}

KERNEL batch_solve(u32 systems, u32 rows, u32 width, GLOBAL const u32 *columns, GLOBAL const T *values,
                   GLOBAL const T *bs, GLOBAL T *xs, u32 jacobi, A rtol, A atol, u32 most,
                   u32 kept, GLOBAL A *bases, GLOBAL A *norms, GLOBAL u32 *ended) {
    LOCAL_ARRAY(A, x, ROWS);
    LOCAL_ARRAY(A, r, ROWS);
    LOCAL_ARRAY(A, inverse, ROWS);
    LOCAL_ARRAY(A, vectors, VECTORS * ROWS);
    LOCAL_ARRAY(A, small, SMALL);
    LOCAL_ARRAY(A, scratch, BLOCK);
    LOCAL_ARRAY(u32, missing, 1);
    Run run;
    run.a.rows = rows;
    run.a.width = width;
    run.a.columns = columns;
    run.x = x;
    run.r = r;
    run.inverse = inverse;
    run.scratch = scratch;
    run.most = most;
    run.kept = kept;
    GLOBAL A *basis = bases + (u64)block_of_grid() * (RESTART + 1) * rows;
    for (u32 system = block_of_grid(); system < systems; system += blocks_of_grid()) {
        u64 first = (u64)system * rows;
        run.a.values = values + first * width;
        A square = 0;
        FOR_ROWS(row) {
            A side = LOAD(T, bs, first + row);
            x[row] = LOAD(T, xs, first + row);
            square += side * side;
        }
        A size = SQUARE_ROOT(A, everywhere(square, scratch));
        run.tolerance = rtol * size > atol ? rtol * size : atol;
        u32 iterations = 0, status = GOING_ON, starts = 0;
        A last = 0, residual;
        invert_diagonal(run.a, jacobi, inverse, missing);
        while (1) {
            multiply(run.a, x, r);
            FOR_ROWS(row) r[row] = LOAD(T, bs, first + row) - r[row];
            residual = norm(rows, r, scratch);
            if (residual <= run.tolerance)
                status = CONVERGED;
            else if (!is_finite(residual))
                status = NON_FINITE;
            else if (status == GOING_ON && iterations >= most)
                status = ITERATION_LIMIT;
            else if (status == GOING_ON && starts > 0 && residual > last / 2)
                status = ACCURACY_LIMIT; // what rounding leaves, no start repairs
            else if (status == GOING_ON && missing[0] < rows)
                status = BREAKDOWN;
            if (status != GOING_ON)
                break;
            status = iterate(run, vectors, basis, small, &iterations);
            last = residual;
            starts++;
        }
        FOR_ROWS(row) STORE(A, T, xs, first + row, x[row]);
        if (thread_of_block() == 0) {
            norms[2 * system] = size;
            norms[2 * system + 1] = residual;
            ended[3 * system] = status;
            ended[3 * system + 1] = iterations;
            ended[3 * system + 2] = starts == 0 && status == BREAKDOWN ? missing[0] : rows;
        }
        BARRIER();
    }
}
