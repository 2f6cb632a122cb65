// Teams that have a row at a time: THREADS neighbours, at most WIDTH, or a whole block.
//
// A team has SLOTS slots in local memory to work with, for rows of up to SIZE entries; 0 where rows are
// too long for that, and memory of the device takes their place.

#pragma default THREADS 1
#pragma default SIZE 0
#pragma default SLOTS 0
#if SLOTS > 0
#define SPACE LOCAL
#else
#define SPACE GLOBAL
#endif
// Teams of a warp go together, as in tiles.h: all its threads have to come to TEAM_SYNC, and to loops
// with ANY.
#if THREADS == BLOCK
#define TEAM BLOCK
#define TEAM_SYNC() BARRIER()
#define ANY(condition) (condition)
#elif THREADS == 1
#define TEAM 1
#define TEAM_SYNC()
#define ANY(condition) (condition)
#elif defined(DIALECT_CUDA) && !defined(DIALECT_HIP)
#define TEAM THREADS
#define TEAM_SYNC() __syncwarp()
#define ANY(condition) __any_sync(0xffffffffu, condition)
// The members that have a flag.
#define TEAM_FLAGS(flag) \
    (__ballot_sync(0xffffffffu, flag) >> (lane() & (32 - THREADS)) & (0xffffffffu >> (32 - THREADS)))
#else
#define TEAM TILE(THREADS)
#define TEAM_SYNC() TILE_SYNC(TEAM)
#define ANY(condition) (condition)
#endif
#define TEAMS (BLOCK / THREADS)

// Threads that no team has a place for leave at once.
#define TEAM_OF_BLOCK                                                                              \
    const u32 team = thread_of_block() / THREADS, member = thread_of_block() % THREADS;            \
    if (member >= TEAM)                                                                            \
        return;
// The rows of a team, one after the other: `rows[at]`, or `at` without a list. Teams that have none
// any more come along, IS_SPARE, with the last one.
#define FOR_ROWS(row, count, rows)                                                                 \
    for (u64 first_ = (u64)block_of_grid() * TEAMS, at_, row;                                      \
         first_ < (count) && (at_ = min(first_ + team, (u64)(count) - 1),                          \
                              row = (rows) ? (rows)[at_] : at_, true);                             \
         first_ += (u64)blocks_of_grid() * TEAMS)
#define IS_SPARE(count) (first_ + team >= (count))

// What all threads of a team make of their values; `scratch` has BLOCK of them. For teams of at most WIDTH.
#ifdef DIALECT_CUDA
#define TEAM_FOLD(T, name, combined)                                                               \
    FUNCTION T name(T value, LOCAL T *scratch) {                                                   \
        _Pragma("unroll") for (u32 width = 1; width < TEAM; width *= 2) {                          \
            const T other = SHUFFLE_XOR(value, width);                                             \
            value = combined;                                                                      \
        }                                                                                          \
        return value;                                                                              \
    }
#else
#define TEAM_FOLD(T, name, combined)                                                               \
    FUNCTION T name(T value, LOCAL T *scratch) {                                                   \
        for (u32 width = 1; width < TEAM; width *= 2) {                                            \
            TEAM_SYNC();                                                                           \
            scratch[thread_of_block()] = value;                                                    \
            TEAM_SYNC();                                                                           \
            const T other = scratch[thread_of_block() ^ width];                                    \
            value = combined;                                                                      \
        }                                                                                          \
        return value;                                                                              \
    }
#endif
TEAM_FOLD(u32, team_smallest, min(value, other))
TEAM_FOLD(u32, team_sum_u32, value + other)
TEAM_FOLD(f32, team_sum_f32, value + other)
TEAM_FOLD(f64, team_sum_f64, value + other)
#ifdef DIALECT_CUDA
#define TEAM_SUM_OF_PARTS(C, R)                                                                    \
    FUNCTION C team_sum_##C(C value, LOCAL C *scratch) {                                           \
        LOCAL R *parts = (LOCAL R *)scratch;                                                       \
        return make_##C(team_sum_##R(value.x, parts), team_sum_##R(value.y, parts));               \
    }
TEAM_SUM_OF_PARTS(c64, f64)
#else
TEAM_FOLD(c64, team_sum_c64, value + other)
#endif
#define TEAM_SUM(A, value, scratch) PASTE(team_sum_, A)(value, scratch)

// What is sorted.
#ifndef ITEM
#define ITEM u32
#endif

#if defined(DIALECT_CUDA) && SIZE >= THREADS && THREADS < BLOCK
#define KEYS (SIZE / TEAM)
// Bitonic, in registers: key r of a thread is number r * TEAM + member.
FUNCTION void sort(SPACE ITEM *list, u32 n, u32 member) {
    ITEM keys[KEYS];
    FOR(r, KEYS) keys[r] = r * TEAM + member < n ? list[r * TEAM + member] : ~(ITEM)0;
    _Pragma("unroll") for (u32 size = 2; size <= SIZE; size *= 2) {
        // The keys stand in a first half, which is sorted, before none.
        if (!ANY(size / 2 < n))
            break;
        _Pragma("unroll") for (u32 stride = size / 2; stride > 0; stride /= 2) {
            const u32 far = stride / TEAM;
            FOR(r, KEYS) {
                const u32 number = r * TEAM + member;
                const bool up = (number & size) == 0;
                if (stride < TEAM) {
                    const ITEM other = SHUFFLE_XOR(keys[r], stride);
                    const bool first = (number & stride) == 0;
                    keys[r] = first == up ? min(keys[r], other) : max(keys[r], other);
                } else if ((r & far) == 0) {
                    const ITEM own = keys[r], other = keys[(r | far) % KEYS];
                    keys[r] = up ? min(own, other) : max(own, other);
                    keys[(r | far) % KEYS] = up ? max(own, other) : min(own, other);
                }
            }
        }
    }
    FOR(r, KEYS)
        if (r * TEAM + member < n)
            list[r * TEAM + member] = keys[r];
    TEAM_SYNC();
}
#else
// Exchanges all that stand in the wrong order at a distance; the smaller ones come first.
#define EXCHANGE(low, high)                                                                        \
    if ((high) < n && keys[high] < keys[low]) {                                                    \
        const ITEM larger = keys[low];                                                             \
        keys[low] = keys[high];                                                                    \
        keys[high] = larger;                                                                       \
    }
// Bitonic, with all exchanges in one direction: n may be any number.
FUNCTION void sort(SPACE ITEM *keys, u32 n, u32 member) {
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
#endif
