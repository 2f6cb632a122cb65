// Triangular solves, level by level: the steps of a level need those of earlier levels alone.
//
// Definitions: the type T of the matrix and the vectors, ACC its arithmetic, and THREADS threads
// that share a step (a power of two up to WIDTH). With CONJUGATED it is the conjugate matrix.

#ifdef CONJUGATED
#define FACTOR(value) CONJ(ACC, value)
#else
#define FACTOR(value) (value)
#endif

// Solves for row `order[step]`. The entries off the diagonal are stored step by step, the inverted
// diagonal too; without it there are ones on the diagonal.
FUNCTION void solve_step(u64 step, u64 steps, u32 column, u32 cols, GLOBAL const u32 *RESTRICT order,
                         GLOBAL const u64 *RESTRICT offsets, GLOBAL const u32 *RESTRICT columns,
                         GLOBAL const T *RESTRICT values, GLOBAL const ACC *RESTRICT inverse,
                         GLOBAL const T *RESTRICT b, GLOBAL T *y, LOCAL ACC *scratch) {
    const u32 part = thread_of_block() % THREADS;
    const u64 begin = step < steps ? offsets[step] : 0;
    const u64 end = step < steps ? offsets[step + 1] : 0;
    ACC sum = 0;
    UNROLL_4
    for (u64 entry = begin + part; entry < end; entry += THREADS)
        sum += MULTIPLY(ACC, FACTOR(LOAD(T, values, entry)),
                     LOAD(T, y, (u64)columns[entry] * cols + column));
    sum = TILE_SUM(ACC, sum, THREADS, scratch);
    if (step < steps && part == 0) {
        const u64 place = (u64)order[step] * cols + column;
        const ACC value = LOAD(T, b, place) - sum;
        STORE(ACC, T, y, place, inverse ? MULTIPLY(ACC, value, FACTOR(inverse[step])) : value);
    }
}

#define TRIANGLE                                                                                   \
    u32 cols, GLOBAL const u32 *RESTRICT order, GLOBAL const u64 *RESTRICT offsets,                \
        GLOBAL const u32 *RESTRICT columns, GLOBAL const T *RESTRICT values,                       \
        GLOBAL const ACC *RESTRICT inverse, GLOBAL const T *RESTRICT b, GLOBAL T *y
#define SOLVE(step, steps, column)                                                                 \
    solve_step(step, steps, column, cols, order, offsets, columns, values, inverse, b, y, scratch)

// The steps of one wide level.
KERNEL triangle_level(u64 first, u64 last, TRIANGLE) {
    LOCAL_ARRAY(ACC, scratch, BLOCK);
    const u32 together = BLOCK / THREADS;
    for (u64 step = first + (u64)block_of_grid() * together; step < last;
         step += (u64)blocks_of_grid() * together)
        for (u32 column = 0; column < cols; ++column)
            SOLVE(step + thread_of_block() / THREADS, last, column);
}

// The steps of narrow levels, the `from`-th to the `to`-th, by one block. `bounds` are their first
// steps.
KERNEL triangle_levels(u32 from, u32 to, GLOBAL const u64 *RESTRICT bounds, TRIANGLE) {
    LOCAL_ARRAY(ACC, scratch, BLOCK);
    const u32 together = BLOCK / THREADS;
    for (u32 level = from; level < to; ++level) {
        const u64 last = bounds[level + 1];
        for (u64 step = bounds[level]; step < last; step += together)
            for (u32 column = 0; column < cols; ++column)
                SOLVE(step + thread_of_block() / THREADS, last, column);
        BARRIER();
    }
}
