// Products with a matrix whose rows stand side by side in slices, its columns in few bytes.
//
// A slice has 32 lanes, THREADS for each of its rows. Where THREADS is 1 most slices of grids are
// aligned: a step is for one difference between column and row, which is that of `bases[step]`; a
// row has the steps of its mark's bits. In step s of any other slice, lane l has entry s * THREADS +
// l % THREADS of its row, which has as many as its mark says. The values of a step stand side by
// side, and so do the columns, less `bases[step]` and the place of the row in the slice, in as many
// bytes as the slice needs: 1, 2, 4, or none. Rows too long for a slice are stored in parts of CHUNK
// entries, columns as they are; each part has a block of its own.
//
// Of vectors with several columns a thread has COLUMNS, 1, 2 or 4, which divide them, and some
// neighbouring threads, a power of two up to 32, share a row, so that they ask for neighbours of the
// input and read each entry together, once for all columns. Where there are too few rows, neighbours among these share the lanes of a row.
//
// Definitions beside those of rows.h: THREADS, a power of two up to WIDTH and 32; MARK, u8 or u32,
// the type of marks; CODED, whether there are codes; COLUMNS, and SEVERAL where vectors have several columns;
// CHUNK; BLOCKS.

#include "rows.h"
#include "row_columns.h"
#pragma block 64

#define LANES 32
#define SLICES_OF_BLOCK (BLOCK / LANES)

// BLOCKS, the blocks that fit a multiprocessor, leaves a thread of long rows the registers for its
// loads: on an H200 coarse matrices of poisson7:200 took 229 to 234 us with 8, 275 to 279 with 16,
// the short rows of its prolongation 172 and 137.
#define SLICED KERNEL_OF(BLOCKS)

// Doubles and their columns would drive x out of the cache that the threads of a unit share. Where
// these have several columns, neighbours find them there.
#define PASSES_BY_f64 1
#if PASTE(PASSES_BY_, M) && !defined(SEVERAL)
#define ENTRY(W, p) LOAD_ONCE(W, p)
#else
#define ENTRY(W, p) (*(p))
#endif

// COLUMNS columns of a row of the input, from `place` on.
FUNCTION void load_columns(GLOBAL const X *x, u64 place, PRIVATE ARITH(X) *inputs) {
#if COLUMNS == 1
    inputs[0] = LOAD(X, x, place);
#else
    FOR(i, COLUMNS / NEIGHBOURS)
        LOADS(NEIGHBOURS, X, x, place / NEIGHBOURS + i, inputs + i * NEIGHBOURS);
#endif
}

// IN_FLIGHT steps from t on, the k-th of them being `step`, with entries in `place_of_entry`. All
// loads are on their way before a value is used; what is not `present` is loaded from a place that
// exists.
#define BATCH(step, place_of_entry, present)                                                       \
    {                                                                                              \
        ACC factors[IN_FLIGHT];                                                                    \
        ARITH(X) inputs_of[IN_FLIGHT][COLUMNS];                                                    \
        FOR(k, IN_FLIGHT) {                                                                        \
            const u32 s = step;                                                                    \
            factors[k] = PASTE(widen_, M)(ENTRY(M, mine + s * LANES));                             \
            load_columns(x, (u64)(place_of_entry) * cols + column, inputs_of[k]);                  \
        }                                                                                          \
        FOR(k, IN_FLIGHT)                                                                          \
            if (present)                                                                           \
                FOR(i, COLUMNS) totals[i] += factors[k] * inputs_of[k][i];                         \
    }

#define SUM_OF_ENTRIES(code)                                                                       \
    {                                                                                              \
        u32 t = 0;                                                                                 \
        for (; t + IN_FLIGHT <= steps; t += IN_FLIGHT)                                             \
            BATCH(t + k, base[s] + at + (code), true)                                              \
        if (IN_FLIGHT > 1 && t < steps)                                                            \
            BATCH(min(t + k, steps - 1), base[s] + at + (code), t + k < steps)                     \
    }

#define SUM_OF_STEPS                                                                               \
    for (u32 t = 0; t < width; t += IN_FLIGHT)                                                     \
        BATCH(min(t + k, width - 1), min(base[s] + at, inputs - 1), mark >> (t + k) & 1)

// Leaves the sum of part p, the `before`-th of `count` parts of a row. Whether all are there: then
// `sum` is that of the row.
FUNCTION bool complete(PRIVATE ACC *sum, u32 p, u32 before, u32 count, GLOBAL ACC *sums,
                       GLOBAL u32 *counters, LOCAL ACC *scratch) {
    LOCAL u32 *last = (LOCAL u32 *)scratch;
    const u32 first = p - before;
    BARRIER();
    if (thread_of_block() == 0) {
        sums[p] = *sum;
        FENCE();
        *last = atomic_increment(&counters[first]) == count - 1;
        if (*last)
            counters[first] = 0;
    }
    BARRIER();
    const bool all = *last;
    BARRIER();
    if (all) {
        FENCE();
        *sum = 0;
        for (u32 k = thread_of_block(); k < count; k += BLOCK)
            *sum += sums[first + k];
        *sum = BLOCK_SUM(ACC, *sum, scratch);
    }
    return all;
}

// The input has `inputs` rows. Of several columns `shared` lanes of a row have threads of their own. Slice i begins with step `starts[i].x` and with byte 32 * `starts[i].y` of the codes. Its rows are
// those that `order` names, or follow each other. Part p of `parts` is the .z-th of the .w parts of
// row .x and has .y entries; it stands at `long_values` and `long_columns` from p * CHUNK on, and
// leaves its sum in `sums`, of which the last to come makes that of the row; of many columns the
// first part does all. `counters` are zero before and after.
#define PARTS                                                                                      \
    u32 part_count, GLOBAL const uint4 *RESTRICT parts, GLOBAL const u32 *RESTRICT long_columns,   \
        GLOBAL ACC *sums, GLOBAL u32 *counters, GLOBAL const M *RESTRICT long_values

// The sum of a lane's entries, or steps, in `totals`.
#define SUM_OF_LANE                                                                                \
    if (THREADS == 1 && bytes == 0) {                                                              \
        SUM_OF_STEPS                                                                               \
    } else if (!CODED || bytes == 0) {                                                             \
        SUM_OF_ENTRIES(0)                                                                          \
    } else if (bytes == width) {                                                                   \
        SUM_OF_ENTRIES(ENTRY(u8, code + (s * LANES + lane_of_slice)))                              \
    } else if (bytes == 2 * width) {                                                               \
        SUM_OF_ENTRIES(ENTRY(u16, (GLOBAL const u16 *)code + (s * LANES + lane_of_slice)))         \
    } else {                                                                                       \
        SUM_OF_ENTRIES(ENTRY(u32, (GLOBAL const u32 *)code + (s * LANES + lane_of_slice)))         \
    }

// Rows too long for slices.
#define LONG_ROWS                                                                                  \
    for (u32 p = block_of_grid(); p < part_count; p += blocks_of_grid()) {                         \
        const uint4 own = parts[p];                                                                \
        const u32 count = cols == 1 ? 1 : own.w;                                                   \
        if (count > 1 && own.z > 0)                                                                \
            continue;                                                                              \
        const u32 entries = (count - 1) * CHUNK + parts[p + count - 1].y;                          \
        for (u32 column = 0; column < cols; ++column) {                                            \
            ACC sum = 0;                                                                           \
            UNROLL_4                                                                               \
            for (u32 k = thread_of_block(); k < entries; k += BLOCK) {                             \
                const u64 entry = (u64)p * CHUNK + k;                                              \
                sum += LOAD(M, long_values, entry) *                                               \
                       LOAD(X, x, (u64)long_columns[entry] * cols + column);                       \
            }                                                                                      \
            sum = BLOCK_SUM(ACC, sum, scratch);                                                    \
            const bool all =                                                                       \
                cols > 1 || complete(&sum, p, own.z, own.w, sums, counters, scratch);              \
            if (all && thread_of_block() == 0) {                                                   \
                const u64 place = (u64)own.x * cols + column;                                      \
                finish(&f, own.x, place, ALPHA(column), BETA(column), sum);                        \
            }                                                                                      \
        }                                                                                          \
    }

#ifndef SEVERAL
SLICED sliced(u32 rows, u32 inputs, u32 all_columns, u32 shared, SLICES, PARTS,
              GLOBAL const M *RESTRICT values, GLOBAL const X *RESTRICT x, FINISH_PARAMETERS) {
    LOCAL_ARRAY(ACC, scratch, BLOCK);
    const Finish f = FINISH_OPERANDS;
    const u32 cols = 1, column = 0;
    const u32 lane_of_slice = thread_of_block() % LANES, part = lane_of_slice % THREADS;
    const u32 at = lane_of_slice / THREADS;
    const u64 items = (slices + SLICES_OF_BLOCK - 1) / SLICES_OF_BLOCK;
    for (u64 item = block_of_grid(); item < items; item += blocks_of_grid()) {
        const u32 slice = (u32)item * SLICES_OF_BLOCK + thread_of_block() / LANES;
        const uint2 here = starts[min(slice, slices)], next = starts[min(slice + 1, slices)];
        const u32 slot = slice * (LANES / THREADS) + at;
        const u32 mark = slot < rows ? marks[slot] : 0;
        const u64 row = slot < rows && order ? order[slot] : slot;
        const u32 steps = (mark + THREADS - 1 - part) / THREADS;
        const u32 width = next.x - here.x, bytes = next.y - here.y;
        GLOBAL const M *mine = values + ((u64)here.x * LANES + lane_of_slice);
        GLOBAL const u32 *base = bases + here.x;
        GLOBAL const u8 *code = codes + (u64)here.y * 32;
        ACC totals[COLUMNS] = {0};
        SUM_OF_LANE
        const ACC sum = TILE_SUM(ACC, totals[0], THREADS, scratch);
        if (part == 0 && slot < rows)
            finish(&f, row, row, ALPHA(0), BETA(0), sum);
    }
    LONG_ROWS
}
#else
SLICED sliced_columns(u32 rows, u32 inputs, u32 all_columns, u32 shared, SLICES, PARTS,
                      GLOBAL const M *RESTRICT values, GLOBAL const X *RESTRICT x,
                      FINISH_PARAMETERS) {
    LOCAL_ARRAY(ACC, scratch, BLOCK);
    const Finish f = FINISH_OPERANDS;
    const u32 cols = all_columns;
    const u32 shift = shift_of(cols / COLUMNS), together = COLUMNS << shift;
    const u32 lanes = THREADS == 1 ? 1 : shared;
    const u32 first = thread_of_block() % lanes, team = thread_of_block() / lanes;
    const u32 groups = (cols + together - 1) / together, rows_of_block = BLOCK / lanes >> shift;
    const u64 items = (u64)((rows + rows_of_block - 1) / rows_of_block) * groups;
    for (u64 item = block_of_grid(); item < items; item += blocks_of_grid()) {
        const u32 own = team & ((1u << shift) - 1);
        const u32 column = (u32)(item % groups) * together + own * COLUMNS;
        const u32 slot = (u32)(item / groups) * rows_of_block + (team >> shift);
        const bool is_there = slot < rows && column < cols;
        const u32 slice = slot / (LANES / THREADS), at = slot % (LANES / THREADS);
        const uint2 here = starts[min(slice, slices)], next = starts[min(slice + 1, slices)];
        const u32 mark = is_there ? marks[slot] : 0;
        const u64 row = is_there && order ? order[slot] : slot;
        const u32 width = next.x - here.x, bytes = next.y - here.y;
        GLOBAL const u32 *base = bases + here.x;
        GLOBAL const u8 *code = codes + (u64)here.y * 32;
        ACC totals[COLUMNS] = {0};
        for (u32 part = is_there ? first : THREADS; part < THREADS; part += lanes) {
            const u32 lane_of_slice = at * THREADS + part;
            const u32 steps = (mark + THREADS - 1 - part) / THREADS;
            GLOBAL const M *mine = values + ((u64)here.x * LANES + lane_of_slice);
            SUM_OF_LANE
        }
        FOR(i, COLUMNS) totals[i] = TILE_SUM(ACC, totals[i], lanes, scratch);
        if (is_there && first == 0)
            FINISH_COLUMNS(row, column, totals)
    }
    LONG_ROWS
}
#endif

#if THREADS == 1 && !CODED && !defined(SEVERAL)
// Two neighbours of the input, in one load where they stand in a pair. What is beyond the end is not
// used; it is loaded from a place that exists.
FUNCTION void load_neighbours(GLOBAL const X *x, u32 place, u32 inputs, PRIVATE ARITH(X) *both) {
    if (place % 2 == 0 && place + 1 < inputs) {
        LOADS(2, X, x, place / 2, both);
        return;
    }
    both[0] = LOAD(X, x, min(place, inputs - 1));
    both[1] = LOAD(X, x, min(place + 1, inputs - 1));
}

// What becomes of the sums of two neighbouring rows, from an even one on.
FUNCTION void finish_pair(const PRIVATE Finish *f, u64 row, ACC alpha, ACC beta,
                          const PRIVATE ACC *sums) {
    ACC values[2] = {sums[0], sums[1]};
#if FINISH != APPLY
    ARITH(Y) z[2] = {0, 0}, d[2] = {0, 0}, y[2] = {0, 0};
    ARITH(X) x[2] = {0, 0};
    if (FINISH == COMBINE ? beta != 0 : alpha != 0)
        LOADS(2, Y, f->z, row / 2, z);
    if (FINISH == RELAX) {
        if (alpha != 0)
            LOADS(2, Y, f->d, row / 2, d);
        if (beta != 0)
            LOADS(2, X, f->x, row / 2, x);
        if (f->gamma != 0)
            LOADS(2, Y, f->y, row / 2, y);
    }
    FOR(i, 2) {
        if (FINISH == COMBINE)
            values[i] = (alpha != 0 ? alpha * sums[i] : 0) + beta * z[i];
        else
            values[i] = (alpha != 0 ? alpha * d[i] * (z[i] - sums[i]) : 0) + beta * x[i] +
                        f->gamma * y[i];
    }
#endif
    STORES(2, ACC, Y, f->y, row / 2, values);
}

// The same where all slices are aligned, rows follow each other and none has parts. A thread has two
// neighbouring rows and asks for their values, results and most of the input in pairs: on an H200
// products with poisson7:200 took 145, 86 and 68 us in f64, f32 and f16, 153, 96 and 93 row by row.
KERNEL sliced_pairs(u32 rows, u32 inputs, u32 all_columns, u32 shared, SLICES, PARTS,
                    GLOBAL const M *RESTRICT values, GLOBAL const X *RESTRICT x,
                    FINISH_PARAMETERS) {
    const Finish f = FINISH_OPERANDS;
    const u32 at = 2 * (thread_of_block() % (LANES / 2));
    for (u64 first = (u64)block_of_grid() * (2 * SLICES_OF_BLOCK); first < slices;
         first += (u64)blocks_of_grid() * (2 * SLICES_OF_BLOCK)) {
        const u32 slice = (u32)first + thread_of_block() / (LANES / 2), slot = slice * LANES + at;
        if (slot >= rows)
            continue;
        const u32 begin = starts[slice].x, width = starts[slice + 1].x - begin;
        const u32 mark[2] = {(u32)marks[slot], slot + 1 < rows ? (u32)marks[slot + 1] : 0u};
        GLOBAL const u32 *base = bases + begin;
        GLOBAL const M *mine = values + ((u64)begin * LANES + at);
        ACC totals[2] = {0, 0};
        for (u32 t = 0; t < width; t += IN_FLIGHT) {
            ARITH(M) factors[IN_FLIGHT][2];
            ARITH(X) inputs_of[IN_FLIGHT][2];
            FOR(k, IN_FLIGHT) {
                const u32 s = min(t + k, width - 1);
                LOADS(2, M, mine + s * LANES, 0, factors[k]);
                load_neighbours(x, base[s] + at, inputs, inputs_of[k]);
            }
            FOR(k, IN_FLIGHT)
                FOR(i, 2)
                    if (mark[i] >> (t + k) & 1)
                        totals[i] += (ACC)factors[k][i] * inputs_of[k][i];
        }
        if (slot + 1 < rows)
            finish_pair(&f, slot, ALPHA(0), BETA(0), totals);
        else
            finish(&f, slot, slot, ALPHA(0), BETA(0), totals[0]);
    }
}
#endif
