// Products of sparse matrices with short rows: the rows of B that a row of A names are merged.
//
// A team has a row at a time, each thread of it LISTS rows of B, whose next columns it knows. The
// smallest of all is the next column of C. Of the values: types TA, TB, TC as they are stored, ACC to
// add in; a thread adds in the order of the columns of A. With KNOWN columns values alone are written.

#include "teams.h"
#pragma block 128

#define END 0xffffffffu
#define OWN (THREADS * LISTS / TEAM)
// Where a thread has so many that they are in memory anyway a loop is as good.
#if OWN > 16
#define EACH(k) for (u32 k = 0; k < OWN; k++)
#else
#define EACH(k) FOR(k, OWN)
#endif

#define PATTERNS                                                                                   \
    GLOBAL const u64 *RESTRICT a_offsets, GLOBAL const u32 *RESTRICT a_columns,                    \
        GLOBAL const u64 *RESTRICT b_offsets, GLOBAL const u32 *RESTRICT b_columns

// Rows of B: the next column, its place and where the row ends, for each.
#define HEADS u32 heads[OWN], places[OWN], ends[OWN];
#define LOAD_HEAD(k) heads[k] = places[k] < ends[k] ? b_columns[places[k]] : END;
#define FIND_HEADS(begin, end)                                                                     \
    EACH(k) {                                                                                      \
        const u64 left = (begin) + member * OWN + k;                                               \
        const u32 inner = left < (end) ? a_columns[left] : 0;                                      \
        places[k] = left < (end) ? (u32)b_offsets[inner] : 0;                                      \
        ends[k] = left < (end) ? (u32)b_offsets[inner + 1] : 0;                                    \
    }                                                                                              \
    EACH(k) LOAD_HEAD(k)

FUNCTION u32 smallest(const PRIVATE u32 *heads, LOCAL u32 *scratch) {
    u32 least = heads[0];
    EACH(k) least = min(least, heads[k]);
    return team_smallest(least, scratch);
}

// What a head has to be to go on: teams that are through wait for the others of a warp.
FUNCTION u32 wanted(u32 next) { return next != END ? next : END - 1; }

// Entries of rows.
KERNEL merged_count(u64 count, GLOBAL const u32 *RESTRICT rows, PATTERNS,
                    GLOBAL u32 *RESTRICT counts) {
    LOCAL_ARRAY(u32, scratch, BLOCK);
    TEAM_OF_BLOCK
    FOR_ROWS(row, count, rows) {
        HEADS
        FIND_HEADS(a_offsets[row], a_offsets[row + 1])
        u32 n = 0;
        for (u32 next = smallest(heads, scratch); ANY(next != END);
             next = smallest(heads, scratch)) {
            n += next != END;
            EACH(k)
                if (heads[k] == wanted(next)) {
                    ++places[k];
                    LOAD_HEAD(k)
                }
        }
        if (member == 0 && !IS_SPARE(count))
            counts[row] = n;
    }
}

// Rows whose lengths are known.
#if KNOWN
#define STORE_COLUMN(at, column)
#else
#define STORE_COLUMN(at, column) c_columns[at] = (column);
#endif
#ifdef TC
#define STORE_SUM(at, sum) STORE(ACC, TC, c_values, at, sum);
#else
#define STORE_SUM(at, sum)
#endif
#define WRITE(at, column, sum)                                                                     \
    {                                                                                              \
        STORE_COLUMN(at, column)                                                                   \
        STORE_SUM(at, sum)                                                                         \
    }

// Neighbours have to write neighbours. Every thread of a larger team keeps one of TEAM entries; those of
// smaller ones, whose warps go together, wait in local memory until there are STAGED of them, and the
// warp writes row after row.
#if defined(DIALECT_CUDA) && !defined(DIALECT_HIP) && THREADS < 8
#define STAGED 32
// Odd, so that rows begin in different banks.
#define PITCH (STAGED + 1)
#define STAGE LOCAL_ARRAY(u32, kept, TEAMS *PITCH);
#ifdef TC
#define STAGE_SUMS LOCAL_ARRAY(ACC, kept_sums, TEAMS *PITCH);
#define KEEP_SUM kept_sums[team * PITCH + n] = sum;
#else
#define STAGE_SUMS
#define KEEP_SUM
#endif
#define WRITE_KEPT                                                                                 \
    __syncwarp();                                                                                  \
    for (u32 lead = 0; lead < 32; lead += THREADS) {                                               \
        const u32 from = (team - lane() / THREADS + lead / THREADS) * PITCH + lane();              \
        const u64 to = SHUFFLE(at, lead) + lane();                                                 \
        if (lane() < SHUFFLE(own, lead))                                                           \
            WRITE(to, kept[from], kept_sums[from])                                                 \
    }                                                                                              \
    __syncwarp();
// `own` of the entries are there.
#define FIRST_PLACE                                                                                \
    u64 at = c_offsets[row];                                                                       \
    u32 n = 0, own = 0;
#define KEEP                                                                                       \
    if (member == 0) {                                                                             \
        kept[team * PITCH + n] = next;                                                             \
        KEEP_SUM                                                                                   \
    }                                                                                              \
    own += next != END;                                                                            \
    if (++n == STAGED) {                                                                           \
        WRITE_KEPT                                                                                 \
        at += STAGED;                                                                              \
        n = own = 0;                                                                               \
    }
#define WRITE_LAST WRITE_KEPT
#else
#define STAGE
#ifdef TC
#define STAGE_SUMS ACC own_sum = 0;
#define KEEP_SUM own_sum = n % TEAM == member ? sum : own_sum;
#else
#define STAGE_SUMS
#define KEEP_SUM
#endif
#define FIRST_PLACE                                                                                \
    u64 at = c_offsets[row] + member;                                                              \
    u32 n = 0, own = END;
#define KEEP                                                                                       \
    KEEP_SUM                                                                                       \
    own = n % TEAM == member ? next : own;                                                         \
    if (++n % TEAM == 0) {                                                                         \
        WRITE_LAST                                                                                 \
        own = END;                                                                                 \
        at += TEAM;                                                                                \
    }
#define WRITE_LAST                                                                                 \
    if (own != END)                                                                                \
        WRITE(at, own, own_sum)
#endif

#ifdef TC
KERNEL merged_rows(u64 count, GLOBAL const u32 *RESTRICT rows, PATTERNS,
                   GLOBAL const u64 *RESTRICT c_offsets, GLOBAL u32 *RESTRICT c_columns,
                   GLOBAL const TA *RESTRICT a_values, GLOBAL const TB *RESTRICT b_values,
                   GLOBAL TC *RESTRICT c_values) {
#else
KERNEL merged_columns(u64 count, GLOBAL const u32 *RESTRICT rows, PATTERNS,
                      GLOBAL const u64 *RESTRICT c_offsets, GLOBAL u32 *RESTRICT c_columns) {
#endif
    LOCAL_ARRAY(u32, scratch, BLOCK);
    STAGE
    STAGE_SUMS
#ifdef TC
    LOCAL_ARRAY(ACC, sums, BLOCK);
    ACC weights[OWN], values[OWN];
#endif
    TEAM_OF_BLOCK
    FOR_ROWS(row, count, rows) {
        const u64 begin = a_offsets[row], end = IS_SPARE(count) ? 0 : a_offsets[row + 1];
        HEADS
        FIND_HEADS(begin, end)
#ifdef TC
        EACH(k) {
            const u64 left = begin + member * OWN + k;
            weights[k] = left < end ? LOAD(TA, a_values, left) : (ACC)0;
        }
#endif
        FIRST_PLACE
        for (u32 next = smallest(heads, scratch); ANY(next != END);
             next = smallest(heads, scratch)) {
            // All that comes from memory is on its way before any of it is added.
            bool hits[OWN];
            EACH(k) {
                hits[k] = heads[k] == wanted(next);
                if (hits[k]) {
#ifdef TC
                    values[k] = LOAD(TB, b_values, places[k]);
#endif
                    ++places[k];
                    LOAD_HEAD(k)
                }
            }
#ifdef TC
            ACC sum = 0;
            EACH(k) sum = hits[k] ? sum + MULTIPLY(ACC, weights[k], values[k]) : sum;
            sum = TEAM_SUM(ACC, sum, sums);
#endif
            KEEP
        }
        WRITE_LAST
    }
}
