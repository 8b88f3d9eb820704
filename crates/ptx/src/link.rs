//! Linker: one module of several translation units, as `cuLink` and `nvlink` make it.
//!
//! * A definition satisfies the declarations of all units. Declarations of functions stay.
//! * `.visible` names and kernels are defined once. Of `.weak` definitions the first one stays, and none next to a `.visible`
//!   one; of `.common` variables the largest one stays.
//! * A name without linkage belongs to its unit, and gets a suffix where another unit has the same name.
//!
//! Debug sections are left out, since their labels would collide; `.loc` keeps its file.

use crate::module::{Linkage, PtxItem, PtxModule, PtxStatement};
use crate::names::Symbol;
use heddle_ir::diagnostic::{Code, Diagnostic};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write as _;

/// Rank of a definition: the first one with the highest rank stays.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum DefinitionRank {
    /// `.common` variable of so many bytes.
    Common(u64),
    Weak,
    Strong,
}

/// Definition of a global name that stays.
#[derive(Clone, Copy, Debug)]
struct KeptDefinition {
    rank: DefinitionRank,
    unit: usize,
    item: usize,
}

/// Links the texts of translation units to the text of one module.
pub fn link(texts: &[&str]) -> Result<String, Vec<Diagnostic>> {
    if let [text] = texts {
        return Ok((*text).to_string());
    }
    let mut units = Vec::with_capacity(texts.len());
    for text in texts {
        units.push(crate::parse(text)?);
    }
    let locals: Vec<FxHashSet<Symbol>> = units.iter().map(local_names).collect();
    let kept = find_definitions(&units, &locals)?;
    let fresh = fresh_names(&units, &locals)?;
    let mut linked = head(&units);
    let mut first_file = 0;
    for (number, mut unit) in units.into_iter().enumerate() {
        let mut index = 0;
        let names = &unit.names;
        unit.items.retain(|item| {
            index += 1;
            is_kept(item, |name| match locals[number].contains(&name) {
                true => None,
                false => kept.get(names.text(name)).map(|kept| (kept.unit, kept.item) == (number, index - 1)),
            })
        });
        first_file = move_files(&mut unit, first_file);
        for (symbol, name) in &fresh[number] {
            unit.names.rename(*symbol, name);
        }
        let _ = write!(linked, "{unit}");
    }
    Ok(linked)
}

/// Returns the name of a variable or function, and its linkage; kernels are visible.
fn named(item: &PtxItem<'_>) -> Option<(Symbol, Option<Linkage>)> {
    match item {
        PtxItem::Variable(variable) => Some((variable.name, variable.linkage)),
        PtxItem::Function(function) if function.is_kernel => {
            Some((function.name, function.linkage.or(Some(Linkage::Visible))))
        }
        PtxItem::Function(function) => Some((function.name, function.linkage)),
        _ => None,
    }
}

/// Returns the names that no item of a unit gives linkage to.
fn local_names(unit: &PtxModule<'_>) -> FxHashSet<Symbol> {
    let all = || unit.items.iter().filter_map(named);
    let global: FxHashSet<Symbol> = all().filter_map(|(name, linkage)| linkage.map(|_| name)).collect();
    all().map(|(name, _)| name).filter(|name| !global.contains(name)).collect()
}

/// Returns the rank of a definition; none for a declaration.
fn rank(item: &PtxItem<'_>) -> Option<DefinitionRank> {
    let is_declaration = match item {
        PtxItem::Function(function) => function.body.is_none(),
        _ => false,
    };
    let (_, linkage) = named(item).filter(|_| !is_declaration)?;
    match (linkage, item) {
        (Some(Linkage::Extern), _) => None,
        (Some(Linkage::Common), PtxItem::Variable(variable)) => {
            Some(DefinitionRank::Common(variable.bytes().unwrap_or(0)))
        }
        (Some(Linkage::Weak), _) => Some(DefinitionRank::Weak),
        _ => Some(DefinitionRank::Strong),
    }
}

/// Finds the definition of each global name that stays.
fn find_definitions<'s>(
    units: &[PtxModule<'s>],
    locals: &[FxHashSet<Symbol>],
) -> Result<FxHashMap<&'s str, KeptDefinition>, Vec<Diagnostic>> {
    let mut all: FxHashMap<&'s str, KeptDefinition> = FxHashMap::default();
    let mut errors = Vec::new();
    for (unit, module) in units.iter().enumerate() {
        for (index, item) in module.items.iter().enumerate() {
            let Some((name, _)) = named(item).filter(|(name, _)| !locals[unit].contains(name)) else {
                continue;
            };
            let Some(rank) = rank(item) else { continue };
            let found = KeptDefinition { rank, unit, item: index };
            let text = module.names.text(name);
            match all.get(text) {
                Some(before) if before.rank == DefinitionRank::Strong && rank == DefinitionRank::Strong => {
                    errors.push(
                        Diagnostic::error(Code::Syntax, format!("multiple definitions of `{text}`"))
                            .help("define it in one file, and declare it `extern` in the others"),
                    );
                }
                Some(before) if before.rank >= rank => {}
                _ => _ = all.insert(text, found),
            }
        }
    }
    if errors.is_empty() { Ok(all) } else { Err(errors) }
}

/// Returns new names for local names that other units have, too.
fn fresh_names(
    units: &[PtxModule<'_>],
    locals: &[FxHashSet<Symbol>],
) -> Result<Vec<Vec<(Symbol, String)>>, Vec<Diagnostic>> {
    let mut owners: FxHashMap<&str, usize> = FxHashMap::default();
    for unit in units {
        let names: FxHashSet<Symbol> = unit.items.iter().filter_map(named).map(|(name, _)| name).collect();
        names.iter().for_each(|&name| *owners.entry(unit.names.text(name)).or_insert(0) += 1);
    }
    let is_taken = |name: &str| units.iter().any(|unit| unit.names.find(name).is_some());
    let mut fresh: Vec<Vec<(Symbol, String)>> = vec![Vec::new(); units.len()];
    for (number, unit) in units.iter().enumerate() {
        let mut left = locals[number].clone();
        for (name, _) in unit.items.iter().filter_map(named) {
            let text = unit.names.text(name);
            if !left.remove(&name) || owners.get(text).is_none_or(|&owners| owners < 2) {
                continue;
            }
            if name.word().is_some() {
                let reason = format!("several files have their own `{text}`, which is also a word of PTX");
                return Err(vec![
                    Diagnostic::error(Code::Syntax, reason).help("rename it in one of the files"),
                ]);
            }
            let mut new = format!("{text}__unit{number}");
            while is_taken(&new) {
                new.push('_');
            }
            fresh[number].push((name, new));
        }
    }
    Ok(fresh)
}

/// True if an item stays. `is_chosen` says of a name whether the definition that stays is the item; it returns none for names that
/// are local or undefined.
fn is_kept(item: &PtxItem<'_>, is_chosen: impl Fn(Symbol) -> Option<bool>) -> bool {
    match item {
        PtxItem::Version(_) | PtxItem::Target(_) | PtxItem::AddressSize(_) | PtxItem::Section(..) => false,
        PtxItem::File { .. } | PtxItem::Pragma(_) | PtxItem::Alias(..) => true,
        // Callers expect what they declare, which may be another result than that of the definition.
        PtxItem::Function(function) if function.body.is_none() => true,
        PtxItem::Variable(_) | PtxItem::Function(_) => {
            named(item).and_then(|(name, _)| is_chosen(name)).unwrap_or(true)
        }
    }
}

/// Returns the directives before all others: the highest version, and the highest target.
fn head(units: &[PtxModule<'_>]) -> String {
    let number = |text: &str| text.trim_end_matches(char::is_alphabetic).parse::<u32>().unwrap_or(0);
    let items = || units.iter().flat_map(|unit| &unit.items);
    let versions = items().filter_map(|item| match item {
        PtxItem::Version(text) => Some(*text),
        _ => None,
    });
    let version = |text: &&str| {
        let (major, minor) = text.split_once('.').unwrap_or((text, ""));
        (number(major), number(minor))
    };
    let targets = items().filter_map(|item| match item {
        PtxItem::Target(words) => Some(words),
        _ => None,
    });
    let target = |words: &&Vec<&str>| words.first().map_or(0, |word| number(word.trim_start_matches("sm_")));
    let version = versions.max_by_key(version).unwrap_or("7.0");
    let target = targets.max_by_key(target).map_or("sm_50".into(), |words| words.join(", "));
    format!(".version {version}\n.target {target}\n.address_size 64\n\n")
}

/// Moves the numbers of a unit's files behind `first`, and returns the last number.
fn move_files(unit: &mut PtxModule<'_>, first: u64) -> u64 {
    let mut last = first;
    let mut moved = |number: &mut u64| {
        *number = number.saturating_add(first);
        last = last.max(*number);
    };
    for item in &mut unit.items {
        match item {
            PtxItem::File { number, .. } => moved(number),
            PtxItem::Function(function) => {
                for statement in function.body.iter_mut().flatten() {
                    if let PtxStatement::Loc { place: [file, ..], inlined } = statement {
                        moved(file);
                        inlined.iter_mut().for_each(|(_, _, [file, ..])| moved(file));
                    }
                }
            }
            _ => {}
        }
    }
    last
}
