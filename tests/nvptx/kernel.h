// What CUDA gives a kernel, without its headers: clang for nvptx64 has it built in.
#define KERNEL __attribute__((nvptx_kernel)) void
#define GLOBAL __attribute__((address_space(1)))
#define SHARED static __attribute__((address_space(3)))
#define THREAD __nvvm_read_ptx_sreg_tid_x()
#define BLOCK __nvvm_read_ptx_sreg_ctaid_x()
#define BLOCK_SIZE __nvvm_read_ptx_sreg_ntid_x()
#define INDEX (BLOCK * BLOCK_SIZE + THREAD)
#define SYNC __nvvm_bar_sync(0)
