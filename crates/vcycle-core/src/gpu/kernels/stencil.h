// Rows of a matrix that is a stencil on a box of cells. A thread has some neighbours along x.
//
// The entry of unknown i of a cell with unknown j of a neighbour stands at
// `values[(((line * UNKNOWNS + i) * POINTS + point) * UNKNOWNS + j) * nx + x]`, a zero where the
// neighbour is outside. Vectors are unknown by unknown. Diagonal entries are stored less `base`.
//
// Definitions: the types M of the matrix and X of vectors, the arithmetic type ACC; UNKNOWNS of a
// cell; CELLS of a thread, 2 or 4, and ALIGNED, whether there is a multiple of that along x, which
// 4 needs; LINE_0 to LINE_8 for the lines around, y fastest: which of their cells before, beside
// and behind are neighbours, as 1, 2 and 4.

// Cells along each axis, and what diagonal entries are beside what is stored of them.
#define GRID u32 nx, u32 ny, u32 nz, float base

#define LINES                                                                                      \
    ((u32)LINE_0 | LINE_1 << 3 | LINE_2 << 6 | LINE_3 << 9 | LINE_4 << 12 | LINE_5 << 15 |         \
     LINE_6 << 18 | LINE_7 << 21 | LINE_8 << 24)
#define OWN_LINE 4
#define BEFORE 0
#define CENTRE 1
#define BEHIND 2
#define HAS_NEIGHBOURS(line) (LINES >> 3 * (line) & 7)
#define IS_NEIGHBOUR(line, place) (LINES >> (3 * (line) + (place)) & 1)
#define LINES_AROUND                                                                               \
    ((LINE_0 != 0) + (LINE_1 != 0) + (LINE_2 != 0) + (LINE_3 != 0) + (LINE_4 != 0) +               \
     (LINE_5 != 0) + (LINE_6 != 0) + (LINE_7 != 0) + (LINE_8 != 0))
// The unknowns of neighbours. All lines of one unknown are loads enough at a time: code for each of
// several would take seconds to compile, and more than the cache of instructions.
#if UNKNOWNS == 1 || LINES_AROUND <= 5
#define FOR_UNKNOWNS(j) FOR(j, UNKNOWNS)
#else
#define FOR_UNKNOWNS(j) _Pragma("unroll 1") for (u32 j = 0; j < UNKNOWNS; j++)
#endif

// How many bits are set; a constant where the bits are.
FUNCTION u32 bits_set(u32 bits) {
    bits -= bits >> 1 & 0x55555555u;
    bits = (bits & 0x33333333u) + (bits >> 2 & 0x33333333u);
    return ((bits + (bits >> 4) & 0x0f0f0f0fu) * 0x01010101u) >> 24;
}
#define POINTS bits_set(LINES)
#define POINT(line, place) bits_set(LINES & ((1u << (3 * (line) + (place))) - 1))

// The cells of a thread: the first one, and the grid. The last one may be outside.
typedef struct {
    u32 nx, ny, nz;
    u32 x, y, z;
} Cells;

FUNCTION u64 cells_of_grid(const PRIVATE Cells *c) { return (u64)c->nx * c->ny * c->nz; }
FUNCTION u64 first_cell(const PRIVATE Cells *c) {
    return (c->y + (u64)c->ny * c->z) * c->nx + c->x;
}
FUNCTION bool is_inside(const PRIVATE Cells *c, u32 k) { return ALIGNED || c->x + k < c->nx; }
// Where the entries of the first cell begin, in the rows of unknown i.
FUNCTION u64 row_of(const PRIVATE Cells *c, u32 i) {
    return ((c->y + (u64)c->ny * c->z) * UNKNOWNS + i) * (POINTS * UNKNOWNS) * c->nx + c->x;
}

// The numbers of all cells of a thread from a place on; outside any number will do.
#if ALIGNED
#define LOAD_CELLS(T, c, pointer, place, out) LOADS(CELLS, T, pointer, (place) / CELLS, out)
#else
#define LOAD_CELLS(T, c, pointer, place, out)                                                      \
    FOR(k, CELLS) (out)[k] = LOAD(T, pointer, (place) + (is_inside(c, k) ? k : 0))
#endif

FUNCTION void entries(const PRIVATE Cells *c, u64 row, u32 point, u32 j, GLOBAL const M *values,
                      PRIVATE ARITH(M) *entry) {
    LOAD_CELLS(M, c, values, row + (u64)(point * UNKNOWNS + j) * c->nx, entry);
}

// Numbers of unknown j on a line around: of the cell before those of the thread, of them, of the one
// behind. A line outside has zeros; beyond the ends of a line there is any number of it.
FUNCTION void window(const PRIVATE Cells *c, u32 line, u32 j, GLOBAL const X *x,
                     PRIVATE ACC *numbers) {
    const u32 y = c->y + line % 3 - 1, z = c->z + line / 3 - 1;
    const bool inside = y < c->ny && z < c->nz;
    const u64 there = inside ? y + (u64)c->ny * z : 0;
    const u64 first = j * cells_of_grid(c) + there * c->nx + c->x;
    LOAD_CELLS(X, c, x, first, numbers + 1);
    numbers[0] = LOAD(X, x, first - (c->x > 0));
    numbers[CELLS + 1] = LOAD(X, x, first + (c->x + CELLS < c->nx ? CELLS : 0));
    FOR(k, CELLS + 2) numbers[k] = inside ? numbers[k] : 0;
}

// The lines in other planes and the other lines in the plane, a bit for each.
#define PLANES 0x1c7u
#define BESIDE 0x028u

// Adds what unknown j on some lines around contributes to the unknown whose entries begin at `row`.
FUNCTION void add_lines(const PRIVATE Cells *c, u64 row, u32 j, u32 lines, GLOBAL const M *values,
                        GLOBAL const X *x, PRIVATE ACC *sums) {
    FOR(line, 9) {
        if (!(lines >> line & 1) || !HAS_NEIGHBOURS(line))
            continue;
        ACC numbers[CELLS + 2];
        window(c, line, j, x, numbers);
        FOR(place, 3) {
            if (!IS_NEIGHBOUR(line, place))
                continue;
            ARITH(M) entry[CELLS];
            entries(c, row, POINT(line, place), j, values, entry);
            FOR(k, CELLS) sums[k] += (ACC)entry[k] * numbers[k + place];
        }
    }
}

// The same for the lines that a sweep from zero has changed before those of a parity, or all.
FUNCTION void add_changed(const PRIVATE Cells *c, u64 row, u32 j, bool planes, bool beside,
                          GLOBAL const M *values, GLOBAL const X *x, PRIVATE ACC *sums) {
    if (planes)
        add_lines(c, row, j, PLANES, values, x, sums);
    if (beside)
        add_lines(c, row, j, BESIDE, values, x, sums);
}
