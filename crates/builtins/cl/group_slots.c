// Local memory of the collectives: a slot per work-item of the largest work-group.
#define LOCAL __attribute__((address_space(3)))
LOCAL long slots[4096] __asm("heddle.slots");
__attribute__((always_inline, const, nothrow)) LOCAL long *group_slots(void) __asm("heddle.group_slots");
LOCAL long *group_slots(void) { return slots; }
