// Products of matrices in blocks, as in sliced_blocks.c, with vectors of 8, 16, 24 .. columns, by small products of matrices (tensors.h).
//
// A block of threads has a slice, and 32 threads of it four neighbouring lanes, whose blocks of one step stand on the diagonal of a matrix of 16 by
// 16; what they are multiplied with, four rows for each, is one of 16 by 8 for every COLUMNS-th column. So a thread reads COLUMNS neighbours of
// the input for one lane.
//
// Definitions beside those of rows.h and block_place.h, at most four rows of a block: TENSOR, the type of tensors.h: that of X and M, or f32 for halves M and X
// in f32; MARK, CODED and RAGGED as in sliced_blocks.c; COLUMNS, 1, 2 or 4, an eighth of the columns of the vectors divided by it.

#define TEAM 32
#define LANES_OF_TEAM 4
// Products for the columns of a block.
#define PARTS ((BREADTH + 3) / 4)
// Registers that loads of a step take, steps whose loads are on their way together, and blocks of threads that fit a
// multiprocessor with them.
#define WORDS (BREADTH * (COLUMNS + 1) * 4 / GROUP(X))
#if IN_FLIGHT == 1 || WORDS > 15
#define FLIGHT 1
#elif WORDS > 7
#define FLIGHT 2
#else
#define FLIGHT 4
#endif
#if WORDS > 20
#define RESIDENT 2
#elif WORDS > 10
#define RESIDENT 3
#else
#define RESIDENT 4
#endif

#define operand_f16_f16(value) (value)
#define operand_bf16_bf16(value) (value)
#define operand_f64_f64(value) (value)
#define operand_f16_f32(value) widen_f16(value)
#define operand_bf16_f32(value) widen_bf16(value)
#define OPERAND(value) PASTE3(operand_, M, TENSOR)(value)

#if RAGGED
#define INPUT_ROW(row) min((u64)(row), last)
#else
#define INPUT_ROW(row) (row)
#endif

// COLUMNS neighbours of the input, as they are stored.
FUNCTION void load_row(GLOBAL const X *x, u64 place, PRIVATE X *row) {
#if COLUMNS == 1
    row[0] = x[place];
#elif GROUP(X) < 8
    LOADS(COLUMNS, X, x, place / COLUMNS, row);
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
FUNCTION void load_values(GLOBAL const M *step, u32 r, u32 own, PRIVATE TENSOR *values) {
#if BREADTH == 4 && VECTOR == 8
    const uint2 four = ((GLOBAL const uint2 *)step)[place_of_value(r * 4, own) / 4];
    values[0] = OPERAND((u16)four.x);
    values[1] = OPERAND((u16)(four.x >> 16));
    values[2] = OPERAND((u16)four.y);
    values[3] = OPERAND((u16)(four.y >> 16));
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

KERNEL_OF(RESIDENT)
block_tensors(u32 strips, u32 inputs, u32 cols, u32 shared, u32 slices, u32 rows, u32 input_rows,
              GLOBAL const uint2 *RESTRICT starts, GLOBAL const u32 *RESTRICT order,
              GLOBAL const MARK *RESTRICT marks, GLOBAL const u32 *RESTRICT bases,
              GLOBAL const u8 *RESTRICT codes, GLOBAL const M *RESTRICT values,
              GLOBAL const X *RESTRICT x, FINISH_PARAMETERS) {
    LOCAL_ARRAY(TENSOR, scratch, MMA_SCRATCH);
    const Finish f = FINISH_OPERANDS;
    const u32 g = thread_of_block() % TEAM / 4, t = thread_of_block() % 4;
    const u32 first_lane = thread_of_block() / TEAM * LANES_OF_TEAM, lane = first_lane + t;
    // Of the rows g and g + 8 of four blocks on the diagonal, one has columns of block t.
    const bool is_lower = t >= 2;
    const u32 within = g % 4;
    const bool has_values = t % 2 == g / 4 && within < HEIGHT;
    const u64 last = input_rows - 1;
    const u32 groups = cols / (8 * COLUMNS);
    for (u64 item = block_of_grid(); item < (u64)slices * groups; item += blocks_of_grid()) {
        const u32 column = (u32)(item % groups) * (8 * COLUMNS), slice = (u32)(item / groups);
        const uint2 here = starts[slice], next = starts[slice + 1];
        const u32 width = next.x - here.x, bytes = next.y - here.y;
        const u32 slot = slice * LANES + lane;
        const u32 mark = slot < strips ? marks[slot] : 0;
        GLOBAL const M *mine = values + (u64)here.x * (ENTRIES * LANES);
        GLOBAL const u32 *base = bases + here.x;
        GLOBAL const u8 *code = codes + (u64)here.y * 32;
        ARITH(TENSOR) totals[COLUMNS][4] = {{0}};
        for (u32 begin = 0; begin < width; begin += FLIGHT) {
            TENSOR factors[FLIGHT][4 * PARTS];
            X inputs_of[FLIGHT][4 * PARTS][COLUMNS];
            FOR(k, FLIGHT) {
                const u32 s = min(begin + k, width - 1);
                const u32 block = base[s] + lane + code_at(code, s * LANES + lane, bytes, width);
                const u64 place = (u64)min(block, inputs - 1) * BREADTH;
                FOR(c, BREADTH)
                    load_row(x, INPUT_ROW(place + c) * cols + column + g * COLUMNS,
                             inputs_of[k][c]);
                FOR(c, 4 * PARTS) factors[k][c] = 0;
                if (has_values)
                    load_values(mine + (u64)s * (ENTRIES * LANES), within, lane, factors[k]);
            }
            FOR(k, FLIGHT) {
                const u32 s = begin + k;
                const bool present = s < width && (bytes == 0 ? mark >> s & 1 : s < mark);
                FOR(p, PARTS) {
                    TENSOR a[8];
                    FOR(c, 4) {
                        a[c] = !is_lower && present ? factors[k][4 * p + c] : (TENSOR)0;
                        a[4 + c] = is_lower && present ? factors[k][4 * p + c] : (TENSOR)0;
                    }
                    FOR(i, COLUMNS) {
                        X b[4];
                        FOR(c, 4)
                            b[c] = present && 4 * p + c < BREADTH ? inputs_of[k][4 * p + c][i] : (X)0;
                        MMA(TENSOR, totals[i], a, b, scratch);
                    }
                }
            }
        }
        FOR(i, 4) {
            // A row of four lanes and two neighbouring groups of columns.
            const u32 slot_of_sum = slice * LANES + first_lane + g / 4 + i / 2 * 2;
            if (within >= HEIGHT || slot_of_sum >= strips)
                continue;
            const u64 row = (u64)(order ? order[slot_of_sum] : slot_of_sum) * HEIGHT + within;
            ACC sums[COLUMNS];
            FOR(j, COLUMNS) sums[j] = totals[j][i];
            if (!RAGGED || row < rows)
                FINISH_COLUMNS(row, column + (2 * t + i % 2) * COLUMNS, sums)
        }
    }
}
