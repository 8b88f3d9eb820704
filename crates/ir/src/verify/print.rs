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
            violation.kind,
            ViolationKind::UnknownInst(_) | ViolationKind::UnknownOrigin(_) | ViolationKind::UnknownBlock(_)
        )
    };
    if !list.iter().all(has_text) {
        return as_list(list);
    }
    let text = func.to_string();
    let lines: Vec<&str> = text.lines().collect();
    let locations = locations(func);
    // One line for each location, and the closing brace.
    if lines.len() != locations.len() + 1 {
        return as_list(list);
    }
    let mut out = String::new();
    let mut rest = list.iter().peekable();
    let mut left_out = false;
    let mut at = 0;
    while at < locations.len() {
        let end = block_end(&locations, at);
        let stands_here = |violation: &&&Violation| locations[at..end].contains(&violation.location);
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
                while let Some(violation) = rest.next_if(|violation| violation.location == locations[line]) {
                    let indent =
                        if matches!(violation.location, ViolationLocation::Inst(..)) { "  " } else { "" };
                    out.push_str(&format!("\n{indent}; ^ {}", violation.kind));
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
fn locations(func: &Function) -> Vec<ViolationLocation> {
    let mut locations = vec![ViolationLocation::Function];
    for block in func.layout.blocks() {
        locations.push(ViolationLocation::Block(block));
        locations.extend(func.layout.insts(block).map(|inst| ViolationLocation::Inst(block, inst)));
    }
    locations
}

/// Index after the head or block that starts here.
fn block_end(locations: &[ViolationLocation], start: usize) -> usize {
    let behind =
        locations[start + 1..].iter().position(|location| matches!(location, ViolationLocation::Block(_)));
    behind.map_or(locations.len(), |behind| start + 1 + behind)
}
