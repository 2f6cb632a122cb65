// Numbers at equal distances.

// Every `to_stride`-th number of `to` becomes the next `from_stride`-th one of `from`.
KERNEL strided_copy(u64 n, u64 from_stride, GLOBAL const T *RESTRICT from, u64 to_stride,
                    GLOBAL T *RESTRICT to) {
    FOR_ITEMS(i, n) to[i * to_stride] = from[i * from_stride];
}
