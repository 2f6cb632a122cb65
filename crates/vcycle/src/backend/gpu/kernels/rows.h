// What becomes of the row sums of a product with a matrix.
//
// Definitions: the storage types M of the matrix, X of the input and Y of the output, the
// arithmetic type ACC, and FINISH, one of
//   APPLY    y = A x
//   COMBINE  y = alpha A x + beta z, where z may be y
//   RELAX    y = alpha d (z - A x) + beta x + gamma y, with one number d a row
// A part with a zero coefficient does not count, whatever it holds.

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

#define FINISH_OPERANDS {x, z, d, y, gamma}

#if FINISH == APPLY
#define ALPHA(column) 1
#define BETA(column) 0
#else
#define ALPHA(column) EVALUATE(ARITH(Y), alpha, column)
#define BETA(column) EVALUATE(ARITH(Y), beta, column)
#endif

// What the result of a row needs beside the sum: asked for before the sum is formed, so that nobody
// waits for it.
typedef struct {
    ACC z, d, x, y;
} Beside;

FUNCTION Beside beside(const PRIVATE Finish *f, u64 row, u64 place, ACC alpha, ACC beta) {
    Beside b = {0, 0, 0, 0};
#if FINISH == RELAX
    if (alpha != 0)
        b.d = LOAD(Y, f->d, row), b.z = LOAD(Y, f->z, place);
    if (beta != 0)
        b.x = LOAD(X, f->x, place);
    if (f->gamma != 0)
        b.y = LOAD(Y, f->y, place);
#elif FINISH == COMBINE
    if (beta != 0)
        b.z = LOAD(Y, f->z, place);
#endif
    return b;
}

// Writes the result of one row and column.
FUNCTION void finish(const PRIVATE Finish *f, const PRIVATE Beside *b, u64 place, ACC alpha, ACC beta,
                     ACC sum) {
#if FINISH == APPLY
    STORE(ACC, Y, f->y, place, sum);
#elif FINISH == RELAX
    ACC value = 0;
    if (alpha != 0)
        value = alpha * b->d * (b->z - sum);
    if (beta != 0)
        value += beta * b->x;
    if (f->gamma != 0)
        value += f->gamma * b->y;
    STORE(ACC, Y, f->y, place, value);
#else
    ACC value = 0;
    if (alpha != 0)
        value = alpha * sum;
    if (beta != 0)
        value += beta * b->z;
    STORE(ACC, Y, f->y, place, value);
#endif
}
