//! Rewrites masks into the target's mask representation.
//!
//! A mask is a vector of `i1`. LLVM legalizes it independently of the vectors that it guards. This pass rewrites
//! masks that cross blocks, those that fill several vector registers, and the masks that they are computed from and with:
//!
//! * SSE, AVX2 and NEON have no mask registers: they compare into lanes of all ones or zero, as wide as the compared
//!   elements, and blend by such lanes. LLVM legalizes the mask to its smallest vector, eight lanes of 16 bits, with a
//!   pack and an extension in each iteration. The rewrite makes it integers as wide as the guarded elements.
//! * AVX-512 has mask registers, one bit per lane of a vector register. LLVM merges the bits of several masks and
//!   splits them again. The rewrite makes several masks, each with the lanes of one register.
//!
//! ```text
//!   header:                              header:
//!     %live = phi <8 x i1>                 %live = phi <8 x i32>
//!     %less = fcmp olt <8 x float> …       %less = fcmp olt <8 x float> …
//!     %stay = select %live, %less, false   %wide = sext %less
//!     %bits = bitcast %stay to i8          %stay = and %live, freeze %wide
//!                                          %bits = bitcast (icmp slt %stay, 0) to i8     movmskps
//! ```
//!
//! A function with more lanes than a register holds thus has one live mask per register. The rewrite runs after
//! LLVM's passes, which would partly undo it, and before its code generator, for which `sext` and `icmp slt … 0` are
//! free.

mod plan;
mod rewrite;

use crate::cpu::Cpu;
use crate::view::LlvmModule;

/// Representation of masks on a target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MaskRepresentation {
    /// LLVM's choice.
    Any,
    /// In mask registers, one bit for each lane of a vector register.
    Bits {
        /// Bits of a vector register.
        register: u32,
    },
    /// In vector registers: lanes of all ones or zero.
    Elements {
        /// Bits of a vector register.
        register: u32,
    },
}

impl MaskRepresentation {
    /// Returns the representation of a CPU.
    pub fn of(cpu: &Cpu) -> MaskRepresentation {
        let is_arm = match &cpu.triple {
            Some(triple) => triple.starts_with("aarch64"),
            None => cfg!(target_arch = "aarch64"),
        };
        match cpu.vector_bits() {
            register @ 512.. if cpu.is_x86() => MaskRepresentation::Bits { register },
            register if cpu.is_x86() || is_arm => MaskRepresentation::Elements { register },
            _ => MaskRepresentation::Any,
        }
    }
}

/// Rewrites masks that cross blocks. Runs after LLVM's passes, from [`optimize`](crate::optimize).
pub fn rewrite_masks(module: &LlvmModule, representation: MaskRepresentation) {
    for func in module.functions().filter(|func| !func.is_declaration()) {
        if let Some(plan) = plan::MaskPlan::new(func, representation) {
            rewrite::rewrite(module, func, &plan, representation);
        }
    }
}
