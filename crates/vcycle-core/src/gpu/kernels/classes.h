// Classes of rows by size: class 0 has those up to SMALLEST, every further one twice as large ones, the last one all others.

#define CLASSES 12
#define SMALLEST 8

FUNCTION u32 class_of(u32 size) {
    u32 class_ = 0;
    while (class_ + 1 < CLASSES && (u32)SMALLEST << class_ < size)
        ++class_;
    return class_;
}

// A block counts for itself, in an array of CLASSES numbers and the largest size, and adds that to what others have counted. All its threads have
// to come to both of these.
FUNCTION void clear_classes(LOCAL u32 *own) {
    if (thread_of_block() <= CLASSES)
        own[thread_of_block()] = 0;
    BARRIER();
}
FUNCTION void add_classes(LOCAL u32 *own, GLOBAL u32 *counts) {
    const u32 thread = thread_of_block();
    BARRIER();
    if (thread < CLASSES && own[thread])
        ATOMIC_ADD(&counts[thread], own[thread]);
    else if (thread == CLASSES)
        ATOMIC_MAX(&counts[CLASSES], own[CLASSES]);
}
