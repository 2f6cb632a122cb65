// Rows and columns exchanged: entries are counted and put down in any order, then each row is sorted.

#include "teams.h"
#pragma default WORD u32
#pragma block 128

KERNEL count_columns(u64 entries, GLOBAL const u32 *RESTRICT columns, GLOBAL u32 *counts) {
    FOR_ITEMS(entry, entries) ATOMIC_ADD(&counts[columns[entry]], 1);
}

// `counts` are zeros after.
KERNEL put_down(u64 rows, GLOBAL const u64 *RESTRICT offsets, GLOBAL const u32 *RESTRICT columns,
                GLOBAL const u64 *RESTRICT t_offsets, GLOBAL u32 *counts,
                GLOBAL u32 *RESTRICT t_columns) {
    FOR_ITEMS(row, rows)
        for (u64 entry = offsets[row]; entry < offsets[row + 1]; ++entry) {
            const u32 column = columns[entry];
            t_columns[t_offsets[column] + ATOMIC_ADD(&counts[column], 0xffffffffu) - 1] = (u32)row;
        }
}

// The place of a column in a sorted row.
FUNCTION u64 place_of(u64 first, u64 end, GLOBAL const u32 *columns, u32 column) {
    while (end - first > 1) {
        const u64 middle = first + (end - first) / 2;
        if (columns[middle] <= column)
            first = middle;
        else
            end = middle;
    }
    return first;
}

#define TRANSPOSE                                                                                  \
    GLOBAL const u64 *RESTRICT offsets, GLOBAL const u32 *RESTRICT columns,                        \
        GLOBAL const WORD *RESTRICT values, GLOBAL const u64 *RESTRICT t_offsets,                  \
        GLOBAL u32 *t_columns, GLOBAL WORD *RESTRICT t_values

#if THREADS == 1
// Sorts the rows of up to SHORT entries, and fetches their values unless these are null; the others go
// to a list.
#define SHORT 8
KERNEL finish_short(u64 rows, TRANSPOSE, GLOBAL u32 *RESTRICT longer, GLOBAL u32 *longer_count) {
    FOR_ITEMS(row, rows) {
        const u64 begin = t_offsets[row];
        const u32 n = (u32)(t_offsets[row + 1] - begin);
        if (n > SHORT) {
            longer[ATOMIC_ADD(longer_count, 1)] = (u32)row;
            continue;
        }
        u32 own[SHORT];
        FOR(k, SHORT) own[k] = k < n ? t_columns[begin + k] : 0xffffffffu;
        FOR(turn, SHORT)
            FOR(k, SHORT - 1)
                if (k % 2 == turn % 2) {
                    const u32 low = min(own[k], own[k + 1]);
                    own[k + 1] = max(own[k], own[k + 1]);
                    own[k] = low;
                }
        FOR(k, SHORT)
            if (k < n) {
                t_columns[begin + k] = own[k];
                if (values)
                    t_values[begin + k] =
                        values[place_of(offsets[own[k]], offsets[own[k] + 1], columns, (u32)row)];
            }
    }
}
#endif

// The same for rows of a list, whose length a kernel has written unless it is given.
KERNEL finish_rows(u64 given, GLOBAL const u32 *RESTRICT written, GLOBAL const u32 *RESTRICT rows,
                   TRANSPOSE) {
    const u64 count = written ? *written : given;
#if SLOTS > 0
    LOCAL_ARRAY(u32, lists, TEAMS *SLOTS);
#endif
    TEAM_OF_BLOCK
    FOR_ROWS(row, count, rows) {
        const u64 begin = t_offsets[row];
        const u32 n = IS_SPARE(count) ? 0 : (u32)(t_offsets[row + 1] - begin);
#if SLOTS > 0
        LOCAL u32 *list = lists + team * SLOTS;
        for (u32 k = member; k < n; k += TEAM)
            list[k] = t_columns[begin + k];
        TEAM_SYNC();
#else
        GLOBAL u32 *list = t_columns + begin;
#endif
        sort(list, n, member);
        for (u32 k = member; k < n; k += TEAM) {
            const u32 other = list[k];
            t_columns[begin + k] = other;
            if (values)
                t_values[begin + k] =
                    values[place_of(offsets[other], offsets[other + 1], columns, (u32)row)];
        }
        TEAM_SYNC();
    }
}
