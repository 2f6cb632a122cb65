// Rows grouped by the classes of their sizes.

#include "classes.h"

// How many rows each class has, added to `counts`, and behind these the largest size of all.
KERNEL count_classes(u64 rows, GLOBAL const u32 *RESTRICT sizes, GLOBAL u32 *counts) {
    LOCAL_ARRAY(u32, own, CLASSES + 1);
    clear_classes(own);
    u32 largest = 0;
    FOR_ITEMS(row, rows) {
        largest = max(largest, sizes[row]);
        ATOMIC_ADD(&own[class_of(sizes[row])], 1);
    }
    ATOMIC_MAX(&own[CLASSES], largest);
    add_classes(own, counts);
}

// The rows of all classes, class after class. `taken` are zeros before.
KERNEL list_classes(u64 rows, GLOBAL const u32 *RESTRICT sizes, GLOBAL const u32 *RESTRICT counts,
                    GLOBAL u32 *taken, GLOBAL u32 *RESTRICT list) {
    LOCAL_ARRAY(u32, own, CLASSES);
    LOCAL_ARRAY(u32, first, CLASSES);
    const u32 thread = thread_of_block();
    for (u64 begin = (u64)block_of_grid() * BLOCK; begin < rows;
         begin += (u64)blocks_of_grid() * BLOCK) {
        BARRIER();
        if (thread < CLASSES)
            own[thread] = 0;
        BARRIER();
        const u64 row = begin + thread;
        u32 mine = 0, place = 0;
        if (row < rows) {
            mine = class_of(sizes[row]);
            place = ATOMIC_ADD(&own[mine], 1);
        }
        BARRIER();
        if (thread < CLASSES && own[thread]) {
            u32 before = 0;
            for (u32 k = 0; k < thread; ++k)
                before += counts[k];
            first[thread] = before + ATOMIC_ADD(&taken[thread], own[thread]);
        }
        BARRIER();
        if (row < rows)
            list[first[mine] + place] = (u32)row;
    }
}
