// Gauss-Seidel in colours for cells of several unknowns; order and definitions are those of
// stencil_sweep.c.
//
// A cell has a thread for every pair of unknowns: it sums what unknown j of all neighbours
// contributes to unknown i, and so loads no more than a thread does for cells of one unknown. One
// of them then eliminates.

#include "stencil.h"
#pragma block 512

#define PAIRS (UNKNOWNS * UNKNOWNS)
// Cells of a thread that have one colour.
#define OF_COLOUR (CELLS / 2)

// Unknowns of a cell from what is left for them, by elimination without exchanges of rows.
FUNCTION void eliminate(PRIVATE ACC (*block)[UNKNOWNS], PRIVATE ACC *rests) {
    FOR(pivot, UNKNOWNS) {
        FOR(row, UNKNOWNS) {
            if (row <= pivot)
                continue;
            const ACC factor = block[row][pivot] / block[pivot][pivot];
            FOR(column, UNKNOWNS) {
                if (column > pivot)
                    block[row][column] -= factor * block[pivot][column];
            }
            rests[row] -= factor * rests[pivot];
        }
    }
    FOR(step, UNKNOWNS) {
        const u32 row = UNKNOWNS - 1 - step;
        FOR(column, UNKNOWNS) if (column > row) rests[row] -= block[row][column] * rests[column];
        rests[row] /= block[row][row];
    }
}

// Solves for the unknowns of a cell. What pairs of unknowns gave stands `stride` apart; the unknowns
// take the place of what the pairs with the first one gave.
FUNCTION void solve_cell(const LOCAL ACC *blocks, LOCAL ACC *rests, u32 stride) {
    ACC block[UNKNOWNS][UNKNOWNS], rest[UNKNOWNS] = {0};
    FOR(i, UNKNOWNS) FOR(j, UNKNOWNS) {
        block[i][j] = blocks[(i * UNKNOWNS + j) * stride];
        rest[i] += rests[(i * UNKNOWNS + j) * stride];
    }
    eliminate(block, rest);
    FOR(i, UNKNOWNS) rests[i * UNKNOWNS * stride] = rest[i];
}

KERNEL_OF(2) stencil_systems(GRID, u32 odd_y, u32 odd_z, GLOBAL const M *RESTRICT values,
                             GLOBAL const X *RESTRICT b, GLOBAL X *x) {
    // Of every thread: entries of the diagonal blocks of the cells of a colour, and what is left.
    LOCAL_ARRAY(ACC, blocks, OF_COLOUR * BLOCK);
    LOCAL_ARRAY(ACC, rests, CELLS * BLOCK);
    const u32 parts = (nx + CELLS - 1) / CELLS, most = BLOCK / PAIRS;
    const u32 width = parts < most ? parts : most, lines = most / width;
    const u32 slot = thread_of_block() / (PAIRS * width), lane = thread_of_block() % width;
    const u32 pair = thread_of_block() / width % PAIRS, i = pair / UNKNOWNS, j = pair % UNKNOWNS;
    // Where the first pair of the cell has its numbers, and where unknown j is found.
    const u32 cell = slot * PAIRS * width + lane, found = cell + j * UNKNOWNS * width;
    const u32 ys = (ny + 1 - odd_y) / 2, zs = (nz + 1 - odd_z) / 2;
    const u32 line = block_of_grid() * lines + slot;
    const bool mine = slot < lines && line < ys * zs;
    const u32 turns = LONG ? (parts + width - 1) / width : 1;
    for (u32 turn = 0; turn < turns; turn++) {
        // Of the parts of a long line those come first whose first changes the others wait for.
        const u32 part = (BACKWARD ? turn : turns - 1 - turn) * width + lane;
        const Cells c = {nx, ny, nz, CELLS * part, 2 * (line % ys) + odd_y,
                         2 * (line / ys) + odd_z};
        const bool active = mine && part < parts;
        const u64 row = row_of(&c, i), first = first_cell(&c), cells = cells_of_grid(&c);
        ARITH(M) own[3][CELLS];
        ACC left[CELLS] = {0}, numbers[CELLS + 2] = {0};
        if (active) {
            FOR(place, 3) {
                if (IS_NEIGHBOUR(OWN_LINE, place))
                    entries(&c, row, POINT(OWN_LINE, place), j, values, own[place]);
            }
            if (j == 0)
                LOAD_CELLS(X, &c, b, i * cells + first, left);
            if (!FROM_ZERO)
                window(&c, OWN_LINE, j, x, numbers);
            ACC sums[CELLS] = {0};
            add_changed(&c, row, j, !FROM_ZERO || odd_z != BACKWARD, !FROM_ZERO || odd_y != BACKWARD,
                        values, x, sums);
            FOR(k, CELLS) left[k] -= sums[k];
        }
        FOR(colour, 2) {
            const u32 parity = colour ^ BACKWARD;
            if (active) {
                FOR(k, CELLS) {
                    if (k % 2 != parity)
                        continue;
                    FOR(place, 3) {
                        if (place != CENTRE && IS_NEIGHBOUR(OWN_LINE, place))
                            left[k] -= (ACC)own[place][k] * numbers[k + place];
                    }
                    rests[k * BLOCK + thread_of_block()] = left[k];
                    blocks[k / 2 * BLOCK + thread_of_block()] =
                        (ACC)own[CENTRE][k] + (i == j ? (ACC)base : 0);
                }
            }
            BARRIER();
            if (active && pair < OF_COLOUR)
                solve_cell(blocks + pair * BLOCK + cell, rests + (2 * pair + parity) * BLOCK + cell,
                           width);
            BARRIER();
            if (active && colour == 0) {
                FOR(k, CELLS) if (k % 2 == parity) numbers[k + 1] = rests[k * BLOCK + found];
                const u64 place = j * cells + first;
                if (BACKWARD && lane > 0)
                    numbers[0] = rests[(CELLS - 1) * BLOCK + found - 1];
                else if (LONG && BACKWARD && part > 0)
                    numbers[0] = LOAD(X, x, place - 1);
                if (!BACKWARD && lane + 1 < width && part + 1 < parts)
                    numbers[CELLS + 1] = rests[found + 1];
                else if (LONG && !BACKWARD && part + 1 < parts)
                    numbers[CELLS + 1] = LOAD(X, x, place + CELLS);
            }
        }
        if (active && j == 0) {
            FOR(k, CELLS) left[k] = rests[k * BLOCK + thread_of_block()];
#if ALIGNED
            STORES(CELLS, ACC, X, x, (i * cells + first) / CELLS, left);
#else
            FOR(k, CELLS) {
                if (is_inside(&c, k))
                    STORE(ACC, X, x, i * cells + first + k, left[k]);
            }
#endif
        }
        if (LONG)
            BARRIER();
    }
}
