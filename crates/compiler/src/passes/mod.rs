//! The passes. Each file declares the name, options, stages and `run` of one pass; a line of `passes!` registers it.

mod registry;

use crate::context::PassContext;
use crate::option_words::OptionHelp;
use crate::options::{BrushCount, BrushExtents, IfConversion};
use heddle_ir::entity::EntitySet;
use heddle_ir::module::DeclaredShape;
use heddle_ir::verify::Stage;
use heddle_ir::{Block, Code, Diagnostic, Module};
use heddle_math::Accuracy;
use heddle_transform::{FuseOptions, KernelOptions};
use registry::passes;

pub(crate) use brushes::find_module_brush_observer;
pub use spread::SpreadOptions;
pub(crate) use strips::strip_options;
pub use widen::{BrushWidening, widen_module};

/// Description of a pass.
#[derive(Clone, Copy, Debug)]
pub struct PassInfo {
    /// Name on the command line.
    pub name: &'static str,
    /// Help text of one sentence.
    pub doc: &'static str,
    /// Stage that the pass requires.
    pub requires: Stage,
    /// Stage that the pass ensures; none keeps the stage.
    pub ensures: Option<Stage>,
    /// Words of the argument.
    pub options: fn() -> Vec<OptionHelp>,
    /// Parser of the argument after the name's colon.
    parse: fn(&str) -> Result<Pass, Diagnostic>,
}

passes! {
    /// Checks that several brushes may run side by side.
    brushes => Brushes(BrushCount);
    /// Defines the mathematical functions that are called.
    math => Math(Accuracy);
    /// Default shape for parameters without a declared shape.
    params => Params(DeclaredShape);
    /// Lowers kernels to sequential code for one work-group.
    kernels => Kernels(KernelOptions);
    /// Constant folding, dead code elimination, common subexpression elimination.
    simplify => Simplify;
    /// Dead code elimination.
    dead => Dead;
    /// Inlines small functions.
    inline => Inline;
    /// Lowers private arrays to registers, or to elements of one size.
    arrays => PrivateArrays;
    /// Turns quotients by approximate square roots into products with inverse roots.
    roots => Roots;
    /// Jump threading past blocks whose branch is already decided.
    thread => Thread;
    /// Schedules one block a round where lanes wait for each other.
    progress => Progress;
    /// Canonicalizes control flow.
    canonicalize => Canonicalize;
    /// Distributes the iterations of a loop over lanes.
    spread => Spread(SpreadOptions);
    /// Specializes functions by the shapes of their arguments.
    specialize => Specialize(BrushExtents);
    /// Scalar replacement of loads and redundant computations.
    scalars => Scalars(heddle_transform::scalar_replacement::ReplacementOptions);
    /// Branch fusion: merges code that both sides of a divergent branch have.
    fuse => Fuse(FuseOptions);
    /// Flattens nests of divergent loops.
    flatten => Flatten(heddle_transform::flatten::FlattenOptions);
    /// Strip-mines loops in which each lane walks along its own row.
    strips => Strips(heddle_transform::row_strips::StripOptions);
    /// Makes divergent loops uniform; selects the branches that linearization if-converts.
    loops => Loops(IfConversion);
    /// Inserts guards: branches past regions without active lanes.
    boscc => Boscc(heddle_transform::boscc::GuardOptions);
    /// Linearizes divergent branches; if blocks are named, only theirs.
    linearize => Linearize(EntitySet<Block>);
    /// Simplifies masks and blends.
    tidy => Tidy;
    /// Widens lock-step code to vector code.
    widen => Widen(BrushWidening);
    /// Makes stores of whole vectors non-temporal.
    stream => Stream;
    /// Marks stores of rows whose loop writes what follows them.
    ahead => Ahead;
}

impl PassInfo {
    /// Returns the description of a pass without options and without an ensured stage.
    const fn plain(
        name: &'static str,
        doc: &'static str,
        requires: Stage,
        pass: fn(&str) -> Result<Pass, Diagnostic>,
    ) -> PassInfo {
        PassInfo { name, doc, requires, ensures: None, options: Vec::new, parse: pass }
    }

    /// Returns the pass of a name.
    pub fn named(name: &str) -> Option<&'static PassInfo> {
        PASSES.iter().copied().find(|info| info.name == name)
    }

    /// Parses the pass's argument, the text after the name's colon.
    pub fn parse(&self, argument: &str) -> Result<Pass, Diagnostic> {
        if !argument.is_empty() && (self.options)().is_empty() {
            let text = format!("`{}` takes no argument, found `{argument}`", self.name);
            return Err(Diagnostic::error(Code::PassArgument, text).help(format!("write `{}`", self.name)));
        }
        (self.parse)(argument)
    }
}
