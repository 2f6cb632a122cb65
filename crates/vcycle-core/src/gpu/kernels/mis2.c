// Groups around roots that are more than two couplings apart, as multigrid/coarsen/mis2.rs has
// them. The graph is symmetric.

#define OUT 0
#define ROOT U64(0xffffffffffffffff)

#define GRAPH u64 rows, GLOBAL const u64 *RESTRICT offsets, GLOBAL const u32 *RESTRICT columns
#define LIST GLOBAL const u32 *RESTRICT list, GLOBAL const u32 *RESTRICT size

// Counts the couplings without their counterpart.
KERNEL one_way(GRAPH, GLOBAL u32 *count) {
    FOR_ROWS(row, rows) FOR_ENTRIES(place, offsets, row) {
        const u32 other = columns[place];
        const u64 back = find_back(offsets, columns, other, (u32)row, (u32)(place - offsets[row]));
        if (!IS_REPEATED(rows) && back == offsets[other + 1])
            ATOMIC_ADD(count, 1);
    }
}

KERNEL mis2_start(u64 rows, GLOBAL const u64 *RESTRICT offsets, u64 seed,
                  GLOBAL u64 *RESTRICT ranks, GLOBAL u64 *RESTRICT nearby) {
    FOR_ITEMS(row, rows) {
        const bool alone = offsets[row] == offsets[row + 1];
        ranks[row] = alone ? OUT : (u64)scramble((u32)row, seed) + 1;
        nearby[row] = OUT;
    }
}

FUNCTION u64 largest_near(GRAPH, u32 row, bool valid, GLOBAL const u64 *of, LOCAL u64 *scratch) {
    u64 largest = 0;
    if (valid) {
        largest = of[row];
        FOR_ENTRIES(place, offsets, row) {
            const u64 rank = of[columns[place]];
            largest = rank > largest ? rank : largest;
        }
    }
    return row_largest_u64(largest, scratch);
}

// The largest rank among a row and its neighbours. Rows stay in the list while it can change.
KERNEL mis2_near(GRAPH, LIST, GLOBAL const u64 *RESTRICT ranks, GLOBAL u64 *RESTRICT nearby,
                 GLOBAL u32 *RESTRICT next, GLOBAL u32 *next_size) {
    LOCAL_ARRAY(u64, scratch, BLOCK);
    LOCAL_ARRAY(u32, ends, 2);
    const u64 items = list ? *size : rows;
    FOR_BLOCKS_OF_ROWS(first, items) {
        const u64 item = first + row_of_block();
        const bool valid = item < items;
        const u32 row = valid ? (list ? list[item] : (u32)item) : 0;
        const u64 rank = largest_near(rows, offsets, columns, row, valid, ranks, scratch);
        if (valid && leads_row())
            nearby[row] = rank;
        append(valid && leads_row() && rank != OUT && rank != ROOT, row, next, next_size, ends);
    }
}

// Open rows whose rank is the largest within two couplings are roots, those near a root are out.
KERNEL mis2_decide(GRAPH, LIST, GLOBAL const u64 *RESTRICT nearby, GLOBAL u64 *RESTRICT ranks,
                   GLOBAL u32 *RESTRICT next, GLOBAL u32 *next_size) {
    LOCAL_ARRAY(u64, scratch, BLOCK);
    LOCAL_ARRAY(u32, ends, 2);
    const u64 items = list ? *size : rows;
    FOR_BLOCKS_OF_ROWS(first, items) {
        const u64 item = first + row_of_block();
        const u32 row = item < items ? (list ? list[item] : (u32)item) : 0;
        const u64 mine = ranks[row];
        const bool is_open = item < items && mine != OUT && mine != ROOT;
        const u64 rank = largest_near(rows, offsets, columns, row, is_open, nearby, scratch);
        const bool decided = rank == ROOT || rank == mine;
        if (is_open && leads_row() && decided)
            ranks[row] = rank == ROOT ? OUT : ROOT;
        append(is_open && leads_row() && !decided, row, next, next_size, ends);
    }
}

KERNEL mis2_flags(u64 rows, GLOBAL const u64 *RESTRICT ranks, GLOBAL u32 *RESTRICT flags) {
    FOR_ITEMS(row, rows) flags[row] = ranks[row] == ROOT;
}

// A row without a group joins that of the root beside it; there is one at most.
KERNEL mis2_join_root(GRAPH, GLOBAL const u32 *RESTRICT groups, GLOBAL u32 *RESTRICT joined) {
    LOCAL_ARRAY(u32, scratch, BLOCK);
    FOR_ROWS(row, rows) {
        u32 group = groups[row];
        if (group == NONE)
            FOR_ENTRIES(place, offsets, row) {
                const u32 other = groups[columns[place]];
                group = other < group ? other : group;
            }
        group = row_smallest_u32(group, scratch);
        if (leads_row())
            joined[row] = group;
    }
}

// It joins the group that most of its neighbours belong to, the first of several.
KERNEL mis2_join_most(GRAPH, GLOBAL const u32 *RESTRICT groups, GLOBAL u32 *RESTRICT joined) {
    LOCAL_ARRAY(u64, scratch, BLOCK);
    FOR_ROWS(row, rows) {
        u64 best = 0;
        if (groups[row] == NONE)
            FOR_ENTRIES(place, offsets, row) {
                const u32 group = groups[columns[place]];
                u64 count = 0;
                for (u64 other = offsets[row]; other < offsets[row + 1]; other++)
                    count += groups[columns[other]] == group;
                const u64 rank = count << 32 | (NONE - group);
                best = group != NONE && rank > best ? rank : best;
            }
        best = row_largest_u64(best, scratch);
        if (leads_row())
            joined[row] = groups[row] != NONE ? groups[row] : best ? NONE - (u32)best : NONE;
    }
}
