//! The instruction sets that native code is tried on.

use heddle_llvm::{Cpu, HOST_VARIABLE};
use std::path::Path;
use std::process::Command;

/// An instruction set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum InstructionSet {
    /// x86-64 with vectors of 128 bits.
    Sse42,
    /// x86-64 with vectors of 256 bits.
    Avx2,
    /// x86-64 with vectors of 512 bits and masks.
    Avx512,
    /// 64-bit Arm with vectors of 128 bits, emulated.
    Neon,
}

const EMULATOR: &str = "qemu-aarch64";
const ARM_LIBRARIES: &str = "/usr/aarch64-linux-gnu/lib/libc.a";

impl InstructionSet {
    /// All of them.
    pub const ALL: [InstructionSet; 4] =
        [InstructionSet::Sse42, InstructionSet::Avx2, InstructionSet::Avx512, InstructionSet::Neon];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            InstructionSet::Sse42 => "sse4.2",
            InstructionSet::Avx2 => "avx2",
            InstructionSet::Avx512 => "avx512",
            InstructionSet::Neon => "neon",
        }
    }

    /// The target of this name.
    pub fn named(name: &str) -> Option<InstructionSet> {
        InstructionSet::ALL.into_iter().find(|target| target.name() == name)
    }

    /// Instruction sets that this machine executes without an emulator.
    pub fn of_this_machine() -> Vec<InstructionSet> {
        let direct = [InstructionSet::Sse42, InstructionSet::Avx2, InstructionSet::Avx512];
        direct.into_iter().filter(|target| target.missing().is_none()).collect()
    }

    /// LLVM's description of the CPU.
    pub fn cpu(self) -> Cpu {
        Cpu::named(self.name()).expect("its name is one that CPUs go by")
    }

    /// Names a tool or CPU feature that is needed to run its code and is missing.
    pub fn missing(self) -> Option<String> {
        let needed: &[&str] = match self {
            InstructionSet::Sse42 => &["+sse4.2", "+popcnt"],
            InstructionSet::Avx2 => &["+avx2", "+fma", "+bmi2", "+f16c", "+lzcnt", "+movbe"],
            InstructionSet::Avx512 => &["+avx512f", "+avx512bw", "+avx512cd", "+avx512dq", "+avx512vl"],
            InstructionSet::Neon => {
                if Command::new(EMULATOR).arg("--version").output().is_err() {
                    return Some(format!("`{EMULATOR}` is missing (Debian: qemu-user)"));
                }
                if !Path::new(ARM_LIBRARIES).exists() {
                    return Some(
                        "the C library of its machines is missing (Debian: libc6-dev-arm64-cross libgcc-12-dev-arm64-cross)"
                            .into(),
                    );
                }
                return match Command::new("ld.lld-22").arg("--version").output() {
                    Ok(_) => None,
                    Err(_) => Some("`ld.lld-22` is missing (Debian: lld-22)".into()),
                };
            }
        };
        let (machine, host) = (Cpu::machine(), Cpu::host());
        let has = |feature: &&&str| machine.features.split(',').any(|it| it == **feature);
        if let Some(lacks) = needed.iter().find(|feature| !has(feature)) {
            return Some(format!("this machine has no {}", &lacks[1..]));
        }
        (host.vector_bits() < self.cpu().vector_bits())
            .then(|| format!("{HOST_VARIABLE} lowers this machine to {}", host.name))
    }

    /// Arguments for clang to compile and link for the target.
    pub(super) fn clang_arguments(self) -> &'static [&'static str] {
        match self {
            InstructionSet::Neon => &["--target=aarch64-linux-gnu", "-static", "-fuse-ld=lld"],
            _ => &[],
        }
    }

    /// The CPU that clang compiles for.
    pub(super) fn clang_cpu(self) -> &'static str {
        match self {
            InstructionSet::Sse42 => "-march=x86-64-v2",
            InstructionSet::Avx2 => "-march=x86-64-v3",
            InstructionSet::Avx512 => "-march=x86-64-v4",
            InstructionSet::Neon => "-mcpu=generic",
        }
    }

    /// The command that runs a program of it.
    pub(super) fn command(self, program: &Path) -> Command {
        match self {
            InstructionSet::Neon => {
                let mut command = Command::new(EMULATOR);
                command.arg(program);
                command
            }
            _ => Command::new(program),
        }
    }
}
