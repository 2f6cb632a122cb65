// Products of sparse matrices: each row of C = A B is gathered in a table of its columns.
//
// A team has a row at a time, and a table of SLOTS slots.
// Of the values: types TA, TB, TC as they are stored, ACC to add in. The columns of a row of B differ,
// so that its products go to different sums; the rows of B come one after the other: sums are formed
// in the order of the columns of A, without atomics.
//
// MAPPED: C = A B P with a matrix P that has one entry a row, in column map[row]. Then columns of a
// row of B may be the same for C: the first of these threads adds for all, in their order.
//
// BITMAPS: what is called an entry is a tile of 4 by 4 with a map of its entries, in which bit 4 r + c is that of row r in column c. Tiles that have no product are passed over.
//
// CHUNKS: of a row of B a thread has so many entries on their way, one by default.
//
// SEVERAL: a team has entries of several rows of B at a time (several_rows.h).
//
// ONCE: rows are not counted before. Each is left in the room that there is for it, and moved when all are known; what has more
// entries is made again in a larger table.

#include "teams.h"
#include "classes.h"
#include "product_tables.h"
#include "several_rows.h"
#pragma default MAPPED 0
#pragma block 128

// ---- how much there is to do

// For every row the number of its products where these are `few` or fewer, else what they are expected to leave, at least so many: one entry for `share` of them.
// Half of that where it would be more than `many`: more of many products fall together. Classes are counted, and behind these is noted whether a row may have more entries than expected.
KERNEL product_work(u64 count, u32 most, u32 share, u32 few, u32 many, PATTERNS,
                    GLOBAL u32 *RESTRICT guesses, GLOBAL u32 *counts) {
    LOCAL_ARRAY(u32, scratch, BLOCK);
    LOCAL_ARRAY(u32, own, CLASSES + 1);
    const u32 team = thread_of_block() / THREADS, member = thread_of_block() % THREADS;
    GLOBAL const u32 *rows = 0;
    u32 largest = 0;
    clear_classes(own);
    // Threads that no team has a place for wait at the end.
    if (member < TEAM)
        FOR_ROWS(row, count, rows) {
            u64 mine = 0;
            for (u64 left = a_offsets[row] + member; left < a_offsets[row + 1]; left += TEAM)
                mine += b_offsets[a_columns[left] + 1] - b_offsets[a_columns[left]];
            const u32 work = team_sum_u32((u32)min(mine, (u64)(0xffffffffu / TEAM)), scratch);
            u32 guess = work <= few ? work : max(work / share, few);
            if (guess > many)
                guess = max(guess / 2, many);
            guess = min(guess, most);
            if (member == 0 && !IS_SPARE(count)) {
                guesses[row] = guess;
                largest = max(largest, guess);
                ATOMIC_ADD(&own[class_of(guess)], 1);
                if (guess < min(work, most))
                    counts[CLASSES + 1] = 1;
            }
        }
    if (member == 0)
        ATOMIC_MAX(&own[CLASSES], largest);
    add_classes(own, counts);
}

// ---- where the entries stand

// `each(column)` for all products of a row; neighbours share a row of B, `width` of them. Fetching where
// several rows of B begin first, as `product_values` does, was slower.
#define FOR_PRODUCTS(row, column)                                                                  \
    for (u64 left = a_offsets[row] + member / width; left < a_offsets[row + 1];                    \
         left += TEAM / width)                                                                     \
        for (u64 k = a_columns[left], right = b_offsets[k] + member % width, column;               \
             right < b_offsets[k + 1] && (column = COLUMN(right), true); right += width)

// Of tiles with BITMAPS alone.
#define MAPS GLOBAL const u16 *RESTRICT a_maps, GLOBAL const u16 *RESTRICT b_maps
#if BITMAPS
// Whether a column of the left tile that has entries is a row of the right one that has some.
FUNCTION bool have_product(u32 left, u32 right) {
    const u32 columns = (left | left >> 4 | left >> 8 | left >> 12) & 15;
    u32 rows = 0;
    FOR(q, 4) rows |= (right >> 4 * q & 15u ? 1u : 0u) << q;
    return (columns & rows) != 0;
}
#define HAVE_PRODUCT(left, right) have_product(a_maps[left], b_maps[right])
#else
#define HAVE_PRODUCT(left, right) true
#endif

// Turns after which a table in local memory counts as full: those that are large enough need few.
#if SLOTS > 0
#define TURNS min(slots, 256u)
#else
#define TURNS slots
#endif

// Entries of rows. Those whose table is too small go to the list `again`.
KERNEL product_count(u64 count, GLOBAL const u32 *RESTRICT rows, u32 given_width, PATTERNS,
                     MAPS, TABLE_PARAMETERS, GLOBAL u32 *RESTRICT counts, GLOBAL u32 *again,
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
            if (!HAVE_PRODUCT(left, right))
                continue;
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
                       MAPS, TABLE_PARAMETERS, GLOBAL const u64 *RESTRICT c_offsets,
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
            if (HAVE_PRODUCT(left, right))
                claim(keys, slots, (u32)column);
        TEAM_SYNC();
        list_keys(keys, slots, member, &found[team], list, n);
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
#ifndef CHUNKS
#define CHUNKS 1
#endif
// With FRESH columns these are found on the way, sorted if SORTED; else they are known.
#if ONCE
#define PLACE(slot, column) const u32 slot = claim_or_tell(keys, slots, column, &full[team]);
#define IS_PLACED(slot) (slot != EMPTY)
#elif FRESH
#define PLACE(slot, column) const u32 slot = claim(keys, slots, column);
#else
#define PLACE(slot, column) const u32 slot = find(keys, slots, column);
#endif
#ifndef IS_PLACED
#define IS_PLACED(slot) true
#endif
#define ADD(column, value)                                                                         \
    {                                                                                              \
        const u32 wanted = (column);                                                               \
        PLACE(slot, wanted)                                                                        \
        if (IS_PLACED(slot))                                                                       \
            sums[slot] += (value);                                                                 \
    }

#if ONCE
#define IS_FULL (full[team] != 0)
#else
#define IS_FULL false
#endif

// The slot of a column; EMPTY, with a flag, where the table is full.
FUNCTION u32 claim_or_tell(volatile SPACE u32 *keys, u32 slots, u32 column, LOCAL u32 *full) {
    bool is_new;
    const u32 slot = claim_within(TURNS, keys, slots, column, &is_new);
    if (slot == EMPTY)
        ATOMIC_OR(full, 1);
    return slot;
}

#define FACTORS                                                                                    \
    GLOBAL const TA *RESTRICT a_values, GLOBAL const TB *RESTRICT b_values,                        \
        GLOBAL const TB *RESTRICT p_values
#if ONCE
// There are `room` entries for each row from `first_place` on, in the order of the list of rows. Places and numbers of entries are written, and the rows that have more
// go to the list `again`. There may be fewer rows than the host knows of: `given_count`, unless that is null.
KERNEL product_rows(u64 count, GLOBAL const u32 *RESTRICT rows, PATTERNS, TABLE_PARAMETERS,
                    GLOBAL ACC *global_sums, FACTORS, GLOBAL const u32 *given_count, u64 first_place,
                    u32 room, GLOBAL u64 *RESTRICT places, GLOBAL u32 *RESTRICT counts,
                    GLOBAL u32 *again, GLOBAL u32 *again_count, GLOBAL u32 *c_columns,
                    GLOBAL TC *RESTRICT c_values) {
#else
// It is known where rows are to stand, and unless columns are FRESH these, too.
KERNEL product_values(u64 count, GLOBAL const u32 *RESTRICT rows, PATTERNS, TABLE_PARAMETERS,
                      GLOBAL ACC *global_sums, FACTORS, GLOBAL const u64 *RESTRICT c_offsets,
                      GLOBAL const u32 *RESTRICT known_columns, GLOBAL u32 *c_columns,
                      GLOBAL TC *RESTRICT c_values) {
#endif
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
#if ONCE
    LOCAL_ARRAY(u32, full, TEAMS);
    if (given_count)
        count = min(count, (u64)*given_count);
#endif
#if MAPPED
    LOCAL_ARRAY(u32, columns, BLOCK);
    LOCAL_ARRAY(ACC, values, BLOCK);
#else
    LOCAL_ARRAY(u64, begins, BLOCK);
    LOCAL_ARRAY(u32, lengths, BLOCK);
    LOCAL_ARRAY(ACC, weights, BLOCK);
#endif
#if SEVERAL
    LOCAL_ARRAY(u32, scratch, BLOCK);
    LOCAL_ARRAY(ACC, products, BLOCK);
#endif
    TEAM_OF_BLOCK
    FOR_ROWS(row, count, rows) {
#if ONCE
        const u64 begin = first_place + (first_ + team) * room;
        if (member == 0)
            full[team] = 0;
        TEAM_SYNC();
#else
        const u64 begin = c_offsets[row];
        const u32 n = IS_SPARE(count) ? 0 : (u32)(c_offsets[row + 1] - begin);
#endif
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
            claim(keys, slots, known_columns[begin + k]);
#endif
#if MAPPED
        TEAM_SYNC();
        for (; ANY(left < a_end); ++left) {
            const u32 k = left < a_end ? a_columns[left] : 0;
            const ACC weight = left < a_end ? LOAD(TA, a_values, left) : (ACC)0;
            const u64 right_end = left < a_end ? b_offsets[k + 1] : 0;
            for (u64 next = b_offsets[k]; ANY(next < right_end); next += TEAM) {
                const u64 right = next + member;
                const u32 inner = right < right_end ? b_columns[right] : 0;
                const u32 column = right < right_end ? map[inner] : EMPTY;
                columns[thread_of_block()] = column;
                values[thread_of_block()] =
                    right < right_end
                        ? MULTIPLY(ACC, MULTIPLY(ACC, weight, LOAD(TB, b_values, right)),
                                   LOAD(TB, p_values, inner))
                        : (ACC)0;
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
#elif SEVERAL
        // The team fetches where rows of B begin and end, then adds their entries, with IN_FLIGHT for each thread on their way.
        const u32 own = team * THREADS;
        for (; ANY(left < a_end); left += TEAM) {
            const u32 entries = left < a_end && !IS_FULL ? (u32)min(a_end - left, (u64)TEAM) : 0;
            TEAM_SYNC();
            u64 begin_of_row = 0;
            u32 length = 0;
            if (member < entries) {
                const u32 k = a_columns[left + member];
                begin_of_row = b_offsets[k];
                length = (u32)(b_offsets[k + 1] - begin_of_row);
                weights[own + member] = LOAD(TA, a_values, left + member);
            }
            const u32 end = sum_up_to(length, member, scratch + own);
            lengths[own + member] = end;
            begins[own + member] = begin_of_row - (end - length);
            TEAM_SYNC();
            const u32 all = lengths[own + TEAM - 1];
            for (u32 first = member; ANY(first - member < all); first += IN_FLIGHT * TEAM) {
                u32 columns[IN_FLIGHT];
                ACC values[IN_FLIGHT], factors[IN_FLIGHT];
                FOR(k, IN_FLIGHT) {
                    const u32 entry = first + k * TEAM, its = own + row_of_entry(lengths + own, entry);
                    columns[k] = entry < all ? b_columns[begins[its] + entry] : EMPTY;
                    values[k] = entry < all ? LOAD(TB, b_values, begins[its] + entry) : (ACC)0;
                    factors[k] = entry < all ? weights[its] : (ACC)0;
                }
                FOR(k, IN_FLIGHT)
                    if (ANY(first - member + k * TEAM < all)) {
                        u32 slot = EMPTY;
                        if (columns[k] != EMPTY) {
                            PLACE(found_slot, columns[k])
                            slot = found_slot;
                        }
                        add_in_order(slot, MULTIPLY(ACC, factors[k], values[k]), member, sums,
                                     products + own, scratch + own);
                    }
            }
        }
#else
        // The team fetches where rows of B begin, then adds these, with IN_FLIGHT of them on their way: CHUNKS entries for each thread.
        for (; ANY(left < a_end); left += TEAM) {
            const u32 entries = left < a_end && !IS_FULL ? (u32)min(a_end - left, (u64)TEAM) : 0;
            TEAM_SYNC();
            if (member < entries) {
                const u32 k = a_columns[left + member];
                begins[thread_of_block()] = b_offsets[k];
                lengths[thread_of_block()] = (u32)(b_offsets[k + 1] - b_offsets[k]);
                weights[thread_of_block()] = LOAD(TA, a_values, left + member);
            }
            TEAM_SYNC();
            for (u32 first = 0; ANY(first < entries); first += IN_FLIGHT) {
                u32 columns[IN_FLIGHT][CHUNKS];
                ACC values[IN_FLIGHT][CHUNKS];
                FOR(k, IN_FLIGHT) {
                    const u32 its = team * THREADS + min(first + k, TEAM - 1u);
                    FOR(c, CHUNKS) {
                        const u32 own = c * TEAM + member;
                        const bool present = first + k < entries && own < lengths[its];
                        columns[k][c] = present ? b_columns[begins[its] + own] : EMPTY;
                        values[k][c] = present ? LOAD(TB, b_values, begins[its] + own) : (ACC)0;
                    }
                }
                FOR(k, IN_FLIGHT) {
                    const u32 its = team * THREADS + min(first + k, TEAM - 1u);
                    const u32 length = first + k < entries ? lengths[its] : 0;
                    FOR(c, CHUNKS)
                        if (columns[k][c] != EMPTY)
                            ADD(columns[k][c], MULTIPLY(ACC, weights[its], values[k][c]))
                    for (u32 more = CHUNKS * TEAM + member; more < length; more += TEAM)
                        ADD(b_columns[begins[its] + more],
                            MULTIPLY(ACC, weights[its], LOAD(TB, b_values, begins[its] + more)))
                    TEAM_SYNC();
                }
            }
        }
#endif
#if FRESH
#if ONCE
        const u32 all = list_keys(keys, slots, member, &found[team], list, room);
        const bool fits = all <= room && !IS_FULL, is_own = !IS_SPARE(count);
        const u32 n = fits && is_own ? all : 0;
        if (member == 0 && is_own) {
            places[row] = begin;
            counts[row] = n;
            if (!fits)
                again[ATOMIC_ADD(again_count, 1)] = (u32)row;
        }
#else
        list_keys(keys, slots, member, &found[team], list, n);
#endif
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
            STORE(ACC, TC, c_values, begin + k, sums[find(keys, slots, known_columns[begin + k])]);
#endif
        TEAM_SYNC();
    }
}

// Rows from where they were left to where they stand.
KERNEL move_rows(u64 count, GLOBAL const u64 *RESTRICT places,
                 GLOBAL const u32 *RESTRICT from_columns, GLOBAL const TC *RESTRICT from_values,
                 NEW_CSR(TC, c)) {
    TEAM_OF_BLOCK
    GLOBAL const u32 *rows = 0;
    FOR_ROWS(row, count, rows) {
        const u64 from = places[row], to = c_offsets[row];
        const u32 n = IS_SPARE(count) ? 0 : (u32)(c_offsets[row + 1] - to);
        for (u32 k = member; k < n; k += TEAM) {
            c_columns[to + k] = from_columns[from + k];
            c_values[to + k] = from_values[from + k];
        }
    }
}
#endif
