// Tables of the columns of a row, for a team (teams.h): SLOTS slots in local memory, or as many as a kernel is told in memory of the device.
//
// MAPPED: columns are those of P, which has one entry a row, in column map[row].

#define EMPTY 0xffffffffu

// Tables in global memory: `slots` of them for every block.
#define TABLE_PARAMETERS u32 global_slots, GLOBAL u32 *global_keys
#if SLOTS > 0
#define TABLE                                                                                      \
    LOCAL_ARRAY(u64, all_pairs, TEAMS *SLOTS / 2);                                                 \
    LOCAL u32 *keys = (LOCAL u32 *)all_pairs + thread_of_block() / THREADS * SLOTS;                \
    const u32 slots = SLOTS;
#else
#define TABLE                                                                                      \
    GLOBAL u32 *keys = global_keys + (u64)block_of_grid() * global_slots;                          \
    const u32 slots = global_slots;
#endif

#define PATTERNS                                                                                   \
    GLOBAL const u64 *RESTRICT a_offsets, GLOBAL const u32 *RESTRICT a_columns,                    \
        GLOBAL const u64 *RESTRICT b_offsets, GLOBAL const u32 *RESTRICT b_columns,                \
        GLOBAL const u32 *RESTRICT map
#if MAPPED
#define COLUMN(right) map[b_columns[right]]
#else
#define COLUMN(right) b_columns[right]
#endif

// Slots come in pairs that are read at once: of threads that go together all wait for the longest search, and most keys are in the first pair.
FUNCTION u32 first_slot(u32 column, u32 slots) {
    return 2 * (u32)((u64)(column * 0x9e3779b1u) * (slots / 2) >> 32);
}
FUNCTION u32 next_pair(u32 slot, u32 slots) { return slot + 2 < slots ? slot + 2 : 0; }
FUNCTION u64 pair_at(const volatile SPACE u32 *keys, u32 slot) {
    return *(const volatile SPACE u64 *)(keys + slot);
}
#define FIRST_OF(pair) ((u32)(pair))
#define SECOND_OF(pair) ((u32)((pair) >> 32))

// The slot of a column that is in the table.
FUNCTION u32 find(const SPACE u32 *keys, u32 slots, u32 column) {
    u32 slot = first_slot(column, slots);
    u64 pair = pair_at(keys, slot);
    while (FIRST_OF(pair) != column && SECOND_OF(pair) != column) {
        slot = next_pair(slot, slots);
        pair = pair_at(keys, slot);
    }
    return slot + (SECOND_OF(pair) == column);
}

// The slot of a column, which is put there if it is not in the table; EMPTY if there is no room within
// so many `turns`.
FUNCTION u32 claim_within(u32 turns, volatile SPACE u32 *keys, u32 slots, u32 column,
                          PRIVATE bool *is_new) {
    u32 slot = first_slot(column, slots);
    for (u32 turn = 0; turn < turns; ++turn) {
        const u64 pair = pair_at(keys, slot);
        const u32 first = FIRST_OF(pair), second = SECOND_OF(pair);
        if (first == column || second == column)
            return slot + (second == column);
        if (first == EMPTY || second == EMPTY) {
            const u32 empty = slot + (first != EMPTY);
            const u32 found = ATOMIC_CAS((SPACE u32 *)&keys[empty], EMPTY, column);
            *is_new = found == EMPTY;
            if (found == EMPTY || found == column)
                return empty;
            // Another column came first: the pair is looked at again.
        } else
            slot = next_pair(slot, slots);
    }
    return EMPTY;
}

// The same where there is room: a pair is looked at up to three times.
FUNCTION u32 claim(volatile SPACE u32 *keys, u32 slots, u32 column) {
    bool is_new;
    return claim_within(2 * slots, keys, slots, column, &is_new);
}

FUNCTION void clear(SPACE u32 *keys, u32 slots, u32 member) {
    for (u32 slot = member; slot < slots; slot += TEAM)
        keys[slot] = EMPTY;
}

// The keys of a table, in any order; `found` is 0. How many these are: no more than there is `room` for are listed.
FUNCTION u32 list_keys(const SPACE u32 *keys, u32 slots, u32 member, LOCAL u32 *found,
                       SPACE u32 *list, u32 room) {
    u32 n = 0;
#ifdef TEAM_FLAGS
    for (u32 slot = member; slot < slots; slot += TEAM) {
        const u32 key = keys[slot], flags = TEAM_FLAGS(key != EMPTY);
        const u32 place = n + BITS_SET(flags & ((1u << member) - 1));
        if (key != EMPTY && place < room)
            list[place] = key;
        n += BITS_SET(flags);
    }
    TEAM_SYNC();
#else
    for (u32 slot = member; slot < slots; slot += TEAM)
        if (keys[slot] != EMPTY) {
            const u32 place = ATOMIC_ADD(found, 1);
            if (place < room)
                list[place] = keys[slot];
        }
    TEAM_SYNC();
    n = *found;
#endif
    return n;
}

