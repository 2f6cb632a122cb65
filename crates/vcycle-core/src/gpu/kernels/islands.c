// Islands of stencil matrices: cells that are coupled strongly with one another and weakly with all others, one unknown a
// cell, as structured/island_search.rs finds them. Each has a function z and the product A z on a box of cells
// around it, as structured/island_basis.rs makes them.

#include "stencil_box.h"
#pragma block 512

// ---- which cells are islands

#define TIED 0x80000000u
#define BEFORE ((1u << CENTRE) - 1)

// What is found: numbers of cells that may be the first of an island, of islands, and of their cells; then each island.
#define FIRSTS 0
#define ISLANDS 1
#define CELLS 2
#define HEAD 4
#define RECORD 9 // the first cell, how many there are, where they are listed, and the least and the largest x, y and z

// Which neighbours a cell is coupled with strongly, a bit for each step, and whether it is tied to anything else. Cells that
// none of these comes before are listed, in any order. Where the grid goes on beyond the box, at the first line, the last one,
// the first plane or the last one, a bit of `cut` each, all cells are tied.
KERNEL island_links(BOX_PARAMETERS, u32 cut, f64 strong, f64 weak, GLOBAL const f64 *RESTRICT values,
                    GLOBAL u32 *RESTRICT links, GLOBAL u32 *RESTRICT firsts, GLOBAL u32 *found) {
    const Box b = BOX;
    FOR_ITEMS(number, cells_of(&b)) {
        const Cell c = cell_of(&b, number);
        const f64 here = values[entry_of(&b, c, 0, CENTRE, 0)];
        f64 rest = here;
        u32 bits = 0;
        for (u32 step = 0; step < STEPS_OF_CELL; step++) {
            const Cell other = stepped(c, step);
            if (step == CENTRE || !has_step(stencil, step) || !is_in_box(&b, other))
                continue;
            const f64 there = ABS(values[entry_of(&b, other, 0, CENTRE, 0)]);
            const f64 value = values[entry_of(&b, c, 0, step, 0)];
            if (ABS(value) > strong * (ABS(here) > there ? ABS(here) : there)) {
                bits |= 1u << step;
                rest += value;
            }
        }
        const u32 ends = (c.y == 0) | (c.y == ny - 1) << 1 | (c.z == 0) << 2 | (c.z == nz - 1) << 3;
        bits |= ABS(rest) > weak * ABS(here) || (ends & cut) ? TIED : 0;
        links[number] = bits;
        if (bits != 0 && !(bits & (TIED | BEFORE)))
            firsts[ATOMIC_ADD(found + FIRSTS, 1)] = (u32)number;
    }
}

#define MOST_CELLS 4096
#define SLOTS (2 * MOST_CELLS)
#define EMPTY 0xffffffffu

// The cells that a block has reached: a table of them, and their slots in the order in which they were.
typedef struct {
    LOCAL u32 *cells;
    LOCAL u16 *order;
    LOCAL u32 *state;
} Flood;
#define KNOWN 0 // how many there are
#define STOPPED 1
#define PLACE 2
#define LOW 3
#define HIGH 6
#define STATES 9

FUNCTION void stop(Flood f) { ATOMIC_OR(&f.state[STOPPED], 1); }
// Threads that have not seen yet that others have stopped put one more cell each into the table.
FUNCTION bool is_stopped(Flood f) { return ATOMIC_OR(&f.state[STOPPED], 0) != 0; }

FUNCTION void reach(Flood f, u32 cell) {
    u32 slot = cell * 0x9e3779b1u >> 19;
    for (;;) {
        const u32 found = ATOMIC_CAS(&f.cells[slot], EMPTY, cell);
        if (found == cell)
            return;
        if (found == EMPTY)
            break;
        slot = (slot + 1) % SLOTS;
    }
    const u32 place = ATOMIC_ADD(&f.state[KNOWN], 1);
    if (place < MOST_CELLS)
        f.order[place] = (u16)slot;
    else
        stop(f);
}

FUNCTION void begin(Flood f, u32 first) {
    BARRIER();
    for (u32 slot = thread_of_block(); slot < SLOTS; slot += BLOCK)
        f.cells[slot] = EMPTY;
    if (thread_of_block() < STATES)
        f.state[thread_of_block()] = thread_of_block() >= LOW && thread_of_block() < HIGH ? EMPTY : 0;
    BARRIER();
    if (thread_of_block() == 0)
        reach(f, first);
    BARRIER();
}

// Others may look at the slot at the same time.
FUNCTION u32 known_cell(Flood f, u32 place) { return ATOMIC_OR(&f.cells[f.order[place]], 0); }

// Goes on from a cell; stops at one that is tied to others, and before the first one, from which others start.
FUNCTION void go_on(const PRIVATE Box *b, Flood f, u32 first, u32 cell, GLOBAL const u32 *links) {
    const u32 bits = links[cell];
    if (bits & TIED)
        stop(f);
    for (u32 step = 0; step < STEPS_OF_CELL && !is_stopped(f); step++) {
        if (!(bits >> step & 1))
            continue;
        const u32 other =
            cell + step % 3 - 1 + b->nx * (step / 3 % 3 - 1 + b->ny * (step / 9 - 1));
        if (other < first)
            stop(f);
        else
            reach(f, other);
    }
}

// Notes an island and lists its cells.
FUNCTION void put_island(const PRIVATE Box *b, Flood f, u32 first, u32 most, GLOBAL u32 *found,
                         GLOBAL u32 *members) {
    const u32 count = f.state[KNOWN];
    for (u32 place = thread_of_block(); place < count; place += BLOCK) {
        const Cell c = cell_of(b, known_cell(f, place));
        const u32 at[3] = {c.x, c.y, c.z};
        FOR(axis, 3) {
            ATOMIC_MIN(&f.state[LOW + axis], at[axis]);
            ATOMIC_MAX(&f.state[HIGH + axis], at[axis]);
        }
    }
    BARRIER();
    if (thread_of_block() == 0) {
        const u32 from = ATOMIC_ADD(found + CELLS, count), island = ATOMIC_ADD(found + ISLANDS, 1);
        f.state[PLACE] = from;
        if (island < most) {
            GLOBAL u32 *record = found + HEAD + RECORD * (u64)island;
            record[0] = first;
            record[1] = count;
            record[2] = from;
            FOR(k, 6) record[3 + k] = f.state[LOW + k];
        }
    }
    BARRIER();
    const u64 from = f.state[PLACE];
    for (u32 place = thread_of_block(); place < count; place += BLOCK)
        if (from + place < cells_of(b))
            members[from + place] = known_cell(f, place);
}

// A block goes from a cell to all that are coupled with it strongly, step by step.
KERNEL island_search(BOX_PARAMETERS, u32 most, GLOBAL const u32 *RESTRICT links,
                     GLOBAL const u32 *RESTRICT firsts, GLOBAL u32 *found,
                     GLOBAL u32 *RESTRICT members) {
    LOCAL_ARRAY(u32, cells, SLOTS);
    LOCAL_ARRAY(u16, order, MOST_CELLS);
    LOCAL_ARRAY(u32, state, STATES);
    const Box b = BOX;
    const Flood f = {cells, order, state};
    const u32 count = found[FIRSTS];
    for (u32 number = block_of_grid(); number < count; number += blocks_of_grid()) {
        const u32 first = firsts[number];
        begin(f, first);
        u32 from = 0, to = 1;
        while (from < to) {
            for (u32 place = from + thread_of_block(); place < to; place += BLOCK)
                go_on(&b, f, first, known_cell(f, place), links);
            BARRIER();
            from = to;
            to = state[STOPPED] ? from : state[KNOWN];
            BARRIER();
        }
        if (!state[STOPPED])
            put_island(&b, f, first, most, found, members);
    }
}

// ---- functions on boxes around islands

// The table has these numbers for each island and for one more, and then lists of islands whose boxes overlap: the first cell
// and the size of the box, where its numbers begin, where its list does, where its cells are listed, and how many.
#define WORDS 10
#define PARTS 16 // blocks of an island

typedef struct {
    Cell low;
    u32 nx, ny, nz, from, near, near_end;
} Patch;

FUNCTION Patch patch_of(GLOBAL const u32 *table, u32 island) {
    GLOBAL const u32 *own = table + WORDS * (u64)island;
    const Patch p = {{own[0], own[1], own[2]}, own[3], own[4], own[5], own[6], own[7],
                     own[WORDS + 7]};
    return p;
}
FUNCTION u32 cells_of_patch(const PRIVATE Patch *p) { return p->nx * p->ny * p->nz; }
FUNCTION Cell cell_of_patch(const PRIVATE Patch *p, u32 place) {
    const u32 line = place / p->nx;
    const Cell c = {p->low.x + place % p->nx, p->low.y + line % p->ny, p->low.z + line / p->ny};
    return c;
}
FUNCTION bool is_in_patch(const PRIVATE Patch *p, Cell c) {
    return c.x - p->low.x < p->nx && c.y - p->low.y < p->ny && c.z - p->low.z < p->nz;
}
// Where the number of a cell is.
FUNCTION u64 at_patch(const PRIVATE Patch *p, Cell c) {
    return p->from + (u64)(c.x - p->low.x + p->nx * (c.y - p->low.y + p->ny * (c.z - p->low.z)));
}
#define FOR_CELLS_OF_BLOCK(place, p)                                                               \
    for (u32 place = thread_of_block(); place < cells_of_patch(p); place += BLOCK)
// The same with PARTS blocks for an island.
#define FOR_CELLS_OF_PARTS(place, p)                                                               \
    for (u32 place = block_of_grid() % PARTS * BLOCK + thread_of_block(); place < cells_of_patch(p); \
         place += PARTS * BLOCK)

// One on the islands.
KERNEL island_marks(BOX_PARAMETERS, GLOBAL const u32 *RESTRICT table,
                    GLOBAL const u32 *RESTRICT members, GLOBAL f64 *RESTRICT z) {
    const Box b = BOX;
    const Patch p = patch_of(table, block_of_grid());
    GLOBAL const u32 *own = table + WORDS * (u64)block_of_grid();
    for (u32 place = thread_of_block(); place < own[9]; place += BLOCK)
        z[at_patch(&p, cell_of(&b, members[own[8] + place]))] = 1;
}

// (A z) of a cell; z is zero outside its box.
FUNCTION f64 product_of(const PRIVATE Box *b, const PRIVATE Patch *p, Cell c,
                        GLOBAL const f64 *values, GLOBAL const f64 *z) {
    f64 sum = 0;
    for (u32 step = 0; step < STEPS_OF_CELL; step++) {
        const Cell other = stepped(c, step);
        if (has_step(b->stencil, step) && is_in_patch(p, other))
            sum += values[entry_of(b, c, 0, step, 0)] * z[at_patch(p, other)];
    }
    return sum;
}

// A step of Jacobi's method around an island. Elsewhere a number is one only if its neighbours and the sum of its row keep it there.
KERNEL island_step(BOX_PARAMETERS, f64 least, GLOBAL const f64 *RESTRICT values,
                   GLOBAL const u32 *RESTRICT table, GLOBAL const f64 *RESTRICT z,
                   GLOBAL f64 *RESTRICT next) {
    const Box b = BOX;
    const Patch p = patch_of(table, block_of_grid() / PARTS);
    FOR_CELLS_OF_PARTS(place, &p) {
        const Cell c = cell_of_patch(&p, place);
        const f64 old = z[p.from + place];
        f64 now = old;
        if (old != 1) {
            const f64 change = product_of(&b, &p, c, values, z) / values[entry_of(&b, c, 0, CENTRE, 0)];
            now = old - change > least ? old - change : old;
        }
        next[p.from + place] = now;
    }
}

KERNEL island_products(BOX_PARAMETERS, GLOBAL const f64 *RESTRICT values,
                       GLOBAL const u32 *RESTRICT table, GLOBAL const f64 *RESTRICT z,
                       GLOBAL f64 *RESTRICT az) {
    const Box b = BOX;
    const Patch p = patch_of(table, block_of_grid() / PARTS);
    FOR_CELLS_OF_PARTS(place, &p)
        az[p.from + place] = product_of(&b, &p, cell_of_patch(&p, place), values, z);
}

// One over the diagonal of Z^T A Z with the absolute values beside it; zero where that is not positive.
KERNEL island_weights(GLOBAL const u32 *RESTRICT table, GLOBAL const f64 *RESTRICT z,
                      GLOBAL const f64 *RESTRICT az, GLOBAL f64 *RESTRICT weights) {
    LOCAL_ARRAY(f64, scratch, BLOCK);
    const Patch p = patch_of(table, block_of_grid());
    f64 sum = 0;
    UNROLL_4 FOR_CELLS_OF_BLOCK(place, &p) sum += z[p.from + place] * az[p.from + place];
    f64 total = BLOCK_SUM(f64, sum, scratch);
    for (u32 near = p.near; near < p.near_end; near++) {
        const Patch q = patch_of(table, table[near]);
        sum = 0;
        FOR_CELLS_OF_BLOCK(place, &p) {
            const Cell c = cell_of_patch(&p, place);
            if (is_in_patch(&q, c))
                sum += az[p.from + place] * z[at_patch(&q, c)];
        }
        sum = BLOCK_SUM(f64, sum, scratch);
        total += ABS(sum);
    }
    if (thread_of_block() == 0)
        weights[block_of_grid()] = total > 0 ? 1 / total : 0;
}

// ---- corrections

FUNCTION u64 row_of_cell(u32 nx, u32 ny, Cell c) { return c.x + nx * (c.y + (u64)ny * c.z); }

// sums = before + D^-1 (Z^T b - (A Z)^T x), a block for an island and a column; without `before` and `x` where they are null.
KERNEL island_sums(u32 nx, u32 ny, u32 cols, GLOBAL const u32 *RESTRICT table,
                   GLOBAL const f64 *RESTRICT weights, GLOBAL const f64 *RESTRICT z,
                   GLOBAL const f64 *RESTRICT b, GLOBAL const f64 *RESTRICT az,
                   GLOBAL const f64 *RESTRICT x, GLOBAL const f64 *RESTRICT before,
                   GLOBAL f64 *RESTRICT sums) {
    LOCAL_ARRAY(f64, scratch, BLOCK);
    const u32 island = block_of_grid() / cols, column = block_of_grid() % cols;
    const Patch p = patch_of(table, island);
    f64 sum = 0;
    UNROLL_4 FOR_CELLS_OF_BLOCK(place, &p) {
        const u64 at = row_of_cell(nx, ny, cell_of_patch(&p, place)) * cols + column;
        sum += z[p.from + place] * b[at];
        if (x)
            sum -= az[p.from + place] * x[at];
    }
    sum = BLOCK_SUM(f64, sum, scratch);
    if (thread_of_block() == 0)
        sums[block_of_grid()] = (before ? before[block_of_grid()] : 0) + weights[island] * sum;
}

// y += sign Z sums. Where boxes overlap, the first of them adds all.
KERNEL island_add(u32 nx, u32 ny, u32 cols, f64 sign, GLOBAL const u32 *RESTRICT table,
                  GLOBAL const f64 *RESTRICT z, GLOBAL const f64 *RESTRICT sums,
                  GLOBAL f64 *RESTRICT y) {
    const u32 island = block_of_grid() / PARTS;
    const Patch p = patch_of(table, island);
    FOR_CELLS_OF_PARTS(place, &p) {
        const Cell c = cell_of_patch(&p, place);
        for (u32 column = 0; column < cols; column++) {
            f64 sum = z[p.from + place] * sums[island * cols + column];
            bool is_first = true;
            for (u32 near = p.near; near < p.near_end; near++) {
                const u32 other = table[near];
                const Patch q = patch_of(table, other);
                if (!is_in_patch(&q, c))
                    continue;
                is_first = is_first && other > island;
                sum += z[at_patch(&q, c)] * sums[other * cols + column];
            }
            const u64 at = row_of_cell(nx, ny, c) * cols + column;
            if (is_first && sum != 0)
                y[at] += sign * sum;
        }
    }
}
