//! Attributes of the device, of pointers and of functions, formats, addressing modes and kinds of nodes, with the numbers of `cuda.h`.

/// Declares an enum with the numbers of a C enum.
macro_rules! numbered {
    ($(#[doc = $doc:literal])* $name:ident { $($variant:ident = $number:literal),* $(,)? }) => {
        $(#[doc = $doc])*
        #[allow(missing_docs)]
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u32)]
        pub enum $name { $($variant = $number),* }

        impl $name {
            /// Returns the constant of a number.
            pub fn from_number(number: u32) -> Option<$name> {
                match number { $($number => Some($name::$variant),)* _ => None }
            }
        }
    };
}

/// Number of the last attribute of the device that CUDA 12.9 has.
pub const LAST_DEVICE_ATTRIBUTE: u32 = 143;

numbered! {
    /// Attributes of the device (`CUdevice_attribute`) that are not 0: options that the device lacks, and properties of mipmaps and cube maps, are.
    DeviceAttribute {
        MaxThreadsPerBlock = 1, MaxBlockDimX = 2, MaxBlockDimY = 3, MaxBlockDimZ = 4, MaxGridDimX = 5, MaxGridDimY = 6, MaxGridDimZ = 7,
        MaxSharedMemoryPerBlock = 8, TotalConstantMemory = 9, WarpSize = 10, MaxPitch = 11, MaxRegistersPerBlock = 12,
        ClockRate = 13, TextureAlignment = 14, MultiprocessorCount = 16, Integrated = 18, CanMapHostMemory = 19,
        Texture1dWidth = 21, Texture2dWidth = 22, Texture2dHeight = 23, Texture3dWidth = 24, Texture3dHeight = 25, Texture3dDepth = 26,
        Texture2dLayeredWidth = 27, Texture2dLayeredHeight = 28, Texture2dLayeredLayers = 29,
        SurfaceAlignment = 30, ConcurrentKernels = 31, MemoryClockRate = 36, GlobalMemoryBusWidth = 37, L2CacheSize = 38,
        MaxThreadsPerMultiprocessor = 39, UnifiedAddressing = 41, Texture1dLayeredWidth = 42, Texture1dLayeredLayers = 43, Texture2dGatherWidth = 45,
        Texture2dGatherHeight = 46, TexturePitchAlignment = 51, Surface1dWidth = 55, Surface2dWidth = 56, Surface2dHeight = 57,
        Surface3dWidth = 58, Surface3dHeight = 59, Surface3dDepth = 60, Surface1dLayeredWidth = 61, Surface1dLayeredLayers = 62,
        Surface2dLayeredWidth = 63, Surface2dLayeredHeight = 64, Surface2dLayeredLayers = 65, Texture1dLinearWidth = 69,
        Texture2dLinearWidth = 70, Texture2dLinearHeight = 71, Texture2dLinearPitch = 72, ComputeCapabilityMajor = 75,
        ComputeCapabilityMinor = 76, StreamPrioritiesSupported = 78, GlobalL1CacheSupported = 79, LocalL1CacheSupported = 80,
        MaxSharedMemoryPerMultiprocessor = 81, MaxRegistersPerMultiprocessor = 82, ManagedMemory = 83,
        HostNativeAtomicSupported = 86, SingleToDoublePrecisionPerfRatio = 87, PageableMemoryAccess = 88,
        ConcurrentManagedAccess = 89, ComputePreemptionSupported = 90, CanUseHostPointerForRegisteredMem = 91,
        CooperativeLaunch = 95, MaxSharedMemoryPerBlockOptin = 97, CanFlushRemoteWrites = 98, HostRegisterSupported = 99,
        PageableMemoryAccessUsesHostPageTables = 100, DirectManagedMemAccessFromHost = 101, MaxBlocksPerMultiprocessor = 106,
        ReadOnlyHostRegisterSupported = 113, MemoryPoolsSupported = 115,
    }
}

numbered! {
    /// Attributes of a pointer (`CUpointer_attribute`).
    PointerAttribute {
        Context = 1, MemoryType = 2, DevicePointer = 3, HostPointer = 4, P2pTokens = 5, SyncMemops = 6, BufferId = 7, IsManaged = 8,
        DeviceOrdinal = 9, IsLegacyIpcCapable = 10, RangeStart = 11, RangeSize = 12, Mapped = 13, AllowedHandleTypes = 14,
        IsGpuDirectRdmaCapable = 15, AccessFlags = 16, MempoolHandle = 17, MappingSize = 18, MappingBase = 19,
        MemoryBlockId = 20, IsHwDecompressCapable = 21,
    }
}

numbered! {
    /// Attributes of a function (`CUfunction_attribute`).
    FunctionAttribute {
        MaxThreadsPerBlock = 0, SharedSizeBytes = 1, ConstSizeBytes = 2, LocalSizeBytes = 3, NumRegs = 4, PtxVersion = 5,
        BinaryVersion = 6, CacheModeCa = 7, MaxDynamicSharedSizeBytes = 8, PreferredSharedMemoryCarveout = 9,
        ClusterSizeMustBeSet = 10, RequiredClusterWidth = 11, RequiredClusterHeight = 12, RequiredClusterDepth = 13,
        NonPortableClusterSizeAllowed = 14, ClusterSchedulingPolicyPreference = 15,
    }
}

numbered! {
    /// Formats of channels of arrays (`CUarray_format`) that kernels read.
    ArrayFormat {
        UnsignedInt8 = 1, UnsignedInt16 = 2, UnsignedInt32 = 3, SignedInt8 = 8, SignedInt16 = 9, SignedInt32 = 10, Half = 0x10,
        Float = 0x20,
    }
}

numbered! {
    /// Kinds of nodes of a graph (`CUgraphNodeType`) that the driver makes.
    GraphNodeType {
        Kernel = 0, Memcpy = 1, Memset = 2, Host = 3, Graph = 4, Empty = 5, EventRecord = 7, MemAlloc = 10, MemFree = 11,
    }
}

numbered! {
    /// Addressing modes of textures (`CUaddress_mode`).
    AddressMode { Wrap = 0, Clamp = 1, Mirror = 2, Border = 3 }
}
