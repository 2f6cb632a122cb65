// How alike smooth errors are at both ends of a coupling.
//
// Test vectors are single numbers, those of an unknown side by side; a thread has one of them at a time.

#include "tiles.h"

// Rows that one thread relaxes one after the other; those of others are as they were before the sweep.
#define CHUNK 64
#define FOR_VECTORS(k) for (u32 k = part_of_row(); k < vectors; k += ROW_THREADS)

KERNEL affinity_start(u64 size, GLOBAL f32 *RESTRICT x) {
    FOR_ITEMS(k, size) x[k] = (f32)scattered(k);
}


// A sweep of Gauss-Seidel for `A x = 0` within each chunk, forwards or backwards.
KERNEL affinity_sweep(u64 rows, CSR(f64, values), GLOBAL const f64 *RESTRICT diagonal, u32 vectors,
                      u32 forwards, GLOBAL const f32 *RESTRICT x, GLOBAL f32 *next) {
    FOR_ROWS(chunk, (rows + CHUNK - 1) / CHUNK) {
        const u64 begin = chunk * CHUNK, end = min(begin + CHUNK, rows);
        FOR_VECTORS(k) for (u64 step = 0; step < end - begin; step++) {
            const u64 row = forwards ? begin + step : end - 1 - step;
            const f64 scale = diagonal[row] != 0 ? -1 / diagonal[row] : 0;
            f32 sum = 0;
            for (u64 place = offsets[row]; place < offsets[row + 1]; place++) {
                const u64 column = columns[place];
                const bool is_done = column >= begin && column < end && (forwards ? column < row : column > row);
                const f32 value = is_done ? next[column * vectors + k] : x[column * vectors + k];
                sum += column != row ? (f32)(scale * values[place]) * value : 0;
            }
            next[row * vectors + k] = sum;
        }
    }
}

// Scales the numbers of every unknown to norm one, unless they are zero.
KERNEL affinity_normalise(u64 rows, u32 vectors, GLOBAL f32 *RESTRICT x) {
    FOR_ITEMS(row, rows) {
        f64 sum = 0;
        for (u32 k = 0; k < vectors; k++)
            sum += (f64)x[row * vectors + k] * x[row * vectors + k];
        const f32 scale = sum > 0 ? (f32)(1 / SQUARE_ROOT(f64, sum)) : 0;
        for (u32 k = 0; k < vectors; k++)
            x[row * vectors + k] *= scale;
    }
}

// One over the square of the sine of the angle between the numbers of both unknowns, without cancellation.
KERNEL affinity_closeness(u64 rows, GRAPH, u32 vectors, GLOBAL const f32 *RESTRICT x,
                          GLOBAL f64 *RESTRICT closeness) {
    FOR_ROWS(row, rows) FOR_ENTRIES(place, offsets, row) {
        const u64 column = columns[place];
        f32 sum = 0;
        for (u32 k = 0; k < vectors; k++) {
            const f32 apart = x[row * vectors + k] - x[column * vectors + k];
            sum += apart * apart;
        }
        const f32 angle = 0.5f * sum, apart = angle * (2 - angle);
        closeness[place] = 1 / (f64)(apart > 1.1920929e-7f ? apart : 1.1920929e-7f);
    }
}
