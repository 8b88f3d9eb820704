//! Annotations of divergence tests: a comment states claims about its line.
//!
//! ```text
//! ; test divergence lanes=4 params=uniform
//! block0:                 ; all lanes                (or: all or none; some lanes) are active here
//!   v3 = lane i32         ; strided 1                the shape; an alignment is compared where it is given
//!   v6 = group_id i32, 0  ; uniform in the group     (or: brush; launch) its level, where it is given
//!   v4 = alloca 4         ; uniform, shared          (or: per lane) whether one copy serves all lanes
//!   br v5, block1, block2 ; divergent                (or: uniform; always all lanes)
//! ; exit: block1 -> block2 apart                     (or: together) whether lanes take it in different iterations
//! ; group: contiguous from v0: load v6 at +0         an access group, as `heddle analyze` prints it
//! ; no group: v6                                     a load, or an address, without an access group
//! ; region: block0, block3                           the blocks that depend on no divergent branch
//! ; why v9: because v9 depends on v8                 a part of the explanation, line breaks as spaces
//! ```
//!
//! Further text may follow, separated by a non-alphanumeric character.

use crate::shapes_oracle::Claims;
use heddle_analysis::{AccessGroup, Activation, DivergenceExplanations, Edge};
use heddle_ir::{Block, Inst, Module, Op, Value};

/// Returns the annotations of a text that the claims do not bear out.
pub fn check(text: &str, module: &Module, claims: &[Option<Claims<'_>>]) -> Vec<String> {
    let mut failures = Vec::new();
    let mut current: Option<&Claims<'_>> = None;
    let mut block = None;
    for (number, line) in (1..).zip(text.lines()) {
        let (code, comment) = line.split_once(';').unwrap_or((line, ""));
        let (code, comment) = (code.trim(), comment.trim());
        if let Some(name) =
            code.split_once('@').filter(|(before, _)| *before == "func " || *before == "kernel ")
        {
            let name = name.1.split('(').next().unwrap_or("");
            let index = module.functions.iter().position(|func| func.name == name);
            current = index.and_then(|index| claims[index].as_ref());
        }
        let Some(claims) = current else { continue };
        if let Some(name) = code.strip_prefix("block").filter(|_| code.ends_with(':')) {
            let digits: String = name.chars().take_while(char::is_ascii_digit).collect();
            block = digits.parse().ok().map(Block::from_u32);
        }
        if comment.is_empty() {
            continue;
        }
        let stated = match code {
            "" => directive(claims, module, comment),
            _ => on_line(claims, code, block, comment),
        };
        if let Err(reason) = stated {
            failures.push(format!("line {number}: {reason}"));
        }
    }
    failures
}

fn entity(word: &str, prefix: &str) -> Option<u32> {
    word.trim().strip_prefix(prefix)?.parse().ok()
}

/// True if the comment starts with these words.
fn starts_with_words(comment: &str, words: &str) -> bool {
    let rest = comment.strip_prefix(words);
    rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric()))
}

fn directive(claims: &Claims<'_>, module: &Module, comment: &str) -> Result<(), String> {
    if let Some(exit) = comment.strip_prefix("exit:") {
        let wrong = || format!("`{exit}` is no exit");
        let (from, rest) = exit.split_once("->").ok_or_else(wrong)?;
        let (to, word) = rest.trim().split_once(' ').ok_or_else(wrong)?;
        let block = |word| entity(word, "block").map(Block::from_u32).ok_or_else(wrong);
        let edge = Edge { from: block(from)?, to: block(to)? };
        let cycles = &claims.control.cycles;
        let mut agreement = None;
        let mut around = cycles.innermost(edge.from);
        while let Some(cycle) = around.filter(|&cycle| !cycles.contains(cycle, edge.to)) {
            let exits = claims.divergence.exits(cycle);
            let found = exits.iter().find(|(exit, _)| *exit == edge).map(|(_, agreement)| *agreement);
            agreement = agreement.into_iter().chain(found).min();
            around = cycles.parent(cycle);
        }
        let agreement = agreement.ok_or_else(wrong)?;
        let found = if agreement.is_some() { "together" } else { "apart" };
        return if word.trim() == found { Ok(()) } else { Err(format!("{exit}: {found}")) };
    }
    if let Some(expected) = comment.strip_prefix("group:") {
        let words = |group: &AccessGroup| group.display(claims.func).to_string();
        let found: Vec<String> = claims.accesses.groups().iter().map(words).collect();
        let is_there = found.iter().any(|found| found == expected.trim());
        return if is_there { Ok(()) } else { Err(format!("the groups are {}", found.join("\n  "))) };
    }
    if let Some(name) = comment.strip_prefix("no group:") {
        let value = entity(name, "v").map(Value::from_u32).ok_or_else(|| format!("{name} is no value"))?;
        let insts = claims.func.blocks().flat_map(|block| claims.func.block_insts(block));
        let uses = |inst: &Inst| match claims.func.inst(*inst).op {
            Op::Load => claims.func.result(*inst) == Some(value) || claims.func.inst(*inst).args[0] == value,
            Op::Store => claims.func.inst(*inst).args[1] == value,
            _ => false,
        };
        let accesses: Vec<Inst> = insts.filter(uses).collect();
        let is_in = accesses.iter().find_map(|&inst| claims.accesses.of(inst));
        return match is_in {
            _ if accesses.is_empty() => Err(format!("{name} is neither loaded nor an address")),
            Some(group) => Err(group.display(claims.func).to_string()),
            None => Ok(()),
        };
    }
    if let Some(expected) = comment.strip_prefix("region:") {
        let blocks = claims.func.blocks().filter(|&block| claims.region.contains(block));
        let found: Vec<String> = blocks.map(|block| block.to_string()).collect();
        let found = found.join(", ");
        return if found == expected.trim() { Ok(()) } else { Err(format!("the region is {found}")) };
    }
    if let Some((name, expected)) = comment.strip_prefix("why ").and_then(|rest| rest.split_once(':')) {
        let all = DivergenceExplanations::new(claims.func, &claims.control, &claims.divergence);
        let chain = match (entity(name, "v"), entity(name, "block")) {
            (Some(value), _) => all.of_value(Value::from_u32(value)),
            (_, Some(block)) => all.of_branch(Block::from_u32(block)),
            _ => None,
        };
        let chain = chain.ok_or_else(|| format!("{name} is uniform"))?;
        let words = all.display(&chain, Some(module)).to_string().replace("\n  ", " ");
        return if words.contains(expected.trim()) { Ok(()) } else { Err(words) };
    }
    Ok(())
}

fn on_line(claims: &Claims<'_>, code: &str, block: Option<Block>, comment: &str) -> Result<(), String> {
    let Some(block) = block else { return Ok(()) };
    if code.ends_with(':') {
        let found = match claims.divergence.activation(block) {
            Activation::Full => "all lanes",
            Activation::Uniform => "all or none",
            Activation::Varying => "some lanes",
        };
        return if starts_with_words(comment, found) {
            Ok(())
        } else {
            Err(format!("{found} are active in {block}"))
        };
    }
    if code.starts_with("br ") || code.starts_with("switch ") {
        let mut targets = claims.func.successors(block).iter();
        let goes = |&to: &Block| {
            claims.divergence.edge_activation(claims.func, Edge { from: block, to }) == Activation::Full
        };
        let found = if claims.divergence.is_divergent_branch(block) { "divergent" } else { "uniform" };
        if starts_with_words(comment, found)
            || starts_with_words(comment, "always all lanes") && targets.all(goes)
        {
            return Ok(());
        }
        return Err(format!("the branch is {found}"));
    }
    let Some((names, op)) = code.split_once('=') else { return Ok(()) };
    for name in names.split(',') {
        let value = entity(name, "v").map(Value::from_u32).ok_or_else(|| format!("{name} is no value"))?;
        let shape = claims.divergence.shape(value);
        let full = shape.to_string();
        let (plain, align) =
            full.split_once(" align ").map_or((&*full, None), |(plain, align)| (plain, Some(align)));
        let rest = comment.strip_prefix(plain).filter(|_| starts_with_words(comment, plain));
        let rest = rest.ok_or_else(|| format!("{value} is {full}"))?;
        let stated = rest.trim_start_matches([',', ' ']).strip_prefix("align ");
        if let Some(stated) = stated.map(|stated| stated.split([' ', ',', ':', ';']).next().unwrap_or(""))
            && stated != align.unwrap_or("1")
        {
            return Err(format!("{value} is {full}"));
        }
        let level = claims.divergence.fact(value).level.name();
        if let Some(stated) = rest.strip_prefix(" in the ")
            && !starts_with_words(stated, level)
        {
            return Err(format!("{value} is {full} in the {level}"));
        }
        if op.trim_start().starts_with("alloca") {
            let shared = claims
                .func
                .def_inst(value)
                .and_then(|inst| claims.divergence.object_agreement(inst))
                .is_some();
            let found = if shared { "shared" } else { "per lane" };
            if !starts_with_words(rest.trim_start_matches([',', ' ']), found) {
                return Err(format!("{value} is {full}, {found}"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use heddle_analysis::InitialShapes;
    use heddle_analysis::shape::Geometry;

    const TEXT: &str = "\
func @f(v0: i1, v1: i32 uniform) -> i32 {
block0:                    ; all lanes
  v2 = alloca 4 align 4    ; uniform, per lane
  store i32 1, v2
  v3 = lane i32            ; strided 1
  v6 = shl v1, 3           ; uniform align 8
  br v0, block1, block2    ; divergent, as lanes differ
block1:                    ; some lanes
  store v3, v2
  br block2                ; uniform
block2:
  v4 = load i32, v2        ; varying
  v5 = add v4, v1          ; varying
  ret v5
}
; why v5: v5 depends on v4
";

    fn failures(text: &str) -> Vec<String> {
        let module = heddle_ir::parse_module(text).expect("the text is well-formed");
        let func = &module.functions[0];
        let initial = InitialShapes::declared(func, Geometry::lanes(4)).with_entry(Activation::Full);
        let claims = vec![Claims::new(func, initial, &[4])];
        check(text, &module, &claims)
    }

    #[test]
    fn annotations_are_compared() {
        assert_eq!(failures(TEXT), Vec::<String>::new());
        for (right, wrong) in [
            ("; all lanes", "; some lanes"),
            ("per lane", "shared"),
            ("strided 1", "strided 2"),
            ("strided 1", "strided 11"),
            ("strided 1", "uniform"),
            ("uniform align 8", "uniform align 4"),
            ("divergent", "uniform"),
            ("; uniform\n", "; divergent\n"),
            ("; varying\n", "; varyingly\n"),
            ("on v4", "on v1"),
            ("why v5", "why v1"),
        ] {
            let text = TEXT.replace(right, wrong);
            assert!(text != TEXT, "{right}");
            assert!(!failures(&text).is_empty(), "{wrong} goes unnoticed");
        }
    }
}
