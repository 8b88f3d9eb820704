//! Reduces a failing C program: removes statements, unwraps blocks, replaces expressions by numbers or operands.

use super::tree::{CNode, CNodeKind, CPiece, CProgram};
use std::time::{Duration, Instant};

/// Time limit for the reduction of a find.
const MOST_TIME: Duration = Duration::from_secs(150);

/// The smallest program found of which this still holds.
pub(super) fn reduce(program: &CProgram, fails: &dyn Fn(&CProgram) -> bool) -> CProgram {
    let start = Instant::now();
    let mut best = program.clone();
    loop {
        let mut changed = false;
        for edit in [ReductionEdit::Remove, ReductionEdit::Open, ReductionEdit::Number, ReductionEdit::Part] {
            let mut at = 0;
            while start.elapsed() < MOST_TIME {
                let mut candidate = best.clone();
                match apply(&mut candidate, edit, at) {
                    EditOutcome::No => break,
                    EditOutcome::Same => at += 1,
                    EditOutcome::Yes if fails(&candidate) => {
                        best = candidate;
                        changed = true;
                    }
                    EditOutcome::Yes => at += 1,
                }
            }
        }
        if !changed || start.elapsed() >= MOST_TIME {
            return best;
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReductionEdit {
    /// Removes a statement.
    Remove,
    /// Replaces a statement by its body.
    Open,
    /// An expression becomes a number.
    Number,
    /// Replaces an expression by an operand.
    Part,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EditOutcome {
    /// The position does not exist.
    No,
    /// Nothing is changed there.
    Same,
    Yes,
}

fn apply(program: &mut CProgram, edit: ReductionEdit, at: usize) -> EditOutcome {
    let mut left = at;
    match edit {
        ReductionEdit::Remove | ReductionEdit::Open => {
            let mut parts = std::mem::take(&mut program.parts);
            let applied = in_lists(&mut parts, edit, &mut left, true);
            program.parts = parts;
            applied
        }
        ReductionEdit::Number | ReductionEdit::Part => {
            let mut parts = program.parts.iter_mut();
            parts.find_map(|node| in_expressions(node, edit, &mut left)).unwrap_or(EditOutcome::No)
        }
    }
}

/// Edits the statement of this number, counted outside in.
fn in_lists(nodes: &mut Vec<CNode>, edit: ReductionEdit, left: &mut usize, is_top: bool) -> EditOutcome {
    for index in 0..nodes.len() {
        if *left == 0 {
            let last = index + 1 == nodes.len();
            if edit == ReductionEdit::Remove {
                // The function itself stays; helpers may go.
                if is_top && last {
                    return EditOutcome::Same;
                }
                nodes.remove(index);
                return EditOutcome::Yes;
            }
            let lists = nodes[index].pieces.iter().filter_map(|piece| match piece {
                CPiece::List(inner) => Some(inner.clone()),
                _ => None,
            });
            let inner: Vec<CNode> = lists.flatten().collect();
            if is_top || inner.is_empty() {
                return EditOutcome::Same;
            }
            nodes.splice(index..=index, inner);
            return EditOutcome::Yes;
        }
        *left -= 1;
        let applied = in_pieces(&mut nodes[index], edit, left);
        if applied != EditOutcome::No {
            return applied;
        }
    }
    EditOutcome::No
}

fn in_pieces(node: &mut CNode, edit: ReductionEdit, left: &mut usize) -> EditOutcome {
    for piece in &mut node.pieces {
        let applied = match piece {
            CPiece::List(inner) => in_lists(inner, edit, left, false),
            CPiece::Node(inner) => in_pieces(inner, edit, left),
            _ => EditOutcome::No,
        };
        if applied != EditOutcome::No {
            return applied;
        }
    }
    EditOutcome::No
}

/// Edits the expression of this number, counted outside in.
fn in_expressions(node: &mut CNode, edit: ReductionEdit, left: &mut usize) -> Option<EditOutcome> {
    if node.kind != CNodeKind::Statement {
        if *left == 0 {
            return Some(simplified(node, edit));
        }
        *left -= 1;
    }
    node.pieces.iter_mut().find_map(|piece| match piece {
        CPiece::Node(inner) => in_expressions(inner, edit, left),
        CPiece::List(inner) => inner.iter_mut().find_map(|node| in_expressions(node, edit, left)),
        _ => None,
    })
}

fn simplified(node: &mut CNode, edit: ReductionEdit) -> EditOutcome {
    if matches!(&node.pieces[..], [CPiece::Text(_)]) {
        return EditOutcome::Same;
    }
    let new = match edit {
        ReductionEdit::Number => {
            Some(CNode::text(node.kind, if node.kind == CNodeKind::Int { "(1)" } else { "1.5f" }))
        }
        _ => node.pieces.iter().find_map(|piece| match piece {
            CPiece::Node(inner) if inner.kind == node.kind => Some(inner.clone()),
            _ => None,
        }),
    };
    match new {
        Some(new) => {
            *node = new;
            EditOutcome::Yes
        }
        None => EditOutcome::Same,
    }
}

#[cfg(test)]
mod tests {
    use super::super::generate::generate;
    use super::*;

    #[test]
    fn what_is_not_needed_goes() {
        let mut reduced = 0;
        for seed in 0..40 {
            let program = generate(seed);
            if !program.text().contains("fmaf(") || !program.text().contains("goto ") {
                continue;
            }
            let small = reduce(&program, &|program| program.text().contains("fmaf("));
            let text = small.text();
            assert!(text.contains("fmaf(") && text.contains(&format!("void f{seed}(")), "{text}");
            assert!(!text.contains("goto ") && !text.contains("fmaf(fmaf"), "{text}");
            reduced += 1;
        }
        assert!(reduced > 2, "{reduced}");
    }

    #[test]
    fn the_same_seed_gives_the_same_text() {
        let texts: Vec<[String; 2]> = (0..60).map(|seed| [(); 2].map(|()| generate(seed).text())).collect();
        assert!(texts.iter().all(|[a, b]| a == b));
        let bodies = texts.iter().map(|[text, _]| text.split_once('{').map(|(_, body)| body.to_string()));
        let mut bodies: Vec<_> = bodies.collect();
        bodies.sort();
        bodies.dedup();
        assert_eq!(bodies.len(), 60);
    }
}
