// Pairs of unknowns that are each other's strongest neighbour, as multigrid/coarsen/pgm.rs has them.

#include "tiles.h"

#define PAIR_SHARE 0.25f

#define COUPLINGS SIZED_GRAPH, GLOBAL const f32 *RESTRICT weights, GLOBAL const f32 *RESTRICT heaviest

// Whether a row has any coupling, and the size of its diagonal.
KERNEL pgm_coupled(SIZED_GRAPH, GLOBAL const f64 *RESTRICT values, GLOBAL u8 *RESTRICT coupled,
                   GLOBAL f64 *RESTRICT diagonal) {
    LOCAL_ARRAY(u32, scratch, BLOCK);
    LOCAL_ARRAY(f64, sizes, BLOCK);
    FOR_ROWS(row, rows) {
        u32 any = 0;
        f64 own = 0;
        FOR_ENTRIES(place, offsets, row) {
            const f64 value = values[place];
            if (columns[place] == row)
                own = modulus(value);
            else
                any |= value != 0;
        }
        any = row_count(any, scratch);
        own = row_sum(own, sizes);
        if (leads_row()) {
            coupled[row] = any != 0;
            diagonal[row] = own;
        }
    }
}

// The weight of a coupling in single precision, for sums over groups round differently from either
// end; negative where there is no coupling.
FUNCTION f32 weight_of(u32 row, u32 column, f64 value, f64 own, f64 other) {
    return column != row && value != 0 ? (f32)(value / (own > other ? own : other)) : -1;
}

// Weights of `(|A| + |A^T|) / 2` without the couplings that do not count, and the heaviest of every
// row; the matrix itself unless `out` is null. Whether any entry has no counterpart. Nobody has a
// partner yet.
KERNEL pgm_first(SIZED_GRAPH, GLOBAL const f64 *RESTRICT values,
                 GLOBAL const f64 *RESTRICT diagonal, GLOBAL const u8 *RESTRICT coupled,
                 GLOBAL f64 *RESTRICT out, GLOBAL f32 *RESTRICT weights,
                 GLOBAL f32 *RESTRICT heaviest, GLOBAL u32 *RESTRICT partners,
                 GLOBAL u32 *one_sided) {
    LOCAL_ARRAY(f32, scratch, BLOCK);
    FOR_ROWS(row, rows) {
        const f64 own = diagonal[row];
        f32 most = 0;
        FOR_ENTRIES(place, offsets, row) {
            const u32 column = columns[place], k = (u32)(place - offsets[row]);
            const u64 back = find_back(offsets, columns, column, (u32)row, k);
            const bool is_found = back != offsets[column + 1];
            if (!is_found)
                *one_sided = 1;
            f64 value = 0;
            if (is_found && (column == row || (coupled[row] && coupled[column])))
                value = 0.5 * modulus(values[place]) + 0.5 * modulus(values[back]);
            const f32 weight = weight_of((u32)row, column, value, own, diagonal[column]);
            weights[place] = weight;
            most = weight > most ? weight : most;
            if (out)
                out[place] = value;
        }
        most = row_largest_f32(most, scratch);
        if (leads_row()) {
            heaviest[row] = most;
            partners[row] = NONE;
        }
    }
}

// The same for a matrix of such values.
KERNEL pgm_weights(SIZED_GRAPH, GLOBAL const f64 *RESTRICT values,
                   GLOBAL const f64 *RESTRICT diagonal, GLOBAL f32 *RESTRICT weights,
                   GLOBAL f32 *RESTRICT heaviest, GLOBAL u32 *RESTRICT partners) {
    LOCAL_ARRAY(f32, scratch, BLOCK);
    FOR_ROWS(row, rows) {
        const f64 own = diagonal[row];
        f32 most = 0;
        FOR_ENTRIES(place, offsets, row) {
            const u32 column = columns[place];
            const f32 weight =
                weight_of((u32)row, column, values[place], own, diagonal[column]);
            weights[place] = weight;
            most = weight > most ? weight : most;
        }
        most = row_largest_f32(most, scratch);
        if (leads_row()) {
            heaviest[row] = most;
            partners[row] = NONE;
        }
    }
}

// Ties between equal weights are broken by a hash of the pair, and at last by the pair.
FUNCTION u64 pair_of(u32 row, u32 column) {
    return row < column ? (u64)row << 32 | column : (u64)column << 32 | row;
}

// Partners, weights and hashes, one for every thread.
#define CANDIDATES                                                                                 \
    LOCAL_ARRAY(u32, bests, BLOCK);                                                                \
    LOCAL_ARRAY(f32, mosts, BLOCK);                                                                \
    LOCAL_ARRAY(u64, ranks, BLOCK);
typedef struct {
    u32 best;
    f32 most;
    u64 rank;
} Candidate;

// The better one of two partners.
FUNCTION Candidate better(u32 row, Candidate a, Candidate b) {
    if (b.best == NONE || (a.best != NONE && a.most > b.most))
        return a;
    if (a.best == NONE || b.most > a.most || b.rank > a.rank)
        return b;
    return b.rank == a.rank && pair_of(row, b.best) > pair_of(row, a.best) ? b : a;
}

// The heaviest allowed partner of a row; with `partners` those without one are allowed.
FUNCTION u32 strongest(COUPLINGS, u64 seed, u32 row, GLOBAL const u32 *partners, LOCAL u32 *bests,
                       LOCAL f32 *mosts, LOCAL u64 *ranks) {
    Candidate own = {NONE, 0, 0};
    const f32 heavy = heaviest[row];
    FOR_ENTRIES(place, offsets, row) {
        const f32 weight = weights[place];
        if (weight < own.most)
            continue;
        const u32 column = columns[place];
        const f32 other = heaviest[column];
        const f32 least = PAIR_SHARE * (heavy < other ? heavy : other);
        if (weight < least || (partners && partners[column] != NONE))
            continue;
        const Candidate next = {column, weight, mix64(pair_of(row, column) ^ seed)};
        own = better(row, own, next);
    }
    if (ROW_THREADS == 1)
        return own.best;
    const u32 first = thread_of_block() - part_of_row();
    ROW_SYNC();
    bests[thread_of_block()] = own.best;
    mosts[thread_of_block()] = own.most;
    ranks[thread_of_block()] = own.rank;
    ROW_SYNC();
    for (u32 k = first; k < first + ROW_THREADS; k++) {
        const Candidate next = {bests[k], mosts[k], ranks[k]};
        own = better(row, own, next);
    }
    return own.best;
}

// Every listed row points to its strongest free neighbour; those that have one are listed again.
KERNEL pgm_choose(COUPLINGS, u64 seed, LIST, GLOBAL const u32 *RESTRICT partners,
                  GLOBAL u32 *RESTRICT choices, NEXT) {
    CANDIDATES
    LOCAL_ARRAY(u32, ends, 2);
    const u64 items = list ? *size : rows;
    FOR_BLOCKS_OF_ROWS(first, items) {
        const u64 item = first + row_of_block();
        const u32 row = item < items ? (list ? list[item] : (u32)item) : 0;
        // Before the first round all are free.
        u32 choice = strongest(rows, offsets, columns, weights, heaviest, seed, row,
                               list ? partners : 0, bests, mosts, ranks);
        choice = item < items ? choice : NONE;
        if (item < items && leads_row())
            choices[row] = choice;
        append(choice != NONE && leads_row(), row, next, next_size, ends);
    }
}

// Two that point to each other are a pair; the others are listed again.
KERNEL pgm_pair(LIST, GLOBAL const u32 *RESTRICT choices, GLOBAL u32 *RESTRICT partners, NEXT) {
    LOCAL_ARRAY(u32, ends, 2);
    const u64 items = *size;
    FOR_BLOCKS_OF_ROWS(first, items) {
        const u64 item = first + row_of_block();
        const u32 row = item < items ? list[item] : 0;
        const u32 choice = item < items ? choices[row] : row;
        const bool mutual = item < items && choices[choice] == row;
        if (mutual)
            partners[row] = choice;
        append(item < items && !mutual, row, next, next_size, ends);
    }
}

// One thread matches what is left, one after the other.
KERNEL pgm_rest(COUPLINGS, u64 seed, GLOBAL const u32 *RESTRICT choices, GLOBAL u32 *partners) {
    CANDIDATES
    if (thread_of_grid() != 0)
        return;
    for (u32 row = 0; row < rows; row++) {
        if (partners[row] != NONE || choices[row] == NONE)
            continue;
        const u32 choice = strongest(rows, offsets, columns, weights, heaviest, seed, row, partners,
                                     bests, mosts, ranks);
        if (choice != NONE) {
            partners[row] = choice;
            partners[choice] = row;
        }
    }
}

// Marks the first of every pair, and those without any coupling if they are to be kept; else counts
// these. What has no partner chooses its strongest neighbour.
KERNEL pgm_flags(COUPLINGS, u64 seed, u32 keep_alone, GLOBAL const u32 *RESTRICT partners,
                 GLOBAL u32 *RESTRICT choices, GLOBAL u32 *RESTRICT flags, GLOBAL u32 *alone) {
    CANDIDATES
    FOR_ROWS(row, rows) {
        const u32 partner = partners[row];
        u32 flag = partner != NONE && partner > row;
        if (ANY(partner == NONE)) {
            const u32 near = strongest(rows, offsets, columns, weights, heaviest, seed, (u32)row, 0,
                                       bests, mosts, ranks);
            if (partner == NONE && leads_row() && !IS_REPEATED(rows)) {
                choices[row] = near;
                flag = near == NONE && keep_alone;
                if (near == NONE && !keep_alone)
                    ATOMIC_ADD(alone, 1);
            }
        }
        if (leads_row() && !IS_REPEATED(rows))
            flags[row] = flag;
    }
}

// The number of a pair; what has no partner joins the group of its choice.
FUNCTION u32 number_of(u32 row, GLOBAL const u64 *sums, GLOBAL const u32 *partners) {
    if (sums[row + 1] != sums[row])
        return (u32)sums[row];
    return partners[row] != NONE ? (u32)sums[partners[row]] : NONE;
}

KERNEL pgm_groups(u64 rows, GLOBAL const u64 *RESTRICT sums, GLOBAL const u32 *RESTRICT partners,
                  GLOBAL const u32 *RESTRICT choices, GLOBAL u32 *RESTRICT groups) {
    FOR_ITEMS(row, rows) {
        u32 group = number_of((u32)row, sums, partners);
        if (group == NONE && choices[row] != NONE)
            group = number_of(choices[row], sums, partners);
        groups[row] = group;
    }
}
