// Products with a matrix whose blocks stand side by side in slices.
//
// Slices, steps, marks, bases and codes are those of sliced.c for the pattern of blocks: what is a row there is a strip of HEIGHT
// rows here, what is an entry there a block. A thread has the blocks of its lane, adds up HEIGHT rows at once and so reads the
// index of a block and its part of the input once.
//
// Definitions beside those of rows.h and block_place.h: THREADS lanes for each strip, a power of two up to WIDTH and 32; MARK, u8 or
// u32, the type of marks; CODED, whether there are codes; COLUMNS columns of the vectors, a power of two up to 8, are done together;
// WHOLE, whether vectors have a multiple of them.

#define SLICES_OF_BLOCK (BLOCK / LANES)

// Blocks whose loads are on their way together: as many as leave registers for other threads.
#if IN_FLIGHT == 1 || ENTRIES * COLUMNS > 12
#define FLIGHT 1
#elif ENTRIES * COLUMNS > 6
#define FLIGHT 2
#else
#define FLIGHT 4
#endif

// Blocks of threads that fit a multiprocessor: fewer leave a thread the registers for its loads.
#define RESIDENT_f64 6
#define RESIDENT_f32 8
#define RESIDENT (COLUMNS > 1 ? 4 : PASTE(RESIDENT_, ACC))

// Doubles would drive x out of the cache that the threads of a unit share.
#define PASSES_BY_f64 1
#if PASTE(PASSES_BY_, M)
#define VALUES(p, i, v) PAIR_ONCE(p, i, v)
#define VALUE(p) LOAD_ONCE(M, p)
#else
#define VALUES(p, i, v) LOADS(VECTOR, M, p, i, v)
#define VALUE(p) (*(p))
#endif

// The block of a lane, from the first value of its step on.
FUNCTION void load_block(GLOBAL const M *step, u32 own, PRIVATE ARITH(M) *values) {
    FOR(k, ENTRIES / VECTOR) VALUES(step, k * LANES + own, values + k * VECTOR);
    FOR(k, ENTRIES - IN_VECTORS)
        values[IN_VECTORS + k] = PASTE(widen_, M)(VALUE(step + place_of_value(IN_VECTORS + k, own)));
}

// Neighbours of the input that come in one load, where vectors have a multiple of COLUMNS columns.
#if GROUP(X) > COLUMNS
#define NEIGHBOURS COLUMNS
#else
#define NEIGHBOURS GROUP(X)
#endif

// What a block is multiplied with: BREADTH rows of the input, from `first` on, and COLUMNS columns.
FUNCTION void load_inputs(GLOBAL const X *x, u64 first, u32 cols, u32 column,
                          PRIVATE ARITH(X) *inputs) {
#if COLUMNS == 1 && BREADTH % 2 == 0
    FOR(c, BREADTH / 2) LOADS(2, X, x, first / 2 + c, inputs + 2 * c);
#elif COLUMNS > 1 && WHOLE
    FOR(c, BREADTH)
        FOR(i, COLUMNS / NEIGHBOURS)
            LOADS(NEIGHBOURS, X, x, ((first + c) * cols + column) / NEIGHBOURS + i,
                  inputs + c * COLUMNS + i * NEIGHBOURS);
#else
    FOR(c, BREADTH)
        FOR(i, COLUMNS)
            inputs[c * COLUMNS + i] = COLUMNS == 1 || column + i < cols
                                          ? LOAD(X, x, (first + c) * cols + column + i)
                                          : 0;
#endif
}

// FLIGHT steps from t on, the k-th of them being `step`, with blocks in column `place_of_block`. All loads are on their
// way before a value is used; what is not `present` is loaded from a place that exists.
#define BATCH(step, place_of_block, present)                                                       \
    {                                                                                              \
        ARITH(M) factors[FLIGHT][ENTRIES];                                                         \
        ARITH(X) inputs_of[FLIGHT][BREADTH * COLUMNS];                                             \
        FOR(k, FLIGHT) {                                                                           \
            const u32 s = step;                                                                    \
            load_inputs(x, (u64)(place_of_block) * BREADTH, cols, column, inputs_of[k]);           \
            load_block(mine + (u64)s * (ENTRIES * LANES), lane_of_slice, factors[k]);              \
        }                                                                                          \
        FOR(k, FLIGHT)                                                                             \
            if (present)                                                                           \
                FOR(c, BREADTH)                                                                    \
                    FOR(r, HEIGHT)                                                                 \
                        FOR(i, COLUMNS)                                                            \
                            totals[r][i] += (ACC)factors[k][r * BREADTH + c] *                     \
                                            inputs_of[k][c * COLUMNS + i];                         \
    }

#define SUM_OF_BLOCKS(code)                                                                        \
    {                                                                                              \
        u32 t = 0;                                                                                 \
        for (; t + FLIGHT <= steps; t += FLIGHT)                                                   \
            BATCH(t + k, base[s] + at + (code), true)                                              \
        if (FLIGHT > 1 && t < steps)                                                               \
            BATCH(min(t + k, steps - 1), base[s] + at + (code), t + k < steps)                     \
    }

#define SUM_OF_STEPS                                                                               \
    for (u32 t = 0; t < width; t += FLIGHT)                                                        \
        BATCH(min(t + k, width - 1), min(base[s] + at, inputs - 1), mark >> (t + k) & 1)

// The input has `inputs` block rows.
KERNEL_OF(RESIDENT)
sliced_blocks(u32 strips, u32 inputs, u32 all_columns, u32 slices,
                     GLOBAL const uint2 *RESTRICT starts, GLOBAL const u32 *RESTRICT order,
                     GLOBAL const MARK *RESTRICT marks, GLOBAL const u32 *RESTRICT bases,
                     GLOBAL const u8 *RESTRICT codes, GLOBAL const M *RESTRICT values,
                     GLOBAL const X *RESTRICT x, FINISH_PARAMETERS) {
    LOCAL_ARRAY(ACC, scratch, BLOCK);
    const Finish f = FINISH_OPERANDS;
    const u32 cols = COLUMNS == 1 ? 1 : all_columns;
    const u32 lane_of_slice = thread_of_block() % LANES, part = lane_of_slice % THREADS;
    const u32 at = lane_of_slice / THREADS;
    const u32 groups = (cols + COLUMNS - 1) / COLUMNS;
    const u64 items = (u64)((slices + SLICES_OF_BLOCK - 1) / SLICES_OF_BLOCK) * groups;
    for (u64 item = block_of_grid(); item < items; item += blocks_of_grid()) {
        const u32 slice = (u32)(item / groups) * SLICES_OF_BLOCK + thread_of_block() / LANES;
        const u32 column = (u32)(item % groups) * COLUMNS;
        const uint2 here = starts[min(slice, slices)], next = starts[min(slice + 1, slices)];
        const u32 slot = slice * (LANES / THREADS) + at;
        const u32 mark = slot < strips ? marks[slot] : 0;
        const u64 strip = slot < strips && order ? order[slot] : slot;
        const u32 steps = (mark + THREADS - 1 - part) / THREADS;
        const u32 width = next.x - here.x, bytes = next.y - here.y;
        GLOBAL const M *mine = values + (u64)here.x * (ENTRIES * LANES);
        GLOBAL const u32 *base = bases + here.x;
        GLOBAL const u8 *code = codes + (u64)here.y * 32;
        ACC totals[HEIGHT][COLUMNS] = {{0}};
        if (THREADS == 1 && bytes == 0) {
            SUM_OF_STEPS
        } else if (!CODED || bytes == 0) {
            SUM_OF_BLOCKS(0)
        } else if (bytes == width) {
            SUM_OF_BLOCKS(code[s * LANES + lane_of_slice])
        } else if (bytes == 2 * width) {
            SUM_OF_BLOCKS(((GLOBAL const u16 *)code)[s * LANES + lane_of_slice])
        } else {
            SUM_OF_BLOCKS(((GLOBAL const u32 *)code)[s * LANES + lane_of_slice])
        }
        FOR(r, HEIGHT)
            FOR(i, COLUMNS) {
                const ACC sum = TILE_SUM(ACC, totals[r][i], THREADS, scratch);
                if (part == (r * COLUMNS + i) % THREADS && slot < strips && column + i < cols) {
                    const u64 row = strip * HEIGHT + r, place = row * cols + column + i;
                    finish(&f, row, place, ALPHA(column + i), BETA(column + i), sum);
                }
            }
    }
}
