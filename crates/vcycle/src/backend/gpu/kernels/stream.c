// Products with a matrix in compressed sparse rows whose entries travel through local memory.
//
// Definitions beside those of rows.h:
//   OFFSET    the type of the row offsets, u32 or u64
//   CHUNK     entries that a block holds in its local memory
//   COLUMN    the type of the columns as they are stored:
//             u32  as they are
//             u16  the upper bits by their place in a table of the block, SHIFT lower ones as they
//                  are
//             u8   the place of the distance from the row in a table of the matrix

#define column_u32(code) (code)
#define column_u16(code)                                                                           \
    (table[block * (65536 >> SHIFT) + ((code) >> SHIFT)] + ((code) & ((1u << SHIFT) - 1)))
#define column_u8(code) (row + table[code])
#define COLUMN_OF(code) PASTE(column_, COLUMN)(code)

// Words of 16 bytes that hold a chunk wherever it begins.
#define WORDS(T) (CHUNK * sizeof(T) / 16 + 1)
#define WORDS_OF_THREAD(T) ((WORDS(T) + BLOCK - 1) / BLOCK)

// Copies the words that hold the entries `from` to `to` of an array. All loads are on their way
// before the first of them is waited for.
#define BRING(T, words, array)                                                                     \
    GLOBAL const uint4 *words##_there = (GLOBAL const uint4 *)(array) + from * sizeof(T) / 16;     \
    const u32 words##_count = (u32)((to * sizeof(T) + 15) / 16 - from * sizeof(T) / 16);           \
    uint4 words##_held[WORDS_OF_THREAD(T)];                                                        \
    FOR(i, WORDS_OF_THREAD(T))                                                                     \
        if (thread_of_block() + i * BLOCK < words##_count)                                         \
            words##_held[i] = words##_there[thread_of_block() + i * BLOCK];
#define KEEP(T, words)                                                                             \
    FOR(i, WORDS_OF_THREAD(T))                                                                     \
        if (thread_of_block() + i * BLOCK < words##_count)                                         \
            words[thread_of_block() + i * BLOCK] = words##_held[i];

// Leaves the sum of a part of a row; whether all `count` parts from `first` on are there.
FUNCTION bool last_part(ACC sum, u32 part, u32 first, u32 count, GLOBAL ACC *sums,
                        GLOBAL u32 *counters, LOCAL u32 *scratch) {
    BARRIER();
    if (thread_of_block() == 0) {
        sums[part] = sum;
        FENCE();
        scratch[0] = atomic_increment(&counters[first]) == count - 1;
        if (scratch[0])
            counters[first] = 0;
    }
    BARRIER();
    const bool last = scratch[0];
    BARRIER();
    FENCE();
    return last;
}

// Rows whose entries a block brings to its local memory with wide loads, `threads` threads each.
//
// Block `b` has the rows `starts[b]` to `starts[b + 1]`, or BLOCK / threads of them without
// `starts`. A single row has all threads. One of more than CHUNK entries has several blocks, the
// `parts[b]`-th of which is `b`: each leaves its sum in `sums` and the last to come adds them up;
// `counters` are zero before and after.
KERNEL csr_stream(u32 rows, u32 blocks, u32 threads, GLOBAL const u32 *RESTRICT starts,
                  GLOBAL const u32 *RESTRICT parts, GLOBAL ACC *sums, GLOBAL u32 *counters,
                  GLOBAL const OFFSET *RESTRICT offsets, GLOBAL const COLUMN *RESTRICT columns,
                  GLOBAL const u32 *RESTRICT table, GLOBAL const M *RESTRICT values,
                  GLOBAL const X *RESTRICT x, FINISH_PARAMETERS) {
    LOCAL_ARRAY(ACC, scratch, BLOCK);
    LOCAL_ARRAY(uint4, value_words, WORDS(M));
    LOCAL_ARRAY(uint4, column_words, WORDS(COLUMN));
    const Finish f = FINISH_OPERANDS;
    const ACC a = ALPHA(0), b = BETA(0);
    ACC mine = 0;
    for (u32 block = block_of_grid(); block < blocks; block += blocks_of_grid()) {
        const u32 first = starts ? starts[block] : block * (BLOCK / threads);
        const u32 last = starts ? max(starts[block + 1], first + 1) : min(first + BLOCK / threads, rows);
        const bool alone = starts && last == first + 1;
        const u32 width = alone ? BLOCK : threads;
        const u32 part = thread_of_block() & (width - 1);
        const u32 row = first + thread_of_block() / width;
        OFFSET from = offsets[first], to = offsets[last];
        const u32 count = alone ? (u32)((to - from + CHUNK - 1) / CHUNK) : 1;
        if (count > 1) {
            from += (OFFSET)parts[block] * CHUNK;
            to = min(to, from + CHUNK);
        }
        const u32 begin = row < last && !alone ? (u32)(offsets[row] - from) : 0;
        const u32 end = alone ? (u32)(to - from) : row < last ? (u32)(offsets[row + 1] - from) : 0;
        BRING(M, value_words, values)
        BRING(COLUMN, column_words, columns)
        KEEP(M, value_words)
        KEEP(COLUMN, column_words)
        BARRIER();
        LOCAL const M *v = (LOCAL const M *)value_words + from % (16 / sizeof(M));
        LOCAL const COLUMN *c = (LOCAL const COLUMN *)column_words + from % (16 / sizeof(COLUMN));
        ACC sum = 0;
        UNROLL_4
        for (u32 entry = begin + part; entry < end; entry += width)
            sum += LOAD(M, v, entry) * LOAD(X, x, COLUMN_OF(c[entry]));
        sum = alone ? BLOCK_SUM(ACC, sum, scratch) : TILE_SUM(ACC, sum, threads, scratch);
        bool done = true;
        if (count > 1) {
            const u32 before = block - parts[block];
            done = last_part(sum, block, before, count, sums, counters, (LOCAL u32 *)scratch);
            if (done) {
                sum = 0;
                for (u32 i = thread_of_block(); i < count; i += BLOCK)
                    sum += sums[before + i];
                sum = BLOCK_SUM(ACC, sum, scratch);
            }
        }
        if (part == 0 && row < last && done)
            mine += finish(&f, row, row, a, b, sum);
        BARRIER();
    }
    FINISH_PRODUCT(mine, scratch);
}
