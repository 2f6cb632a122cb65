// Groups around roots that are more than two couplings apart, as multigrid/coarsen/mis2.rs has
// them. The graph is symmetric. Rows from `begin` to `end` are decided on here; others are those of other ranks.

#include "tiles.h"

#define OUT 0
#define ROOT U64(0xffffffffffffffff)

#define DECIDED u64 begin, u64 end

FUNCTION bool is_decided(u64 row, DECIDED) { return begin <= row && row < end; }

// Counts the couplings of decided rows without their counterpart.
KERNEL one_way(SIZED_GRAPH, DECIDED, GLOBAL u32 *count) {
    FOR_ROWS(row, rows) FOR_ENTRIES(place, offsets, row) {
        const u32 other = columns[place];
        if (!is_decided(row, begin, end) && !is_decided(other, begin, end))
            continue;
        const u64 back = find_back(offsets, columns, other, (u32)row, (u32)(place - offsets[row]));
        if (!IS_REPEATED(rows) && back == offsets[other + 1])
            ATOMIC_ADD(count, 1);
    }
}

// The first decided row has the number `first` in the whole graph.
KERNEL mis2_start(u64 rows, GLOBAL const u64 *RESTRICT offsets, u64 begin, u64 first, u64 seed,
                  GLOBAL u64 *RESTRICT ranks, GLOBAL u64 *RESTRICT nearby) {
    FOR_ITEMS(row, rows) {
        const bool alone = offsets[row] == offsets[row + 1];
        ranks[row] = alone ? OUT : (u64)scramble_wide(first + row - begin, seed) + 1;
        nearby[row] = OUT;
    }
}

FUNCTION u64 largest_near(SIZED_GRAPH, u32 row, bool valid, GLOBAL const u64 *of, LOCAL u64 *scratch) {
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
KERNEL mis2_near(SIZED_GRAPH, DECIDED, LIST, GLOBAL const u64 *RESTRICT ranks,
                 GLOBAL u64 *RESTRICT nearby, NEXT) {
    LOCAL_ARRAY(u64, scratch, BLOCK);
    LOCAL_ARRAY(u32, ends, 2);
    const u64 items = list ? *size : end - begin;
    FOR_BLOCKS_OF_ROWS(first, items) {
        const u64 item = first + row_of_block();
        const bool valid = item < items;
        const u32 row = valid ? (list ? list[item] : (u32)(begin + item)) : 0;
        const u64 rank = largest_near(rows, offsets, columns, row, valid, ranks, scratch);
        if (valid && leads_row())
            nearby[row] = rank;
        append(valid && leads_row() && rank != OUT && rank != ROOT, row, next, next_size, ends);
    }
}

// Open rows whose rank is the largest within two couplings are roots, those near a root are out.
KERNEL mis2_decide(SIZED_GRAPH, DECIDED, LIST, GLOBAL const u64 *RESTRICT nearby,
                   GLOBAL u64 *RESTRICT ranks, NEXT) {
    LOCAL_ARRAY(u64, scratch, BLOCK);
    LOCAL_ARRAY(u32, ends, 2);
    const u64 items = list ? *size : end - begin;
    FOR_BLOCKS_OF_ROWS(first, items) {
        const u64 item = first + row_of_block();
        const u32 row = item < items ? (list ? list[item] : (u32)(begin + item)) : 0;
        const u64 mine = ranks[row];
        const bool is_open = item < items && mine != OUT && mine != ROOT;
        const u64 rank = largest_near(rows, offsets, columns, row, is_open, nearby, scratch);
        const bool decided = rank == ROOT || rank == mine;
        if (is_open && leads_row() && decided)
            ranks[row] = rank == ROOT ? OUT : ROOT;
        append(is_open && leads_row() && !decided, row, next, next_size, ends);
    }
}

// Which of the decided rows are roots.
KERNEL mis2_flags(DECIDED, GLOBAL const u64 *RESTRICT ranks, GLOBAL u32 *RESTRICT flags) {
    FOR_ITEMS(row, end - begin) flags[row] = ranks[begin + row] == ROOT;
}

// Roots as their own groups.
KERNEL mis2_rows(u64 rows, GLOBAL const u64 *RESTRICT ranks, GLOBAL u32 *RESTRICT roots) {
    FOR_ITEMS(row, rows) roots[row] = ranks[row] == ROOT ? (u32)row : NONE;
}

// What a number says that is not of the group of a decided root but of a row of another rank.
#define FOREIGN 0x80000000u

FUNCTION u32 foreign_place(u64 row, DECIDED) { return (u32)(row < begin ? row : row - (end - begin)); }

// The group of every decided row: that of its root, or which of the other rows that is.
KERNEL mis2_groups(DECIDED, GLOBAL const u32 *RESTRICT roots, GLOBAL const u32 *RESTRICT numbers,
                   GLOBAL u32 *RESTRICT groups) {
    FOR_ITEMS(row, end - begin) {
        const u32 root = roots[begin + row];
        groups[row] = root == NONE                     ? NONE
                      : is_decided(root, begin, end) ? numbers[root - begin]
                                                       : FOREIGN | foreign_place(root, begin, end);
    }
}

// The same for all rows in numbers of the next level: those of decided roots follow `before` others, those of other rows
// have a table.
KERNEL mis2_renumbered(u64 rows, DECIDED, u32 before, GLOBAL const u32 *RESTRICT groups,
                       GLOBAL const u32 *RESTRICT others, GLOBAL u32 *RESTRICT numbers) {
    FOR_ITEMS(row, rows) {
        const u32 group = is_decided(row, begin, end) ? groups[row - begin]
                                                      : FOREIGN | foreign_place(row, begin, end);
        numbers[row] = group == NONE      ? NONE
                       : group & FOREIGN ? others[group & ~FOREIGN]
                                          : before + group;
    }
}

// A row without a group joins that of the root beside it; there is one at most.
KERNEL mis2_join_root(SIZED_GRAPH, GLOBAL const u32 *RESTRICT groups, GLOBAL u32 *RESTRICT joined) {
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
KERNEL mis2_join_most(SIZED_GRAPH, GLOBAL const u32 *RESTRICT groups, GLOBAL u32 *RESTRICT joined) {
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
