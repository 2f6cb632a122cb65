// Products of sparse matrices: each row of C = A B is gathered in a table of its columns.
//
// A team has a row at a time, and a table of SLOTS slots.
// Of the values: types TA, TB, TC as they are stored, ACC to add in. The columns of a row of B differ,
// so that its products go to different sums; the rows of B come one after the other: sums are formed
// in the order of the columns of A, without atomics.
//
// MAPPED: C = A B P with a matrix P that has one entry a row, in column map[row]. Then columns of a
// row of B may be the same for C: the first of these threads adds for all, in their order.

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

// The keys of a table, in any order; `found` is 0.
FUNCTION void list_keys(const SPACE u32 *keys, u32 slots, u32 member, LOCAL u32 *found,
                        SPACE u32 *list) {
#ifdef TEAM_FLAGS
    u32 n = 0;
    for (u32 slot = member; slot < slots; slot += TEAM) {
        const u32 key = keys[slot], flags = TEAM_FLAGS(key != EMPTY);
        if (key != EMPTY)
            list[n + BITS_SET(flags & ((1u << member) - 1))] = key;
        n += BITS_SET(flags);
    }
#else
    for (u32 slot = member; slot < slots; slot += TEAM)
        if (keys[slot] != EMPTY)
            list[ATOMIC_ADD(found, 1)] = keys[slot];
#endif
    TEAM_SYNC();
}

// ---- how much there is to do

// Products for every row, at most 2^32 - 2, and how many entries are expected at most.
KERNEL product_work(u64 rows, u32 most, PATTERNS, GLOBAL u32 *RESTRICT guesses) {
    FOR_ITEMS(row, rows) {
        u64 work = 0;
        for (u64 left = a_offsets[row]; left < a_offsets[row + 1]; ++left) {
            const u32 k = a_columns[left];
            work += b_offsets[k + 1] - b_offsets[k];
        }
        const u64 guess = work <= 128 ? work : work / 4 < 128 ? 128 : work / 4;
        guesses[row] = (u32)min(guess, (u64)most);
    }
}

// ---- where the entries stand

// `each(column)` for all products of a row; neighbours share a row of B, `width` of them. Fetching where
// several rows of B begin first, as `product_values` does, was slower.
#define FOR_PRODUCTS(row, column)                                                                  \
    for (u64 left = a_offsets[row] + member / width; left < a_offsets[row + 1];                    \
         left += TEAM / width)                                                                     \
        for (u64 k = a_columns[left], right = b_offsets[k] + member % width, column;               \
             right < b_offsets[k + 1] && (column = COLUMN(right), true); right += width)

// Turns after which a table in local memory counts as full: those that are large enough need few.
#if SLOTS > 0
#define TURNS min(slots, 256u)
#else
#define TURNS slots
#endif

// Entries of rows. Those whose table is too small go to the list `again`.
KERNEL product_count(u64 count, GLOBAL const u32 *RESTRICT rows, u32 given_width, PATTERNS,
                     TABLE_PARAMETERS, GLOBAL u32 *RESTRICT counts, GLOBAL u32 *again,
                     GLOBAL u32 *again_count) {
    TABLE
    LOCAL_ARRAY(u32, found, TEAMS);
    TEAM_OF_BLOCK
    const u32 width = min(given_width, (u32)TEAM);
    FOR_ROWS(row, count, rows) {
        clear(keys, slots, member);
        if (member == 0)
            found[team] = 0;
        TEAM_SYNC();
        u32 mine = 0;
        FOR_PRODUCTS(row, column) {
            bool is_new = false;
            const u32 slot = claim_within(TURNS, keys, slots, (u32)column, &is_new);
            mine += is_new;
            if (slot == EMPTY) {
                // So many that the sum tells.
                mine = 1u << 31;
                left = a_offsets[row + 1];
                break;
            }
        }
        if (mine >= 1u << 31)
            ATOMIC_OR(&found[team], 1u << 31);
        else if (mine)
            ATOMIC_ADD(&found[team], mine);
        TEAM_SYNC();
        if (member == 0 && !IS_SPARE(count)) {
            const u32 all = found[team];
            counts[row] = all;
            if (all >> 31)
                again[ATOMIC_ADD(again_count, 1)] = (u32)row;
        }
        TEAM_SYNC();
    }
}

// Columns are listed as they come: in local memory, or where they are to stand.
#if SLOTS > 0
#define LISTS LOCAL_ARRAY(u32, lists, TEAMS *SIZE);
#define LIST(out) (lists + team * SIZE)
#else
#define LISTS
#define LIST(out) (out)
#endif

// More slots count alone: there is no room for a list beside them.
#if SLOTS <= 4096
// The columns of rows whose lengths are known, sorted.
KERNEL product_columns(u64 count, GLOBAL const u32 *RESTRICT rows, u32 given_width, PATTERNS,
                       TABLE_PARAMETERS, GLOBAL const u64 *RESTRICT c_offsets,
                       GLOBAL u32 *c_columns) {
    TABLE
    LISTS
    LOCAL_ARRAY(u32, found, TEAMS);
    TEAM_OF_BLOCK
    const u32 width = min(given_width, (u32)TEAM);
    FOR_ROWS(row, count, rows) {
        GLOBAL u32 *out = c_columns + c_offsets[row];
        const u32 n = IS_SPARE(count) ? 0 : (u32)(c_offsets[row + 1] - c_offsets[row]);
        SPACE u32 *list = LIST(out);
        clear(keys, slots, member);
        if (member == 0)
            found[team] = 0;
        TEAM_SYNC();
        FOR_PRODUCTS(row, column)
            claim(keys, slots, (u32)column);
        TEAM_SYNC();
        list_keys(keys, slots, member, &found[team], list);
        sort(list, n, member);
#if SLOTS > 0
        for (u32 k = member; k < n; k += TEAM)
            out[k] = list[k];
#endif
        TEAM_SYNC();
    }
}
#endif

// ---- values

#ifdef TC
#if MAPPED
#define MAPPED_VALUES GLOBAL const TB *RESTRICT p_values,
#else
#define MAPPED_VALUES
#endif
// With FRESH columns these are found on the way, sorted if SORTED; else they are known.
#if FRESH
#define PLACE(slot, column) const u32 slot = claim(keys, slots, column);
#define FRESH_COLUMNS GLOBAL u32 *
#else
#define PLACE(slot, column) const u32 slot = find(keys, slots, column);
#define FRESH_COLUMNS GLOBAL const u32 *RESTRICT
#endif
#define ADD(column, value)                                                                         \
    {                                                                                              \
        const u32 wanted = (column);                                                               \
        PLACE(slot, wanted)                                                                        \
        sums[slot] += (value);                                                                     \
    }

// The values of rows whose lengths are known.
KERNEL product_values(u64 count, GLOBAL const u32 *RESTRICT rows, PATTERNS, TABLE_PARAMETERS,
                      GLOBAL ACC *global_sums, GLOBAL const TA *RESTRICT a_values,
                      GLOBAL const TB *RESTRICT b_values, MAPPED_VALUES
                      GLOBAL const u64 *RESTRICT c_offsets, FRESH_COLUMNS c_columns,
                      GLOBAL TC *RESTRICT c_values) {
    TABLE
#if SLOTS > 0
    LOCAL_ARRAY(ACC, all_sums, TEAMS *SLOTS);
    LOCAL ACC *sums = all_sums + thread_of_block() / THREADS * SLOTS;
#else
    GLOBAL ACC *sums = global_sums + (u64)block_of_grid() * global_slots;
#endif
#if FRESH
    LISTS
    LOCAL_ARRAY(u32, found, TEAMS);
#endif
#if MAPPED
    LOCAL_ARRAY(u32, columns, BLOCK);
    LOCAL_ARRAY(ACC, values, BLOCK);
#else
    LOCAL_ARRAY(u64, begins, BLOCK);
    LOCAL_ARRAY(u32, lengths, BLOCK);
    LOCAL_ARRAY(ACC, weights, BLOCK);
#endif
    TEAM_OF_BLOCK
    FOR_ROWS(row, count, rows) {
        const u64 begin = c_offsets[row];
        const u32 n = IS_SPARE(count) ? 0 : (u32)(c_offsets[row + 1] - begin);
        const u64 a_end = IS_SPARE(count) ? 0 : a_offsets[row + 1];
        u64 left = a_offsets[row];
        clear(keys, slots, member);
        for (u32 slot = member; slot < slots; slot += TEAM)
            sums[slot] = 0;
#if FRESH
        SPACE u32 *list = LIST(c_columns + begin);
        if (member == 0)
            found[team] = 0;
#else
        TEAM_SYNC();
        for (u32 k = member; k < n; k += TEAM)
            claim(keys, slots, c_columns[begin + k]);
#endif
#if MAPPED
        TEAM_SYNC();
        for (; ANY(left < a_end); ++left) {
            const u32 k = left < a_end ? a_columns[left] : 0;
            const ACC weight = left < a_end ? LOAD(TA, a_values, left) : 0;
            const u64 right_end = left < a_end ? b_offsets[k + 1] : 0;
            for (u64 next = b_offsets[k]; ANY(next < right_end); next += TEAM) {
                const u64 right = next + member;
                const u32 inner = right < right_end ? b_columns[right] : 0;
                const u32 column = right < right_end ? map[inner] : EMPTY;
                columns[thread_of_block()] = column;
                values[thread_of_block()] =
                    right < right_end
                        ? weight * LOAD(TB, b_values, right) * LOAD(TB, p_values, inner)
                        : 0;
                TEAM_SYNC();
                bool leads = column != EMPTY;
                for (u32 other = 0; other < member; ++other)
                    leads = leads && columns[team * THREADS + other] != column;
                if (leads) {
                    PLACE(slot, column)
                    ACC sum = sums[slot];
                    for (u32 other = member; other < TEAM; ++other)
                        if (columns[team * THREADS + other] == column)
                            sum += values[team * THREADS + other];
                    sums[slot] = sum;
                }
                TEAM_SYNC();
            }
        }
#else
        // The team fetches where rows of B begin, then adds these, with IN_FLIGHT of them on their way.
        for (; ANY(left < a_end); left += TEAM) {
            const u32 entries = left < a_end ? (u32)min(a_end - left, (u64)TEAM) : 0;
            TEAM_SYNC();
            if (member < entries) {
                const u32 k = a_columns[left + member];
                begins[thread_of_block()] = b_offsets[k];
                lengths[thread_of_block()] = (u32)(b_offsets[k + 1] - b_offsets[k]);
                weights[thread_of_block()] = LOAD(TA, a_values, left + member);
            }
            TEAM_SYNC();
            for (u32 first = 0; ANY(first < entries); first += IN_FLIGHT) {
                u32 columns[IN_FLIGHT];
                ACC values[IN_FLIGHT];
                FOR(k, IN_FLIGHT) {
                    const u32 its = team * THREADS + min(first + k, TEAM - 1u);
                    const bool present = first + k < entries && member < lengths[its];
                    columns[k] = present ? b_columns[begins[its] + member] : EMPTY;
                    values[k] = present ? LOAD(TB, b_values, begins[its] + member) : 0;
                }
                FOR(k, IN_FLIGHT) {
                    const u32 its = team * THREADS + min(first + k, TEAM - 1u);
                    const u32 length = first + k < entries ? lengths[its] : 0;
                    if (columns[k] != EMPTY)
                        ADD(columns[k], weights[its] * values[k])
                    for (u32 more = member + TEAM; more < length; more += TEAM)
                        ADD(b_columns[begins[its] + more],
                            weights[its] * LOAD(TB, b_values, begins[its] + more))
                    TEAM_SYNC();
                }
            }
        }
#endif
#if FRESH
        list_keys(keys, slots, member, &found[team], list);
#if SORTED
        sort(list, n, member);
#endif
        for (u32 k = member; k < n; k += TEAM) {
            const u32 own = list[k];
            c_columns[begin + k] = own;
            STORE(ACC, TC, c_values, begin + k, sums[find(keys, slots, own)]);
        }
#else
        for (u32 k = member; k < n; k += TEAM)
            STORE(ACC, TC, c_values, begin + k, sums[find(keys, slots, c_columns[begin + k])]);
#endif
        TEAM_SYNC();
    }
}
#endif
