// A table of columns and sums for every row that a tile makes: open addressing, at most half full.
// The capacity is a power of two. SPACE is LOCAL with CAPACITY slots a table, or GLOBAL for tables
// of any size that the kernel is given.

#define EMPTY 0xffffffffu

typedef struct {
    SPACE u32 *keys;
    SPACE f64 *sums;
    u32 capacity;
} Table;

// What a kernel is given of tables in global memory, and the table of this tile.
#define TABLES GLOBAL u32 *all_keys, GLOBAL f64 *all_sums, u32 all_capacity
#ifdef CAPACITY
#define TABLE_MEMORY                                                                               \
    LOCAL_ARRAY(u32, keys_, BLOCK_ROWS *CAPACITY);                                                 \
    LOCAL_ARRAY(f64, sums_, BLOCK_ROWS *CAPACITY);
#define OWN_TABLE {keys_ + row_of_block() * CAPACITY, sums_ + row_of_block() * CAPACITY, CAPACITY}
#else
#define TABLE_MEMORY                                                                               \
    const u64 first_ = ((u64)block_of_grid() * BLOCK_ROWS + row_of_block()) * all_capacity;
#define OWN_TABLE {all_keys + first_, all_sums + first_, all_capacity}
#endif

#define FOR_SLOTS(slot, t) for (u32 slot = part_of_row(); slot < (t).capacity; slot += ROW_THREADS)

FUNCTION void clear_table(Table t) {
    TILE_SYNC(ROW_THREADS);
    FOR_SLOTS(slot, t) {
        t.keys[slot] = EMPTY;
        t.sums[slot] = 0;
    }
    TILE_SYNC(ROW_THREADS);
}

FUNCTION u32 first_slot(Table t, u32 key) { return (key * 0x9e3779b1u >> 8) & (t.capacity - 1); }

FUNCTION void insert_key(Table t, u32 key) {
    u32 slot = first_slot(t, key);
    while (true) {
        u32 found = t.keys[slot];
        if (found == EMPTY)
            found = ATOMIC_CAS(t.keys + slot, EMPTY, key);
        if (found == EMPTY || found == key)
            return;
        slot = (slot + 1) & (t.capacity - 1);
    }
}

// The slot of a key, or EMPTY.
FUNCTION u32 find_key(Table t, u32 key) {
    u32 slot = first_slot(t, key);
    while (true) {
        const u32 found = t.keys[slot];
        if (found == key)
            return slot;
        if (found == EMPTY)
            return EMPTY;
        slot = (slot + 1) & (t.capacity - 1);
    }
}

// ---- the finished row: from the middle of the table on, by increasing key

FUNCTION Table upper_half(Table t) {
    const u32 middle = t.capacity / 2;
    Table upper = {t.keys + middle, t.sums + middle, middle};
    return upper;
}

// Moves all that is in the table to its front, in any order; how many these are.
FUNCTION u32 compact(Table t, LOCAL u32 *scratch) {
    u32 count = 0;
    for (u32 first = 0; first < t.capacity; first += ROW_THREADS) {
        const u32 slot = first + part_of_row();
        TILE_SYNC(ROW_THREADS);
        const u32 key = t.keys[slot];
        const f64 sum = t.sums[slot];
        const u32 keep = key != EMPTY, before = row_count_before(keep, scratch);
        if (keep) {
            t.keys[count + before] = key;
            t.sums[count + before] = sum;
        }
        count += row_count(keep, scratch);
    }
    TILE_SYNC(ROW_THREADS);
    return count;
}

FUNCTION u32 sort_table(Table t, LOCAL u32 *scratch) {
    const u32 count = compact(t, scratch);
    const Table sorted = upper_half(t);
    for (u32 item = part_of_row(); item < count; item += ROW_THREADS) {
        const u32 key = t.keys[item];
        u32 rank = 0;
        for (u32 other = 0; other < count; other++)
            rank += t.keys[other] < key;
        sorted.keys[rank] = key;
        sorted.sums[rank] = t.sums[item];
    }
    TILE_SYNC(ROW_THREADS);
    return count;
}

// ---- rows by the size of their tables

#define BINS 5

// The bin of rows with at most so many keys: capacities of 32, 128, 512, 2048, and any.
FUNCTION u32 bin_of(u32 keys) {
    return keys <= 16 ? 0 : keys <= 64 ? 1 : keys <= 256 ? 2 : keys <= 1024 ? 3 : 4;
}

// Counts a row by its bin, at the end notes the largest; all threads of a block have to come here.
FUNCTION void count_bins(u32 bin, u32 keys, GLOBAL u32 *counters, LOCAL u32 *scratch) {
    BARRIER();
    if (thread_of_block() <= BINS)
        scratch[thread_of_block()] = 0;
    BARRIER();
    if (bin < BINS) {
        ATOMIC_ADD(scratch + bin, 1);
        ATOMIC_MAX(scratch + BINS, keys);
    }
    BARRIER();
    if (thread_of_block() < BINS && scratch[thread_of_block()] != 0)
        ATOMIC_ADD(counters + thread_of_block(), scratch[thread_of_block()]);
    if (thread_of_block() == BINS && scratch[BINS] != 0)
        ATOMIC_MAX(counters + BINS, scratch[BINS]);
}
