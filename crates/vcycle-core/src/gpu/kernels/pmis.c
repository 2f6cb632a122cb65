// A maximal independent set of the strong couplings, as multigrid/coarsen/pmis.rs has it. Rows from `begin` to `end` are decided
// on here; others are those of other ranks.

#include "tiles.h"

#define OPEN 0
#define COARSE 1
#define FINE 2

#define DECIDED u64 begin, u64 end

KERNEL pmis_influences(u64 entries, GLOBAL const u32 *RESTRICT columns, GLOBAL u32 *counts) {
    FOR_ITEMS(place, entries) ATOMIC_ADD(counts + columns[place], 1);
}

// No two measures are equal. A row that depends on none is fine. The first decided row has the number `first` in the whole
// graph.
KERNEL pmis_start(u64 rows, GLOBAL const u64 *RESTRICT offsets, GLOBAL const u32 *RESTRICT counts,
                  u64 begin, u64 first, u64 seed, GLOBAL u64 *RESTRICT measures, GLOBAL u8 *RESTRICT state) {
    FOR_ITEMS(row, rows) {
        measures[row] = (u64)counts[row] << 32 | scramble_wide(first + row - begin, seed);
        state[row] = offsets[row] == offsets[row + 1] ? FINE : OPEN;
    }
}

// A row that depends on none is coarse: it has no coarse unknown near enough.
KERNEL pmis_keep_alone(u64 rows, GLOBAL u8 *RESTRICT state) {
    FOR_ITEMS(row, rows) state[row] = state[row] == FINE ? COARSE : state[row];
}

// At every coupling of two open rows the one with the smaller measure is beaten in this round.
KERNEL pmis_compare(SIZED_GRAPH, LIST, u32 round, GLOBAL const u64 *RESTRICT measures,
                    GLOBAL const u8 *RESTRICT state, GLOBAL u32 *beaten) {
    FOR_ROWS(item, *size) {
        const u32 row = list[item];
        // Another rank may have decided on it.
        if (state[row] != OPEN)
            continue;
        const u64 mine = measures[row];
        FOR_ENTRIES(place, offsets, row) {
            const u32 other = columns[place];
            if (state[other] != OPEN)
                continue;
            if (measures[other] > mine)
                beaten[row] = round;
            else if (other != row)
                beaten[other] = round;
        }
    }
}

// Open rows that were not beaten are coarse, those that depend on a coarse one are fine, and the
// others make the next list, with open rows of other ranks.
KERNEL pmis_decide(SIZED_GRAPH, LIST, DECIDED, u32 round, GLOBAL const u32 *RESTRICT beaten,
                   GLOBAL u8 *state, NEXT) {
    LOCAL_ARRAY(u32, scratch, BLOCK);
    LOCAL_ARRAY(u32, ends, 2);
    const u64 items = list ? *size : rows;
    FOR_BLOCKS_OF_ROWS(first, items) {
        const u64 item = first + row_of_block();
        const u32 row = item < items ? (list ? list[item] : (u32)item) : 0;
        const bool is_open = item < items && state[row] == OPEN;
        const bool is_mine = is_open && begin <= row && row < end;
        const bool wins = is_mine && beaten[row] != round;
        u32 covered = 0;
        if (is_mine && !wins)
            FOR_ENTRIES(place, offsets, row) {
                const u32 other = columns[place];
                const u8 known = state[other];
                covered |= known == COARSE || (known == OPEN && beaten[other] != round);
            }
        covered = row_count(covered, scratch);
        ROW_SYNC();
        if (is_mine && leads_row() && (wins || covered))
            state[row] = wins ? COARSE : FINE;
        append(is_open && leads_row() && !wins && !covered, row, next, next_size, ends);
    }
}

KERNEL pmis_flags(DECIDED, GLOBAL const u8 *RESTRICT state, GLOBAL u32 *RESTRICT flags) {
    FOR_ITEMS(row, end - begin) flags[row] = state[begin + row] == COARSE;
}

// The numbers of those whose flags were summed up; the others get none.
KERNEL numbers(u64 rows, GLOBAL const u64 *RESTRICT sums, GLOBAL u32 *RESTRICT out) {
    FOR_ITEMS(row, rows) out[row] = sums[row + 1] != sums[row] ? (u32)sums[row] : NONE;
}

// ---- the second stage of aggressive coarsening

// The numbers of the second choice for all unknowns.
KERNEL compose(u64 rows, GLOBAL const u32 *RESTRICT second, GLOBAL u32 *RESTRICT numbers) {
    FOR_ITEMS(row, rows)
        if (numbers[row] != NONE)
            numbers[row] = second[numbers[row]];
}
