// Entries of several rows of B at a time, for teams (teams.h) of at most 32 threads: where rows are short, most threads would have no entry of one.
//
// The entries of the rows that a team has fetched are numbered one after the other, and each thread has one of them. Threads may have entries of the same
// column then: the first of these adds for all, in their order, so that sums are those of one row after the other.

#ifndef SEVERAL
#define SEVERAL 0
#endif
#if SEVERAL
#define EMPTY 0xffffffffu

// The sum of the values of a team's threads up to this one; `scratch` has one for each of its threads.
#if defined(DIALECT_CUDA)
FUNCTION u32 sum_up_to(u32 value, u32 member, LOCAL u32 *scratch) {
    _Pragma("unroll") for (u32 distance = 1; distance < TEAM; distance *= 2) {
        const u32 before = SHUFFLE(value, lane() - min(member, distance));
        value += member >= distance ? before : 0;
    }
    return value;
}
#else
FUNCTION u32 sum_up_to(u32 value, u32 member, LOCAL u32 *scratch) {
    for (u32 distance = 1; distance < TEAM; distance *= 2) {
        TEAM_SYNC();
        scratch[member] = value;
        TEAM_SYNC();
        value += member >= distance ? scratch[member - distance] : 0;
    }
    return value;
}
#endif

// The row of an entry: the first of TEAM rows that ends behind it, the last one if none does.
FUNCTION u32 row_of_entry(const LOCAL u32 *ends, u32 entry) {
    u32 row = 0;
    for (u32 step = TEAM / 2; step > 0; step /= 2)
        row += ends[row + step - 1] <= entry ? step : 0;
    return row;
}

// A bit for each thread of a team that has the same value.
#if defined(DIALECT_CUDA) && !defined(DIALECT_HIP) && __CUDA_ARCH__ >= 700
FUNCTION u32 threads_with(u32 value, u32 member, LOCAL u32 *scratch) {
    const u32 equal = __match_any_sync(0xffffffffu, value);
    return equal >> (lane() & (32 - TEAM)) & (0xffffffffu >> (32 - TEAM));
}
#else
FUNCTION u32 threads_with(u32 value, u32 member, LOCAL u32 *scratch) {
    TEAM_SYNC();
    scratch[member] = value;
    TEAM_SYNC();
    u32 equal = 0;
    for (u32 other = 0; other < TEAM; ++other)
        equal |= (scratch[other] == value ? 1u : 0u) << other;
    return equal;
}
#endif

#ifdef TC
// Adds the product of each thread to the sum at its place, EMPTY where it has none. All threads of a warp have to come here; `products` has one for each of a team.
FUNCTION void add_in_order(u32 place, ACC product, u32 member, SPACE ACC *sums,
                           LOCAL ACC *products, LOCAL u32 *scratch) {
    u32 left = threads_with(place, member, scratch);
    products[member] = product;
    TEAM_SYNC();
    if (place != EMPTY && (left & ((1u << member) - 1)) == 0) {
        ACC sum = sums[place];
        for (; left; left &= left - 1)
            sum += products[BITS_SET((left & (0 - left)) - 1)];
        sums[place] = sum;
    }
    TEAM_SYNC();
}
#endif
#endif
