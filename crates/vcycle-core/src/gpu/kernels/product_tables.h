// Tables of the columns of a row, for a team (teams.h): SLOTS slots in local memory, or as many as a kernel is given in memory of the device.
//
// MAPPED: columns are those of P, which has one entry a row, in column map[row].

#define EMPTY 0xffffffffu

// Tables in global memory: `slots` of them for every block.
#define TABLE_PARAMETERS u32 global_slots, GLOBAL u32 *global_keys
#if SLOTS > 0
#define TABLE                                                                                      \
    LOCAL_ARRAY(u32, all_keys, TEAMS *SLOTS);                                                      \
    LOCAL u32 *keys = all_keys + thread_of_block() / THREADS * SLOTS;                              \
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

FUNCTION u32 first_slot(u32 column, u32 slots) {
    return (u32)((u64)(column * 0x9e3779b1u) * slots >> 32);
}

// The slot of a column that is in the table.
FUNCTION u32 find(const SPACE u32 *keys, u32 slots, u32 column) {
    u32 slot = first_slot(column, slots);
    while (keys[slot] != column)
        slot = slot + 1 < slots ? slot + 1 : 0;
    return slot;
}

// The slot of a column, which is put there if it is not in the table; EMPTY if there is no room within
// so many `turns`.
FUNCTION u32 claim_within(u32 turns, volatile SPACE u32 *keys, u32 slots, u32 column,
                          PRIVATE bool *is_new) {
    u32 slot = first_slot(column, slots);
    for (u32 turn = 0; turn < turns; ++turn) {
        u32 found = keys[slot];
        if (found == EMPTY) {
            found = ATOMIC_CAS((SPACE u32 *)&keys[slot], EMPTY, column);
            *is_new = found == EMPTY;
        }
        if (found == EMPTY || found == column)
            return slot;
        slot = slot + 1 < slots ? slot + 1 : 0;
    }
    return EMPTY;
}

FUNCTION u32 claim(volatile SPACE u32 *keys, u32 slots, u32 column) {
    bool is_new;
    return claim_within(slots, keys, slots, column, &is_new);
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

