
// cl_khr_extended_async_copies
event_t __attribute__((overloadable, convergent)) async_work_group_copy_2D2D(
    __local void *to, size_t to_offset, const __global void *from, size_t from_offset, size_t bytes, size_t elements, size_t lines,
    size_t from_line, size_t to_line, event_t event);
event_t __attribute__((overloadable, convergent)) async_work_group_copy_2D2D(
    __global void *to, size_t to_offset, const __local void *from, size_t from_offset, size_t bytes, size_t elements, size_t lines,
    size_t from_line, size_t to_line, event_t event);
event_t __attribute__((overloadable, convergent)) async_work_group_copy_3D3D(
    __local void *to, size_t to_offset, const __global void *from, size_t from_offset, size_t bytes, size_t elements, size_t lines,
    size_t planes, size_t from_line, size_t from_plane, size_t to_line, size_t to_plane, event_t event);
event_t __attribute__((overloadable, convergent)) async_work_group_copy_3D3D(
    __global void *to, size_t to_offset, const __local void *from, size_t from_offset, size_t bytes, size_t elements, size_t lines,
    size_t planes, size_t from_line, size_t from_plane, size_t to_line, size_t to_plane, event_t event);
