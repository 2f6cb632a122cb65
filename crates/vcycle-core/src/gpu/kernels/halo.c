// Rows that ranks share: what is sent to others, and what the columns of others add to a product.

#ifdef T
// Rows of x one after the other.
KERNEL halo_pack(u64 rows, u32 cols, GLOBAL const u32 *RESTRICT numbers, GLOBAL const T *RESTRICT x,
                 GLOBAL T *RESTRICT packed) {
    FOR_ITEMS(i, rows * cols) packed[i] = x[(u64)numbers[i / cols] * cols + i % cols];
}
#elif defined(WORD)
// Up to three runs of words, copied to other places: those of other ranks come through memory of the host.
KERNEL halo_move(u64 n0, GLOBAL const WORD *from0, GLOBAL WORD *to0, u64 n1, GLOBAL const WORD *from1,
                 GLOBAL WORD *to1, u64 n2, GLOBAL const WORD *from2, GLOBAL WORD *to2) {
    FOR_ITEMS(i, n0) to0[i] = from0[i];
    FOR_ITEMS(j, n1) to1[j] = from1[j];
    FOR_ITEMS(k, n2) to2[k] = from2[k];
}
#else
// y += alpha d B x for some rows, with one number d a row, or without.
KERNEL halo_add(u64 rows, u32 cols, GLOBAL const u32 *RESTRICT numbers,
                GLOBAL const u64 *RESTRICT offsets, GLOBAL const u32 *RESTRICT columns,
                GLOBAL const M *RESTRICT values, GLOBAL const X *RESTRICT x,
                COEFFICIENT(ARITH(Y), alpha), GLOBAL const Y *RESTRICT d, GLOBAL Y *RESTRICT y) {
    FOR_ITEMS(i, rows * cols) {
        u64 row = i / cols, column = i % cols;
        ACC sum = 0;
        for (u64 entry = offsets[row]; entry < offsets[row + 1]; entry++)
            sum += (ACC)LOAD(M, values, entry) * (ACC)LOAD(X, x, (u64)columns[entry] * cols + column);
        ACC factor = EVALUATE(ARITH(Y), alpha, (u32)column);
        if (d)
            factor *= LOAD(Y, d, numbers[row]);
        u64 place = (u64)numbers[row] * cols + column;
        if (factor != 0)
            STORE(ACC, Y, y, place, (ACC)LOAD(Y, y, place) + factor * sum);
    }
}
#endif
