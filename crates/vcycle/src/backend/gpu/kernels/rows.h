// What becomes of the row sums of a product with a matrix.
//
// Definitions: the storage types M of the matrix, X of the input and Y of the output, the
// arithmetic type ACC, and FINISH, one of
//   APPLY    y = A x
//   COMBINE  y = alpha A x + beta z, where z may be y
//   REDUCE   the same, and `product` is that of y with w (with itself without w), or its root
//   RELAX    y = alpha d (z - A x) + beta x + gamma y, with one number d a row
// A part with a zero coefficient does not count, whatever it holds.

#define APPLY 0
#define COMBINE 1
#define REDUCE 2
#define RELAX 3

// `partials` has room for one value a block, `counter` is zero before and after.
#define FINISH_PARAMETERS                                                                          \
    COEFFICIENT(ARITH(Y), alpha), COEFFICIENT(ARITH(Y), beta), ARITH(Y) gamma,                     \
        GLOBAL const Y *z, GLOBAL const Y *RESTRICT d, GLOBAL const Y *w, GLOBAL Y *y,             \
        GLOBAL ACC *partials, GLOBAL u32 *counter, GLOBAL ARITH(Y) *product, u32 root

typedef struct {
    GLOBAL const X *x;
    GLOBAL const Y *z;
    GLOBAL const Y *d;
    GLOBAL const Y *w;
    GLOBAL Y *y;
    ACC gamma;
} Finish;

#define FINISH_OPERANDS {x, z, d, w, y, gamma}

#if FINISH == APPLY
#define ALPHA(column) 1
#define BETA(column) 0
#else
#define ALPHA(column) EVALUATE(ARITH(Y), alpha, column)
#define BETA(column) EVALUATE(ARITH(Y), beta, column)
#endif

// Writes the result of one row and column; gives what it adds to the product of y with w.
FUNCTION ACC finish(const PRIVATE Finish *f, u64 row, u64 place, ACC alpha, ACC beta, ACC sum) {
#if FINISH == APPLY
    STORE(ACC, Y, f->y, place, sum);
    return 0;
#elif FINISH == RELAX
    ACC value = 0;
    if (alpha != 0)
        value = alpha * LOAD(Y, f->d, row) * (LOAD(Y, f->z, place) - sum);
    if (beta != 0)
        value += beta * LOAD(X, f->x, place);
    if (f->gamma != 0)
        value += f->gamma * LOAD(Y, f->y, place);
    STORE(ACC, Y, f->y, place, value);
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
                *product = (ARITH(Y))(root ? SQUARE_ROOT(ACC, total) : total);                                 \
        }                                                                                          \
    } while (0)
#else
#define FINISH_PRODUCT(mine, scratch)
#endif
