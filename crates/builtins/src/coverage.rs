//! Coverage of OpenCL C builtins: every overload in clang's header, done, refused or missing.

use crate::LIBRARIES;
use heddle_llvm::{DeclaredFunction, ImportSupport, OpenClOptions, declared_functions, is_imported_builtin};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// clang's header of all builtins.
pub const HEADER: &str = include_str!(concat!(env!("OUT_DIR"), "/opencl-c.h"));
const STANDARDS: [&str; 3] = ["-cl-std=CL1.2", "-cl-std=CL2.0", "-cl-std=CL3.0"];

/// Support status of all overloads.
#[derive(Clone, Debug)]
pub struct BuiltinCoverage {
    /// Status by builtin name and mangled name.
    pub builtins: BTreeMap<String, BTreeMap<String, ImportSupport>>,
}

/// Returns the reason for refusing a builtin.
fn reason(builtin: &DeclaredFunction) -> &'static str {
    let name = &*builtin.name;
    let is_of = |words: &[&str]| words.iter().any(|word| builtin.mangled.contains(word));
    if is_of(&["ocl_image2d_msaa", "ocl_image2d_array_msaa"]) {
        "images with several samples a texel are not supported"
    } else if is_of(&["ocl_image"]) && !name.starts_with("intel_") {
        "images with levels of detail (cl_khr_mipmap_image) are not supported"
    } else if name.starts_with("amd_") || name.starts_with("intel_") {
        "extension of one vendor"
    } else if is_of(&["ocl_queue", "ocl_clkevent", "ocl_reserveid", "ndrange_t"])
        || name.starts_with("ndrange_")
    {
        "kernels that start kernels, and pipes, are not supported"
    } else {
        "its extension is not supported"
    }
}

/// Lists clang's builtins with their support status.
pub fn coverage() -> Result<BuiltinCoverage, String> {
    let list = |standard: &str, all: bool| {
        let options = OpenClOptions { words: vec![standard.into()], ..OpenClOptions::default() };
        declared_functions(HEADER, &options, all)
    };
    let mut offered = BTreeSet::new();
    let mut builtins: BTreeMap<String, BTreeMap<String, ImportSupport>> = BTreeMap::new();
    // Version 3 adds options only.
    for standard in &STANDARDS[..2] {
        offered.extend(list(standard, false)?.into_iter().map(|builtin| builtin.mangled));
    }
    let known: BTreeSet<&str> = LIBRARIES.iter().flat_map(|library| library.names).copied().collect();
    for standard in STANDARDS {
        for builtin in list(standard, true)? {
            let verdict = if known.contains(&*builtin.mangled) || is_imported_builtin(&builtin.mangled) {
                ImportSupport::Done
            } else if !offered.contains(&builtin.mangled) {
                ImportSupport::Refused(reason(&builtin).into())
            } else {
                ImportSupport::Missing
            };
            builtins.entry(builtin.name).or_default().insert(builtin.mangled, verdict);
        }
    }
    Ok(BuiltinCoverage { builtins })
}

impl BuiltinCoverage {
    /// Returns the mangled names of missing overloads.
    pub fn missing(&self) -> impl Iterator<Item = &str> {
        let all = self.builtins.values().flatten();
        all.filter(|(_, verdict)| **verdict == ImportSupport::Missing).map(|(mangled, _)| &**mangled)
    }

    /// Returns the numbers of done, refused and missing overloads.
    pub fn counts(&self) -> [usize; 3] {
        let mut counts = [0; 3];
        for verdict in self.builtins.values().flat_map(BTreeMap::values) {
            counts[match verdict {
                ImportSupport::Done => 0,
                ImportSupport::Refused(_) => 1,
                ImportSupport::Missing => 2,
            }] += 1;
        }
        counts
    }
}

impl fmt::Display for BuiltinCoverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, overloads) in &self.builtins {
            let count =
                |wanted: fn(&ImportSupport) -> bool| overloads.values().filter(|it| wanted(it)).count();
            let done = count(|verdict| *verdict == ImportSupport::Done);
            let missing = count(|verdict| *verdict == ImportSupport::Missing);
            let mut words = Vec::new();
            words.extend((done > 0).then(|| format!("{done} done")));
            let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
            for verdict in overloads.values() {
                if let ImportSupport::Refused(reason) = verdict {
                    *reasons.entry(reason).or_default() += 1;
                }
            }
            words.extend(reasons.iter().map(|(reason, count)| format!("{count} refused, {reason}")));
            words.extend((missing > 0).then(|| format!("{missing} missing")));
            writeln!(f, "{name}: {}", words.join("; "))?;
        }
        let [done, refused, missing] = self.counts();
        let names = self.builtins.len();
        writeln!(f, "{names} builtins; overloads: {done} done, {refused} refused, {missing} missing")
    }
}
