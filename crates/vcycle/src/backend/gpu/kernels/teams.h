// Teams that have a row at a time: THREADS neighbours, at most WIDTH, or a whole block.
//
// A team has SLOTS slots in local memory to work with; 0 where rows are too long for that, and memory
// of the device takes their place.

#if SLOTS > 0
#define SPACE LOCAL
#else
#define SPACE GLOBAL
#endif
#if THREADS == BLOCK
#define TEAM BLOCK
#define TEAM_SYNC() BARRIER()
#else
#define TEAM TILE(THREADS)
#define TEAM_SYNC() TILE_SYNC(TEAM)
#endif
#define TEAMS (BLOCK / THREADS)

// Threads that no team has a place for leave at once.
#define TEAM_OF_BLOCK                                                                              \
    const u32 team = thread_of_block() / THREADS, member = thread_of_block() % THREADS;            \
    if (member >= TEAM)                                                                            \
        return;
// The rows of a team, one after the other: `rows[at]`, or `at` without a list.
#define FOR_ROWS(row, count, rows)                                                                 \
    for (u64 at = (u64)block_of_grid() * TEAMS + team, row;                                        \
         at < (count) && (row = (rows) ? (rows)[at] : at, true);                                   \
         at += (u64)blocks_of_grid() * TEAMS)

// Exchanges all that stand in the wrong order at a distance; the smaller ones come first.
#define EXCHANGE(low, high)                                                                        \
    if ((high) < n && keys[high] < keys[low]) {                                                    \
        const u32 larger = keys[low];                                                              \
        keys[low] = keys[high];                                                                    \
        keys[high] = larger;                                                                       \
    }
// Bitonic, with all exchanges in one direction: n may be any number.
FUNCTION void sort(SPACE u32 *keys, u32 n, u32 member) {
    for (u32 span = 1; span < n; span *= 2) {
        for (u32 pair = member; pair / span * 2 * span < n; pair += TEAM) {
            const u32 first = pair / span * 2 * span, at = pair % span;
            EXCHANGE(first + at, first + 2 * span - 1 - at)
        }
        TEAM_SYNC();
        for (u32 distance = span / 2; distance > 0; distance /= 2) {
            for (u32 pair = member; pair / distance * 2 * distance < n; pair += TEAM) {
                const u32 low = pair / distance * 2 * distance + pair % distance;
                EXCHANGE(low, low + distance)
            }
            TEAM_SYNC();
        }
    }
}
