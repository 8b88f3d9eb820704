//! Masks in the form that a machine keeps them in.
//!
//! A mask is a vector of `i1`. Left to itself LLVM cuts it as it likes best, which is not how it cuts what the mask guards.
//! Masks that cross blocks, and what they are computed from and with, get the form of the machine here:
//!
//! * Without registers for masks, SSE, AVX2 and NEON compare into lanes that are all ones or zero, as wide as what was
//!   compared, and blend by such lanes. LLVM makes the least vector of such a mask, eight lanes of 16 bits, with a pack
//!   before and an extension behind, in each iteration. It becomes integers as wide as the elements that it guards.
//! * With them, AVX-512 has one for each vector register. LLVM puts the bits of several into one, and takes them apart
//!   again. It becomes several masks, each of as many lanes as a register has.
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
//! So lanes for several registers are several brushes with a live mask each. This comes behind LLVM's passes, which would
//! take half of it back, and before its code generator, which makes nothing of `sext` and `icmp slt … 0`.

mod plan;
mod rewrite;

use crate::cpu::Cpu;
use crate::view::LlvmModule;

/// How a machine keeps masks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MaskRepresentation {
    /// As LLVM likes.
    Any,
    /// In registers of their own, a bit for each lane of a vector register.
    Bits {
        /// Bits of a vector register.
        register: u32,
    },
    /// In vector registers: lanes that are all ones, or zero.
    Elements {
        /// Bits of a vector register.
        register: u32,
    },
}

impl MaskRepresentation {
    /// That of a machine.
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

/// Gives masks that cross blocks their form. Comes behind LLVM's passes: [`optimize`](crate::optimize) does it.
pub fn rewrite_masks(module: &LlvmModule, form: MaskRepresentation) {
    for func in module.functions().filter(|func| !func.is_declaration()) {
        if let Some(plan) = plan::MaskPlan::new(func, form) {
            rewrite::rewrite(module, func, &plan, form);
        }
    }
}
