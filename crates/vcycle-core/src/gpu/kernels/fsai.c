// Rows of a factorised approximate inverse, each made by the threads that share it.
//
// Definitions: the arithmetic type ACC; SPACE, LOCAL for rows of at most MOST entries, or GLOBAL for rows of any length with
// memory of the device; TABLE, LOCAL with SLOTS columns, or GLOBAL in the same way.
//
// Every number is formed by one thread, in the order of the host, so that its pattern comes out as well.

#include "tiles.h"
#include "fsai_system.h"

// ---- growth

// `g A` up to the diagonal.
FUNCTION void multiply(const PRIVATE Row *r, const PRIVATE Matrix *a) {
    FOR_PLACES(slot, 0, r->slots) r->sums[slot] = 0;
    ROW_SYNC();
    Piece piece;
    for (u32 k = 0; k <= r->order; k++) {
        const u32 row = k < r->order ? r->pattern[k] : r->index;
        const ACC factor = k < r->order ? r->values[k] : 1;
        FOR_PIECES(piece, r, a, row) FOR(t, IN_FLIGHT)
            if (IS_LOWER(piece, t, r))
                r->sums[slot_of(r, piece.columns[t])] += TIMES(factor, piece.values[t]);
        ROW_SYNC();
    }
}

// The best two of the slots that a thread weighs, NONE where there are none, and whether there may be more.
typedef struct {
    u32 first;
    u32 second;
    bool more;
} Best;

// Whether a gain is larger than that of another slot, of equals that of the later column; either slot may be NONE.
FUNCTION bool beats(const PRIVATE Row *r, u32 slot, u32 other) {
    if (slot == NONE || other == NONE)
        return other == NONE && slot != NONE;
    const ACC gain = r->sums[slot], best = r->sums[other];
    return gain > best || (gain == best && r->keys[slot] > r->keys[other]);
}

FUNCTION void note_slot(const PRIVATE Row *r, u32 slot, PRIVATE Best *best) {
    if (beats(r, slot, best->first)) {
        best->second = best->first;
        best->first = slot;
    } else if (beats(r, slot, best->second)) {
        best->second = slot;
    }
    best->more = best->second != NONE;
}

// Puts what `psi` falls by with each column that may join the pattern in place of the sums, zero for others; the best slots of
// the thread.
FUNCTION Best weigh(const PRIVATE Row *r, const PRIVATE Matrix *a) {
    Best best = {NONE, NONE, false};
    const ACC least = TIMES(a->rounding, r->psi);
    for (u32 begin = part_of_row(); begin < r->slots; begin += IN_FLIGHT * ROW_THREADS) {
        ACC inverses[IN_FLIGHT];
        FOR(t, IN_FLIGHT) {
            const u32 slot = begin + t * ROW_THREADS;
            const u32 column = slot < r->slots ? r->keys[slot] : EMPTY;
            const bool joins = column < r->index && r->places[slot] == 0;
            inverses[t] = joins ? a->inverses[column] : 0;
        }
        FOR(t, IN_FLIGHT) {
            const u32 slot = begin + t * ROW_THREADS;
            if (slot >= r->slots)
                continue;
            const ACC gain = TIMES(TIMES(r->sums[slot], r->sums[slot]), inverses[t]);
            const bool counts = gain > least;
            r->sums[slot] = counts ? gain : 0;
            if (counts)
                note_slot(r, slot, &best);
        }
    }
    return best;
}

// The same of what was weighed and not taken since.
FUNCTION Best weigh_again(const PRIVATE Row *r) {
    Best best = {NONE, NONE, false};
    FOR_PLACES(slot, 0, r->slots)
        if (r->sums[slot] > 0)
            note_slot(r, slot, &best);
    return best;
}

// The best of the slots of all threads.
FUNCTION u32 best_of_row(const PRIVATE Row *r, u32 best) {
    for (u32 width = 1; width < ROW_THREADS; width *= 2) {
        ROW_SYNC();
        r->scratch[thread_of_block()] = best;
        ROW_SYNC();
        const u32 other = r->scratch[thread_of_block() ^ width];
        if (beats(r, other, best))
            best = other;
    }
    ROW_SYNC();
    return best;
}

// Puts the columns that lower `psi` most behind the pattern, at most `most`; how many there are.
FUNCTION u32 choose(const PRIVATE Row *r, const PRIVATE Matrix *a, u32 most) {
    multiply(r, a);
    Best own = weigh(r, a);
    u32 found = 0;
    for (; found < most; found++) {
        const u32 best = best_of_row(r, own.first);
        if (best == NONE)
            break;
        if (best == own.first) {
            r->pattern[r->order + found] = r->keys[best];
            r->places[best] = (u16)(r->order + found + 1);
            r->sums[best] = 0;
            own.first = own.second;
            own.second = NONE;
            if (own.first == NONE && own.more)
                own = weigh_again(r);
        }
    }
    ROW_SYNC();
    return found;
}

// ---- the end

// Drops what was refused, and the entries that are small beside the largest of the row, all of them
// measured as if the matrix had a unit diagonal; `share` is the square of the filter.
FUNCTION void drop(PRIVATE Row *r, const PRIVATE Matrix *a, ACC share) {
#define SIZE(k) TIMES(TIMES(r->values[k], r->values[k]), a->diagonal[r->pattern[k]])
    ACC largest = r->own;
    for (u32 k = 0; k < r->order && share > 0; k++)
        largest = SIZE(k) > largest ? SIZE(k) : largest;
    const ACC least = TIMES(share, largest);
    u32 kept = 0;
    for (u32 k = 0; k < r->order; k++) {
        if (FACTOR(r, k, k) == 0 || !(SIZE(k) >= least))
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
    r->order = kept;
    if (kept == r->kept)
        return;
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

// Begins with the columns below the diagonal of `start`; says whether the table had no room for them.
FUNCTION bool begin_row(const PRIVATE Row *r, const PRIVATE Matrix *a, GLOBAL const u32 *start,
                        u32 count) {
    bool full = false;
    FOR_PLACES(k, 0, count) {
        const u32 slot = put(r, start[k]);
        r->pattern[k] = start[k];
        if (slot == NONE)
            full = true;
        else
            r->places[slot] = (u16)(k + 1);
    }
    if (r->reaches)
        full = reach(r, a) || full;
    return full;
}

typedef struct {
    u32 steps;
    u32 step_size;
    ACC tolerance;
    ACC share;
} Growth;

// Makes a row that begins with the `count` columns at `start`.
FUNCTION u32 make_row(PRIVATE Row *r, const PRIVATE Matrix *a, const PRIVATE Growth *growth,
                      GLOBAL const u32 *start, u32 count) {
    const ACC enough = TIMES(growth->tolerance, r->psi);
    clear_table(r);
    const bool full = begin_row(r, a, start, count);
    if (row_flags(full, r->scratch) != 0)
        return TABLE_FULL;
    ROW_SYNC();
    u32 status = MADE;
    if (count > 0)
        status = add(r, a, count);
    for (u32 turn = 0; turn < growth->steps && status == MADE && r->psi > enough; turn++) {
        solve(r);
        const u32 found = choose(r, a, growth->step_size);
        if (found == 0)
            break;
        status = add(r, a, r->order + found);
    }
    solve(r);
    if (status == MADE && (growth->share > 0 || r->kept < r->order))
        drop(r, a, growth->share);
    return status;
}

#ifdef MOST
#define ROW_MEMORY LOCAL_ROW_MEMORY
#else
#define MOST all_most
#define ROW_MEMORY GIVEN_ROW_MEMORY
#endif
#ifdef SLOTS
#define TABLE_MEMORY LOCAL_ROW_MEMORY
#else
#define SLOTS all_slots
#define TABLE_MEMORY GIVEN_ROW_MEMORY
#endif

// The matrix, the pattern rows begin with, and what is made.
#define ROWS                                                                                       \
    GLOBAL const u64 *RESTRICT rooms, GLOBAL u32 *RESTRICT out_columns,                            \
        GLOBAL ACC *RESTRICT out_values, GLOBAL u32 *RESTRICT lengths, GLOBAL u32 *failed

// Makes the rows of a list, each at its place in `rooms`. Rows whose table is too small go to the list
// `again`; `failed` is the first row where the matrix is not positive definite.
KERNEL fsai_rows(u64 rows, GLOBAL const u32 *RESTRICT list, GLOBAL const u32 *RESTRICT sizes,
                 CSR(ACC, values), GLOBAL const ACC *RESTRICT diagonal, GLOBAL const ACC *RESTRICT inverses,
                 GRAPH_OF(start), u32 steps, u32 step_size, ACC tolerance, ACC share, ACC rounding,
                 ROWS, GLOBAL u32 *again, GLOBAL u32 *again_count, u32 all_most, u32 all_slots,
                 GLOBAL ACC *all_numbers, GLOBAL u32 *all_patterns, GLOBAL ACC *all_sums,
                 GLOBAL u32 *all_keys) {
    ROW_MEMORY(ACC, numbers, all_numbers, MOST * (MOST + 1) / 2 + 2 * MOST)
    ROW_MEMORY(u32, pattern, all_patterns, MOST)
    TABLE_MEMORY(ACC, sums, all_sums, SLOTS)
    TABLE_MEMORY(u32, keys, all_keys, SLOTS + SLOTS / 2)
    LOCAL_ARRAY(u32, scratch, BLOCK);
    const Matrix a = {offsets, columns, values, diagonal, inverses, rounding};
    const Growth growth = {steps, step_size, tolerance, share};
    Row r;
    r.reaches = steps > 0 || share > 0;
    r.slots = SLOTS;
    r.pattern = pattern;
    r.values = numbers;
    r.y = numbers + MOST;
    r.factor = numbers + 2 * MOST;
    r.keys = keys;
    r.places = (TABLE u16 *)(keys + SLOTS);
    r.sums = sums;
    r.scratch = scratch;
    FOR_ROWS(at, rows) {
        const u32 row = list[at];
        r.index = row;
        r.order = r.kept = 0;
        r.psi = r.own = diagonal[row];
        const u32 count = start_offsets ? sizes[row] - steps * step_size : 0;
        GLOBAL const u32 *start = start_offsets ? start_columns + start_offsets[row] : start_columns;
        ROW_SYNC();
        const u32 status = make_row(&r, &a, &growth, start, count);
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
