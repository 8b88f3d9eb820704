//! Arguments of kernels: slices, values, local memory.

use crate::buffer::Buffer;
use heddle_ir::Space;
use heddle_llvm::{KernelParam, ParamPassing};
use heddle_runtime as runtime;
use std::marker::PhantomData;

/// Type of kernel memory elements and values.
///
/// # Safety
/// Any bits are a value of the type, it has no bytes between its fields that are none of theirs, and what OpenCL C calls it
/// is laid out as it is. Of a structure, implement it with `repr(C)`, and with no `TYPE`.
pub unsafe trait Element: Copy + 'static {
    /// The name in OpenCL C, if it is a type of the language.
    const TYPE: Option<&'static str>;
    /// Alignment in OpenCL C, in bytes.
    const ALIGN: usize = align_of::<Self>();
}

macro_rules! elements {
    ($($element:ty = $name:literal $two:literal $four:literal $eight:literal $sixteen:literal;)*) => {
        $(elements!(@one $element, $name, 1);
        elements!(@one [$element; 2], $two, 2);
        elements!(@one [$element; 4], $four, 4);
        elements!(@one [$element; 8], $eight, 8);
        elements!(@one [$element; 16], $sixteen, 16);)*
    };
    (@one $element:ty, $name:literal, $count:literal) => {
        // SAFETY: any bits are a number, vectors of OpenCL C are laid out as arrays are.
        unsafe impl Element for $element {
            const TYPE: Option<&'static str> = Some($name);
            const ALIGN: usize = size_of::<$element>();
        }

        impl<'a> IntoArgument<'a> for $element {
            fn into_argument(self) -> KernelArgument<'a> {
                KernelArgument::value(self)
            }
        }
    };
}

elements! {
    i8 = "char" "char2" "char4" "char8" "char16";
    u8 = "uchar" "uchar2" "uchar4" "uchar8" "uchar16";
    i16 = "short" "short2" "short4" "short8" "short16";
    u16 = "ushort" "ushort2" "ushort4" "ushort8" "ushort16";
    i32 = "int" "int2" "int4" "int8" "int16";
    u32 = "uint" "uint2" "uint4" "uint8" "uint16";
    i64 = "long" "long2" "long4" "long8" "long16";
    u64 = "ulong" "ulong2" "ulong4" "ulong8" "ulong16";
    f32 = "float" "float2" "float4" "float8" "float16";
    f64 = "double" "double2" "double4" "double8" "double16";
}

/// The names of types that Rust has, too. `half` is a `u16`, and vectors of three have room for four.
fn name_in_rust(name: &str) -> Option<String> {
    const SCALARS: [&str; 11] =
        ["char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double", "half"];
    let digits = name.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
    let (scalar, count) = name.split_at(digits);
    let is_known = SCALARS.contains(&scalar) && ["", "2", "3", "4", "8", "16"].contains(&count);
    let scalar = if scalar == "half" { "ushort" } else { scalar };
    is_known.then(|| format!("{scalar}{}", if count == "3" { "4" } else { count }))
}

/// Argument of a kernel.
#[derive(Clone, Debug)]
pub struct KernelArgument<'a> {
    given: ArgumentValue,
    /// Type name in OpenCL C.
    ty: Option<&'static str>,
    borrowed: PhantomData<&'a mut [u8]>,
}

#[derive(Clone, Debug)]
enum ArgumentValue {
    Value(Vec<u8>),
    Memory {
        address: *mut u8,
        /// From the address on; none if that is not known.
        bytes: Option<usize>,
        align: usize,
        is_writable: bool,
    },
    Local(u64),
}

impl<'a> KernelArgument<'a> {
    /// A value.
    pub fn value<T: Element>(value: T) -> KernelArgument<'a> {
        let mut bytes = vec![0; size_of::<T>()];
        // SAFETY: as many bytes are there, and an element has no others.
        unsafe { std::ptr::copy_nonoverlapping((&raw const value).cast(), bytes.as_mut_ptr(), bytes.len()) };
        KernelArgument { given: ArgumentValue::Value(bytes), ty: T::TYPE, borrowed: PhantomData }
    }

    /// Memory that the kernel reads.
    pub fn memory<T: Element>(elements: &'a [T]) -> KernelArgument<'a> {
        KernelArgument::at(elements.as_ptr().cast_mut(), size_of_val(elements), false)
    }

    /// Memory that the kernel may write.
    pub fn memory_mut<T: Element>(elements: &'a mut [T]) -> KernelArgument<'a> {
        KernelArgument::at(elements.as_mut_ptr(), size_of_val(elements), true)
    }

    /// A value by its bytes, whatever its type.
    pub fn bytes(bytes: &[u8]) -> KernelArgument<'a> {
        KernelArgument { given: ArgumentValue::Value(bytes.to_vec()), ty: None, borrowed: PhantomData }
    }

    /// An address, or null, of whatever the kernel finds there.
    pub fn address(address: *mut u8) -> KernelArgument<'a> {
        let given = ArgumentValue::Memory { address, bytes: None, align: 1, is_writable: true };
        KernelArgument { given, ty: None, borrowed: PhantomData }
    }

    /// An address of so many bytes, which are all that the kernel accesses through it.
    pub fn raw_memory(address: *mut u8, bytes: usize) -> KernelArgument<'a> {
        let given = ArgumentValue::Memory { address, bytes: Some(bytes), align: 1, is_writable: true };
        KernelArgument { given, ty: None, borrowed: PhantomData }
    }

    /// So many bytes in the memory of each work-group.
    pub fn local_bytes(bytes: u64) -> KernelArgument<'a> {
        KernelArgument { given: ArgumentValue::Local(bytes), ty: None, borrowed: PhantomData }
    }

    fn at<T: Element>(address: *mut T, bytes: usize, is_writable: bool) -> KernelArgument<'a> {
        let given = ArgumentValue::Memory {
            address: address.cast(),
            bytes: Some(bytes),
            align: T::ALIGN,
            is_writable,
        };
        KernelArgument { given, ty: T::TYPE, borrowed: PhantomData }
    }

    /// Converts to the runtime's argument; the error is the reason of a mismatch.
    pub(crate) fn given(&self, parameter: &KernelParam) -> Result<runtime::LaunchArgument<'_>, String> {
        let written = parameter.type_name.trim_end_matches('*');
        if let (Some(wanted), Some(found)) = (name_in_rust(written), self.ty)
            && wanted != found
        {
            return Err(format!("expected a `{}`, found a `{found}`", parameter.type_name));
        }
        match (&self.given, &parameter.passing) {
            (ArgumentValue::Local(bytes), ParamPassing::Pointer(Space::Local)) => {
                Ok(runtime::LaunchArgument::Local(*bytes))
            }
            (_, ParamPassing::Pointer(Space::Local)) => {
                Err("a pointer to local memory takes `heddle::local::<T>(count)`".into())
            }
            (ArgumentValue::Memory { address, bytes, align, is_writable }, ParamPassing::Pointer(space)) => {
                let is_read = *space == Space::Constant || parameter.qualifiers.contains("const");
                if !is_read && !is_writable {
                    return Err("the kernel may write it: pass a `&mut` slice, or declare it `const`".into());
                }
                if !(*address as usize).is_multiple_of(*align) {
                    return Err(format!(
                        "elements must be aligned to {align} bytes: keep them in a `heddle::Buffer`"
                    ));
                }
                Ok(match *bytes {
                    Some(bytes) => runtime::LaunchArgument::Memory(*address, bytes),
                    None => runtime::LaunchArgument::Pointer(*address),
                })
            }
            (
                ArgumentValue::Value(found),
                ParamPassing::Value { bytes, .. } | ParamPassing::Copy { bytes, .. },
            ) if found.len() == *bytes => Ok(runtime::LaunchArgument::Bytes(found)),
            (
                ArgumentValue::Value(found),
                ParamPassing::Value { bytes, .. } | ParamPassing::Copy { bytes, .. },
            ) => Err(format!("expected {bytes} bytes, found {}", found.len())),
            (_, ParamPassing::Pointer(_)) => Err("a pointer to memory takes a slice".into()),
            (_, ParamPassing::Opaque | ParamPassing::Image(_) | ParamPassing::Sampler) => {
                Err(format!("unsupported type `{}`", parameter.type_name))
            }
            _ => Err("expected a value, found memory".into()),
        }
    }
}

/// Conversion into a kernel argument.
pub trait IntoArgument<'a> {
    /// The argument.
    fn into_argument(self) -> KernelArgument<'a>;
}

impl<'a> IntoArgument<'a> for KernelArgument<'a> {
    fn into_argument(self) -> KernelArgument<'a> {
        self
    }
}

macro_rules! slices {
    ($([$($more:tt)*] $memory:ty;)*) => {
        $(impl<'a, T: Element $($more)*> IntoArgument<'a> for &'a $memory {
            fn into_argument(self) -> KernelArgument<'a> {
                KernelArgument::memory(&self[..])
            }
        }

        impl<'a, T: Element $($more)*> IntoArgument<'a> for &'a mut $memory {
            fn into_argument(self) -> KernelArgument<'a> {
                KernelArgument::memory_mut(&mut self[..])
            }
        })*
    };
}

slices! {
    [] [T];
    [] Vec<T>;
    [] Buffer<T>;
    [, const N: usize] [T; N];
}

/// Memory of a work-group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Local {
    bytes: u64,
    ty: Option<&'static str>,
}

/// So many elements in the memory of each work-group.
pub fn local<T: Element>(count: usize) -> Local {
    Local { bytes: (count as u64).saturating_mul(size_of::<T>() as u64), ty: T::TYPE }
}

impl<'a> IntoArgument<'a> for Local {
    fn into_argument(self) -> KernelArgument<'a> {
        KernelArgument { given: ArgumentValue::Local(self.bytes), ty: self.ty, borrowed: PhantomData }
    }
}

/// All arguments of a kernel: a tuple, or a list.
pub trait Arguments<'a> {
    /// One for each parameter.
    fn into_arguments(self) -> Vec<KernelArgument<'a>>;
}

impl<'a> Arguments<'a> for Vec<KernelArgument<'a>> {
    fn into_arguments(self) -> Vec<KernelArgument<'a>> {
        self
    }
}

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<'a, $($name: IntoArgument<'a>),*> Arguments<'a> for ($($name,)*) {
            #[allow(non_snake_case, reason = "values are named as their types")]
            fn into_arguments(self) -> Vec<KernelArgument<'a>> {
                let ($($name,)*) = self;
                vec![$($name.into_argument()),*]
            }
        }
    };
}

tuples!();
tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);
tuples!(A B C D E F G H I);
tuples!(A B C D E F G H I J);
tuples!(A B C D E F G H I J K);
tuples!(A B C D E F G H I J K L);
