// Triplets become the entries of a matrix: what sorting by counting needs, and sums of those that stand in one place.
//
// Definitions: T, the type of the values.
#pragma default T f64

// The first index that is too large.
KERNEL check_indices(u64 n, u64 limit, GLOBAL const u32 *RESTRICT indices, GLOBAL u32 *first) {
    FOR_ITEMS(i, n)
        if (indices[i] >= limit)
            ATOMIC_MIN(first, i);
}

KERNEL count_up(u64 n, GLOBAL u64 *RESTRICT out) {
    FOR_ITEMS(i, n) out[i] = i;
}

KERNEL gather(u64 n, GLOBAL const u32 *RESTRICT places, GLOBAL const u32 *RESTRICT in,
              GLOBAL u32 *RESTRICT out) {
    FOR_ITEMS(i, n) out[i] = in[places[i]];
}

// Whether a triplet, in their order, stands elsewhere than the one before.
KERNEL mark_first(u64 n, GLOBAL const u32 *RESTRICT order, GLOBAL const u32 *RESTRICT rows,
                  GLOBAL const u32 *RESTRICT columns, GLOBAL u32 *RESTRICT marks) {
    FOR_ITEMS(i, n) {
        const u32 own = order[i], last = i > 0 ? order[i - 1] : 0;
        marks[i] = i == 0 || rows[own] != rows[last] || columns[own] != columns[last];
    }
}

// The column of every entry and where its triplets begin; at the end how many there are.
KERNEL fill_entries(u64 n, GLOBAL const u32 *RESTRICT order, GLOBAL const u32 *RESTRICT columns,
                    GLOBAL const u32 *RESTRICT marks, GLOBAL const u64 *RESTRICT entries,
                    GLOBAL u32 *RESTRICT out, GLOBAL u64 *RESTRICT starts) {
    FOR_ITEMS(i, n) {
        if (marks[i]) {
            out[entries[i]] = columns[order[i]];
            starts[entries[i]] = i;
        }
        if (i == n - 1)
            starts[entries[n]] = n;
    }
}

// Where rows begin among entries, from where they begin among triplets.
KERNEL row_offsets(u64 n, GLOBAL const u64 *RESTRICT triplets, GLOBAL const u64 *RESTRICT entries,
                   GLOBAL u64 *RESTRICT offsets) {
    FOR_ITEMS(row, n) offsets[row] = entries[triplets[row]];
}

// The sum of the triplets of every entry, in the order they were given.
KERNEL sum_triplets(u64 n, GLOBAL const u64 *RESTRICT starts, GLOBAL const u32 *RESTRICT order,
                    GLOBAL const T *RESTRICT values, GLOBAL T *RESTRICT out) {
    FOR_ITEMS(entry, n) {
        ARITH(T) sum = 0;
        for (u64 i = starts[entry]; i < starts[entry + 1]; i++)
            sum += LOAD(T, values, order[i]);
        STORE(ARITH(T), T, out, entry, sum);
    }
}
