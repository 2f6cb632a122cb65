// Products of matrices in blocks: C = A B with blocks of HEIGHT x INNER and INNER x BREADTH, values of type T.
//
// Of a matrix in blocks there is the pattern of its blocks, with a row for every strip. The values of a strip stand row after row, those
// of a row block after block: where blocks have all their entries, as a matrix in rows has them. Where they have not, zeros take the
// places that are empty, and for every row of a block a mask tells which are not; a factor without masks has all, and FULL: C has. So C has
// the entries that the product by entries has.
//
// A team has a strip of C at a time, whose blocks are known, and its sums in local memory, or where they are to stand if there are more
// than SIZE blocks. It takes the blocks of A in their order, looks up the blocks of B among those of C, one a thread, and adds rows
// of their products, one a thread. These are different sums, so that there are no atomics.

#include "teams.h"
#include "sorted.h"
#pragma default T f64
#pragma default FULL 0
#pragma block 128

#define ENTRIES (HEIGHT * BREADTH)

// ---- from rows to blocks and back

KERNEL pack_blocks(u64 rows, GLOBAL const u64 *RESTRICT offsets, GLOBAL const u32 *RESTRICT columns,
                   GLOBAL const T *RESTRICT values, GRAPH_OF(block), GLOBAL T *RESTRICT packed,
                   GLOBAL u8 *RESTRICT masks) {
    FOR_ITEMS(row, rows) {
        const u64 strip = row / HEIGHT, begin = block_offsets[strip];
        const u64 blocks = block_offsets[strip + 1] - begin, end = offsets[row + 1];
        const u64 to = begin * HEIGHT + row % HEIGHT * blocks;
        u64 entry = offsets[row];
        for (u64 block = 0; block < blocks; ++block) {
            const u32 first = block_columns[begin + block] * BREADTH;
            u32 mask = 0;
            FOR(c, BREADTH) {
                const bool hit = entry < end && columns[entry] == first + c;
                packed[(to + block) * BREADTH + c] = hit ? values[entry] : (T)0;
                mask |= (u32)hit << c;
                entry += hit;
            }
            masks[to + block] = (u8)mask;
        }
    }
}

KERNEL packed_lengths(u64 rows, GLOBAL const u64 *RESTRICT block_offsets,
                      GLOBAL const u8 *RESTRICT masks, GLOBAL u32 *RESTRICT lengths) {
    FOR_ITEMS(row, rows) {
        const u64 strip = row / HEIGHT, begin = block_offsets[strip];
        const u64 blocks = block_offsets[strip + 1] - begin;
#if FULL
        lengths[row] = (u32)blocks * BREADTH;
#else
        GLOBAL const u8 *own = masks + begin * HEIGHT + row % HEIGHT * blocks;
        u32 length = 0;
        for (u64 block = 0; block < blocks; ++block)
            length += BITS_SET((u32)own[block]);
        lengths[row] = length;
#endif
    }
}

#if FULL
// Columns of rows, by teams; values stand where they are to stand.
KERNEL unpack_columns(u64 count, GRAPH_OF(block), GLOBAL const u64 *RESTRICT offsets,
                      GLOBAL u32 *RESTRICT columns) {
    GLOBAL const u32 *rows = 0;
    TEAM_OF_BLOCK
    FOR_ROWS(row, count, rows) {
        const u64 begin = block_offsets[row / HEIGHT], entry = offsets[row];
        const u32 n = (u32)(offsets[row + 1] - entry);
        for (u32 k = member; k < n && !IS_SPARE(count); k += TEAM)
            columns[entry + k] = block_columns[begin + k / BREADTH] * BREADTH + k % BREADTH;
    }
}
#else
// Columns and values of rows.
KERNEL unpack_blocks(u64 rows, GRAPH_OF(block), GLOBAL const T *RESTRICT packed,
                     GLOBAL const u8 *RESTRICT masks, NEW_CSR(T, out)) {
    FOR_ITEMS(row, rows) {
        const u64 strip = row / HEIGHT, begin = block_offsets[strip];
        const u64 blocks = block_offsets[strip + 1] - begin;
        const u64 from = begin * HEIGHT + row % HEIGHT * blocks;
        u64 entry = out_offsets[row];
        for (u64 block = 0; block < blocks; ++block) {
            const u32 first = block_columns[begin + block] * BREADTH;
            const u32 mask = masks[from + block];
            FOR(c, BREADTH)
                if (mask >> c & 1) {
                    out_columns[entry] = first + c;
                    out_values[entry++] = packed[(from + block) * BREADTH + c];
                }
        }
    }
}
#endif

// ---- the product

#ifdef INNER
#define BLOCKS_OF(m)                                                                               \
    GRAPH_OF(m), GLOBAL const T *RESTRICT m##_values, GLOBAL const u8 *RESTRICT m##_masks

KERNEL block_product(u64 count, GLOBAL const u32 *RESTRICT strips, BLOCKS_OF(a), BLOCKS_OF(b),
                     GRAPH_OF(c), GLOBAL T *c_values, GLOBAL u8 *c_masks) {
#if SIZE > 0
    LOCAL_ARRAY(u32, all_columns, TEAMS *SIZE);
    LOCAL_ARRAY(T, all_sums, TEAMS *SIZE *ENTRIES);
#if !FULL
    LOCAL_ARRAY(u8, all_masks, TEAMS *SIZE *HEIGHT);
#endif
#endif
    LOCAL_ARRAY(T, factors, TEAMS *HEIGHT *INNER);
    LOCAL_ARRAY(u32, places, BLOCK);
    TEAM_OF_BLOCK
    LOCAL T *factor = factors + team * (HEIGHT * INNER);
    FOR_ROWS(strip, count, strips) {
        const u64 begin = c_offsets[strip];
        const u32 n = IS_SPARE(count) ? 0 : (u32)(c_offsets[strip + 1] - begin);
#if SIZE > 0
        LOCAL u32 *columns = all_columns + team * SIZE;
        LOCAL T *sums = all_sums + team * (SIZE * ENTRIES);
        for (u32 k = member; k < n; k += TEAM)
            columns[k] = c_columns[begin + k];
#else
        GLOBAL const u32 *columns = c_columns + begin;
        GLOBAL T *sums = c_values + begin * ENTRIES;
#endif
#if !FULL && SIZE > 0
        LOCAL u8 *masks = all_masks + team * (SIZE * HEIGHT);
#elif !FULL
        GLOBAL u8 *masks = c_masks + begin * HEIGHT;
#endif
        for (u32 k = member; k < n * ENTRIES; k += TEAM)
            sums[k] = 0;
#if !FULL
        for (u32 k = member; k < n * HEIGHT; k += TEAM)
            masks[k] = 0;
#endif
        const u64 a_begin = a_offsets[strip], a_end = IS_SPARE(count) ? 0 : a_offsets[strip + 1];
        const u64 a_blocks = a_offsets[strip + 1] - a_begin;
        for (u64 left = a_begin; ANY(left < a_end); ++left) {
            const u32 k = left < a_end ? a_columns[left] : 0;
            const u64 b_begin = b_offsets[k], b_blocks = b_offsets[k + 1] - b_begin;
            const u32 all = left < a_end ? (u32)b_blocks : 0;
            // Row r of this block of A, among all rows of blocks.
#define LEFT_ROW(r) (a_begin * HEIGHT + (r)*a_blocks + (left - a_begin))
            TEAM_SYNC();
            for (u32 e = member; e < HEIGHT * INNER; e += TEAM)
                factor[e] = left < a_end ? a_values[LEFT_ROW(e / INNER) * INNER + e % INNER] : (T)0;
            for (u32 first = 0; ANY(first < all); first += TEAM) {
                const u32 some = first < all ? min(all - first, (u32)TEAM) : 0;
                TEAM_SYNC();
                if (member < some)
                    places[thread_of_block()] = place_of(columns, n, b_columns[b_begin + first + member]);
                TEAM_SYNC();
                // Neighbouring threads have neighbouring blocks of B.
                for (u32 item = member; item < some * HEIGHT; item += TEAM) {
                    const u32 block = item % some, r = item / some;
                    T row[BREADTH] = {0};
#if !FULL
                    u32 mask = 0;
#endif
                    FOR(q, INNER) {
                        const u64 right = b_begin * INNER + q * b_blocks + first + block;
                        const T weight = factor[r * INNER + q];
                        FOR(c, BREADTH) row[c] += weight * b_values[right * BREADTH + c];
#if !FULL
                        if (!a_masks || a_masks[LEFT_ROW(r)] >> q & 1)
                            mask |= b_masks ? b_masks[right] : (1u << BREADTH) - 1;
#endif
                    }
                    const u32 to = r * n + places[team * THREADS + block];
                    FOR(c, BREADTH) sums[to * BREADTH + c] += row[c];
#if !FULL
                    masks[to] |= (u8)mask;
#endif
                }
            }
        }
        TEAM_SYNC();
#if SIZE > 0
        for (u32 k = member; k < n * ENTRIES; k += TEAM)
            c_values[begin * ENTRIES + k] = sums[k];
#if !FULL
        for (u32 k = member; k < n * HEIGHT; k += TEAM)
            c_masks[begin * HEIGHT + k] = masks[k];
#endif
#endif
        TEAM_SYNC();
    }
}
#endif
