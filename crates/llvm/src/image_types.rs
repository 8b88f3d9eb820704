//! Replaces the types that clang has for images and samplers on `spir64`: an image is the address of a descriptor in
//! constant memory, a sampler is a number of 32 bits.
//!
//! Invariant: the importer and the builtin library only see the replaced types.
//! Decision: the module's text is rewritten. LLVM's C interface cannot change the types of live values, and the text
//! of a type cannot occur elsewhere, since strings escape its quotes.

use crate::read::read_ir;
use crate::view::LlvmModule;
use heddle_ir::Diagnostic;

/// Type of an image: the address of its descriptor.
pub(crate) const IMAGE: &str = "ptr addrspace(2)";
/// Type of a sampler: its bits as clang's header defines them.
pub(crate) const SAMPLER: &str = "i32";

/// Start of clang's image types.
const OPAQUE_IMAGE: &str = "target(\"spirv.Image\"";
/// clang's sampler type.
const OPAQUE_SAMPLER: &str = "target(\"spirv.Sampler\")";

/// True if a function takes or returns an image or a sampler.
fn uses_images(module: &LlvmModule) -> bool {
    module.functions().any(|func| {
        let ty = func.value_type();
        let params = func.params().into_iter().map(|param| param.ty());
        params.chain([ty.result()]).any(|ty| {
            ty.kind() == llvm_sys::LLVMTypeKind::LLVMTargetExtTypeKind && {
                let text = ty.text();
                text.starts_with(OPAQUE_IMAGE) || text == OPAQUE_SAMPLER
            }
        })
    })
}

/// Replaces the types in the text of a module.
fn replaced(text: &str) -> String {
    let mut rest = text;
    let mut result = String::with_capacity(text.len());
    while let Some(start) = rest.find(OPAQUE_IMAGE) {
        let Some(end) = rest[start..].find(')') else { break };
        result.push_str(&rest[..start]);
        result.push_str(IMAGE);
        rest = &rest[start + end + 1..];
    }
    result.push_str(rest);
    result.replace(OPAQUE_SAMPLER, SAMPLER)
}

/// Returns the module with replaced types; one without images stays as it is.
pub(crate) fn replace_image_types(module: LlvmModule) -> Result<LlvmModule, Diagnostic> {
    if !uses_images(&module) {
        return Ok(module);
    }
    read_ir("the program", replaced(&module.text()).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_become_addresses_and_numbers() {
        let text = "declare target(\"spirv.Sampler\") @f(i32)\n\
            define void @g(target(\"spirv.Image\", void, 1, 0, 0, 0, 0, 0, 0) %a, target(\"spirv.Event\") %e)";
        let expected = "declare i32 @f(i32)\n\
            define void @g(ptr addrspace(2) %a, target(\"spirv.Event\") %e)";
        assert_eq!(replaced(text), expected);
    }
}
