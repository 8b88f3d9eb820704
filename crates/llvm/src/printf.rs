//! Bodies of OpenCL C's imported `printf` functions.
//!
//! The importer calls `heddle.printf` with a suffix of argument types, so each type list has its own function. Each
//! body stores its arguments into an array of words and calls [`PRINT`], which the JIT defines:
//!
//! ```text
//! i32 heddle.print(ptr format, ptr types, ptr words)
//! ```

use crate::view::{LlvmModule, c_text};
use llvm_sys::LLVMLinkage;
use llvm_sys::core::*;

/// Name prefix of those functions.
pub const PRINTF: &str = "heddle.printf";
/// Function that their bodies call.
pub const PRINT: &str = "heddle.print";

/// Defines the bodies of a module's `printf` functions.
pub fn define_printf_bodies(module: &LlvmModule) {
    let printfs = module.functions().filter(|func| func.is_declaration() && func.name().starts_with(PRINTF));
    for func in printfs.collect::<Vec<_>>() {
        let types = c_text(&func.name()[PRINTF.len()..]);
        let params = func.params();
        let Some((format, values)) = params.split_first() else { continue };
        // SAFETY: the module is live, and all that is made belongs to it or to its context; the builder is owned here.
        unsafe {
            let context = module.context();
            let builder = LLVMCreateBuilderInContext(context);
            let block = LLVMAppendBasicBlockInContext(context, func.0, c"entry".as_ptr());
            LLVMPositionBuilderAtEnd(builder, block);
            let (word, number) = (LLVMInt64TypeInContext(context), LLVMInt32TypeInContext(context));
            let pointer = LLVMPointerTypeInContext(context, 0);
            let count = LLVMConstInt(word, values.len().max(1) as u64, 0);
            let words = LLVMBuildArrayAlloca(builder, word, count, c"words".as_ptr());
            for (index, value) in (0u64..).zip(values) {
                let mut index = LLVMConstInt(word, index, 0);
                let place = LLVMBuildInBoundsGEP2(builder, word, words, &mut index, 1, c"word".as_ptr());
                LLVMBuildStore(builder, value.0, place);
            }
            let types = LLVMBuildGlobalString(builder, types.as_ptr(), c"heddle.types".as_ptr());
            let mut kinds = [pointer, pointer, pointer];
            let ty = LLVMFunctionType(number, kinds.as_mut_ptr(), 3, 0);
            let name = c_text(PRINT);
            let mut print = LLVMGetNamedFunction(module.raw(), name.as_ptr());
            if print.is_null() {
                print = LLVMAddFunction(module.raw(), name.as_ptr(), ty);
            }
            let mut given = [format.0, types, words];
            let result = LLVMBuildCall2(builder, ty, print, given.as_mut_ptr(), 3, c"".as_ptr());
            LLVMBuildRet(builder, result);
            LLVMDisposeBuilder(builder);
            LLVMSetLinkage(func.0, LLVMLinkage::LLVMInternalLinkage);
        }
    }
}
