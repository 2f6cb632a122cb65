// Vector operations of two storage types: S of what is read beside, T of the vector.
//
// Products are formed in the narrowest type that holds both; coefficients come in the arithmetic
// type of T. With CONJUGATED numbers of rows are conjugated.

#define A WIDER(ARITH(S), ARITH(T))
#define N COMMON_GROUP(S, T)
#ifdef CONJUGATED
#define FACTOR(d) CONJ(A, CONVERT(ARITH(S), A, d))
#else
#define FACTOR(d) CONVERT(ARITH(S), A, d)
#endif
#define OWN(value) CONVERT(ARITH(T), A, value)

// y = x, rounded once
KERNEL mixed_copy(u64 n, GLOBAL const S *RESTRICT x, GLOBAL T *RESTRICT y) {
    u64 groups = n / N;
    FOR_TILES(first, groups) {
        ARITH(S) xs[STEPS][N];
        FOR_STEPS(step, group, first, groups) LOADS(N, S, x, group, xs[step]);
        FOR_STEPS(step, group, first, groups) STORES(N, ARITH(S), T, y, group, xs[step]);
    }
    u64 rest = groups * N + thread_of_grid();
    if (rest < n)
        STORE(ARITH(S), T, y, rest, LOAD(S, x, rest));
}

FUNCTION void combine_one(A a, A d, GLOBAL const T *x, A b, GLOBAL T *y, u64 i) {
    A left = IS_ZERO(A, a) ? (A)0 : MULTIPLY(A, a, MULTIPLY(A, d, OWN(LOAD(T, x, i))));
    A right = IS_ZERO(A, b) ? (A)0 : MULTIPLY(A, b, OWN(LOAD(T, y, i)));
    STORE(A, T, y, i, left + right);
}

// y = alpha d x + beta y with one number d a row
KERNEL mixed_combine_rows(u64 n, COEFFICIENT(ARITH(T), alpha), GLOBAL const S *RESTRICT d,
                          GLOBAL const T *RESTRICT x, COEFFICIENT(ARITH(T), beta),
                          GLOBAL T *RESTRICT y) {
    A a = OWN(EVALUATE(ARITH(T), alpha, 0)), b = OWN(EVALUATE(ARITH(T), beta, 0));
    u64 groups = n / N;
    FOR_TILES(first, groups) {
        ARITH(S) ds[STEPS][N] = {{0}};
        ARITH(T) xs[STEPS][N] = {{0}}, ys[STEPS][N] = {{0}};
        FOR_STEPS(step, group, first, groups) {
            if (!IS_ZERO(A, a)) {
                LOADS(N, S, d, group, ds[step]);
                LOADS(N, T, x, group, xs[step]);
            }
            if (!IS_ZERO(A, b))
                LOADS(N, T, y, group, ys[step]);
        }
        FOR_STEPS(step, group, first, groups) {
            A values[N];
            FOR(k, N)
                values[k] = MULTIPLY(A, a, MULTIPLY(A, FACTOR(ds[step][k]), OWN(xs[step][k]))) +
                            MULTIPLY(A, b, OWN(ys[step][k]));
            STORES(N, A, T, y, group, values);
        }
    }
    u64 rest = groups * N + thread_of_grid();
    if (rest < n)
        combine_one(a, FACTOR(LOAD(S, d, rest)), x, b, y, rest);
}

// The same for many columns, each with its own coefficients. A thread stays in its column; there
// are at least as many threads as columns.
KERNEL mixed_combine_rows_columns(u64 n, u32 cols, COEFFICIENT(ARITH(T), alpha),
                                  GLOBAL const S *RESTRICT d, GLOBAL const T *RESTRICT x,
                                  COEFFICIENT(ARITH(T), beta), GLOBAL T *RESTRICT y) {
    u64 stride = threads_of_grid() / cols * cols;
    u64 i = thread_of_grid();
    if (i >= stride)
        return;
    u32 column = (u32)(i % cols);
    A a = OWN(EVALUATE(ARITH(T), alpha, column)), b = OWN(EVALUATE(ARITH(T), beta, column));
    u64 row = i / cols, rows = stride / cols;
    for (; i < n; i += LEAPS * stride, row += LEAPS * rows) {
        A xs[LEAPS] = {0}, ys[LEAPS] = {0};
        FOR_LEAPS(leap, place, i, stride, n) {
            if (!IS_ZERO(A, a))
                xs[leap] = MULTIPLY(A, FACTOR(LOAD(S, d, row + leap * rows)), OWN(LOAD(T, x, place)));
            if (!IS_ZERO(A, b))
                ys[leap] = OWN(LOAD(T, y, place));
        }
        FOR_LEAPS(leap, place, i, stride, n)
            STORE(A, T, y, place, MULTIPLY(A, a, xs[leap]) + MULTIPLY(A, b, ys[leap]));
    }
}
