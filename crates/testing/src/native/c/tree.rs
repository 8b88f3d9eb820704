//! C as a tree of templates, which are generated, printed, and reduced.
//!
//! Each template is safe for any operands: indices are masked, divisors checked, trips counted. So any expression may
//! replace another of its kind, and any statement may be removed.

use std::fmt::Write as _;

/// Syntactic kind of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CNodeKind {
    /// An integer of any type.
    Int,
    /// A floating-point number of either type.
    Float,
    Statement,
}

/// Template with operands.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct CNode {
    pub(super) kind: CNodeKind,
    pub(super) pieces: Vec<CPiece>,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum CPiece {
    Text(String),
    Node(CNode),
    List(Vec<CNode>),
    /// The jump of this number, whose label is not chosen yet.
    Jump(usize),
}

impl CNode {
    pub(super) fn text(kind: CNodeKind, text: impl Into<String>) -> CNode {
        CNode { kind, pieces: vec![CPiece::Text(text.into())] }
    }

    /// Creates a node from a template in which each `#` is the next operand.
    pub(super) fn of(kind: CNodeKind, template: &str, places: impl IntoIterator<Item = CPiece>) -> CNode {
        let mut pieces = Vec::new();
        let mut texts = template.split('#');
        pieces.extend(texts.next().map(|text| CPiece::Text(text.into())));
        for place in places {
            pieces.push(place);
            pieces.extend(texts.next().map(|text| CPiece::Text(text.into())));
        }
        CNode { kind, pieces }
    }
}

impl From<CNode> for CPiece {
    fn from(node: CNode) -> CPiece {
        CPiece::Node(node)
    }
}

impl From<Vec<CNode>> for CPiece {
    fn from(nodes: Vec<CNode>) -> CPiece {
        CPiece::List(nodes)
    }
}

/// A generated function with what it needs before it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct CProgram {
    /// Seed of the program.
    pub(super) seed: u64,
    /// Callees and the function itself; statements are separate nodes between `lines`.
    pub(super) parts: Vec<CNode>,
    /// Features, in words.
    pub(super) features: Vec<&'static str>,
    /// True if lanes have consecutive ids.
    pub(super) is_linear: bool,
}

impl CProgram {
    /// The function's name.
    pub(super) fn name(&self) -> String {
        format!("f{}", self.seed)
    }

    /// Its text.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        self.parts.iter().for_each(|node| print(node, &mut text));
        text
    }
}

/// Appends a node's text. The depth of generated trees is bounded.
pub(super) fn print(node: &CNode, text: &mut String) {
    for piece in &node.pieces {
        match piece {
            CPiece::Text(piece) => text.push_str(piece),
            CPiece::Node(node) => print(node, text),
            CPiece::List(nodes) => {
                for node in nodes {
                    print(node, text);
                    text.push('\n');
                }
            }
            CPiece::Jump(number) => _ = write!(text, "/* jump {number} */"),
        }
    }
}

/// Gives each jump its text.
pub(super) fn resolve(node: &mut CNode, jumps: &[String]) {
    for piece in &mut node.pieces {
        match piece {
            CPiece::Jump(number) => *piece = CPiece::Text(jumps[*number].clone()),
            CPiece::Node(node) => resolve(node, jumps),
            CPiece::List(nodes) => nodes.iter_mut().for_each(|node| resolve(node, jumps)),
            CPiece::Text(_) => {}
        }
    }
}
