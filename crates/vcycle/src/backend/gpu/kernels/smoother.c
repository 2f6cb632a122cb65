// What smoothers need of a matrix of values T.

#define A ARITH(T)
#define MATRIX                                                                                     \
    u64 rows, GLOBAL const u64 *RESTRICT offsets, GLOBAL const u32 *RESTRICT columns,              \
        GLOBAL const T *RESTRICT values

FUNCTION A size_of(A value) { return value < 0 ? -value : value; }

ROW_FOLD(A, row_sum_of, all + next)

// The inverses of what rows are divided by, times a weight; the first rows where that is zero, and
// where the inverse cannot be stored.
FUNCTION void invert(u64 row, A value, A weight, GLOBAL T *inverses, GLOBAL u32 *first) {
    STORE(A, T, inverses, row, weight * (1 / value));
    const A stored = LOAD(T, inverses, row);
    if (value == 0)
        ATOMIC_MIN(first, row);
    if (stored - stored != 0)
        ATOMIC_MIN(first + 1, row);
}

KERNEL smoother_diagonal(MATRIX, A weight, GLOBAL T *RESTRICT inverses, GLOBAL u32 *first) {
    FOR_ROWS(row, rows) {
        const u64 place = find_entry(offsets, columns, row, (u32)row);
        const A own = place < offsets[row + 1] ? LOAD(T, values, place) : 0;
        invert(row, own, weight, inverses, first);
    }
}

KERNEL smoother_row_sums(MATRIX, A weight, GLOBAL T *RESTRICT inverses, GLOBAL u32 *first) {
    LOCAL_ARRAY(A, scratch, BLOCK);
    FOR_ROWS(row, rows) {
        A sum = 0;
        FOR_ENTRIES(place, offsets, row) sum += size_of(LOAD(T, values, place));
        sum = row_sum_of(sum, scratch);
        if (leads_row())
            invert(row, sum, weight, inverses, first);
    }
}

// For every block of threads the largest row sum over the diagonal.
KERNEL smoother_bound(MATRIX, GLOBAL f64 *RESTRICT bounds) {
    LOCAL_ARRAY(f64, scratch, BLOCK);
    f64 bound = 0;
    FOR_ROWS(row, rows) {
        f64 own = 0, sum = 0;
        FOR_ENTRIES(place, offsets, row) {
            const f64 size = size_of(LOAD(T, values, place));
            sum += size;
            own = columns[place] == row ? size : own;
        }
        own = row_sum(own, scratch);
        sum = row_sum(sum, scratch);
        bound = sum / own > bound ? sum / own : bound;
    }
    bound = block_largest(bound, scratch);
    if (thread_of_block() == 0)
        bounds[block_of_grid()] = bound;
}

// Numbers in -1..1 that look random, as multigrid/spectrum.rs has them.
KERNEL smoother_scatter(u64 rows, GLOBAL T *RESTRICT v) {
    FOR_ITEMS(row, rows) STORE(f64, T, v, row, scattered(row));
}
