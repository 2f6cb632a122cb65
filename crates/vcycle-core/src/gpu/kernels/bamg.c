// Interpolation that reproduces test vectors: for every fine unknown the coarse ones near it, of which a basis of
// nearly maximal volume is used (`bamg` of the host says what it is).
//
// Definitions: VECTORS, room for so many test vectors; SPACE, LOCAL with tables of MET and NEAR slots and room for NEAR / 2
// candidates, or GLOBAL with memory of the device.

#include "tiles.h"
#include "bamg_fit.h"

// A row that cannot be interpolated: its unknown becomes coarse.
#define PROMOTED 0xffffffffu

// ---- weights

// `x = x B^-1` by elimination with pivoting among columns, of the weights and the square, which is destroyed.
FUNCTION void solve_left(const PRIVATE Fit *f) {
    SPACE f64 *b = f->square, *x = f->weights;
    const u32 n = f->rank;
    for (u32 step = 0; step < n; step++) {
        u32 pivot = step;
        for (u32 k = step; k < n; k++)
            if (modulus(b[step * VECTORS + k]) > modulus(b[step * VECTORS + pivot]))
                pivot = k;
        ROW_SYNC();
        FOR_PLACES(row, n + 1) {
            SPACE f64 *moved = row < n ? b + row * VECTORS : x;
            const f64 value = moved[step];
            moved[step] = moved[pivot];
            moved[pivot] = value;
        }
        ROW_SYNC();
        for (u32 column = step + 1 + part_of_row(); column < n; column += ROW_THREADS) {
            const f64 factor = b[step * VECTORS + column] / b[step * VECTORS + step];
            for (u32 row = step; row < n; row++)
                b[row * VECTORS + column] -= factor * b[row * VECTORS + step];
            x[column] -= factor * x[step];
        }
        ROW_SYNC();
    }
    if (leads_row())
        solve_triangle(n, b, x);
    ROW_SYNC();
}

// How far the directions are from the unknown, relative to its norm.
FUNCTION f64 distance_to(const PRIVATE Fit *f) {
    f64 left = 0, size = 0;
    for (u32 k = 0; k < f->width; k++) {
        f64 rest = f->target[k];
        for (u32 j = 0; j < f->rank; j++)
            rest -= f->weights[j] * f->directions[j * VECTORS + k];
        left += rest * rest;
        size += f->target[k] * f->target[k];
    }
    return SQUARE_ROOT(f64, left) / SQUARE_ROOT(f64, size);
}

// The coordinates of the unknown itself, in place of the weights.
FUNCTION void aim(const PRIVATE Fit *f) {
    FOR_PLACES(j, f->rank) f->weights[j] = dot(f->target, f->directions + j * VECTORS, f->width);
    ROW_SYNC();
}

// Weighs the candidates; whether that is good enough.
FUNCTION bool weigh(PRIVATE Fit *f, const PRIVATE Level *level, f64 residual, f64 norm) {
    FOR_PLACES(at, f->count * f->width) {
        const u32 k = at / f->width, j = at % f->width;
        ROW(f, k)[j] = VALUE(level, f->candidates[k], j);
    }
    ROW_SYNC();
    choose(f);
    ROW_SYNC();
    aim(f);
    // What the candidates cannot come close to no weights of theirs do.
    if (!(distance_to(f) <= residual))
        return false;
    ROW_SYNC();
    express(f, level);
    for (u32 turn = 0; turn < EXCHANGES * f->rank && exchange(f); turn++)
        ;
    FOR_PLACES(k, f->rank) coordinates(f, level, f->candidates[f->chosen[k]], f->square + k * VECTORS);
    aim(f);
    solve_left(f);
    return SQUARE_ROOT(f64, dot(f->weights, f->weights, f->rank)) <= norm;
}

// Writes the row by increasing numbers of unknowns, as those of candidates are.
FUNCTION void write_row(const PRIVATE Fit *f, GLOBAL u32 *columns, GLOBAL f64 *values) {
    FOR_PLACES(k, f->rank) {
        u32 place = 0;
        for (u32 other = 0; other < f->rank; other++)
            place += f->chosen[other] < f->chosen[k];
        columns[place] = f->candidates[f->chosen[k]];
        values[place] = f->weights[k];
    }
}

typedef struct {
    u32 min_distance;
    u32 max_distance;
    f64 residual;
    f64 norm;
} Limits;

// The entries of a row, PROMOTED where the unknown becomes coarse; `*status` is NO_ROOM where that cannot be told here.
FUNCTION u32 fit_row(PRIVATE Fit *f, const PRIVATE Level *level, const PRIVATE Limits *limits, u32 row, PRIVATE u32 *status) {
    const u64 begin = level->offsets[row], end = level->offsets[row + 1];
    const bool is_alone = begin == end || (begin + 1 == end && level->columns[begin] == row);
    bool is_zero = true;
    for (u32 k = 0; k < f->width; k++) {
        const f64 value = VALUE(level, row, k);
        is_zero = is_zero && value == 0;
        if (leads_row())
            f->target[k] = value;
    }
    if (is_zero || is_alone)
        return 0;
    FOR_PLACES(slot, f->near_slots) f->near[slot] = EMPTY;
    f->count = 0;
    ROW_SYNC();
    for (u32 distance = 1; distance <= limits->max_distance; distance++) {
        *status = reach(f, level, row, distance);
        ROW_SYNC();
        if (*status != FITS)
            return PROMOTED;
        if (distance < limits->min_distance)
            continue;
        list_candidates(f);
        if (weigh(f, level, limits->residual, limits->norm))
            return f->rank;
    }
    return PROMOTED;
}

#ifdef MET
#define ROW_MEMORY LOCAL_ROW_MEMORY
#else
#define MET all_met
#define NEAR all_near
#define ROW_MEMORY GIVEN_ROW_MEMORY
#endif

#define GRAPH u64 unknowns, GLOBAL const u64 *RESTRICT offsets, GLOBAL const u32 *RESTRICT columns

// The rows of a list, or all without one, each with room for `width` entries. Rows whose neighbourhood has no room go to the
// list `again`.
KERNEL_OF(10) bamg_rows(u64 count, GLOBAL const u32 *RESTRICT list, GRAPH, GLOBAL const u32 *RESTRICT coarse, GRAPH_OF(near),
                 GLOBAL const f64 *RESTRICT vectors, u32 width, u32 min_distance, u32 max_distance, f64 residual, f64 norm,
                 GLOBAL u32 *RESTRICT out_columns, GLOBAL f64 *RESTRICT out_values, GLOBAL u32 *RESTRICT lengths,
                 GLOBAL u32 *again, GLOBAL u32 *again_count, u32 all_met, u32 all_near, GLOBAL f64 *all_numbers,
                 GLOBAL u32 *all_words) {
    ROW_MEMORY(f64, numbers, all_numbers, NEAR / 2 * (VECTORS + 1) + (2 * VECTORS + 2) * VECTORS)
    ROW_MEMORY(u32, words, all_words, MET + 2 * NEAR + VECTORS)
    LOCAL_ARRAY(f64, sizes, BLOCK);
    LOCAL_ARRAY(u32, scratch, BLOCK);
    const Level level = {unknowns, offsets, columns, near_offsets, near_columns, vectors};
    const Limits limits = {min_distance, max_distance, residual, norm};
    Fit f;
    f.width = width;
    f.near_slots = NEAR;
    f.met_slots = MET;
    f.met = words;
    f.near = words + MET;
    f.candidates = f.near + NEAR;
    f.chosen = f.candidates + NEAR;
    f.rows = numbers;
    f.directions = numbers + NEAR / 2 * (VECTORS + 1);
    f.square = f.directions + VECTORS * VECTORS;
    f.weights = f.square + VECTORS * VECTORS;
    f.target = f.weights + VECTORS;
    f.sizes = sizes;
    f.scratch = scratch;
    FOR_ROWS(at, count) {
        const u32 row = list ? list[at] : (u32)at;
        u32 status = FITS, length = 0;
        ROW_SYNC();
        if (coarse[row] == NONE)
            length = fit_row(&f, &level, &limits, row, &status);
        if (length != 0 && length != PROMOTED)
            write_row(&f, out_columns + (u64)row * width, out_values + (u64)row * width);
        if (leads_row()) {
            lengths[row] = length;
            if (status == NO_ROOM)
                again[ATOMIC_ADD(again_count, 1)] = row;
        }
    }
}
