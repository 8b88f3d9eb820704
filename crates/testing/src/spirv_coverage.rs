//! Support of SPIR-V for kernels: everything in the grammar that does not belong to shaders alone.
//!
//! The grammar is rspirv's; the support is what the reader does ([`heddle_spirv::FeatureSupport`]).

use heddle_spirv::{
    FeatureSupport, builtin_support, capability_support, decoration_support, extended_support,
    instruction_support, mode_support,
};
use rspirv::dr::Operand;
use rspirv::grammar::{INSTRUCTION_TABLE, Instruction};
use spirv::{BuiltIn, Capability, Decoration, ExecutionMode, OpenclStd100Op};
use std::collections::BTreeMap;
use std::fmt;

/// Numbers of enumerants end below.
const NUMBERS: u32 = 8000;

/// Feature with its support, and parts that have another one.
#[derive(Clone, Debug)]
pub struct SpirvFeature {
    /// Name in the specification.
    pub name: String,
    /// Support.
    pub support: FeatureSupport,
    /// Refused parts of a capability that is done, with the reason.
    pub refused: Vec<(String, &'static str)>,
}

/// Support of all features of kernels, by chapter.
#[derive(Debug)]
pub struct SpirvCoverage {
    chapters: Vec<(&'static str, Vec<SpirvFeature>)>,
}

/// True for capabilities that need those of shaders.
fn is_of_shaders(capability: Capability) -> bool {
    let (mut open, mut seen) = (vec![capability], Vec::new());
    while let Some(capability) = open.pop() {
        if matches!(capability, Capability::Shader | Capability::Matrix) {
            return true;
        }
        if !seen.contains(&capability) {
            seen.push(capability);
            let needed = Operand::Capability(capability).required_capabilities();
            // Of several, any is enough.
            if let [only] = needed[..] {
                open.push(only);
            } else if !needed.is_empty() && needed.iter().all(|&it| it != capability && is_of_shaders(it)) {
                return true;
            }
        }
    }
    false
}

/// True if one of the capabilities, or none at all, is one of kernels.
fn is_of_kernels(capabilities: &[Capability]) -> bool {
    capabilities.is_empty() || capabilities.iter().any(|&capability| !is_of_shaders(capability))
}

/// Returns the instructions of kernels.
pub fn instructions() -> impl Iterator<Item = &'static Instruction<'static>> {
    INSTRUCTION_TABLE.iter().filter(|inst| is_of_kernels(inst.capabilities))
}

/// Features of an enumeration, and the support of each under the capabilities that allow it.
fn features<T: Copy + fmt::Debug>(
    read: impl Fn(u32) -> Option<T>,
    operand: impl Fn(T) -> Operand,
    support: impl Fn(T) -> FeatureSupport,
    allowed: &mut BTreeMap<Capability, Vec<(String, FeatureSupport)>>,
) -> Vec<SpirvFeature> {
    let mut found = Vec::new();
    for value in (0..NUMBERS).filter_map(read) {
        let capabilities = operand(value).required_capabilities();
        if !is_of_kernels(&capabilities) {
            continue;
        }
        let (name, support) = (format!("{value:?}"), support(value));
        for capability in capabilities {
            allowed.entry(capability).or_default().push((name.clone(), support));
        }
        found.push(SpirvFeature { name, support, refused: Vec::new() });
    }
    found
}

/// Support of a capability: that of what it allows, or its own if it allows types and operands only.
fn capability_feature(capability: Capability, allowed: &[(String, FeatureSupport)]) -> SpirvFeature {
    let name = format!("{capability:?}");
    let own = capability_support(capability);
    let refused: Vec<(String, &'static str)> = allowed
        .iter()
        .filter_map(|(name, support)| match support {
            FeatureSupport::Refused(reason) => Some((name.clone(), *reason)),
            _ => None,
        })
        .collect();
    let is_missing = allowed.iter().any(|(_, support)| *support == FeatureSupport::Missing);
    let support = match own {
        _ if is_missing => FeatureSupport::Missing,
        FeatureSupport::Done | FeatureSupport::Refused(_) => own,
        FeatureSupport::Missing if allowed.iter().any(|(_, it)| *it == FeatureSupport::Done) => {
            FeatureSupport::Done
        }
        FeatureSupport::Missing => refused.first().map_or(own, |(_, reason)| FeatureSupport::Refused(reason)),
    };
    let refused = if support == FeatureSupport::Done { refused } else { Vec::new() };
    SpirvFeature { name, support, refused }
}

impl SpirvCoverage {
    /// Asks the reader about each feature.
    #[allow(clippy::new_without_default)]
    pub fn new() -> SpirvCoverage {
        let mut allowed: BTreeMap<Capability, Vec<(String, FeatureSupport)>> = BTreeMap::new();
        let mut listed = Vec::new();
        for inst in instructions() {
            let (name, support) = (format!("Op{}", inst.opname), instruction_support(inst.opcode));
            for &capability in inst.capabilities {
                allowed.entry(capability).or_default().push((name.clone(), support));
            }
            listed.push(SpirvFeature { name, support, refused: Vec::new() });
        }
        let extended = (0..NUMBERS).filter_map(OpenclStd100Op::from_u32);
        let extended = extended.map(|op| SpirvFeature {
            name: format!("{op:?}"),
            support: extended_support(op),
            refused: Vec::new(),
        });
        let mut chapters = vec![("instructions", listed), ("OpenCL.std", extended.collect())];
        chapters.push((
            "decorations",
            features(Decoration::from_u32, Operand::Decoration, decoration_support, &mut allowed),
        ));
        chapters.push((
            "execution modes",
            features(ExecutionMode::from_u32, Operand::ExecutionMode, mode_support, &mut allowed),
        ));
        chapters.push((
            "builtin variables",
            features(BuiltIn::from_u32, Operand::BuiltIn, builtin_support, &mut allowed),
        ));
        let capabilities = (0..NUMBERS).filter_map(Capability::from_u32).filter(|&it| !is_of_shaders(it));
        let capabilities = capabilities
            .map(|capability| capability_feature(capability, allowed.get(&capability).map_or(&[], |it| it)));
        chapters.push(("capabilities", capabilities.collect()));
        SpirvCoverage { chapters }
    }

    /// Returns the features of a chapter.
    pub fn chapter(&self, name: &str) -> &[SpirvFeature] {
        self.chapters.iter().find(|(known, _)| *known == name).map_or(&[], |(_, list)| list)
    }

    /// Returns the names of features that are neither done nor refused.
    pub fn missing(&self) -> impl Iterator<Item = &str> {
        let all = self.chapters.iter().flat_map(|(_, list)| list);
        all.filter(|it| it.support == FeatureSupport::Missing).map(|it| it.name.as_str())
    }
}

impl fmt::Display for SpirvCoverage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (title, list) in &self.chapters {
            let mut counts = [0; 3];
            for SpirvFeature { name, support, refused } in list {
                match support {
                    FeatureSupport::Done if refused.is_empty() => writeln!(out, "{name}: done")?,
                    FeatureSupport::Done => {
                        let names: Vec<&str> = refused.iter().map(|(name, _)| &**name).collect();
                        writeln!(out, "{name}: done, without {}", names.join(", "))?;
                    }
                    FeatureSupport::Refused(reason) => writeln!(out, "{name}: refused, {reason}")?,
                    FeatureSupport::Missing => writeln!(out, "{name}: MISSING")?,
                }
                counts[match support {
                    FeatureSupport::Done => 0,
                    FeatureSupport::Refused(_) => 1,
                    FeatureSupport::Missing => 2,
                }] += 1;
            }
            let [done, refused, missing] = counts;
            writeln!(out, "{title}: {done} done, {refused} refused, {missing} missing\n")?;
        }
        Ok(())
    }
}
