//! C as a tree of texts: what is generated, printed, and made smaller.
//!
//! Each template guards what it does by itself (indices are masked, divisors looked at, trips counted), whatever stands
//! in its places: so any expression may be put for another of its kind, and any statement may go.

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

/// A text with places in it.
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

    /// A template in which each `#` is one of the places, in order.
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
    /// The seed that it was made from.
    pub(super) seed: u64,
    /// Functions that it calls, and its own text: statements where they stand by themselves, between `lines`.
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

/// Appends what a node says. The depth of generated trees is bounded.
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
