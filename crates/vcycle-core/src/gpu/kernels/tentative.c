// The tentative prolongation of vectors, as multigrid/interpolate/tentative.rs has it: on the rows of each group
// they are factorised, by two passes of modified Gram-Schmidt.

#include "tiles.h"

// The nodes of each group, `block` unknowns each; `rows` unknowns in all, and `m` vectors.
typedef struct {
    GLOBAL const u32 *nodes;
    GLOBAL f64 *q;
    u32 block, m, count;
} Group;

FUNCTION u64 unknown_of(Group g, u32 i) { return (u64)g.nodes[i / g.block] * g.block + i % g.block; }

// The product of two columns; all threads of a warp come along.
FUNCTION f64 dot(Group g, u32 a, u32 b, LOCAL f64 *scratch) {
    f64 sum = 0;
    for (u32 i = part_of_row(); i < g.count; i += ROW_THREADS) {
        GLOBAL const f64 *row = g.q + unknown_of(g, i) * g.m;
        sum += product(row[a], row[b]);
    }
    return row_sum(sum, scratch);
}

// Takes `factor` times one column from another.
FUNCTION void subtract(Group g, f64 factor, u32 from, u32 to) {
    for (u32 i = part_of_row(); i < g.count; i += ROW_THREADS) {
        GLOBAL f64 *row = g.q + unknown_of(g, i) * g.m;
        row[to] -= product(factor, row[from]);
    }
}

// Makes a column of norm 1, or zero.
FUNCTION void normalise(Group g, u32 column, f64 norm) {
    for (u32 i = part_of_row(); i < g.count; i += ROW_THREADS) {
        GLOBAL f64 *entry = g.q + unknown_of(g, i) * g.m + column;
        *entry = norm > 0 ? *entry / norm : 0;
    }
}

// Row by row the orthonormal vectors, and vector after vector those of the next level, zero before.
KERNEL tentative_factors(u64 groups, u64 rows, u32 block, u32 m, f64 dependent,
                         GLOBAL const u64 *RESTRICT offsets, GLOBAL const u32 *RESTRICT nodes,
                         GLOBAL const f64 *RESTRICT vectors, GLOBAL f64 *q, GLOBAL f64 *RESTRICT coarse) {
    LOCAL_ARRAY(f64, scratch, BLOCK);
    FOR_ROWS(group, groups) {
        const bool is_own = !IS_REPEATED(groups), leads = is_own && leads_row();
        const u32 count = is_own ? (u32)(offsets[group + 1] - offsets[group]) * block : 0;
        const Group g = {nodes + offsets[group], q, block, m, count};
        for (u32 i = part_of_row(); i < count; i += ROW_THREADS)
            for (u32 k = 0; k < m; k++)
                q[unknown_of(g, i) * m + k] = vectors[k * rows + unknown_of(g, i)];
        for (u32 column = 0; column < m; column++) {
            GLOBAL f64 *r = coarse + (column * groups + group) * m;
            const f64 before = SQUARE_ROOT(f64, dot(g, column, column, scratch));
            for (u32 i = 0; i < 2 * column; i++) {
                const u32 earlier = i % column;
                const f64 factor = dot(g, earlier, column, scratch);
                subtract(g, factor, earlier, column);
                if (leads)
                    r[earlier] += factor;
            }
            const f64 norm = SQUARE_ROOT(f64, dot(g, column, column, scratch));
            const f64 kept = norm > dependent * before ? norm : 0;
            normalise(g, column, kept);
            if (leads)
                r[column] = kept;
        }
    }
}

// Entries of every row that are not zero.
KERNEL tentative_counts(u64 rows, u32 block, u32 m, GLOBAL const u32 *RESTRICT groups,
                        GLOBAL const f64 *RESTRICT q, GLOBAL u32 *RESTRICT counts) {
    FOR_ITEMS(row, rows) {
        u32 count = 0;
        for (u32 k = 0; k < m && groups[row / block] != NONE; k++)
            count += q[row * m + k] != 0;
        counts[row] = count;
    }
}

KERNEL tentative_fill(u64 rows, u32 block, u32 m, GLOBAL const u32 *RESTRICT groups,
                      GLOBAL const f64 *RESTRICT q, NEW_CSR(f64, out)) {
    FOR_ITEMS(row, rows) {
        const u32 group = groups[row / block];
        u64 place = out_offsets[row];
        for (u32 k = 0; k < m && group != NONE; k++)
            if (q[row * m + k] != 0) {
                out_columns[place] = group * m + k;
                out_values[place++] = q[row * m + k];
            }
    }
}
