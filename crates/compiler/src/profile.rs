//! Profiles of program runs, as `heddle profile --json` writes them, for profile-guided passes.
//!
//! Passes keep the numbers of blocks, so counts are looked up by function and block. The profile annotates branches with weights
//! before the first pass; a count applies only to a branch that still has them, which inlined and new code does not.

use heddle_ir::diagnostic::DiagnosticLocation;
use heddle_ir::inst::BranchWeights;
use heddle_ir::{Block, Code, Detail, Diagnostic, Function, Module};
use heddle_transform::flatten::{JointIterations, TripCounts};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Profile of a program run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Profile {
    functions: BTreeMap<String, FunctionCounts>,
}

/// Counts of one function.
#[derive(Clone, PartialEq, Debug, Default)]
struct FunctionCounts {
    branches: BTreeMap<Block, BranchCounts>,
    /// By header.
    loops: BTreeMap<Block, TripCounts>,
}

/// Counts of a two-way branch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BranchCounts {
    /// Executions by a brush.
    pub executed: u64,
    /// Divergent executions.
    pub diverged: u64,
    /// Successors.
    pub targets: [Block; 2],
    /// Lanes that took each edge.
    pub lanes: [u64; 2],
    /// Executions in which some lane took each edge.
    pub taken: [u64; 2],
}

impl BranchCounts {
    fn weights(&self) -> BranchWeights {
        let most = self.lanes[0].max(self.lanes[1]);
        let shift = (u64::BITS - most.leading_zeros()).saturating_sub(u32::BITS);
        Box::new(self.lanes.map(|lanes| (lanes >> shift) as u32))
    }

    fn fraction(&self, times: u64) -> f64 {
        times.min(self.executed) as f64 / self.executed.max(1) as f64
    }
}

fn block_of(json: &Json) -> Option<Block> {
    json.as_str()?.strip_prefix("block")?.parse().ok().map(Block::from_u32)
}

fn numbers(json: &Json) -> Option<Vec<u64>> {
    json.as_array()?.iter().map(Json::as_u64).collect()
}

impl FunctionCounts {
    fn from_json(json: &Json) -> Option<FunctionCounts> {
        let mut seen = FunctionCounts::default();
        for branch in json.get("branches")?.as_array()? {
            let targets = branch.get("targets")?.as_array()?;
            let ways: Vec<(Block, u64)> = (targets.iter())
                .map(|way| Some((block_of(way.get(0)?)?, way.get(1)?.as_u64()?)))
                .collect::<Option<_>>()?;
            let taken = numbers(branch.get("taken")?)?;
            let (&[(left, a), (right, b)], &[x, y]) = (&ways[..], &taken[..]) else { continue };
            let branch_counts = BranchCounts {
                executed: branch.get("executed")?.as_u64()?,
                diverged: branch.get("diverged")?.as_u64()?,
                targets: [left, right],
                lanes: [a, b],
                taken: [x, y],
            };
            seen.branches.insert(block_of(branch.get("block")?)?, branch_counts);
        }
        for it in json.get("loops")?.as_array()? {
            let trips = it.get("trips")?.as_array()?;
            let mut counts = Vec::new();
            for pair in trips {
                let pair = numbers(pair)?;
                counts.push((*pair.first()?, *pair.get(1)?));
            }
            counts.sort_unstable();
            let together = it.get("lanes").zip(it.get("iterations")).map(|(lanes, iterations)| {
                Some(JointIterations { lanes: lanes.as_u64()?, iterations: iterations.as_u64()? })
            });
            let together = together.map_or(Some(None), |seen| seen.map(Some))?;
            seen.loops.insert(block_of(it.get("header")?)?, TripCounts { counts, together });
        }
        Some(seen)
    }
}

impl Profile {
    /// Records the counts of a block's branch.
    pub fn note_branch(&mut self, func: &str, block: Block, branch_counts: BranchCounts) {
        self.functions.entry(func.into()).or_default().branches.insert(block, branch_counts);
    }

    /// Records the trip counts of a loop.
    pub fn note_loop(&mut self, func: &str, header: Block, trips: TripCounts) {
        self.functions.entry(func.into()).or_default().loops.insert(header, trips);
    }

    /// Parses the output of `heddle profile --json`; `file` names it in diagnostics.
    pub fn from_json(text: &str, file: &str) -> Result<Profile, Diagnostic> {
        let refuse = |text: String| {
            let place = DiagnosticLocation::of_line(Some(file), 0, 0);
            let diagnostic = Diagnostic::error(Code::PassOption, text).at(place);
            diagnostic.help("write a profile with `heddle profile FILE --json`")
        };
        let json: Json =
            serde_json::from_str(text).map_err(|reason| refuse(format!("not a profile: {reason}")))?;
        let functions = json.get("functions").and_then(Json::as_array);
        let mut profile = Profile::default();
        for func in functions.ok_or_else(|| refuse("not a profile: it has no functions".into()))? {
            let name = func.get("name").and_then(Json::as_str);
            let (name, seen) = name.zip(FunctionCounts::from_json(func)).ok_or_else(|| {
                refuse(format!("the profile's entry for @{} is malformed", name.unwrap_or("?")))
            })?;
            profile.functions.insert(name.into(), seen);
        }
        Ok(profile)
    }

    /// Annotates branches with their profiled weights.
    pub(crate) fn annotate(&self, module: &mut Module) -> Result<(), Diagnostic> {
        let mut is_known = false;
        for func in &mut module.functions {
            let Some(seen) = self.functions.get(&func.name) else { continue };
            is_known = true;
            let blocks: Vec<Block> = func.blocks().collect();
            for block in blocks {
                let Some(branch_counts) = seen.branches.get(&block) else { continue };
                let branch =
                    func.terminator(block).filter(|_| func.successors(block) == branch_counts.targets);
                let Some(branch) = branch else {
                    let [a, b] = branch_counts.targets;
                    let text = format!(
                        "the profile is of another program: in the profile {block} branches to {a} or {b}"
                    );
                    let diagnostic = Diagnostic::error(Code::PassOption, text).of_func(&func.name);
                    return Err(diagnostic.help("profile the current file"));
                };
                if let Detail::Branch(_, weights) = &mut func.inst_mut(branch).detail {
                    *weights = Some(branch_counts.weights());
                }
            }
        }
        if is_known {
            return Ok(());
        }
        let [there, here]: [Vec<String>; 2] = [
            self.functions.keys().map(|name| format!("@{name}")).collect(),
            module.functions.iter().map(|func| format!("@{}", func.name)).collect(),
        ];
        let text = format!("the profile has {}, and the program has {}", there.join(", "), here.join(", "));
        Err(Diagnostic::error(Code::PassOption, text).help("profile a function of this program"))
    }

    /// Returns the counts of a function, or of the function that it is a specialization of.
    fn counts_of(&self, name: &str) -> Option<&FunctionCounts> {
        let forms = std::iter::successors(Some(name), |name| name.rsplit_once('.').map(|(of, _)| of));
        forms.filter_map(|name| self.functions.get(name)).next()
    }

    fn branches<'a>(&'a self, func: &'a Function) -> impl Iterator<Item = (Block, &'a BranchCounts)> {
        let seen = self.counts_of(&func.name).into_iter().flat_map(|seen| &seen.branches);
        seen.filter_map(|(&block, branch_counts)| {
            let is_there = (block.as_u32() as usize) < func.block_count() && func.layout.is_placed(block);
            let branch = is_there.then(|| func.terminator(block)).flatten()?;
            let is_same = matches!(&func.inst(branch).detail,
                Detail::Branch(_, Some(weights)) if *weights == branch_counts.weights());
            is_same.then_some((block, branch_counts))
        })
    }

    /// Returns, by branch, the fraction of executions with no active lane on each edge.
    pub(crate) fn untaken_rates(&self, func: &Function) -> BTreeMap<Block, [f64; 2]> {
        let untaken_rates = |branch_counts: &BranchCounts| {
            branch_counts.taken.map(|times| 1.0 - branch_counts.fraction(times))
        };
        self.branches(func).map(|(block, branch_counts)| (block, untaken_rates(branch_counts))).collect()
    }

    /// Returns, by branch, the fraction of divergent executions.
    pub(crate) fn divergence_rates(&self, func: &Function) -> BTreeMap<Block, f64> {
        self.branches(func)
            .map(|(block, branch_counts)| (block, branch_counts.fraction(branch_counts.diverged)))
            .collect()
    }

    /// Returns trip counts by loop header.
    pub(crate) fn trips(&self, func: &Function) -> BTreeMap<Block, TripCounts> {
        self.counts_of(&func.name).map(|seen| seen.loops.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_profile_is_refused() {
        for (text, reason) in [
            ("", "not a profile"),
            ("[1]", "no functions"),
            ("{\"functions\": 1}", "no functions"),
            ("{\"functions\": [{}]}", "@?"),
            ("{\"functions\": [{\"name\": \"f\", \"branches\": [{}], \"loops\": []}]}", "@f"),
            (
                "{\"functions\": [{\"name\": \"f\", \"branches\": [], \"loops\": [{\"header\": \"b\"}]}]}",
                "@f",
            ),
        ] {
            let diagnostic = Profile::from_json(text, "p.json").expect_err(text).to_string();
            assert!(
                diagnostic.contains(reason) && diagnostic.contains("heddle profile"),
                "{text}: {diagnostic}"
            );
        }
    }

    #[test]
    fn weights_keep_their_ratio_whatever_the_counts() {
        let branch_counts = |lanes| BranchCounts {
            executed: 1,
            diverged: 0,
            targets: [Block::from_u32(1); 2],
            lanes,
            taken: [1, 0],
        };
        assert_eq!(*branch_counts([3, 5]).weights(), [3, 5]);
        assert_eq!(*branch_counts([1 << 40, 1 << 39]).weights(), [1 << 31, 1 << 30]);
        assert_eq!(*branch_counts([u64::MAX, 0]).weights(), [u32::MAX, 0]);
    }
}
