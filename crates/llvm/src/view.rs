//! LLVM's modules, seen through its C interface: handles that cannot outlive what they point into.
//!
//! Every handle is borrowed from the [`LlvmModule`] that it was reached through, and nothing here changes or frees
//! what a handle points to while the module is borrowed. That is what the SAFETY lines below call "live".

use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyModule};
use llvm_sys::bit_writer::LLVMWriteBitcodeToMemoryBuffer;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target::{
    LLVMABIAlignmentOfType, LLVMABISizeOfType, LLVMGetModuleDataLayout, LLVMOffsetOfElement,
    LLVMPointerSizeForAS, LLVMStoreSizeOfType, LLVMTargetDataRef,
};
use llvm_sys::{
    LLVMAtomicOrdering, LLVMAtomicRMWBinOp, LLVMIntPredicate, LLVMOpcode, LLVMRealPredicate, LLVMTypeKind,
    LLVMValueKind,
};
use rustc_hash::FxHashSet;
use std::ffi::{CStr, CString, c_char, c_uint};
use std::marker::PhantomData;

/// A module of LLVM IR in a context of its own.
#[derive(Debug)]
pub struct LlvmModule {
    context: LLVMContextRef,
    raw: LLVMModuleRef,
}

// SAFETY: the module lives in a context that is its own, and LLVM binds neither to a thread.
unsafe impl Send for LlvmModule {}

/// A type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Ty<'m>(pub(crate) LLVMTypeRef, PhantomData<&'m LlvmModule>);

/// A value: an instruction, argument, constant, global or function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Val<'m>(pub(crate) LLVMValueRef, PhantomData<&'m LlvmModule>);

/// A basic block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Bb<'m>(pub(crate) LLVMBasicBlockRef, PhantomData<&'m LlvmModule>);

/// Sizes and alignments of a module's target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout<'m>(LLVMTargetDataRef, PhantomData<&'m LlvmModule>);

/// Takes over a message that LLVM allocated.
///
/// # Safety
/// `text` is null or a message that LLVM allocated and that nobody else frees.
pub(crate) unsafe fn take_message(text: *mut c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: a message that LLVM allocated ends in a zero byte and is freed here, once.
    unsafe {
        let message = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeMessage(text);
        message
    }
}

/// A copy of text that LLVM keeps.
///
/// # Safety
/// `text` is null or points to `len` bytes that live during the call.
pub(crate) unsafe fn copy_text(text: *const c_char, len: usize) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller says that the bytes are there.
    String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(text.cast::<u8>(), len) }).into_owned()
}

impl Drop for LlvmModule {
    fn drop(&mut self) {
        // SAFETY: both are owned by this value alone, and the module goes before the context that it lives in.
        unsafe {
            LLVMDisposeModule(self.raw);
            LLVMContextDispose(self.context);
        }
    }
}

impl LlvmModule {
    /// Takes over a module and the context that it alone lives in.
    ///
    /// # Safety
    /// Nobody else uses or frees either.
    pub(crate) unsafe fn from_raw(context: LLVMContextRef, raw: LLVMModuleRef) -> LlvmModule {
        LlvmModule { context, raw }
    }

    /// Gives up module and context, for one who frees them.
    pub(crate) fn into_raw(self) -> (LLVMContextRef, LLVMModuleRef) {
        let this = std::mem::ManuallyDrop::new(self);
        (this.context, this.raw)
    }

    pub(crate) fn raw(&self) -> LLVMModuleRef {
        self.raw
    }

    pub(crate) fn context(&self) -> LLVMContextRef {
        self.context
    }

    /// What LLVM's verifier finds wrong, if anything.
    pub fn verify(&self) -> Result<(), String> {
        let mut message = std::ptr::null_mut();
        // SAFETY: the module is live; the message is taken over.
        let broken = unsafe {
            LLVMVerifyModule(self.raw, LLVMVerifierFailureAction::LLVMReturnStatusAction, &mut message)
        };
        // SAFETY: the verifier allocated it, or left it null.
        let message = unsafe { take_message(message) };
        if broken == 0 { Ok(()) } else { Err(message.trim().to_string()) }
    }

    /// Forgets where in the source its code came from.
    pub fn strip_debug_info(&self) {
        // SAFETY: the module is live.
        unsafe { llvm_sys::debuginfo::LLVMStripModuleDebugInfo(self.raw) };
    }

    /// The module as text.
    pub fn text(&self) -> String {
        // SAFETY: the module is live; the text is taken over and freed.
        unsafe { take_message(LLVMPrintModuleToString(self.raw())) }
    }

    /// The module as bitcode.
    pub fn bitcode(&self) -> Vec<u8> {
        // SAFETY: the module is live; the buffer is copied and freed here.
        unsafe {
            let buffer = LLVMWriteBitcodeToMemoryBuffer(self.raw);
            let (start, size) = (LLVMGetBufferStart(buffer).cast::<u8>(), LLVMGetBufferSize(buffer));
            let bytes = std::slice::from_raw_parts(start, size).to_vec();
            LLVMDisposeMemoryBuffer(buffer);
            bytes
        }
    }

    /// The target triple.
    pub fn triple(&self) -> String {
        // SAFETY: the module is live and keeps the text.
        unsafe { CStr::from_ptr(LLVMGetTarget(self.raw)).to_string_lossy().into_owned() }
    }

    pub(crate) fn layout(&self) -> Layout<'_> {
        // SAFETY: the module is live and owns the layout.
        Layout(unsafe { LLVMGetModuleDataLayout(self.raw) }, PhantomData)
    }

    pub(crate) fn functions(&self) -> impl Iterator<Item = Val<'_>> {
        // SAFETY: the module is live.
        let first = unsafe { LLVMGetFirstFunction(self.raw) };
        // SAFETY: each is a function of the live module.
        Val::of(first)
            .map(|first| chain(first, |func| unsafe { LLVMGetNextFunction(func.0) }))
            .into_iter()
            .flatten()
    }

    pub(crate) fn globals(&self) -> impl Iterator<Item = Val<'_>> {
        // SAFETY: the module is live.
        let first = unsafe { LLVMGetFirstGlobal(self.raw) };
        // SAFETY: each is a global of the live module.
        Val::of(first)
            .map(|first| chain(first, |global| unsafe { LLVMGetNextGlobal(global.0) }))
            .into_iter()
            .flatten()
    }

    pub(crate) fn aliases(&self) -> impl Iterator<Item = Val<'_>> {
        // SAFETY: the module is live.
        let first = unsafe { LLVMGetFirstGlobalAlias(self.raw) };
        // SAFETY: each is an alias of the live module.
        Val::of(first)
            .map(|first| chain(first, |alias| unsafe { LLVMGetNextGlobalAlias(alias.0) }))
            .into_iter()
            .flatten()
    }

    /// Whether it is for the processors that code is generated for here, and not for a GPU.
    pub fn is_for_host(&self) -> bool {
        let triple = self.triple();
        !["spir", "nvptx", "amdgcn"].iter().any(|gpu| triple.starts_with(gpu))
    }

    /// Whether it is for processors of x86-64. No triple at all is that of the machine that runs this.
    pub fn is_x86(&self) -> bool {
        let triple = self.triple();
        triple.starts_with("x86_64") || triple.is_empty() && cfg!(target_arch = "x86_64")
    }

    /// The number of a synchronization scope.
    pub(crate) fn sync_scope(&self, name: &str) -> u32 {
        // SAFETY: the context is live; the text is `len` bytes.
        unsafe { LLVMGetSyncScopeID(self.context, name.as_ptr().cast(), name.len()) }
    }

    pub(crate) fn metadata_kind(&self, name: &str) -> u32 {
        // SAFETY: the context is live; the text is `len` bytes.
        unsafe { LLVMGetMDKindIDInContext(self.context, name.as_ptr().cast(), name.len() as c_uint) }
    }
}

impl std::fmt::Display for LlvmModule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // SAFETY: the module is live; the text is taken over.
        f.write_str(&unsafe { take_message(LLVMPrintModuleToString(self.raw)) })
    }
}

fn chain<'m>(first: Val<'m>, next: impl Fn(Val<'m>) -> LLVMValueRef) -> impl Iterator<Item = Val<'m>> {
    std::iter::successors(Some(first), move |&value| Val::of(next(value)))
}

/// The number of an attribute that LLVM knows by name.
pub(crate) fn attribute_kind(name: &str) -> u32 {
    // SAFETY: the text is `len` bytes.
    unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) }
}

/// The number of the intrinsic of this name, 0 if there is none.
pub(crate) fn intrinsic_id(name: &str) -> u32 {
    // SAFETY: the text is `len` bytes.
    unsafe { LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len()) }
}

/// The name of an intrinsic, without what its types add.
///
/// `id` must be the number of an intrinsic: at most that of a known name, at least 1.
fn intrinsic_name(id: u32) -> String {
    let mut len = 0;
    // SAFETY: the number is that of an intrinsic, whose name is static text.
    unsafe { copy_text(LLVMIntrinsicGetName(id, &mut len), len) }
}

/// The name of the intrinsic that a function is, without what its types add. It must be one.
pub(crate) fn intrinsic_name_of(func: Val<'_>) -> String {
    match func.intrinsic_id() {
        0 => func.name(),
        id => intrinsic_name(id),
    }
}

/// The names of all intrinsics, in the order of their numbers.
pub fn intrinsic_names() -> Vec<String> {
    // The numbers are dense and in the order of targets, so that those of the last target end them.
    let last = intrinsic_id("llvm.xcore.zext");
    (1..=last).map(intrinsic_name).collect()
}

/// The version of the LLVM that is linked.
pub fn version() -> (u32, u32, u32) {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: three places to write to.
    unsafe { LLVMGetVersion(&mut major, &mut minor, &mut patch) };
    (major, minor, patch)
}

impl<'m> Layout<'m> {
    pub(crate) fn size(self, ty: Ty<'m>) -> u64 {
        // SAFETY: live; callers ask for sized types only.
        unsafe { LLVMABISizeOfType(self.0, ty.0) }
    }

    pub(crate) fn store_size(self, ty: Ty<'m>) -> u64 {
        // SAFETY: live; callers ask for sized types only.
        unsafe { LLVMStoreSizeOfType(self.0, ty.0) }
    }

    pub(crate) fn align(self, ty: Ty<'m>) -> u32 {
        // SAFETY: live; callers ask for sized types only.
        unsafe { LLVMABIAlignmentOfType(self.0, ty.0) }
    }

    pub(crate) fn field_offset(self, ty: Ty<'m>, index: u32) -> u64 {
        // SAFETY: live; the type is a sized struct with a field of this index.
        unsafe { LLVMOffsetOfElement(self.0, ty.0, index) }
    }

    pub(crate) fn pointer_bytes(self, space: u32) -> u32 {
        // SAFETY: live.
        unsafe { LLVMPointerSizeForAS(self.0, space) }
    }
}

impl<'m> Ty<'m> {
    pub(crate) fn kind(self) -> LLVMTypeKind {
        // SAFETY: live.
        unsafe { LLVMGetTypeKind(self.0) }
    }

    pub(crate) fn is_sized(self) -> bool {
        // SAFETY: live.
        unsafe { LLVMTypeIsSized(self.0) != 0 }
    }

    pub(crate) fn int_bits(self) -> u32 {
        // SAFETY: live; callers ask integers only.
        unsafe { LLVMGetIntTypeWidth(self.0) }
    }

    pub(crate) fn address_space(self) -> u32 {
        // SAFETY: live; callers ask pointers only.
        unsafe { LLVMGetPointerAddressSpace(self.0) }
    }

    /// Elements of an array or a vector, fields of a struct.
    pub(crate) fn count(self) -> u64 {
        // SAFETY: live; each function is asked of its own kind of type.
        unsafe {
            match self.kind() {
                LLVMTypeKind::LLVMArrayTypeKind => LLVMGetArrayLength2(self.0),
                LLVMTypeKind::LLVMVectorTypeKind => LLVMGetVectorSize(self.0).into(),
                LLVMTypeKind::LLVMStructTypeKind => LLVMCountStructElementTypes(self.0).into(),
                _ => 0,
            }
        }
    }

    /// The type of an element of an array or a vector.
    pub(crate) fn element(self) -> Ty<'m> {
        // SAFETY: live; callers ask arrays and vectors only.
        Ty(unsafe { LLVMGetElementType(self.0) }, PhantomData)
    }

    /// The type of a field of a struct.
    pub(crate) fn field(self, index: u32) -> Ty<'m> {
        // SAFETY: live; the struct has a field of this index.
        Ty(unsafe { LLVMStructGetTypeAtIndex(self.0, index) }, PhantomData)
    }

    pub(crate) fn is_struct(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMStructTypeKind
    }

    pub(crate) fn is_vector(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMVectorTypeKind
    }

    pub(crate) fn result(self) -> Ty<'m> {
        // SAFETY: live; a function type.
        Ty(unsafe { LLVMGetReturnType(self.0) }, PhantomData)
    }

    pub(crate) fn is_var_arg(self) -> bool {
        // SAFETY: live; a function type.
        unsafe { LLVMIsFunctionVarArg(self.0) != 0 }
    }

    pub(crate) fn text(self) -> String {
        // SAFETY: live; the text is taken over.
        unsafe { take_message(LLVMPrintTypeToString(self.0)) }
    }

    /// The integer type of this many bits, of the same context.
    pub(crate) fn same_bits_int(self, bits: u32) -> Ty<'m> {
        // SAFETY: live.
        Ty(unsafe { LLVMIntTypeInContext(LLVMGetTypeContext(self.0), bits) }, PhantomData)
    }
}

impl<'m> Bb<'m> {
    pub(crate) fn insts(self) -> impl Iterator<Item = Val<'m>> {
        // SAFETY: live.
        let first = Val::of(unsafe { LLVMGetFirstInstruction(self.0) });
        // SAFETY: each is an instruction of the live block.
        first
            .map(|first| chain(first, |inst| unsafe { LLVMGetNextInstruction(inst.0) }))
            .into_iter()
            .flatten()
    }

    pub(crate) fn terminator(self) -> Option<Val<'m>> {
        // SAFETY: live.
        Val::of(unsafe { LLVMGetBasicBlockTerminator(self.0) })
    }
}

/// Where in a source an instruction came from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct DebugLoc {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl<'m> Val<'m> {
    pub(crate) fn of(raw: LLVMValueRef) -> Option<Val<'m>> {
        (!raw.is_null()).then_some(Val(raw, PhantomData))
    }

    pub(crate) fn kind(self) -> LLVMValueKind {
        // SAFETY: live.
        unsafe { LLVMGetValueKind(self.0) }
    }

    pub(crate) fn ty(self) -> Ty<'m> {
        // SAFETY: live.
        Ty(unsafe { LLVMTypeOf(self.0) }, PhantomData)
    }

    pub(crate) fn name(self) -> String {
        let mut len = 0;
        // SAFETY: live, and keeps its name.
        unsafe { copy_text(LLVMGetValueName2(self.0, &mut len), len) }
    }

    /// The value as LLVM prints it, on one line, without what is attached to it.
    pub(crate) fn text(self) -> String {
        // SAFETY: live; the text is taken over.
        let text = unsafe { take_message(LLVMPrintValueToString(self.0)) };
        let line = text.trim().lines().next().unwrap_or_default();
        let line = line.split(", !").next().unwrap_or(line);
        line.split(" #").next().unwrap_or(line).chars().take(200).collect()
    }

    /// The value as LLVM prints it.
    pub(crate) fn full_text(self) -> String {
        // SAFETY: live; the text is taken over.
        unsafe { take_message(LLVMPrintValueToString(self.0)) }
    }

    pub(crate) fn opcode(self) -> LLVMOpcode {
        // SAFETY: live; callers ask instructions only.
        unsafe { LLVMGetInstructionOpcode(self.0) }
    }

    pub(crate) fn const_opcode(self) -> LLVMOpcode {
        // SAFETY: live; callers ask constant expressions only.
        unsafe { LLVMGetConstOpcode(self.0) }
    }

    pub(crate) fn operand_count(self) -> u32 {
        // SAFETY: live; callers ask users only.
        unsafe { LLVMGetNumOperands(self.0).max(0) as u32 }
    }

    /// An operand. There must be one of this index.
    pub(crate) fn operand(self, index: u32) -> Val<'m> {
        assert!(index < self.operand_count(), "operand {index} of `{}`", self.text());
        // SAFETY: live, and the index is below the count.
        Val(unsafe { LLVMGetOperand(self.0, index) }, PhantomData)
    }

    pub(crate) fn operands(self) -> impl Iterator<Item = Val<'m>> {
        (0..self.operand_count()).map(move |index| self.operand(index))
    }

    // Constants.

    pub(crate) fn is_constant(self) -> bool {
        // SAFETY: live.
        unsafe { LLVMIsConstant(self.0) != 0 }
    }

    /// The bits of an integer or float constant of at most 128 bits.
    pub(crate) fn bits(self) -> Option<u128> {
        let int = match self.kind() {
            LLVMValueKind::LLVMConstantIntValueKind => self,
            LLVMValueKind::LLVMConstantFPValueKind => {
                let bits = match self.ty().kind() {
                    LLVMTypeKind::LLVMHalfTypeKind | LLVMTypeKind::LLVMBFloatTypeKind => 16,
                    LLVMTypeKind::LLVMFloatTypeKind => 32,
                    LLVMTypeKind::LLVMDoubleTypeKind => 64,
                    _ => return None,
                };
                let int = self.ty().same_bits_int(bits);
                // SAFETY: live; a float constant casts to the integer of as many bits, and LLVM folds that.
                Val(unsafe { LLVMConstBitCast(self.0, int.0) }, PhantomData)
            }
            _ => return None,
        };
        if int.kind() != LLVMValueKind::LLVMConstantIntValueKind {
            return None;
        }
        let bits = int.ty().int_bits();
        if bits <= 64 {
            // SAFETY: live; an integer constant that fits.
            return Some(unsafe { LLVMConstIntGetZExtValue(int.0) }.into());
        }
        // The C interface gives 64 bits; the text gives all.
        let text = int.full_text();
        let value: i128 = text.rsplit(' ').next()?.parse().ok()?;
        let mask = if bits >= 128 { u128::MAX } else { (1 << bits) - 1 };
        (bits <= 128).then_some(value as u128 & mask)
    }

    /// An element of a constant aggregate or vector, if LLVM can tell it.
    pub(crate) fn aggregate_element(self, index: u32) -> Option<Val<'m>> {
        // SAFETY: live; a constant.
        Val::of(unsafe { LLVMGetAggregateElement(self.0, index) })
    }

    // Globals and functions.

    pub(crate) fn value_type(self) -> Ty<'m> {
        // SAFETY: live; a global value.
        Ty(unsafe { LLVMGlobalGetValueType(self.0) }, PhantomData)
    }

    pub(crate) fn is_declaration(self) -> bool {
        // SAFETY: live; a global value.
        unsafe { LLVMIsDeclaration(self.0) != 0 }
    }

    pub(crate) fn initializer(self) -> Option<Val<'m>> {
        // SAFETY: live; a global variable.
        Val::of(unsafe { LLVMGetInitializer(self.0) })
    }

    pub(crate) fn is_global_constant(self) -> bool {
        // SAFETY: live; a global variable.
        unsafe { LLVMIsGlobalConstant(self.0) != 0 }
    }

    pub(crate) fn is_thread_local(self) -> bool {
        // SAFETY: live; a global variable.
        unsafe { LLVMIsThreadLocal(self.0) != 0 }
    }

    pub(crate) fn aliasee(self) -> Val<'m> {
        // SAFETY: live; an alias.
        Val(unsafe { LLVMAliasGetAliasee(self.0) }, PhantomData)
    }

    pub(crate) fn alignment(self) -> u32 {
        // SAFETY: live; a global, an alloca, a load, a store or an atomic.
        unsafe { LLVMGetAlignment(self.0) }
    }

    pub(crate) fn params(self) -> Vec<Val<'m>> {
        // SAFETY: live; a function, and the index is below the count.
        unsafe {
            (0..LLVMCountParams(self.0)).map(|index| Val(LLVMGetParam(self.0, index), PhantomData)).collect()
        }
    }

    /// The blocks of a function that its entry leads to, each before those that it dominates.
    pub(crate) fn reverse_postorder(self) -> Vec<Bb<'m>> {
        let successors =
            |block: Bb<'m>| block.terminator().map_or(Vec::new(), |inst| inst.successors()).into_iter();
        let mut order = Vec::new();
        let Some(&entry) = self.blocks().first() else { return order };
        let mut seen = FxHashSet::from_iter([entry]);
        let mut stack = vec![(entry, successors(entry))];
        while let Some((block, rest)) = stack.last_mut() {
            match rest.next() {
                Some(next) if seen.insert(next) => stack.push((next, successors(next))),
                Some(_) => {}
                None => {
                    order.push(*block);
                    stack.pop();
                }
            }
        }
        order.reverse();
        order
    }

    pub(crate) fn blocks(self) -> Vec<Bb<'m>> {
        // SAFETY: live; a function, whose blocks follow each other until null.
        unsafe {
            std::iter::successors(
                Some(LLVMGetFirstBasicBlock(self.0)).filter(|block| !block.is_null()),
                |&block| Some(LLVMGetNextBasicBlock(block)).filter(|block| !block.is_null()),
            )
            .map(|block| Bb(block, PhantomData))
            .collect()
        }
    }

    pub(crate) fn call_conv(self) -> u32 {
        // SAFETY: live; a function.
        unsafe { LLVMGetFunctionCallConv(self.0) }
    }

    pub(crate) fn intrinsic_id(self) -> u32 {
        // SAFETY: live; a function.
        unsafe { LLVMGetIntrinsicID(self.0) }
    }

    /// The number in an attribute of a function (`index` as LLVM counts: 0 the result, then the parameters, `!0` the
    /// function), if it has it.
    pub(crate) fn attribute(self, index: u32, kind: u32) -> Option<u64> {
        // SAFETY: live; a function.
        let attribute = unsafe { LLVMGetEnumAttributeAtIndex(self.0, index, kind) };
        // SAFETY: live, and not null.
        (!attribute.is_null()).then(|| unsafe { LLVMGetEnumAttributeValue(attribute) })
    }

    /// The names of a function's attributes that are texts.
    pub(crate) fn text_attributes(self) -> Vec<String> {
        let index = llvm_sys::LLVMAttributeFunctionIndex;
        // SAFETY: live; a function, and as much room as it has attributes.
        unsafe {
            let count = LLVMGetAttributeCountAtIndex(self.0, index) as usize;
            let mut all = vec![std::ptr::null_mut(); count];
            LLVMGetAttributesAtIndex(self.0, index, all.as_mut_ptr());
            all.retain(|&attribute| LLVMIsStringAttribute(attribute) != 0);
            all.into_iter()
                .map(|attribute| {
                    let mut len = 0;
                    let text = LLVMGetStringAttributeKind(attribute, &mut len);
                    copy_text(text, len as usize)
                })
                .collect()
        }
    }

    /// What an attribute of a call says that is a text.
    pub(crate) fn call_text_attribute(self, name: &str) -> Option<String> {
        // SAFETY: live; a call, and the name is as long as said.
        unsafe {
            let attribute = LLVMGetCallSiteStringAttribute(
                self.0,
                llvm_sys::LLVMAttributeFunctionIndex,
                name.as_ptr().cast(),
                name.len() as c_uint,
            );
            let mut len = 0;
            (!attribute.is_null()).then(|| {
                let text = LLVMGetStringAttributeValue(attribute, &mut len);
                copy_text(text, len as usize)
            })
        }
    }

    /// The attribute itself.
    pub(crate) fn attribute_ref(self, index: u32, kind: u32) -> Option<LLVMAttributeRef> {
        // SAFETY: live; a function.
        let attribute = unsafe { LLVMGetEnumAttributeAtIndex(self.0, index, kind) };
        (!attribute.is_null()).then_some(attribute)
    }

    /// The same of a call.
    pub(crate) fn call_attribute(self, index: u32, kind: u32) -> Option<u64> {
        // SAFETY: live; a call.
        let attribute = unsafe { LLVMGetCallSiteEnumAttribute(self.0, index, kind) };
        // SAFETY: live, and not null; a type attribute has no number, and is not asked for it.
        (!attribute.is_null()).then(|| unsafe {
            if LLVMIsEnumAttribute(attribute) != 0 { LLVMGetEnumAttributeValue(attribute) } else { 0 }
        })
    }

    /// Whether a call carries a type attribute (`byval` and its kin), and the type.
    pub(crate) fn call_type_attribute(self, index: u32, kind: u32) -> Option<Ty<'m>> {
        // SAFETY: live; a call.
        let attribute = unsafe { LLVMGetCallSiteEnumAttribute(self.0, index, kind) };
        // SAFETY: live, and not null.
        unsafe {
            (!attribute.is_null() && LLVMIsTypeAttribute(attribute) != 0)
                .then(|| Ty(LLVMGetTypeAttributeValue(attribute), PhantomData))
        }
    }

    // Instructions.

    pub(crate) fn int_predicate(self) -> LLVMIntPredicate {
        // SAFETY: live; an integer comparison.
        unsafe { LLVMGetICmpPredicate(self.0) }
    }

    pub(crate) fn float_predicate(self) -> LLVMRealPredicate {
        // SAFETY: live; a float comparison.
        unsafe { LLVMGetFCmpPredicate(self.0) }
    }

    pub(crate) fn has_nuw(self) -> bool {
        // SAFETY: live; an operation that may wrap.
        unsafe { LLVMGetNUW(self.0) != 0 }
    }

    pub(crate) fn has_nsw(self) -> bool {
        // SAFETY: live; an operation that may wrap.
        unsafe { LLVMGetNSW(self.0) != 0 }
    }

    pub(crate) fn is_exact(self) -> bool {
        // SAFETY: live; a division or right shift.
        unsafe { LLVMGetExact(self.0) != 0 }
    }

    pub(crate) fn is_disjoint(self) -> bool {
        // SAFETY: live; an `or`.
        unsafe { LLVMGetIsDisjoint(self.0) != 0 }
    }

    pub(crate) fn has_nneg(self) -> bool {
        // SAFETY: live; a `zext` or `uitofp`.
        unsafe { LLVMGetNNeg(self.0) != 0 }
    }

    /// Fast-math flags, none where there can be none.
    pub(crate) fn fast_math(self) -> u32 {
        // SAFETY: live; an instruction.
        unsafe { if LLVMCanValueUseFastMathFlags(self.0) != 0 { LLVMGetFastMathFlags(self.0) } else { 0 } }
    }

    pub(crate) fn gep_type(self) -> Ty<'m> {
        // SAFETY: live; a `getelementptr`, instruction or constant.
        Ty(unsafe { LLVMGetGEPSourceElementType(self.0) }, PhantomData)
    }

    /// 1: inbounds, 2: nusw, 4: nuw.
    pub(crate) fn gep_flags(self) -> u32 {
        // SAFETY: live; a `getelementptr`, instruction or constant.
        unsafe { LLVMGEPGetNoWrapFlags(self.0) as u32 }
    }

    pub(crate) fn is_volatile(self) -> bool {
        // SAFETY: live; a memory access.
        unsafe { LLVMGetVolatile(self.0) != 0 }
    }

    pub(crate) fn ordering(self) -> LLVMAtomicOrdering {
        // SAFETY: live; a load, store, fence or `atomicrmw`.
        unsafe { LLVMGetOrdering(self.0) }
    }

    pub(crate) fn exchange_orderings(self) -> (LLVMAtomicOrdering, LLVMAtomicOrdering) {
        // SAFETY: live; a `cmpxchg`.
        unsafe { (LLVMGetCmpXchgSuccessOrdering(self.0), LLVMGetCmpXchgFailureOrdering(self.0)) }
    }

    pub(crate) fn scope_id(self) -> u32 {
        // SAFETY: live; an atomic instruction.
        unsafe { LLVMGetAtomicSyncScopeID(self.0) }
    }

    pub(crate) fn rmw_op(self) -> LLVMAtomicRMWBinOp {
        // SAFETY: live; an `atomicrmw`.
        unsafe { LLVMGetAtomicRMWBinOp(self.0) }
    }

    pub(crate) fn allocated_type(self) -> Ty<'m> {
        // SAFETY: live; an `alloca`.
        Ty(unsafe { LLVMGetAllocatedType(self.0) }, PhantomData)
    }

    pub(crate) fn indices(self) -> Vec<u32> {
        // SAFETY: live; an `extractvalue` or `insertvalue`, which keeps this many indices.
        unsafe {
            let count = LLVMGetNumIndices(self.0) as usize;
            std::slice::from_raw_parts(LLVMGetIndices(self.0), count).to_vec()
        }
    }

    /// The lanes that a `shufflevector` picks; none for poison.
    pub(crate) fn shuffle_mask(self) -> Vec<Option<u32>> {
        // SAFETY: live; a `shufflevector`, and the index is below the count.
        unsafe {
            (0..LLVMGetNumMaskElements(self.0))
                .map(|lane| u32::try_from(LLVMGetMaskValue(self.0, lane)).ok())
                .collect()
        }
    }

    pub(crate) fn incoming(self) -> Vec<(Val<'m>, Bb<'m>)> {
        // SAFETY: live; a φ, and the index is below the count.
        unsafe {
            (0..LLVMCountIncoming(self.0))
                .map(|index| {
                    let value = Val(LLVMGetIncomingValue(self.0, index), PhantomData);
                    (value, Bb(LLVMGetIncomingBlock(self.0, index), PhantomData))
                })
                .collect()
        }
    }

    pub(crate) fn successors(self) -> Vec<Bb<'m>> {
        // SAFETY: live; a terminator, and the index is below the count.
        unsafe {
            (0..LLVMGetNumSuccessors(self.0))
                .map(|index| Bb(LLVMGetSuccessor(self.0, index), PhantomData))
                .collect()
        }
    }

    /// The condition of a branch that has one.
    pub(crate) fn condition(self) -> Option<Val<'m>> {
        // SAFETY: live; a `br`.
        unsafe { if LLVMIsConditional(self.0) != 0 { Val::of(LLVMGetCondition(self.0)) } else { None } }
    }

    /// The value of the case that goes to the successor of this index, which is not the default (index 0).
    pub(crate) fn case_value(self, successor: u32) -> Val<'m> {
        // SAFETY: live; a `switch`, and the index is above 0 and below the number of successors.
        Val(unsafe { LLVMGetSwitchCaseValue(self.0, successor) }, PhantomData)
    }

    pub(crate) fn called(self) -> Val<'m> {
        // SAFETY: live; a call.
        Val(unsafe { LLVMGetCalledValue(self.0) }, PhantomData)
    }

    pub(crate) fn called_type(self) -> Ty<'m> {
        // SAFETY: live; a call.
        Ty(unsafe { LLVMGetCalledFunctionType(self.0) }, PhantomData)
    }

    pub(crate) fn arguments(self) -> Vec<Val<'m>> {
        // SAFETY: live; a call, and its arguments are its first operands.
        let count = unsafe { LLVMGetNumArgOperands(self.0) };
        (0..count).map(|index| self.operand(index)).collect()
    }

    pub(crate) fn bundle_count(self) -> u32 {
        // SAFETY: live; a call.
        unsafe { LLVMGetNumOperandBundles(self.0) }
    }

    pub(crate) fn debug_loc(self) -> Option<DebugLoc> {
        let mut len = 0;
        // SAFETY: live; an instruction. The text is kept by the module.
        unsafe {
            let line = LLVMGetDebugLocLine(self.0);
            if line == 0 {
                return None;
            }
            let file = LLVMGetDebugLocFilename(self.0, &mut len);
            let file = copy_text(file, len as usize);
            Some(DebugLoc { file, line, column: LLVMGetDebugLocColumn(self.0) })
        }
    }

    /// The node of metadata of this kind that an instruction has.
    pub(crate) fn metadata(self, kind: u32) -> Option<Val<'m>> {
        // SAFETY: live; an instruction.
        unsafe { Val::of(LLVMGetMetadata(self.0, kind)) }
    }

    /// The node of metadata of this kind that a function has.
    pub(crate) fn function_metadata(self, kind: u32) -> Option<Val<'m>> {
        // SAFETY: live; a function of a module, whose context the node is of. The list is freed behind its last use.
        unsafe {
            let mut count = 0;
            let entries = LLVMGlobalCopyAllMetadata(self.0, &mut count);
            let found = (0..count as u32).find(|&at| LLVMValueMetadataEntriesGetKind(entries, at) == kind);
            let node = found.map(|at| LLVMValueMetadataEntriesGetMetadata(entries, at));
            LLVMDisposeValueMetadataEntries(entries);
            let context = LLVMGetModuleContext(LLVMGetGlobalParent(self.0));
            node.and_then(|node| Val::of(LLVMMetadataAsValue(context, node)))
        }
    }

    /// The type in an attribute of a function, if it has it.
    pub(crate) fn type_attribute(self, index: u32, kind: u32) -> Option<Ty<'m>> {
        let attribute = self.attribute_ref(index, kind)?;
        // SAFETY: live; an attribute with a type, as all of those kinds are.
        unsafe { Some(Ty(LLVMGetTypeAttributeValue(attribute), PhantomData)) }
    }

    /// Whether this is metadata as a value.
    pub(crate) fn is_metadata(&self) -> bool {
        self.kind() == LLVMValueKind::LLVMMetadataAsValueValueKind
    }

    /// The text that a piece of metadata is.
    pub(crate) fn metadata_text(self) -> Option<String> {
        // SAFETY: live; metadata that is a text, as long as it says.
        unsafe {
            if !self.is_metadata() || LLVMIsAMDString(self.0).is_null() {
                return None;
            }
            let mut len = 0;
            let text = LLVMGetMDString(self.0, &mut len);
            Some(copy_text(text, len as usize))
        }
    }

    /// What a node of metadata is made of: texts, nodes, constants; nothing of what is no node.
    pub(crate) fn metadata_parts(self) -> Vec<Option<Val<'m>>> {
        // SAFETY: live; a node of metadata as a value, with as many operands as it says.
        unsafe {
            if !self.is_metadata() || LLVMIsAMDNode(self.0).is_null() {
                return Vec::new();
            }
            let count = LLVMGetMDNodeNumOperands(self.0) as usize;
            let mut operands = vec![std::ptr::null_mut(); count];
            LLVMGetMDNodeOperands(self.0, operands.as_mut_ptr());
            operands.into_iter().map(Val::of).collect()
        }
    }

    /// The numbers in a node of metadata attached to an instruction, if it has one of this kind.
    pub(crate) fn metadata_numbers(self, kind: u32) -> Option<Vec<Option<u64>>> {
        let number = |value: Val<'m>| {
            let is_int = value.kind() == LLVMValueKind::LLVMConstantIntValueKind;
            // SAFETY: live; a constant integer that fits.
            (is_int && value.ty().int_bits() <= 64).then(|| unsafe { LLVMConstIntGetZExtValue(value.0) })
        };
        let parts = self.metadata(kind)?.metadata_parts();
        Some(parts.into_iter().map(|part| part.and_then(number)).collect())
    }
}

/// Text for LLVM, cut at a zero byte.
pub(crate) fn c_text(text: &str) -> CString {
    let text = text.split('\0').next().unwrap_or_default();
    CString::new(text).unwrap_or_default()
}
