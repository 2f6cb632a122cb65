// Strips: HEIGHT rows that follow each other, the last one perhaps fewer. A strip has a block where any of them has an entry in BREADTH columns that begin with a
// multiple of it.

#define STRIP_ROWS                                                                                 \
    u64 strips, u64 rows, GLOBAL const u64 *RESTRICT offsets, GLOBAL const u32 *RESTRICT columns

// What is left of the rows of a strip.
typedef struct {
    u64 at[HEIGHT];
    u64 end[HEIGHT];
} Strip;

FUNCTION Strip strip_of(u64 strip, u64 rows, GLOBAL const u64 *offsets) {
    Strip own;
    FOR(r, HEIGHT) {
        own.at[r] = offsets[min(strip * HEIGHT + r, rows)];
        own.end[r] = offsets[min(strip * HEIGHT + r + 1, rows)];
    }
    return own;
}
