// What becomes of the row sums of a product with a matrix.
//
// Definitions: the storage types M of the matrix, X of the input, Y of the output and D of a
// diagonal, the arithmetic type ACC, and FINISH, one of
//   APPLY    y = A x
//   COMBINE  y = alpha A x + beta z, where z may be y
//   REDUCE   the same, and `product` is that of y with w (with itself without w), or its root
//   STEP     step = alpha d (z - A x) + beta step and y = x + step; step may be absent
// A part with a zero coefficient does not count, whatever it holds.

#define UNROLL _Pragma("unroll")
#define UNROLL_4 _Pragma("unroll 4")

#define APPLY 0
#define COMBINE 1
#define REDUCE 2
#define STEP 3

// `partials` has room for one value a block, `counter` is zero before and after.
#define FINISH_PARAMETERS                                                                          \
    COEFFICIENT(ARITH(Y), alpha), COEFFICIENT(ARITH(Y), beta), GLOBAL const Y *z,                  \
        GLOBAL const D *RESTRICT d, GLOBAL Y *step, GLOBAL const Y *w, GLOBAL Y *y, GLOBAL ACC *partials,                      \
        GLOBAL u32 *counter, GLOBAL ARITH(Y) *product, u32 root

typedef struct {
    GLOBAL const X *x;
    GLOBAL const Y *z;
    GLOBAL const D *d;
    GLOBAL Y *step;
    GLOBAL const Y *w;
    GLOBAL Y *y;
} Finish;

#define FINISH_OPERANDS {x, z, d, step, w, y}

#if FINISH == APPLY
#define ALPHA(column) 1
#define BETA(column) 0
#else
#define ALPHA(column) EVALUATE(ARITH(Y), alpha, column)
#define BETA(column) EVALUATE(ARITH(Y), beta, column)
#endif

// Writes the result of one row and column; gives what it adds to the product of y with w.
FUNCTION ACC finish(const Finish *f, u64 row, u64 place, ACC alpha, ACC beta, ACC sum) {
#if FINISH == APPLY
    STORE(ACC, Y, f->y, place, sum);
    return 0;
#elif FINISH == STEP
    ACC change = 0;
    if (alpha != 0)
        change = alpha * LOAD(D, f->d, row) * (LOAD(Y, f->z, place) - sum);
    if (beta != 0)
        change += beta * LOAD(Y, f->step, place);
    if (f->step)
        STORE(ACC, Y, f->step, place, change);
    STORE(ACC, Y, f->y, place, LOAD(X, f->x, place) + change);
    return 0;
#else
    ACC value = 0;
    if (alpha != 0)
        value = alpha * sum;
    if (beta != 0)
        value += beta * LOAD(Y, f->z, place);
    STORE(ACC, Y, f->y, place, value);
#if FINISH == REDUCE
    value = ROUND(ACC, Y, value);
    return value * (f->w ? LOAD(Y, f->w, place) : value);
#else
    return 0;
#endif
#endif
}

// Adds up what all threads of all blocks have.
#if FINISH == REDUCE
#define FINISH_PRODUCT(mine, scratch)                                                              \
    do {                                                                                           \
        ACC total = BLOCK_SUM(ACC, mine, scratch);                                                 \
        if (thread_of_block() == 0)                                                                \
            partials[block_of_grid()] = total;                                                     \
        if (LAST_BLOCK(counter, scratch)) {                                                        \
            total = 0;                                                                             \
            for (u32 i = thread_of_block(); i < blocks_of_grid(); i += BLOCK)                      \
                total += partials[i];                                                              \
            total = BLOCK_SUM(ACC, total, scratch);                                                \
            if (thread_of_block() == 0)                                                            \
                *product = (ARITH(Y))(root ? sqrt(total) : total);                                 \
        }                                                                                          \
    } while (0)
#else
#define FINISH_PRODUCT(mine, scratch)
#endif
