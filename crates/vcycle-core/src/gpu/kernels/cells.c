// Numbers of cells that ranks exchange: from arrays to messages, from messages to arrays, or between arrays.
//
// Definitions: the type F that they are read in, and the type T that they are written in.

// Cells that are side by side are a run; before run r there are starts[r] others. An array has `width` numbers a cell in each
// of several fields, those of cells and of fields so far apart. A message, which has no places, has them run by run, of each
// field by field.
typedef struct {
    GLOBAL const u64 *places;
    u64 field, cell;
} Side;

FUNCTION u64 place_of(Side s, u64 item, u32 run, u64 field, u64 cell, u64 number) {
    return s.places ? field * s.field + (s.places[run] + cell) * s.cell + number : item;
}

// The last run that begins at a cell or before it.
FUNCTION u32 run_of(u32 runs, GLOBAL const u64 *starts, u64 cell) {
    u32 low = 0, high = runs;
    while (high - low > 1) {
        const u32 middle = (low + high) / 2;
        if (starts[middle] <= cell)
            low = middle;
        else
            high = middle;
    }
    return low;
}

KERNEL cells_move(u64 cells, u32 runs, u32 fields, u32 width, GLOBAL const u64 *RESTRICT starts,
                  GLOBAL const u64 *from_places, u64 from_field, u64 from_cell, GLOBAL const F *RESTRICT from,
                  GLOBAL const u64 *to_places, u64 to_field, u64 to_cell, GLOBAL T *RESTRICT to) {
    const Side source = {from_places, from_field, from_cell}, target = {to_places, to_field, to_cell};
    const u64 each = (u64)fields * width;
    FOR_ITEMS(item, cells * each) {
        const u32 run = run_of(runs, starts, each == 1 ? item : item / each);
        const u64 within = item - starts[run] * each;
        u64 field = 0, cell = within, number = 0;
        if (each != 1) {
            const u64 length = (starts[run + 1] - starts[run]) * width;
            field = within / length;
            cell = within % length / width;
            number = within % length % width;
        }
        STORE(ARITH(F), T, to, place_of(target, item, run, field, cell, number),
              LOAD(F, from, place_of(source, item, run, field, cell, number)));
    }
}
