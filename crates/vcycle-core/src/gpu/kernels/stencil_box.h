// Boxes of cells, and where a stencil matrix on one has its entries, stored as stencil.h tells.
//
// A stencil is a set of steps to neighbours, one bit each: that of (dx, dy, dz) is dx + 3 dy + 9 dz + 13.
// Its entries are stored in the order of the bits. Size of the box, unknowns of a cell and stencil are
// arguments, so that one program serves all problems.

#define ABS(value) ((value) < 0 ? -(value) : (value))
#define STEPS_OF_CELL 27
#define CENTRE 13

typedef struct {
    u32 nx, ny, nz, unknowns, stencil;
} Box;
#define BOX_PARAMETERS u32 nx, u32 ny, u32 nz, u32 unknowns, u32 stencil
#define BOX {nx, ny, nz, unknowns, stencil}

typedef struct {
    u32 x, y, z;
} Cell;

// Own cells: those that a rank has of the ones it knows, from a line and a plane on, so many.
#define OWN_PARAMETERS u32 own_y, u32 own_z, u32 own_ny, u32 own_nz
#define IS_OWN(c) ((c).y - own_y < own_ny && (c).z - own_z < own_nz)

FUNCTION u64 cells_of(const PRIVATE Box *b) { return (u64)b->nx * b->ny * b->nz; }
FUNCTION u64 number_of(const PRIVATE Box *b, Cell c) {
    return c.x + b->nx * (c.y + (u64)b->ny * c.z);
}
FUNCTION Cell cell_of(const PRIVATE Box *b, u64 number) {
    const u64 line = number / b->nx;
    const Cell c = {(u32)(number % b->nx), (u32)(line % b->ny), (u32)(line / b->ny)};
    return c;
}
// The cell one step away; beyond the box the numbers are larger than any cell's.
FUNCTION Cell stepped(Cell c, u32 step) {
    const Cell other = {c.x + step % 3 - 1, c.y + step / 3 % 3 - 1, c.z + step / 9 - 1};
    return other;
}
FUNCTION bool is_in_box(const PRIVATE Box *b, Cell c) {
    return c.x < b->nx && c.y < b->ny && c.z < b->nz;
}
FUNCTION bool has_step(u32 stencil, u32 step) { return stencil >> step & 1; }
FUNCTION u32 point_of(u32 stencil, u32 step) { return BITS_SET(stencil & ((1u << step) - 1)); }
// Where the entry of unknown i of a cell with unknown j of the neighbour is.
FUNCTION u64 entry_of(const PRIVATE Box *b, Cell c, u32 i, u32 step, u32 j) {
    const u64 line = c.y + (u64)b->ny * c.z;
    const u64 point = (line * b->unknowns + i) * BITS_SET(b->stencil) + point_of(b->stencil, step);
    return (point * b->unknowns + j) * b->nx + c.x;
}
