// Products with a block-diagonal matrix whose blocks each have their own precision.
//
// Definitions: the type T of the vectors and of blocks in full precision; ACC, its arithmetic.

#define FULL 0
#define SINGLE 1
#define HALF 2

#define SUM_OF_BLOCK(type, values)                                                                 \
    for (u32 k = 0; k < n; ++k)                                                                    \
        sum += LOAD(type, values, first + (transposed ? mine * n + k : k * n + mine)) *            \
               LOAD(T, x, (u64)(start + k) * cols + column);

// Row r is in block `blocks[r]`; block b has the rows `starts[b]` to `starts[b + 1]` and stands,
// column by column, in the array of its precision: `places[b]` is 4 times the place of its first
// value plus the precision.
KERNEL blocks_apply(u32 rows, u32 cols, u32 transposed, GLOBAL const u32 *RESTRICT blocks,
                    GLOBAL const u32 *RESTRICT starts, GLOBAL const u64 *RESTRICT places,
                    GLOBAL const T *RESTRICT full, GLOBAL const f32 *RESTRICT single,
                    GLOBAL const f16 *RESTRICT half_values, GLOBAL const T *RESTRICT x,
                    GLOBAL T *RESTRICT y) {
    for (u64 i = thread_of_grid(); i < (u64)rows * cols; i += threads_of_grid()) {
        const u32 row = (u32)(i / cols), column = (u32)(i % cols);
        const u32 block = blocks[row], start = starts[block];
        const u32 n = starts[block + 1] - start, mine = row - start;
        const u64 first = places[block] / 4, precision = places[block] % 4;
        ACC sum = 0;
        if (precision == FULL) {
            SUM_OF_BLOCK(T, full)
        } else if (precision == SINGLE) {
            SUM_OF_BLOCK(f32, single)
        } else {
            SUM_OF_BLOCK(f16, half_values)
        }
        STORE(ACC, T, y, i, sum);
    }
}
