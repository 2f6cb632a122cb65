// Set-ups of matrices that are stencils on a box of cells (stencil_box.h).
//
// Definitions: the type M that values are stored in.

#include "stencil_box.h"
#pragma default M f64

FUNCTION u32 along(Cell c, u32 axis) { return axis == 0 ? c.x : axis == 1 ? c.y : c.z; }
FUNCTION Cell moved(Cell c, u32 axis, u32 by) {
    const Cell other = {c.x + (axis == 0) * by, c.y + (axis == 1) * by, c.z + (axis == 2) * by};
    return other;
}
#define BACK 0xffffffffu // one less
FUNCTION Cell doubled(Cell c, u32 axis) { return moved(c, axis, along(c, axis)); }
// The bits of steps along an axis are so far apart.
FUNCTION u32 stride_of(u32 axis) { return axis == 0 ? 1 : axis == 1 ? 3 : 9; }
FUNCTION u32 step_along(u32 step, u32 axis) { return step / stride_of(axis) % 3; }
FUNCTION Box halved(const PRIVATE Box *b, u32 axis, u32 stencil) {
    const Box c = {axis == 0 ? (b->nx + 1) / 2 : b->nx, axis == 1 ? (b->ny + 1) / 2 : b->ny,
                   axis == 2 ? (b->nz + 1) / 2 : b->nz, b->unknowns, stencil};
    return c;
}

// ---- what values are like

// As structured/survey.rs has them: the bits of the largest absolute value, all bits of some value,
// values that are not zero, and those of them that are not below the least with all digits.
typedef struct {
    u64 largest, bits, entries, whole;
} Sizes;

FUNCTION void count(PRIVATE Sizes *s, f64 value, f64 least) {
    const u64 size = bits_of_f64(value) & 0x7fffffffffffffffu;
    s->largest = size > s->largest ? size : s->largest;
    s->bits |= bits_of_f64(value);
    s->entries += value != 0;
    s->whole += ABS(value) >= least;
}

FUNCTION u64 larger(u64 a, u64 b) { return a > b ? a : b; }
FUNCTION u64 either(u64 a, u64 b) { return a | b; }
FUNCTION u64 sum(u64 a, u64 b) { return a + b; }
#define REDUCE(value, operation, place)                                                            \
    scratch[thread_of_block()] = value;                                                            \
    BARRIER();                                                                                     \
    for (u32 apart = BLOCK / 2; apart > 0; apart /= 2) {                                           \
        if (thread_of_block() < apart)                                                             \
            scratch[thread_of_block()] =                                                           \
                operation(scratch[thread_of_block()], scratch[thread_of_block() + apart]);         \
        BARRIER();                                                                                 \
    }                                                                                              \
    if (thread_of_block() == 0)                                                                    \
        out[place] = scratch[0];                                                                   \
    BARRIER();

// Four numbers of the block.
FUNCTION void put_sizes(Sizes s, GLOBAL u64 *out, LOCAL u64 *scratch) {
    REDUCE(s.largest, larger, 0)
    REDUCE(s.bits, either, 1)
    REDUCE(s.entries, sum, 2)
    REDUCE(s.whole, sum, 3)
}

// Those of every block; the last one leaves those of all in the place of the first.
FUNCTION void put(Sizes s, GLOBAL u64 *partials, GLOBAL u32 *counter, LOCAL u64 *scratch) {
    put_sizes(s, partials + 4 * (u64)block_of_grid(), scratch);
    if (!LAST_BLOCK(counter, scratch))
        return;
    Sizes all = {0, 0, 0, 0};
    for (u32 block = thread_of_block(); block < blocks_of_grid(); block += BLOCK) {
        GLOBAL const u64 *one = partials + 4 * (u64)block;
        all.largest = larger(all.largest, one[0]);
        all.bits |= one[1];
        all.entries += one[2];
        all.whole += one[3];
    }
    BARRIER();
    put_sizes(all, partials, scratch);
}

KERNEL stencil_survey(u64 n, f64 least, GLOBAL const M *RESTRICT values, GLOBAL u64 *partials,
                      GLOBAL u32 *counter) {
    LOCAL_ARRAY(u64, scratch, BLOCK);
    Sizes s = {0, 0, 0, 0};
    FOR_ITEMS(k, n) count(&s, LOAD(M, values, k), least);
    put(s, partials, counter, scratch);
}

// Whether the pivots of a cell's block are a safe part of its diagonal: the first that is not.
FUNCTION u32 bad_pivot(const PRIVATE Box *b, Cell c, f64 base, GLOBAL const M *values) {
    f64 block[4][4];
    for (u32 i = 0; i < b->unknowns; i++)
        for (u32 j = 0; j < b->unknowns; j++)
            block[i][j] = LOAD(M, values, entry_of(b, c, i, CENTRE, j)) + (i == j ? base : 0);
    for (u32 i = 0; i < b->unknowns; i++) {
        const f64 own = LOAD(M, values, entry_of(b, c, i, CENTRE, i)) + base;
        if (!(ABS(block[i][i]) > 1e-5 * ABS(own)))
            return i;
        for (u32 row = i + 1; row < b->unknowns; row++) {
            const f64 factor = block[row][i] / block[i][i];
            for (u32 column = i + 1; column < b->unknowns; column++)
                block[row][column] -= factor * block[i][column];
        }
    }
    return b->unknowns;
}

// found[0]: set if some diagonal entry is smaller than the least. Then the first place, unknown by
// unknown, of a zero, of one that is not positive or not finite, and the first row of a lost pivot.
KERNEL stencil_diagonal(BOX_PARAMETERS, f64 base, f64 least, GLOBAL const M *RESTRICT values,
                        GLOBAL u32 *found) {
    const Box b = BOX;
    FOR_ITEMS(number, cells_of(&b)) {
        const Cell c = cell_of(&b, number);
        for (u32 i = 0; i < unknowns; i++) {
            const f64 stored = LOAD(M, values, entry_of(&b, c, i, CENTRE, i));
            const f64 value = stored + base;
            const u64 place = i * cells_of(&b) + number;
            if (ABS(value) < least)
                ATOMIC_OR(found, 1);
            if (stored == ROUND(f64, M, -base))
                ATOMIC_MIN(found + 1, place);
            if (!(value > 0 && value * 0 == 0))
                ATOMIC_MIN(found + 2, place);
        }
        const u32 bad = unknowns == 1 ? 1 : bad_pivot(&b, c, base, values);
        if (bad < unknowns)
            ATOMIC_MIN(found + 3, number * unknowns + bad);
    }
}

// found[0] is set if some entry is not the one opposite, to rounding, or a diagonal entry is not positive.
KERNEL stencil_symmetry(BOX_PARAMETERS, f64 tolerance, GLOBAL const f64 *RESTRICT values,
                        GLOBAL u32 *found) {
    const Box b = BOX;
    FOR_ITEMS(number, cells_of(&b)) {
        const Cell c = cell_of(&b, number);
        bool good = true;
        for (u32 i = 0; i < unknowns; i++)
            good = good && values[entry_of(&b, c, i, CENTRE, i)] > 0;
        for (u32 step = CENTRE; step < STEPS_OF_CELL; step++) {
            const Cell other = stepped(c, step);
            const u32 back = 2 * CENTRE - step;
            if (!has_step(stencil, step) || !has_step(stencil, back) || !is_in_box(&b, other))
                continue;
            for (u32 block = 0; block < unknowns * unknowns; block++) {
                const u32 i = block / unknowns, j = block % unknowns;
                const f64 here = values[entry_of(&b, c, i, step, j)];
                const f64 there = values[entry_of(&b, other, j, back, i)];
                good = good && ABS(here - there) <= tolerance * (ABS(here) + ABS(there));
            }
        }
        if (!good)
            ATOMIC_OR(found, 1);
    }
}

// Adds to found, for every axis, how many own cells have a diagonal entry `ratio` times as large or as small as that of the
// next cell along it. One unknown a cell.
KERNEL stencil_jumps(BOX_PARAMETERS, OWN_PARAMETERS, f64 ratio, GLOBAL const f64 *RESTRICT values,
                     GLOBAL u32 *found) {
    LOCAL_ARRAY(u32, counts, 3);
    const Box b = BOX;
    if (thread_of_block() < 3)
        counts[thread_of_block()] = 0;
    BARRIER();
    FOR_ITEMS(number, cells_of(&b)) {
        const Cell c = cell_of(&b, number);
        FOR(axis, 3) {
            const Cell next = moved(c, axis, 1);
            if (!is_in_box(&b, next) || !IS_OWN(c))
                continue;
            const f64 here = ABS(values[entry_of(&b, c, 0, CENTRE, 0)]);
            const f64 there = ABS(values[entry_of(&b, next, 0, CENTRE, 0)]);
            if (here > ratio * there || there > ratio * here)
                ATOMIC_ADD(&counts[axis], 1);
        }
    }
    BARRIER();
    if (thread_of_block() < 3)
        ATOMIC_ADD(found + thread_of_block(), counts[thread_of_block()]);
}

// How strongly the cells of some lines are coupled along each axis, relative to the diagonal. A block
// for an unknown of a line.
KERNEL stencil_couplings(BOX_PARAMETERS, GLOBAL const u32 *RESTRICT lines, GLOBAL const f64 *RESTRICT values,
                         GLOBAL f64 *strengths, GLOBAL u32 *counter) {
    LOCAL_ARRAY(f64, scratch, BLOCK);
    const Box b = BOX;
    const u32 i = block_of_grid() % unknowns, line = lines[block_of_grid() / unknowns];
    f64 sums[3] = {0, 0, 0};
    for (u32 x = thread_of_block(); x < nx; x += BLOCK) {
        const Cell c = {x, line % ny, line / ny};
        const f64 diagonal = ABS(values[entry_of(&b, c, i, CENTRE, i)]);
        f64 before[3] = {0, 0, 0}, behind[3] = {0, 0, 0};
        for (u32 step = 0; step < STEPS_OF_CELL; step++) {
            if (!has_step(stencil, step))
                continue;
            const f64 value = values[entry_of(&b, c, i, step, i)];
            FOR(axis, 3) {
                before[axis] += step_along(step, axis) == 0 ? value : 0;
                behind[axis] += step_along(step, axis) == 2 ? value : 0;
            }
        }
        FOR(axis, 3)
            sums[axis] += diagonal != 0 ? (ABS(before[axis]) + ABS(behind[axis])) / diagonal : 0;
    }
    FOR(axis, 3) {
        const f64 all = BLOCK_SUM(f64, sums[axis], scratch);
        if (thread_of_block() == 0)
            strengths[3 * (u64)block_of_grid() + axis] = all;
    }
    if (!LAST_BLOCK(counter, scratch))
        return;
    FOR(axis, 3) {
        f64 sum = 0;
        for (u32 block = thread_of_block(); block < blocks_of_grid(); block += BLOCK)
            sum += strengths[3 * (u64)block + axis];
        sum = BLOCK_SUM(f64, sum, scratch);
        if (thread_of_block() == 0)
            strengths[axis] = sum;
        BARRIER();
    }
}

// ---- the next grid

// Where the weight of the odd cell above a coarse one is, for that (side 0) or the next one (side 1).
FUNCTION u64 weight_of(const PRIVATE Box *coarse, u32 unknown, Cell c, u32 side) {
    const u64 line = c.y + (u64)coarse->ny * c.z;
    return 2 * unknown * cells_of(coarse) + (2 * line + side) * coarse->nx + c.x;
}

// How an odd cell depends on its two sides, all couplings of a side added up, as structured/galerkin.rs
// has it.
KERNEL stencil_weights(BOX_PARAMETERS, u32 axis, GLOBAL const f64 *RESTRICT values,
                       GLOBAL f64 *RESTRICT weights) {
    const Box b = BOX, coarse = halved(&b, axis, stencil);
    const u64 cells = cells_of(&coarse);
    FOR_ITEMS(item, cells * unknowns) {
        const u32 i = (u32)(item / cells);
        const Cell c = cell_of(&coarse, item % cells), odd = moved(doubled(c, axis), axis, 1);
        f64 lower = 0, upper = 0;
        if (is_in_box(&b, odd)) {
            f64 before = 0, own = 0, behind = 0;
            for (u32 step = 0; step < STEPS_OF_CELL; step++) {
                if (!has_step(stencil, step))
                    continue;
                const f64 value = values[entry_of(&b, odd, i, step, i)];
                const u32 side = step_along(step, axis);
                before += side == 0 ? value : 0;
                own += side == 1 ? value : 0;
                behind += side == 2 ? value : 0;
            }
            if (is_in_box(&b, moved(odd, axis, 1))) {
                const f64 sign = own < 0 ? 1 : -1, all = sign * before + sign * behind;
                const bool known = sign * before >= 0 && sign * behind >= 0 && all > 0;
                lower = known ? sign * before / all : 0.5;
                upper = known ? sign * behind / all : 0.5;
            } else {
                // At a free boundary the weight is one, and a little more by rounding.
                const f64 weight = -before / own;
                lower = weight > 0 && weight < 1 + 1e-6 ? (weight < 1 ? weight : 1) : 0.5;
            }
        }
        weights[weight_of(&coarse, i, c, 0)] = lower;
        weights[weight_of(&coarse, i, c, 1)] = upper;
    }
}

FUNCTION f64 weight_at(const PRIVATE Box *coarse, u32 unknown, Cell c, u32 side,
                       GLOBAL const f64 *weights) {
    return is_in_box(coarse, c) ? weights[weight_of(coarse, unknown, c, side)] : 0;
}

// The entries of a fine row that differ along the axis only, in the order of their steps.
FUNCTION void column_of(const PRIVATE Box *b, Cell row, u32 i, u32 across, u32 j, u32 axis,
                        GLOBAL const f64 *values, PRIVATE f64 *entries) {
    FOR(place, 3) {
        const u32 step = across + place * stride_of(axis) - stride_of(axis);
        const bool there = is_in_box(b, row) && has_step(b->stencil, step);
        entries[place] = there ? values[entry_of(b, row, i, step, j)] : 0;
    }
}

// P^T A P along an axis: a thread has the row of a coarse unknown.
KERNEL stencil_galerkin(BOX_PARAMETERS, u32 axis, u32 widened, GLOBAL const f64 *RESTRICT values,
                        GLOBAL const f64 *RESTRICT weights, GLOBAL f64 *RESTRICT out) {
    const Box b = BOX, coarse = halved(&b, axis, widened);
    const u32 stride = stride_of(axis);
    FOR_ITEMS(item, cells_of(&coarse) * unknowns) {
        const u32 x = (u32)(item % coarse.nx), i = (u32)(item / coarse.nx % unknowns);
        const u32 line = (u32)(item / coarse.nx / unknowns);
        const Cell c = {x, line % coarse.ny, line / coarse.ny}, at = doubled(c, axis);
        const f64 down = weight_at(&coarse, i, moved(c, axis, BACK), 1, weights);
        const f64 up = weight_at(&coarse, i, c, 0, weights);
        for (u32 across = 0; across < STEPS_OF_CELL; across++) {
            // Three bits, from that of the step back along the axis on.
            const u32 column = (1u | 1u << stride | 1u << 2 * stride) << (across - stride) % 32;
            if (step_along(across, axis) != 1 || !(stencil & column))
                continue;
            const Cell beside = stepped(c, across), before = moved(beside, axis, BACK);
            for (u32 j = 0; j < unknowns; j++) {
                f64 above[3], own[3], below[3];
                column_of(&b, moved(at, axis, BACK), i, across, j, axis, values, above);
                column_of(&b, at, i, across, j, axis, values, own);
                column_of(&b, moved(at, axis, 1), i, across, j, axis, values, below);
                const f64 far = weight_at(&coarse, j, before, 0, weights);
                const f64 near = weight_at(&coarse, j, before, 1, weights);
                const f64 close = weight_at(&coarse, j, beside, 0, weights);
                const f64 wide = weight_at(&coarse, j, beside, 1, weights);
                const f64 sums[3] = {
                    own[0] * far + down * (above[1] * far + above[0]),
                    own[1] + own[0] * near + own[2] * close + down * (above[1] * near + above[2]) +
                        up * (below[1] * close + below[0]),
                    own[2] * wide + up * (below[1] * wide + below[2]),
                };
                FOR(place, 3) {
                    const u32 step = across + place * stride - stride;
                    if (has_step(widened, step))
                        out[entry_of(&coarse, c, i, step, j)] = sums[place];
                }
            }
        }
    }
}

// ---- storing

// One over the roots of the diagonal times a factor, unknown by unknown.
KERNEL stencil_roots(BOX_PARAMETERS, f64 factor, GLOBAL const f64 *RESTRICT values,
                     GLOBAL f64 *RESTRICT roots) {
    const Box b = BOX;
    FOR_ITEMS(item, cells_of(&b) * unknowns) {
        const u32 i = (u32)(item / cells_of(&b));
        const Cell c = cell_of(&b, item % cells_of(&b));
        roots[item] = factor * (1 / SQUARE_ROOT(f64, values[entry_of(&b, c, i, CENTRE, i)]));
    }
}

// S A S, rounded. With a base the diagonal is stored less that, and takes what rounding leaves of the
// sum of a row, as structured/scaled.rs has it. Values of own cells are counted.
KERNEL stencil_store(BOX_PARAMETERS, OWN_PARAMETERS, f64 base, f64 least, GLOBAL const f64 *RESTRICT values,
                     GLOBAL const f64 *RESTRICT scales, GLOBAL M *RESTRICT out,
                     GLOBAL u64 *partials, GLOBAL u32 *counter) {
    LOCAL_ARRAY(u64, scratch, BLOCK);
    const Box b = BOX;
    Sizes s = {0, 0, 0, 0};
    FOR_ITEMS(item, cells_of(&b) * unknowns) {
        const u32 x = (u32)(item % nx), i = (u32)(item / nx % unknowns);
        const u32 line = (u32)(item / nx / unknowns);
        const Cell c = {x, line % ny, line / ny};
        const f64 own = scales[i * cells_of(&b) + number_of(&b, c)];
        f64 lost = 0, diagonal = 0;
        for (u32 step = 0; step < STEPS_OF_CELL; step++) {
            const Cell other = stepped(c, step);
            const bool inside = is_in_box(&b, other);
            for (u32 j = 0; j < unknowns && has_step(stencil, step); j++) {
                const u64 place = entry_of(&b, c, i, step, j);
                const f64 scale = inside ? scales[j * cells_of(&b) + number_of(&b, other)] : 1;
                const f64 value = inside ? values[place] * (own * scale) : 0;
                if (IS_OWN(c))
                    count(&s, value, least);
                STORE(f64, M, out, place, value);
                if (step == CENTRE && i == j)
                    diagonal = value;
                else
                    lost += (value - ROUND(f64, M, value)) / scale;
            }
        }
        lost *= own;
        lost = ABS(lost) <= base / 64 ? lost : 0;
        if (base != 0)
            STORE(f64, M, out, entry_of(&b, c, i, CENTRE, i), diagonal - base + lost);
    }
    put(s, partials, counter, scratch);
}

// One over each number.
KERNEL stencil_inverses(u64 n, GLOBAL const f64 *RESTRICT numbers, GLOBAL f64 *RESTRICT inverses) {
    FOR_ITEMS(k, n) inverses[k] = 1 / numbers[k];
}

// The weights of transfers, rounded; the smaller one of a cell takes what rounding leaves of the larger
// one, as structured/transfer.rs has it. `length` of the cells of a line.
KERNEL stencil_store_weights(u64 cells, u32 length, GLOBAL const f64 *RESTRICT weights,
                             GLOBAL M *RESTRICT out) {
    FOR_ITEMS(cell, cells) {
        const u64 first = 2 * (cell / length) * length + cell % length, second = first + length;
        const f64 a = weights[first], b = weights[second];
        const f64 rounded_a = ROUND(f64, M, a), rounded_b = ROUND(f64, M, b);
        const bool a_is_larger = ABS(a) > ABS(b);
        STORE(f64, M, out, first, a_is_larger || a == 0 ? rounded_a : a + (b - rounded_b));
        STORE(f64, M, out, second, !a_is_larger || b == 0 ? rounded_b : b + (a - rounded_a));
    }
}

// The values of a CSR matrix; found is set if one that is not zero is at no step.
KERNEL stencil_of_rows(BOX_PARAMETERS, CSR(f64, entries), GLOBAL f64 *RESTRICT values, GLOBAL u32 *found) {
    const Box b = BOX;
    FOR_ITEMS(row, cells_of(&b) * unknowns) {
        const Cell c = cell_of(&b, row / unknowns);
        const u64 end = offsets[row + 1];
        u64 k = offsets[row];
        bool strange = false;
        // Both columns and neighbours are in the order of their numbers.
        for (u32 step = 0; step < STEPS_OF_CELL; step++) {
            if (!has_step(stencil, step))
                continue;
            const Cell other = stepped(c, step);
            const u64 first = is_in_box(&b, other) ? number_of(&b, other) * unknowns : 0;
            for (u32 j = 0; j < unknowns; j++) {
                f64 value = 0;
                if (is_in_box(&b, other)) {
                    for (; k < end && columns[k] < first + j; k++)
                        strange = strange || entries[k] != 0;
                    if (k < end && columns[k] == first + j)
                        value = entries[k++];
                }
                values[entry_of(&b, c, row % unknowns, step, j)] = value;
            }
        }
        for (; k < end; k++)
            strange = strange || entries[k] != 0;
        if (strange)
            ATOMIC_OR(found, 1);
    }
}
