// Gauss-Seidel in colours for cells of one unknown: planes, lines and cells by parity.
//
// A launch is about the lines of one parity of y and z, and does both colours of each. With
// FROM_ZERO the guess is zero: numbers that have not been changed yet are not read.
// BACKWARD goes from odd to even planes, lines and cells. LONG lines do not fit a block: it does them
// part by part.

#include "stencil.h"
#pragma block 128

// Changes cell k; `numbers` are those of the line around it, `own` the entries on the line.
FUNCTION void relax(u32 k, ACC base, PRIVATE ARITH(M) (*own)[CELLS], const PRIVATE ACC *rests,
                    PRIVATE ACC *numbers) {
    ACC rest = rests[k];
    FOR(place, 3) {
        if (place != CENTRE && IS_NEIGHBOUR(OWN_LINE, place))
            rest -= (ACC)own[place][k] * numbers[k + place];
    }
    numbers[k + 1] = rest / (own[CENTRE][k] + base);
}

#if !FROM_ZERO
#define SWEEP_KERNEL KERNEL_OF(8)
#else
#define SWEEP_KERNEL KERNEL
#endif

SWEEP_KERNEL stencil_sweep(GRID, u32 odd_y, u32 odd_z, GLOBAL const M *RESTRICT values,
                           GLOBAL const X *RESTRICT b, GLOBAL X *x) {
    LOCAL_ARRAY(ACC, changed, BLOCK);
    const u32 parts = (nx + CELLS - 1) / CELLS, width = parts < BLOCK ? parts : BLOCK;
    const u32 slot = thread_of_block() / width, lines = BLOCK / width;
    const u32 ys = (ny + 1 - odd_y) / 2, zs = (nz + 1 - odd_z) / 2;
    const u32 line = block_of_grid() * lines + slot, lane = thread_of_block() % width;
    const bool mine = slot < lines && line < ys * zs;
    const u32 turns = LONG ? (parts + width - 1) / width : 1;
    for (u32 turn = 0; turn < turns; turn++) {
        // Of the parts of a long line those come first whose first changes the others wait for.
        const u32 part = (BACKWARD ? turn : turns - 1 - turn) * width + lane;
        const Cells c = {nx, ny, nz, CELLS * part, 2 * (line % ys) + odd_y,
                         2 * (line / ys) + odd_z};
        const bool active = mine && part < parts;
        const u64 first = first_cell(&c), row = row_of(&c, 0);
        ARITH(M) own[3][CELLS];
        ACC rests[CELLS], numbers[CELLS + 2] = {0};
        if (active) {
            FOR(place, 3) {
                if (IS_NEIGHBOUR(OWN_LINE, place))
                    entries(&c, row, POINT(OWN_LINE, place), 0, values, own[place]);
            }
            LOAD_CELLS(X, &c, b, first, rests);
            if (!FROM_ZERO)
                window(&c, OWN_LINE, 0, x, numbers);
            ACC sums[CELLS] = {0};
            add_changed(&c, row, 0, !FROM_ZERO || odd_z != BACKWARD, !FROM_ZERO || odd_y != BACKWARD,
                        values, x, sums);
            FOR(k, CELLS) rests[k] -= sums[k];
            FOR(k, CELLS) if (k % 2 == BACKWARD) relax(k, base, own, rests, numbers);
            changed[thread_of_block()] = numbers[BACKWARD ? CELLS : 1];
        }
        BARRIER();
        if (active) {
            const LOCAL ACC *beside = changed + thread_of_block();
            if (BACKWARD && lane > 0)
                numbers[0] = beside[-1];
            else if (LONG && BACKWARD && part > 0)
                numbers[0] = LOAD(X, x, first - 1);
            if (!BACKWARD && lane + 1 < width && part + 1 < parts)
                numbers[CELLS + 1] = beside[1];
            else if (LONG && !BACKWARD && part + 1 < parts)
                numbers[CELLS + 1] = LOAD(X, x, first + CELLS);
            FOR(k, CELLS) if (k % 2 != BACKWARD) relax(k, base, own, rests, numbers);
#if ALIGNED
            STORES(CELLS, ACC, X, x, first / CELLS, numbers + 1);
#else
            FOR(k, CELLS) {
                if (is_inside(&c, k))
                    STORE(ACC, X, x, first + k, numbers[k + 1]);
            }
#endif
        }
        if (LONG)
            BARRIER();
    }
}
