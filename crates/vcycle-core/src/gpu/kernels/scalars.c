// One number per column, of arithmetic type T.

KERNEL scalars_assign(u32 cols, COEFFICIENT(T, value), GLOBAL T *out) {
    for (u32 column = (u32)thread_of_grid(); column < cols; column += (u32)threads_of_grid())
        out[column] = EVALUATE(T, value, column);
}

KERNEL scalars_square_root(u32 cols, GLOBAL T *values) {
    for (u32 column = (u32)thread_of_grid(); column < cols; column += (u32)threads_of_grid())
        values[column] = SQUARE_ROOT(T, values[column]);
}
