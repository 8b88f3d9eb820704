//! Target CPUs by name.

use crate::view::take_message;
use llvm_sys::target_machine::{LLVMGetHostCPUFeatures, LLVMGetHostCPUName};
use std::sync::LazyLock;
use thiserror::Error;

/// Target CPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cpu {
    /// LLVM's CPU name.
    pub name: String,
    /// Additional features in LLVM's notation: `+avx2,-avx512f`.
    pub features: String,
    /// Target triple; none for the host's.
    pub triple: Option<String>,
}

/// Unknown CPU name. LLVM ends the process for an unknown CPU, so names are checked before.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "unknown CPU `{name}`: write `native`, an instruction set (`sse4.2`, `avx2`, `avx512`, `neon`), or an x86-64 CPU of `clang --print-supported-cpus`{}",
    .near.map_or(String::new(), |near| format!(", such as `{near}`"))
)]
pub struct UnknownCpu {
    /// The given name.
    pub name: String,
    /// A known CPU with a similar name.
    pub near: Option<&'static str>,
}

/// Instruction sets, and the minimum CPU level of each.
const SETS: [(&str, &str); 3] = [("sse4.2", "x86-64-v2"), ("avx2", "x86-64-v3"), ("avx512", "x86-64-v4")];

/// x86-64 CPUs with 512-bit vector registers.
const WIDE: &[&str] = &[
    "cannonlake",
    "cascadelake",
    "cooperlake",
    "diamondrapids",
    "emeraldrapids",
    "graniterapids",
    "graniterapids-d",
    "icelake-client",
    "icelake-server",
    "knl",
    "knm",
    "novalake",
    "rocketlake",
    "sapphirerapids",
    "skx",
    "skylake-avx512",
    "tigerlake",
    "x86-64-v4",
    "znver4",
    "znver5",
];

/// x86-64 CPUs with 256-bit registers, for integers too.
const HALF: &[&str] = &[
    "alderlake",
    "arrowlake",
    "arrowlake-s",
    "bdver4",
    "broadwell",
    "clearwaterforest",
    "core-avx2",
    "gracemont",
    "grandridge",
    "haswell",
    "lunarlake",
    "meteorlake",
    "pantherlake",
    "raptorlake",
    "sierraforest",
    "skylake",
    "wildcatlake",
    "x86-64-v3",
    "znver1",
    "znver2",
    "znver3",
];

/// x86-64 CPUs with 128-bit registers.
const NARROW: &[&str] = &[
    "amdfam10",
    "athlon-fx",
    "athlon64",
    "athlon64-sse3",
    "atom",
    "barcelona",
    "bdver1",
    "bdver2",
    "bdver3",
    "bonnell",
    "btver1",
    "btver2",
    "core-avx-i",
    "core2",
    "corei7",
    "corei7-avx",
    "goldmont",
    "goldmont-plus",
    "ivybridge",
    "k8",
    "k8-sse3",
    "nehalem",
    "nocona",
    "opteron",
    "opteron-sse3",
    "penryn",
    "sandybridge",
    "silvermont",
    "slm",
    "tremont",
    "westmere",
    "x86-64",
    "x86-64-v2",
];

/// Environment variable that lowers the host CPU: see [`Cpu::host`].
pub const HOST_VARIABLE: &str = "HEDDLE_CPU";

/// Reason why [`HOST_VARIABLE`] has no effect.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum HostCpuError {
    /// Its value names no CPU.
    #[error("{HOST_VARIABLE}: {0}")]
    Unknown(UnknownCpu),
    /// Its value names a CPU of another architecture.
    #[error("{HOST_VARIABLE}: this machine does not execute code for `{0}`")]
    Foreign(String),
}

/// CPU that code is generated for on this machine, and why the environment did not change it.
static HOST: LazyLock<(Cpu, Option<HostCpuError>)> = LazyLock::new(|| {
    let machine = Cpu::machine();
    let Ok(name) = std::env::var(HOST_VARIABLE) else { return (machine, None) };
    if matches!(name.trim(), "" | "native" | "host") {
        return (machine, None);
    }
    match Cpu::named(name.trim()) {
        Ok(cpu) if cpu.triple.is_some() => (machine, Some(HostCpuError::Foreign(name))),
        Ok(cpu) => (machine.lowered_to(&cpu), None),
        Err(error) => (machine, Some(HostCpuError::Unknown(error))),
    }
});

impl Cpu {
    /// CPU of this machine, as LLVM detects it.
    pub fn machine() -> Cpu {
        // Detection executes `cpuid`, which a hypervisor traps.
        static MACHINE: LazyLock<Cpu> = LazyLock::new(|| {
            // SAFETY: both functions return texts that the caller owns; `take_message` frees them.
            let [name, features] =
                unsafe { [take_message(LLVMGetHostCPUName()), take_message(LLVMGetHostCPUFeatures())] };
            Cpu { name, features, triple: None }
        });
        MACHINE.clone()
    }

    /// Name of the family whose costs apply: that of the CPU, unless features contradict it. LLVM keeps the name, since its scheduling
    /// for newer families takes longer and gains nothing.
    pub fn family(&self) -> &str {
        family_of(&self.name, &self.features).unwrap_or(&self.name)
    }

    /// CPU that code is generated for when it runs in this process.
    ///
    /// This is the machine's own CPU. With `HEDDLE_CPU` set to a CPU or an instruction set, it is that CPU, without the features that
    /// the machine lacks: code never uses an instruction that the machine cannot execute. [`Cpu::host_error`] tells why a value
    /// of the variable was ignored.
    pub fn host() -> Cpu {
        HOST.0.clone()
    }

    /// Error in the value of `HEDDLE_CPU`; [`Cpu::host`] is then the machine's own CPU.
    pub fn host_error() -> Option<&'static HostCpuError> {
        HOST.1.as_ref()
    }

    /// The CPU `named`, without the features that this machine lacks.
    fn lowered_to(&self, named: &Cpu) -> Cpu {
        let missing: Vec<&str> = self.features.split(',').filter(|it| it.starts_with('-')).collect();
        Cpu { name: named.name.clone(), features: missing.join(","), triple: self.triple.clone() }
    }

    /// Returns a CPU by name: `native`, an instruction set, or an x86-64 CPU.
    pub fn named(name: &str) -> Result<Cpu, UnknownCpu> {
        let cpu = |name: &str, triple: Option<&str>| Cpu {
            name: name.into(),
            features: String::new(),
            triple: triple.map(str::to_string),
        };
        if matches!(name, "native" | "host") {
            return Ok(Cpu::host());
        }
        if name == "neon" {
            return Ok(cpu(
                "generic",
                (!cfg!(target_arch = "aarch64")).then_some("aarch64-unknown-linux-gnu"),
            ));
        }
        let name = SETS.iter().find(|(set, _)| *set == name).map_or(name, |(_, least)| least);
        let known = || [WIDE, HALF, NARROW].into_iter().flatten().copied();
        if !known().any(|it| it == name) {
            let closeness = |it: &&str| (alike(it, name), std::cmp::Reverse(it.len()));
            let near = known().rev().max_by_key(closeness).filter(|it| alike(it, name) > 3);
            return Err(UnknownCpu { name: name.into(), near });
        }
        Ok(cpu(name, (!cfg!(target_arch = "x86_64")).then_some("x86_64-unknown-linux-gnu")))
    }

    /// True for x86-64 CPUs.
    pub fn is_x86(&self) -> bool {
        self.triple.as_ref().map_or(cfg!(target_arch = "x86_64"), |triple| triple.starts_with("x86_64"))
    }

    /// Bits of its vector registers.
    pub fn vector_bits(&self) -> u32 {
        match () {
            () if self.has("avx512f", &[WIDE]) => 512,
            () if self.has("avx2", &[HALF, WIDE]) => 256,
            () => 128,
        }
    }

    /// True if it multiplies and adds with one rounding.
    pub fn has_fma(&self) -> bool {
        !self.is_x86() || self.has("fma", &[HALF, WIDE, &["bdver2", "bdver3"]])
    }

    /// True if `feature` is on, by name or since the CPU is one of `families`.
    fn has(&self, feature: &str, families: &[&[&str]]) -> bool {
        let sign = self.features.split(',').rev().find(|it| it.get(1..) == Some(feature)).map(|it| &it[..1]);
        let implied = || families.iter().any(|names| names.contains(&&*self.name));
        sign.map_or_else(implied, |sign| sign == "+")
    }
}

/// Intel's CPUs with 512-bit vector registers that have no matrix registers.
const BEFORE_AMX: [&str; 8] = [
    "cannonlake",
    "cascadelake",
    "cooperlake",
    "icelake-client",
    "icelake-server",
    "rocketlake",
    "skylake-avx512",
    "tigerlake",
];

/// Server families of Intel by a feature that came with each, newest first.
const FAMILY_FEATURES: [(&str, &str); 3] =
    [("amx-avx512", "diamondrapids"), ("amx-fp16", "graniterapids"), ("amx-tile", "sapphirerapids")];

/// Family of a CPU whose features contradict its name. A hypervisor may report the model number of an older CPU.
fn family_of(name: &str, features: &str) -> Option<&'static str> {
    if !BEFORE_AMX.contains(&name) {
        return None;
    }
    let has = |feature: &str| features.split(',').any(|it| it.strip_prefix('+') == Some(feature));
    FAMILY_FEATURES.iter().find(|(feature, _)| has(feature)).map(|(_, family)| *family)
}

/// Returns the length of the common prefix.
fn alike(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Compares names and register widths with clang's.
    #[test]
    fn names_and_registers_are_those_of_clang() {
        let clang = |args: &[&str]| {
            let output = Command::new("clang-22").args(args).output().expect("there is clang-22");
            let text = String::from_utf8_lossy(if output.stdout.is_empty() {
                &output.stderr
            } else {
                &output.stdout
            });
            output.status.success().then(|| text.into_owned())
        };
        let list = clang(&["--target=x86_64-unknown-linux-gnu", "--print-supported-cpus"]).expect("a list");
        let names: Vec<&str> = list.lines().filter_map(|line| line.strip_prefix('\t')).collect();
        assert!(names.len() > 60, "{list}");
        for name in names {
            let march = format!("-march={name}");
            let macros =
                clang(&["--target=x86_64-unknown-linux-gnu", &march, "-dM", "-E", "-x", "c", "/dev/null"]);
            let wanted = macros.map(|macros| {
                if macros.contains("__AVX512F__ ") {
                    512
                } else if macros.contains("__AVX2__ ") {
                    256
                } else {
                    128
                }
            });
            assert_eq!(Cpu::named(name).ok().map(|cpu| cpu.vector_bits()), wanted, "{name}");
        }
    }

    #[test]
    fn features_name_a_family_that_a_hypervisor_hides() {
        let amx = "+avx512f,+amx-int8,-amx-fp16,+amx-tile";
        assert_eq!(family_of("rocketlake", amx), Some("sapphirerapids"));
        assert_eq!(family_of("skylake-avx512", "+amx-tile,+amx-fp16"), Some("graniterapids"));
        assert_eq!(family_of("rocketlake", "+avx512f,-amx-tile"), None);
        for named in ["sapphirerapids", "emeraldrapids", "graniterapids-d", "znver5", "skylake"] {
            assert_eq!(family_of(named, amx), None, "{named}");
        }
    }

    #[test]
    fn unknown_cpus_are_errors() {
        let error = Cpu::named("skylak").unwrap_err();
        assert_eq!(error.near, Some("skylake"));
        assert!(error.to_string().contains("unknown CPU `skylak`"), "{error}");
        assert_eq!(Cpu::named("i386").unwrap_err().near, None);
    }

    #[test]
    fn a_lowered_cpu_has_no_feature_that_the_machine_lacks() {
        let machine =
            Cpu { name: "znver3".into(), features: "+avx2,+fma,-avx512f,-avx512vl".into(), triple: None };
        let lowered = |name: &str| machine.lowered_to(&Cpu::named(name).expect("a known name"));
        assert_eq!(lowered("avx512").features, "-avx512f,-avx512vl");
        assert_eq!(["sse4.2", "avx2", "avx512"].map(|name| lowered(name).vector_bits()), [128, 256, 256]);
        assert_eq!(["sse4.2", "avx2"].map(|name| lowered(name).has_fma()), [false, true]);
        assert!(machine.has_fma());
    }

    #[test]
    fn instruction_sets_have_registers() {
        let bits = |name: &str| Cpu::named(name).map(|cpu| (cpu.is_x86(), cpu.vector_bits()));
        assert_eq!(bits("sse4.2"), Ok((true, 128)));
        assert_eq!(bits("avx2"), Ok((true, 256)));
        assert_eq!(bits("avx512"), Ok((true, 512)));
        assert_eq!(bits("neon"), Ok((false, 128)));
    }
}
