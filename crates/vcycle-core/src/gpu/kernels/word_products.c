// Products of sparse matrices whose rows have several columns in a word of 32: C = A B.
//
// The pattern of B is a list of words for every row, each with its number and a bit for every column that is there. A team has a row of C
// at a time, with a bit for every column between its first and its last, SPAN words at most. Rows of B are joined word by word; then the
// number of bits before a column is its place in the row. Nothing is looked up in a table, and columns are sorted as they are.
//
// Sums stand in local memory, or where they are to stand if there are more than SIZE of them. They are formed in the order of the columns of A, as those
// of products.c.

#include "teams.h"
#pragma block 128

#define EMPTY 0xffffffffu

// ---- words of B and spans of C

// How many words the rows have, and the first and the last one.
KERNEL count_words(u64 rows, GRAPH_OF(b), GLOBAL u32 *RESTRICT counts,
                   GLOBAL uint2 *RESTRICT bounds) {
    FOR_ITEMS(row, rows) {
        u32 count = 0;
        uint2 bound;
        bound.x = EMPTY;
        bound.y = EMPTY;
        for (u64 place = b_offsets[row]; place < b_offsets[row + 1]; ++place) {
            const u32 word = b_columns[place] / 32;
            count += word != bound.y;
            bound.x = min(bound.x, word);
            bound.y = word;
        }
        counts[row] = count;
        bounds[row] = bound;
    }
}

KERNEL list_words(u64 rows, GRAPH_OF(b), GLOBAL const u64 *RESTRICT word_offsets,
                  GLOBAL uint2 *RESTRICT words) {
    FOR_ITEMS(row, rows) {
        u64 place = b_offsets[row];
        for (u64 at = word_offsets[row]; at < word_offsets[row + 1]; ++at) {
            uint2 word;
            word.x = b_columns[place] / 32;
            word.y = 0;
            for (; place < b_offsets[row + 1] && b_columns[place] / 32 == word.x; ++place)
                word.y |= 1u << b_columns[place] % 32;
            words[at] = word;
        }
    }
}

// The first word of a row of C, and the most words that one spans.
FUNCTION void note_span(u64 row, u32 first, u32 last, GLOBAL u32 *firsts,
                        volatile GLOBAL u32 *most) {
    const u32 span = first == EMPTY ? 0 : last - first + 1;
    firsts[row] = first;
    if (span > *most)
        ATOMIC_MAX((GLOBAL u32 *)most, span);
}

KERNEL product_spans(u64 rows, GRAPH_OF(a), GLOBAL const uint2 *RESTRICT bounds,
                     GLOBAL u32 *RESTRICT firsts, GLOBAL u32 *most) {
    FOR_ITEMS(row, rows) {
        u32 first = EMPTY, last = 0;
        for (u64 left = a_offsets[row]; left < a_offsets[row + 1]; ++left) {
            const uint2 bound = bounds[a_columns[left]];
            first = min(first, bound.x);
            last = max(last, bound.x == EMPTY ? 0 : bound.y);
        }
        note_span(row, first, last, firsts, most);
    }
}

// The same for rows of C that are known.
KERNEL known_spans(u64 rows, GRAPH_OF(c), GLOBAL u32 *RESTRICT firsts, GLOBAL u32 *most) {
    FOR_ITEMS(row, rows) {
        const u64 begin = c_offsets[row], end = c_offsets[row + 1];
        const u32 first = begin < end ? c_columns[begin] / 32 : EMPTY;
        note_span(row, first, begin < end ? c_columns[end - 1] / 32 : 0, firsts, most);
    }
}

// ---- bits of a row of C

#ifdef SPAN
// A thread has PART neighbouring words, with one left free behind them: so those of all threads are in different banks.
#define PART (SPAN / TEAM)
#define ROOM (SPAN + THREADS)
#define AT(word) ((word) + (word) / PART)
#if SIZE > 0 || SPAN <= 2048
#define RANK u16
#else
#define RANK u32
#endif

#define BITS                                                                                       \
    LOCAL_ARRAY(u32, all_bits, TEAMS *ROOM);                                                       \
    LOCAL_ARRAY(u32, counts_of_threads, BLOCK);                                                    \
    LOCAL u32 *bits = all_bits + thread_of_block() / THREADS * ROOM;                               \
    LOCAL u32 *of_threads = counts_of_threads + thread_of_block() / THREADS * THREADS;

FUNCTION void set_bits(volatile LOCAL u32 *bits, u32 word, u32 mask) {
    volatile LOCAL u32 *own = bits + AT(word);
    if ((*own & mask) != mask)
        ATOMIC_OR((LOCAL u32 *)own, mask);
}

// Sets the bits of a row; neighbours share a row of B, `width` of them.
FUNCTION void join_words(u64 row, u32 first, u32 member, u32 given_width,
                         GLOBAL const u64 *RESTRICT a_offsets, GLOBAL const u32 *RESTRICT a_columns,
                         GLOBAL const u64 *RESTRICT b_offsets, GLOBAL const uint2 *RESTRICT b_words,
                         LOCAL u32 *bits) {
    const u32 width = min(given_width, (u32)TEAM);
    for (u32 k = member; k < ROOM; k += TEAM)
        bits[k] = 0;
    TEAM_SYNC();
    for (u64 left = a_offsets[row] + member / width; left < a_offsets[row + 1];
         left += TEAM / width) {
        const u32 k = a_columns[left];
        for (u64 right = b_offsets[k] + member % width; right < b_offsets[k + 1]; right += width) {
            const uint2 word = b_words[right];
            set_bits(bits, word.x - first, word.y);
        }
    }
    TEAM_SYNC();
}

// The bits that a thread has, and those of threads before it.
FUNCTION uint2 bits_before(const LOCAL u32 *bits, u32 member, LOCAL u32 *of_threads) {
    uint2 found;
    found.x = 0;
    for (u32 k = 0; k < PART; ++k)
        found.x += BITS_SET(bits[member * (PART + 1) + k]);
    of_threads[member] = found.x;
    TEAM_SYNC();
    for (u32 distance = 1; distance < TEAM; distance *= 2) {
        const u32 before = member >= distance ? of_threads[member - distance] : 0;
        TEAM_SYNC();
        of_threads[member] += before;
        TEAM_SYNC();
    }
    found.y = of_threads[member] - found.x;
    return found;
}

// The columns of a word, from a place on.
FUNCTION void write_columns(u32 mask, u32 first, GLOBAL u32 *to) {
    for (u32 k = 0; mask; ++k, mask &= mask - 1)
        to[k] = first + BITS_SET((mask & (0 - mask)) - 1);
}

#define WORDS_OF_B                                                                                 \
    u32 width, GLOBAL const u64 *RESTRICT a_offsets, GLOBAL const u32 *RESTRICT a_columns,         \
        GLOBAL const u64 *RESTRICT w_offsets, GLOBAL const uint2 *RESTRICT words,                  \
        GLOBAL const u32 *RESTRICT firsts

// Entries of rows.
KERNEL word_counts(u64 count, GLOBAL const u32 *RESTRICT rows, WORDS_OF_B,
                   GLOBAL u32 *RESTRICT counts) {
    BITS
    TEAM_OF_BLOCK
    FOR_ROWS(row, count, rows) {
        join_words(row, firsts[row], member, width, a_offsets, a_columns, w_offsets, words, bits);
        const uint2 own = bits_before(bits, member, of_threads);
        if (member == TEAM - 1 && !IS_SPARE(count))
            counts[row] = own.x + own.y;
        TEAM_SYNC();
    }
}

// The columns of rows whose lengths are known, sorted.
KERNEL word_columns(u64 count, GLOBAL const u32 *RESTRICT rows, WORDS_OF_B,
                    GLOBAL const u64 *RESTRICT c_offsets, GLOBAL u32 *RESTRICT c_columns) {
    BITS
    TEAM_OF_BLOCK
    FOR_ROWS(row, count, rows) {
        const u32 first = firsts[row];
        join_words(row, first, member, width, a_offsets, a_columns, w_offsets, words, bits);
        u64 place = c_offsets[row] + bits_before(bits, member, of_threads).y;
        for (u32 k = 0; k < PART && !IS_SPARE(count); ++k) {
            const u32 mask = bits[member * (PART + 1) + k];
            write_columns(mask, (first + member * PART + k) * 32, c_columns + place);
            place += BITS_SET(mask);
        }
        TEAM_SYNC();
    }
}

// ---- values

#ifdef TC
// The place of a column that is so far from the first bit.
FUNCTION u32 place_of(const LOCAL u32 *bits, const LOCAL RANK *ranks, u32 from_first) {
    const u32 word = AT(from_first / 32);
    return ranks[word] + BITS_SET(bits[word] & ((1u << from_first % 32) - 1));
}

// With KNOWN columns the bits are theirs.
KERNEL word_values(u64 count, GLOBAL const u32 *RESTRICT rows, WORDS_OF_B, GRAPH_OF(b),
                   GLOBAL const TA *RESTRICT a_values, GLOBAL const TB *RESTRICT b_values,
                   GLOBAL const u64 *RESTRICT c_offsets, GLOBAL const u32 *RESTRICT known_columns,
                   GLOBAL u32 *RESTRICT c_columns, GLOBAL TC *c_values) {
    BITS
    LOCAL_ARRAY(RANK, all_ranks, TEAMS *ROOM);
#if SIZE > 0
    LOCAL_ARRAY(ACC, all_sums, TEAMS *SIZE);
#endif
    LOCAL_ARRAY(u64, begins, BLOCK);
    LOCAL_ARRAY(u32, lengths, BLOCK);
    LOCAL_ARRAY(ACC, weights, BLOCK);
    TEAM_OF_BLOCK
    LOCAL RANK *ranks = all_ranks + team * ROOM;
    FOR_ROWS(row, count, rows) {
        const u64 begin = c_offsets[row];
        const u32 n = IS_SPARE(count) ? 0 : (u32)(c_offsets[row + 1] - begin);
        const u32 first = firsts[row];
#if SIZE > 0
        LOCAL ACC *sums = all_sums + team * SIZE;
#else
        GLOBAL TC *sums = c_values + begin;
#endif
        for (u32 k = member; k < n; k += TEAM)
            sums[k] = 0;
#if KNOWN
        for (u32 k = member; k < ROOM; k += TEAM)
            bits[k] = 0;
        TEAM_SYNC();
        for (u32 k = member; k < n; k += TEAM) {
            const u32 column = known_columns[begin + k];
            set_bits(bits, column / 32 - first, 1u << column % 32);
        }
        TEAM_SYNC();
#else
        join_words(row, first, member, width, a_offsets, a_columns, w_offsets, words, bits);
#endif
        u32 rank = bits_before(bits, member, of_threads).y;
        for (u32 k = 0; k < PART; ++k) {
            const u32 own = member * (PART + 1) + k, mask = bits[own];
            ranks[own] = (RANK)rank;
#if !KNOWN
            if (n > 0)
                write_columns(mask, (first + member * PART + k) * 32, c_columns + begin + rank);
#endif
            rank += BITS_SET(mask);
        }
        // The team fetches where rows of B begin, then adds these, with IN_FLIGHT of them on their way.
        const u64 a_end = IS_SPARE(count) ? 0 : a_offsets[row + 1];
        for (u64 left = a_offsets[row]; ANY(left < a_end); left += TEAM) {
            const u32 entries = left < a_end ? (u32)min(a_end - left, (u64)TEAM) : 0;
            TEAM_SYNC();
            if (member < entries) {
                const u32 k = a_columns[left + member];
                begins[thread_of_block()] = b_offsets[k];
                lengths[thread_of_block()] = (u32)(b_offsets[k + 1] - b_offsets[k]);
                weights[thread_of_block()] = LOAD(TA, a_values, left + member);
            }
            TEAM_SYNC();
            for (u32 some = 0; ANY(some < entries); some += IN_FLIGHT) {
                u32 places[IN_FLIGHT];
                ACC values[IN_FLIGHT];
                FOR(k, IN_FLIGHT) {
                    const u32 its = team * THREADS + min(some + k, TEAM - 1u);
                    const bool present = some + k < entries && member < lengths[its];
                    places[k] = present ? b_columns[begins[its] + member] - first * 32 : EMPTY;
                    values[k] = present ? LOAD(TB, b_values, begins[its] + member) : 0;
                }
                FOR(k, IN_FLIGHT)
                    places[k] = places[k] == EMPTY ? EMPTY : place_of(bits, ranks, places[k]);
                FOR(k, IN_FLIGHT) {
                    const u32 its = team * THREADS + min(some + k, TEAM - 1u);
                    const u32 length = some + k < entries ? lengths[its] : 0;
                    if (places[k] != EMPTY)
                        sums[places[k]] += weights[its] * values[k];
                    for (u32 more = member + TEAM; more < length; more += TEAM) {
                        const u32 column = b_columns[begins[its] + more] - first * 32;
                        sums[place_of(bits, ranks, column)] +=
                            weights[its] * LOAD(TB, b_values, begins[its] + more);
                    }
                    TEAM_SYNC();
                }
            }
        }
#if SIZE > 0
        for (u32 k = member; k < n; k += TEAM)
            STORE(ACC, TC, c_values, begin + k, sums[k]);
#endif
        TEAM_SYNC();
    }
}
#endif
#endif
