// Products with stencils, and what becomes of them (rows.h).
//
// With LATER only neighbours count that a forward sweep (stencil_sweep.c) changes after the cell.
// That is what such a sweep from zero leaves of the right-hand side, with the sign turned.

#include "rows.h"
#include "stencil.h"
#pragma block 128

#if UNKNOWNS == 1 && CELLS == 4 && !LATER
#define PRODUCT_KERNEL KERNEL_OF(8)
#else
#define PRODUCT_KERNEL KERNEL
#endif

PRODUCT_KERNEL stencil_product(GRID, GLOBAL const M *RESTRICT values, GLOBAL const X *RESTRICT x,
                               FINISH_PARAMETERS) {
    const Finish f = FINISH_OPERANDS;
    const u32 parts = (nx + CELLS - 1) / CELLS;
    const u32 item = (u32)thread_of_grid(), line_of_unknown = item / parts;
    const u32 line = line_of_unknown / UNKNOWNS, i = line_of_unknown % UNKNOWNS;
    if (line >= ny * nz)
        return;
    const Cells c = {nx, ny, nz, CELLS * (item % parts), line % ny, line / ny};
    const u64 row = row_of(&c, i);
    ACC sums[CELLS] = {0};
    FOR_UNKNOWNS(j) {
#if LATER
        add_changed(&c, row, j, c.z % 2 == 0, c.y % 2 == 0, values, x, sums);
        ACC numbers[CELLS + 2];
        window(&c, OWN_LINE, j, x, numbers);
        FOR(place, 3) {
            if (place == CENTRE || !IS_NEIGHBOUR(OWN_LINE, place))
                continue;
            ARITH(M) entry[CELLS];
            entries(&c, row, POINT(OWN_LINE, place), j, values, entry);
            FOR(k, CELLS) if (k % 2 == 0) sums[k] += (ACC)entry[k] * numbers[k + place];
        }
#else
        add_lines(&c, row, j, PLANES | 1 << OWN_LINE | BESIDE, values, x, sums);
#endif
    }
    const u64 place = i * cells_of_grid(&c) + first_cell(&c);
    const ACC scale = ALPHA(0), shift = BETA(0);
    FOR(k, CELLS) {
        if (!is_inside(&c, k))
            continue;
        if (!LATER && base != 0)
            sums[k] += (ACC)base * LOAD(X, x, place + k);
        finish(&f, place + k, place + k, scale, shift, sums[k]);
    }
}
