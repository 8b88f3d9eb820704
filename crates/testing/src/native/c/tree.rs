//! C as a tree of texts: what is generated, printed, and made smaller.
//!
//! Each template guards what it does by itself (indices are masked, divisors looked at, trips counted), whatever stands
//! in its places: so any expression may be put for another of its kind, and any statement may go.

use std::fmt::Write as _;

/// What a node stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// An integer of any type.
    Int,
    /// A floating-point number of either type.
    Float,
    Statement,
}

/// A text with places in it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) pieces: Vec<Piece>,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Piece {
    Text(String),
    Node(Node),
    List(Vec<Node>),
    /// The jump of this number, whose label is not chosen yet.
    Jump(usize),
}

impl Node {
    pub(super) fn text(kind: Kind, text: impl Into<String>) -> Node {
        Node { kind, pieces: vec![Piece::Text(text.into())] }
    }

    /// A template in which each `#` is one of the places, in order.
    pub(super) fn of(kind: Kind, template: &str, places: impl IntoIterator<Item = Piece>) -> Node {
        let mut pieces = Vec::new();
        let mut texts = template.split('#');
        pieces.extend(texts.next().map(|text| Piece::Text(text.into())));
        for place in places {
            pieces.push(place);
            pieces.extend(texts.next().map(|text| Piece::Text(text.into())));
        }
        Node { kind, pieces }
    }
}

impl From<Node> for Piece {
    fn from(node: Node) -> Piece {
        Piece::Node(node)
    }
}

impl From<Vec<Node>> for Piece {
    fn from(nodes: Vec<Node>) -> Piece {
        Piece::List(nodes)
    }
}

/// A generated function with what it needs before it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Program {
    /// The seed that it was made from.
    pub(super) seed: u64,
    /// Functions that it calls, and its own text: statements where they stand by themselves, between `lines`.
    pub(super) parts: Vec<Node>,
    /// What it has, in words.
    pub(super) features: Vec<&'static str>,
    /// Whether lanes get ids in a row.
    pub(super) is_linear: bool,
}

impl Program {
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
pub(super) fn print(node: &Node, text: &mut String) {
    for piece in &node.pieces {
        match piece {
            Piece::Text(piece) => text.push_str(piece),
            Piece::Node(node) => print(node, text),
            Piece::List(nodes) => {
                for node in nodes {
                    print(node, text);
                    text.push('\n');
                }
            }
            Piece::Jump(number) => _ = write!(text, "/* jump {number} */"),
        }
    }
}

/// Gives each jump its text.
pub(super) fn resolve(node: &mut Node, jumps: &[String]) {
    for piece in &mut node.pieces {
        match piece {
            Piece::Jump(number) => *piece = Piece::Text(jumps[*number].clone()),
            Piece::Node(node) => resolve(node, jumps),
            Piece::List(nodes) => nodes.iter_mut().for_each(|node| resolve(node, jumps)),
            Piece::Text(_) => {}
        }
    }
}
