//! Calls with wrong arguments: each is answered by a code, and none crashes.
//!
//! Arguments are drawn by what they are: handles that are alive, released, of another kind, or no handles at all; counts
//! next to lists that are there or not; sizes that fit nothing. Only what would be undefined for any driver is left out:
//! pointers that are neither null nor lead anywhere, and counts and sizes that lie about memory of the application.

#[path = "../../runtime/tests/calls/mod.rs"]
mod calls;

use calls::{Numbers, met_enough, requested};
use heddle_opencl::api::dispatch::{ENTRIES, EXTENSION_ENTRIES};
use std::collections::{BTreeMap, BTreeSet};

/// Kinds of an entry's arguments, one letter each:
/// `h` handle, `q` queue, which is mostly null, `n` count of the list after it, `H` list of handles, `f` flags, `k` name of a question, `z` size that the
/// driver knows better, `s` size of memory of ours, `p` memory of ours, `o` place for an answer, `t` text, `T` list of
/// texts, `l` properties, `w` list of sizes, `x` no pointer, `F` a function to call back, `c` code's place, `0` null,
/// `i` format of an image, `d` shape of an image, `a` addressing mode or filter, `m` place for a recorded command, `u` kinds of updates, `U` updates.
const SHAPES: &[(&str, &str)] = &[
    ("clGetPlatformIDs", "noo"),
    ("clGetPlatformInfo", "hksoo"),
    ("clGetDeviceIDs", "hfnoo"),
    ("clGetDeviceInfo", "hksoo"),
    ("clCreateContext", "lnHFpc"),
    ("clCreateContextFromType", "lfFpc"),
    ("clRetainContext", "h"),
    ("clReleaseContext", "h"),
    ("clGetContextInfo", "hksoo"),
    ("clCreateCommandQueue", "hhfc"),
    ("clCreateCommandQueueWithProperties", "hhlc"),
    ("clRetainCommandQueue", "h"),
    ("clReleaseCommandQueue", "h"),
    ("clGetCommandQueueInfo", "hksoo"),
    ("clSetCommandQueueProperty", "hfxo"),
    ("clCreateBuffer", "hfspc"),
    ("clCreateBuffer", "hfz0c"),
    ("clCreateBufferWithProperties", "hlfspc"),
    ("clCreateSubBuffer", "hfkwc"),
    ("clRetainMemObject", "h"),
    ("clReleaseMemObject", "h"),
    ("clGetMemObjectInfo", "hksoo"),
    ("clSetMemObjectDestructorCallback", "hFp"),
    ("clGetSupportedImageFormats", "hfknoo"),
    ("clCreateImage", "hfidpc"),
    ("clCreateImage", "hfid0c"),
    ("clCreateSampler", "hxaac"),
    ("clRetainSampler", "h"),
    ("clReleaseSampler", "h"),
    ("clCreatePipe", "hfxxlc"),
    ("clCreateProgramWithSource", "hnT0c"),
    ("clCreateProgramWithBinary", "h1HwBoc"),
    ("clRetainProgram", "h"),
    ("clReleaseProgram", "h"),
    ("clBuildProgram", "hnHtFp"),
    ("clCompileProgram", "hnHtnHTFp"),
    ("clLinkProgram", "hnHtnHFpc"),
    ("clUnloadPlatformCompiler", "h"),
    ("clGetProgramInfo", "hksoo"),
    ("clGetProgramBuildInfo", "hhksoo"),
    ("clCreateKernel", "htc"),
    ("clCreateKernelsInProgram", "hnoo"),
    ("clRetainKernel", "h"),
    ("clReleaseKernel", "h"),
    ("clCloneKernel", "hc"),
    ("clSetKernelArg", "hxsp"),
    ("clSetKernelArg", "hx8H"),
    ("clSetKernelArgSVMPointer", "hx0"),
    ("clSetKernelExecInfo", "hksp"),
    ("clGetKernelInfo", "hksoo"),
    ("clGetKernelArgInfo", "hxksoo"),
    ("clGetKernelWorkGroupInfo", "hhksoo"),
    ("clGetKernelSubGroupInfo", "hhkspsoo"),
    ("clWaitForEvents", "nH"),
    ("clGetEventInfo", "hksoo"),
    ("clRetainEvent", "h"),
    ("clReleaseEvent", "h"),
    ("clGetEventProfilingInfo", "hksoo"),
    ("clSetEventCallback", "hxFp"),
    ("clCreateUserEvent", "hc"),
    ("clSetUserEventStatus", "hx"),
    ("clFlush", "h"),
    ("clFinish", "h"),
    ("clEnqueueReadBuffer", "hhxzzpnHo"),
    ("clEnqueueWriteBuffer", "hhxzzpnHo"),
    ("clEnqueueCopyBuffer", "hhhzzznHo"),
    ("clEnqueueFillBuffer", "hhpszznHo"),
    ("clEnqueueReadBufferRect", "hhxwwwssssPnHo"),
    ("clEnqueueCopyBufferRect", "hhhwwwzzzznHo"),
    ("clEnqueueMapBuffer", "hhxfzznHoc"),
    ("clEnqueueUnmapMemObject", "hhpnHo"),
    ("clEnqueueMigrateMemObjects", "hnHfnHo"),
    ("clEnqueueNDRangeKernel", "hhxwwwnHo"),
    ("clEnqueueTask", "hhnHo"),
    ("clEnqueueMarkerWithWaitList", "hnHo"),
    ("clEnqueueBarrierWithWaitList", "hnHo"),
    ("clEnqueueMarker", "ho"),
    ("clEnqueueWaitForEvents", "hnH"),
    ("clEnqueueReadImage", "hhxwwsspnHo"),
    ("clEnqueueMapImage", "hhxfwwoonHoc"),
    ("clSVMAlloc", "hfzx"),
    ("clEnqueueSVMMemFill", "hpp44nHo"),
    ("clEnqueueSVMMap", "hxfpsnHo"),
    ("clEnqueueSVMUnmap", "hpnHo"),
    ("clEnqueueSVMMigrateMem", "hnH0fnHo"),
    ("clSetDefaultDeviceCommandQueue", "hhh"),
    ("clCreateSubDevices", "hlnoo"),
    ("clRetainDevice", "h"),
    ("clReleaseDevice", "h"),
    ("clGetDeviceAndHostTimer", "hoo"),
    ("clGetHostTimer", "ho"),
    ("clSetProgramSpecializationConstant", "hxsp"),
    ("clCreateProgramWithIL", "hpsc"),
    ("clGetKernelSuggestedLocalWorkSizeKHR", "hhxwwo"),
    ("clEnqueueSVMFree", "hnHFpnHo"),
    ("clEnqueueSVMMemcpy", "hxppsnHo"),
    ("clSVMFree", "hp"),
    ("clEnqueueWriteBufferRect", "hhxwwwssssPnHo"),
    ("clEnqueueNativeKernel", "hFpsnHpnHo"),
    ("clEnqueueBarrier", "h"),
    ("clSetContextDestructorCallback", "hFp"),
    ("clSetProgramReleaseCallback", "hFp"),
    ("clGetKernelSubGroupInfoKHR", "hhkspsoo"),
    ("clGetExtensionFunctionAddress", "t"),
    ("clGetExtensionFunctionAddressForPlatform", "ht"),
    ("clUnloadCompiler", ""),
    ("clCreateSubDevicesEXT", "hlnoo"),
    ("clRetainDeviceEXT", "h"),
    ("clReleaseDeviceEXT", "h"),
    ("clCreateProgramWithBuiltInKernels", "hnHtc"),
    ("clCreateImage2D", "hfizz00c"),
    ("clCreateImage3D", "hfizzzzz0c"),
    ("clCreateImageWithProperties", "hlfidpc"),
    ("clCreateSamplerWithProperties", "hlc"),
    ("clGetImageInfo", "hksoo"),
    ("clGetSamplerInfo", "hksoo"),
    ("clGetPipeInfo", "hksoo"),
    ("clEnqueueWriteImage", "hhxwwsspnHo"),
    ("clEnqueueFillImage", "hhpwwnHo"),
    ("clEnqueueCopyImage", "hhhwwwnHo"),
    ("clEnqueueCopyImageToBuffer", "hhhwwznHo"),
    ("clEnqueueCopyBufferToImage", "hhhzwwnHo"),
    ("clCreateFromGLBuffer", "hfxc"),
    ("clCreateFromGLTexture", "hfxxxc"),
    ("clCreateFromGLTexture2D", "hfxxxc"),
    ("clCreateFromGLTexture3D", "hfxxxc"),
    ("clCreateFromGLRenderbuffer", "hfxc"),
    ("clCreateFromEGLImageKHR", "hppflc"),
    ("clCreateEventFromGLsyncKHR", "hpc"),
    ("clCreateEventFromEGLSyncKHR", "hppc"),
    ("clGetGLObjectInfo", "hoo"),
    ("clGetGLTextureInfo", "hksoo"),
    ("clGetGLContextInfoKHR", "lksoo"),
    ("clEnqueueAcquireGLObjects", "hnHnHo"),
    ("clEnqueueReleaseGLObjects", "hnHnHo"),
    ("clEnqueueAcquireEGLObjectsKHR", "hnHnHo"),
    ("clEnqueueReleaseEGLObjectsKHR", "hnHnHo"),
    ("clSetKernelArgDevicePointerEXT", "hx0"),
    ("clCreateCommandBufferKHR", "nHlc"),
    ("clCreateCommandBufferKHR", "1H0c"),
    ("clFinalizeCommandBufferKHR", "h"),
    ("clRetainCommandBufferKHR", "h"),
    ("clReleaseCommandBufferKHR", "h"),
    ("clEnqueueCommandBufferKHR", "nHhnHo"),
    ("clEnqueueCommandBufferKHR", "00hnHo"),
    ("clGetCommandBufferInfoKHR", "hksoo"),
    ("clCommandBarrierWithWaitListKHR", "hqlnwoo"),
    ("clCommandBarrierWithWaitListKHR", "hq000o0"),
    ("clCommandNDRangeKernelKHR", "hq0hxwww00o0"),
    ("clCommandNDRangeKernelKHR", "hqlhxwww00om"),
    ("clCommandCopyBufferKHR", "hq0hhzzznwo0"),
    ("clCommandCopyBufferRectKHR", "hq0hhwwwzzzz00o0"),
    ("clCommandCopyBufferToImageKHR", "hq0hhzww00o0"),
    ("clCommandCopyImageKHR", "hq0hhwww00o0"),
    ("clCommandCopyImageToBufferKHR", "hq0hhwwz00o0"),
    ("clCommandFillBufferKHR", "hq0hpszz00o0"),
    ("clCommandFillImageKHR", "hq0hpww00o0"),
    ("clCommandSVMMemcpyKHR", "hq0pps00o0"),
    ("clCommandSVMMemFillKHR", "hq0pp4400o0"),
    ("clUpdateMutableCommandsKHR", "h1uU"),
    ("clGetMutableCommandInfoKHR", "hksoo"),
    ("clSVMAllocWithPropertiesKHR", "hlxzc"),
    ("clSVMFreeWithPropertiesKHR", "h0fp"),
    ("clGetSVMPointerInfoKHR", "hhpksoo"),
    ("clGetSVMSuggestedTypeIndexKHR", "hff0so"),
];

const SOURCE: &std::ffi::CStr =
    c"kernel void idle(int x, local int *l, global int *a) { } kernel void none() { } \
      kernel void picture(read_only image2d_t a, sampler_t s, write_only image2d_t b) { \
        write_imagef(b, (int2)(0, 0), read_imagef(a, s, (float2)(0, 0))); }";
const TEXTS: [&std::ffi::CStr; 9] = [
    SOURCE,
    c"",
    c"idle",
    c"none",
    c"picture",
    c"-D X=1 -w",
    c"-create-library",
    c"-cl-std=CL3.0",
    c"kernel void broken(",
];

/// Entries that neither return nor store an error code.
const WITHOUT_CODE: [&str; 3] =
    ["clSVMFree", "clGetExtensionFunctionAddress", "clGetExtensionFunctionAddressForPlatform"];

/// Callback functions.
extern "C" fn nothing() {}

/// The most arguments of an entry.
const ARGUMENTS: usize = 16;

type Function = unsafe extern "C" fn(
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
) -> usize;

struct Fuzzer {
    numbers: Numbers,
    entries: BTreeMap<&'static str, Function>,
    /// Handles that calls gave, alive or not, by the kind of object.
    handles: Vec<Vec<usize>>,
    memory: Vec<u64>,
    answers: Vec<u64>,
    lists: [Vec<u64>; 4],
    properties: Vec<u64>,
    sizes: [[usize; 3]; 4],
    format: [u32; 2],
    /// A `cl_mutable_dispatch_config_khr`, and a list of its address.
    update: [usize; 9],
    updates: [usize; 1],
    /// A `cl_image_desc`.
    description: [usize; 9],
    texts: Vec<*const i8>,
    codes: BTreeMap<i32, u64>,
    /// Number of calls without an error code.
    without_code: u64,
}

const KINDS: [(&str, usize); 20] = [
    ("clGetPlatformIDs", 0),
    ("clGetDeviceIDs", 1),
    ("clCreateContext", 2),
    ("clCreateContextFromType", 2),
    ("clCreateCommandQueue", 3),
    ("clCreateCommandQueueWithProperties", 3),
    ("clCreateBuffer", 4),
    ("clCreateSubBuffer", 4),
    ("clCreateProgramWithSource", 5),
    ("clLinkProgram", 5),
    ("clCreateKernel", 6),
    ("clCloneKernel", 6),
    ("clCreateUserEvent", 7),
    ("clCreateImage", 4),
    ("clCreateImage2D", 4),
    ("clCreateImage3D", 4),
    ("clCreateImageWithProperties", 4),
    ("clCreateSampler", 8),
    ("clCreateSamplerWithProperties", 8),
    ("clCreateCommandBufferKHR", 9),
];

/// The kind of handle that an entry takes first.
fn first_kind(name: &str) -> usize {
    let has = |part: &str| name.contains(part);
    match () {
        () if has("clEnqueueCommandBuffer") => 3,
        () if name == "clGetMutableCommandInfoKHR" => 10,
        () if name.starts_with("clCommand")
            || has("MutableCommands")
            || has("eCommandBuffer")
            || has("nCommandBuffer")
            || has("tCommandBuffer") =>
        {
            9
        }
        () if has("Platform") || name == "clGetDeviceIDs" => 0,
        () if has("clGetDeviceInfo") || has("RetainDevice") || has("Timer") || has("SubDevices") => 1,
        () if has("clGetKernelSuggested") || has("Enqueue") || has("CommandQueueInfo") => 3,
        () if has("Flush") || has("Finish") || has("nCommandQueue") || has("eCommandQueueP") => 3,
        () if has("MemObject") || has("SubBuffer") || name == "clGetImageInfo" => 4,
        () if has("Sampler") && !has("Create") => 8,
        () if has("BuildProgram") || has("CompileProgram") || has("tProgram") || has("nProgram") => 5,
        () if has("eProgram") && !has("Create") || has("clCreateKernel") => 5,
        () if has("Kernel") => 6,
        () if has("Event") && !has("Create") => 7,
        () => 2,
    }
}

impl Fuzzer {
    fn new(seed: u64) -> Fuzzer {
        let function = |address: *const ()| {
            // SAFETY: an entry; those of the interface take words, and what more is handed over is not looked at.
            unsafe { std::mem::transmute::<*const (), Function>(address) }
        };
        Fuzzer {
            numbers: Numbers::new(seed),
            entries: ENTRIES
                .iter()
                .chain(EXTENSION_ENTRIES)
                .map(|entry| (entry.name, function(entry.address())))
                .collect(),
            handles: vec![Vec::new(); 11],
            memory: vec![0; 1 << 17],
            answers: vec![0; 1 << 12],
            lists: std::array::from_fn(|_| vec![0; 8]),
            properties: vec![0; 8],
            sizes: [[0; 3]; 4],
            format: [0; 2],
            update: [0; 9],
            updates: [0; 1],
            description: [0; 9],
            texts: Vec::new(),
            codes: BTreeMap::new(),
            without_code: 0,
        }
    }

    fn handle(&mut self, kind: usize) -> usize {
        match self.numbers.below(20) {
            0 => 0,
            1 => self.memory.as_ptr().addr(),
            2 => self.numbers.next() as usize,
            3 => {
                let kind = self.numbers.below(11);
                self.any(kind)
            }
            _ => self.any(kind),
        }
    }

    fn any(&mut self, kind: usize) -> usize {
        let count = self.handles[kind].len();
        // The last ones are the likeliest to be alive.
        let recent = count.min(6);
        if recent == 0 { 0 } else { self.handles[kind][count - 1 - self.numbers.below(recent)] }
    }

    fn arguments(&mut self, name: &str, shape: &str) -> [usize; ARGUMENTS] {
        let mut arguments = [0; ARGUMENTS];
        let (mut handle, mut lists, mut sizes) = (0, 0, 0);
        let mut count = 0;
        let queue = [3, if name.contains("Kernel") || name.contains("Task") { 6 } else { 4 }, 4];
        for (at, letter) in shape.bytes().enumerate() {
            arguments[at] = match letter {
                b'h' => {
                    let kind = match handle {
                        0 if name == "clEnqueueCommandBufferKHR" => 9,
                        0 => first_kind(name),
                        _ if first_kind(name) == 9 => {
                            if name.contains("Kernel") {
                                6
                            } else {
                                4
                            }
                        }
                        _ if first_kind(name) == 3 => queue[handle.min(2)],
                        _ => 1,
                    };
                    handle += 1;
                    self.handle(kind)
                }
                b'n' => {
                    count = self.numbers.of(&[0, 0, 1, 2, 3]);
                    count
                }
                b'q' => {
                    let is_given = self.numbers.below(12) == 0;
                    if is_given { self.handle(3) } else { 0 }
                }
                b'1' => 1,
                b'4' => 4,
                b'8' => 8,
                b'H' => {
                    let is_events = handle > 0 && first_kind(name) == 3 || name == "clWaitForEvents";
                    let kind = match name {
                        _ if is_events => 7,
                        "clLinkProgram" | "clCompileProgram" if lists > 0 => 5,
                        "clEnqueueCommandBufferKHR" | "clCreateCommandBufferKHR" => 3,
                        "clSetKernelArg" => self.numbers.of(&[4, 4, 8]),
                        _ => 1,
                    };
                    for index in 0..8 {
                        self.lists[lists][index] = self.handle(kind) as u64;
                    }
                    lists += 1;
                    // Mostly there exactly where the count says so.
                    let there = (count > 0 || ["clSetKernelArg", "clCreateCommandBufferKHR"].contains(&name))
                        ^ (self.numbers.below(12) == 0);
                    if there { self.lists[lists - 1].as_ptr().addr() } else { 0 }
                }
                b'f' => match self.numbers.below(4) {
                    0 => 0,
                    1 => 1 << self.numbers.below(12),
                    2 => 1 << self.numbers.below(12) | 1 << self.numbers.below(12),
                    _ => self.numbers.of(&[1, 4, 32, u32::MAX as usize, usize::MAX]),
                },
                b'k' => match self.numbers.below(8) {
                    0 => self.numbers.next() as u32 as usize,
                    _ => {
                        let base = [
                            0x0900, 0x1000, 0x10f0, 0x1150, 0x1030, 0x1060, 0x1080, 0x1090, 0x1100, 0x1160,
                            0x1190, 0x11b0, 0x11d0, 0x1280, 0x2020,
                        ];
                        self.numbers.of(&base) + self.numbers.below(0x30)
                    }
                },
                b'z' => self.numbers.of(&[0, 1, 4, 16, 64, 128, 4096, 1 << 50, usize::MAX, usize::MAX - 3]),
                b's' => self.numbers.of(&[0, 1, 4, 8, 16, 64, 1024]),
                b'p' | b'P' => {
                    if self.numbers.below(8) == 0 {
                        0
                    } else {
                        self.memory.as_ptr().addr()
                    }
                }
                b'o' => {
                    if self.numbers.below(6) == 0 {
                        0
                    } else {
                        self.answers[512 * at.min(7)..].as_ptr().addr()
                    }
                }
                b'F' => match self.numbers.below(2) {
                    0 => 0,
                    _ => nothing as *const () as usize,
                },
                b'c' => self.answers[4000..].as_ptr().addr(),
                b't' => self.numbers.of(&TEXTS).as_ptr().addr(),
                b'T' | b'B' => {
                    self.texts = (0..4).map(|_| self.numbers.of(&TEXTS).as_ptr().cast()).collect();
                    self.texts.as_ptr().addr()
                }
                b'l' => {
                    self.properties.fill(0);
                    if self.numbers.below(2) == 0 {
                        self.properties[0] = self.numbers.of(&[
                            0x1084, 0x1093, 0x1094, 0x1152, 0x1153, 0x1154, 0x1293, 0x12b1, 0x2078, 0x207a,
                            1, 77,
                        ]);
                        self.properties[1] = self.numbers.of(&[0, 1, 2, 3, 4, 99, 0x1131, 0x1141]);
                    }
                    if self.numbers.below(3) == 0 { 0 } else { self.properties.as_ptr().addr() }
                }
                b'w' => {
                    let list = self.numbers.of(&[
                        [0, 0, 0],
                        [1, 1, 1],
                        [2, 3, 1],
                        [8, 1, 2],
                        [usize::MAX, 1, 1],
                        [64, 8, 1],
                    ]);
                    // A length argument must not exceed its text.
                    self.sizes[sizes] = if shape.contains('B') { [0, 0, 0] } else { list };
                    sizes += 1;
                    if self.numbers.below(6) == 0 { 0 } else { self.sizes[sizes - 1].as_ptr().addr() }
                }
                b'i' => {
                    self.format = match self.numbers.below(3) {
                        0 => [0x10b0 + self.numbers.below(24) as u32, 0x10d0 + self.numbers.below(20) as u32],
                        _ => self.numbers.of(&[
                            [0x10b5, 0x10d2],
                            [0x10b0, 0x10de],
                            [0x10bd, 0x10de],
                            [0x10c1, 0x10d2],
                        ]),
                    };
                    if self.numbers.below(12) == 0 { 0 } else { self.format.as_ptr().addr() }
                }
                b'd' => {
                    let source = if self.numbers.below(3) == 0 { self.handle(4) } else { 0 };
                    let numbers = &mut self.numbers;
                    let mut size = || numbers.of(&[0, 1, 5, 8, 16, 16, 1 << 40, usize::MAX]);
                    let sizes = [size(), size(), size(), size()];
                    let pitches = [0, 0].map(|_| self.numbers.of(&[0, 0, 0, 0, 64, 256, 1024, usize::MAX]));
                    let levels =
                        if self.numbers.below(12) == 0 { 1 << (32 * self.numbers.below(2)) } else { 0 };
                    let kind = 0x10f0 + self.numbers.of(&[0, 1, 1, 1, 2, 3, 4, 5, 6, 7]);
                    self.description = [
                        kind, sizes[0], sizes[1], sizes[2], sizes[3], pitches[0], pitches[1], levels, source,
                    ];
                    if self.numbers.below(12) == 0 { 0 } else { self.description.as_ptr().addr() }
                }
                b'm' => self.answers[3900..].as_ptr().addr(),
                b'u' => self.answers[3950..].as_ptr().addr(),
                b'U' => {
                    let numbers = &mut self.numbers;
                    let counts = numbers.of(&[0, 0, 1, 1 << 32]);
                    let list = |numbers: &mut Numbers, memory: &[u64]| {
                        if numbers.below(3) == 0 { memory.as_ptr().addr() } else { 0 }
                    };
                    let lists = [(); 3].map(|()| list(numbers, &self.answers[3960..]));
                    let size = numbers.of(&[[0; 3], [1, 1, 1], [8, 1, 1], [usize::MAX, 1, 1]]);
                    self.sizes[0] = size;
                    let sizes = [(); 3]
                        .map(|()| if self.numbers.below(2) == 0 { self.sizes[0].as_ptr().addr() } else { 0 });
                    let [a, b, c] = lists;
                    let [offset, global, local] = sizes;
                    let dims = self.numbers.of(&[0, 1 << 32, 2 << 32]);
                    self.update = [self.handle(10), counts, dims, a, b, c, offset, global, local];
                    self.updates = [self.update.as_ptr().addr()];
                    self.updates.as_ptr().addr()
                }
                b'a' => self.numbers.of(&[0, 0x1130, 0x1131, 0x1132, 0x1133, 0x1134, 0x1140, 0x1141, 0x1142]),
                b'x' => self.numbers.of(&[0, 1, 2, 3, 64, u32::MAX as usize]),
                _ => 0,
            };
        }
        arguments
    }

    fn call(&mut self, name: &'static str, arguments: [usize; ARGUMENTS]) -> usize {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = arguments;
        let function = self.entries[name];
        // SAFETY: pointers among the arguments are null or lead to memory of this test, of the stated size.
        unsafe { function(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) }
    }

    /// Makes one of each kind of object, so that there is something to be wrong with.
    fn prepare(&mut self) {
        let code = self.answers[4000..].as_ptr().addr();
        let place = self.answers.as_ptr().addr();
        let ask = |fuzzer: &mut Fuzzer, name: &'static str, kind: usize, words: &[usize]| {
            let mut arguments = [0; ARGUMENTS];
            arguments[..words.len()].copy_from_slice(words);
            let result = fuzzer.call(name, arguments);
            let handle = if kind < 2 { fuzzer.answers[0] as usize } else { result };
            assert!(handle != 0 && fuzzer.answers[4000] == 0, "{name} gives {:#x}", fuzzer.answers[4000]);
            fuzzer.handles[kind].push(handle);
            handle
        };
        self.answers.fill(0);
        let platform = ask(self, "clGetPlatformIDs", 0, &[1, place]);
        let device = ask(self, "clGetDeviceIDs", 1, &[platform, usize::MAX >> 32, 1, place]);
        self.lists[0][0] = device as u64;
        let devices = self.lists[0].as_ptr().addr();
        let context = ask(self, "clCreateContext", 2, &[0, 1, devices, 0, 0, code]);
        for order in 0..2 {
            ask(self, "clCreateCommandQueue", 3, &[context, device, order, code]);
            let memory = self.memory.as_ptr().addr();
            ask(self, "clCreateBuffer", 4, &[context, 1 << (3 + 2 * order), 4096, memory, code]);
        }
        self.texts = vec![SOURCE.as_ptr().cast()];
        let texts = self.texts.as_ptr().addr();
        let program = ask(self, "clCreateProgramWithSource", 5, &[context, 1, texts, 0, code]);
        let mut arguments = [0; ARGUMENTS];
        arguments[0] = program;
        assert_eq!(self.call("clBuildProgram", arguments), 0);
        ask(self, "clCreateKernel", 6, &[program, c"idle".as_ptr().addr(), code]);
        ask(self, "clCreateKernel", 6, &[program, c"none".as_ptr().addr(), code]);
        ask(self, "clCreateKernel", 6, &[program, c"picture".as_ptr().addr(), code]);
        ask(self, "clCreateUserEvent", 7, &[context, code]);
        ask(self, "clCreateSampler", 8, &[context, 0, 0x1131, 0x1141, code]);
        self.format = [0x10b5, 0x10d2];
        self.description = [0x10f1, 16, 16, 1, 1, 0, 0, 0, 0];
        let (format, shape) = (self.format.as_ptr().addr(), self.description.as_ptr().addr());
        ask(self, "clCreateImage", 4, &[context, 1, format, shape, 0, code]);
        // A recorded command that may be changed.
        self.properties = vec![0x1293, 2, 0, 0, 0, 0, 0, 0];
        self.lists[0][0] = self.handles[3].last().copied().unwrap_or_default() as u64;
        let (queues, properties) = (self.lists[0].as_ptr().addr(), self.properties.as_ptr().addr());
        let buffer = ask(self, "clCreateCommandBufferKHR", 9, &[1, queues, properties, code]);
        let kernel = self.handles[6][self.handles[6].len() - 2];
        self.sizes[0] = [8, 1, 1];
        let size = self.sizes[0].as_ptr().addr();
        let mut arguments = [0; ARGUMENTS];
        arguments[0] = buffer;
        arguments[3..8].copy_from_slice(&[kernel, 1, 0, size, 0]);
        arguments[11] = place;
        assert_eq!(self.call("clCommandNDRangeKernelKHR", arguments), 0);
        self.handles[10].push(self.answers[0] as usize);
        assert_eq!(self.call("clFinalizeCommandBufferKHR", arguments), 0);
    }

    /// A waiting call would block forever on an event that is never set.
    fn set_user_events(&mut self) {
        for handle in self.handles[7].clone() {
            let mut arguments = [0; ARGUMENTS];
            arguments[0] = handle;
            self.call("clSetUserEventStatus", arguments);
        }
    }

    fn step(&mut self) {
        let (name, shape) = self.numbers.of(SHAPES);
        // Compiling takes a thousand times as long as all else.
        if ["clBuildProgram", "clCompileProgram", "clLinkProgram"].contains(&name)
            && self.numbers.below(40) != 0
        {
            return;
        }
        let may_block = ["Buffer", "Image", "Map", "Memcpy"].iter().any(|part| name.contains(part));
        if may_block || ["clFinish", "clWaitForEvents"].contains(&name) {
            self.set_user_events();
        }
        self.answers.fill(0);
        let arguments = self.arguments(name, shape);
        let result = self.call(name, arguments);
        let made = KINDS.iter().find(|(maker, _)| *maker == name);
        if WITHOUT_CODE.contains(&name) {
            self.without_code += 1;
            return;
        }
        let makes = shape.ends_with('c') || name == "clSVMAlloc";
        let code = if makes { self.answers[4000] as i32 } else { result as i32 };
        *self.codes.entry(code).or_default() += 1;
        assert!(
            (-100..=0).contains(&code) || (-1141..=-1138).contains(&code),
            "{name}{arguments:x?} gives {code}"
        );
        assert!(
            !makes || name.starts_with("clSVMAlloc") || (result != 0) == (code == 0),
            "{name} gives {result:#x} and {code}"
        );
        if let Some(&(_, kind)) = made {
            let place = if kind == 0 { 512 } else { 512 * 3 };
            let handle = if kind < 2 { self.answers[place] as usize } else { result };
            if handle != 0 && code == 0 {
                self.handles[kind].push(handle);
            }
        }
        if name.starts_with("clEnqueue") && code == 0 && shape.ends_with('o') {
            let event = self.answers[512 * (shape.len() - 1).min(7)] as usize;
            if event != 0 {
                self.handles[7].push(event);
            }
        }
        if name == "clCommandNDRangeKernelKHR" && code == 0 && self.answers[3900] != 0 {
            self.handles[10].push(self.answers[3900] as usize);
        }
        // Released handles stay in the list for a while, and are used.
        for kind in 2..10 {
            if self.handles[kind].len() > 24 {
                let old: Vec<usize> = self.handles[kind].drain(..12).collect();
                let release = [
                    "clReleaseContext",
                    "clReleaseCommandQueue",
                    "clReleaseMemObject",
                    "clReleaseProgram",
                    "clReleaseKernel",
                    "clReleaseEvent",
                    "clReleaseSampler",
                    "clReleaseCommandBufferKHR",
                ][kind - 2];
                self.set_user_events();
                for handle in old {
                    let mut arguments = [0; ARGUMENTS];
                    arguments[0] = handle;
                    while self.call(release, arguments) == 0 {}
                }
            }
        }
    }
}

#[test]
fn wrong_arguments_are_answered_by_codes() {
    // SAFETY: no other thread of this test reads or writes the environment yet.
    unsafe { std::env::set_var("HEDDLE_CACHE_DIR", env!("CARGO_TARGET_TMPDIR")) };
    let (calls, seed) = requested();
    let mut fuzzer = Fuzzer::new(seed);
    let known: BTreeSet<&str> = SHAPES.iter().map(|(name, _)| *name).collect();
    // Those of another system's graphics take no arguments here.
    let is_foreign = |name: &str| name.contains("D3D") || name.contains("DX9");
    let missing: Vec<&str> =
        ENTRIES.iter().map(|entry| entry.name).filter(|name| !known.contains(name)).collect();
    assert!(missing.iter().all(|name| is_foreign(name)), "nothing calls {missing:?}");
    for call in 0..calls {
        if call % 500 == 0 {
            fuzzer.prepare();
        }
        fuzzer.step();
    }
    fuzzer.set_user_events();
    let made = fuzzer.codes.values().sum::<u64>() + fuzzer.without_code;
    println!("{made} calls; codes: {:?}", fuzzer.codes);
    let done = fuzzer.codes.get(&0).copied().unwrap_or(0);
    met_enough(calls, done, fuzzer.codes.len(), 25);
}
