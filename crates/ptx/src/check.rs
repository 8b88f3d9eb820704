//! Name resolution and type checks: registers, variables, labels and functions of each body.
//!
//! Ensures: every operand of a supported instruction is allowed by its form, and of a compatible type.

use crate::lower::RESERVED_BYTES;
use crate::module::{
    NumberValue, PtxFunction, PtxInstruction, PtxItem, PtxModule, PtxOperand, PtxStatement, PtxVariable,
};
use crate::names::Symbol;
use crate::parser::MAX_ERRORS;
use crate::table::{self, OperandRole, OperandSpec, OperandType};
use crate::words::Word;
use heddle_ir::diagnostic::{Code, Diagnostic};
use heddle_ir::entity::{Entity as _, PrimaryMap};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

heddle_ir::entity! {
    /// Register of a body.
    pub(crate) Reg, "reg"
}

heddle_ir::entity! {
    /// Label of a body.
    pub(crate) Label, "label"
}

/// Maximum nesting of blocks in braces.
const MAX_DEPTH: usize = 256;

/// Top-level item, by its index in the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GlobalRef {
    Variable(usize),
    Function(usize),
}

/// Reference to a variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum VarRef {
    /// Variable of the module, by its index among the items.
    Module(usize),
    /// Variable of the body.
    Local(u32),
}

/// Special register: position in the launch, or state of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SpecialRegister {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    Laneid,
    Warpid,
    Nwarpid,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    Clock,
    ClockHi,
    Clock64,
    Smid,
    Nsmid,
    Gridid,
    DynamicSharedSize,
    TotalSharedSize,
    /// Half of the address of the workspace of a cooperative launch.
    Workspace {
        is_high: bool,
    },
    WarpSize,
    /// A number: what is the same in all launches on this device.
    Fixed(u32),
}

/// Resolved operand.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum ResolvedOperand {
    Reg(Reg),
    /// Negated predicate.
    Not(Reg),
    /// `_`
    Sink,
    Number(NumberValue),
    Special(SpecialRegister),
    Vector(Vec<ResolvedOperand>),
    /// Two destinations; none for `_`.
    Pair(Option<Reg>, Option<Reg>),
    /// Address of a variable, and an addend.
    Variable(VarRef, i64),
    Address {
        base: Box<ResolvedOperand>,
        offset: i64,
    },
    Label(Label),
    /// Function, by its index among the items.
    Function(usize),
    List(Vec<ResolvedOperand>),
    /// Labels of an indirect branch.
    Targets(Vec<Label>),
    /// Prototype of an indirect call, by its index in the body.
    Prototype(usize),
}

/// Prototype of an indirect call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallPrototype<'a, 's> {
    pub(crate) returns: &'a [PtxVariable<'s>],
    pub(crate) params: &'a [PtxVariable<'s>],
}

/// Resolved instruction.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ResolvedInst {
    /// Offset in the source.
    pub(crate) at: usize,
    pub(crate) form: u16,
    pub(crate) guard: Option<(Reg, bool)>,
    pub(crate) words: SmallVec<[Word; 6]>,
    pub(crate) args: SmallVec<[ResolvedOperand; 4]>,
    /// File, line and column from `.loc`.
    pub(crate) loc: Option<[u32; 3]>,
}

/// Resolved statement of a body.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum ResolvedStatement {
    Label(Label),
    Inst(ResolvedInst),
}

/// Location of a parameter or result: a register, or a variable of the parameter space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ParamLocation {
    Reg(Reg),
    Var(u32),
}

/// Resolved body.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedBody<'a, 's> {
    pub(crate) function: &'a PtxFunction<'s>,
    pub(crate) results: Vec<ParamLocation>,
    pub(crate) params: Vec<ParamLocation>,
    /// Type of each register.
    pub(crate) regs: PrimaryMap<Reg, Word>,
    /// Variables: results and parameters first, then local declarations.
    pub(crate) vars: Vec<&'a PtxVariable<'s>>,
    pub(crate) prototypes: Vec<CallPrototype<'a, 's>>,
    pub(crate) labels: usize,
    pub(crate) steps: Vec<ResolvedStatement>,
}

/// Scope of the module's names.
#[derive(Debug)]
pub(crate) struct GlobalScope {
    pub(crate) by_name: FxHashMap<Symbol, GlobalRef>,
}

impl GlobalScope {
    /// Collects the names; a definition takes precedence over declarations.
    pub(crate) fn new(module: &PtxModule<'_>) -> GlobalScope {
        let mut by_name: FxHashMap<Symbol, GlobalRef> = FxHashMap::default();
        for (index, item) in module.items.iter().enumerate() {
            match item {
                PtxItem::Variable(variable) => {
                    let first = by_name.entry(variable.name).or_insert(GlobalRef::Variable(index));
                    if matches!(*first, GlobalRef::Variable(first) if module.items[first].is_extern()) {
                        *first = GlobalRef::Variable(index);
                    }
                }
                PtxItem::Function(function) if function.body.is_some() => {
                    by_name.insert(function.name, GlobalRef::Function(index));
                }
                PtxItem::Function(function) => {
                    by_name.entry(function.name).or_insert(GlobalRef::Function(index));
                }
                _ => {}
            }
        }
        GlobalScope { by_name }
    }
}

/// Checks all bodies of a module.
pub fn check(module: &PtxModule<'_>) -> Result<(), Vec<Diagnostic>> {
    let globals = GlobalScope::new(module);
    let mut errors = Vec::new();
    for item in &module.items {
        if let PtxItem::Function(function) = item
            && function.body.is_some()
            && errors.len() < MAX_ERRORS
            && let Err(more) = resolve(module, &globals, function)
        {
            errors.extend(more);
        }
    }
    errors.truncate(MAX_ERRORS);
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

#[derive(Clone)]
enum LocalDef {
    Reg(Reg),
    Range(u32),
    Var(u32),
    Targets(Vec<Symbol>),
    Prototype(usize),
}

struct BodyResolver<'a, 's> {
    module: &'a PtxModule<'s>,
    globals: &'a GlobalScope,
    body: ResolvedBody<'a, 's>,
    defs: FxHashMap<Symbol, LocalDef>,
    /// Definitions shadowed by the open blocks, innermost last.
    shadowed: Vec<(Symbol, Option<LocalDef>)>,
    /// Start in `shadowed` and number of each open block.
    scopes: Vec<(usize, u32)>,
    ranges: Vec<(Word, u64)>,
    range_regs: FxHashMap<(u32, u64), Reg>,
    labels: FxHashMap<(u32, Symbol), Label>,
    errors: Vec<Diagnostic>,
}

/// Returns the range of an instruction in the source, up to its semicolon.
pub(crate) fn span(source: &str, at: usize) -> std::ops::Range<usize> {
    let length = source.as_bytes()[at..].iter().position(|byte| matches!(byte, b';' | b'\n'));
    at..at + length.unwrap_or(1).max(1)
}

/// Resolves the names of a body.
pub(crate) fn resolve<'a, 's>(
    module: &'a PtxModule<'s>,
    globals: &'a GlobalScope,
    function: &'a PtxFunction<'s>,
) -> Result<ResolvedBody<'a, 's>, Vec<Diagnostic>> {
    let body = ResolvedBody {
        function,
        results: Vec::new(),
        params: Vec::new(),
        regs: PrimaryMap::new(),
        vars: Vec::new(),
        prototypes: Vec::new(),
        labels: 0,
        steps: Vec::new(),
    };
    let mut resolver = BodyResolver {
        module,
        globals,
        body,
        defs: FxHashMap::default(),
        shadowed: Vec::new(),
        scopes: Vec::new(),
        ranges: Vec::new(),
        range_regs: FxHashMap::default(),
        labels: FxHashMap::default(),
        errors: Vec::new(),
    };
    let statements = function.body.as_deref().unwrap_or_default();
    for variable in &function.returns {
        let location = resolver.declare(variable);
        resolver.body.results.extend(location);
    }
    for variable in &function.params {
        let location = resolver.declare(variable);
        resolver.body.params.extend(location);
    }
    // Later errors may follow from an instruction that is missing.
    let unknown = statements.iter().filter_map(|statement| match statement {
        PtxStatement::Unknown { at, text, reason } => Some((*at..at + text.len(), reason)),
        _ => None,
    });
    // Each location costs time linear in the source, so their number is bounded.
    for (span, reason) in unknown.take(MAX_ERRORS) {
        let error = Diagnostic::error(Code::NotImported, reason.clone())
            .in_text(module.source.as_bytes(), span)
            .of_func(module.names.text(function.name));
        resolver.errors.push(error);
    }
    resolver.collect_labels(statements);
    resolver.run(statements);
    if resolver.errors.is_empty() { Ok(resolver.body) } else { Err(resolver.errors) }
}

impl<'a, 's> BodyResolver<'a, 's> {
    fn error(&mut self, at: usize, text: impl Into<String>) {
        if self.errors.len() < MAX_ERRORS {
            let name = self.module.names.text(self.body.function.name);
            let mut error = Diagnostic::error(Code::Syntax, text)
                .in_text(self.module.source.as_bytes(), span(self.module.source, at));
            error.place.func = Some(name.into());
            self.errors.push(error);
        }
    }

    fn text(&self, symbol: Symbol) -> &'s str {
        self.module.names.text(symbol)
    }

    /// Returns the size of an element of a variable, in bytes.
    fn element_bytes(&self, var: VarRef) -> i64 {
        let of = |variable: &PtxVariable<'_>| {
            let element = PtxVariable { dims: SmallVec::new(), init: None, ..variable.clone() };
            element.bytes().map_or(1, |bytes| bytes as i64)
        };
        match var {
            VarRef::Local(index) => self.body.vars.get(index as usize).map_or(1, |variable| of(variable)),
            VarRef::Module(index) => match self.module.items.get(index) {
                Some(PtxItem::Variable(variable)) => of(variable),
                _ => 1,
            },
        }
    }

    fn define(&mut self, name: Symbol, def: LocalDef) {
        let before = self.defs.insert(name, def);
        self.shadowed.push((name, before));
    }

    /// Declares the labels. A label is visible in its whole block, also before its position.
    fn collect_labels(&mut self, statements: &[PtxStatement<'_>]) {
        let mut open = vec![0u32];
        let mut blocks = 0;
        for statement in statements {
            match statement {
                PtxStatement::Open => {
                    blocks += 1;
                    open.push(blocks);
                }
                PtxStatement::Close => {
                    open.pop();
                }
                PtxStatement::Label(name, at) => {
                    let block = open.last().copied().unwrap_or(0);
                    let label = Label::new(self.body.labels);
                    self.body.labels += 1;
                    if self.labels.insert((block, *name), label).is_some() {
                        let name = self.text(*name);
                        self.error(*at, format!("label `{name}` is already defined"));
                    }
                }
                _ => {}
            }
        }
    }

    fn label(&self, name: Symbol) -> Option<Label> {
        let inner = self.scopes.iter().rev().map(|&(_, block)| block);
        inner.chain([0]).find_map(|block| self.labels.get(&(block, name)).copied())
    }

    /// Declares a variable. A range of registers has no single location.
    fn declare(&mut self, variable: &'a PtxVariable<'s>) -> Option<ParamLocation> {
        if variable.space == Word::Reg {
            if variable.vector.is_some() || !variable.dims.is_empty() {
                self.error(variable.at, "a register holds one number: declare one for each component");
            }
            match variable.range {
                Some(count) => {
                    let range = self.ranges.len() as u32;
                    self.ranges.push((variable.ty, count));
                    self.define(variable.name, LocalDef::Range(range));
                    return None;
                }
                None => {
                    let reg = self.body.regs.push(variable.ty);
                    self.define(variable.name, LocalDef::Reg(reg));
                    return Some(ParamLocation::Reg(reg));
                }
            }
        }
        let index = self.body.vars.len() as u32;
        self.body.vars.push(variable);
        self.define(variable.name, LocalDef::Var(index));
        Some(ParamLocation::Var(index))
    }

    fn run(&mut self, statements: &'a [PtxStatement<'s>]) {
        let mut blocks = 0;
        let mut loc = None;
        for statement in statements {
            if self.errors.len() >= MAX_ERRORS {
                return;
            }
            match statement {
                PtxStatement::Open => {
                    blocks += 1;
                    if self.scopes.len() >= MAX_DEPTH {
                        self.error(
                            self.body.function.at,
                            format!("blocks are nested deeper than {MAX_DEPTH}"),
                        );
                        return;
                    }
                    self.scopes.push((self.shadowed.len(), blocks));
                }
                PtxStatement::Close => {
                    if let Some((start, _)) = self.scopes.pop() {
                        for (name, before) in self.shadowed.drain(start..).rev() {
                            match before {
                                Some(def) => self.defs.insert(name, def),
                                None => self.defs.remove(&name),
                            };
                        }
                    }
                }
                PtxStatement::Label(name, _) => {
                    if let Some(label) = self.label(*name) {
                        self.body.steps.push(ResolvedStatement::Label(label));
                    }
                }
                PtxStatement::Variable(variable) => {
                    self.declare(variable);
                }
                PtxStatement::Targets { name, calls: false, list, .. } => {
                    self.define(*name, LocalDef::Targets(list.clone()));
                }
                PtxStatement::Targets { at, name, list, .. } => match self.prototype_of(list) {
                    Some(prototype) => self.define_prototype(*name, prototype),
                    None => {
                        let name = self.text(*name);
                        self.error(*at, format!("`{name}` names no function of the module"));
                    }
                },
                PtxStatement::Prototype { name, returns, params, .. } => {
                    self.define_prototype(*name, CallPrototype { returns, params });
                }
                PtxStatement::Loc { place, .. } => {
                    loc = Some(place.map(|number| u32::try_from(number).unwrap_or(0)));
                }
                PtxStatement::Pragma(_) | PtxStatement::Unknown { .. } => {}
                PtxStatement::Instruction(instruction) => self.instruction(instruction, loc),
            }
        }
    }

    fn define_prototype(&mut self, name: Symbol, prototype: CallPrototype<'a, 's>) {
        self.define(name, LocalDef::Prototype(self.body.prototypes.len()));
        self.body.prototypes.push(prototype);
    }

    /// Returns the prototype of the first function in a list of call targets.
    fn prototype_of(&self, targets: &[Symbol]) -> Option<CallPrototype<'a, 's>> {
        let GlobalRef::Function(index) = *self.globals.by_name.get(targets.first()?)? else { return None };
        let PtxItem::Function(function) = &self.module.items[index] else { return None };
        Some(CallPrototype { returns: &function.returns, params: &function.params })
    }

    fn register(&mut self, name: Symbol) -> Option<Reg> {
        match self.defs.get(&name) {
            Some(LocalDef::Reg(reg)) => return Some(*reg),
            Some(_) => return None,
            None => {}
        }
        let text = self.text(name);
        let prefix = text.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = &text[prefix.len()..];
        // Digits may belong to the prefix: `%f3<2>` declares `%f30` and `%f31`.
        for cut in 0..digits.len().min(20) {
            let number = &digits[cut..];
            if number.len() > 1 && number.starts_with('0') {
                continue;
            }
            let Some(LocalDef::Range(range)) =
                self.module.names.find(&text[..prefix.len() + cut]).and_then(|name| self.defs.get(&name))
            else {
                continue;
            };
            let (range, number) = (*range, number.parse::<u64>().ok()?);
            let (ty, count) = self.ranges[range as usize];
            if number < count {
                let regs = &mut self.body.regs;
                return Some(*self.range_regs.entry((range, number)).or_insert_with(|| regs.push(ty)));
            }
        }
        None
    }

    fn instruction(&mut self, instruction: &PtxInstruction<'s>, loc: Option<[u32; 3]>) {
        let at = instruction.at;
        let form = &table::FORMS[usize::from(instruction.form)];
        let mut guard = None;
        if let Some(source) = instruction.guard {
            match self.register(source.register) {
                Some(reg) if self.body.regs[reg] == Word::Pred => guard = Some((reg, source.negated)),
                _ => {
                    let name = self.text(source.register);
                    self.error(at, format!("`{name}` is not a predicate register"));
                }
            }
        }
        let words: SmallVec<[Word; 6]> =
            instruction.modifiers.iter().filter_map(|symbol| symbol.word()).collect();
        let mut args = SmallVec::new();
        if form.is_supported() {
            for operand in &instruction.operands {
                match self.operand(operand) {
                    Ok(arg) => args.push(arg),
                    Err(text) => {
                        self.error(at, text);
                        return;
                    }
                }
            }
            if let Err(text) = self.check_operands(instruction, &words, &args) {
                self.error(at, text);
            }
        }
        self.body.steps.push(ResolvedStatement::Inst(ResolvedInst {
            at,
            form: instruction.form,
            guard,
            words,
            args,
            loc,
        }));
    }

    fn operand(&mut self, operand: &PtxOperand<'s>) -> Result<ResolvedOperand, String> {
        let int = |value: NumberValue| match value {
            NumberValue::Int(value) => Ok(value as i64),
            _ => Err("an offset is an integer".to_string()),
        };
        Ok(match operand {
            PtxOperand::Name(name) => self.named(*name)?,
            PtxOperand::Number(number) => ResolvedOperand::Number(number.value),
            PtxOperand::Not(name) => match self.register(*name) {
                Some(reg) => ResolvedOperand::Not(reg),
                None => return Err(format!("`{}` is not a predicate register", self.text(*name))),
            },
            PtxOperand::Pair(first, second) => {
                let mut one = |name: Symbol| match self.register(name) {
                    Some(reg) => Ok(Some(reg)),
                    None if self.module.names.text(name) == "_" => Ok(None),
                    None => Err(format!("`{}` is not a register", self.module.names.text(name))),
                };
                ResolvedOperand::Pair(one(*first)?, one(*second)?)
            }
            PtxOperand::Component(name, component) => {
                let dimension = match component.word() {
                    Some(Word::X) => 0,
                    Some(Word::Y) => 1,
                    Some(Word::Z) => 2,
                    _ => 3,
                };
                let (name, component) = (self.text(*name), self.text(*component));
                let special = match name {
                    "%tid" => SpecialRegister::Tid(dimension),
                    "%ntid" => SpecialRegister::Ntid(dimension),
                    "%ctaid" => SpecialRegister::Ctaid(dimension),
                    "%nctaid" => SpecialRegister::Nctaid(dimension),
                    // A cluster is one block.
                    "%clusterid" => SpecialRegister::Ctaid(dimension),
                    "%nclusterid" => SpecialRegister::Nctaid(dimension),
                    "%cluster_ctaid" => SpecialRegister::Fixed(0),
                    "%cluster_nctaid" => SpecialRegister::Fixed(1),
                    _ => {
                        return Err(format!("unsupported special register `{name}.{component}`"));
                    }
                };
                if dimension == 3 {
                    return Err(format!("`{name}` has components x, y and z, not `{component}`"));
                }
                ResolvedOperand::Special(special)
            }
            PtxOperand::Sum(name, number) => match self.named(*name)? {
                ResolvedOperand::Variable(var, offset) => {
                    ResolvedOperand::Variable(var, offset.wrapping_add(int(number.value)?))
                }
                _ => return Err(format!("`{}` is not a variable, so it takes no offset", self.text(*name))),
            },
            PtxOperand::Element(name, number) => match self.named(*name)? {
                ResolvedOperand::Variable(var, offset) => {
                    let size = self.element_bytes(var);
                    ResolvedOperand::Variable(var, offset.wrapping_add(int(number.value)?.wrapping_mul(size)))
                }
                _ => return Err(format!("`{}` is not a variable, so it has no elements", self.text(*name))),
            },
            // A vector of one element is that element: Triton emits such.
            PtxOperand::Vector(parts) if parts.len() == 1 => self.operand(&parts[0])?,
            PtxOperand::Vector(parts) => ResolvedOperand::Vector(
                parts.iter().map(|part| self.operand(part)).collect::<Result<_, _>>()?,
            ),
            PtxOperand::List(parts) => {
                ResolvedOperand::List(parts.iter().map(|part| self.operand(part)).collect::<Result<_, _>>()?)
            }
            PtxOperand::Address { base, offset, more } => {
                if !more.is_empty() {
                    // A texture or surface, and its coordinates.
                    let [PtxOperand::Vector(at)] = &more[..] else {
                        return Err("coordinates are a vector in braces".into());
                    };
                    let parts = std::iter::once(&**base).chain(at);
                    let parts = parts.map(|part| self.operand(part)).collect::<Result<_, _>>()?;
                    return Ok(ResolvedOperand::Vector(parts));
                }
                let base = Box::new(self.operand(base)?);
                let offset = offset.map_or(Ok(0), |number| int(number.value))?;
                ResolvedOperand::Address { base, offset }
            }
        })
    }

    fn named(&mut self, name: Symbol) -> Result<ResolvedOperand, String> {
        if let Some(reg) = self.register(name) {
            return Ok(ResolvedOperand::Reg(reg));
        }
        match self.defs.get(&name) {
            Some(LocalDef::Var(index)) => return Ok(ResolvedOperand::Variable(VarRef::Local(*index), 0)),
            Some(LocalDef::Targets(list)) => {
                let list = list.clone();
                let labels: Option<Vec<Label>> = list.iter().map(|&name| self.label(name)).collect();
                return labels
                    .map(ResolvedOperand::Targets)
                    .ok_or_else(|| format!("`{}` names labels, but the function has none", self.text(name)));
            }
            Some(LocalDef::Prototype(index)) => return Ok(ResolvedOperand::Prototype(*index)),
            Some(LocalDef::Range(_)) => {
                return Err(format!(
                    "`{}` is a range of registers: write one of them, with its number",
                    self.text(name)
                ));
            }
            Some(LocalDef::Reg(_)) | None => {}
        }
        if let Some(label) = self.label(name) {
            return Ok(ResolvedOperand::Label(label));
        }
        match self.globals.by_name.get(&name) {
            Some(GlobalRef::Variable(index)) => {
                return Ok(ResolvedOperand::Variable(VarRef::Module(*index), 0));
            }
            Some(GlobalRef::Function(index)) => return Ok(ResolvedOperand::Function(*index)),
            None => {}
        }
        Ok(ResolvedOperand::Special(match self.text(name) {
            "_" => return Ok(ResolvedOperand::Sink),
            "%laneid" => SpecialRegister::Laneid,
            "%warpid" => SpecialRegister::Warpid,
            "%nwarpid" => SpecialRegister::Nwarpid,
            "%lanemask_eq" => SpecialRegister::LanemaskEq,
            "%lanemask_le" => SpecialRegister::LanemaskLe,
            "%lanemask_lt" => SpecialRegister::LanemaskLt,
            "%lanemask_ge" => SpecialRegister::LanemaskGe,
            "%lanemask_gt" => SpecialRegister::LanemaskGt,
            "%clock" | "%clock_lo" => SpecialRegister::Clock,
            "%clock_hi" => SpecialRegister::ClockHi,
            "%clock64" | "%globaltimer" => SpecialRegister::Clock64,
            "%globaltimer_lo" => SpecialRegister::Clock,
            "%globaltimer_hi" => SpecialRegister::ClockHi,
            "%smid" => SpecialRegister::Smid,
            "%nsmid" => SpecialRegister::Nsmid,
            "%gridid" => SpecialRegister::Gridid,
            "%dynamic_smem_size" => SpecialRegister::DynamicSharedSize,
            "%total_smem_size" | "%aggr_smem_size" => SpecialRegister::TotalSharedSize,
            "%envreg1" => SpecialRegister::Workspace { is_high: true },
            "%envreg2" => SpecialRegister::Workspace { is_high: false },
            "WARP_SZ" => SpecialRegister::WarpSize,
            "%cluster_nctarank" => SpecialRegister::Fixed(1),
            "%cluster_ctarank" | "%is_explicit_cluster" | "%current_graph_exec" => SpecialRegister::Fixed(0),
            "%reserved_smem_offset_begin" | "%reserved_smem_offset_0" | "%reserved_smem_offset_1" => {
                SpecialRegister::Fixed(0)
            }
            "%reserved_smem_offset_end" | "%reserved_smem_offset_cap" => {
                SpecialRegister::Fixed(RESERVED_BYTES)
            }
            counter if is_unset(counter) => SpecialRegister::Fixed(0),
            other => return Err(format!("undeclared name `{other}`")),
        }))
    }

    // Types.

    fn check_operands(
        &self,
        instruction: &PtxInstruction<'_>,
        words: &[Word],
        args: &[ResolvedOperand],
    ) -> Result<(), String> {
        let specs = table::specs(instruction.form);
        let loose = matches!(self.text(instruction.mnemonic), "ld" | "ldu" | "st" | "cvt" | "mov");
        let types: SmallVec<[Word; 3]> = words.iter().copied().filter(|word| word.is_type()).collect();
        let count = specs.len();
        for (index, spec) in specs.iter().enumerate() {
            if spec.role == OperandRole::Rest {
                return Ok(());
            }
            let Some(arg) = args.get(index) else {
                if spec.optional {
                    continue;
                }
                return Err(format!("{} operands, at least {count} expected", args.len()));
            };
            self.check_operand(spec, arg, words, &types, loose)
                .map_err(|reason| format!("operand {} does not fit: {reason}", index + 1))?;
        }
        if args.len() > count {
            return Err(format!("{} operands, at most {count} expected", args.len()));
        }
        Ok(())
    }

    fn check_operand(
        &self,
        spec: &OperandSpec,
        arg: &ResolvedOperand,
        words: &[Word],
        types: &[Word],
        loose: bool,
    ) -> Result<(), String> {
        let resolve = |of: OperandType| match of {
            OperandType::Last => types.last().copied(),
            OperandType::First => types.first().copied(),
            OperandType::Second => types.get(1).or(types.last()).copied(),
            OperandType::Wide => types.last().map(|&ty| wide(ty)),
            OperandType::Fixed(ty) => Some(ty),
            OperandType::Any => None,
        };
        match spec.role {
            OperandRole::Value(of) => self.check_value(resolve(of), arg, spec.is_dest, loose),
            OperandRole::WithPredicate(of) => match arg {
                ResolvedOperand::Pair(first, second) => {
                    if second.is_some_and(|reg| self.body.regs[reg] != Word::Pred) {
                        return Err("the operand after `|` is not a predicate".into());
                    }
                    first.map_or(Ok(()), |reg| {
                        self.check_value(resolve(of), &ResolvedOperand::Reg(reg), true, loose)
                    })
                }
                _ => self.check_value(resolve(of), arg, true, loose),
            },
            OperandRole::Predicate => match arg {
                ResolvedOperand::Not(reg) | ResolvedOperand::Reg(reg)
                    if self.body.regs[*reg] == Word::Pred =>
                {
                    if spec.is_dest && matches!(arg, ResolvedOperand::Not(_)) {
                        return Err("a destination is not negated".into());
                    }
                    Ok(())
                }
                ResolvedOperand::Sink if spec.is_dest => Ok(()),
                ResolvedOperand::Number(NumberValue::Int(_)) if !spec.is_dest => Ok(()),
                _ => Err("not a predicate".into()),
            },
            OperandRole::Vector => {
                let lanes = match words.iter().find(|word| matches!(word, Word::V2 | Word::V4 | Word::V8)) {
                    Some(Word::V2) => Some(2),
                    Some(Word::V4) => Some(4),
                    Some(_) => Some(8),
                    None => None,
                };
                match (lanes, arg) {
                    (Some(lanes), ResolvedOperand::Vector(parts)) if parts.len() == lanes => {
                        parts.iter().try_for_each(|part| {
                            self.check_value(types.last().copied(), part, spec.is_dest, true)
                        })
                    }
                    (Some(lanes), _) => Err(format!("not a vector of {lanes} registers")),
                    (None, _) => self.check_value(types.last().copied(), arg, spec.is_dest, true),
                }
            }
            OperandRole::Memory => match arg {
                ResolvedOperand::Address { base, .. } => match &**base {
                    ResolvedOperand::Reg(reg)
                        if !self.body.regs[*reg].is_float() && self.body.regs[*reg].bits() >= Some(32) =>
                    {
                        Ok(())
                    }
                    ResolvedOperand::Variable(..) | ResolvedOperand::Number(NumberValue::Int(_)) => Ok(()),
                    _ => Err("an address is a variable or an integer register of 32 or 64 bits".into()),
                },
                _ => Err("not an address in brackets".into()),
            },
            OperandRole::Texel => match arg {
                ResolvedOperand::Vector(parts) => match &parts[0] {
                    ResolvedOperand::Reg(reg) if self.body.regs[*reg].bits() == Some(64) => Ok(()),
                    ResolvedOperand::Variable(..) => Ok(()),
                    _ => Err("a texture or surface is a register of 64 bits".into()),
                },
                _ => Err("not a texture or surface with coordinates in brackets".into()),
            },
            OperandRole::Constant => match arg {
                ResolvedOperand::Number(NumberValue::Int(_)) => Ok(()),
                _ => Err("not an integer constant".into()),
            },
            OperandRole::Label => match arg {
                ResolvedOperand::Label(_) => Ok(()),
                _ => Err("not a label of this function".into()),
            },
            OperandRole::Rest => Ok(()),
        }
    }

    fn check_value(
        &self,
        ty: Option<Word>,
        arg: &ResolvedOperand,
        is_dest: bool,
        loose: bool,
    ) -> Result<(), String> {
        match arg {
            ResolvedOperand::Reg(reg) => {
                let has = self.body.regs[*reg];
                match ty {
                    Some(ty) if !is_compatible(has, ty, loose) => {
                        Err(format!("a register of type .{has} for an instruction of type .{ty}"))
                    }
                    _ => Ok(()),
                }
            }
            ResolvedOperand::Sink if is_dest => Ok(()),
            ResolvedOperand::Not(reg)
                if !is_dest && self.body.regs[*reg] == Word::Pred && ty.is_none_or(|ty| ty == Word::Pred) =>
            {
                Ok(())
            }
            _ if is_dest && !matches!((ty, arg), (None, ResolvedOperand::Vector(_))) => {
                Err("not a register".into())
            }
            ResolvedOperand::Number(_) => Ok(()),
            ResolvedOperand::Special(_)
            | ResolvedOperand::Variable(..)
            | ResolvedOperand::Vector(_)
            | ResolvedOperand::Function(_)
                if loose || ty.is_none() =>
            {
                Ok(())
            }
            ResolvedOperand::Special(SpecialRegister::WarpSize) => Ok(()),
            ResolvedOperand::Targets(_) if ty.is_none() => Ok(()),
            _ => Err("neither a register nor a constant".into()),
        }
    }
}

/// True for performance counters, `%pm0` to `%pm7` and their halves, and for registers of the environment, `%envreg0` to `%envreg31`,
/// that nothing sets.
fn is_unset(name: &str) -> bool {
    let digits =
        |text: &str| text.parse::<u32>().is_ok_and(|number| text == number.to_string() && number < 32);
    let counter = name.strip_prefix("%pm").map(|text| text.strip_suffix("_64").unwrap_or(text));
    counter.is_some_and(|text| digits(text) && text.len() == 1 && text < "8")
        || name.strip_prefix("%envreg").is_some_and(digits)
}

/// Returns the integer type of twice the width.
pub(crate) fn wide(ty: Word) -> Word {
    match ty {
        Word::U16 => Word::U32,
        Word::S16 => Word::S32,
        Word::U32 => Word::U64,
        Word::S32 => Word::S64,
        other => other,
    }
}

/// True if a register of type `has` is compatible with an operand of type `ty`.
fn is_compatible(has: Word, ty: Word, loose: bool) -> bool {
    let (Some(has_bits), Some(bits)) = (has.bits(), ty.bits()) else { return false };
    if (has == Word::Pred) != (ty == Word::Pred) {
        return false;
    }
    if loose {
        return has_bits >= bits || bits == 128;
    }
    let is_single = |ty: Word| matches!(ty, Word::F32 | Word::F64);
    has_bits == bits && (has.is_untyped() || ty.is_untyped() || is_single(has) == is_single(ty))
}
