// Products with a matrix whose blocks stand side by side in slices.
//
// Slices, steps, marks, bases and codes are those of sliced.c for the pattern of blocks: what is a row there is a strip of HEIGHT
// rows here, what is an entry there a block. A thread has the blocks of its lane, adds up HEIGHT rows at once and so reads the
// index of a block and its part of the input once.
//
// Of vectors with several columns a thread has COLUMNS, and where these are SHARED some neighbouring threads have a strip, so that they ask for
// neighbours of the input and read each block together, once for all columns. Where there are too few strips, neighbours among these share the lanes
// of a strip, as with one column.
//
// Definitions beside those of rows.h and block_place.h: THREADS lanes for each strip, a power of two up to WIDTH and 32; MARK, u8 or
// u32, the type of marks; CODED, whether there are codes; RAGGED, whether the last strip or the last blocks of strips reach beyond the matrix; 
// COLUMNS, 1, 2 or 4, which divides the columns of the vectors; SHARED, whether there are more columns than those.

#include "rows.h"
#include "row_columns.h"
#include "block_place.h"
#pragma block 128

// Blocks whose loads are on their way together: as many as leave registers for other threads.
#if IN_FLIGHT == 1 || ENTRIES * COLUMNS > 12
#define FLIGHT 1
#elif ENTRIES * COLUMNS > 6
#define FLIGHT 2
#else
#define FLIGHT 4
#endif

// Blocks of threads that fit a multiprocessor: fewer leave a thread the registers for its loads. Of several columns these are WORDS, with the sums.
#define WORDS_OF_f64 2
#define WORDS_OF_f32 1
#define WORDS_OF(A) PASTE(WORDS_OF_, A)
#define WORDS                                                                                      \
    (HEIGHT * COLUMNS * WORDS_OF(ACC) + BREADTH * COLUMNS * WORDS_OF(ARITH(X)) +                   \
     ENTRIES * WORDS_OF(ARITH(M)))
#if SHARED && WORDS > 75
#define RESIDENT 4
#elif SHARED && (WORDS > 60 || WORDS_OF(ACC) == 2 && COLUMNS == 4)
#define RESIDENT 5
#elif SHARED && WORDS > 42 || WORDS_OF(ACC) == 2
#define RESIDENT 6
#else
#define RESIDENT 8
#endif

// Doubles would drive x out of the cache that the threads of a unit share. Where these have several columns, neighbours find
// them there.
#define PASSES_BY_f64 1
#if PASTE(PASSES_BY_, M) && !SHARED
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

// What a block is multiplied with: BREADTH rows of the input, from `first` on and up to `last`, and COLUMNS columns.
FUNCTION void load_inputs(GLOBAL const X *x, u64 first, u64 last, u32 cols, u32 column,
                          PRIVATE ARITH(X) *inputs) {
#if COLUMNS > 1
    FOR(c, BREADTH)
        FOR(i, COLUMNS / NEIGHBOURS)
            LOADS(NEIGHBOURS, X, x, (INPUT_ROW(first + c) * cols + column) / NEIGHBOURS + i,
                  inputs + c * COLUMNS + i * NEIGHBOURS);
#elif !SHARED && BREADTH % 2 == 0 && !RAGGED
    FOR(c, BREADTH / 2) LOADS(2, X, x, first / 2 + c, inputs + 2 * c);
#else
    FOR(c, BREADTH) inputs[c] = LOAD(X, x, INPUT_ROW(first + c) * cols + column);
#endif
}

// Of several columns a step leaves few registers for loads of the next ones: the values of the AHEAD-th step from here are brought near without. Each of the
// threads that share a strip asks for one vector.
#define AHEAD 2
#if SHARED
#define LOOK_AHEAD                                                                                 \
    if (own < ENTRIES / VECTOR)                                                                    \
        PREFETCH(mine + (u64)min(t + AHEAD, width - 1) * (ENTRIES * LANES) +                       \
                 (own * LANES + lane_of_slice) * VECTOR);
#else
#define LOOK_AHEAD
#endif

// FLIGHT steps from t on, the k-th of them being `step`, with blocks in column `place_of_block`. All loads are on their
// way before a value is used; what is not `present` is loaded from a place that exists.
#define BATCH(step, place_of_block, present)                                                       \
    {                                                                                              \
        ARITH(M) factors[FLIGHT][ENTRIES];                                                         \
        ARITH(X) inputs_of[FLIGHT][BREADTH * COLUMNS];                                             \
        FOR(k, FLIGHT) {                                                                           \
            const u32 s = step;                                                                    \
            load_inputs(x, (u64)(place_of_block) * BREADTH, last_input, cols, column,              \
                        inputs_of[k]);                                                             \
            load_block(mine + (u64)s * (ENTRIES * LANES), lane_of_slice, factors[k]);              \
        }                                                                                          \
        LOOK_AHEAD                                                                                 \
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

// The matrix has `rows` rows, the input `input_rows`, which are `inputs` block rows. `shared` lanes of a strip have threads of their own.
KERNEL_OF(RESIDENT)
sliced_blocks(u32 strips, u32 inputs, u32 all_columns, u32 shared, SLICES, u32 rows, u32 input_rows,
              GLOBAL const M *RESTRICT values, GLOBAL const X *RESTRICT x, FINISH_PARAMETERS) {
    LOCAL_ARRAY(ACC, scratch, BLOCK);
    const Finish f = FINISH_OPERANDS;
    const u32 cols = COLUMNS == 1 && !SHARED ? 1 : all_columns;
    const u32 shift = SHARED ? shift_of(cols / COLUMNS) : 0, together = COLUMNS << shift;
    const u64 last_input = input_rows - 1;
    const u32 lanes = SHARED && THREADS > 1 ? shared : THREADS;
    const u32 first = thread_of_block() % lanes, team = thread_of_block() / lanes;
    const u32 own = team & ((1u << shift) - 1);
    const u32 groups = (cols + together - 1) / together, strips_of_block = BLOCK / lanes >> shift;
    const u64 items = (u64)((strips + strips_of_block - 1) / strips_of_block) * groups;
    for (u64 item = block_of_grid(); item < items; item += blocks_of_grid()) {
        const u32 column = (u32)(item % groups) * together + own * COLUMNS;
        const u32 slot = (u32)(item / groups) * strips_of_block + (team >> shift);
        const u32 slice = slot / (LANES / THREADS), at = slot % (LANES / THREADS);
        const bool is_there = slot < strips && column < cols;
        const uint2 here = starts[min(slice, slices)], next = starts[min(slice + 1, slices)];
        const u32 mark = is_there ? marks[slot] : 0;
        const u64 strip = is_there && order ? order[slot] : slot;
        const u32 width = next.x - here.x, bytes = next.y - here.y;
        GLOBAL const M *mine = values + (u64)here.x * (ENTRIES * LANES);
        GLOBAL const u32 *base = bases + here.x;
        GLOBAL const u8 *code = codes + (u64)here.y * 32;
        ACC totals[HEIGHT][COLUMNS] = {{0}};
        for (u32 part = is_there ? first : THREADS; part < THREADS; part += lanes) {
            const u32 lane_of_slice = at * THREADS + part;
            const u32 steps = (mark + THREADS - 1 - part) / THREADS;
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
        }
        FOR(r, HEIGHT) {
            const u64 row = strip * HEIGHT + r;
            const bool has_row = is_there && (!RAGGED || row < rows);
            FOR(i, COLUMNS) totals[r][i] = TILE_SUM(ACC, totals[r][i], lanes, scratch);
            if (has_row && first == r % lanes)
                FINISH_COLUMNS(row, column, totals[r])
        }
    }
}
