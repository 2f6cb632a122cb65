// The inverse of a dense matrix by Gauss-Jordan elimination in place, PANEL columns at a time: the last
// block to arrive finds what the steps of a panel do to its columns, and all blocks do the same to the others.
// Pivots are those of multigrid/coarsest/dense.rs; where one counts as zero its row and column are zero.
//
// Rows of the matrix are followed by what counts as a zero pivot in them and their number.
//
// Definitions: PANEL; LOCAL_ROWS, so many rows of a panel are in local memory, or 0; T, the type of the inverse.

#define STRIDE(n) ((u64)(n) + 2)
#if LOCAL_ROWS
#define SPACE LOCAL
#else
#define SPACE GLOBAL
#endif

FUNCTION f64 modulus(f64 value) { return value < 0 ? -value : value; }

// A sparse matrix as a dense one that was zero before.
KERNEL invert_start(u64 n, f64 zero_pivot, CSR(f64, values), GLOBAL f64 *RESTRICT a) {
    FOR_ITEMS(row, n) {
        GLOBAL f64 *own = a + row * STRIDE(n);
        f64 largest = 0;
        for (u64 place = offsets[row]; place < offsets[row + 1]; place++) {
            const f64 value = values[place], size = modulus(value);
            own[columns[place]] = value;
            largest = size > largest ? size : largest;
        }
        own[n] = zero_pivot * largest;
        own[n + 1] = (f64)row;
    }
}

// What the steps of the panel of the columns from `first` on do to the others.
FUNCTION void update(u32 n, u32 first, GLOBAL const f64 *RESTRICT before, GLOBAL const f64 *panel,
                     GLOBAL const u32 *source, GLOBAL f64 *after) {
    const u32 width = n - first < PANEL ? n - first : PANEL;
    FOR_ITEMS(i, n * STRIDE(n)) {
        const u32 row = (u32)(i / STRIDE(n)), column = (u32)(i % STRIDE(n));
        const bool is_matrix = column < n, is_pivot = row - first < width;
        if (column - first < width) {
            after[i] = panel[(column - first) * n + row];
            continue;
        }
        f64 sum = is_pivot && is_matrix ? 0 : before[source[row] * STRIDE(n) + column];
        for (u32 k = 0; is_matrix && k < width; k++)
            sum += panel[k * n + row] * before[source[first + k] * STRIDE(n) + column];
        after[i] = sum;
    }
}

// The largest entry of a column from `first` on, the first of equal ones; all threads come along.
FUNCTION u32 largest_from(u32 first, u32 n, SPACE const f64 *column, LOCAL f64 *sizes,
                          LOCAL u32 *places) {
    const u32 thread = thread_of_block();
    f64 size = -1;
    u32 place = first;
    for (u32 row = first + thread; row < n; row += BLOCK)
        if (modulus(column[row]) > size) {
            size = modulus(column[row]);
            place = row;
        }
    sizes[thread] = size;
    places[thread] = place;
    for (u32 distance = BLOCK / 2; distance > 0; distance /= 2) {
        BARRIER();
        const u32 other = thread + distance;
        if (thread < distance && (sizes[other] > sizes[thread] ||
                                  (sizes[other] == sizes[thread] && places[other] < places[thread]))) {
            sizes[thread] = sizes[other];
            places[thread] = places[other];
        }
    }
    BARRIER();
    return places[0];
}

// Eliminates the columns of `a` from `first` on, by one block. `panel`, column by column, is what they become,
// and `source` the rows of `a` before they changed places.
FUNCTION void eliminate(u32 n, u32 first, f64 pivoting, GLOBAL const f64 *a, GLOBAL f64 *panel,
                        GLOBAL u32 *source, SPACE f64 *work, LOCAL f64 *sizes, LOCAL u32 *places,
                        LOCAL f64 *pivots, LOCAL u32 *swaps) {
    const u32 thread = thread_of_block(), width = n - first < PANEL ? n - first : PANEL;
    for (u32 i = thread; i < n * (PANEL + 1); i += BLOCK) {
        const u32 row = i / (PANEL + 1), k = i % (PANEL + 1);
        const u32 column = k == PANEL ? n : first + k;
        work[k * n + row] = k == PANEL || k < width ? a[row * STRIDE(n) + column] : 0;
    }
    if (thread == 0)
        swaps[PANEL] = PANEL;
    BARRIER();
    for (u32 step = 0; step < width; step++) {
        const u32 top = first + step;
        SPACE f64 *column = work + step * n;
        const f64 limit = pivoting * modulus(column[top]);
        if (thread <= PANEL)
            pivots[thread] = work[thread * n + top];
        // Whoever finds a larger entry leaves the same note.
        for (u32 row = thread; row < n; row += BLOCK)
            if (row > top && modulus(column[row]) > limit)
                swaps[PANEL] = step;
        BARRIER();
        u32 pivot = top;
        if (swaps[PANEL] == step) {
            pivot = largest_from(top, n, column, sizes, places);
            if (thread <= PANEL) {
                work[thread * n + top] = work[thread * n + pivot];
                work[thread * n + pivot] = pivots[thread];
                pivots[thread] = work[thread * n + top];
            }
            BARRIER();
        }
        if (thread == 0)
            swaps[step] = pivot;
        const f64 inverse = modulus(pivots[step]) > pivots[PANEL] ? 1 / pivots[step] : 0;
        for (u32 row = thread; row < n; row += BLOCK) {
            const f64 factor = row == top ? -inverse : column[row] * inverse;
            FOR(k, PANEL) {
                const f64 before = row == top ? 0 : work[k * n + row];
                work[k * n + row] = before - factor * pivots[k];
            }
            column[row] = -factor;
        }
        BARRIER();
    }
    for (u32 row = thread; row < n; row += BLOCK) {
        u32 from = row;
        for (u32 step = width; step-- > 0;)
            from = from == first + step ? swaps[step] : from == swaps[step] ? first + step : from;
        source[row] = from;
    }
#if LOCAL_ROWS
    for (u32 i = thread; i < n * width; i += BLOCK)
        panel[i] = work[i];
#endif
}

// The other columns of the panel before, unless this is the first, and the next panel, if there is one.
KERNEL invert_step(u32 n, u32 first, f64 pivoting, GLOBAL const f64 *RESTRICT before,
                   GLOBAL f64 *after, GLOBAL f64 *panel, GLOBAL u32 *source, GLOBAL u32 *counter) {
    LOCAL_ARRAY(f64, sizes, BLOCK);
    LOCAL_ARRAY(u32, places, BLOCK);
    LOCAL_ARRAY(f64, pivots, PANEL + 1);
    LOCAL_ARRAY(u32, swaps, PANEL + 1);
#if LOCAL_ROWS
    LOCAL_ARRAY(f64, work, LOCAL_ROWS * (PANEL + 1));
#else
    GLOBAL f64 *work = panel;
#endif
    if (first > 0)
        update(n, first - PANEL, before, panel, source, after);
    if (LAST_BLOCK(counter, places) && first < n)
        eliminate(n, first, pivoting, after, panel, source, work, sizes, places, pivots, swaps);
}

// The inverse as it is stored: with the columns where rows of the matrix were.
KERNEL invert_end(u64 n, GLOBAL const f64 *RESTRICT a, GLOBAL T *RESTRICT out) {
    FOR_ITEMS(i, n * n) {
        const u64 row = i / n, column = i % n;
        const u64 place = (u64)a[column * STRIDE(n) + n + 1];
        STORE(f64, T, out, row * n + place, a[row * STRIDE(n) + column]);
    }
}
