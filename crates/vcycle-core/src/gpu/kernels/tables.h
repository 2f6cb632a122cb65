// A table of columns and sums for every row that a tile makes: open addressing, at most half full.
// The capacity is a power of two. SPACE is LOCAL with CAPACITY slots a table, or GLOBAL for tables
// of any size that the kernel is given.

#pragma default SPACE GLOBAL
#define EMPTY 0xffffffffu
// Whether rows are counted and not made; a definition of kernels that make rows alone.
#ifndef COUNT
#define COUNT 0
#endif

typedef struct {
    SPACE u32 *keys;
    SPACE NUMBER *sums;
    u32 capacity;
} Table;

// What a kernel that makes rows is given: which rows, and where each starts; then the rows, a list of those whose table was too
// small, and tables in global memory.
#define LISTED u64 items, GLOBAL const u32 *RESTRICT list, GLOBAL const u64 *RESTRICT starts
#define MADE                                                                                       \
    GLOBAL u32 *RESTRICT out_columns, GLOBAL NUMBER *RESTRICT out_values, GLOBAL u32 *RESTRICT lengths, \
        GLOBAL u32 *again, GLOBAL u32 *again_count, GLOBAL u32 *all_keys, GLOBAL NUMBER *all_sums, \
        u32 all_capacity
// What a kernel is given that looks for the bins of rows.
#define BINNED GLOBAL u32 *RESTRICT lengths, GLOBAL u8 *RESTRICT bins, GLOBAL u32 *counters
// The table of this tile.
#ifdef CAPACITY
#define TABLE_MEMORY                                                                               \
    LOCAL_ARRAY(u32, keys_, BLOCK_ROWS *CAPACITY);                                                 \
    LOCAL_ARRAY(NUMBER, sums_, BLOCK_ROWS *CAPACITY);
#if LANES == 1
// Neighbouring threads have neighbouring slots.
#define STRIDE BLOCK
#define OWN_TABLE {keys_ + thread_of_block(), sums_ + thread_of_block(), CAPACITY}
#else
#define STRIDE 1
#define OWN_TABLE {keys_ + row_of_block() * CAPACITY, sums_ + row_of_block() * CAPACITY, CAPACITY}
#endif
#else
#define STRIDE 1
#define TABLE_MEMORY                                                                               \
    const u64 first_ = ((u64)block_of_grid() * BLOCK_ROWS + row_of_block()) * all_capacity;
#define OWN_TABLE {all_keys + first_, all_sums + first_, all_capacity}
#endif

#define KEY(t, slot) (t).keys[(slot) * STRIDE]
#define SUM(t, slot) (t).sums[(slot) * STRIDE]
#define FOR_SLOTS(slot, t) for (u32 slot = part_of_row(); slot < (t).capacity; slot += ROW_THREADS)

FUNCTION void clear_table(Table t) {
    ROW_SYNC();
    FOR_SLOTS(slot, t) {
        KEY(t, slot) = EMPTY;
        SUM(t, slot) = 0;
    }
    ROW_SYNC();
}

FUNCTION u32 first_slot(Table t, u32 key) { return (key * 0x9e3779b1u >> 8) & (t.capacity - 1); }

// Puts a key into the table. New ones are counted, as FULL where there is no room.
#define FULL 0x10000u
FUNCTION void insert_key(Table t, u32 key, PRIVATE u32 *count) {
    u32 slot = first_slot(t, key);
    for (u32 turn = 0; turn < t.capacity; turn++) {
        u32 found = KEY(t, slot);
        if (found == EMPTY && ROW_THREADS == 1)
            KEY(t, slot) = key;
        else if (found == EMPTY)
            found = ATOMIC_CAS(&KEY(t, slot), EMPTY, key);
        if (found == EMPTY || found == key) {
            *count += found == EMPTY;
            return;
        }
        slot = (slot + 1) & (t.capacity - 1);
    }
    *count += FULL;
}

// Whether there is room for so many keys; if not, the table is emptied and `row` is to be made again.
#define FITS(t, keys, row) fits(t, keys, row, IS_REPEATED(items), again, again_count)
FUNCTION bool fits(Table t, u32 keys, u32 row, bool is_repeated, GLOBAL u32 *again,
                   GLOBAL u32 *again_count) {
    const bool is_full = keys > t.capacity / 2;
    if (is_full && leads_row() && !is_repeated)
        again[ATOMIC_ADD(again_count, 1)] = row;
    ROW_SYNC();
    if (is_full)
        FOR_SLOTS(slot, t) KEY(t, slot) = EMPTY;
    ROW_SYNC();
    return !is_full;
}

// The slot of a key, or EMPTY.
FUNCTION u32 find_key(Table t, u32 key) {
    u32 slot = first_slot(t, key);
    while (true) {
        const u32 found = KEY(t, slot);
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
    Table upper = {&KEY(t, middle), &SUM(t, middle), middle};
    return upper;
}

// Moves all that is in the table to its front, in any order; how many these are.
FUNCTION u32 compact(Table t, LOCAL u32 *scratch) {
    u32 count = 0;
    for (u32 first = 0; first < t.capacity; first += ROW_THREADS) {
        const u32 slot = first + part_of_row();
        ROW_SYNC();
        const u32 key = KEY(t, slot);
        const NUMBER sum = SUM(t, slot);
        const u32 keep = key != EMPTY, flags = row_flags(keep, scratch);
        const u32 before = BITS_SET(flags_before(flags));
        // All have read before any writes.
        ROW_SYNC();
        if (keep) {
            KEY(t, count + before) = key;
            SUM(t, count + before) = sum;
        }
        count += BITS_SET(flags);
    }
    ROW_SYNC();
    return count;
}

FUNCTION u32 sort_table(Table t, LOCAL u32 *scratch) {
    const u32 count = compact(t, scratch);
    const Table sorted = upper_half(t);
    for (u32 item = part_of_row(); item < count; item += ROW_THREADS) {
        const u32 key = KEY(t, item);
        u32 rank = 0;
        for (u32 other = 0; other < count; other++)
            rank += KEY(t, other) < key;
        KEY(sorted, rank) = key;
        SUM(sorted, rank) = SUM(t, item);
    }
    ROW_SYNC();
    return count;
}

// ---- rows by the size of their tables

#define BINS 6

// The bin of a row of so many keys: capacities of 32, 64, 128, 512, 2048, and any.
FUNCTION u32 smallest_bin(u32 keys) {
    return keys <= 16 ? 0 : keys <= 32 ? 1 : keys <= 64 ? 2 : keys <= 256 ? 3 : keys <= 1024 ? 4 : 5;
}

// The bin of a row for which so many keys are looked up: of many a quarter is expected to differ.
FUNCTION u32 bin_of(u32 keys) { return smallest_bin(keys / 4 > 16 ? keys / 4 : min(keys, 16u)); }

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
