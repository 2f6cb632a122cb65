// Gauss-Seidel in colours: planes, lines and cells by parity.
//
// A launch is about the lines of one parity of y and z, and does both colours of each. With
// FROM_ZERO the guess is zero: numbers that have not been changed yet are not read.
// BACKWARD goes from odd to even planes, lines and cells. LONG lines do not fit a block: it does them
// part by part.

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

// Changes cell k; `numbers` are those of the line around it, `own` the entries on the line.
FUNCTION void relax(u32 k, ACC base, PRIVATE ARITH(M) (*own)[3][UNKNOWNS][CELLS],
                    PRIVATE ACC (*rests)[CELLS], PRIVATE ACC (*numbers)[CELLS + 2]) {
    ACC block[UNKNOWNS][UNKNOWNS], rest[UNKNOWNS];
    FOR(i, UNKNOWNS) {
        rest[i] = rests[i][k];
        FOR(j, UNKNOWNS) {
            block[i][j] = own[i][CENTRE][j][k] + (i == j ? base : 0);
            FOR(place, 3) {
                if (place != CENTRE && IS_NEIGHBOUR(OWN_LINE, place))
                    rest[i] -= (ACC)own[i][place][j][k] * numbers[j][k + place];
            }
        }
    }
    eliminate(block, rest);
    FOR(i, UNKNOWNS) numbers[i][k + 1] = rest[i];
}

#if UNKNOWNS == 1 && !FROM_ZERO
#define SWEEP_KERNEL KERNEL_OF(8)
#else
#define SWEEP_KERNEL KERNEL
#endif

SWEEP_KERNEL stencil_sweep(u32 nx, u32 ny, u32 nz, float base, u32 odd_y, u32 odd_z,
                           GLOBAL const M *RESTRICT values, GLOBAL const X *RESTRICT b,
                           GLOBAL X *x) {
    LOCAL_ARRAY(ACC, changed, UNKNOWNS * BLOCK);
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
        const u64 cells = cells_of_grid(&c), first = first_cell(&c);
        ARITH(M) own[UNKNOWNS][3][UNKNOWNS][CELLS];
        ACC rests[UNKNOWNS][CELLS], numbers[UNKNOWNS][CELLS + 2] = {{0}};
        if (active) {
            ACC sums[UNKNOWNS][CELLS] = {{0}};
            FOR(i, UNKNOWNS) {
                FOR(j, UNKNOWNS) {
                    FOR(place, 3) {
                        if (IS_NEIGHBOUR(OWN_LINE, place))
                            entries(&c, row_of(&c, i), POINT(OWN_LINE, place), j, values,
                                    own[i][place][j]);
                    }
                }
                LOAD_CELLS(X, &c, b, i * cells + first, rests[i]);
                if (!FROM_ZERO)
                    window(&c, OWN_LINE, i, x, numbers[i]);
            }
            // What has not been changed yet is zero.
            const u32 planes = !FROM_ZERO || odd_z != BACKWARD ? PLANES : 0;
            const u32 beside = !FROM_ZERO || odd_y != BACKWARD ? BESIDE : 0;
#if UNKNOWNS == 1
            if (planes)
                add_lines(&c, row_of(&c, 0), 1, PLANES, values, x, sums);
            if (beside)
                add_lines(&c, row_of(&c, 0), 1, BESIDE, values, x, sums);
#else
            add_lines(&c, row_of(&c, 0), UNKNOWNS, planes | beside, values, x, sums);
#endif
            FOR(i, UNKNOWNS) FOR(k, CELLS) rests[i][k] -= sums[i][k];
            FOR(k, CELLS) if (k % 2 == BACKWARD) relax(k, base, own, rests, numbers);
            FOR(i, UNKNOWNS)
                changed[i * BLOCK + thread_of_block()] = numbers[i][BACKWARD ? CELLS : 1];
        }
        BARRIER();
        if (active) {
            FOR(i, UNKNOWNS) {
                const u64 place = i * cells + first;
                const LOCAL ACC *beside = changed + i * BLOCK + thread_of_block();
                if (BACKWARD && lane > 0)
                    numbers[i][0] = beside[-1];
                else if (LONG && BACKWARD && part > 0)
                    numbers[i][0] = LOAD(X, x, place - 1);
                if (!BACKWARD && lane + 1 < width && part + 1 < parts)
                    numbers[i][CELLS + 1] = beside[1];
                else if (LONG && !BACKWARD && part + 1 < parts)
                    numbers[i][CELLS + 1] = LOAD(X, x, place + CELLS);
            }
            FOR(k, CELLS) if (k % 2 != BACKWARD) relax(k, base, own, rests, numbers);
            FOR(i, UNKNOWNS) {
#if ALIGNED
                STORES(CELLS, ACC, X, x, (i * cells + first) / CELLS, numbers[i] + 1);
#else
                FOR(k, CELLS) {
                    if (is_inside(&c, k))
                        STORE(ACC, X, x, i * cells + first + k, numbers[i][k + 1]);
                }
#endif
            }
        }
        if (LONG)
            BARRIER();
    }
}
