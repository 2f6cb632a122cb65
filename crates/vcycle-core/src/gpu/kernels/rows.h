// What becomes of the row sums of a product with a matrix.
//
// Definitions: the storage types M of the matrix, X of the input and Y of the output, the
// arithmetic type ACC, and FINISH, one of
//   APPLY    y = A x
//   COMBINE  y = alpha A x + beta z, where z may be y
//   RELAX    y = alpha d (z - A x) + beta x + gamma y, with one number d a row
// A part with a zero coefficient does not count, whatever it holds.
#pragma by_name M X Y ACC

#define APPLY 0
#define COMBINE 1
#define RELAX 2

#define FINISH_PARAMETERS                                                                          \
    COEFFICIENT(ARITH(Y), alpha), COEFFICIENT(ARITH(Y), beta), ARITH(Y) gamma,                     \
        GLOBAL const Y *z, GLOBAL const Y *RESTRICT d, GLOBAL Y *y

typedef struct {
    GLOBAL const X *x;
    GLOBAL const Y *z;
    GLOBAL const Y *d;
    GLOBAL Y *y;
    ACC gamma;
} Finish;

#define FINISH_OPERANDS {x, z, d, y, CONVERT(ARITH(Y), ACC, gamma)}

#if FINISH == APPLY
#define ALPHA(column) OF_REAL(ACC, 1)
#define BETA(column) OF_REAL(ACC, 0)
#else
#define ALPHA(column) CONVERT(ARITH(Y), ACC, EVALUATE(ARITH(Y), alpha, column))
#define BETA(column) CONVERT(ARITH(Y), ACC, EVALUATE(ARITH(Y), beta, column))
#endif

// A stored value of type T in the arithmetic of the product.
#define LOADED(T, p, i) CONVERT(ARITH(T), ACC, LOAD(T, p, i))

// Of `groups` groups of columns each has a thread; 1 << shift neighbouring threads, up to 32, share a row. It is no definition: kernels
// are the same for any number of columns.
FUNCTION u32 shift_of(u32 groups) {
    u32 shift = 0;
    while (shift < 5 && 1u << shift < groups)
        ++shift;
    return shift;
}

// Writes the result of one row and column.
FUNCTION void finish(const PRIVATE Finish *f, u64 row, u64 place, ACC alpha, ACC beta, ACC sum) {
#if FINISH == APPLY
    STORE(ACC, Y, f->y, place, sum);
#elif FINISH == RELAX
    ACC value = 0;
    if (!IS_ZERO(ACC, alpha))
        value = MULTIPLY(ACC, MULTIPLY(ACC, alpha, LOADED(Y, f->d, row)), LOADED(Y, f->z, place) - sum);
    if (!IS_ZERO(ACC, beta))
        value += MULTIPLY(ACC, beta, LOADED(X, f->x, place));
    if (!IS_ZERO(ACC, f->gamma))
        value += MULTIPLY(ACC, f->gamma, LOADED(Y, f->y, place));
    STORE(ACC, Y, f->y, place, value);
#else
    ACC value = 0;
    if (!IS_ZERO(ACC, alpha))
        value = MULTIPLY(ACC, alpha, sum);
    if (!IS_ZERO(ACC, beta))
        value += MULTIPLY(ACC, beta, LOADED(Y, f->z, place));
    STORE(ACC, Y, f->y, place, value);
#endif
}
