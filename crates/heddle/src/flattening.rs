//! The pass `flatten`: its options in words, and what it says.

use crate::pipeline::verdicts;
use heddle_ir::{Block, Module};
use heddle_transform::flatten::{Options, Policy, Races, Trips, Verdict, flatten};
use heddle_transform::widen::{Form, Remark};

/// Options, with + in between: `force`, `none`, `races=excluded`, `lanes=32`; `block1` for the nest whose outer loop has its
/// header there, an error where it may not be flattened; `block2=1x31/64x1` for an inner loop that goes round once in 31 of
/// 32 lanes and 64 times in the other.
fn parse(words: &str) -> Result<(Options, Vec<Block>), String> {
    let (mut options, mut asked) = (Options::default(), Vec::new());
    for word in words.split('+').filter(|word| !word.is_empty()) {
        let block = |name: &str| name.strip_prefix("block")?.parse().ok().map(Block::from_u32);
        match (word, word.split_once('=')) {
            ("force", _) => options.policy = Policy::Force,
            ("none", _) => options.policy = Policy::None,
            ("model", _) => options.policy = Policy::Model,
            ("races=excluded", _) => options.races = Races::Excluded,
            ("races=ordered", _) => options.races = Races::Ordered,
            (_, Some(("lanes", count))) => {
                let count = count.parse().ok().filter(|count| (1..=128).contains(count));
                options.lanes = count.ok_or("write how many lanes run together, 1 to 128: `lanes=32`")?;
            }
            (_, Some((name, counts))) if let Some(header) = block(name) => {
                let trips = Trips::parse(counts)
                    .ok_or_else(|| format!("`{counts}`: write iterations and how often, `1x31/64x1`"))?;
                options.trips.insert(header, trips);
            }
            (name, None) if let Some(header) = block(name) => asked.push(header),
            _ => {
                return Err(format!(
                    "`{word}` means nothing here; write `force`, `none`, `model`, `races=excluded`, `lanes=32`, `block1` or `block2=1x31/64x1`"
                ));
            }
        }
    }
    options.asked = asked.iter().copied().collect();
    Ok((options, asked))
}

/// Flattens the nests of all functions; says what became of each.
pub(crate) fn flatten_module(module: &mut Module, words: &str) -> Result<Vec<Remark>, String> {
    let (options, asked) = parse(words)?;
    let mut remarks = Vec::new();
    let mut met: Vec<Block> = Vec::new();
    for func in &mut module.functions {
        let lines: Vec<_> = func.blocks().map(|block| (block, func.terminator(block))).collect();
        let locs: Vec<_> =
            lines.into_iter().map(|(block, inst)| (block, inst.and_then(|inst| func.loc(inst)))).collect();
        for decision in flatten(func, verdicts, &options) {
            if asked.contains(&decision.outer) {
                if let Verdict::Refused(_) = decision.verdict {
                    return Err(decision.to_string());
                }
                met.push(decision.outer);
            }
            let loc = locs.iter().find(|(block, _)| *block == decision.outer).and_then(|&(_, loc)| loc);
            remarks.push(Remark {
                func: decision.func.clone(),
                loc,
                form: Form::Nest,
                accesses: 0,
                text: decision.to_string(),
            });
        }
    }
    match asked.iter().find(|block| !met.contains(block)) {
        Some(block) => Err(format!("{block} is not the header of a loop with a loop inside, in any function")),
        None => Ok(remarks),
    }
}
