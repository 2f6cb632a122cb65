// Many small systems A x = b of one pattern by LU factorisation with partial pivoting in their band: a block factorises one
// system, solves it, improves the solution until the residual is small enough, and takes the next.
//
// Definitions: those of batch.h.

#include "batch.h"
#pragma block 64

// Up to so many entries below the diagonal all threads look for the pivot by themselves, which takes no barrier.
#define ALONE 16

// Entry (i, j) is `base + i * stride + j`; rows reach up to `below` rows below the diagonal and, once rows are exchanged,
// `reach` columns from it on. What is below the diagonal stays undivided.
typedef struct {
    u32 rows, below, reach, base, stride;
    SPACE A *values;
    LOCAL A *inverses;
    LOCAL u32 *pivots, *found;
} Band;

#define ENTRY(i, j) lu.values[lu.base + (i) * lu.stride + (j)]

// Orders sizes as they are; doubles by their upper half.
FUNCTION u32 rank_f32(f32 size) { return bits_of_f32(size); }
FUNCTION u32 rank_f64(f64 size) { return (u32)(bits_of_f64(size) >> 32); }
#define RANK(value) PASTE(rank_, Real)(MAGNITUDE(A, value))

// The row of the largest entry of a column, from the diagonal on.
FUNCTION u32 pivot_of(Band lu, u32 k, u32 end) {
    u32 pivot = k;
    if (lu.below <= ALONE) {
        for (u32 i = k + 1; i < end; i++)
            pivot = MAGNITUDE(A, ENTRY(i, k)) > MAGNITUDE(A, ENTRY(pivot, k)) ? i : pivot;
        return pivot;
    }
    if (thread_of_block() == 0) {
        lu.found[0] = 0;
        lu.found[1] = end;
    }
    BARRIER();
    for (u32 i = k + thread_of_block(); i < end; i += BLOCK)
        ATOMIC_MAX(lu.found, RANK(ENTRY(i, k)));
    BARRIER();
    u32 largest = lu.found[0];
    for (u32 i = k + thread_of_block(); i < end; i += BLOCK)
        if (RANK(ENTRY(i, k)) == largest)
            ATOMIC_MIN(lu.found + 1, i);
    BARRIER();
    return lu.found[1];
}

FUNCTION void exchange(Band lu, u32 k, u32 pivot, u32 end) {
    for (u32 j = k + thread_of_block(); j < end; j += BLOCK) {
        A own = ENTRY(k, j);
        ENTRY(k, j) = ENTRY(pivot, j);
        ENTRY(pivot, j) = own;
    }
    BARRIER();
}

// Replaces the entries by the factors; the column that has no pivot, or the number of rows. `lanes` threads share a row.
FUNCTION u32 factorise(Band lu, u32 lanes) {
    u32 lane_of_row = thread_of_block() & (lanes - 1), team = thread_of_block() / lanes;
    for (u32 k = 0; k < lu.rows; k++) {
        u32 end_of_rows = k + lu.below + 1 < lu.rows ? k + lu.below + 1 : lu.rows;
        u32 end = k + lu.reach < lu.rows ? k + lu.reach : lu.rows;
        u32 pivot = pivot_of(lu, k, end_of_rows);
        A value = ENTRY(pivot, k);
        if (!is_pivot(value))
            return k;
        A inverse = inverse_of(value);
        if (pivot != k) {
            BARRIER();
            exchange(lu, k, pivot, end);
        }
        if (thread_of_block() == 0) {
            lu.pivots[k] = pivot;
            lu.inverses[k] = inverse;
        }
        for (u32 i = k + 1 + team; i < end_of_rows; i += BLOCK / lanes) {
            A factor = MULTIPLY(A, ENTRY(i, k), inverse);
            for (u32 j = k + 1 + lane_of_row; !IS_ZERO(A, factor) && j < end; j += lanes)
                ENTRY(i, j) -= MULTIPLY(A, factor, ENTRY(k, j));
        }
        BARRIER();
    }
    return lu.rows;
}

// x += A^-1 r; nothing is left of r.
FUNCTION void correct(Band lu, LOCAL A *r, LOCAL A *x) {
    for (u32 k = 0; k < lu.rows; k++) {
        u32 end = k + lu.below + 1 < lu.rows ? k + lu.below + 1 : lu.rows, pivot = lu.pivots[k];
        if (pivot != k) {
            if (thread_of_block() == 0) {
                A own = r[k];
                r[k] = r[pivot];
                r[pivot] = own;
            }
            BARRIER();
        }
        A value = MULTIPLY(A, r[k], lu.inverses[k]);
        for (u32 i = k + 1 + thread_of_block(); i < end; i += BLOCK)
            r[i] -= MULTIPLY(A, ENTRY(i, k), value);
        BARRIER();
    }
    for (u32 k = lu.rows; k-- > 0;) {
        A value = MULTIPLY(A, r[k], lu.inverses[k]);
        u32 first = k + 1 > lu.reach ? k + 1 - lu.reach : 0;
        for (u32 i = first + thread_of_block(); i < k; i += BLOCK)
            r[i] -= MULTIPLY(A, ENTRY(i, k), value);
        if (thread_of_block() == 0)
            x[k] += value;
        BARRIER();
    }
}

FUNCTION void fill(Band lu, Matrix a, u32 size) {
    u32 rows = a.rows;
    for (u32 at = thread_of_block(); at < size; at += BLOCK)
        lu.values[at] = 0;
    BARRIER();
    FOR_ROWS(row) {
        for (u32 at = row, slot = 0; slot < a.lengths[row]; slot++, at += rows)
            ENTRY(row, a.columns[at]) = LOAD(T, a.values, at);
    }
    BARRIER();
}

KERNEL batch_direct(BATCH, u32 below, u32 reach, u32 base, u32 stride, u32 lanes, u32 factors_size,
                    GLOBAL A *rooms) {
    LOCAL_ARRAY(A, x, ROWS);
    LOCAL_ARRAY(A, r, ROWS);
    LOCAL_ARRAY(A, inverses, ROWS);
    LOCAL_ARRAY(u32, pivots, ROWS);
    LOCAL_ARRAY(A, scratch, BLOCK);
    LOCAL_ARRAY(u32, found, 2);
    FACTORS_HERE(factors, rooms, factors_size);
    Band lu = {rows, below, reach, base, stride, factors, inverses, pivots, found};
    Matrix a = {rows, width, columns, lengths, diagonal, values};
    for (u32 system = block_of_grid(); system < systems; system += blocks_of_grid()) {
        u64 first = (u64)system * rows;
        a.values = values + first * width;
        Progress at = begin(rows, bs + first, xs + first, rtol, atol, x, scratch);
        u32 column = rows;
        while (has_to_start(&at, a, bs + first, most, x, r, scratch)) {
            if (at.starts++ == 0) {
                fill(lu, a, factors_size);
                column = factorise(lu, lanes);
            }
            if (column < rows) {
                at.status = BREAKDOWN;
                break;
            }
            correct(lu, r, x);
            at.iterations++;
        }
        finish(at, system, rows, column, x, xs, ended);
    }
}
