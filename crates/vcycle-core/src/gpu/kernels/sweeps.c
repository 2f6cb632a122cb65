// Fixed-point sweeps of incomplete factors on the pattern of a matrix, as precond/par_ilu.rs and precond/par_ic.rs have them:
// every entry is made anew from the values before the sweep.
//
// Definitions: ACC, the type they are computed in.

#include "tiles.h"

#define PATTERN SIZED_GRAPH, GLOBAL const u64 *RESTRICT diagonal
#define SIZE(value) ((value) < 0 ? -(value) : (value))

// Both factors: f_ij = a_ij - sum_k<min(i,j) f_ik f_kj / f_kk. The threads of a row share one k after the other, so that
// products are taken away in the order of the host.
KERNEL sweep_lu(PATTERN, GLOBAL const ACC *RESTRICT a, GLOBAL const ACC *RESTRICT old,
                GLOBAL ACC *next) {
    FOR_ROWS(row, rows) {
        // Threads without a row come along with an empty one.
        const bool is_own = !IS_REPEATED(rows);
        const u64 begin = offsets[row];
        const u64 end = is_own ? offsets[row + 1] : begin, own = is_own ? diagonal[row] : begin;
        for (u64 place = begin + part_of_row(); place < end; place += ROW_THREADS)
            next[place] = a[place];
        ROW_SYNC();
        for (u64 left = begin; ANY(left < own); left++) {
            const bool is_left = left < own;
            const u32 above = is_left ? columns[left] : 0;
            const u64 pivot = diagonal[above];
            const u64 last = is_left ? offsets[above + 1] : 0, first = is_left ? pivot + 1 : last;
            const ACC factor = is_left ? (ACC)product(old[left], 1 / old[pivot]) : 0;
            FOR_CHUNKS(chunk, first, last) {
                const u64 other = chunk + part_of_row();
                if (other >= last)
                    continue;
                const u64 place = place_in(columns, left + 1, end, columns[other]);
                if (place < end)
                    next[place] -= (ACC)product(factor, old[other]);
            }
            ROW_SYNC();
        }
    }
}

// The lower factor of a symmetric matrix: f_ij = a_ij - sum_k<j f_ik f_jk / f_kk.
KERNEL sweep_cholesky(PATTERN, GLOBAL const ACC *RESTRICT a, GLOBAL const ACC *RESTRICT old,
                      GLOBAL ACC *next) {
    FOR_ROWS(row, rows) {
        FOR_ENTRIES(place, offsets, row) {
            const u32 column = columns[place];
            ACC value = a[place];
            u64 mine = offsets[row];
            for (u64 other = offsets[column]; other < diagonal[column]; other++) {
                const u32 k = columns[other];
                while (columns[mine] < k)
                    mine++;
                if (columns[mine] != k)
                    continue;
                const ACC left = (ACC)product(old[mine], 1 / old[diagonal[k]]);
                value -= (ACC)product(left, old[other]);
            }
            next[place] = value;
        }
    }
}

// The norm of x - y, or of x, scaled to a unit diagonal of a; `partials` has a number for every block.
KERNEL sweep_distance(PATTERN, GLOBAL const ACC *RESTRICT a, GLOBAL const ACC *RESTRICT x,
                      GLOBAL const ACC *RESTRICT y, GLOBAL f64 *partials, GLOBAL u32 *counter,
                      GLOBAL f64 *RESTRICT norm) {
    LOCAL_ARRAY(f64, scratch, BLOCK);
    f64 sum = 0;
    FOR_ROWS(row, rows) {
        if (IS_REPEATED(rows))
            continue;
        const f64 scale = SIZE(a[diagonal[row]]);
        FOR_ENTRIES(place, offsets, row) {
            const f64 apart = x[place] - (y ? y[place] : 0);
            sum += apart * apart / (scale * SIZE((f64)a[diagonal[columns[place]]]));
        }
    }
    sum = BLOCK_SUM(f64, sum, scratch);
    if (thread_of_block() == 0)
        partials[block_of_grid()] = sum;
    if (!LAST_BLOCK(counter, scratch))
        return;
    sum = 0;
    for (u32 block = thread_of_block(); block < blocks_of_grid(); block += BLOCK)
        sum += partials[block];
    sum = BLOCK_SUM(f64, sum, scratch);
    if (thread_of_block() == 0)
        *norm = SQUARE_ROOT(f64, sum);
}

// Pivots, or their `roots`, and whether one has none.
KERNEL sweep_pivots(u64 rows, GLOBAL const u64 *RESTRICT diagonal, GLOBAL const ACC *RESTRICT values,
                    u32 roots, GLOBAL ACC *RESTRICT pivots, GLOBAL u32 *found) {
    FOR_ITEMS(row, rows) {
        const ACC pivot = values[diagonal[row]];
        pivots[row] = roots ? SQUARE_ROOT(ACC, pivot) : pivot;
        if (roots && !(pivot > 0))
            *found = 1;
    }
}

// What stands before the diagonal, or on it, too, (`roots`), over the pivots of its columns.
KERNEL sweep_divide(PATTERN, GLOBAL const ACC *RESTRICT pivots, u32 roots,
                    GLOBAL ACC *RESTRICT values) {
    FOR_ROWS(row, rows) {
        if (IS_REPEATED(rows))
            continue;
        const u64 end = diagonal[row] + roots;
        for (u64 place = offsets[row] + part_of_row(); place < end; place += ROW_THREADS)
            values[place] = values[place] / pivots[columns[place]];
    }
}
