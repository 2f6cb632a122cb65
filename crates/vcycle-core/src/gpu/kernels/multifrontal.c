// A sparse LU factorisation by dense matrices, the fronts of a tree (Duff and Reid 1983), as solver/direct/tree.rs numbers
// them. A front has the rows and columns of its pivots first, and then those that eliminating them changes: these
// are added to the next front on the way to the root. Fronts of one level of the tree do not depend on each other.
//
// Pivots are eliminated PANEL at a time. What stands in the place of a diagonal block after that is the inverse of L,
// below the diagonal, and that of U: substitution becomes products.
//
// Definitions: ACC, the type of the fronts, f64 or c64; of solves TRANSPOSED, 1 where they are with the transposed matrix, and
// CONJUGATED, 1 where its entries are conjugated, too.

#define PANEL 32
// Rows of blocks in local memory are one number apart from a power of two.
#define STRIDE (PANEL + 1)
#define PARTS (BLOCK / PANEL)

// Of every front the rows, the pivots among them, its place among all values and that of its rows among all lists.
#define FRONTS                                                                                     \
    GLOBAL const u32 *RESTRICT sizes, GLOBAL const u32 *RESTRICT pivots,                           \
        GLOBAL const u64 *RESTRICT places, GLOBAL const u64 *RESTRICT lists
// Which fronts are added to each, and for every row the row of the front it is added to.
#define CHILDREN                                                                                   \
    GLOBAL const u32 *RESTRICT child_offsets, GLOBAL const u32 *RESTRICT children,                 \
        GLOBAL const u32 *RESTRICT targets

// The last of `count` ascending numbers that is not larger than `value`.
FUNCTION u32 last_up_to(GLOBAL const u32 *numbers, u32 count, u32 value) {
    u32 low = 0, high = count;
    while (high - low > 1) {
        const u32 middle = (low + high) / 2;
        if (numbers[middle] <= value)
            low = middle;
        else
            high = middle;
    }
    return low;
}

// How many of `count` ascending numbers are smaller than `bound`.
FUNCTION u32 smaller_than(GLOBAL const u32 *numbers, u32 count, u32 bound) {
    u32 low = 0, high = count;
    while (low < high) {
        const u32 middle = (low + high) / 2;
        if (numbers[middle] < bound)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// ---- factors

// The entries of a matrix, scaled, where they belong; fronts are zero before.
KERNEL front_entries(u64 count, GLOBAL const ACC *RESTRICT given, GLOBAL const f64 *RESTRICT scales,
                     GLOBAL const u64 *RESTRICT to, GLOBAL ACC *RESTRICT values) {
    FOR_ITEMS(entry, count)
        values[to[entry]] = MULTIPLY(ACC, given[entry], OF_REAL(ACC, scales[entry]));
}

// Adds what fronts below have left to those from `first` on. A block has PANEL rows of a front; `starts` are the first
// blocks of every front.
KERNEL front_gather(u32 first, u32 count, GLOBAL const u32 *RESTRICT starts, FRONTS, CHILDREN,
                    GLOBAL ACC *values) {
    const u32 own = last_up_to(starts, count, block_of_grid()), front = first + own;
    const u32 begin = (block_of_grid() - starts[own]) * PANEL, size = sizes[front];
    GLOBAL ACC *to = values + places[front];
    for (u32 child = child_offsets[front]; child < child_offsets[front + 1]; child++) {
        const u32 below = children[child], left = sizes[below] - pivots[below];
        GLOBAL const u32 *rows = targets + lists[below] + pivots[below];
        GLOBAL const ACC *from = values + places[below] + (u64)pivots[below] * (sizes[below] + 1);
        const u32 low = smaller_than(rows, left, begin), high = smaller_than(rows, left, begin + PANEL);
        for (u32 entry = thread_of_block(); entry < (high - low) * left; entry += BLOCK) {
            const u32 row = low + entry / left, column = entry % left;
            to[(u64)rows[row] * size + rows[column]] += from[(u64)row * sizes[below] + column];
        }
        BARRIER();
    }
}

// Loads rows and columns of a front from (row, column) on; zeros beyond `rows` and `columns` of them.
FUNCTION void load_block(GLOBAL const ACC *RESTRICT front, u32 size, u32 row, u32 column, u32 rows,
                         u32 columns, LOCAL ACC *block) {
    for (u32 entry = thread_of_block(); entry < PANEL * PANEL; entry += BLOCK) {
        const u32 i = entry / PANEL, j = entry % PANEL;
        block[i * STRIDE + j] =
            i < rows && j < columns ? front[(u64)(row + i) * size + column + j] : (ACC)0;
    }
}

// The columns of both inverses of the factors of a block, a thread each.
FUNCTION void invert_lower(u32 column, u32 width, LOCAL const ACC *block, LOCAL ACC *inverse) {
    for (u32 i = column + 1; i < width; i++) {
        ACC sum = block[i * STRIDE + column];
        for (u32 k = column + 1; k < i; k++)
            sum += MULTIPLY(ACC, block[i * STRIDE + k], inverse[k * STRIDE + column]);
        inverse[i * STRIDE + column] = (ACC)0 - sum;
    }
}

FUNCTION void invert_upper(u32 column, LOCAL const ACC *block, LOCAL ACC *inverse) {
    for (u32 i = column + 1; i-- > 0;) {
        ACC sum = i == column ? OF_REAL(ACC, 1) : (ACC)0;
        for (u32 k = i + 1; k <= column; k++)
            sum -= MULTIPLY(ACC, block[i * STRIDE + k], inverse[k * STRIDE + column]);
        inverse[i * STRIDE + column] = OVER(ACC, sum, block[i * STRIDE + i]);
    }
}

// Factorises the diagonal block at pivot `begin` of the fronts from `first` on, a block of threads each. Counts pivots
// that are zero or not finite.
KERNEL front_diagonal(u32 first, u32 begin, FRONTS, GLOBAL ACC *values, GLOBAL u32 *failed) {
    LOCAL_ARRAY(ACC, block, PANEL * STRIDE);
    LOCAL_ARRAY(ACC, inverse, PANEL * STRIDE);
    const u32 front = first + block_of_grid(), size = sizes[front], thread = thread_of_block();
    const u32 width = pivots[front] - begin < PANEL ? pivots[front] - begin : PANEL;
    GLOBAL ACC *own = values + places[front];
    load_block(own, size, begin, begin, width, width, block);
    BARRIER();
    for (u32 k = 0; k < width; k++) {
        if (thread > k && thread < width)
            block[thread * STRIDE + k] = OVER(ACC, block[thread * STRIDE + k], block[k * STRIDE + k]);
        BARRIER();
        for (u32 entry = thread; entry < PANEL * PANEL; entry += BLOCK) {
            const u32 i = entry / PANEL, j = entry % PANEL;
            if (i > k && j > k)
                block[i * STRIDE + j] -= MULTIPLY(ACC, block[i * STRIDE + k], block[k * STRIDE + j]);
        }
        BARRIER();
    }
    if (thread < width) {
        const ACC pivot = block[thread * STRIDE + thread];
        const f64 square = REAL_PART(ACC, SQUARE(ACC, pivot));
        if (!(square > 0 && square - square == 0))
            ATOMIC_ADD(failed, 1);
        invert_upper(thread, block, inverse);
    } else if (thread >= PANEL && thread - PANEL < width)
        invert_lower(thread - PANEL, width, block, inverse);
    BARRIER();
    for (u32 entry = thread; entry < PANEL * PANEL; entry += BLOCK) {
        const u32 i = entry / PANEL, j = entry % PANEL;
        if (i < width && j < width)
            own[(u64)(begin + i) * size + begin + j] = inverse[i * STRIDE + j];
    }
}

// The part of the front that a block of threads has behind the panel at pivot `begin`: `starts` are the first blocks of every
// front.
#define BEHIND                                                                                     \
    const u32 own = last_up_to(starts, count, block_of_grid()), front = first + own;               \
    const u32 tile = block_of_grid() - starts[own], size = sizes[front], thread = thread_of_block(); \
    const u32 width = pivots[front] - begin < PANEL ? pivots[front] - begin : PANEL;               \
    const u32 behind = begin + width;                                                              \
    GLOBAL ACC *to = values + places[front];                                                       \
    LOCAL_ARRAY(ACC, left, PANEL * STRIDE);                                                        \
    LOCAL_ARRAY(ACC, right, PANEL * STRIDE);
#define ROWS_OF(tile_at) (size - (tile_at) < PANEL ? size - (tile_at) : PANEL)

// The columns of L below a panel, A U^-1, and the rows of U behind it, L^-1 A, PANEL of either.
KERNEL front_edges(u32 first, u32 count, u32 begin, GLOBAL const u32 *RESTRICT starts, FRONTS,
                   GLOBAL ACC *values) {
    BEHIND
    const u32 at = behind + tile * PANEL, rows = ROWS_OF(at);
    load_block(to, size, at, begin, rows, width, left);
    load_block(to, size, begin, begin, width, width, right);
    BARRIER();
    for (u32 entry = thread; entry < PANEL * PANEL; entry += BLOCK) {
        const u32 i = entry / PANEL, j = entry % PANEL;
        ACC sum = 0;
        for (u32 k = 0; k <= j; k++)
            sum += MULTIPLY(ACC, left[i * STRIDE + k], right[k * STRIDE + j]);
        if (i < rows && j < width)
            to[(u64)(at + i) * size + begin + j] = sum;
    }
    BARRIER();
    load_block(to, size, begin, at, width, rows, left);
    BARRIER();
    for (u32 entry = thread; entry < PANEL * PANEL; entry += BLOCK) {
        const u32 i = entry / PANEL, j = entry % PANEL;
        ACC sum = left[i * STRIDE + j];
        for (u32 k = 0; k < i; k++)
            sum += MULTIPLY(ACC, right[i * STRIDE + k], left[k * STRIDE + j]);
        if (i < width && j < rows)
            to[(u64)(begin + i) * size + at + j] = sum;
    }
}

// Takes the product of these columns and rows from what is behind both.
KERNEL front_update(u32 first, u32 count, u32 begin, GLOBAL const u32 *RESTRICT starts, FRONTS,
                    GLOBAL ACC *values) {
    BEHIND
    const u32 tiles = (size - behind + PANEL - 1) / PANEL;
    const u32 row = behind + tile / tiles * PANEL, column = behind + tile % tiles * PANEL;
    const u32 rows = ROWS_OF(row), columns = ROWS_OF(column);
    load_block(to, size, row, begin, rows, width, left);
    load_block(to, size, begin, column, width, columns, right);
    BARRIER();
    // A thread has PANEL / PARTS rows of one column.
    const u32 j = thread % PANEL, part = thread / PANEL;
    ACC sums[PANEL / PARTS];
    FOR(i, PANEL / PARTS) sums[i] = 0;
    for (u32 k = 0; k < width; k++) {
        const ACC factor = right[k * STRIDE + j];
        FOR(i, PANEL / PARTS)
            sums[i] += MULTIPLY(ACC, left[(i * PARTS + part) * STRIDE + k], factor);
    }
    FOR(i, PANEL / PARTS) {
        const u32 at = i * PARTS + part;
        if (at < rows && j < columns)
            to[(u64)(row + at) * size + column + j] -= sums[i];
    }
}

// ---- solves

#ifndef TRANSPOSED
#define TRANSPOSED 0
#define CONJUGATED 0
#endif

// An entry of the first factor below the diagonal, or of the second one above it. Of the matrix itself these are L, with ones on
// its diagonal, and U; transposed U comes first.
FUNCTION ACC factor(GLOBAL const ACC *RESTRICT front, u32 size, u32 i, u32 j) {
    const ACC value = front[TRANSPOSED ? (u64)j * size + i : (u64)i * size + j];
    return CONJUGATED ? CONJ(ACC, value) : value;
}

// Unknowns in the order of the fronts: which row and column of the matrix is the g-th, and what they are multiplied by.
#define UNKNOWNS GLOBAL const u32 *RESTRICT from, GLOBAL const f64 *RESTRICT scales
#define AT(front, i) (((u64)lists[front] + (i)) * cols + column)

// Forward substitution with the fronts from `first` on, a block of threads each. `work` has a number for every row of a front.
KERNEL front_forward(u32 first, u32 cols, FRONTS, CHILDREN, GLOBAL const u32 *RESTRICT unknowns, UNKNOWNS,
                     GLOBAL const ACC *RESTRICT values, GLOBAL const ACC *RESTRICT b, GLOBAL ACC *work) {
    LOCAL_ARRAY(ACC, given, PANEL);
    LOCAL_ARRAY(ACC, found, PANEL);
    const u32 front = first + block_of_grid(), size = sizes[front], thread = thread_of_block();
    GLOBAL const ACC *own = values + places[front];
    for (u32 column = 0; column < cols; column++) {
        for (u32 i = thread; i < size; i += BLOCK) {
            ACC value = 0;
            if (i < pivots[front]) {
                const u32 unknown = unknowns[lists[front] + i];
                value = MULTIPLY(ACC, b[(u64)from[unknown] * cols + column],
                                 OF_REAL(ACC, scales[unknown]));
            }
            work[AT(front, i)] = value;
        }
        BARRIER();
        for (u32 child = child_offsets[front]; child < child_offsets[front + 1]; child++) {
            const u32 below = children[child];
            for (u32 i = pivots[below] + thread; i < sizes[below]; i += BLOCK)
                work[AT(front, targets[lists[below] + i])] += work[AT(below, i)];
            BARRIER();
        }
        for (u32 begin = 0; begin < pivots[front]; begin += PANEL) {
            const u32 width = pivots[front] - begin < PANEL ? pivots[front] - begin : PANEL;
            if (thread < width)
                given[thread] = work[AT(front, begin + thread)];
            BARRIER();
            if (thread < width) {
                ACC sum = TRANSPOSED ? (ACC)0 : given[thread];
                for (u32 k = 0; k < thread + TRANSPOSED; k++)
                    sum += MULTIPLY(ACC, factor(own, size, begin + thread, begin + k), given[k]);
                found[thread] = sum;
                work[AT(front, begin + thread)] = sum;
            }
            BARRIER();
            for (u32 i = begin + width + thread; i < size; i += BLOCK) {
                ACC sum = 0;
                for (u32 k = 0; k < width; k++)
                    sum += MULTIPLY(ACC, factor(own, size, i, begin + k), found[k]);
                work[AT(front, i)] -= sum;
            }
            BARRIER();
        }
    }
}

// Backward substitution; `x` is in the order of the fronts.
KERNEL front_backward(u32 first, u32 cols, FRONTS, GLOBAL const u32 *RESTRICT unknowns,
                      GLOBAL const ACC *RESTRICT values, GLOBAL ACC *work, GLOBAL ACC *x) {
    LOCAL_ARRAY(ACC, sums, BLOCK);
    LOCAL_ARRAY(ACC, given, PANEL);
    const u32 front = first + block_of_grid(), size = sizes[front], thread = thread_of_block();
    const u32 row = thread / PARTS, part = thread % PARTS;
    GLOBAL const ACC *own = values + places[front];
    for (u32 column = 0; column < cols; column++) {
        for (u32 i = pivots[front] + thread; i < size; i += BLOCK)
            work[AT(front, i)] = x[(u64)unknowns[lists[front] + i] * cols + column];
        BARRIER();
        const u32 panels = (pivots[front] + PANEL - 1) / PANEL;
        for (u32 panel = panels; panel-- > 0;) {
            const u32 begin = panel * PANEL;
            const u32 width = pivots[front] - begin < PANEL ? pivots[front] - begin : PANEL;
            ACC sum = 0;
            for (u32 j = begin + width + part; row < width && j < size; j += PARTS)
                sum += MULTIPLY(ACC, factor(own, size, begin + row, j), work[AT(front, j)]);
            sums[thread] = sum;
            BARRIER();
            if (thread < width) {
                sum = work[AT(front, begin + thread)];
                for (u32 k = 0; k < PARTS; k++)
                    sum -= sums[thread * PARTS + k];
                given[thread] = sum;
            }
            BARRIER();
            if (thread < width) {
                sum = TRANSPOSED ? given[thread] : (ACC)0;
                for (u32 k = thread + TRANSPOSED; k < width; k++)
                    sum += MULTIPLY(ACC, factor(own, size, begin + thread, begin + k), given[k]);
                work[AT(front, begin + thread)] = sum;
                x[(u64)unknowns[lists[front] + begin + thread] * cols + column] = sum;
            }
            BARRIER();
        }
    }
}

// The solution in the order of the matrix.
KERNEL front_solution(u64 rows, u32 cols, GLOBAL const u32 *RESTRICT to, GLOBAL const f64 *RESTRICT scales,
                      GLOBAL const ACC *RESTRICT x, GLOBAL ACC *RESTRICT out) {
    FOR_ITEMS(entry, rows * cols) {
        const u64 unknown = entry / cols, column = entry % cols;
        out[(u64)to[unknown] * cols + column] =
            MULTIPLY(ACC, x[entry], OF_REAL(ACC, scales[unknown]));
    }
}
