// R A P for a P that has one entry a row, in column map[row], and an R with few: the entries of all rows
// of A that a row of R joins are sorted by their columns for the result and added up.
//
// COUNTING: only the lengths of rows are found; else `c_columns` may be null where they are known, and
// values of R and P where all are ones. Columns and places of entries are sorted together, so that
// sums are formed in the order of the entries. T is the type of values. ALONE: one thread has a row of up
// to so many entries, joined of up to JOINED rows, in its registers. Without, a team has SIZE entries in
// local memory, and ITEM is u64.

#include "teams.h"
#pragma default T f64
#pragma default ALONE 0
#pragma default COUNTING 0
#pragma default ITEM u64
#pragma block 128

#define CLASSES 6
#define JOINED 4

#if ALONE == 0 && SIZE == 0
// The class of a row of so many entries: up to 16, 32, 64, 128, 256 and 1024; CLASSES if there are more.
// Registers have no room for many rows.
FUNCTION u32 class_of(u64 work, u64 joined) {
    const u32 class_ = work <= 64 ? (work > 16) + (work > 32)
                                  : 3 + (work > 128) + (work > 256) + (work > 1024);
    return joined > JOINED ? max(class_, 3u) : class_;
}

// Lists of the rows of every class, `rows` apart, and their lengths, with that of rows too long for all;
// the number of empty rows.
KERNEL grouped_classes(u64 rows, GRAPH_OF(r), GLOBAL const u64 *RESTRICT offsets,
                       GLOBAL u32 *RESTRICT lists, GLOBAL u32 *counts) {
    LOCAL_ARRAY(u32, own, CLASSES + 2);
    LOCAL_ARRAY(u32, first, CLASSES + 2);
    const u32 thread = thread_of_block();
    for (u64 begin = (u64)block_of_grid() * BLOCK; begin < rows;
         begin += (u64)blocks_of_grid() * BLOCK) {
        BARRIER();
        if (thread < CLASSES + 2)
            own[thread] = 0;
        BARRIER();
        const u64 row = begin + thread;
        u32 mine = CLASSES, place = 0;
        if (row < rows) {
            u64 work = 0;
            for (u64 left = r_offsets[row]; left < r_offsets[row + 1]; ++left) {
                const u32 k = r_columns[left];
                work += offsets[k + 1] - offsets[k];
            }
            if (work == 0)
                ATOMIC_ADD(&own[CLASSES + 1], 1);
            mine = class_of(work, r_offsets[row + 1] - r_offsets[row]);
            place = ATOMIC_ADD(&own[mine], 1);
        }
        BARRIER();
        if (thread < CLASSES + 2 && own[thread])
            first[thread] = ATOMIC_ADD(&counts[thread], own[thread]);
        BARRIER();
        if (mine < CLASSES)
            lists[mine * rows + first[mine] + place] = (u32)row;
    }
}
#else

#define FACTORS                                                                                    \
    GLOBAL const u64 *RESTRICT offsets, GLOBAL const u32 *RESTRICT columns,                        \
        GLOBAL const u32 *RESTRICT map
#define VALUES                                                                                     \
    GLOBAL const T *RESTRICT r_values, GLOBAL const T *RESTRICT values,                            \
        GLOBAL const T *RESTRICT p_values
// The lengths of rows if COUNTING, else the rows.
#define RESULTS                                                                                    \
    GLOBAL u32 *RESTRICT lengths, GLOBAL const u64 *RESTRICT c_offsets,                            \
        GLOBAL u32 *RESTRICT c_columns, GLOBAL T *RESTRICT c_values

#if ALONE
// Bits of the place of an entry, below its column.
#define BITS (ALONE == 16 ? 4 : ALONE == 32 ? 5 : ALONE == 64 ? 6 : 7)
#define NOTHING 0xffffffffu
// Values that are on their way together.
#define AT_ONCE 8
// Compilers for processors take very long over what is unrolled.
#ifdef DIALECT_CUDA
#define EACH(k, count) FOR(k, count)
#define UNROLLED _Pragma("unroll")
#else
#define EACH(k, count) for (u32 k = 0; k < (count); k++)
#define UNROLLED
#endif

KERNEL grouped_rows(GLOBAL const u32 *RESTRICT rows, GLOBAL const u32 *RESTRICT given, GRAPH_OF(r),
                    FACTORS, VALUES, RESULTS) {
    const u64 count = *given;
    FOR_ITEMS(item, count) {
        const u32 row = rows[item];
        const u64 left = r_offsets[row];
        const u32 joined = (u32)(r_offsets[row + 1] - left);
        // Where entries of each of the joined rows would begin if all stood in one row, and end there.
        u64 from[JOINED];
        u32 ends[JOINED], n = 0;
        EACH(j, JOINED) {
            from[j] = 0;
            if (j < joined) {
                const u32 k = r_columns[left + j];
                const u64 begin = offsets[k];
                from[j] = begin - n;
                n += (u32)(offsets[k + 1] - begin);
            }
            ends[j] = n;
        }
#define FROM(k) ((k) < ends[0] ? from[0] : (k) < ends[1] ? from[1] : (k) < ends[2] ? from[2] : from[3])
        u32 keys[ALONE];
        EACH(k, ALONE) keys[k] = k < n ? columns[FROM(k) + k] : NOTHING;
        EACH(k, ALONE) keys[k] = k < n ? map[keys[k]] << BITS | k : NOTHING;
        UNROLLED for (u32 size = 2; size <= ALONE; size *= 2)
            UNROLLED for (u32 stride = size / 2; stride > 0; stride /= 2)
                EACH(k, ALONE)
                    if ((k & stride) == 0) {
                        const u32 a = keys[k], b = keys[k + stride];
                        const bool up = (k & size) == 0;
                        keys[k] = up ? min(a, b) : max(a, b);
                        keys[k + stride] = up ? max(a, b) : min(a, b);
                    }
#if COUNTING
        u32 length = n > 0;
        EACH(k, ALONE - 1) length += k + 1 < n && keys[k] >> BITS != keys[k + 1] >> BITS;
        lengths[row] = length;
#else
        u64 place = c_offsets[row];
        ARITH(T) sum = 0;
        UNROLLED for (u32 first = 0; first < ALONE; first += AT_ONCE) {
            ARITH(T) terms[AT_ONCE];
            EACH(i, AT_ONCE) {
                terms[i] = 0;
                if (first + i < n) {
                    const u32 at = keys[first + i] & ((1u << BITS) - 1);
                    const u32 j = (at >= ends[0]) + (at >= ends[1]) + (at >= ends[2]);
                    const u64 entry = FROM(at) + at;
                    terms[i] = LOAD(T, values, entry);
                    if (r_values)
                        terms[i] *= LOAD(T, r_values, left + j);
                    if (p_values)
                        terms[i] *= LOAD(T, p_values, columns[entry]);
                }
            }
            EACH(i, AT_ONCE) {
                const u32 k = first + i, column = keys[k] >> BITS;
                sum += terms[i];
                if (k + 1 == n || (k < n && keys[(k + 1) % ALONE] >> BITS != column)) {
                    if (c_columns)
                        c_columns[place] = column;
                    STORE(ARITH(T), T, c_values, place, sum);
                    ++place;
                    sum = 0;
                }
            }
        }
#endif
    }
}

#else

KERNEL grouped_rows(GLOBAL const u32 *RESTRICT rows, GLOBAL const u32 *RESTRICT given, GRAPH_OF(r),
                    FACTORS, VALUES, RESULTS) {
    LOCAL_ARRAY(u64, all_items, TEAMS *SIZE);
#if !COUNTING
    LOCAL_ARRAY(ARITH(T), all_terms, TEAMS *SIZE);
#endif
    LOCAL_ARRAY(u32, heads, BLOCK);
    TEAM_OF_BLOCK
    LOCAL u64 *items = all_items + team * SIZE;
    const u64 count = *given;
    FOR_ROWS(row, count, rows) {
        const u64 r_end = IS_SPARE(count) ? 0 : r_offsets[row + 1];
        u32 n = 0;
        for (u64 left = r_offsets[row]; left < r_end; ++left) {
            const u32 k = r_columns[left];
            const u64 begin = offsets[k];
            const u32 length = (u32)(offsets[k + 1] - begin);
            for (u32 at = member; at < length; at += TEAM) {
                const u32 column = columns[begin + at];
                items[n + at] = (u64)map[column] << 32 | (n + at);
#if !COUNTING
                ARITH(T) term = LOAD(T, values, begin + at);
                if (r_values)
                    term *= LOAD(T, r_values, left);
                if (p_values)
                    term *= LOAD(T, p_values, column);
                all_terms[team * SIZE + n + at] = term;
#endif
            }
            n += length;
        }
        TEAM_SYNC();
        sort(items, n, member);
        u32 before = 0;
        for (u32 first = 0; ANY(first < n); first += TEAM) {
            const u32 at = first + member, column = at < n ? (u32)(items[at] >> 32) : 0;
            const bool leads = at < n && (at == 0 || (u32)(items[at - 1] >> 32) != column);
            heads[thread_of_block()] = leads;
            TEAM_SYNC();
            u32 place = before;
            for (u32 other = 0; other < TEAM; ++other) {
                const u32 head = heads[team * THREADS + other];
                place += other < member ? head : 0;
                before += head;
            }
#if !COUNTING
            if (leads) {
                LOCAL const ARITH(T) *terms = all_terms + team * SIZE;
                ARITH(T) sum = terms[(u32)items[at]];
                for (u32 next = at + 1; next < n && (u32)(items[next] >> 32) == column; ++next)
                    sum += terms[(u32)items[next]];
                if (c_columns)
                    c_columns[c_offsets[row] + place] = column;
                STORE(ARITH(T), T, c_values, c_offsets[row] + place, sum);
            }
#endif
            TEAM_SYNC();
        }
#if COUNTING
        if (member == 0 && !IS_SPARE(count))
            lengths[row] = before;
#endif
        TEAM_SYNC();
    }
}
#endif
#endif
