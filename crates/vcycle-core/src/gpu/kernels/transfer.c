// Between a grid of cells and one with half of them along some axes. A thread has a coarse cell.
//
// Along an axis cells at even places are those of the coarse grid; the one above coarse cell c, at an
// odd place, has the weight `w[(2 * line) * nx + x]` for c and `w[(2 * line + 1) * nx + x]` for the
// next one, with the line and x of c. Prolongation goes along x first, then y, then z, each with
// weights on the grid that is halved along its own axis and those after it; unknown by unknown.
//
// Definitions: the types W of weights and X of vectors, the arithmetic type ACC; HALF_X, HALF_Y and
// HALF_Z, 1 for axes that are halved; PAIRS, whether x is one of them and all cells have a neighbour
// above.

#define HALVED(half, n) ((half) ? ((n) + 1) / 2 : (n))

typedef struct {
    // Cells of the fine and of the coarse grid.
    u32 nx, ny, nz, cx, cy, cz;
    // The coarse cell of the thread.
    u32 x, y, z;
    // Weights of its unknown along each axis.
    GLOBAL const W *wx, *wy, *wz;
    // Where the unknown begins in vectors.
    u64 fine, coarse;
} Place;

FUNCTION Place place_of(u32 nx, u32 ny, u32 nz, GLOBAL const W *wx, GLOBAL const W *wy,
                        GLOBAL const W *wz) {
    const u32 cx = HALVED(HALF_X, nx), cy = HALVED(HALF_Y, ny), cz = HALVED(HALF_Z, nz);
    const u32 item = (u32)thread_of_grid(), line = item / cx, plane = line / cy;
    const u64 unknown = plane / cz;
    const Place p = {nx, ny, nz, cx, cy, cz, item % cx, line % cy, plane % cz,
                     wx + 2 * unknown * cx * cy * cz, wy + 2 * unknown * nx * cy * cz,
                     wz + 2 * unknown * nx * ny * cz,
                     unknown * nx * ny * nz, unknown * cx * cy * cz};
    return p;
}

// The weight of the odd cell above a coarse one for that (side 0) or for the next one (side 1).
FUNCTION ACC weight(GLOBAL const W *w, u32 nx, u32 line, u32 side, u32 x) {
    return LOAD(W, w, (2 * (u64)line + side) * nx + x);
}

// Fine cells from the one before the coarse one to the one above it; just that where it is the same.
#define AROUND(half) ((half) ? 3 : 1)
#define FINE(half, at, step) ((half) ? 2 * (at) + (step) - 1 : (at))
#define IS_AT(half, step) (!(half) || (step) == 1)
// The coarse cell below a fine one that is beside, and the side of its weight.
#define BELOW(at, step) ((step) == 0 ? (at) - 1 : (at))
#define SIDE(step) ((step) == 0)

// What the cells of a line along z contribute.
FUNCTION ACC restrict_z(const PRIVATE Place *p, u32 fx, u32 fy, GLOBAL const X *q,
                        GLOBAL const X *fine) {
    ACC sum = 0;
    FOR(step, AROUND(HALF_Z)) {
        const u32 fz = FINE(HALF_Z, p->z, step);
        const bool inside = fz < p->nz;
        const u64 cell = p->fine + ((u64)(inside ? fz : 0) * p->ny + fy) * p->nx + fx;
        ACC value = LOAD(X, fine, cell);
        if (q)
            value *= LOAD(X, q, cell);
        if (!IS_AT(HALF_Z, step)) {
            const u32 line = (inside ? BELOW(p->z, step) : 0) * p->ny + fy;
            value *= weight(p->wz, p->nx, line, SIDE(step), fx);
        }
        sum += inside ? value : 0;
    }
    return sum;
}
FUNCTION ACC restrict_y(const PRIVATE Place *p, u32 fx, GLOBAL const X *q, GLOBAL const X *fine) {
    ACC sum = 0;
    FOR(step, AROUND(HALF_Y)) {
        const u32 fy = FINE(HALF_Y, p->y, step);
        const bool inside = fy < p->ny;
        ACC value = restrict_z(p, fx, inside ? fy : 0, q, fine);
        if (!IS_AT(HALF_Y, step)) {
            const u32 line = p->z * p->cy + (inside ? BELOW(p->y, step) : 0);
            value *= weight(p->wy, p->nx, line, SIDE(step), fx);
        }
        sum += inside ? value : 0;
    }
    return sum;
}

// The fine grid, coarse cells, weights along each axis and one number a row, or none.
#define TRANSFER                                                                                   \
    u32 nx, u32 ny, u32 nz, u32 cells, GLOBAL const W *RESTRICT wx, GLOBAL const W *RESTRICT wy,   \
        GLOBAL const W *RESTRICT wz, GLOBAL const X *RESTRICT q

// coarse = P^T (q fine)
KERNEL transfer_restrict(TRANSFER, GLOBAL const X *RESTRICT fine, GLOBAL X *RESTRICT coarse) {
    if (thread_of_grid() >= cells)
        return;
    const Place p = place_of(nx, ny, nz, wx, wy, wz);
    ACC sum = 0;
    FOR(step, AROUND(HALF_X)) {
        const u32 fx = FINE(HALF_X, p.x, step);
        const bool inside = fx < nx;
        ACC value = restrict_y(&p, inside ? fx : 0, q, fine);
        if (!IS_AT(HALF_X, step))
            value *= weight(p.wx, p.cx, p.z * p.cy + p.y, SIDE(step),
                            inside ? BELOW(p.x, step) : 0);
        sum += inside ? value : 0;
    }
    STORE(ACC, X, coarse, thread_of_grid(), sum);
}

// Cells at and above a coarse one.
#define ABOVE(half) ((half) ? 2 : 1)
#define UP(half, at, step) ((half) ? 2 * (at) + (step) : (at))

// Between the number at a coarse cell and that at the next one, if there is one.
FUNCTION ACC between(GLOBAL const W *w, u32 nx, u32 line, u32 x, ACC here, ACC next, bool has_next) {
    return weight(w, nx, line, 0, x) * here + (has_next ? weight(w, nx, line, 1, x) * next : 0);
}

// fine = q P coarse, or added to it
KERNEL transfer_prolong(TRANSFER, u32 add, GLOBAL const X *RESTRICT coarse, GLOBAL X *RESTRICT fine) {
    if (thread_of_grid() >= cells)
        return;
    const Place p = place_of(nx, ny, nz, wx, wy, wz);
    const bool next_x = p.x + 1 < p.cx, next_y = p.y + 1 < p.cy, next_z = p.z + 1 < p.cz;
    ACC along_y[ABOVE(HALF_Z)][ABOVE(HALF_Y)][ABOVE(HALF_X)];
    FOR(k, ABOVE(HALF_Z)) {
        const u32 z = k && next_z ? p.z + 1 : p.z;
        ACC along_x[ABOVE(HALF_Y)][ABOVE(HALF_X)];
        FOR(j, ABOVE(HALF_Y)) {
            const u32 line = z * p.cy + (j && next_y ? p.y + 1 : p.y);
            const u64 place = p.coarse + (u64)line * p.cx + p.x;
            along_x[j][0] = LOAD(X, coarse, place);
            if (HALF_X)
                along_x[j][ABOVE(HALF_X) - 1] =
                    between(p.wx, p.cx, line, p.x, along_x[j][0],
                            LOAD(X, coarse, place + next_x), next_x);
        }
        FOR(i, ABOVE(HALF_X)) {
            const u32 x = UP(HALF_X, p.x, i), inside = x < nx ? x : 0;
            along_y[k][0][i] = along_x[0][i];
            if (HALF_Y)
                along_y[k][ABOVE(HALF_Y) - 1][i] =
                    between(p.wy, nx, z * p.cy + p.y, inside, along_x[0][i],
                            along_x[ABOVE(HALF_Y) - 1][i], next_y);
        }
    }
    FOR(k, ABOVE(HALF_Z)) {
        FOR(j, ABOVE(HALF_Y)) {
            const u32 y = UP(HALF_Y, p.y, j), z = UP(HALF_Z, p.z, k);
            if (y >= ny || z >= nz)
                continue;
            const u64 place = p.fine + ((u64)z * ny + y) * nx + UP(HALF_X, p.x, 0);
            ACC values[ABOVE(HALF_X)];
            FOR(i, ABOVE(HALF_X)) {
                const u32 x = UP(HALF_X, p.x, i), inside = x < nx ? x : 0;
                values[i] = along_y[0][j][i];
                if (k)
                    values[i] = between(p.wz, nx, p.z * ny + y, inside, along_y[0][j][i],
                                        along_y[ABOVE(HALF_Z) - 1][j][i], next_z);
            }
#if PAIRS
            ACC factors[2], old[2];
            if (q) {
                LOADS(2, X, q, place / 2, factors);
                FOR(i, 2) values[i] *= factors[i];
            }
            if (add) {
                LOADS(2, X, fine, place / 2, old);
                FOR(i, 2) values[i] += old[i];
            }
            STORES(2, ACC, X, fine, place / 2, values);
#else
            FOR(i, ABOVE(HALF_X)) {
                if (UP(HALF_X, p.x, i) >= nx)
                    continue;
                if (q)
                    values[i] *= LOAD(X, q, place + i);
                if (add)
                    values[i] += LOAD(X, fine, place + i);
                STORE(ACC, X, fine, place + i, values[i]);
            }
#endif
        }
    }
}
