// What kernels for many small systems of one pattern share: a block has one system at a time, its vectors in local memory.
//
// Definitions: T, the type of values; ROWS, the room of a vector; FACTORS, the room of factors in local memory, 0 where they
// do not fit and are in global memory.

#define A ARITH(T)
#define Real REAL(A)

// What all kernels of batches are given: the matrices, right-hand sides and solutions, when to stop, and how systems ended.
#define BATCH                                                                                      \
    u32 systems, u32 rows, u32 width, GLOBAL const u32 *columns, GLOBAL const u32 *lengths,        \
        GLOBAL const u32 *diagonal, GLOBAL const T *values, GLOBAL const T *bs, GLOBAL T *xs,      \
        Real rtol, Real atol, u32 most, GLOBAL u32 *ended
#define FOR_ROWS(row) for (u32 row = thread_of_block(); row < rows; row += BLOCK)

#if FACTORS > 0
#define SPACE LOCAL
#define FACTORS_HERE(name, rooms, size)                                                            \
    LOCAL_ARRAY(A, factors_of_block, FACTORS);                                                     \
    LOCAL A *name = factors_of_block
#else
#define SPACE GLOBAL
#define FACTORS_HERE(name, rooms, size) GLOBAL A *name = rooms + (u64)block_of_grid() * (size)
#endif

// How a system ended.
#define CONVERGED 0
#define NON_FINITE 1
#define BREAKDOWN 2
#define ITERATION_LIMIT 3
#define ACCURACY_LIMIT 4
#define INDEFINITE 5
#define GOING_ON 6

// The matrix at hand: entry `slot` of a row is `slot * rows` behind its first one. Columns of a row increase; behind its
// `lengths` entries there are zeros in its own column. `diagonal` is the slot of the diagonal entry, `width` where there is none.
typedef struct {
    u32 rows, width;
    GLOBAL const u32 *columns, *lengths, *diagonal;
    GLOBAL const T *values;
} Matrix;

// Threads keep to their rows, so that only what products read has to be waited for.
FUNCTION void multiply(Matrix a, LOCAL const A *x, LOCAL A *y) {
    u32 rows = a.rows;
    BARRIER();
    FOR_ROWS(row) {
        A sum = 0;
        for (u32 at = row, slot = 0; slot < a.width; slot++, at += rows)
            sum += MULTIPLY(A, (A)LOAD(T, a.values, at), x[a.columns[at]]);
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
    FOR_ROWS(row) sum += MULTIPLY(A, CONJ(A, x[row]), y[row]);
    return everywhere(sum, scratch);
}

FUNCTION Real norm(u32 rows, LOCAL const A *x, LOCAL A *scratch) {
    return SQUARE_ROOT(Real, REAL_PART(A, dot(rows, x, x, scratch)));
}

FUNCTION bool is_finite(Real value) { return value - value == 0; }
FUNCTION bool is_pivot(A value) { return !IS_ZERO(A, value) && is_finite(MAGNITUDE(A, value)); }
FUNCTION A inverse_of(A value) { return OVER(A, OF_REAL(A, 1), value); }
FUNCTION A scaled(Real factor, A value) { return MULTIPLY(A, OF_REAL(A, factor), value); }
FUNCTION Real modulus(A value) {
    return IS_COMPLEX(A) ? SQUARE_ROOT(Real, REAL_PART(A, SQUARE(A, value))) : MAGNITUDE(A, value);
}

// Where a system stands, the same in every thread that has it.
typedef struct {
    // Norms of the right-hand side, of the residual, of that of the start before, and the one to reach.
    Real size, residual, last, tolerance;
    u32 iterations, starts, status;
} Progress;

// A system whose right-hand side has this norm.
FUNCTION Progress beginning(Real size, Real rtol, Real atol) {
    Progress at;
    at.size = size;
    at.tolerance = rtol * size > atol ? rtol * size : atol;
    at.residual = at.last = 0;
    at.iterations = at.starts = 0;
    at.status = GOING_ON;
    return at;
}

// Whether the method is to start, or to start anew, from what leaves this residual.
FUNCTION bool judged(PRIVATE Progress *at, Real residual, u32 most) {
    at->residual = residual;
    if (!is_finite(residual))
        at->status = NON_FINITE;
    else if (residual <= at->tolerance)
        at->status = CONVERGED;
    else if (at->status == GOING_ON && at->iterations >= most)
        at->status = ITERATION_LIMIT;
    else if (at->status == GOING_ON && at->starts > 0 && residual > at->last / 2)
        at->status = ACCURACY_LIMIT; // what rounding leaves, no start repairs
    at->last = residual;
    return at->status == GOING_ON;
}

// Loads the guess and finds the norm to reach.
FUNCTION Progress begin(u32 rows, GLOBAL const T *b, GLOBAL const T *guess, Real rtol, Real atol, LOCAL A *x,
                        LOCAL A *scratch) {
    A square = 0;
    FOR_ROWS(row) {
        A side = LOAD(T, b, row);
        x[row] = LOAD(T, guess, row);
        square += SQUARE(A, side);
    }
    return beginning(SQUARE_ROOT(Real, REAL_PART(A, everywhere(square, scratch))), rtol, atol);
}

// The true residual in `r`, and whether the method is to start, or to start anew, from it.
FUNCTION bool has_to_start(PRIVATE Progress *at, Matrix a, GLOBAL const T *b, u32 most, LOCAL const A *x, LOCAL A *r,
                           LOCAL A *scratch) {
    u32 rows = a.rows;
    multiply(a, x, r);
    FOR_ROWS(row) r[row] = LOAD(T, b, row) - r[row];
    return judged(at, norm(rows, r, scratch), most);
}

// How a system ended; `row` is that without a pivot, or the number of rows. Relative residuals have 32 bits.
FUNCTION void note_ending(Progress at, u32 system, u32 row, GLOBAL u32 *ended) {
    ended[4 * system] = at.status;
    ended[4 * system + 1] = at.iterations;
    ended[4 * system + 2] = row;
    ended[4 * system + 3] = bits_of_f32((f32)(at.size > 0 ? at.residual / at.size : at.residual));
}

// Stores the solution and notes how the system ended.
FUNCTION void finish(Progress at, u32 system, u32 rows, u32 row, LOCAL const A *x, GLOBAL T *xs, GLOBAL u32 *ended) {
    FOR_ROWS(own) STORE(A, T, xs, (u64)system * rows + own, x[own]);
    if (thread_of_block() == 0)
        note_ending(at, system, row, ended);
    BARRIER();
}
