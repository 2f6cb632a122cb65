// What relaxation needs to know of a matrix.

#include "tiles.h"

// Numbers in -1..1 that look random, as multigrid/spectrum.rs has them, and their squares summed.
KERNEL radius_start(u64 rows, GLOBAL f64 *RESTRICT v, GLOBAL f64 *RESTRICT partials) {
    LOCAL_ARRAY(f64, scratch, BLOCK);
    f64 sum = 0;
    FOR_ITEMS(row, rows) {
        const f64 value = scattered(row);
        v[row] = value;
        sum += value * value;
    }
    sum = BLOCK_SUM(f64, sum, scratch);
    if (thread_of_block() == 0)
        partials[block_of_grid()] = sum;
}

// One block: the root of the sum.
KERNEL radius_norm(u64 count, GLOBAL const f64 *RESTRICT partials, GLOBAL f64 *RESTRICT norm) {
    LOCAL_ARRAY(f64, scratch, BLOCK);
    f64 sum = 0;
    for (u64 k = thread_of_block(); k < count; k += BLOCK)
        sum += partials[k];
    sum = BLOCK_SUM(f64, sum, scratch);
    if (thread_of_block() == 0)
        *norm = SQUARE_ROOT(f64, sum);
}

// A step of the power method: next = -D^-1 A v / norm.
KERNEL radius_step(SIZED_CSR(f64, values), GLOBAL const f64 *RESTRICT diagonal,
                   GLOBAL const f64 *RESTRICT norm, GLOBAL const f64 *RESTRICT v,
                   GLOBAL f64 *RESTRICT next, GLOBAL f64 *RESTRICT partials) {
    LOCAL_ARRAY(f64, scratch, BLOCK);
    const f64 scale = 1 / *norm;
    f64 squares = 0;
    FOR_ROWS(row, rows) {
        f64 sum = 0;
        FOR_ENTRIES(place, offsets, row) sum += values[place] * v[columns[place]];
        sum = row_sum(sum, scratch);
        const f64 value = -scale * (1 / diagonal[row]) * sum;
        if (leads_row() && !IS_REPEATED(rows)) {
            next[row] = value;
            squares += value * value;
        }
    }
    squares = BLOCK_SUM(f64, squares, scratch);
    if (thread_of_block() == 0)
        partials[block_of_grid()] = squares;
}
