//! Makes a failing C program smaller: statements go, blocks open, expressions become numbers or their own parts.

use super::tree::{Kind, Node, Piece, Program};
use std::time::{Duration, Instant};

/// How long a find is worked at.
const MOST_TIME: Duration = Duration::from_secs(150);

/// The smallest program found of which this still holds.
pub(super) fn reduce(program: &Program, fails: &dyn Fn(&Program) -> bool) -> Program {
    let start = Instant::now();
    let mut best = program.clone();
    loop {
        let mut changed = false;
        for edit in [Edit::Remove, Edit::Open, Edit::Number, Edit::Part] {
            let mut at = 0;
            while start.elapsed() < MOST_TIME {
                let mut candidate = best.clone();
                match apply(&mut candidate, edit, at) {
                    Applied::No => break,
                    Applied::Same => at += 1,
                    Applied::Yes if fails(&candidate) => {
                        best = candidate;
                        changed = true;
                    }
                    Applied::Yes => at += 1,
                }
            }
        }
        if !changed || start.elapsed() >= MOST_TIME {
            return best;
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Edit {
    /// A statement goes.
    Remove,
    /// What stands in a statement takes its place.
    Open,
    /// An expression becomes a number.
    Number,
    /// An expression becomes a part of it.
    Part,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Applied {
    /// There is no such place.
    No,
    /// Nothing is changed there.
    Same,
    Yes,
}

fn apply(program: &mut Program, edit: Edit, at: usize) -> Applied {
    let mut left = at;
    match edit {
        Edit::Remove | Edit::Open => {
            let mut parts = std::mem::take(&mut program.parts);
            let applied = in_lists(&mut parts, edit, &mut left, true);
            program.parts = parts;
            applied
        }
        Edit::Number | Edit::Part => {
            let mut parts = program.parts.iter_mut();
            parts.find_map(|node| in_expressions(node, edit, &mut left)).unwrap_or(Applied::No)
        }
    }
}

/// Edits the statement of this number, counted outside in.
fn in_lists(nodes: &mut Vec<Node>, edit: Edit, left: &mut usize, is_top: bool) -> Applied {
    for index in 0..nodes.len() {
        if *left == 0 {
            let last = index + 1 == nodes.len();
            if edit == Edit::Remove {
                // The function itself stays; helpers may go.
                if is_top && last {
                    return Applied::Same;
                }
                nodes.remove(index);
                return Applied::Yes;
            }
            let lists = nodes[index].pieces.iter().filter_map(|piece| match piece {
                Piece::List(inner) => Some(inner.clone()),
                _ => None,
            });
            let inner: Vec<Node> = lists.flatten().collect();
            if is_top || inner.is_empty() {
                return Applied::Same;
            }
            nodes.splice(index..=index, inner);
            return Applied::Yes;
        }
        *left -= 1;
        let applied = in_pieces(&mut nodes[index], edit, left);
        if applied != Applied::No {
            return applied;
        }
    }
    Applied::No
}

fn in_pieces(node: &mut Node, edit: Edit, left: &mut usize) -> Applied {
    for piece in &mut node.pieces {
        let applied = match piece {
            Piece::List(inner) => in_lists(inner, edit, left, false),
            Piece::Node(inner) => in_pieces(inner, edit, left),
            _ => Applied::No,
        };
        if applied != Applied::No {
            return applied;
        }
    }
    Applied::No
}

/// Edits the expression of this number, counted outside in.
fn in_expressions(node: &mut Node, edit: Edit, left: &mut usize) -> Option<Applied> {
    if node.kind != Kind::Statement {
        if *left == 0 {
            return Some(simplified(node, edit));
        }
        *left -= 1;
    }
    node.pieces.iter_mut().find_map(|piece| match piece {
        Piece::Node(inner) => in_expressions(inner, edit, left),
        Piece::List(inner) => inner.iter_mut().find_map(|node| in_expressions(node, edit, left)),
        _ => None,
    })
}

fn simplified(node: &mut Node, edit: Edit) -> Applied {
    if matches!(&node.pieces[..], [Piece::Text(_)]) {
        return Applied::Same;
    }
    let new = match edit {
        Edit::Number => Some(Node::text(node.kind, if node.kind == Kind::Int { "(1)" } else { "1.5f" })),
        _ => node.pieces.iter().find_map(|piece| match piece {
            Piece::Node(inner) if inner.kind == node.kind => Some(inner.clone()),
            _ => None,
        }),
    };
    match new {
        Some(new) => {
            *node = new;
            Applied::Yes
        }
        None => Applied::Same,
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
