// The layout of sliced.c, made from row offsets and columns: `setup/slices.rs` tells of it.
//
// Definitions: THREADS lanes for each row, MARK the type of marks, WORD that values are moved in,
// CHUNK as in sliced.c.
#pragma default THREADS 1
#pragma default MARK u32
#pragma default WORD u32
#pragma default CHUNK 2048

#define LANES 32
#define HEIGHT (LANES / THREADS)
#define WINDOW 256
// Most steps of an aligned slice.
#define ALIGNED 32

// How many rows are longer than 8, 16 and so on up to 256; the longest length; the steps of all slices
// with 32, 16 and so on down to one lane for each row.
#define FACTS 13
KERNEL survey(u64 rows, GLOBAL const u64 *RESTRICT offsets, GLOBAL u32 *out) {
    LOCAL_ARRAY(u32, own, FACTS);
    LOCAL_ARRAY(u32, lengths, BLOCK);
    const u32 thread = thread_of_block();
    if (thread < FACTS)
        own[thread] = 0;
    u32 longer[6] = {0}, steps[6] = {0}, longest = 0;
    for (u64 first = (u64)block_of_grid() * BLOCK; first < rows;
         first += (u64)blocks_of_grid() * BLOCK) {
        const u64 row = first + thread;
        u32 length = row < rows ? (u32)(offsets[row + 1] - offsets[row]) : 0;
        FOR(k, 6) longer[k] += length > 8u << k;
        longest = max(longest, length);
        // The longest of 1, 2, 4 and so on neighbours.
        FOR(k, 6) {
            if (thread % (1u << k) == 0)
                steps[k] += (length + (LANES >> k) - 1) / (LANES >> k);
            BARRIER();
            lengths[thread] = length;
            BARRIER();
            length = max(length, lengths[thread ^ 1u << k]);
        }
    }
    BARRIER();
    FOR(k, 6) {
        if (longer[k])
            ATOMIC_ADD(&own[k], longer[k]);
        if (steps[k])
            ATOMIC_ADD(&own[7 + k], steps[k]);
    }
    ATOMIC_MAX(&own[6], longest);
    BARRIER();
    if (thread == 6)
        ATOMIC_MAX(&out[6], own[6]);
    else if (thread < FACTS && own[thread])
        ATOMIC_ADD(&out[thread], own[thread]);
}

// How rows fall into blocks, found out from a sample: groups of SAMPLE_ROWS rows, spread evenly. Of blocks
// with 2 + k / 5 rows and 2 + k % 5 columns, out[k] is how many the strips of so many rows have, of the
// first SAMPLE_BLOCKS of each, and out[SHAPES + k] the entries in these.
#define SHAPES 20
#define TALLEST 5
#define SAMPLE_ROWS 60
#define SAMPLE_BLOCKS 32
KERNEL survey_blocks(u64 rows, u64 groups, GLOBAL const u64 *RESTRICT offsets,
                     GLOBAL const u32 *RESTRICT columns, GLOBAL u32 *out) {
    LOCAL_ARRAY(u32, own, 2 * SHAPES);
    if (thread_of_block() < 2 * SHAPES)
        own[thread_of_block()] = 0;
    BARRIER();
    const u64 strips = SAMPLE_ROWS / 2;
    FOR_ITEMS(item, SHAPES * groups * strips) {
        const u32 shape = (u32)(item / (groups * strips)), strip = (u32)(item % strips);
        const u32 height = 2 + shape / 5, width = 2 + shape % 5;
        const u64 group = item / strips % groups * (rows / SAMPLE_ROWS) / groups;
        if ((strip + 1) * height > SAMPLE_ROWS)
            continue;
        u64 at[TALLEST], end[TALLEST];
        FOR(r, TALLEST) {
            const u64 row = group * SAMPLE_ROWS + strip * height + (r < height ? r : 0);
            at[r] = offsets[row], end[r] = r < height ? offsets[row + 1] : at[r];
        }
        u32 blocks = 0, entries = 0;
        for (; blocks < SAMPLE_BLOCKS; ++blocks) {
            u32 next = 0xffffffffu;
            FOR(r, TALLEST)
                if (at[r] < end[r])
                    next = min(next, columns[at[r]] / width);
            if (next == 0xffffffffu)
                break;
            FOR(r, TALLEST)
                for (; at[r] < end[r] && columns[at[r]] / width == next; ++at[r])
                    ++entries;
        }
        ATOMIC_ADD(&own[shape], blocks);
        ATOMIC_ADD(&own[SHAPES + shape], entries);
    }
    BARRIER();
    if (thread_of_block() < 2 * SHAPES && own[thread_of_block()])
        ATOMIC_ADD(&out[thread_of_block()], own[thread_of_block()]);
}

// ---- rows too long for slices

// Whether a row is in a slice, and how many parts it has otherwise.
KERNEL divide(u64 rows, GLOBAL const u64 *RESTRICT offsets, u32 longest, GLOBAL u32 *RESTRICT flags,
              GLOBAL u32 *RESTRICT parts) {
    FOR_ITEMS(row, rows) {
        const u32 length = (u32)(offsets[row + 1] - offsets[row]);
        flags[row] = length <= longest;
        parts[row] = length <= longest ? 0 : (length + CHUNK - 1) / CHUNK;
    }
}

// The rows in slices, and the table of the parts of the others for sliced.c.
KERNEL list_rows(u64 rows, GLOBAL const u64 *RESTRICT offsets, GLOBAL const u64 *RESTRICT places,
                 GLOBAL const u64 *RESTRICT firsts, GLOBAL u32 *RESTRICT order,
                 GLOBAL uint4 *RESTRICT table) {
    FOR_ITEMS(row, rows) {
        if (places[row + 1] != places[row])
            order[places[row]] = (u32)row;
        const u32 length = (u32)(offsets[row + 1] - offsets[row]);
        const u32 count = (u32)(firsts[row + 1] - firsts[row]);
        for (u32 part = 0; part < count; ++part) {
            uint4 own;
            own.x = (u32)row, own.y = min(length - part * CHUNK, (u32)CHUNK);
            own.z = part, own.w = count;
            table[firsts[row] + part] = own;
        }
    }
}

// What the entries of parts have, part after part.
KERNEL place_parts(u64 parts, GLOBAL const uint4 *RESTRICT table, GLOBAL const u64 *RESTRICT offsets,
                   GLOBAL const WORD *RESTRICT values, GLOBAL WORD *RESTRICT placed) {
    FOR_ITEMS(item, parts * CHUNK) {
        const uint4 own = table[item / CHUNK];
        const u32 k = (u32)(item % CHUNK);
        placed[item] = k < own.y ? values[offsets[own.x] + (u64)own.z * CHUNK + k] : (WORD)0;
    }
}

// ---- slices

#define SLICES                                                                                     \
    u64 slices, u64 rows, GLOBAL const u32 *RESTRICT order, GLOBAL const u64 *RESTRICT offsets,    \
        GLOBAL const u32 *RESTRICT columns
// `starts`: where slices begin, and at the end all of them end: the first step, and above it the first unit of codes.
FUNCTION u32 steps_of(u64 pair) { return (u32)pair; }
FUNCTION u32 units_of(u64 pair) { return (u32)(pair >> 32); }
FUNCTION u64 row_at(GLOBAL const u32 *order, u64 slot) { return order ? order[slot] : slot; }

// Long rows first in every window; of equal ones the first. `order` may be null, and the result.
KERNEL sort_windows(u64 rows, GLOBAL const u64 *RESTRICT offsets, GLOBAL const u32 *order,
                    GLOBAL u32 *sorted) {
    LOCAL_ARRAY(u32, keys, WINDOW);
    for (u64 first = (u64)block_of_grid() * WINDOW; first < rows;
         first += (u64)blocks_of_grid() * WINDOW) {
        const u64 slot = first + thread_of_block();
        const u64 row = slot < rows ? row_at(order, slot) : 0;
        const u32 length = slot < rows ? (u32)(offsets[row + 1] - offsets[row]) : 0;
        // All differ, and what is beyond the rows comes last. Rows in slices are not so long that
        // there is no room for their place.
        const u32 own = (length + (slot < rows)) * WINDOW + (WINDOW - 1 - thread_of_block());
        BARRIER();
        keys[thread_of_block()] = own;
        BARRIER();
        u32 rank = 0;
        UNROLL_4
        for (u32 k = 0; k < WINDOW; ++k)
            rank += keys[k] > own;
        if (slot < rows)
            sorted[first + rank] = (u32)row;
    }
}

// From here on a block has a slice at a time; all its threads come to the same barriers.
#if BLOCK == LANES
#define FOR_SLICES(slice) for (u64 slice = block_of_grid(); slice < slices; slice += blocks_of_grid())

// The least and the largest number of all lanes.
#if defined(SHUFFLES) && WIDTH >= LANES
#define OF_LANES(name, combined)                                                                   \
    FUNCTION u32 name(u32 value, LOCAL u32 *scratch) {                                             \
        for (u32 distance = LANES / 2; distance > 0; distance /= 2)                                \
            value = combined(value, SHUFFLE_XOR(value, distance));                                 \
        return value;                                                                              \
    }
#else
#define OF_LANES(name, combined)                                                                   \
    FUNCTION u32 name(u32 value, LOCAL u32 *scratch) {                                             \
        BARRIER();                                                                                 \
        scratch[thread_of_block()] = value;                                                        \
        BARRIER();                                                                                 \
        for (u32 k = 0; k < LANES; ++k)                                                            \
            value = combined(value, scratch[k]);                                                   \
        return value;                                                                              \
    }
#endif
OF_LANES(least_of_lanes, min)
OF_LANES(largest_of_lanes, max)

// What a lane has of its slice: its place there, its first entry, the end of its row and its length.
typedef struct {
    u32 at;
    u64 entry;
    u64 end;
    u32 length;
} Lane;
FUNCTION Lane lane_of(u64 slice, u64 rows, GLOBAL const u32 *order, GLOBAL const u64 *offsets) {
    Lane own = {thread_of_block() / THREADS, 0, 0, 0};
    const u64 slot = slice * HEIGHT + own.at;
    if (slot < rows) {
        const u64 row = row_at(order, slot);
        own.entry = offsets[row] + thread_of_block() % THREADS;
        own.end = offsets[row + 1];
        own.length = (u32)(own.end - offsets[row]);
    }
    return own;
}

// The column of an entry less the place of its row, so that it is not negative; nothing where there is
// no entry.
#define NOTHING 0xffffffffu
#define RAISED (LANES - 1)
FUNCTION u32 shifted(Lane own, u64 entry, GLOBAL const u32 *columns) {
    return entry < own.end ? columns[entry] + (RAISED - own.at) : NOTHING;
}

// Bytes that codes of such a spread need.
FUNCTION u32 bytes_for(u32 spread) {
    return spread == 0 ? 0 : spread < 0x100 ? 1 : spread < 0x10000 ? 2 : 4;
}

// The bytes of the codes of a slice.
FUNCTION u32 bytes_of(Lane own, u32 width, GLOBAL const u32 *columns, LOCAL u32 *scratch) {
    u32 bytes = 0;
    for (u32 step = 0; step < width && bytes < 4; ++step) {
        const u32 mine = shifted(own, own.entry + (u64)step * THREADS, columns);
        const u32 least = least_of_lanes(mine, scratch);
        const u32 most = largest_of_lanes(mine == NOTHING ? 0 : mine, scratch);
        bytes = max(bytes, bytes_for(most - least));
    }
    return bytes;
}

// The steps of an aligned slice, in which a lane has those of `mark`: one for every difference between
// column and place. Unless they are null they are written to `bases`. 0 if these are more than `most`.
FUNCTION u32 align(Lane own, u32 most, GLOBAL const u32 *columns, GLOBAL u32 *bases,
                   PRIVATE u32 *mark, LOCAL u32 *scratch) {
    u64 entry = own.entry;
    *mark = 0;
    for (u32 count = 0; count <= most; ++count) {
        const u32 mine = shifted(own, entry, columns), least = least_of_lanes(mine, scratch);
        if (least == NOTHING)
            return count;
        if (mine == least) {
            *mark |= 1u << (count % ALIGNED);
            ++entry;
        }
        if (bases && thread_of_block() == 0)
            bases[count] = least - RAISED;
    }
    return 0;
}

// For every slice its steps, and above them the units of its codes, none for aligned ones; the largest
// mark in `largest`.
KERNEL form(SLICES, GLOBAL u64 *RESTRICT sizes, GLOBAL u32 *largest) {
    LOCAL_ARRAY(u32, scratch, LANES);
    u32 longest = 0;
    FOR_SLICES(slice) {
        const Lane own = lane_of(slice, rows, order, offsets);
        u32 width = (largest_of_lanes(own.length, scratch) + THREADS - 1) / THREADS;
        u32 mark = width * THREADS, bytes = bytes_of(own, width, columns, scratch);
#if THREADS == 1
        const u32 most = min(width * (4 + bytes) / 4, (u32)ALIGNED);
        u32 steps;
        const u32 count = align(own, most, columns, 0, &steps, scratch);
        bytes = max(bytes, 1u);
        if (count > 0)
            width = count, bytes = 0, mark = count > 8 ? 256 : 255;
#endif
        if (thread_of_block() == 0)
            sizes[slice] = width | (u64)(bytes * width) << 32;
        longest = max(longest, mark);
    }
    if (thread_of_block() == 0)
        ATOMIC_MAX(largest, longest);
}

// Bases, marks and codes, as sliced.c reads them.
KERNEL encode(SLICES, GLOBAL const u64 *RESTRICT starts, GLOBAL u32 *RESTRICT bases,
              GLOBAL MARK *RESTRICT marks, GLOBAL u8 *RESTRICT codes) {
    LOCAL_ARRAY(u32, scratch, LANES);
    FOR_SLICES(slice) {
        const Lane own = lane_of(slice, rows, order, offsets);
        const u64 start = starts[slice], size = starts[slice + 1] - start;
        const u32 thread = thread_of_block(), width = steps_of(size), bytes = units_of(size);
        GLOBAL u32 *base = bases + steps_of(start);
        GLOBAL u8 *code = codes + (u64)units_of(start) * LANES;
        u32 mark = (u32)(own.end - own.entry);
        if (THREADS == 1 && bytes == 0)
            align(own, width, columns, base, &mark, scratch);
        else
            for (u32 step = 0; step < width; ++step) {
                const u32 mine = shifted(own, own.entry + (u64)step * THREADS, columns);
                const u32 least = least_of_lanes(mine, scratch);
                const u32 above = mine == NOTHING ? 0 : mine - least, place = step * LANES + thread;
                if (thread == 0)
                    base[step] = least - RAISED;
                if (bytes == width)
                    code[place] = (u8)above;
                else if (bytes == 2 * width)
                    ((GLOBAL u16 *)code)[place] = (u16)above;
                else if (bytes != 0)
                    ((GLOBAL u32 *)code)[place] = above;
            }
        if (thread % THREADS == 0 && slice * HEIGHT + own.at < rows)
            marks[slice * HEIGHT + own.at] = (MARK)mark;
    }
}
#endif

KERNEL place_values(SLICES, GLOBAL const u64 *RESTRICT starts, GLOBAL const MARK *RESTRICT marks,
                    GLOBAL const WORD *RESTRICT values, GLOBAL WORD *RESTRICT placed) {
    FOR_ITEMS(item, slices * LANES) {
        const u64 slice = item / LANES, slot = slice * HEIGHT + item % LANES / THREADS;
        const u64 start = starts[slice], size = starts[slice + 1] - start;
        const u32 own = (u32)(item % LANES), width = steps_of(size);
        const u64 row = slot < rows ? row_at(order, slot) : 0;
        const u64 end = slot < rows ? offsets[row + 1] : 0;
        u64 entry = slot < rows ? offsets[row] + own % THREADS : 0;
        const bool is_aligned = THREADS == 1 && units_of(size) == 0;
        const u32 mark = slot < rows ? marks[slot] : 0;
        for (u32 step = 0; step < width; ++step) {
            const bool present = is_aligned ? mark >> step & 1 : entry < end;
            placed[((u64)steps_of(start) + step) * LANES + own] = present ? values[entry] : (WORD)0;
            entry += is_aligned ? present : THREADS;
        }
    }
}
