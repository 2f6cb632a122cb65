// Rows in an order in which each comes after those before it that it depends on. The rows that wait for nobody
// any more are a front; whoever is done with one lets others of larger number into the next.
#pragma default WIDE 1024

// All rows, front after front, where the front begins and ends, and then the end of all.
#define FRONTS GLOBAL u32 *waits, GLOBAL u32 *order, GLOBAL u32 *state, GLOBAL u32 *counter

KERNEL fronts_start(u64 rows, GRAPH_OF(needs), FRONTS) {
    FOR_ITEMS(row, rows) {
        u32 count = 0;
        for (u64 place = needs_offsets[row]; place < needs_offsets[row + 1]; place++)
            count += needs_columns[place] < row;
        waits[row] = count;
        if (count == 0)
            order[ATOMIC_ADD(state + 2, 1)] = (u32)row;
    }
}

// Row `row` is done: `serves` has the rows that need it.
FUNCTION void release(u32 row, GRAPH_OF(serves), FRONTS) {
    for (u64 place = serves_offsets[row]; place < serves_offsets[row + 1]; place++) {
        const u32 other = serves_columns[place];
        if (other > row && ATOMIC_ADD(waits + other, -1) == 1)
            order[ATOMIC_ADD(state + 2, 1)] = other;
    }
}

// The last block goes on to the next front; all threads come here.
FUNCTION void advance(u32 end, GLOBAL u32 *state, GLOBAL u32 *counter, LOCAL u32 *scratch) {
    if (LAST_BLOCK(counter, scratch) && thread_of_block() == 0) {
        state[0] = end;
        state[1] = ATOMIC_ADD(state + 2, 0);
    }
    BARRIER();
}

// Does `act` with every row of a front, then goes on; one block alone does so with `turns` fronts, unless
// they become wide.
#define FOR_FRONTS(row, act)                                                                       \
    LOCAL_ARRAY(u32, scratch, BLOCK);                                                              \
    for (u32 turn = 0; turn < turns; turn++) {                                                     \
        const u32 begin = state[0], end = state[1];                                                \
        if (turn > 0 && end - begin > WIDE)                                                        \
            return;                                                                                \
        for (u64 item = begin + thread_of_grid(); item < end; item += threads_of_grid()) {         \
            const u32 row = order[item];                                                           \
            act;                                                                                   \
            release(row, serves_offsets, serves_columns, waits, order, state, counter);            \
        }                                                                                          \
        advance(end, state, counter, scratch);                                                     \
    }
