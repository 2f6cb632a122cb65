// Pairs of unknowns that are each other's strongest neighbour, as multigrid/coarsen/pgm.rs has them.

#define PAIR_SHARE 0.25f

#define GRAPH u64 rows, GLOBAL const u64 *RESTRICT offsets, GLOBAL const u32 *RESTRICT columns
#define COUPLINGS GRAPH, GLOBAL const f32 *RESTRICT weights, GLOBAL const f32 *RESTRICT heaviest
#define LIST GLOBAL const u32 *RESTRICT list, GLOBAL const u32 *RESTRICT size

// Whether a row has any coupling.
KERNEL pgm_coupled(GRAPH, GLOBAL const f64 *RESTRICT values, GLOBAL u8 *RESTRICT coupled) {
    LOCAL_ARRAY(u32, scratch, BLOCK);
    FOR_ROWS(row, rows) {
        u32 any = 0;
        FOR_ENTRIES(place, offsets, row) any |= columns[place] != row && values[place] != 0;
        any = row_count(any, scratch);
        if (leads_row())
            coupled[row] = any != 0;
    }
}

// The weight of a coupling in single precision, for sums over groups round differently from either
// end; negative where there is no coupling.
FUNCTION f32 weight_of(u32 row, u32 column, f64 value, f64 own, f64 other) {
    return column != row && value != 0 ? (f32)(value / (own > other ? own : other)) : -1;
}

// Weights of `(|A| + |A^T|) / 2` without the couplings that do not count, and the heaviest of every
// row; the matrix itself unless `out` is null. Whether any entry has no counterpart.
KERNEL pgm_first(GRAPH, GLOBAL const f64 *RESTRICT values, GLOBAL const f64 *RESTRICT diagonal,
                 GLOBAL const u8 *RESTRICT coupled, GLOBAL f64 *RESTRICT out,
                 GLOBAL f32 *RESTRICT weights, GLOBAL f32 *RESTRICT heaviest,
                 GLOBAL u32 *one_sided) {
    LOCAL_ARRAY(f32, scratch, BLOCK);
    FOR_ROWS(row, rows) {
        const f64 own = modulus(diagonal[row]);
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
            const f32 weight = weight_of((u32)row, column, value, own, modulus(diagonal[column]));
            weights[place] = weight;
            most = weight > most ? weight : most;
            if (out)
                out[place] = value;
        }
        most = row_largest_f32(most, scratch);
        if (leads_row())
            heaviest[row] = most;
    }
}

// The same for a matrix of such values.
KERNEL pgm_weights(GRAPH, GLOBAL const f64 *RESTRICT values, GLOBAL const f64 *RESTRICT diagonal,
                   GLOBAL f32 *RESTRICT weights, GLOBAL f32 *RESTRICT heaviest) {
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
        if (leads_row())
            heaviest[row] = most;
    }
}

// Equal weights are told apart by a hash of the pair, and at last by the pair.
FUNCTION bool wins_tie(u32 row, u32 column, u32 best, u64 seed) {
    const u64 low = row < column ? row : column, high = row < column ? column : row;
    const u64 best_low = row < best ? row : best, best_high = row < best ? best : row;
    const u64 pair = low << 32 | high, best_pair = best_low << 32 | best_high;
    const u64 rank = mix64(pair ^ seed), best_rank = mix64(best_pair ^ seed);
    return rank > best_rank || (rank == best_rank && pair > best_pair);
}

// Partners and weights, one for every thread.
#define CANDIDATES                                                                                 \
    LOCAL_ARRAY(u32, bests, BLOCK);                                                                \
    LOCAL_ARRAY(f32, mosts, BLOCK);

// Whether a partner is better than the best so far.
FUNCTION bool is_better(u32 row, u32 column, f32 weight, u32 best, f32 most, u64 seed) {
    return weight > most ||
           (weight == most && (best == NONE || wins_tie(row, column, best, seed)));
}

// The heaviest allowed partner of a row; with `partners` those without one are allowed.
FUNCTION u32 strongest(COUPLINGS, u64 seed, u32 row, GLOBAL const u32 *partners, LOCAL u32 *bests,
                       LOCAL f32 *mosts) {
    u32 best = NONE;
    f32 most = 0;
    const f32 own = heaviest[row];
    FOR_ENTRIES(place, offsets, row) {
        const f32 weight = weights[place];
        if (weight < 0)
            continue;
        const u32 column = columns[place];
        const f32 other = heaviest[column];
        const f32 least = PAIR_SHARE * (own < other ? own : other);
        if (weight < least || (partners && partners[column] != NONE))
            continue;
        if (is_better(row, column, weight, best, most, seed)) {
            best = column;
            most = weight;
        }
    }
    if (ROW_THREADS == 1)
        return best;
    const u32 first = thread_of_block() - part_of_row();
    ROW_SYNC();
    bests[thread_of_block()] = best;
    mosts[thread_of_block()] = most;
    ROW_SYNC();
    best = NONE;
    most = 0;
    for (u32 k = first; k < first + ROW_THREADS; k++)
        if (bests[k] != NONE && is_better(row, bests[k], mosts[k], best, most, seed)) {
            best = bests[k];
            most = mosts[k];
        }
    return best;
}

// Every listed row points to its strongest free neighbour; those that have one are listed again.
KERNEL pgm_choose(COUPLINGS, u64 seed, LIST, GLOBAL const u32 *RESTRICT partners,
                  GLOBAL u32 *RESTRICT choices, GLOBAL u32 *RESTRICT next, GLOBAL u32 *next_size) {
    CANDIDATES
    LOCAL_ARRAY(u32, ends, 2);
    const u64 items = list ? *size : rows;
    FOR_BLOCKS_OF_ROWS(first, items) {
        const u64 item = first + row_of_block();
        const u32 row = item < items ? (list ? list[item] : (u32)item) : 0;
        u32 choice = strongest(rows, offsets, columns, weights, heaviest, seed, row, partners, bests,
                               mosts);
        choice = item < items ? choice : NONE;
        if (item < items && leads_row())
            choices[row] = choice;
        append(choice != NONE && leads_row(), row, next, next_size, ends);
    }
}

// Two that point to each other are a pair; the others are listed again.
KERNEL pgm_pair(LIST, GLOBAL const u32 *RESTRICT choices, GLOBAL u32 *RESTRICT partners,
                GLOBAL u32 *RESTRICT next, GLOBAL u32 *next_size) {
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
                                     bests, mosts);
        if (choice != NONE) {
            partners[row] = choice;
            partners[choice] = row;
        }
    }
}

// Marks the first of every pair, and those without any coupling if they are to be kept.
KERNEL pgm_flags(COUPLINGS, u64 seed, u32 keep_alone, GLOBAL const u32 *RESTRICT partners,
                 GLOBAL u32 *RESTRICT flags) {
    CANDIDATES
    FOR_ROWS(row, rows) {
        const u32 partner = partners[row];
        u32 flag = partner != NONE && partner > row;
        if (keep_alone && ANY(partner == NONE)) {
            const u32 near = strongest(rows, offsets, columns, weights, heaviest, seed, (u32)row, 0,
                                       bests, mosts);
            flag = partner == NONE ? near == NONE : flag;
        }
        if (leads_row())
            flags[row] = flag;
    }
}

// The number of a pair; what has no partner joins the group of its strongest neighbour.
FUNCTION u32 number_of(u32 row, GLOBAL const u64 *sums, GLOBAL const u32 *partners) {
    if (sums[row + 1] != sums[row])
        return (u32)sums[row];
    return partners[row] != NONE ? (u32)sums[partners[row]] : NONE;
}

KERNEL pgm_groups(COUPLINGS, u64 seed, GLOBAL const u64 *RESTRICT sums,
                  GLOBAL const u32 *RESTRICT partners, GLOBAL u32 *RESTRICT groups) {
    CANDIDATES
    FOR_ROWS(row, rows) {
        u32 group = number_of((u32)row, sums, partners);
        if (ANY(group == NONE)) {
            const u32 near = strongest(rows, offsets, columns, weights, heaviest, seed, (u32)row, 0,
                                       bests, mosts);
            if (group == NONE && near != NONE)
                group = number_of(near, sums, partners);
        }
        if (leads_row())
            groups[row] = group;
    }
}
