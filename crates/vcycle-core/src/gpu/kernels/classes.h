// Classes of rows by size: class 0 has those up to SMALLEST, every further one twice as large ones, the last one all others. Within a class rows may have LEVELS levels, by which they
// are listed: then what counts as their size is the largest of the class less the level.

#define CLASSES 12
#define SMALLEST 8
#define LEVELS 8
#define KINDS (CLASSES * LEVELS)

FUNCTION u32 class_of(u32 size) {
    u32 class_ = 0;
    while (class_ + 1 < CLASSES && (u32)SMALLEST << class_ < size)
        ++class_;
    return class_;
}

FUNCTION u32 kind_of(u32 size, bool has_level) {
    const u32 class_ = class_of(size);
    return class_ * LEVELS + (has_level ? ((u32)SMALLEST << class_) - size : 0);
}

// A block counts for itself, in an array of KINDS numbers and the largest size, and adds that to what others have counted. All its threads have
// to come to the first and the last of these.
FUNCTION void clear_classes(LOCAL u32 *own) {
    for (u32 k = thread_of_block(); k <= KINDS; k += BLOCK)
        own[k] = 0;
    BARRIER();
}
FUNCTION void count_class(LOCAL u32 *own, u32 size, bool has_level) {
    ATOMIC_ADD(&own[kind_of(size, has_level)], 1);
}
FUNCTION void add_classes(LOCAL u32 *own, GLOBAL u32 *counts) {
    BARRIER();
    for (u32 k = thread_of_block(); k < KINDS; k += BLOCK)
        if (own[k])
            ATOMIC_ADD(&counts[k], own[k]);
    if (thread_of_block() == 0)
        ATOMIC_MAX(&counts[KINDS], own[KINDS]);
}
