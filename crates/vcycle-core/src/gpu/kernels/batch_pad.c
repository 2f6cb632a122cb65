// Values of many matrices of one pattern, row by row, as kernels for small systems take them.
//
// Definitions: T, the type of values.

// Entry `slot` of a row is `slot * rows` behind its first one; behind the last entry of a row there are zeros.
KERNEL batch_pad(u64 slots, u32 rows, u32 width, u32 entries, GLOBAL const u32 *RESTRICT offsets,
                 GLOBAL const T *RESTRICT values, GLOBAL T *RESTRICT out) {
    FOR_ITEMS(at, slots) {
        const u64 system = at / (rows * width);
        const u32 place = (u32)(at % (rows * width)), slot = place / rows, row = place % rows;
        const u32 entry = offsets[row] + slot;
        const ARITH(T) value = entry < offsets[row + 1] ? LOAD(T, values, system * entries + entry) : (ARITH(T))0;
        STORE(ARITH(T), T, out, at, value);
    }
}
