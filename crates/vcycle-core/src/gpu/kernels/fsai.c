// Rows of a factorised approximate inverse, each made by the threads that share it.
//
// Definitions: the arithmetic type ACC. Of kernels that make rows: SPACE, LOCAL for rows of at most
// MOST entries with tables of SLOTS columns, or GLOBAL for rows of any length with memory of the device.
//
// Every number is formed by one thread, in the order of the host, so that its pattern comes out as well.

#ifdef SPACE
#define EMPTY 0xffffffffu
// Marks columns that were tried.
#define TRIED 0x80000000u
// Slots that a column may have to pass before a table counts as full; those in memory of the device
// are large enough.
#ifdef MOST
#define PROBES 48
#else
#define PROBES r->slots
#endif
// Pivots below so many units of rounding are noise.
#define NOISE 16

#define MADE 0
#define NOT_POSITIVE 1
#define TABLE_FULL 2

#define TIMES(a, b) PASTE(times_, ACC)(a, b)
FUNCTION f64 times_f64(f64 a, f64 b) { return product(a, b); }
#ifdef NO_CONTRACTION
FUNCTION f32 times_f32(f32 a, f32 b) {
    NO_CONTRACTION
    return a * b;
}
#else
FUNCTION f32 times_f32(f32 a, f32 b) { return __fmul_rn(a, b); }
#endif

typedef struct {
    GLOBAL const u64 *offsets;
    GLOBAL const u32 *columns;
    GLOBAL const ACC *values;
    GLOBAL const ACC *diagonal;
    ACC rounding;
} Matrix;

// Row `index` before scaling: `g` with `g_index = 1` that minimises `psi = g A g^T` over a pattern.
typedef struct {
    u32 index;
    // Entries of the pattern, which has no diagonal.
    u32 order;
    ACC psi;
    u32 slots;
    SPACE u32 *pattern;
    SPACE ACC *values;
    // The Cholesky factor of the matrix at the pattern, row after row, and the solution with it.
    SPACE ACC *factor;
    SPACE ACC *y;
    SPACE ACC *border;
    SPACE ACC *rest;
    // Columns that the rows of the pattern reach, and `g A` there.
    SPACE u32 *keys;
    SPACE ACC *sums;
    LOCAL ACC *gains;
    LOCAL u32 *scratch;
} Row;

#define FACTOR(r, row, column) (r)->factor[(row) * ((row) + 1) / 2 + (column)]
#define FOR_PLACES(k, first, end)                                                                  \
    for (u32 k = (first) + part_of_row(); k < (end); k += ROW_THREADS)
// Entries of a row up to the diagonal of row `index`.
#define FOR_LOWER(place, a, row, index)                                                            \
    for (u64 place = (a)->offsets[row] + part_of_row();                                            \
         place < (a)->offsets[(row) + 1] && (a)->columns[place] <= (index); place += ROW_THREADS)

// ---- the table

FUNCTION u32 first_slot(u32 column, u32 slots) { return (column * 0x9e3779b1u >> 8) & (slots - 1); }

// The slot of a column that is in the table.
FUNCTION u32 slot_of(const PRIVATE Row *r, u32 column) {
    u32 slot = first_slot(column, r->slots);
    while ((r->keys[slot] & ~TRIED) != column)
        slot = (slot + 1) & (r->slots - 1);
    return slot;
}

// Puts a column into the table; says whether there is room.
FUNCTION bool put(const PRIVATE Row *r, u32 column) {
    const u32 most = min(r->slots, (u32)(PROBES));
    u32 slot = first_slot(column, r->slots);
    for (u32 turn = 0; turn < most; turn++) {
        u32 found = r->keys[slot];
        if (found == EMPTY)
            found = ATOMIC_CAS(&r->keys[slot], EMPTY, column);
        if (found == EMPTY || (found & ~TRIED) == column)
            return true;
        slot = (slot + 1) & (r->slots - 1);
    }
    return false;
}

FUNCTION void clear_table(const PRIVATE Row *r) {
    FOR_PLACES(slot, 0, r->slots) r->keys[slot] = EMPTY;
    ROW_SYNC();
}

// Puts the columns of a row of the matrix into the table; says whether there is room.
FUNCTION bool reach(const PRIVATE Row *r, const PRIVATE Matrix *a, u32 row) {
    if (r->slots == 0)
        return true;
    bool full = false;
    FOR_LOWER(place, a, row, r->index) full = full || !put(r, a->columns[place]);
    const bool room = row_flags(full, r->scratch) == 0;
    ROW_SYNC();
    return room;
}

// ---- the system

FUNCTION ACC entry(const PRIVATE Matrix *a, u32 row, u32 column) {
    const u64 place = find_entry(a->offsets, a->columns, row, column);
    return place < a->offsets[row + 1] ? a->values[place] : 0;
}

// Whether a pivot is more than noise; `*status` where it is so negative that rounding is no reason.
FUNCTION bool usable(const PRIVATE Row *r, const PRIVATE Matrix *a, ACC pivot, ACC on_diagonal,
                     PRIVATE u32 *status) {
    const ACC noise = TIMES(TIMES((ACC)NOISE, a->rounding), on_diagonal);
    if (pivot < TIMES(-noise, (ACC)(1 + r->order)))
        *status = NOT_POSITIVE;
    return pivot > noise;
}

// Adds a column to the pattern unless only rounding tells the matrix from a singular one there.
FUNCTION u32 add(PRIVATE Row *r, const PRIVATE Matrix *a, u32 column) {
    const u32 order = r->order;
    FOR_PLACES(k, 0, order) {
        r->border[k] = entry(a, column, r->pattern[k]);
        r->rest[k] = 0;
    }
    ROW_SYNC();
    const ACC on_diagonal = a->diagonal[column];
    ACC pivot = on_diagonal, known = 0;
    for (u32 k = 0; k < order; k++) {
        const ACC x = (r->border[k] - r->rest[k]) / FACTOR(r, k, k);
        pivot -= TIMES(x, x);
        known += TIMES(x, r->y[k]);
        FOR_PLACES(m, k + 1, order) r->rest[m] += TIMES(x, FACTOR(r, m, k));
        if (leads_row())
            FACTOR(r, order, k) = x;
        ROW_SYNC();
    }
    u32 status = MADE;
    if (!usable(r, a, pivot, on_diagonal, &status))
        return status;
    const ACC root = SQUARE_ROOT(ACC, pivot);
    const ACC y = (-entry(a, column, r->index) - known) / root;
    const ACC psi = r->psi - TIMES(y, y);
    if (!usable(r, a, psi, a->diagonal[r->index], &status))
        return status;
    if (leads_row()) {
        FACTOR(r, order, order) = root;
        r->y[order] = y;
        r->pattern[order] = column;
    }
    ROW_SYNC();
    r->order = order + 1;
    r->psi = psi;
    return reach(r, a, column) ? MADE : TABLE_FULL;
}

// The values of the pattern.
FUNCTION void solve(const PRIVATE Row *r) {
    FOR_PLACES(k, 0, r->order) r->rest[k] = r->y[k];
    ROW_SYNC();
    for (u32 k = r->order; k-- > 0;) {
        const ACC x = r->rest[k] / FACTOR(r, k, k);
        FOR_PLACES(m, 0, k) r->rest[m] -= TIMES(FACTOR(r, k, m), x);
        if (leads_row())
            r->values[k] = x;
        ROW_SYNC();
    }
}

// ---- growth

// `g A` up to the diagonal.
FUNCTION void multiply(const PRIVATE Row *r, const PRIVATE Matrix *a) {
    FOR_PLACES(slot, 0, r->slots) r->sums[slot] = 0;
    ROW_SYNC();
    for (u32 k = 0; k <= r->order; k++) {
        const u32 row = k < r->order ? r->pattern[k] : r->index;
        const ACC factor = k < r->order ? r->values[k] : 1;
        FOR_LOWER(place, a, row, r->index)
            r->sums[slot_of(r, a->columns[place])] += TIMES(factor, a->values[place]);
        ROW_SYNC();
    }
}

#define BEATS(gain, column, best, chosen)                                                          \
    ((gain) > (best) || ((gain) == (best) && (chosen) != NONE && (column) != NONE &&               \
                         (column) > (chosen)))

// The column outside the pattern that lowers `psi` most, of equals the last one; NONE where none does.
FUNCTION u32 steepest(const PRIVATE Row *r, const PRIVATE Matrix *a) {
    ACC best = TIMES(a->rounding, r->psi);
    u32 chosen = NONE;
    FOR_PLACES(slot, 0, r->slots) {
        const u32 column = r->keys[slot];
        if (column & TRIED || column == r->index)
            continue;
        const ACC gain = TIMES(r->sums[slot], r->sums[slot]) / a->diagonal[column];
        if (BEATS(gain, column, best, chosen)) {
            best = gain;
            chosen = column;
        }
    }
    const u32 first = thread_of_block() - part_of_row();
    ROW_SYNC();
    r->gains[thread_of_block()] = best;
    r->scratch[thread_of_block()] = chosen;
    ROW_SYNC();
    for (u32 k = 0; k < ROW_THREADS; k++)
        if (r->scratch[first + k] != NONE &&
            (chosen == NONE || BEATS(r->gains[first + k], r->scratch[first + k], best, chosen))) {
            best = r->gains[first + k];
            chosen = r->scratch[first + k];
        }
    ROW_SYNC();
    return chosen;
}

// Notes that a column was tried.
FUNCTION bool try_column(const PRIVATE Row *r, u32 column) {
    if (r->slots == 0)
        return true;
    const bool room = put(r, column);
    ROW_SYNC();
    if (room && leads_row())
        r->keys[slot_of(r, column)] = column | TRIED;
    ROW_SYNC();
    return room;
}

// A step of growth by up to `most` columns; how many there were.
FUNCTION u32 grow(PRIVATE Row *r, const PRIVATE Matrix *a, u32 most, PRIVATE u32 *status) {
    multiply(r, a);
    const u32 first = r->order;
    u32 found = 0;
    for (; found < most; found++) {
        const u32 column = steepest(r, a);
        if (column == NONE)
            break;
        try_column(r, column);
        // Behind the pattern, which takes their places no sooner than they are read.
        if (leads_row())
            r->pattern[first + found] = column;
        ROW_SYNC();
    }
    for (u32 k = 0; k < found && *status == MADE; k++) {
        const u32 column = r->pattern[first + k];
        ROW_SYNC();
        *status = add(r, a, column);
    }
    solve(r);
    return found;
}

// ---- the end

// Drops the entries that are small beside the largest of the row, all of them measured as if the matrix
// had a unit diagonal; `share` is the square of the filter.
FUNCTION void drop_small(PRIVATE Row *r, const PRIVATE Matrix *a, ACC share) {
#define SIZE(k) TIMES(TIMES(r->values[k], r->values[k]), a->diagonal[r->pattern[k]])
    ACC largest = a->diagonal[r->index];
    for (u32 k = 0; k < r->order; k++)
        largest = SIZE(k) > largest ? SIZE(k) : largest;
    const ACC least = TIMES(share, largest);
    u32 kept = 0;
    for (u32 k = 0; k < r->order; k++) {
        if (!(SIZE(k) >= least))
            continue;
        const ACC value = r->values[k];
        const u32 column = r->pattern[k];
        ROW_SYNC();
        if (leads_row()) {
            r->values[kept] = value;
            r->pattern[kept] = column;
        }
        ROW_SYNC();
        kept++;
    }
#undef SIZE
    if (kept == r->order)
        return;
    r->order = kept;
    multiply(r, a);
    r->psi = r->sums[slot_of(r, r->index)];
    for (u32 k = 0; k < kept; k++)
        r->psi += TIMES(r->sums[slot_of(r, r->pattern[k])], r->values[k]);
}

// Writes the row by increasing columns, scaled so that `G A G^T` has a unit diagonal.
FUNCTION void write_row(const PRIVATE Row *r, u64 start, GLOBAL u32 *columns, GLOBAL ACC *values) {
    const ACC scale = SQUARE_ROOT(ACC, r->psi);
    FOR_PLACES(k, 0, r->order) {
        u32 rank = 0;
        for (u32 other = 0; other < r->order; other++)
            rank += r->pattern[other] < r->pattern[k];
        columns[start + rank] = r->pattern[k];
        values[start + rank] = r->values[k] / scale;
    }
    if (leads_row()) {
        columns[start + r->order] = r->index;
        values[start + r->order] = 1 / scale;
    }
}

typedef struct {
    u32 steps;
    u32 step_size;
    ACC tolerance;
    ACC share;
} Growth;

// Makes a row that begins with the columns below the diagonal of `start`.
FUNCTION u32 make_row(PRIVATE Row *r, const PRIVATE Matrix *a, const PRIVATE Growth *growth,
                      GLOBAL const u32 *start, GLOBAL const u32 *end) {
    u32 status = MADE;
    const ACC enough = TIMES(growth->tolerance, r->psi);
    clear_table(r);
    if (!reach(r, a, r->index))
        return TABLE_FULL;
    for (; start < end && *start < r->index && status == MADE; start++)
        status = try_column(r, *start) ? add(r, a, *start) : TABLE_FULL;
    solve(r);
    for (u32 turn = 0; turn < growth->steps && status == MADE; turn++)
        if (r->psi <= enough || grow(r, a, growth->step_size, &status) == 0)
            break;
    if (status == MADE && growth->share > 0)
        drop_small(r, a, growth->share);
    return status;
}

#ifndef MOST
#define MOST all_most
#define SLOTS all_slots
#define ROW_MEMORY GIVEN_ROW_MEMORY
#else
#define ROW_MEMORY LOCAL_ROW_MEMORY
#endif

// Makes the rows of a list, each at its place in `rooms`. Rows whose table is too small go to the list
// `again`; `failed` is the first row where the matrix is not positive definite.
KERNEL fsai_rows(u64 count, GLOBAL const u32 *RESTRICT list, GLOBAL const u64 *RESTRICT offsets,
                 GLOBAL const u32 *RESTRICT columns, GLOBAL const ACC *RESTRICT values,
                 GLOBAL const ACC *RESTRICT diagonal, GLOBAL const u64 *RESTRICT start_offsets,
                 GLOBAL const u32 *RESTRICT start_columns, u32 steps, u32 step_size, ACC tolerance,
                 ACC share, ACC rounding, GLOBAL const u64 *RESTRICT rooms,
                 GLOBAL u32 *RESTRICT out_columns, GLOBAL ACC *RESTRICT out_values,
                 GLOBAL u32 *RESTRICT lengths, GLOBAL u32 *failed, GLOBAL u32 *again,
                 GLOBAL u32 *again_count, u32 all_most, u32 all_slots, GLOBAL ACC *all_numbers,
                 GLOBAL u32 *all_words) {
    ROW_MEMORY(ACC, numbers, all_numbers, MOST * (MOST + 1) / 2 + 4 * MOST + SLOTS)
    ROW_MEMORY(u32, words, all_words, MOST + SLOTS)
    LOCAL_ARRAY(ACC, gains, BLOCK);
    LOCAL_ARRAY(u32, scratch, BLOCK);
    const Matrix a = {offsets, columns, values, diagonal, rounding};
    const Growth growth = {steps, step_size, tolerance, share};
    Row r;
    r.slots = SLOTS;
    r.pattern = words;
    r.keys = words + MOST;
    r.values = numbers;
    r.y = numbers + MOST;
    r.border = numbers + 2 * MOST;
    r.rest = numbers + 3 * MOST;
    r.sums = numbers + 4 * MOST;
    r.factor = numbers + 4 * MOST + SLOTS;
    r.gains = gains;
    r.scratch = scratch;
    FOR_ROWS(at, count) {
        const u32 row = list[at];
        r.index = row;
        r.order = 0;
        r.psi = diagonal[row];
        GLOBAL const u32 *start = start_offsets ? start_columns + start_offsets[row] : start_columns;
        GLOBAL const u32 *end = start_offsets ? start_columns + start_offsets[row + 1] : start;
        ROW_SYNC();
        const u32 status = make_row(&r, &a, &growth, start, end);
        if (status == MADE)
            write_row(&r, rooms[row], out_columns, out_values);
        if (leads_row()) {
            lengths[row] = status == MADE ? r.order + 1 : 0;
            if (status == NOT_POSITIVE)
                ATOMIC_MIN(failed, row);
            if (status == TABLE_FULL)
                again[ATOMIC_ADD(again_count, 1)] = row;
        }
    }
}

#else

// How many entries a row may get, without the diagonal: those of the pattern it begins with and `grown`
// more. `found`: the first row whose diagonal is zero, the first where it is not positive, the longest
// row to begin with, the longest row of the matrix.
KERNEL fsai_sizes(u64 rows, GLOBAL const u64 *RESTRICT offsets, GLOBAL const ACC *RESTRICT diagonal,
                  GLOBAL const u64 *RESTRICT start_offsets,
                  GLOBAL const u32 *RESTRICT start_columns, u32 grown, GLOBAL u32 *RESTRICT sizes,
                  GLOBAL u32 *RESTRICT rooms, GLOBAL u32 *found) {
    u32 longest_start = 0, longest = 0;
    FOR_ITEMS(row, rows) {
        u32 below = 0;
        if (start_offsets) {
            const u64 first = start_offsets[row], end = start_offsets[row + 1];
            longest_start = max(longest_start, (u32)(end - first));
            while (first + below < end && start_columns[first + below] < row)
                below++;
        }
        sizes[row] = below + grown;
        rooms[row] = below + grown + 1;
        longest = max(longest, (u32)(offsets[row + 1] - offsets[row]));
        const ACC own = diagonal[row];
        if (own == 0)
            ATOMIC_MIN(&found[0], row);
        if (!(own > 0 && own - own == 0))
            ATOMIC_MIN(&found[1], row);
    }
    if (longest_start > 0)
        ATOMIC_MAX(&found[2], longest_start);
    ATOMIC_MAX(&found[3], longest);
}

// Entries on the diagonal or not below `least` times both diagonals; squares of all of it.
#define IS_LARGE(row, place)                                                                       \
    (columns[place] == row ||                                                                      \
     values[place] * values[place] >= least * diagonal[row] * diagonal[columns[place]])

KERNEL fsai_count_large(u64 rows, GLOBAL const u64 *RESTRICT offsets,
                        GLOBAL const u32 *RESTRICT columns, GLOBAL const ACC *RESTRICT values,
                        GLOBAL const ACC *RESTRICT diagonal, ACC least,
                        GLOBAL u32 *RESTRICT counts) {
    FOR_ITEMS(row, rows) {
        u32 count = 0;
        for (u64 place = offsets[row]; place < offsets[row + 1]; place++)
            count += IS_LARGE(row, place);
        counts[row] = count;
    }
}

KERNEL fsai_fill_large(u64 rows, GLOBAL const u64 *RESTRICT offsets,
                       GLOBAL const u32 *RESTRICT columns, GLOBAL const ACC *RESTRICT values,
                       GLOBAL const ACC *RESTRICT diagonal, ACC least,
                       GLOBAL const u64 *RESTRICT starts, GLOBAL u32 *RESTRICT out_columns,
                       GLOBAL ACC *RESTRICT out_values) {
    FOR_ITEMS(row, rows) {
        u64 next = starts[row];
        for (u64 place = offsets[row]; place < offsets[row + 1]; place++)
            if (IS_LARGE(row, place)) {
                out_columns[next] = columns[place];
                out_values[next++] = values[place];
            }
    }
}

// Moves rows together that lie apart.
KERNEL fsai_gather(u64 rows, GLOBAL const u64 *RESTRICT from, GLOBAL const u32 *RESTRICT columns,
                   GLOBAL const ACC *RESTRICT values, GLOBAL const u64 *RESTRICT to,
                   GLOBAL u32 *RESTRICT out_columns, GLOBAL ACC *RESTRICT out_values) {
    FOR_ROWS(row, rows) FOR_ENTRIES(place, to, row) {
        const u64 source = from[row] + (place - to[row]);
        out_columns[place] = columns[source];
        out_values[place] = values[source];
    }
}
#endif
