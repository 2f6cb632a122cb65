// Rows of a matrix beside vectors of a near-kernel: without their small entries, or changed for less energy, and in either
// way so that the vectors are mapped as before.
//
// Definitions: VECTORS, room for so many vectors; SPACE, LOCAL for rows of at most MOST entries, or GLOBAL with memory of
// the device.
//
// Every number is formed in the order of the host, without fused products, so that its choices come out as well.

#include "tiles.h"

// Directions of the near-kernel smaller than this beside the largest do not count.
#define DEPENDENT 1e-8

#define FOR_PLACES(k, n) for (u32 k = part_of_row(); k < (n); k += ROW_THREADS)

#ifndef MOST
#define MOST all_most
#define ROW_MEMORY GIVEN_ROW_MEMORY
#else
#define ROW_MEMORY LOCAL_ROW_MEMORY
#endif

// The vectors, `cols` numbers each.
typedef struct {
    u32 count;
    u64 cols;
    GLOBAL const f64 *values;
} NearKernel;

#define VALUE(near, vector, column) (near)->values[(vector) * (near)->cols + (column)]

FUNCTION f64 dot(SPACE const f64 *x, SPACE const f64 *y, u32 n) {
    f64 sum = 0;
    for (u32 k = 0; k < n; k++)
        sum += product(x[k], y[k]);
    return sum;
}

FUNCTION f64 norm(SPACE const f64 *x, u32 n) { return SQUARE_ROOT(f64, dot(x, x, n)); }

// Makes `x` orthogonal to a direction of norm one.
FUNCTION void subtract(SPACE const f64 *direction, SPACE f64 *x, u32 n) {
    const f64 part = dot(direction, x, n);
    ROW_SYNC();
    FOR_PLACES(k, n) x[k] -= product(part, direction[k]);
    ROW_SYNC();
}

// ---- filters

// A row whose entries are sorted by their size.
typedef struct {
    u32 count;
    u32 most;
    SPACE u32 *columns;
    SPACE f64 *values;
    // For each entry how many are larger, and the entries by their size.
    SPACE u32 *ranks;
    SPACE u32 *order;
    // What is left of each vector at the entries that are kept, its norm, and what it has lost with the others.
    SPACE f64 *left;
    SPACE f64 *sizes;
    SPACE f64 *lost;
    SPACE f64 *direction;
} Sorted;

FUNCTION bool is_larger(const PRIVATE Sorted *s, u32 k, u32 other) {
    const f64 size = modulus(s->values[k]), beside = modulus(s->values[other]);
    return size > beside || (size == beside && k < other);
}

FUNCTION void sort_by_size(const PRIVATE Sorted *s) {
    FOR_PLACES(k, s->count) {
        u32 rank = 0;
        for (u32 other = 0; other < s->count; other++)
            rank += is_larger(s, other, k);
        s->ranks[k] = rank;
        s->order[rank] = k;
    }
    ROW_SYNC();
}

// How many of the largest entries have the share `kept` of the absolute sum.
FUNCTION u32 count_kept(const PRIVATE Sorted *s, f64 kept) {
    f64 total = 0, sum = 0;
    for (u32 rank = 0; rank < s->count; rank++)
        total += modulus(s->values[s->order[rank]]);
    const f64 wanted = product(kept, total);
    for (u32 rank = 0; rank < s->count; rank++) {
        sum += modulus(s->values[s->order[rank]]);
        if (sum >= wanted)
            return rank + 1;
    }
    return s->count;
}

// What the vectors are at the entries that are kept, and what the others made of them.
FUNCTION void look_at_vectors(const PRIVATE Sorted *s, const PRIVATE NearKernel *near, u32 kept) {
    FOR_PLACES(vector, near->count) {
        SPACE f64 *here = s->left + vector * s->most;
        f64 lost = 0;
        for (u32 rank = 0; rank < kept; rank++)
            here[rank] = VALUE(near, vector, s->columns[s->order[rank]]);
        for (u32 rank = kept; rank < s->count; rank++) {
            const u32 k = s->order[rank];
            lost += product(s->values[k], VALUE(near, vector, s->columns[k]));
        }
        s->lost[vector] = lost;
        s->sizes[vector] = norm(here, kept);
    }
    ROW_SYNC();
}

// Adds the smallest change that maps the vectors to what was lost, direction after direction.
FUNCTION void correct(const PRIVATE Sorted *s, u32 vectors, u32 kept) {
    f64 largest = 0;
    for (u32 vector = 0; vector < vectors; vector++)
        largest = s->sizes[vector] > largest ? s->sizes[vector] : largest;
    for (u32 turn = 0; turn < min(vectors, kept); turn++) {
        u32 next = 0;
        f64 size = 0;
        for (u32 vector = 0; vector < vectors; vector++)
            if (s->sizes[vector] > size) {
                size = s->sizes[vector];
                next = vector;
            }
        if (size <= product(DEPENDENT, largest))
            return;
        const f64 step = s->lost[next] / size;
        FOR_PLACES(rank, kept) {
            s->direction[rank] = s->left[next * s->most + rank] / size;
            s->values[s->order[rank]] += product(step, s->direction[rank]);
        }
        ROW_SYNC();
        FOR_PLACES(vector, vectors) {
            SPACE f64 *left = s->left + vector * s->most;
            const f64 part = dot(left, s->direction, kept);
            s->lost[vector] -= product(part, step);
            for (u32 rank = 0; rank < kept; rank++)
                left[rank] -= product(part, s->direction[rank]);
            s->sizes[vector] = norm(left, kept);
        }
        ROW_SYNC();
    }
}

// Rows of a pattern, those of a list.
#define ROWS                                                                                       \
    u64 rows, GLOBAL const u32 *RESTRICT list, GLOBAL const u64 *RESTRICT offsets,                 \
        GLOBAL const u32 *RESTRICT columns
// The vectors of a near-kernel, and memory for rows that are too long for that of a block.
#define NEAR                                                                                       \
    u32 vectors, u64 cols, GLOBAL const f64 *RESTRICT near_values, u32 all_most,                   \
        GLOBAL f64 *all_numbers, GLOBAL u32 *all_words

// The rows of a list without their smallest entries, each from its old place on.
KERNEL filter_rows(ROWS, GLOBAL const f64 *RESTRICT values, f64 share, GLOBAL u32 *RESTRICT out_columns,
                   GLOBAL f64 *RESTRICT out_values, GLOBAL u32 *RESTRICT lengths, NEAR) {
    ROW_MEMORY(f64, numbers, all_numbers, (VECTORS + 2) * MOST + 2 * VECTORS)
    ROW_MEMORY(u32, words, all_words, 3 * MOST)
    const NearKernel near = {vectors, cols, near_values};
    Sorted s;
    s.most = MOST;
    s.columns = words;
    s.ranks = words + MOST;
    s.order = words + 2 * MOST;
    s.values = numbers;
    s.direction = numbers + MOST;
    s.left = numbers + 2 * MOST;
    s.sizes = s.left + VECTORS * MOST;
    s.lost = s.sizes + VECTORS;
    FOR_ROWS(at, rows) {
        const u32 row = list[at];
        const u64 begin = offsets[row];
        s.count = (u32)(offsets[row + 1] - begin);
        ROW_SYNC();
        FOR_PLACES(k, s.count) {
            s.columns[k] = columns[begin + k];
            s.values[k] = values[begin + k];
        }
        ROW_SYNC();
        sort_by_size(&s);
        const u32 kept = count_kept(&s, share);
        ROW_SYNC();
        if (kept < s.count) {
            look_at_vectors(&s, &near, kept);
            correct(&s, vectors, kept);
        }
        ROW_SYNC();
        FOR_PLACES(k, s.count) {
            if (s.ranks[k] >= kept)
                continue;
            u32 place = 0;
            for (u32 other = 0; other < k; other++)
                place += s.ranks[other] < kept;
            out_columns[begin + place] = s.columns[k];
            out_values[begin + place] = s.values[k];
        }
        if (leads_row())
            lengths[row] = kept;
    }
}

// ---- energy

// A row of `A X` at the columns that `X` has there.
typedef struct {
    u32 count;
    u32 most;
    SPACE u32 *columns;
    SPACE f64 *values;
    // Orthonormal directions of the vectors at the columns.
    SPACE f64 *directions;
} Change;

// The place of a column, or how many there are.
FUNCTION u32 place_of(const PRIVATE Change *c, u32 column) {
    u32 low = 0, high = c->count;
    while (low < high) {
        const u32 middle = (low + high) / 2;
        if (c->columns[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low < c->count && c->columns[low] == column ? low : c->count;
}

// Makes the row orthogonal to all vectors.
FUNCTION void project(const PRIVATE Change *c, const PRIVATE NearKernel *near) {
    u32 rank = 0;
    for (u32 vector = 0; vector < near->count; vector++) {
        SPACE f64 *here = c->directions + rank * c->most;
        FOR_PLACES(k, c->count) here[k] = VALUE(near, vector, c->columns[k]);
        ROW_SYNC();
        const f64 before = norm(here, c->count);
        // The second pass removes what rounding left.
        for (u32 pass = 0; pass < 2; pass++)
            for (u32 other = 0; other < rank; other++)
                subtract(c->directions + other * c->most, here, c->count);
        const f64 left = norm(here, c->count);
        ROW_SYNC();
        if (!(left > product(DEPENDENT, before)))
            continue;
        FOR_PLACES(k, c->count) here[k] /= left;
        ROW_SYNC();
        subtract(here, c->values, c->count);
        rank++;
    }
}

// What is in the space of changes of `A X`, at the places of `X`; zero in rows that are `fixed`, if any are.
KERNEL energy_rows(ROWS, GLOBAL const f64 *RESTRICT values, CSR_OF(f64, a),
                   GLOBAL const u32 *RESTRICT fixed, GLOBAL f64 *RESTRICT out, NEAR) {
    ROW_MEMORY(f64, numbers, all_numbers, (VECTORS + 2) * MOST + 2 * VECTORS)
    ROW_MEMORY(u32, words, all_words, 3 * MOST)
    const NearKernel near = {vectors, cols, near_values};
    Change c;
    c.most = MOST;
    c.columns = words;
    c.values = numbers;
    c.directions = numbers + MOST;
    FOR_ROWS(at, rows) {
        const u32 row = list[at];
        const u64 begin = offsets[row];
        const bool moves = !fixed[row];
        c.count = (u32)(offsets[row + 1] - begin);
        ROW_SYNC();
        FOR_PLACES(k, c.count) {
            c.columns[k] = columns[begin + k];
            c.values[k] = 0;
        }
        ROW_SYNC();
        for (u64 place = a_offsets[row]; moves && place < a_offsets[row + 1]; place++) {
            const f64 weight = a_values[place];
            FOR_ENTRIES(other, offsets, a_columns[place]) {
                const u32 k = place_of(&c, columns[other]);
                if (k < c.count)
                    c.values[k] += product(weight, values[other]);
            }
            ROW_SYNC();
        }
        if (moves)
            project(&c, &near);
        FOR_PLACES(k, c.count) out[begin + k] = c.values[k];
    }
}
