// Products of matrices in blocks, as in sliced_blocks.c, with vectors of 8, 16, 24 .. columns, by small products of matrices (mma.h).
//
// A block of threads has a strip and 32 of its threads 8 COLUMNS columns. Four blocks of the strip stand above each other in the second factor, which has a column for each of
// their rows; the first factor is what they are multiplied with, transposed: 16 rows of the input. So thread 4 g + t has the t-th of four blocks: of it row g, if there
// is one, and of the input all its rows and COLUMNS neighbouring columns, which come in one load for a row.
//
// Definitions beside those of rows.h and block_place.h, at most four rows and columns of a block: TENSOR, the type of mma.h: that of X and M, or mixed for halves M and
// X in f32; THREADS lanes for each strip, of which there are more than one; MARK, CODED and RAGGED as in sliced_blocks.c; COLUMNS, 1, 2 or 4. An eighth of the columns
// is a multiple of it.

// Registers that the loads of four blocks take, how many times four are on their way together, and blocks of threads that fit a multiprocessor with them.
#define WORDS (4 * (COLUMNS + 1) * 4 / GROUP(X))
#if IN_FLIGHT == 1 || WORDS > 24
#define FLIGHT 1
#else
#define FLIGHT 2
#endif
#if WORDS > 20
#define RESIDENT 16
#elif WORDS > 10
#define RESIDENT 20
#elif WORDS > 6
#define RESIDENT 24
#else
#define RESIDENT 32
#endif
// Columns of two neighbours are multiplied together.
#if COLUMNS == 1
#define TOGETHER 1
#else
#define TOGETHER 2
#endif

#define operand_f64_f64(value) (value)
#define operand_f32_f32(value) (value)
#define operand_f16_f16(value) (value)
#define operand_bf16_bf16(value) (value)
#define operand_f16_f32(value) widen_f16(value)
#define operand_bf16_f32(value) widen_bf16(value)
#define OPERAND(value) PASTE3(operand_, M, X)(value)

// COLUMNS neighbours of the input, as they are stored.
FUNCTION void load_row(GLOBAL const X *x, u64 place, PRIVATE X *row) {
#if COLUMNS == 1
    row[0] = x[place];
#elif GROUP(X) < 8
    FOR(i, COLUMNS / NEIGHBOURS)
        LOADS(NEIGHBOURS, X, x, place / NEIGHBOURS + i, row + i * NEIGHBOURS);
#elif COLUMNS == 2
    const u32 two = ((GLOBAL const u32 *)x)[place / 2];
    row[0] = (u16)two;
    row[1] = (u16)(two >> 16);
#else
    const uint2 four = ((GLOBAL const uint2 *)x)[place / 4];
    row[0] = (u16)four.x;
    row[1] = (u16)(four.x >> 16);
    row[2] = (u16)four.y;
    row[3] = (u16)(four.y >> 16);
#endif
}

// Row r of the block of a lane, from the first value of its step on.
FUNCTION void load_values(GLOBAL const M *step, u32 r, u32 own, PRIVATE X *values) {
#if BREADTH == 4 && VECTOR == 8
    const uint2 four = ((GLOBAL const uint2 *)step)[place_of_value(r * 4, own) / 4];
    values[0] = OPERAND((u16)four.x);
    values[1] = OPERAND((u16)(four.x >> 16));
    values[2] = OPERAND((u16)four.y);
    values[3] = OPERAND((u16)(four.y >> 16));
#elif BREADTH % VECTOR == 0 && VECTOR > 1 && GROUP(M) < 8
    FOR(c, BREADTH / VECTOR)
        LOADS(VECTOR, M, step, (r * (BREADTH / VECTOR) + c) * LANES + own, values + c * VECTOR);
#else
    FOR(c, BREADTH) values[c] = OPERAND(step[place_of_value(r * BREADTH + c, own)]);
#endif
}

// What stands at a place of the codes of a slice, which have so many bytes for each of `width` steps of a lane.
FUNCTION u32 code_at(GLOBAL const u8 *codes, u32 place, u32 bytes, u32 width) {
    if (!CODED || bytes == 0)
        return 0;
    if (bytes == width)
        return codes[place];
    return bytes == 2 * width ? ((GLOBAL const u16 *)codes)[place]
                              : ((GLOBAL const u32 *)codes)[place];
}

// The t-th of four blocks from number `from` on; behind the last one it is that.
#define NUMBER(from) min((from) + t, blocks - 1)
#define STEP(number) ((number) / THREADS)
#define LANE(number) (at * THREADS + (number) % THREADS)
#define FIND_PLACES(from)                                                                          \
    FOR(k, FLIGHT) {                                                                               \
        const u32 n = NUMBER((from) + 4 * k), s = STEP(n);                                         \
        places[k] = base[s] + at + code_at(code, s * LANES + LANE(n), bytes, width);               \
    }

// FLIGHT times four blocks from number `begin` on, as far as these are `there`. All loads, and those of the next places, are on their way before a value is used.
#define BATCH(there)                                                                               \
    {                                                                                              \
        X factors[FLIGHT][4], inputs_of[FLIGHT][4][COLUMNS];                                       \
        FOR(k, FLIGHT)                                                                             \
            if (there) {                                                                           \
                const u32 n = NUMBER(begin + 4 * k);                                               \
                FOR(c, BREADTH)                                                                    \
                    load_row(x, INPUT_ROW((u64)places[k] * BREADTH + c) * cols + column,           \
                             inputs_of[k][c]);                                                     \
                if (g < HEIGHT)                                                                    \
                    load_values(mine + (u64)STEP(n) * (ENTRIES * LANES), g, LANE(n), factors[k]);  \
            }                                                                                      \
        FIND_PLACES(begin + 4 * FLIGHT)                                                            \
        FOR(k, FLIGHT)                                                                             \
            if (there) {                                                                           \
                const bool is_own = begin + 4 * k + t < blocks;                                    \
                X b[4];                                                                            \
                FOR(c, 4)                                                                          \
                    b[c] = is_own && g < HEIGHT && c < BREADTH ? factors[k][c] : (X)0;             \
                FOR(i, COLUMNS / TOGETHER) {                                                       \
                    X a[8];                                                                        \
                    FOR(c, 8) {                                                                    \
                        const u32 row = c % 4, j = i * TOGETHER + c / 4;                           \
                        a[c] = is_own && row < BREADTH && c / 4 < TOGETHER                         \
                                   ? inputs_of[k][row][j % COLUMNS]                                \
                                   : (X)0;                                                         \
                    }                                                                              \
                    MMA(TENSOR, TOGETHER, totals[i * TOGETHER], a, b, scratch);                    \
                }                                                                                  \
            }                                                                                      \
    }

KERNEL_OF(RESIDENT)
block_tensors(u32 strips, u32 inputs, u32 cols, u32 shared, u32 slices, u32 rows, u32 input_rows,
              GLOBAL const uint2 *RESTRICT starts, GLOBAL const u32 *RESTRICT order,
              GLOBAL const MARK *RESTRICT marks, GLOBAL const u32 *RESTRICT bases,
              GLOBAL const u8 *RESTRICT codes, GLOBAL const M *RESTRICT values,
              GLOBAL const X *RESTRICT x, FINISH_PARAMETERS) {
    LOCAL_ARRAY(X, scratch, MMA_SCRATCH);
    const Finish f = FINISH_OPERANDS;
    const u32 g = thread_of_block() % 32 / 4, t = thread_of_block() % 4;
    const u64 last = input_rows - 1;
    const u32 groups = cols / (8 * COLUMNS), rounds = (groups + BLOCK / 32 - 1) / (BLOCK / 32);
    for (u64 item = block_of_grid(); item < (u64)strips * rounds; item += blocks_of_grid()) {
        const u32 group = (u32)(item % rounds) * (BLOCK / 32) + thread_of_block() / 32;
        const u32 column = min(group, groups - 1) * (8 * COLUMNS) + g * COLUMNS;
        const u32 slot = (u32)(item / rounds);
        const u32 slice = slot / (LANES / THREADS), at = slot % (LANES / THREADS);
        const uint2 here = starts[slice], next = starts[slice + 1];
        const u32 width = next.x - here.x, bytes = next.y - here.y, blocks = marks[slot];
        GLOBAL const M *mine = values + (u64)here.x * (ENTRIES * LANES);
        GLOBAL const u32 *base = bases + here.x;
        GLOBAL const u8 *code = codes + (u64)here.y * 32;
        ARITH(X) totals[COLUMNS][2] = {{0}};
        if (blocks > 0) {
            u32 places[FLIGHT], begin = 0;
            FIND_PLACES(0)
            for (; begin + 4 * FLIGHT <= blocks; begin += 4 * FLIGHT)
                BATCH(true)
            if (begin < blocks)
                BATCH(begin + 4 * k < blocks)
        }
        FOR(r, 2) {
            const u32 within = 2 * t + r;
            const u64 row = (u64)(order ? order[slot] : slot) * HEIGHT + within;
            ACC sums[COLUMNS];
            FOR(i, COLUMNS) sums[i] = totals[i][r];
            if (group < groups && within < HEIGHT && (!RAGGED || row < rows))
                FINISH_COLUMNS(row, column, sums)
        }
    }
}
