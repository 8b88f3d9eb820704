//! Weaves mutants into sources: each is guarded by a condition, next to the original code.
//!
//! ```text
//!     a + b                 (if crate::mutated(7) { a - b } else { a + b })
//!     Some(x) => x,         Some(x) if !crate::mutated(8) => x,
//!     fn f() -> u32 { … }   fn f() -> u32 { if crate::mutated(9) { return 0; } … }
//! ```

use crate::list::{Genre, Mutant, MutantOutcome};
use proc_macro2::Span;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

/// Run-time selection of mutants. The environment variable `HEDDLE_MUTANT` has the number of the active mutant; the
/// numbers that were evaluated are written to the file `HEDDLE_REACHED`.
const ANSWER: &str = r#"
#[allow(missing_docs, unreachable_pub)]
#[doc(hidden)]
pub(crate) fn mutated(number: u32) -> bool {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicBool, Ordering};
    static CHOSEN: LazyLock<u32> =
        LazyLock::new(|| std::env::var("HEDDLE_MUTANT").ok().and_then(|it| it.parse().ok()).unwrap_or(0));
    static REACHED: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("HEDDLE_REACHED").ok());
    static QUERIED: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];
    if let Some(path) = &*REACHED
        && !QUERIED[number as usize].load(Ordering::Relaxed)
        && !QUERIED[number as usize].swap(true, Ordering::Relaxed)
    {
        use std::io::Write as _;
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).expect("can be written");
        writeln!(file, "{number}").expect("can be written");
    }
    *CHOSEN == number
}
"#;

/// Rewrites the files of the open mutants. Mutants that cannot be woven in are reported.
pub(crate) fn weave(tree: &Path, mutants: &mut [Mutant]) -> Result<(), String> {
    let count = mutants.iter().map(|mutant| mutant.number + 1).max().unwrap_or(1);
    let mut files: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, mutant) in mutants.iter().enumerate() {
        files.entry(mutant.file.clone()).or_default().push(index);
        // The crate root defines `mutated`.
        files.entry(root_of(&mutant.file)).or_default();
    }
    for (file, indices) in files {
        let path = tree.join(&file);
        let source = original(&path)?;
        let mut text = source.clone();
        if !indices.is_empty() {
            let parsed = syn::parse_file(&source).map_err(|error| format!("{file}: {error}"))?;
            let mut weaver = Weaver { mutants, open: HashMap::new(), edits: Vec::new(), in_constant: 0 };
            for &index in &indices {
                let mutant = &weaver.mutants[index];
                if mutant.outcome == MutantOutcome::Open {
                    weaver.open.entry((mutant.genre as u8, mutant.at)).or_default().push(index);
                }
            }
            weaver.visit_file(&parsed);
            let left: Vec<usize> = weaver.open.values().flatten().copied().collect();
            let mut edits = std::mem::take(&mut weaver.edits);
            for index in left {
                mutants[index].outcome = MutantOutcome::Unviable("no place for its question".into());
            }
            edits.sort_by_key(|edit| (edit.range.start, std::cmp::Reverse(edit.range.end)));
            text = render(&source, 0..source.len(), &edits);
        }
        if file == root_of(&file) {
            text += &ANSWER.replace("COUNT", &count.to_string());
        }
        // Leaves an unchanged file alone, so that it is not rebuilt.
        if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
            continue;
        }
        std::fs::write(&path, text).map_err(|error| format!("{file}: {error}"))?;
    }
    Ok(())
}

/// Returns the source before weaving, which is kept next to the file.
pub(crate) fn original(path: &Path) -> Result<String, String> {
    let kept = PathBuf::from(format!("{}.original", path.display()));
    let tell = |error: std::io::Error| format!("{}: {error}", path.display());
    if !kept.exists() {
        std::fs::copy(path, &kept).map_err(tell)?;
    }
    std::fs::read_to_string(&kept).map_err(tell)
}

/// Returns the folder of the file's package.
pub(crate) fn folder_of(file: &str) -> &str {
    file.find("/src/").map_or("", |at| &file[..at])
}

/// Returns the crate root of the file's library.
fn root_of(file: &str) -> String {
    format!("{}/src/lib.rs", folder_of(file))
}

/// Replacement of a part of the source.
struct SourceEdit {
    range: Range<usize>,
    parts: Vec<EditPart>,
}

enum EditPart {
    Text(String),
    /// Source text, with the edits inside of it.
    Source(Range<usize>),
}

/// Renders a range of the source with its edits. An edit precedes those inside of it.
fn render(source: &str, range: Range<usize>, edits: &[SourceEdit]) -> String {
    let mut out = String::new();
    let mut at = range.start;
    let mut rest = edits;
    while let [edit, others @ ..] = rest {
        rest = others;
        if edit.range.start < at || edit.range.end > range.end {
            continue;
        }
        out += &source[at..edit.range.start];
        let inside = edits_inside(others, &edit.range);
        for part in &edit.parts {
            match part {
                EditPart::Text(text) => out += text,
                EditPart::Source(part) => out += &render(source, part.clone(), inside),
            }
        }
        at = edit.range.end;
        if !edit.range.is_empty() {
            rest = &others[inside.len()..];
        }
    }
    out += &source[at..range.end];
    out
}

fn edits_inside<'e>(edits: &'e [SourceEdit], range: &Range<usize>) -> &'e [SourceEdit] {
    let count = edits.iter().take_while(|edit| edit.range.start < range.end).count();
    &edits[..count]
}

struct Weaver<'m> {
    mutants: &'m mut [Mutant],
    /// Mutants that have not been reached yet.
    open: HashMap<(u8, (usize, usize)), Vec<usize>>,
    edits: Vec<SourceEdit>,
    /// Depth of enclosing constants.
    in_constant: u32,
}

fn text(text: impl Into<String>) -> EditPart {
    EditPart::Text(text.into())
}

impl Weaver<'_> {
    /// Takes the open mutants that begin here; returns their conditions and replacements.
    fn take(&mut self, genre: Genre, span: Span) -> Vec<(String, String)> {
        let start = span.start();
        let found = self.open.remove(&(genre as u8, (start.line, start.column + 1))).unwrap_or_default();
        if self.in_constant > 0 {
            found.iter().for_each(|&index| self.mutants[index].outcome = MutantOutcome::InConstant);
            return Vec::new();
        }
        let put = |index: &usize| {
            let mutant = &self.mutants[*index];
            (format!("crate::mutated({})", mutant.number), mutant.replacement.clone())
        };
        found.iter().map(put).collect()
    }

    /// Replaces a range by a choice between its source and the mutants' code.
    fn choose(&mut self, range: Range<usize>, ways: Vec<(String, Vec<EditPart>)>) {
        if ways.is_empty() {
            return;
        }
        let mut parts = vec![text("(")];
        for (question, way) in ways {
            parts.push(text(format!("if {question} {{ ")));
            parts.extend(way);
            parts.push(text(" } else "));
        }
        parts.extend([text("{ "), EditPart::Source(range.clone()), text(" })")]);
        self.edits.push(SourceEdit { range, parts });
    }

    fn insert(&mut self, at: usize, what: String) {
        self.edits.push(SourceEdit { range: at..at, parts: vec![text(what)] });
    }

    fn body(&mut self, block: &syn::Block) {
        let Some(first) = block.stmts.first() else { return };
        let span = first.span();
        for (question, value) in self.take(Genre::Body, span) {
            let value = if value == "()" { String::new() } else { format!(" {value}") };
            self.insert(span.byte_range().start, format!("if {question} {{ return{value}; }} "));
        }
    }

    fn constant(&mut self, is_constant: bool, visit: impl FnOnce(&mut Self)) {
        let around = self.in_constant;
        self.in_constant = if is_constant { around + 1 } else { 0 };
        visit(self);
        self.in_constant = around;
    }
}

/// True if an expression is a chain of `&&` that binds names.
fn binds(expr: &syn::Expr) -> bool {
    match expr {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(binary) => {
            matches!(binary.op, syn::BinOp::And(_)) && (binds(&binary.left) || binds(&binary.right))
        }
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Weaver<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.constant(item.sig.constness.is_some(), |it| {
            it.body(&item.block);
            visit::visit_item_fn(it, item);
        });
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.constant(item.sig.constness.is_some(), |it| {
            it.body(&item.block);
            visit::visit_impl_item_fn(it, item);
        });
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.constant(false, |it| {
            item.default.iter().for_each(|block| it.body(block));
            visit::visit_trait_item_fn(it, item);
        });
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.constant(true, |it| visit::visit_item_const(it, item));
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.constant(true, |it| visit::visit_impl_item_const(it, item));
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.constant(true, |it| visit::visit_item_static(it, item));
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        let [left, op, right] =
            [binary.left.span(), binary.op.span(), binary.right.span()].map(|span| span.byte_range());
        let whole = left.start..right.end;
        let is_chain =
            matches!(binary.op, syn::BinOp::And(_)) && (binds(&binary.left) || binds(&binary.right));
        if !is_chain {
            let ways = self.take(Genre::Binary, binary.op.span()).into_iter().map(|(question, operator)| {
                let between = text(format!(" {operator} "));
                (question, vec![EditPart::Source(left.clone()), between, EditPart::Source(right.clone())])
            });
            let ways = ways.collect();
            self.choose(whole, ways);
        }
        debug_assert!(left.end <= op.start && op.end <= right.start);
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        let operand = unary.expr.span().byte_range();
        let whole = unary.op.span().byte_range().start..operand.end;
        let ways = self.take(Genre::Unary, unary.op.span());
        let ways = ways
            .into_iter()
            .map(|(question, _)| (question, vec![EditPart::Source(operand.clone())]))
            .collect();
        self.choose(whole, ways);
        visit::visit_expr_unary(self, unary);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        for (question, _) in self.take(Genre::Arm, arm.span()) {
            self.insert(arm.pat.span().byte_range().end, format!(" if !{question}"));
        }
        if let Some((_, guard)) = &arm.guard {
            let range = guard.span().byte_range();
            let mut parts = vec![text("("), EditPart::Source(range.clone()), text(")")];
            for (question, value) in self.take(Genre::Guard, guard.span()) {
                let (before, after) = match &*value {
                    "true" => (format!("({question} || "), ")"),
                    _ => (format!("(!{question} && "), ")"),
                };
                parts.insert(0, text(before));
                parts.push(text(after));
            }
            if parts.len() > 3 {
                self.edits.push(SourceEdit { range, parts });
            }
        }
        visit::visit_arm(self, arm);
    }

    fn visit_expr_struct(&mut self, literal: &'ast syn::ExprStruct) {
        let whole = literal.span().byte_range();
        let mut ways = Vec::new();
        for pair in literal.fields.pairs() {
            let field = pair.value().span().byte_range();
            let end = pair.punct().map_or(field.end, |comma| comma.span().byte_range().end);
            for (question, _) in self.take(Genre::Field, pair.value().span()) {
                ways.push((
                    question,
                    vec![EditPart::Source(whole.start..field.start), EditPart::Source(end..whole.end)],
                ));
            }
        }
        self.choose(whole, ways);
        visit::visit_expr_struct(self, literal);
    }
}
