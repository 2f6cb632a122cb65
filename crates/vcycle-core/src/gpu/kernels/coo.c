// Products with triplets that are sorted by row. A block takes CHUNK entries, whatever rows these are of, so that rows of very
// different lengths are shared evenly.
//
// A row that ends in a chunk is finished there unless it began in an earlier one. Of such a row the chunk leaves what it has in `heads`,
// and of one that goes on in `tails`; `coo_ends` adds them up, in the order of the chunks. Rows without entries are finished by `coo_empty`.
// Definitions beside those of rows.h: THREADS threads that add up the parts of a row.

#include "rows.h"

#define EACH 4
#define CHUNK (EACH * BLOCK)
#define NO_ROW 0xffffffffu
// Entries in local memory, with a gap for every thread: neighbours read from different banks.
#define SLOT(k) ((k) + (k) / EACH)

// Whether the first row of a chunk began before it.
FUNCTION bool goes_on(GLOBAL const u32 *rows, u64 first) {
    return first > 0 && rows[first - 1] == rows[first];
}

// What threads before have of the row that a thread begins with. `sums` and `closed` are those of each thread: what it has of its last
// row, and whether a row ended before that.
FUNCTION ACC carried(ACC sum, u32 is_closed, LOCAL ACC *sums, LOCAL u32 *closed) {
    const u32 thread = thread_of_block();
    for (u32 distance = 1; distance < BLOCK; distance *= 2) {
        sums[thread] = sum;
        closed[thread] = is_closed;
        BARRIER();
        if (thread >= distance) {
            sum = is_closed ? sum : sums[thread - distance] + sum;
            is_closed |= closed[thread - distance];
        }
        BARRIER();
    }
    sums[thread] = sum;
    BARRIER();
    return thread > 0 ? sums[thread - 1] : (ACC)0;
}

KERNEL coo(u32 cols, u64 count, GLOBAL const u32 *RESTRICT rows, GLOBAL const u32 *RESTRICT columns,
           GLOBAL ACC *heads, GLOBAL ACC *tails, GLOBAL const M *RESTRICT values,
           GLOBAL const X *RESTRICT x, FINISH_PARAMETERS) {
    LOCAL_ARRAY(ACC, products, CHUNK + BLOCK);
    LOCAL_ARRAY(u32, places, CHUNK + BLOCK + 1);
    LOCAL_ARRAY(ACC, sums, BLOCK);
    LOCAL_ARRAY(u32, closed, BLOCK);
    const Finish f = FINISH_OPERANDS;
    const u64 chunks = (count + CHUNK - 1) / CHUNK;
    for (u64 item = block_of_grid(); item < chunks * cols; item += blocks_of_grid()) {
        const u64 first = item / cols * CHUNK;
        const u32 column = (u32)(item % cols), n = (u32)min((u64)CHUNK, count - first);
        for (u32 k = thread_of_block(); k < n; k += BLOCK) {
            places[SLOT(k)] = rows[first + k];
            const ACC own = LOADED(M, values, first + k);
            products[SLOT(k)] = MULTIPLY(ACC, own, LOADED(X, x, (u64)columns[first + k] * cols + column));
        }
        if (thread_of_block() == 0)
            places[SLOT(n)] = first + n < count ? rows[first + n] : NO_ROW;
        BARRIER();
        const u32 begin = thread_of_block() * EACH, end = min(begin + EACH, n);
        ACC sum = (ACC)0;
        u32 is_closed = 0;
        for (u32 k = begin; k < end; k++) {
            sum += products[SLOT(k)];
            if (places[SLOT(k)] != places[SLOT(k + 1)]) {
                sum = (ACC)0;
                is_closed = 1;
            }
        }
        sum = carried(sum, is_closed, sums, closed);
        for (u32 k = begin; k < end; k++) {
            const u32 row = places[SLOT(k)];
            sum += products[SLOT(k)];
            if (row != places[SLOT(k + 1)]) {
                if (row == places[0] && goes_on(rows, first))
                    heads[item] = sum;
                else
                    finish(&f, row, (u64)row * cols + column, ALPHA(column), BETA(column), sum);
                sum = (ACC)0;
            }
        }
        if (begin < n && end == n)
            tails[item] = sum;
        BARRIER();
    }
}

KERNEL coo_ends(u32 cols, u64 count, GLOBAL const u32 *RESTRICT rows, GLOBAL const u32 *columns,
                GLOBAL const ACC *RESTRICT heads, GLOBAL const ACC *RESTRICT tails, GLOBAL const M *values,
                GLOBAL const X *x, FINISH_PARAMETERS) {
    LOCAL_ARRAY(ACC, scratch, BLOCK);
    const Finish f = FINISH_OPERANDS;
    const u32 part = thread_of_block() % THREADS, together = BLOCK / THREADS;
    const u64 items = (count + CHUNK - 1) / CHUNK * cols;
    for (u64 base = (u64)block_of_grid() * together; base < items;
         base += (u64)blocks_of_grid() * together) {
        const u64 item = base + thread_of_block() / THREADS, chunk = item / cols;
        const u64 first = chunk * CHUNK, end = min(first + CHUNK, count);
        const u32 column = (u32)(item % cols);
        const u32 row = item < items ? rows[first] : NO_ROW;
        const bool ends = item < items && goes_on(rows, first) && (end == count || rows[end] != row);
        ACC sum = (ACC)0;
        if (ends) {
            // The first chunk that begins with the row; the one before ends with it, or else it is the first of all.
            u64 low = 0, high = chunk;
            while (low < high) {
                const u64 middle = (low + high) / 2;
                if (rows[middle * CHUNK] < row)
                    low = middle + 1;
                else
                    high = middle;
            }
            if (goes_on(rows, low * CHUNK))
                low--;
            for (u64 other = low + part; other < chunk; other += THREADS)
                sum += tails[other * cols + column];
        }
        sum = TILE_SUM(ACC, sum, THREADS, scratch);
        if (ends && part == 0)
            finish(&f, row, (u64)row * cols + column, ALPHA(column), BETA(column), sum + heads[item]);
    }
}

KERNEL coo_empty(u32 cols, u64 count, GLOBAL const u32 *RESTRICT rows, GLOBAL const u32 *columns,
                 GLOBAL const ACC *heads, GLOBAL const ACC *tails, GLOBAL const M *values,
                 GLOBAL const X *x, FINISH_PARAMETERS) {
    const Finish f = FINISH_OPERANDS;
    FOR_ITEMS(item, count * cols) {
        const u32 row = rows[item / cols], column = (u32)(item % cols);
        finish(&f, row, (u64)row * cols + column, ALPHA(column), BETA(column), (ACC)0);
    }
}
