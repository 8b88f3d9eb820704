//! Wrapper of LLVM's IR builder.
//!
//! Handles point into the module under construction, which lives as long as the assembler and frees nothing before.
//! The SAFETY comments below call this "live". Callers ensure matching operand types; LLVM's verifier checks each
//! module.

use crate::fatal_errors::handle_diagnostics;
use crate::view::{LlvmModule, attribute_kind, c_text, intrinsic_id};
use heddle_ir::words::{Flag, Flags, FloatPredicate, IntPredicate};
use heddle_ir::{Scalar, Type};
use llvm_sys::core::*;
use llvm_sys::debuginfo::{LLVMMetadataReplaceAllUsesWith, LLVMTemporaryMDNode};
use llvm_sys::prelude::*;
use llvm_sys::{
    LLVMAtomicOrdering, LLVMAtomicRMWBinOp, LLVMAttributeFunctionIndex, LLVMIntPredicate, LLVMLinkage,
    LLVMOpcode, LLVMRealPredicate,
};

/// LLVM type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TypeHandle(LLVMTypeRef);

/// LLVM value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ValueHandle(LLVMValueRef);

/// LLVM metadata.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MetadataHandle(LLVMMetadataRef);

/// LLVM basic block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BlockHandle(LLVMBasicBlockRef);

/// Module under construction, with the insertion point of the builder.
#[derive(Debug)]
pub(super) struct Assembler {
    module: LlvmModule,
    builder: LLVMBuilderRef,
}

const NO_NAME: *const std::ffi::c_char = c"".as_ptr();

impl Drop for Assembler {
    fn drop(&mut self) {
        // SAFETY: the builder is owned here.
        unsafe { LLVMDisposeBuilder(self.builder) };
    }
}

impl ValueHandle {
    pub(super) fn raw(self) -> LLVMValueRef {
        self.0
    }
}

fn raw(nodes: &[ValueHandle]) -> Vec<LLVMValueRef> {
    nodes.iter().map(|node| node.0).collect()
}

impl Assembler {
    pub(super) fn new(name: &str) -> Assembler {
        let name = c_text(name);
        // SAFETY: everything is made here; the module and the builder live in the context, which the module owns.
        unsafe {
            let context = LLVMContextCreate();
            handle_diagnostics(context);
            let module = LLVMModuleCreateWithNameInContext(name.as_ptr(), context);
            let builder = LLVMCreateBuilderInContext(context);
            Assembler { module: LlvmModule::from_raw(context, module), builder }
        }
    }

    /// Returns the finished module.
    pub(super) fn finish(self) -> LlvmModule {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: the builder is freed here instead of by `drop`, and the module is moved out of what is not dropped.
        unsafe {
            LLVMDisposeBuilder(this.builder);
            std::ptr::read(&this.module)
        }
    }

    fn context(&self) -> LLVMContextRef {
        self.module.context()
    }

    // For `debug.rs`.

    pub(super) fn raw_module(&self) -> LLVMModuleRef {
        self.module.raw()
    }

    pub(super) fn raw_context(&self) -> LLVMContextRef {
        self.context()
    }

    pub(super) fn raw_builder(&self) -> LLVMBuilderRef {
        self.builder
    }

    // Types.

    pub(super) fn int_ty(&self, bits: u32) -> TypeHandle {
        // SAFETY: the context is live.
        TypeHandle(unsafe { LLVMIntTypeInContext(self.context(), bits) })
    }

    pub(super) fn scalar_ty(&self, scalar: Scalar) -> TypeHandle {
        let context = self.context();
        // SAFETY: the context is live.
        TypeHandle(unsafe {
            match scalar {
                Scalar::F16 => LLVMHalfTypeInContext(context),
                Scalar::BF16 => LLVMBFloatTypeInContext(context),
                Scalar::F32 => LLVMFloatTypeInContext(context),
                Scalar::F64 => LLVMDoubleTypeInContext(context),
                Scalar::Ptr(_) => LLVMPointerTypeInContext(context, 0),
                int => LLVMIntTypeInContext(context, int.bits()),
            }
        })
    }

    pub(super) fn ty(&self, ty: Type) -> TypeHandle {
        let scalar = self.scalar_ty(ty.scalar());
        match ty.lanes() {
            // SAFETY: live; there is at least one lane.
            Some(lanes) => TypeHandle(unsafe { LLVMVectorType(scalar.0, lanes.into()) }),
            None => scalar,
        }
    }

    pub(super) fn array_ty(&self, element: TypeHandle, count: u64) -> TypeHandle {
        // SAFETY: live.
        TypeHandle(unsafe { LLVMArrayType2(element.0, count) })
    }

    pub(super) fn void_ty(&self) -> TypeHandle {
        // SAFETY: the context is live.
        TypeHandle(unsafe { LLVMVoidTypeInContext(self.context()) })
    }

    pub(super) fn struct_ty(&self, fields: &[TypeHandle]) -> TypeHandle {
        let mut fields: Vec<LLVMTypeRef> = fields.iter().map(|field| field.0).collect();
        // SAFETY: live; the number of fields matches.
        TypeHandle(unsafe {
            LLVMStructTypeInContext(self.context(), fields.as_mut_ptr(), fields.len() as u32, 0)
        })
    }

    pub(super) fn function_ty(&self, result: TypeHandle, params: &[TypeHandle]) -> TypeHandle {
        let mut params: Vec<LLVMTypeRef> = params.iter().map(|param| param.0).collect();
        // SAFETY: live; the number of parameters matches.
        TypeHandle(unsafe { LLVMFunctionType(result.0, params.as_mut_ptr(), params.len() as u32, 0) })
    }

    /// Returns a variadic function type with these fixed parameters.
    pub(super) fn variadic_ty(&self, result: TypeHandle, params: &[TypeHandle]) -> TypeHandle {
        let mut params: Vec<LLVMTypeRef> = params.iter().map(|param| param.0).collect();
        // SAFETY: live; the number of parameters matches.
        TypeHandle(unsafe { LLVMFunctionType(result.0, params.as_mut_ptr(), params.len() as u32, 1) })
    }

    /// Returns the address space of a pointer type.
    pub(super) fn space_of(&self, pointer: TypeHandle) -> u32 {
        // SAFETY: live, and the type of a pointer.
        unsafe { LLVMGetPointerAddressSpace(pointer.0) }
    }

    pub(super) fn type_of(&self, node: ValueHandle) -> TypeHandle {
        // SAFETY: live.
        TypeHandle(unsafe { LLVMTypeOf(node.0) })
    }

    // Constants.

    pub(super) fn int(&self, bits: u32, value: u128) -> ValueHandle {
        let words = [value as u64, (value >> 64) as u64];
        let ty = self.int_ty(bits);
        // SAFETY: live; two words.
        ValueHandle(unsafe { LLVMConstIntOfArbitraryPrecision(ty.0, 2, words.as_ptr()) })
    }

    pub(super) fn scalar(&self, scalar: Scalar, bits: u128) -> ValueHandle {
        let int = self.int(scalar.bits(), bits);
        let ty = self.scalar_ty(scalar);
        // SAFETY: live; of as many bits.
        ValueHandle(unsafe {
            match scalar {
                Scalar::Ptr(_) if bits == 0 => LLVMConstNull(ty.0),
                Scalar::Ptr(_) => LLVMConstIntToPtr(int.0, ty.0),
                scalar if scalar.is_float() => LLVMConstBitCast(int.0, ty.0),
                _ => int.0,
            }
        })
    }

    pub(super) fn vector(&self, lanes: &[ValueHandle]) -> ValueHandle {
        let mut lanes = raw(lanes);
        // SAFETY: live; the number of constants matches.
        ValueHandle(unsafe { LLVMConstVector(lanes.as_mut_ptr(), lanes.len() as u32) })
    }

    pub(super) fn poison(&self, ty: TypeHandle) -> ValueHandle {
        // SAFETY: live.
        ValueHandle(unsafe { LLVMGetPoison(ty.0) })
    }

    pub(super) fn undef(&self, ty: TypeHandle) -> ValueHandle {
        // SAFETY: live.
        ValueHandle(unsafe { LLVMGetUndef(ty.0) })
    }

    pub(super) fn zero(&self, ty: TypeHandle) -> ValueHandle {
        // SAFETY: live.
        ValueHandle(unsafe { LLVMConstNull(ty.0) })
    }

    pub(super) fn packed_struct(&self, fields: &[ValueHandle]) -> ValueHandle {
        let mut fields = raw(fields);
        // SAFETY: live; the number of constants matches.
        ValueHandle(unsafe {
            LLVMConstStructInContext(self.context(), fields.as_mut_ptr(), fields.len() as u32, 1)
        })
    }

    pub(super) fn array(&self, element: TypeHandle, values: &[ValueHandle]) -> ValueHandle {
        let mut values = raw(values);
        // SAFETY: live; the number of constants of the type matches.
        ValueHandle(unsafe { LLVMConstArray2(element.0, values.as_mut_ptr(), values.len() as u64) })
    }

    /// Returns a constant address plus a byte offset.
    pub(super) fn address_behind(&self, address: ValueHandle, bytes: i64) -> ValueHandle {
        let (i8, mut index) = (self.int_ty(8), self.int(64, bytes as u64 as u128).0);
        // SAFETY: live; one index.
        ValueHandle(unsafe { LLVMConstGEP2(i8.0, address.0, &mut index, 1) })
    }

    // Globals and functions.

    pub(super) fn add_global(
        &self,
        name: &str,
        ty: TypeHandle,
        align: u32,
        is_constant: bool,
    ) -> ValueHandle {
        let name = c_text(name);
        // SAFETY: the module is live.
        unsafe {
            let global = LLVMAddGlobal(self.module.raw(), ty.0, name.as_ptr());
            LLVMSetAlignment(global, align);
            LLVMSetGlobalConstant(global, is_constant.into());
            ValueHandle(global)
        }
    }

    /// Gives a global or defined function internal linkage.
    pub(super) fn set_internal(&self, node: ValueHandle) {
        // SAFETY: live, and a global value.
        unsafe { LLVMSetLinkage(node.0, LLVMLinkage::LLVMInternalLinkage) }
    }

    pub(super) fn set_initializer(&self, global: ValueHandle, value: ValueHandle) {
        // SAFETY: live; the value is of the global's type.
        unsafe { LLVMSetInitializer(global.0, value.0) }
    }

    pub(super) fn add_function(&self, name: &str, ty: TypeHandle) -> ValueHandle {
        let name = c_text(name);
        // SAFETY: the module is live.
        unsafe {
            let func = LLVMAddFunction(self.module.raw(), name.as_ptr(), ty.0);
            LLVMSetLinkage(func, LLVMLinkage::LLVMExternalLinkage);
            ValueHandle(func)
        }
    }

    /// Returns the function of this name; declares it with this type if absent.
    pub(super) fn function_named(&self, name: &str, ty: TypeHandle) -> ValueHandle {
        let c_name = c_text(name);
        // SAFETY: the module is live.
        let known = unsafe { LLVMGetNamedFunction(self.module.raw(), c_name.as_ptr()) };
        if known.is_null() { self.add_function(name, ty) } else { ValueHandle(known) }
    }

    /// True if a function has no body yet.
    pub(super) fn is_declared(&self, func: ValueHandle) -> bool {
        // SAFETY: live, and a function.
        unsafe { LLVMIsDeclaration(func.0) != 0 }
    }

    pub(super) fn param(&self, func: ValueHandle, index: u32) -> ValueHandle {
        // SAFETY: live; the function has this parameter.
        ValueHandle(unsafe { LLVMGetParam(func.0, index) })
    }

    /// Adds an attribute to a parameter (from 1), the result (0) or the function (`!0`).
    pub(super) fn add_attribute(&self, func: ValueHandle, index: u32, name: &str, value: u64) {
        // SAFETY: live; the attribute is one that LLVM knows by name.
        unsafe {
            let attribute = LLVMCreateEnumAttribute(self.context(), attribute_kind(name), value);
            LLVMAddAttributeAtIndex(func.0, index, attribute);
        }
    }

    pub(super) fn add_function_attribute(&self, func: ValueHandle, name: &str, value: u64) {
        self.add_attribute(func, LLVMAttributeFunctionIndex, name, value);
    }

    pub(super) fn add_label(&self, func: ValueHandle) -> BlockHandle {
        // SAFETY: live.
        BlockHandle(unsafe { LLVMAppendBasicBlockInContext(self.context(), func.0, NO_NAME) })
    }

    /// Returns the block of the insertion point.
    pub(super) fn here(&self) -> BlockHandle {
        // SAFETY: live.
        BlockHandle(unsafe { LLVMGetInsertBlock(self.builder) })
    }

    pub(super) fn position_at_end(&self, label: BlockHandle) {
        // SAFETY: live.
        unsafe { LLVMPositionBuilderAtEnd(self.builder, label.0) }
    }

    // Instructions.

    /// Sets an instruction's flags; constants have none.
    pub(super) fn with_flags(&self, node: ValueHandle, flags: Flags) -> ValueHandle {
        const FAST: [(Flag, u32); 7] = [
            (Flag::Reassoc, 1),
            (Flag::Nnan, 2),
            (Flag::Ninf, 4),
            (Flag::Nsz, 8),
            (Flag::Arcp, 16),
            (Flag::Contract, 32),
            (Flag::Afn, 64),
        ];
        // SAFETY: live; each flag is set only on an instruction that may carry it.
        unsafe {
            if flags.is_empty() || LLVMIsAInstruction(node.0).is_null() {
                return node;
            }
            use LLVMOpcode::*;
            match LLVMGetInstructionOpcode(node.0) {
                LLVMAdd | LLVMSub | LLVMMul | LLVMShl | LLVMTrunc => {
                    LLVMSetNUW(node.0, flags.has(Flag::Nuw).into());
                    LLVMSetNSW(node.0, flags.has(Flag::Nsw).into());
                }
                LLVMUDiv | LLVMSDiv | LLVMLShr | LLVMAShr => {
                    LLVMSetExact(node.0, flags.has(Flag::Exact).into())
                }
                LLVMOr => LLVMSetIsDisjoint(node.0, flags.has(Flag::Disjoint).into()),
                LLVMZExt | LLVMUIToFP => LLVMSetNNeg(node.0, flags.has(Flag::Nneg).into()),
                _ => {}
            }
            if LLVMCanValueUseFastMathFlags(node.0) != 0 {
                let set = FAST.iter().filter(|(flag, _)| flags.has(*flag));
                LLVMSetFastMathFlags(node.0, set.fold(0, |bits, (_, bit)| bits | bit));
            }
        }
        node
    }

    pub(super) fn binary(&self, code: LLVMOpcode, a: ValueHandle, b: ValueHandle) -> ValueHandle {
        // SAFETY: live.
        ValueHandle(unsafe { LLVMBuildBinOp(self.builder, code, a.0, b.0, NO_NAME) })
    }

    /// True for LLVM constants.
    pub(super) fn is_constant(&self, a: ValueHandle) -> bool {
        // SAFETY: live.
        unsafe { LLVMIsConstant(a.0) != 0 }
    }

    pub(super) fn negate(&self, a: ValueHandle) -> ValueHandle {
        // SAFETY: live.
        ValueHandle(unsafe { LLVMBuildFNeg(self.builder, a.0, NO_NAME) })
    }

    pub(super) fn cast(&self, code: LLVMOpcode, a: ValueHandle, to: TypeHandle) -> ValueHandle {
        // SAFETY: live.
        ValueHandle(unsafe { LLVMBuildCast(self.builder, code, a.0, to.0, NO_NAME) })
    }

    pub(super) fn icmp(&self, predicate: IntPredicate, a: ValueHandle, b: ValueHandle) -> ValueHandle {
        use LLVMIntPredicate::*;
        let predicate = match predicate {
            IntPredicate::Eq => LLVMIntEQ,
            IntPredicate::Ne => LLVMIntNE,
            IntPredicate::Ugt => LLVMIntUGT,
            IntPredicate::Uge => LLVMIntUGE,
            IntPredicate::Ult => LLVMIntULT,
            IntPredicate::Ule => LLVMIntULE,
            IntPredicate::Sgt => LLVMIntSGT,
            IntPredicate::Sge => LLVMIntSGE,
            IntPredicate::Slt => LLVMIntSLT,
            IntPredicate::Sle => LLVMIntSLE,
        };
        // SAFETY: live.
        ValueHandle(unsafe { LLVMBuildICmp(self.builder, predicate, a.0, b.0, NO_NAME) })
    }

    pub(super) fn fcmp(&self, predicate: FloatPredicate, a: ValueHandle, b: ValueHandle) -> ValueHandle {
        use LLVMRealPredicate::*;
        const PREDICATES: [LLVMRealPredicate; 16] = [
            LLVMRealPredicateFalse,
            LLVMRealOEQ,
            LLVMRealOGT,
            LLVMRealOGE,
            LLVMRealOLT,
            LLVMRealOLE,
            LLVMRealONE,
            LLVMRealORD,
            LLVMRealUNO,
            LLVMRealUEQ,
            LLVMRealUGT,
            LLVMRealUGE,
            LLVMRealULT,
            LLVMRealULE,
            LLVMRealUNE,
            LLVMRealPredicateTrue,
        ];
        // SAFETY: live.
        ValueHandle(unsafe { LLVMBuildFCmp(self.builder, PREDICATES[predicate as usize], a.0, b.0, NO_NAME) })
    }

    pub(super) fn select(
        &self,
        condition: ValueHandle,
        then: ValueHandle,
        otherwise: ValueHandle,
    ) -> ValueHandle {
        // SAFETY: live.
        ValueHandle(unsafe { LLVMBuildSelect(self.builder, condition.0, then.0, otherwise.0, NO_NAME) })
    }

    pub(super) fn freeze(&self, a: ValueHandle) -> ValueHandle {
        // SAFETY: live.
        ValueHandle(unsafe { LLVMBuildFreeze(self.builder, a.0, NO_NAME) })
    }

    pub(super) fn phi(&self, ty: TypeHandle) -> ValueHandle {
        // SAFETY: live.
        ValueHandle(unsafe { LLVMBuildPhi(self.builder, ty.0, NO_NAME) })
    }

    pub(super) fn add_incoming(&self, phi: ValueHandle, value: ValueHandle, from: BlockHandle) {
        let (mut value, mut from) = (value.0, from.0);
        // SAFETY: live; one operand each.
        unsafe { LLVMAddIncoming(phi.0, &mut value, &mut from, 1) }
    }

    pub(super) fn extract(&self, vector: ValueHandle, index: ValueHandle) -> ValueHandle {
        // SAFETY: live.
        ValueHandle(unsafe { LLVMBuildExtractElement(self.builder, vector.0, index.0, NO_NAME) })
    }

    pub(super) fn insert(&self, vector: ValueHandle, value: ValueHandle, index: ValueHandle) -> ValueHandle {
        // SAFETY: live.
        ValueHandle(unsafe { LLVMBuildInsertElement(self.builder, vector.0, value.0, index.0, NO_NAME) })
    }

    pub(super) fn shuffle(&self, a: ValueHandle, b: ValueHandle, lanes: &[u32]) -> ValueHandle {
        let lanes: Vec<ValueHandle> = lanes.iter().map(|&lane| self.int(32, lane.into())).collect();
        let mask = self.vector(&lanes);
        // SAFETY: live; the mask is a constant vector of i32.
        ValueHandle(unsafe { LLVMBuildShuffleVector(self.builder, a.0, b.0, mask.0, NO_NAME) })
    }

    pub(super) fn field(&self, whole: ValueHandle, index: u32) -> ValueHandle {
        // SAFETY: live.
        ValueHandle(unsafe { LLVMBuildExtractValue(self.builder, whole.0, index, NO_NAME) })
    }

    pub(super) fn with_field(&self, whole: ValueHandle, value: ValueHandle, index: u32) -> ValueHandle {
        // SAFETY: live.
        ValueHandle(unsafe { LLVMBuildInsertValue(self.builder, whole.0, value.0, index, NO_NAME) })
    }

    pub(super) fn alloca(&self, bytes: u64, align: u32) -> ValueHandle {
        let ty = self.array_ty(self.int_ty(8), bytes);
        // SAFETY: live.
        unsafe {
            let object = LLVMBuildAlloca(self.builder, ty.0, NO_NAME);
            LLVMSetAlignment(object, align);
            ValueHandle(object)
        }
    }

    /// Emits an address plus offset; no-wrap flags: 1 inbounds, 4 nuw.
    pub(super) fn offset_address(
        &self,
        address: ValueHandle,
        offset: ValueHandle,
        promises: u32,
    ) -> ValueHandle {
        let mut index = offset.0;
        let i8 = self.int_ty(8);
        // SAFETY: live; one index.
        ValueHandle(unsafe {
            LLVMBuildGEPWithNoWrapFlags(self.builder, i8.0, address.0, &mut index, 1, NO_NAME, promises as _)
        })
    }

    pub(super) fn load(&self, ty: TypeHandle, address: ValueHandle, align: u32) -> ValueHandle {
        // SAFETY: live.
        unsafe {
            let load = LLVMBuildLoad2(self.builder, ty.0, address.0, NO_NAME);
            LLVMSetAlignment(load, align);
            ValueHandle(load)
        }
    }

    pub(super) fn store(&self, value: ValueHandle, address: ValueHandle, align: u32) -> ValueHandle {
        // SAFETY: live.
        unsafe {
            let store = LLVMBuildStore(self.builder, value.0, address.0);
            LLVMSetAlignment(store, align);
            ValueHandle(store)
        }
    }

    pub(super) fn make_atomic(&self, access: ValueHandle, ordering: LLVMAtomicOrdering, is_single: bool) {
        // SAFETY: live; a load or a store.
        unsafe {
            LLVMSetOrdering(access.0, ordering);
            LLVMSetAtomicSyncScopeID(access.0, u32::from(!is_single));
        }
    }

    pub(super) fn make_volatile(&self, access: ValueHandle) {
        // SAFETY: live; a load, a store or an atomic.
        unsafe { LLVMSetVolatile(access.0, 1) }
    }

    pub(super) fn rmw(
        &self,
        op: LLVMAtomicRMWBinOp,
        address: ValueHandle,
        value: ValueHandle,
        ordering: LLVMAtomicOrdering,
        is_single: bool,
        align: u32,
    ) -> ValueHandle {
        // SAFETY: live.
        unsafe {
            let rmw = LLVMBuildAtomicRMW(self.builder, op, address.0, value.0, ordering, is_single.into());
            LLVMSetAlignment(rmw, align);
            ValueHandle(rmw)
        }
    }

    pub(super) fn exchange(
        &self,
        [address, old, new]: [ValueHandle; 3],
        [success, failure]: [LLVMAtomicOrdering; 2],
        is_single: bool,
        align: u32,
    ) -> ValueHandle {
        // SAFETY: live.
        unsafe {
            let exchange = LLVMBuildAtomicCmpXchg(
                self.builder,
                address.0,
                old.0,
                new.0,
                success,
                failure,
                is_single.into(),
            );
            LLVMSetAlignment(exchange, align);
            ValueHandle(exchange)
        }
    }

    pub(super) fn fence(&self, ordering: LLVMAtomicOrdering, is_single: bool) {
        // SAFETY: live.
        unsafe { LLVMBuildFence(self.builder, ordering, is_single.into(), NO_NAME) };
    }

    // Metadata.

    pub(super) fn text_of(&self, text: &str) -> MetadataHandle {
        // SAFETY: live, and the length of the text matches.
        MetadataHandle(unsafe { LLVMMDStringInContext2(self.context(), text.as_ptr().cast(), text.len()) })
    }

    pub(super) fn number_of(&self, number: ValueHandle) -> MetadataHandle {
        // SAFETY: live; a constant.
        MetadataHandle(unsafe { LLVMValueAsMetadata(number.0) })
    }

    pub(super) fn node_of(&self, parts: &[MetadataHandle]) -> MetadataHandle {
        let mut parts: Vec<LLVMMetadataRef> = parts.iter().map(|part| part.0).collect();
        // SAFETY: live; the number of parts matches.
        MetadataHandle(unsafe { LLVMMDNodeInContext2(self.context(), parts.as_mut_ptr(), parts.len()) })
    }

    /// Creates a distinct node: its first operand is itself, the others are those of `like`.
    pub(super) fn distinct_node_of(&self, like: MetadataHandle) -> MetadataHandle {
        // SAFETY: live; a node, whose parts are nodes, as many as it says; what stands in for the new one is replaced by it,
        // which frees it.
        unsafe {
            let like = LLVMMetadataAsValue(self.context(), like.0);
            let mut values = vec![std::ptr::null_mut(); LLVMGetMDNodeNumOperands(like) as usize];
            LLVMGetMDNodeOperands(like, values.as_mut_ptr());
            let stand_in = LLVMTemporaryMDNode(self.context(), std::ptr::null_mut(), 0);
            let mut parts = vec![stand_in];
            parts.extend(
                values.into_iter().filter(|part| !part.is_null()).map(|part| LLVMValueAsMetadata(part)),
            );
            let node = LLVMMDNodeInContext2(self.context(), parts.as_mut_ptr(), parts.len());
            LLVMMetadataReplaceAllUsesWith(stand_in, node);
            MetadataHandle(node)
        }
    }

    pub(super) fn attach_node(&self, inst: ValueHandle, kind: &str, node: MetadataHandle) {
        // SAFETY: live; metadata lives in the context.
        unsafe {
            if !LLVMIsAInstruction(inst.0).is_null() {
                let node = LLVMMetadataAsValue(self.context(), node.0);
                LLVMSetMetadata(inst.0, self.module.metadata_kind(kind), node);
            }
        }
    }

    /// Attaches a metadata node with an optional name and numbers.
    pub(super) fn attach(&self, inst: ValueHandle, kind: &str, name: Option<&str>, numbers: &[u32]) {
        let name = name.map(|name| self.text_of(name));
        let numbers = numbers.iter().map(|&number| self.number_of(self.int(32, number.into())));
        let parts: Vec<MetadataHandle> = name.into_iter().chain(numbers).collect();
        self.attach_node(inst, kind, self.node_of(&parts));
    }

    pub(super) fn call(&self, ty: TypeHandle, callee: ValueHandle, args: &[ValueHandle]) -> ValueHandle {
        let mut args = raw(args);
        // SAFETY: live; the number of arguments matches.
        ValueHandle(unsafe {
            LLVMBuildCall2(self.builder, ty.0, callee.0, args.as_mut_ptr(), args.len() as u32, NO_NAME)
        })
    }

    /// Emits an intrinsic call; `open` holds the overloaded types.
    pub(super) fn intrinsic(&self, name: &str, open: &[TypeHandle], args: &[ValueHandle]) -> ValueHandle {
        let id = intrinsic_id(name);
        assert!(id != 0, "LLVM knows {name}");
        let mut open: Vec<LLVMTypeRef> = open.iter().map(|ty| ty.0).collect();
        // SAFETY: live; the number is that of an intrinsic, the number of types matches, and those are the open ones.
        let (ty, callee) = unsafe {
            let callee = LLVMGetIntrinsicDeclaration(self.module.raw(), id, open.as_mut_ptr(), open.len());
            (TypeHandle(LLVMGlobalGetValueType(callee)), ValueHandle(callee))
        };
        self.call(ty, callee, args)
    }

    /// Sets the alignment of a call's argument (from 1).
    pub(super) fn align_argument(&self, call: ValueHandle, index: u32, align: u32) {
        // SAFETY: live; a call.
        unsafe {
            let attribute = LLVMCreateEnumAttribute(self.context(), attribute_kind("align"), align.into());
            LLVMAddCallSiteAttribute(call.0, index, attribute);
        }
    }

    // Terminators.

    pub(super) fn jump(&self, target: BlockHandle) -> ValueHandle {
        // SAFETY: live.
        ValueHandle(unsafe { LLVMBuildBr(self.builder, target.0) })
    }

    pub(super) fn branch(
        &self,
        condition: ValueHandle,
        then: BlockHandle,
        otherwise: BlockHandle,
    ) -> ValueHandle {
        // SAFETY: live.
        ValueHandle(unsafe { LLVMBuildCondBr(self.builder, condition.0, then.0, otherwise.0) })
    }

    pub(super) fn switch(
        &self,
        value: ValueHandle,
        default: BlockHandle,
        cases: &[(ValueHandle, BlockHandle)],
    ) {
        // SAFETY: live; cases are constants of the value's type.
        unsafe {
            let switch = LLVMBuildSwitch(self.builder, value.0, default.0, cases.len() as u32);
            for (case, target) in cases {
                LLVMAddCase(switch, case.0, target.0);
            }
        }
    }

    pub(super) fn ret(&self, value: Option<ValueHandle>) {
        // SAFETY: live.
        unsafe {
            match value {
                Some(value) => LLVMBuildRet(self.builder, value.0),
                None => LLVMBuildRetVoid(self.builder),
            };
        }
    }

    pub(super) fn unreachable(&self) {
        // SAFETY: live.
        unsafe { LLVMBuildUnreachable(self.builder) };
    }
}
