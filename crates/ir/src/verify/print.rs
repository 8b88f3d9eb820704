//! Prints violations inside the function's text.

use super::violation::{Violation, ViolationKind, ViolationLocation};
use crate::Function;

/// Number of lines up to which functions are printed whole; of longer ones, valid blocks are elided.
const LONG: usize = 200;

/// Prints one violation per line.
pub(super) fn as_list(list: &[Violation]) -> String {
    list.iter().map(|violation| format!("\n  {violation}")).collect()
}

/// Prints a function with its violations below the lines concerned. Expects them in layout order.
pub(super) fn in_function(func: &Function, list: &[Violation]) -> String {
    // Entities out of range cannot be printed.
    let has_text = |violation: &Violation| {
        !matches!(
            violation.fault,
            ViolationKind::UnknownInst(_) | ViolationKind::UnknownOrigin(_) | ViolationKind::UnknownBlock(_)
        )
    };
    if !list.iter().all(has_text) {
        return as_list(list);
    }
    let text = func.to_string();
    let lines: Vec<&str> = text.lines().collect();
    let places = places(func);
    // One line for each location, and the closing brace.
    if lines.len() != places.len() + 1 {
        return as_list(list);
    }
    let mut out = String::new();
    let mut rest = list.iter().peekable();
    let mut left_out = false;
    let mut at = 0;
    while at < places.len() {
        let end = block_end(&places, at);
        let stands_here = |violation: &&&Violation| places[at..end].contains(&violation.place);
        let is_well = !rest.peek().is_some_and(|violation| stands_here(&violation));
        if is_well && lines.len() > LONG && at > 0 {
            left_out = true;
        } else {
            if std::mem::take(&mut left_out) {
                out.push_str("\n  ; ...");
            }
            for line in at..end {
                out.push('\n');
                out.push_str(lines[line]);
                while let Some(violation) = rest.next_if(|violation| violation.place == places[line]) {
                    let indent =
                        if matches!(violation.place, ViolationLocation::Inst(..)) { "  " } else { "" };
                    out.push_str(&format!("\n{indent}; ^ {}", violation.fault));
                }
            }
        }
        at = end;
    }
    if left_out {
        out.push_str("\n  ; ...");
    }
    out + "\n}"
}

/// The location of each line.
fn places(func: &Function) -> Vec<ViolationLocation> {
    let mut places = vec![ViolationLocation::Function];
    for block in func.layout.blocks() {
        places.push(ViolationLocation::Block(block));
        places.extend(func.layout.insts(block).map(|inst| ViolationLocation::Inst(block, inst)));
    }
    places
}

/// Index after the head or block that starts here.
fn block_end(places: &[ViolationLocation], start: usize) -> usize {
    let behind = places[start + 1..].iter().position(|place| matches!(place, ViolationLocation::Block(_)));
    behind.map_or(places.len(), |behind| start + 1 + behind)
}
