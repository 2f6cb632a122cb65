// Vector operations of one storage type T, computed in its arithmetic type.
//
// A vector of one column is read and written in groups of 16 bytes. An operand whose coefficient is
// zero is not read: it counts as zero.

#define A ARITH(T)
#define N GROUP(T)
#define FOR_VALUES(k) FOR(k, N)

KERNEL vector_fill(u64 n, A value, GLOBAL T *RESTRICT y) {
    A values[N];
    FOR_VALUES(k) values[k] = value;
    for (u64 group = thread_of_grid(); group < n / N; group += threads_of_grid())
        STORES(N, A, T, y, group, values);
    u64 rest = n / N * N + thread_of_grid();
    if (rest < n)
        STORE(A, T, y, rest, value);
}

// As many rows as columns, ones on the diagonal.
KERNEL vector_identity(u64 rows, GLOBAL T *RESTRICT y) {
    FOR_ITEMS(i, rows * rows) STORE(A, T, y, i, OF_REAL(A, i % (rows + 1) == 0));
}

// Whether the sign of a row is minus: a bit of a hash of its number, as on the host.
FUNCTION int is_flipped(u64 row) {
    u32 bits = (u32)row;
    bits = (bits ^ (bits >> 16)) * 0x7feb352du;
    bits = (bits ^ (bits >> 15)) * 0x846ca68bu;
    return (int)((bits ^ (bits >> 16)) & 1u);
}

// y = s x with a sign s per row that looks random.
KERNEL vector_flip_signs(u64 n, u32 cols, GLOBAL const T *RESTRICT x, GLOBAL T *RESTRICT y) {
    FOR_ITEMS(i, n) {
        A value = LOAD(T, x, i);
        STORE(A, T, y, i, is_flipped(i / cols) ? -value : value);
    }
}

FUNCTION void combine_one(A a, GLOBAL const T *x, A b, GLOBAL T *y, u64 i) {
    A left = IS_ZERO(A, a) ? (A)0 : MULTIPLY(A, a, LOAD(T, x, i));
    A right = IS_ZERO(A, b) ? (A)0 : MULTIPLY(A, b, LOAD(T, y, i));
    STORE(A, T, y, i, left + right);
}

// y = alpha x + beta y
KERNEL vector_axpby(u64 n, COEFFICIENT(A, alpha), GLOBAL const T *RESTRICT x, COEFFICIENT(A, beta),
                    GLOBAL T *RESTRICT y) {
    A a = EVALUATE(A, alpha, 0), b = EVALUATE(A, beta, 0);
    if (IS_ZERO(A, a) && IS_ONE(A, b))
        return;
    u64 groups = n / N;
    FOR_TILES(first, groups) {
        A xs[STEPS][N] = {{0}}, ys[STEPS][N] = {{0}};
        FOR_STEPS(step, group, first, groups) {
            if (!IS_ZERO(A, a))
                LOADS(N, T, x, group, xs[step]);
            if (!IS_ZERO(A, b))
                LOADS(N, T, y, group, ys[step]);
        }
        FOR_STEPS(step, group, first, groups) {
            FOR_VALUES(k) ys[step][k] = MULTIPLY(A, a, xs[step][k]) + MULTIPLY(A, b, ys[step][k]);
            STORES(N, A, T, y, group, ys[step]);
        }
    }
    u64 rest = groups * N + thread_of_grid();
    if (rest < n)
        combine_one(a, x, b, y, rest);
}

// The same for many columns, each with its own coefficients. A thread stays in its column; there
// are at least as many threads as columns.
KERNEL vector_axpby_columns(u64 n, u32 cols, COEFFICIENT(A, alpha), GLOBAL const T *RESTRICT x,
                            COEFFICIENT(A, beta), GLOBAL T *RESTRICT y) {
    u64 stride = threads_of_grid() / cols * cols;
    u64 i = thread_of_grid();
    if (i >= stride)
        return;
    u32 column = (u32)(i % cols);
    A a = EVALUATE(A, alpha, column), b = EVALUATE(A, beta, column);
    if (IS_ZERO(A, a) && IS_ONE(A, b))
        return;
    for (; i < n; i += LEAPS * stride) {
        A xs[LEAPS] = {0}, ys[LEAPS] = {0};
        FOR_LEAPS(leap, place, i, stride, n) {
            if (!IS_ZERO(A, a))
                xs[leap] = LOAD(T, x, place);
            if (!IS_ZERO(A, b))
                ys[leap] = LOAD(T, y, place);
        }
        FOR_LEAPS(leap, place, i, stride, n)
            STORE(A, T, y, place, MULTIPLY(A, a, xs[leap]) + MULTIPLY(A, b, ys[leap]));
    }
}

// ---- reductions
//
// The number of blocks follows from the size of the operands alone. Every block leaves its sum in
// `partials`; the block that ends last adds them.

FUNCTION A sum_of_group(const PRIVATE A *values) {
    A sum = 0;
    FOR_VALUES(k) sum += values[k];
    return sum;
}

FUNCTION void leave(u32 which, A value, GLOBAL A *partials, LOCAL A *scratch) {
    value = BLOCK_SUM(A, value, scratch);
    if (thread_of_block() == 0)
        partials[which * blocks_of_grid() + block_of_grid()] = value;
}

FUNCTION A total(u32 which, volatile GLOBAL A *partials, LOCAL A *scratch) {
    A sum = 0;
    for (u32 block = thread_of_block(); block < blocks_of_grid(); block += BLOCK)
        sum += VOLATILE_AT(A, partials, which * blocks_of_grid() + block);
    return BLOCK_SUM(A, sum, scratch);
}

FUNCTION void leave_norm(A square, GLOBAL A *out, GLOBAL A *partials, GLOBAL u32 *counter,
                         LOCAL A *scratch) {
    leave(0, square, partials, scratch);
    if (!LAST_BLOCK(counter, scratch))
        return;
    square = total(0, partials, scratch);
    if (thread_of_block() == 0)
        out[0] = SQUARE_ROOT(A, square);
}

KERNEL vector_dot(u64 n, GLOBAL const T *x, GLOBAL const T *y, GLOBAL A *out, GLOBAL A *partials,
                  GLOBAL u32 *counter) {
    LOCAL_ARRAY(A, scratch, BLOCK);
    u64 groups = n / N;
    A sums[N] = {0};
    FOR_TILES(first, groups) {
        A xs[STEPS][N] = {{0}}, ys[STEPS][N] = {{0}};
        FOR_STEPS(step, group, first, groups) {
            LOADS(N, T, x, group, xs[step]);
            LOADS(N, T, y, group, ys[step]);
        }
        FOR(step, STEPS)
            FOR_VALUES(k) sums[k] += MULTIPLY(A, CONJ(A, xs[step][k]), ys[step][k]);
    }
    u64 rest = groups * N + thread_of_grid();
    if (rest < n)
        sums[0] += MULTIPLY(A, CONJ(A, LOAD(T, x, rest)), LOAD(T, y, rest));
    leave(0, sum_of_group(sums), partials, scratch);
    if (!LAST_BLOCK(counter, scratch))
        return;
    A sum = total(0, partials, scratch);
    if (thread_of_block() == 0)
        out[0] = sum;
}

// The products of x with y and with z.
KERNEL vector_dot2(u64 n, GLOBAL const T *x, GLOBAL const T *y, GLOBAL const T *z,
                   GLOBAL A *with_y, GLOBAL A *with_z, GLOBAL A *partials, GLOBAL u32 *counter) {
    LOCAL_ARRAY(A, scratch, BLOCK);
    u64 groups = n / N;
    A y_sums[N] = {0}, z_sums[N] = {0};
    FOR_TILES(first, groups) {
        A xs[STEPS][N] = {{0}}, ys[STEPS][N] = {{0}}, zs[STEPS][N] = {{0}};
        FOR_STEPS(step, group, first, groups) {
            LOADS(N, T, x, group, xs[step]);
            LOADS(N, T, y, group, ys[step]);
            LOADS(N, T, z, group, zs[step]);
        }
        FOR(step, STEPS) FOR_VALUES(k) {
            y_sums[k] += MULTIPLY(A, CONJ(A, xs[step][k]), ys[step][k]);
            z_sums[k] += MULTIPLY(A, CONJ(A, xs[step][k]), zs[step][k]);
        }
    }
    u64 rest = groups * N + thread_of_grid();
    if (rest < n) {
        y_sums[0] += MULTIPLY(A, CONJ(A, LOAD(T, x, rest)), LOAD(T, y, rest));
        z_sums[0] += MULTIPLY(A, CONJ(A, LOAD(T, x, rest)), LOAD(T, z, rest));
    }
    leave(0, sum_of_group(y_sums), partials, scratch);
    leave(1, sum_of_group(z_sums), partials, scratch);
    if (!LAST_BLOCK(counter, scratch))
        return;
    A y_sum = total(0, partials, scratch), z_sum = total(1, partials, scratch);
    if (thread_of_block() == 0) {
        with_y[0] = y_sum;
        with_z[0] = z_sum;
    }
}

// ---- updates with the norm of what they give

// y += a x for values in registers, rounded as they are stored; adds the squares.
FUNCTION void step_group(A a, const PRIVATE A *xs, PRIVATE A *ys, PRIVATE A *squares) {
    FOR_VALUES(k) {
        if (!IS_ZERO(A, a))
            ys[k] = ROUND(A, T, MULTIPLY(A, a, xs[k]) + ys[k]);
        squares[k] += SQUARE(A, ys[k]);
    }
}

FUNCTION A step_one(A a, GLOBAL const T *x, GLOBAL T *y, u64 i) {
    if (!IS_ZERO(A, a))
        combine_one(a, x, OF_REAL(A, 1), y, i);
    return SQUARE(A, LOAD(T, y, i));
}

// y += alpha x and the norm of y; with a zero alpha just that.
KERNEL vector_axpy_norm(u64 n, COEFFICIENT(A, alpha), GLOBAL const T *RESTRICT x,
                        GLOBAL T *RESTRICT y, GLOBAL A *out, GLOBAL A *partials,
                        GLOBAL u32 *counter) {
    LOCAL_ARRAY(A, scratch, BLOCK);
    A a = EVALUATE(A, alpha, 0);
    u64 groups = n / N;
    A squares[N] = {0};
    FOR_TILES(first, groups) {
        A xs[STEPS][N] = {{0}}, ys[STEPS][N];
        FOR_STEPS(step, group, first, groups) {
            if (!IS_ZERO(A, a))
                LOADS(N, T, x, group, xs[step]);
            LOADS(N, T, y, group, ys[step]);
        }
        FOR_STEPS(step, group, first, groups) {
            step_group(a, xs[step], ys[step], squares);
            if (!IS_ZERO(A, a))
                STORES(N, A, T, y, group, ys[step]);
        }
    }
    u64 rest = groups * N + thread_of_grid();
    if (rest < n)
        squares[0] += step_one(a, x, y, rest);
    leave_norm(sum_of_group(squares), out, partials, counter, scratch);
}

// x += alpha p, r += beta q and the norm of r: the end of an iteration of conjugate gradients.
KERNEL vector_advance(u64 n, COEFFICIENT(A, alpha), GLOBAL const T *RESTRICT p,
                      GLOBAL T *RESTRICT x, COEFFICIENT(A, beta), GLOBAL const T *RESTRICT q,
                      GLOBAL T *RESTRICT r, GLOBAL A *out, GLOBAL A *partials,
                      GLOBAL u32 *counter) {
    LOCAL_ARRAY(A, scratch, BLOCK);
    A a = EVALUATE(A, alpha, 0), b = EVALUATE(A, beta, 0);
    u64 groups = n / N;
    A squares[N] = {0};
    FOR_TILES(first, groups) {
        A ps[STEPS][N], xs[STEPS][N], qs[STEPS][N] = {{0}}, rs[STEPS][N];
        FOR_STEPS(step, group, first, groups) {
            if (!IS_ZERO(A, a)) {
                LOADS(N, T, p, group, ps[step]);
                LOADS(N, T, x, group, xs[step]);
            }
            if (!IS_ZERO(A, b))
                LOADS(N, T, q, group, qs[step]);
            LOADS(N, T, r, group, rs[step]);
        }
        FOR_STEPS(step, group, first, groups) {
            if (!IS_ZERO(A, a)) {
                FOR_VALUES(k) xs[step][k] += MULTIPLY(A, a, ps[step][k]);
                STORES(N, A, T, x, group, xs[step]);
            }
            step_group(b, qs[step], rs[step], squares);
            if (!IS_ZERO(A, b))
                STORES(N, A, T, r, group, rs[step]);
        }
    }
    u64 rest = groups * N + thread_of_grid();
    if (rest < n) {
        if (!IS_ZERO(A, a))
            combine_one(a, p, OF_REAL(A, 1), x, rest);
        squares[0] += step_one(b, q, r, rest);
    }
    leave_norm(sum_of_group(squares), out, partials, counter, scratch);
}

// ---- reductions of many columns
//
// `count` columns from column `first` on, at most BLOCK of them: a thread stays in its column, and as many rows as fit a block are
// side by side.

// The sums of threads of the same column, in the first `count` threads.
FUNCTION A sum_of_columns(u32 count, A sum, LOCAL A *scratch) {
    u32 thread = thread_of_block();
    scratch[thread] = sum;
    BARRIER();
    for (u32 rows = BLOCK / count; rows > 1;) {
        u32 kept = (rows + 1) / 2;
        if (thread < (rows - kept) * count)
            scratch[thread] += scratch[thread + kept * count];
        rows = kept;
        BARRIER();
    }
    sum = scratch[thread];
    BARRIER();
    return sum;
}

FUNCTION void leave_columns(u32 first, u32 count, bool root, A sum, GLOBAL A *out,
                            GLOBAL A *partials, GLOBAL u32 *counter, LOCAL A *scratch) {
    u32 thread = thread_of_block(), rows = BLOCK / count;
    sum = sum_of_columns(count, sum, scratch);
    if (thread < count)
        partials[block_of_grid() * count + thread] = sum;
    if (!LAST_BLOCK(counter, scratch))
        return;
    sum = 0;
    if (thread < rows * count) {
        u32 stride = rows * count, n = blocks_of_grid() * count;
        UNROLL_4
        for (u32 i = thread; i < n; i += stride)
            sum += VOLATILE_AT(A, (volatile GLOBAL A *)partials, i);
    }
    sum = sum_of_columns(count, sum, scratch);
    if (thread < count)
        out[first + thread] = root ? SQUARE_ROOT(A, sum) : sum;
}

// Rows of a thread of one of these kernels, from `row` on with a distance of `stride`; none for threads that are left over.
#define OWN_ROWS                                                                                   \
    u32 together = BLOCK / count, stride = blocks_of_grid() * together;                            \
    u32 column = first + thread_of_block() % count;                                                \
    u64 row = (u64)block_of_grid() * together + thread_of_block() / count;                         \
    if (thread_of_block() >= together * count)                                                     \
        row = rows;

// The products of columns of x and y, or their square roots.
KERNEL vector_dot_columns(u64 rows, u32 cols, u32 first, u32 count, u32 root, GLOBAL const T *x,
                          GLOBAL const T *y, GLOBAL A *out, GLOBAL A *partials,
                          GLOBAL u32 *counter) {
    LOCAL_ARRAY(A, scratch, BLOCK);
    OWN_ROWS
    A sum = 0;
    for (; row < rows; row += LEAPS * (u64)stride) {
        A xs[LEAPS] = {0}, ys[LEAPS] = {0};
        FOR_LEAPS(leap, i, row, (u64)stride, rows) {
            xs[leap] = LOAD(T, x, i * cols + column);
            ys[leap] = LOAD(T, y, i * cols + column);
        }
        FOR(leap, LEAPS) sum += MULTIPLY(A, CONJ(A, xs[leap]), ys[leap]);
    }
    leave_columns(first, count, root, sum, out, partials, counter, scratch);
}

// x += alpha p, r += beta q and the norms of r; with a zero alpha x is not touched.
KERNEL vector_advance_columns(u64 rows, u32 cols, u32 first, u32 count, COEFFICIENT(A, alpha),
                              GLOBAL const T *RESTRICT p, GLOBAL T *RESTRICT x,
                              COEFFICIENT(A, beta), GLOBAL const T *RESTRICT q,
                              GLOBAL T *RESTRICT r, GLOBAL A *out, GLOBAL A *partials,
                              GLOBAL u32 *counter) {
    LOCAL_ARRAY(A, scratch, BLOCK);
    OWN_ROWS
    A a = EVALUATE(A, alpha, column), b = EVALUATE(A, beta, column);
    A square = 0;
    for (; row < rows; row += LEAPS * (u64)stride) {
        A ps[LEAPS], xs[LEAPS], qs[LEAPS] = {0}, rs[LEAPS] = {0};
        FOR_LEAPS(leap, i, row, (u64)stride, rows) {
            u64 place = i * cols + column;
            if (!IS_ZERO(A, a)) {
                ps[leap] = LOAD(T, p, place);
                xs[leap] = LOAD(T, x, place);
            }
            if (!IS_ZERO(A, b))
                qs[leap] = LOAD(T, q, place);
            rs[leap] = LOAD(T, r, place);
        }
        FOR_LEAPS(leap, i, row, (u64)stride, rows) {
            u64 place = i * cols + column;
            if (!IS_ZERO(A, a))
                STORE(A, T, x, place, xs[leap] + MULTIPLY(A, a, ps[leap]));
            if (!IS_ZERO(A, b)) {
                rs[leap] = ROUND(A, T, MULTIPLY(A, b, qs[leap]) + rs[leap]);
                STORE(A, T, r, place, rs[leap]);
            }
            square += SQUARE(A, rs[leap]);
        }
    }
    leave_columns(first, count, true, square, out, partials, counter, scratch);
}
