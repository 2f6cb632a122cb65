// What becomes of the sums of a row for COLUMNS neighbouring columns of real numbers: all in as few loads and stores as there can be.
//
// Definitions beside those of rows.h: COLUMNS, 1, 2 or 4, which divides the columns of the vectors.

// Slices of a matrix, as sliced.c tells.
#define SLICES                                                                                     \
    u32 slices, GLOBAL const uint2 *RESTRICT starts, GLOBAL const u32 *RESTRICT order,             \
        GLOBAL const MARK *RESTRICT marks, GLOBAL const u32 *RESTRICT bases,                       \
        GLOBAL const u8 *RESTRICT codes

// Neighbours of the input that come in one load.
#if GROUP(X) > COLUMNS
#define NEIGHBOURS COLUMNS
#else
#define NEIGHBOURS GROUP(X)
#endif

#if COLUMNS > 1
// `place` is that of the first column.
FUNCTION void finish_columns(const PRIVATE Finish *f, u64 row, u64 place, const PRIVATE ACC *alpha,
                             const PRIVATE ACC *beta, const PRIVATE ACC *sums) {
    ACC values[COLUMNS];
#if FINISH == APPLY
    FOR(i, COLUMNS) values[i] = sums[i];
#else
    bool has_alpha = false, has_beta = false;
    FOR(i, COLUMNS) {
        has_alpha = has_alpha || alpha[i] != 0;
        has_beta = has_beta || beta[i] != 0;
        values[i] = 0;
    }
    ARITH(Y) z[COLUMNS];
#if FINISH == COMBINE
    if (has_beta)
        LOADS(COLUMNS, Y, f->z, place / COLUMNS, z);
    FOR(i, COLUMNS) {
        if (alpha[i] != 0)
            values[i] = alpha[i] * sums[i];
        if (beta[i] != 0)
            values[i] += beta[i] * z[i];
    }
#else
    ARITH(X) x[COLUMNS];
    ARITH(Y) y[COLUMNS];
    const ACC d = has_alpha ? LOADED(Y, f->d, row) : 0;
    if (has_alpha)
        LOADS(COLUMNS, Y, f->z, place / COLUMNS, z);
    if (has_beta)
        LOADS(COLUMNS, X, f->x, place / COLUMNS, x);
    if (f->gamma != 0)
        LOADS(COLUMNS, Y, f->y, place / COLUMNS, y);
    FOR(i, COLUMNS) {
        if (alpha[i] != 0)
            values[i] = alpha[i] * d * (z[i] - sums[i]);
        if (beta[i] != 0)
            values[i] += beta[i] * x[i];
        if (f->gamma != 0)
            values[i] += f->gamma * y[i];
    }
#endif
#endif
    STORES(COLUMNS, ACC, Y, f->y, place / COLUMNS, values);
}

#define FINISH_COLUMNS(row, column, sums)                                                          \
    {                                                                                              \
        ACC alphas[COLUMNS], betas[COLUMNS];                                                       \
        FOR(i, COLUMNS) {                                                                          \
            alphas[i] = ALPHA((column) + i);                                                       \
            betas[i] = BETA((column) + i);                                                         \
        }                                                                                          \
        finish_columns(&f, row, (u64)(row) * cols + (column), alphas, betas, sums);                \
    }
#else
#define FINISH_COLUMNS(row, column, sums)                                                          \
    finish(&f, row, (u64)(row) * cols + (column), ALPHA(column), BETA(column), (sums)[0]);
#endif
