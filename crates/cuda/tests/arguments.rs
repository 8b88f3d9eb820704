//! Calls with wrong arguments: each is answered by a code, and none crashes.
//!
//! Arguments are drawn by what they are: handles that are alive, destroyed, of another kind, or no handles at all; addresses
//! inside of allocations, beyond them, freed; sizes that fit nothing; images that are cut or bent. Only what would be
//! undefined for any driver is left out: pointers of the host that lead nowhere, and sizes that lie about memory of the host.

#[path = "../../runtime/tests/calls/mod.rs"]
mod calls;

use calls::{Numbers, met_enough, requested};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_void};
use std::path::PathBuf;

/// Kinds of an entry's arguments, one letter each:
/// `C` context, `S` stream, `E` event, `G` graph, `N` node, `X` executable graph, `M` module, `F` function, `P` pool, `L` linking,
/// `D` address of the device, with `+` before it a place for a new one; `v` device, `f` flags, `x` number, `g` size of a launch, `z`
/// size that the driver knows better, `s` size of memory of ours, `p` memory of ours, `u` the same as an address, `o` place for
/// an answer, `c` count of a list, `r` room for a text, `t` text, `I` image, `i` list of numbers, `n` list of nodes, `a` parameters
/// of a kernel, `A` list of places, `B` list of addresses of ours, `w` list of sizes, `b` function of ours, `0` null; structures: `k`
/// kernel of a graph, `U` user object, `H` handle of memory, `K` access to a range, `h` function of a graph, `m` allocation of a graph, `l` fill, `y` copy of rows, `Y` copy of slices, `q` launch.
const SHAPES: &[(&str, &str)] = &[
    ("cuCtxCreate_v2", "+Cfv"),
    ("cuCtxCreate_v3", "+C0cfv"),
    ("cuCtxCreate_v4", "+Cpfv"),
    ("cuCtxDestroy_v2", "C"),
    ("cuCtxAttach", "of"),
    ("cuCtxPushCurrent_v2", "C"),
    ("cuCtxPopCurrent_v2", "o"),
    ("cuCtxSetCurrent", "C"),
    ("cuCtxGetCurrent", "o"),
    ("cuCtxGetDevice", "o"),
    ("cuCtxGetFlags", "o"),
    ("cuCtxSetFlags", "f"),
    ("cuCtxGetId", "Co"),
    ("cuCtxGetApiVersion", "Co"),
    ("cuCtxSynchronize", ""),
    ("cuCtxGetLimit", "ox"),
    ("cuCtxSetLimit", "xz"),
    ("cuCtxGetCacheConfig", "o"),
    ("cuCtxSetCacheConfig", "x"),
    ("cuCtxGetStreamPriorityRange", "oo"),
    ("cuCtxResetPersistingL2Cache", ""),
    ("cuCtxEnablePeerAccess", "Cx"),
    ("cuDevicePrimaryCtxRetain", "+Cv"),
    ("cuDevicePrimaryCtxRelease_v2", "v"),
    ("cuDevicePrimaryCtxReset_v2", "v"),
    ("cuDevicePrimaryCtxSetFlags_v2", "vf"),
    ("cuDevicePrimaryCtxGetState", "voo"),
    ("cuInit", "f"),
    ("cuDriverGetVersion", "o"),
    ("cuGetErrorName", "xo"),
    ("cuGetErrorString", "xo"),
    ("cuDeviceGet", "ox"),
    ("cuDeviceGetCount", "o"),
    ("cuDeviceGetName", "orv"),
    ("cuDeviceGetUuid", "ov"),
    ("cuDeviceGetLuid", "oov"),
    ("cuDeviceTotalMem_v2", "ov"),
    ("cuDeviceGetAttribute", "oxv"),
    ("cuDeviceGetProperties", "ov"),
    ("cuDeviceComputeCapability", "oov"),
    ("cuDeviceGetPCIBusId", "orv"),
    ("cuDeviceGetByPCIBusId", "ot"),
    ("cuDeviceCanAccessPeer", "ovv"),
    ("cuDeviceGetP2PAttribute", "oxvv"),
    ("cuDeviceGetExecAffinitySupport", "oxv"),
    ("cuDeviceGetDefaultMemPool", "+Pv"),
    ("cuDeviceGetTexture1DLinearMaxWidth", "oxxv"),
    ("cuArrayCreate_v2", "op"),
    ("cuArray3DCreate_v2", "op"),
    ("cuArrayGetDescriptor_v2", "ox"),
    ("cuArray3DGetDescriptor_v2", "ox"),
    ("cuArrayDestroy", "x"),
    ("cuTexObjectCreate", "opp0"),
    ("cuTexObjectDestroy", "x"),
    ("cuTexObjectGetResourceDesc", "ox"),
    ("cuTexObjectGetTextureDesc", "ox"),
    ("cuSurfObjectCreate", "op"),
    ("cuSurfObjectDestroy", "x"),
    ("cuSurfObjectGetResourceDesc", "ox"),
    ("cuMemcpyHtoA_v2", "xxps"),
    ("cuMemcpyAtoH_v2", "pxxs"),
    ("cuMemcpyDtoA_v2", "xxDz"),
    ("cuMemcpyAtoD_v2", "Dxxz"),
    ("cuMemcpyAtoA_v2", "xxxxz"),
    ("cuProfilerStart", ""),
    ("cuFlushGPUDirectRDMAWrites", "xx"),
    ("cuDeviceGraphMemTrim", "v"),
    ("cuDeviceGetGraphMemAttribute", "vxo"),
    ("cuDeviceSetGraphMemAttribute", "vxp"),
    ("cuGraphCreate", "+Gf"),
    ("cuGraphDestroy", "G"),
    ("cuGraphClone", "+GG"),
    ("cuGraphAddKernelNode", "+NGnck"),
    ("cuGraphAddKernelNode_v2", "+NGnck"),
    ("cuGraphAddMemcpyNode", "+NGncYC"),
    ("cuGraphAddMemsetNode", "+NGnclC"),
    ("cuGraphAddHostNode", "+NGnch"),
    ("cuGraphAddEmptyNode", "+NGnc"),
    ("cuGraphAddMemAllocNode", "+NGncm"),
    ("cuGraphAddMemFreeNode", "+NGncD"),
    ("cuGraphMemAllocNodeGetParams", "No"),
    ("cuGraphMemFreeNodeGetParams", "No"),
    ("cuGraphAddEventRecordNode", "+NGncE"),
    ("cuGraphAddEventWaitNode", "+NGncE"),
    ("cuGraphAddChildGraphNode", "+NGncG"),
    ("cuGraphAddDependencies", "Gnnc"),
    ("cuGraphAddDependencies_v2", "Gnn0c"),
    ("cuGraphRemoveDependencies", "Gnnc"),
    ("cuGraphRemoveDependencies_v2", "Gnn0c"),
    ("cuGraphDestroyNode", "N"),
    ("cuGraphGetNodes", "Goo"),
    ("cuGraphGetRootNodes", "Goo"),
    ("cuGraphGetEdges", "Gooo"),
    ("cuGraphGetEdges_v2", "Goooo"),
    ("cuGraphNodeGetDependencies", "Noo"),
    ("cuGraphNodeGetDependentNodes", "Noo"),
    ("cuGraphNodeGetType", "No"),
    ("cuGraphKernelNodeSetParams", "Nk"),
    ("cuGraphKernelNodeSetParams_v2", "Nk"),
    ("cuGraphMemcpyNodeSetParams", "NY"),
    ("cuGraphMemsetNodeSetParams", "Nl"),
    ("cuGraphHostNodeSetParams", "Nh"),
    ("cuGraphInstantiate", "+XGoor"),
    ("cuGraphInstantiate_v2", "+XGoor"),
    ("cuGraphInstantiateWithFlags", "+XGf"),
    ("cuGraphInstantiateWithParams", "+XGo"),
    ("cuGraphExecDestroy", "X"),
    ("cuGraphExecGetFlags", "Xo"),
    ("cuGraphExecKernelNodeSetParams", "XNk"),
    ("cuGraphExecKernelNodeSetParams_v2", "XNk"),
    ("cuGraphExecMemcpyNodeSetParams", "XNYC"),
    ("cuGraphExecMemsetNodeSetParams", "XNlC"),
    ("cuGraphExecHostNodeSetParams", "XNh"),
    ("cuGraphExecChildGraphNodeSetParams", "XNG"),
    ("cuGraphExecEventRecordNodeSetEvent", "XNE"),
    ("cuGraphExecUpdate", "XGoo"),
    ("cuGraphExecUpdate_v2", "XGo"),
    ("cuGraphNodeSetEnabled", "XNx"),
    ("cuGraphNodeGetEnabled", "XNo"),
    ("cuGraphUpload", "XS"),
    ("cuGraphLaunch", "XS"),
    ("cuGraphNodeGetDependencies_v2", "Nooo"),
    ("cuGraphNodeGetDependentNodes_v2", "Nooo"),
    ("cuGraphKernelNodeGetParams", "No"),
    ("cuGraphKernelNodeGetParams_v2", "No"),
    ("cuGraphKernelNodeGetAttribute", "Nxo"),
    ("cuGraphKernelNodeSetAttribute", "Nxp"),
    ("cuGraphKernelNodeCopyAttributes", "NN"),
    ("cuGraphMemcpyNodeGetParams", "No"),
    ("cuGraphMemsetNodeGetParams", "No"),
    ("cuGraphHostNodeGetParams", "No"),
    ("cuGraphChildGraphNodeGetGraph", "N+G"),
    ("cuGraphEventRecordNodeGetEvent", "No"),
    ("cuGraphEventRecordNodeSetEvent", "NE"),
    ("cuGraphEventWaitNodeGetEvent", "No"),
    ("cuGraphEventWaitNodeSetEvent", "NE"),
    ("cuGraphExecEventWaitNodeSetEvent", "XNE"),
    ("cuGraphNodeFindInClone", "+NNG"),
    ("cuGraphDebugDotPrint", "G0x"),
    ("cuGraphAddBatchMemOpNode", "+NGnc0"),
    ("cuGraphBatchMemOpNodeGetParams", "No"),
    ("cuGraphBatchMemOpNodeSetParams", "N0"),
    ("cuGraphExecBatchMemOpNodeSetParams", "XN0"),
    ("cuUserObjectCreate", "+Upbcf"),
    ("cuUserObjectRetain", "Uc"),
    ("cuUserObjectRelease", "Uc"),
    ("cuGraphRetainUserObject", "GUcf"),
    ("cuGraphReleaseUserObject", "GUc"),
    ("cuStreamGetAttribute", "Sxo"),
    ("cuStreamSetAttribute", "Sxp"),
    ("cuStreamCopyAttributes", "SS"),
    ("cuStreamWaitValue32_v2", "S000"),
    ("cuStreamWaitValue64_v2", "S000"),
    ("cuStreamWriteValue64_v2", "SDxf"),
    ("cuStreamBatchMemOp_v2", "Sc0f"),
    ("cuMemGetAllocationGranularity", "omx"),
    ("cuMemAddressReserve", "+Dzz0f"),
    ("cuMemAddressFree", "Dz"),
    ("cuMemCreate", "+Hzmf"),
    ("cuMemRelease", "H"),
    ("cuMemMap", "DzzHf"),
    ("cuMemUnmap", "Dz"),
    ("cuMemSetAccess", "DzKc"),
    ("cuMemGetAccess", "oKD"),
    ("cuMemGetAllocationPropertiesFromHandle", "oH"),
    ("cuMemRetainAllocationHandle", "+HD"),
    ("cuMemRangeGetAttribute", "ofxDz"),
    ("cuMemRangeGetAttributes", "AwicDz"),
    ("cuEventSynchronize", "E"),
    ("cuLaunchKernel", "FgggggggSa0"),
    ("cuLaunchCooperativeKernel", "FgggggggSa"),
    ("cuLaunchKernelEx", "qFa0"),
    ("cuOccupancyMaxActiveBlocksPerMultiprocessor", "oFxzx"),
    ("cuOccupancyMaxPotentialBlockSize", "ooFxzxx"),
    ("cuOccupancyAvailableDynamicSMemPerBlock", "oFxx"),
    ("cuGetProcAddress", "toxf"),
    ("cuGetProcAddress_v2", "toxfo"),
    ("cuMemGetInfo_v2", "oo"),
    ("cuMemAlloc_v2", "+Dz"),
    ("cuMemAllocPitch_v2", "+Dozzx"),
    ("cuMemAllocManaged", "+Dzf"),
    ("cuMemFree_v2", "D"),
    ("cuMemAllocHost_v2", "+Dz"),
    ("cuMemHostAlloc", "+Dzf"),
    ("cuMemFreeHost", "D"),
    ("cuMemHostRegister_v2", "psf"),
    ("cuMemHostUnregister", "p"),
    ("cuMemHostGetDevicePointer_v2", "opf"),
    ("cuMemHostGetFlags", "op"),
    ("cuMemGetAddressRange_v2", "ooD"),
    ("cuPointerGetAttribute", "oxD"),
    ("cuPointerGetAttributes", "ciAD"),
    ("cuPointerSetAttribute", "pxD"),
    ("cuMemAllocAsync", "+DzS"),
    ("cuMemAllocFromPoolAsync", "+DzPS"),
    ("cuMemFreeAsync", "DS"),
    ("cuMemPoolCreate", "+Pp"),
    ("cuMemPoolDestroy", "P"),
    ("cuMemPoolTrimTo", "Pz"),
    ("cuMemPoolSetAttribute", "Pxp"),
    ("cuMemPoolGetAttribute", "Pxo"),
    ("cuMemPoolSetAccess", "Pic"),
    ("cuMemPoolGetAccess", "oPi"),
    ("cuMemPrefetchAsync", "DzvS"),
    ("cuMemPrefetchAsync_v2", "DzxfS"),
    ("cuMemAdvise", "Dzxv"),
    ("cuMemAdvise_v2", "Dzxx"),
    ("cuDeviceSetMemPool", "vP"),
    ("cuStreamAttachMemAsync", "SDzf"),
    ("cuModuleLoadData", "+MI"),
    ("cuModuleLoadDataEx", "+MIcio"),
    ("cuModuleLoadFatBinary", "+MI"),
    ("cuModuleLoad", "+Mt"),
    ("cuModuleUnload", "M"),
    ("cuModuleGetLoadingMode", "o"),
    ("cuModuleGetFunction", "+FMt"),
    ("cuModuleGetFunctionCount", "oM"),
    ("cuModuleEnumerateFunctions", "ocM"),
    ("cuModuleGetGlobal_v2", "ooMt"),
    ("cuLibraryLoadData", "+MIiocipc"),
    ("cuLibraryLoadFromFile", "+Mtiocipc"),
    ("cuLibraryGetModule", "oM"),
    ("cuLibraryGetGlobal", "ooMt"),
    ("cuKernelGetFunction", "oF"),
    ("cuKernelGetLibrary", "oF"),
    ("cuFuncGetModule", "oF"),
    ("cuFuncGetName", "oF"),
    ("cuFuncGetParamInfo", "Fzoo"),
    ("cuFuncIsLoaded", "oF"),
    ("cuFuncLoad", "F"),
    ("cuFuncGetAttribute", "oxF"),
    ("cuKernelGetAttribute", "oxFv"),
    ("cuFuncSetAttribute", "Fxx"),
    ("cuKernelSetAttribute", "xxFv"),
    ("cuFuncSetCacheConfig", "Fx"),
    ("cuKernelSetCacheConfig", "Fxv"),
    ("cuLinkCreate_v2", "cip+L"),
    ("cuLinkAddData_v2", "LxIstcio"),
    ("cuLinkAddFile_v2", "Lxtcio"),
    ("cuLinkComplete", "Loo"),
    ("cuLinkDestroy", "L"),
    ("cuStreamCreate", "+Sf"),
    ("cuStreamCreateWithPriority", "+Sfx"),
    ("cuStreamDestroy_v2", "S"),
    ("cuStreamSynchronize", "S"),
    ("cuStreamQuery", "S"),
    ("cuStreamGetPriority", "So"),
    ("cuStreamGetFlags", "So"),
    ("cuStreamGetId", "So"),
    ("cuStreamGetDevice", "So"),
    ("cuStreamGetCtx", "So"),
    ("cuStreamGetCtx_v2", "Soo"),
    ("cuStreamWaitEvent", "SEf"),
    ("cuLaunchHostFunc", "SbI"),
    ("cuStreamAddCallback", "SbIf"),
    ("cuStreamBeginCapture_v2", "Sx"),
    ("cuStreamBeginCapture", "S"),
    ("cuStreamBeginCaptureToGraph", "SGn0cx"),
    ("cuStreamEndCapture", "S+G"),
    ("cuStreamIsCapturing", "So"),
    ("cuStreamGetCaptureInfo", "Soo"),
    ("cuStreamGetCaptureInfo_v2", "Sooooo"),
    ("cuStreamGetCaptureInfo_v3", "Soooooo"),
    ("cuStreamUpdateCaptureDependencies", "Sncf"),
    ("cuStreamUpdateCaptureDependencies_v2", "Sn0cf"),
    ("cuThreadExchangeStreamCaptureMode", "o"),
    ("cuStreamWriteValue32_v2", "SDxf"),
    ("cuEventCreate", "+Ef"),
    ("cuEventDestroy_v2", "E"),
    ("cuEventRecord", "ES"),
    ("cuEventRecordWithFlags", "ESf"),
    ("cuEventQuery", "E"),
    ("cuEventElapsedTime", "oEE"),
    ("cuMemcpy", "uus"),
    ("cuMemcpyAsync", "uusS"),
    ("cuMemcpyHtoD_v2", "Dps"),
    ("cuMemcpyHtoDAsync_v2", "DpsS"),
    ("cuMemcpyDtoH_v2", "oDs"),
    ("cuMemcpyDtoHAsync_v2", "oDsS"),
    ("cuMemcpyDtoD_v2", "DDz"),
    ("cuMemcpyDtoDAsync_v2", "DDzS"),
    ("cuMemcpyPeer", "DCDCz"),
    ("cuMemcpyPeerAsync", "DCDCzS"),
    ("cuMemcpy2D_v2", "y"),
    ("cuMemcpy2DAsync_v2", "yS"),
    ("cuMemcpy3D_v2", "Y"),
    ("cuMemcpy3DAsync_v2", "YS"),
    ("cuMemcpyBatchAsync", "BBwcppcoS"),
    ("cuMemsetD8_v2", "Dxz"),
    ("cuMemsetD16_v2", "Dxz"),
    ("cuMemsetD32_v2", "Dxz"),
    ("cuMemsetD8Async", "DxzS"),
    ("cuMemsetD16Async", "DxzS"),
    ("cuMemsetD32Async", "DxzS"),
    ("cuMemsetD2D8_v2", "Dzxzz"),
    ("cuMemsetD2D16_v2", "Dzxzz"),
    ("cuMemsetD2D32_v2", "Dzxzz"),
    ("cuMemsetD2D8Async", "DzxzzS"),
    ("cuMemsetD2D16Async", "DzxzzS"),
    ("cuMemsetD2D32Async", "DzxzzS"),
];

const PTX: &CStr = c"
.version 7.5
.target sm_75
.address_size 64
.visible .global .align 4 .u32 number = 7;
.visible .const .align 4 .f32 factor = 0f40000000;
.visible .entry none() { ret; }
.visible .entry idle(.param .u32 value, .param .u64 place) {
  .reg .u32 %r<2>;
  ld.param.u32 %r0, [value];
  ret;
}
.visible .entry bounded(.param .align 8 .b8 value[40]) .maxntid 64, 1, 1 { ret; }
";

const TEXTS: [&CStr; 12] = [
    c"",
    c"none",
    c"idle",
    c"bounded",
    c"number",
    c"factor",
    c"nothing",
    c"/nonexistent/file.ptx",
    c"cuMemAlloc",
    c"cuLaunchKernel_ptsz",
    c"0000:00:00.0",
    c"/",
];

const KINDS: &[u8] = b"CSEGNXMFPLDUH";
const ROOM: usize = 1 << 12;

type Words = [usize; 11];
type Function =
    unsafe extern "C" fn(usize, usize, usize, usize, usize, usize, usize, usize, usize, usize, usize) -> u32;

extern "C" fn nothing(_: *mut c_void, _: u32, _: *mut c_void) {}

struct Fuzzer {
    numbers: Numbers,
    entries: BTreeMap<&'static str, Function>,
    names: Function,
    /// Handles and addresses that calls gave, alive or not.
    handles: BTreeMap<u8, Vec<usize>>,
    /// Memory of ours: what calls read and write, answers, lists, structures.
    memory: Vec<u64>,
    answers: Vec<u64>,
    lists: Vec<Vec<u64>>,
    images: Vec<Vec<u8>>,
    codes: BTreeMap<u32, u64>,
    /// Number of calls.
    made: u64,
}

/// A container of a fat binary with the text in it.
fn container() -> Vec<u8> {
    let text = PTX.to_bytes_with_nul();
    let padded = text.len().next_multiple_of(8);
    let mut bytes = 0xba55_ed50u32.to_le_bytes().to_vec();
    bytes.extend([1, 0, 16, 0]);
    bytes.extend((64 + padded as u64).to_le_bytes());
    let mut head = [0u8; 64];
    head[0] = 1;
    head[4] = 64;
    head[8..16].copy_from_slice(&(padded as u64).to_le_bytes());
    head[16..20].copy_from_slice(&(text.len() as u32).to_le_bytes());
    bytes.extend(head);
    bytes.extend(text);
    bytes
}

impl Fuzzer {
    fn new(seed: u64) -> Fuzzer {
        let driver = driver();
        let path = CString::new(driver.to_string_lossy().as_ref()).expect("a path has no zero byte");
        // SAFETY: the path is a text, and the library one that was built here.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
        assert!(!library.is_null(), "{} does not load", driver.display());
        let entry = |name: &str| {
            let text = CString::new(name).expect("a name has no zero byte");
            // SAFETY: the library is open, and the name is a text.
            let address = unsafe { libc::dlsym(library, text.as_ptr()) };
            assert!(!address.is_null(), "{name} is not there");
            // SAFETY: an entry; those of the interface take words, and what more is handed over is not looked at.
            unsafe { std::mem::transmute::<*mut c_void, Function>(address) }
        };
        // A corrupt image may claim a larger size: zeros follow each image.
        let padded = |mut bytes: Vec<u8>| {
            bytes.resize(bytes.len().max(ROOM) + (1 << 16), 0);
            bytes
        };
        let mut images =
            vec![PTX.to_bytes().to_vec(), container(), b"\x7fELF".to_vec(), b"nonsense".to_vec()];
        let mut numbers = Numbers::new(seed ^ 0x5eed);
        for _ in 0..24 {
            let mut bent = PTX.to_bytes().to_vec();
            for _ in 0..=numbers.below(3) {
                let at = numbers.below(bent.len());
                bent[at] = numbers.of(b"%;{}.,[] 0xZ");
            }
            images.push(bent);
        }
        Fuzzer {
            numbers: Numbers::new(seed),
            entries: SHAPES.iter().map(|&(name, _)| (name, entry(name))).collect(),
            names: entry("cuGetErrorName"),
            handles: KINDS.iter().map(|&kind| (kind, Vec::new())).collect(),
            memory: vec![0; ROOM],
            answers: vec![0; ROOM],
            lists: vec![vec![0; 64]; 12],
            images: images.into_iter().map(padded).collect(),
            codes: BTreeMap::new(),
            made: 0,
        }
    }

    fn address(&self) -> usize {
        self.memory.as_ptr().expose_provenance()
    }

    fn handle(&mut self, kind: u8) -> usize {
        if kind == b'S' && self.numbers.below(4) == 0 {
            return self.numbers.below(3);
        }
        match self.numbers.below(24) {
            0 => 0,
            1 => self.address(),
            2 => self.numbers.next() as usize,
            3 => {
                let kind = self.numbers.of(KINDS);
                self.any(kind)
            }
            _ => self.any(kind),
        }
    }

    fn any(&mut self, kind: u8) -> usize {
        let known = &self.handles[&kind];
        // The last ones are the likeliest to be alive.
        let recent = known.len().min(8);
        if recent == 0 {
            return 0;
        }
        let found = known[known.len() - 1 - self.numbers.below(recent)];
        if kind == b'D' { found.wrapping_add(self.numbers.of(&[0, 0, 0, 4, 64, 1 << 20])) } else { found }
    }

    fn size(&mut self) -> usize {
        self.numbers.of(&[
            0,
            1,
            3,
            4,
            16,
            64,
            100,
            4096,
            2 << 20,
            2 << 20,
            4 << 20,
            1 << 50,
            usize::MAX,
            usize::MAX - 3,
        ])
    }

    /// A list of words for a structure.
    fn list(&mut self, number: usize, words: &[u64]) -> usize {
        self.lists[number][..words.len()].copy_from_slice(words);
        self.lists[number].as_ptr().expose_provenance()
    }

    fn launch(&mut self) -> u64 {
        self.numbers.of(&[0, 1, 1, 2, 3, 64, 70_000, u32::MAX.into()])
    }

    /// One side of a copy: a kind of memory, an address of the host, one of the device.
    fn side(&mut self) -> [u64; 3] {
        let kind = self.numbers.of(&[0, 1, 2, 2, 3, 9]);
        let host = self.numbers.of(&[0, self.address() as u64]);
        [kind, host, self.handle(b'D') as u64]
    }

    fn structure(&mut self, letter: u8) -> usize {
        let parameters = self.list(0, &[self.address() as u64; 8]) as u64;
        match letter {
            b'k' => {
                let sizes: [u64; 7] = std::array::from_fn(|_| self.launch());
                let function = self.handle(b'F') as u64;
                let pair = |at: usize| sizes[at] | sizes[at + 1] << 32;
                let each = self.numbers.of(&[parameters, parameters, 0]);
                self.list(1, &[function, pair(0), pair(2), pair(4), sizes[6], each, 0, 0, 0])
            }
            b'q' => {
                let sizes: [u64; 7] = std::array::from_fn(|_| self.launch());
                let pair = |at: usize| sizes[at] | sizes[at + 1] << 32;
                let stream = self.handle(b'S') as u64;
                let (id, value) = (self.numbers.below(20) as u64, self.numbers.below(3) as u64);
                let attributes = self.list(2, &[id, value, 1, 1, 0, 0, 0, 0, 0]) as u64;
                let count = self.numbers.below(2) as u64;
                self.list(1, &[pair(0), pair(2), pair(4), sizes[6], stream, attributes, count])
            }
            b'h' => {
                let function = nothing as *const () as u64;
                let function = self.numbers.of(&[function, 0]);
                self.list(1, &[function, self.address() as u64])
            }
            b'm' => {
                let kinds = self.numbers.of(&[1, 1, 1, 0, 1 << 32 | 1]);
                let location = self.numbers.of(&[1, 1, 1, 0, 2]);
                let bytes = self.size().min(1 << 20) as u64;
                self.list(1, &[kinds, location, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, bytes, 0])
            }
            b'l' => {
                let (place, element) = (self.handle(b'D') as u64, self.numbers.of(&[0, 1, 2, 3, 4]));
                let [pitch, width, height] = std::array::from_fn(|_| self.size() as u64);
                let value = self.numbers.next() >> 32;
                self.list(1, &[place, pitch, value | element << 32, width, height])
            }
            // Rows of ours are short enough to be inside of our memory.
            b'y' => {
                let [from, to] = [self.side(), self.side()];
                let small = |numbers: &mut Numbers| numbers.of(&[0u64, 1, 4, 16]);
                let [a, b, c, d] = std::array::from_fn(|_| small(&mut self.numbers));
                let pitch = self.numbers.of(&[0, 16, 64]);
                let [width, height] = std::array::from_fn(|_| self.numbers.of(&[0, 1, 8, 16]));
                let words = [
                    a, b, from[0], from[1], from[2], 0, pitch, c, d, to[0], to[1], to[2], 0, pitch, width,
                    height,
                ];
                self.list(1, &words)
            }
            b'Y' => {
                let [from, to] = [self.side(), self.side()];
                let [a, b, c] = std::array::from_fn(|_| self.numbers.of(&[0u64, 1, 4]));
                let (pitch, rows) = (self.numbers.of(&[0, 16, 64]), self.numbers.of(&[0, 4, 8]));
                let [width, height, depth] = std::array::from_fn(|_| self.numbers.of(&[0, 1, 4, 8]));
                let mut words = vec![a, b, c, 0, from[0], from[1], from[2], 0, 0, pitch, rows];
                words.extend([a, b, c, 0, to[0], to[1], to[2], 0, 0, pitch, rows, width, height, depth]);
                self.list(1, &words)
            }
            _ => 0,
        }
    }

    fn arguments(&mut self, shape: &str) -> Words {
        let mut words = [0; 11];
        let letters: Vec<u8> = shape.bytes().filter(|&letter| letter != b'+').collect();
        let made = shape.find('+');
        for (at, &letter) in letters.iter().enumerate() {
            let place = self.answers[256 * at..].as_ptr().expose_provenance();
            words[at] = match letter {
                _ if made == Some(at) => self.numbers.of(&[place, place, place, place, 0]),
                b'D' | b'C' | b'S' | b'E' | b'G' | b'N' | b'X' | b'M' | b'F' | b'P' | b'L' | b'U' | b'H' => {
                    self.handle(letter)
                }
                b'v' => self.numbers.of(&[0, 0, 0, 0, 0, 1, u32::MAX as usize]),
                b'f' => self.numbers.of(&[0, 0, 0, 1, 2, 3, 4, 8, 64, u32::MAX as usize]),
                b'x' => match self.numbers.below(6) {
                    0 => self.numbers.next() as u32 as usize,
                    _ => self.numbers.below(150),
                },
                b'g' => self.launch() as usize,
                b'z' => self.size(),
                b's' => self.numbers.of(&[0, 1, 4, 64, 1000, 4096]),
                b'p' | b'u' => self.numbers.of(&[0, self.address(), self.address(), self.address()]),
                b'o' => self.numbers.of(&[0, place, place, place, place]),
                b'c' => self.numbers.of(&[0, 0, 1, 2, 3]),
                b'r' => self.numbers.of(&[0, 1, 8, 64, u32::MAX as usize]),
                b't' => self.numbers.of(&TEXTS).as_ptr().expose_provenance(),
                b'I' => {
                    let image = match self.numbers.below(3) {
                        0 => self.numbers.below(self.images.len()),
                        _ => 0,
                    };
                    self.images[image].as_ptr().expose_provenance()
                }
                // Numbers of options that have no place to write to.
                b'i' => {
                    let list: [u64; 4] = std::array::from_fn(|_| self.numbers.of(&[0, 1, 2, 7, 9, 13]));
                    self.list(3, &list)
                }
                b'n' => {
                    let list: [u64; 4] = std::array::from_fn(|_| self.handle(b'N') as u64);
                    let list = self.list(4 + at % 2, &list);
                    self.numbers.of(&[list, list, list, 0])
                }
                b'a' => {
                    let list = self.list(6, &[self.address() as u64; 8]);
                    self.numbers.of(&[list, list, list, 0])
                }
                b'A' => self.list(7, &std::array::from_fn::<u64, 4, _>(|index| (place + 64 * index) as u64)),
                b'B' => self.list(8 + at % 2, &[self.address() as u64; 4]),
                b'w' => self.list(10, &[0, 4, 16, 64]),
                b'b' => self.numbers.of(&[0, nothing as *const () as usize]),
                b'0' => 0,
                b'K' => self.list(11, &[1, 3, 1 << 32, 2]),
                letter => self.structure(letter),
            };
        }
        words
    }

    fn call(&mut self, name: &'static str, words: Words) -> u32 {
        let [a, b, c, d, e, f, g, h, i, j, k] = words;
        let function = self.entries[name];
        // SAFETY: pointers of the host among the arguments are null or lead to memory of this test, of the stated size.
        unsafe { function(a, b, c, d, e, f, g, h, i, j, k) }
    }

    /// Makes one of each kind of object, so that there is something to be wrong with.
    fn prepare(&mut self) {
        let place = self.answers.as_ptr().expose_provenance();
        let ask = |fuzzer: &mut Fuzzer, name: &'static str, kind: u8, words: &[usize]| {
            let mut arguments = [0; 11];
            arguments[..words.len()].copy_from_slice(words);
            let code = fuzzer.call(name, arguments);
            assert_eq!(code, 0, "{name}");
            let made = fuzzer.answers[0] as usize;
            fuzzer.handles.entry(kind).or_default().push(made);
            made
        };
        assert_eq!(self.call("cuInit", [0; 11]), 0);
        let context = ask(self, "cuDevicePrimaryCtxRetain", b'C', &[place, 0]);
        let mut current = [0; 11];
        current[0] = context;
        assert_eq!(self.call("cuCtxSetCurrent", current), 0);
        for bytes in [64, 4096] {
            ask(self, "cuMemAlloc_v2", b'D', &[place, bytes]);
        }
        ask(self, "cuStreamCreate", b'S', &[place, 1]);
        ask(self, "cuEventCreate", b'E', &[place, 0]);
        let graph = ask(self, "cuGraphCreate", b'G', &[place, 0]);
        ask(self, "cuGraphAddEmptyNode", b'N', &[place, graph, 0, 0]);
        ask(self, "cuGraphInstantiateWithFlags", b'X', &[place, graph, 0]);
        let image = self.images[0].as_ptr().expose_provenance();
        let module = ask(self, "cuModuleLoadData", b'M', &[place, image]);
        for name in [c"none", c"idle", c"bounded"] {
            ask(self, "cuModuleGetFunction", b'F', &[place, module, name.as_ptr().expose_provenance()]);
        }
        ask(self, "cuDeviceGetDefaultMemPool", b'P', &[place, 0]);
    }

    fn step(&mut self) {
        let (name, shape) = self.numbers.of(SHAPES);
        // Destroying a context destroys all its objects, and loading takes a thousand times as long as other calls.
        let is_rare = ["Reset_v2", "Release_v2", "CtxDestroy", "CtxSetCurrent", "PopCurrent"];
        let is_slow = ["Load", "LinkAdd", "LinkComplete"];
        let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        if has(&is_rare) && self.numbers.below(200) != 0 || has(&is_slow) && self.numbers.below(20) != 0 {
            return;
        }
        // Counts in and out are small.
        let small = self.numbers.below(4) as u64;
        self.answers.fill(small);
        let words = self.arguments(shape);
        let code = self.call(name, words);
        *self.codes.entry(code).or_default() += 1;
        self.made += 1;
        let mut message = [0; 11];
        let place = self.answers[ROOM - 8..].as_ptr().expose_provenance();
        (message[0], message[1]) = (code as usize, place);
        let [a, b, c, d, e, f, g, h, i, j, k] = message;
        // SAFETY: the place is there.
        let is_known = unsafe { (self.names)(a, b, c, d, e, f, g, h, i, j, k) } == 0;
        assert!(is_known && code != 999, "{name}{words:x?} gives {code}");
        if let (Some(at), 0) = (shape.find('+'), code) {
            let kind = shape.as_bytes()[at + 1];
            let made = self.answers[256 * at] as usize;
            let known = self.handles.entry(kind).or_default();
            known.push(made);
            if known.len() > 64 {
                self.forget(kind);
            }
        }
    }

    /// Gives old objects back.
    fn forget(&mut self, kind: u8) {
        let entry = match kind {
            b'S' => "cuStreamDestroy_v2",
            b'E' => "cuEventDestroy_v2",
            b'G' => "cuGraphDestroy",
            b'X' => "cuGraphExecDestroy",
            b'M' => "cuModuleUnload",
            b'L' => "cuLinkDestroy",
            b'D' => "cuMemFree_v2",
            _ => "",
        };
        let old: Vec<usize> = self.handles.entry(kind).or_default().drain(..32).collect();
        for handle in old.into_iter().filter(|_| !entry.is_empty()) {
            let mut words = [0; 11];
            words[0] = handle;
            self.call(entry, words);
        }
    }
}

fn driver() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let name = "libheddle_cuda.so";
    let places = test.ancestors().skip(1).take(2).map(|folder| folder.join(name));
    let found = places.into_iter().find(|path| path.exists());
    found.unwrap_or_else(|| panic!("{name} is not built: `./x build` builds it"))
}

#[test]
fn wrong_arguments_are_answered_by_codes() {
    // SAFETY: no other thread of this test reads or writes the environment yet.
    unsafe { std::env::set_var("HEDDLE_CACHE_DIR", env!("CARGO_TARGET_TMPDIR")) };
    let (calls, seed) = requested();
    let mut fuzzer = Fuzzer::new(seed);
    for step in 0u64.. {
        if fuzzer.made == calls {
            break;
        }
        if step % 500 == 0 {
            fuzzer.prepare();
        }
        fuzzer.step();
    }
    println!("{calls} calls; codes: {:?}", fuzzer.codes);
    let done = fuzzer.codes.get(&0).copied().unwrap_or(0);
    met_enough(calls, done, fuzzer.codes.len(), 15);
}
