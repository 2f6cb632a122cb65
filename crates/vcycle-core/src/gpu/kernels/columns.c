// Vectors of several columns, row after row, taken as matrices.

#define A ARITH(T)
// Columns of either vector whose products a block finds at once.
#define TILE_COLUMNS 4

// Parts of X^H Y with p columns of x and q of y: block `tile + tiles * part` has some columns and a part of the rows.
KERNEL columns_products(u64 rows, u32 p, u32 q, u32 parts, GLOBAL const T *RESTRICT x,
                        GLOBAL const T *RESTRICT y, GLOBAL A *RESTRICT partials) {
    LOCAL_ARRAY(A, scratch, BLOCK);
    const u32 across = (q + TILE_COLUMNS - 1) / TILE_COLUMNS;
    const u32 tiles = (p + TILE_COLUMNS - 1) / TILE_COLUMNS * across;
    const u32 tile = block_of_grid() % tiles, part = block_of_grid() / tiles;
    const u32 first = tile / across * TILE_COLUMNS, second = tile % across * TILE_COLUMNS;
    A sums[TILE_COLUMNS][TILE_COLUMNS] = {{0}};
    for (u64 row = (u64)part * BLOCK + thread_of_block(); row < rows; row += (u64)parts * BLOCK) {
        A xs[TILE_COLUMNS], ys[TILE_COLUMNS];
        // The last tile may have fewer columns; what is multiplied twice is not kept.
        FOR(k, TILE_COLUMNS) xs[k] = LOAD(T, x, row * p + min(first + k, p - 1));
        FOR(k, TILE_COLUMNS) ys[k] = LOAD(T, y, row * q + min(second + k, q - 1));
        FOR(i, TILE_COLUMNS) FOR(j, TILE_COLUMNS) sums[i][j] += xs[i] * ys[j];
    }
    FOR(i, TILE_COLUMNS) FOR(j, TILE_COLUMNS) {
        const A sum = BLOCK_SUM(A, sums[i][j], scratch);
        BARRIER();
        if (thread_of_block() == 0 && first + i < p && second + j < q)
            partials[((u64)(first + i) * q + second + j) * parts + part] = sum;
    }
}

// Adds up the parts of one product a block.
KERNEL columns_sums(u32 parts, GLOBAL const A *RESTRICT partials, GLOBAL A *RESTRICT out) {
    LOCAL_ARRAY(A, scratch, BLOCK);
    A sum = 0;
    for (u32 part = thread_of_block(); part < parts; part += BLOCK)
        sum += partials[(u64)block_of_grid() * parts + part];
    sum = BLOCK_SUM(A, sum, scratch);
    if (thread_of_block() == 0)
        out[block_of_grid()] = sum;
}

// Y += X C; a zero of C does not touch its column of x.
KERNEL columns_add(u64 rows, u32 p, u32 q, GLOBAL const T *RESTRICT x,
                   GLOBAL const A *RESTRICT coefficients, GLOBAL T *RESTRICT y) {
    FOR_ITEMS(item, rows * q) {
        const u64 row = item / q;
        const u32 column = (u32)(item % q);
        A sum = LOAD(T, y, item);
        for (u32 k = 0; k < p; k++) {
            const A coefficient = coefficients[k * q + column];
            if (coefficient != 0)
                sum += coefficient * LOAD(T, x, row * p + k);
        }
        STORE(A, T, y, item, sum);
    }
}
