//! What names mean: registers, variables, labels and functions of each body, with the types that the table asks for.
//!
//! Ensures: every operand of an instruction that is taken is one that its form allows, of a fitting type.

use crate::module::{Function, Instruction, Item, NumberValue, Operand, PtxModule, Statement, Variable};
use crate::names::Symbol;
use crate::parser::MOST_ERRORS;
use crate::table::{self, Role, Spec, TypeOf, Verdict};
use crate::words::Word;
use heddle_ir::diagnostic::{Code, Diagnostic};
use heddle_ir::entity::{Entity as _, PrimaryMap};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

heddle_ir::entity! {
    /// A register of a body.
    pub(crate) Reg, "reg"
}

heddle_ir::entity! {
    /// A label of a body.
    pub(crate) Label, "label"
}

/// The deepest that blocks in braces nest.
const DEEPEST: usize = 256;

/// Something at the top of a module, by its place in the list of items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Global {
    Variable(usize),
    Function(usize),
}

/// A variable that an instruction names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Var {
    /// One of the module, by its place in the list of items.
    Module(usize),
    /// One of the body.
    Local(u32),
}

/// Registers that tell of the place in the launch and of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Special {
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
    /// Half of the address of what the blocks of a launch share to wait for each other.
    Workspace {
        is_high: bool,
    },
    WarpSize,
}

/// An operand, resolved.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Arg {
    Reg(Reg),
    /// The negated predicate.
    Not(Reg),
    /// `_`
    Sink,
    Number(NumberValue),
    Special(Special),
    Vector(Vec<Arg>),
    /// Two destinations; none is `_`.
    Pair(Option<Reg>, Option<Reg>),
    /// The address of a variable, and what is added.
    Variable(Var, i64),
    Address {
        base: Box<Arg>,
        offset: i64,
    },
    Label(Label),
    /// A function, by its place in the list of items.
    Function(usize),
    List(Vec<Arg>),
    /// Labels of an indirect branch.
    Targets(Vec<Label>),
    /// What only a refused instruction has.
    Other,
}

/// An instruction, resolved.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Inst {
    /// Where it starts in the source.
    pub(crate) at: usize,
    pub(crate) form: u16,
    pub(crate) guard: Option<(Reg, bool)>,
    pub(crate) words: SmallVec<[Word; 6]>,
    pub(crate) args: SmallVec<[Arg; 4]>,
    /// The place that `.loc` tells: file, line, column.
    pub(crate) loc: Option<[u32; 3]>,
}

/// What stands in a body.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Step {
    Label(Label),
    Inst(Inst),
}

/// Where a parameter or a result is: in a register, or in a variable of its own space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Reg(Reg),
    Var(u32),
}

/// A body, resolved.
#[derive(Clone, Debug)]
pub(crate) struct Body<'a, 's> {
    pub(crate) function: &'a Function<'s>,
    pub(crate) results: Vec<Place>,
    pub(crate) params: Vec<Place>,
    /// The type of each register.
    pub(crate) regs: PrimaryMap<Reg, Word>,
    /// The variables of the body: first results and parameters, then what is declared within.
    pub(crate) vars: Vec<&'a Variable<'s>>,
    pub(crate) labels: usize,
    pub(crate) steps: Vec<Step>,
}

/// What a module's names mean.
#[derive(Debug)]
pub(crate) struct Globals {
    pub(crate) by_name: FxHashMap<Symbol, Global>,
}

impl Globals {
    /// Definitions come before declarations of the same name.
    pub(crate) fn new(module: &PtxModule<'_>) -> Globals {
        let mut by_name: FxHashMap<Symbol, Global> = FxHashMap::default();
        for (index, item) in module.items.iter().enumerate() {
            match item {
                Item::Variable(variable) => {
                    by_name.entry(variable.name).or_insert(Global::Variable(index));
                }
                Item::Function(function) if function.body.is_some() => {
                    by_name.insert(function.name, Global::Function(index));
                }
                Item::Function(function) => {
                    by_name.entry(function.name).or_insert(Global::Function(index));
                }
                _ => {}
            }
        }
        Globals { by_name }
    }
}

/// Checks all bodies of a module.
pub fn check(module: &PtxModule<'_>) -> Result<(), Vec<Diagnostic>> {
    let globals = Globals::new(module);
    let mut errors = Vec::new();
    for item in &module.items {
        if let Item::Function(function) = item
            && function.body.is_some()
            && errors.len() < MOST_ERRORS
            && let Err(more) = resolve(module, &globals, function)
        {
            errors.extend(more);
        }
    }
    errors.truncate(MOST_ERRORS);
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

#[derive(Clone)]
enum Def {
    Reg(Reg),
    Range(u32),
    Var(u32),
    Targets(Vec<Symbol>),
    Prototype,
}

struct Resolver<'a, 's> {
    module: &'a PtxModule<'s>,
    globals: &'a Globals,
    body: Body<'a, 's>,
    defs: FxHashMap<Symbol, Def>,
    /// What names meant outside of the block that is open, block by block.
    hidden: Vec<(Symbol, Option<Def>)>,
    /// For each open block the start of its part of `hidden`, and its number.
    scopes: Vec<(usize, u32)>,
    ranges: Vec<(Word, u64)>,
    ranged: FxHashMap<(u32, u64), Reg>,
    labels: FxHashMap<(u32, Symbol), Label>,
    errors: Vec<Diagnostic>,
}

/// The part of the source that an instruction is, to its semicolon.
pub(crate) fn span(source: &str, at: usize) -> std::ops::Range<usize> {
    let length = source.as_bytes()[at..].iter().position(|byte| matches!(byte, b';' | b'\n'));
    at..at + length.unwrap_or(1).max(1)
}

/// Finds out what the names of a body mean.
pub(crate) fn resolve<'a, 's>(
    module: &'a PtxModule<'s>,
    globals: &'a Globals,
    function: &'a Function<'s>,
) -> Result<Body<'a, 's>, Vec<Diagnostic>> {
    let body = Body {
        function,
        results: Vec::new(),
        params: Vec::new(),
        regs: PrimaryMap::new(),
        vars: Vec::new(),
        labels: 0,
        steps: Vec::new(),
    };
    let mut resolver = Resolver {
        module,
        globals,
        body,
        defs: FxHashMap::default(),
        hidden: Vec::new(),
        scopes: Vec::new(),
        ranges: Vec::new(),
        ranged: FxHashMap::default(),
        labels: FxHashMap::default(),
        errors: Vec::new(),
    };
    let statements = function.body.as_deref().unwrap_or_default();
    for variable in &function.returns {
        let place = resolver.declare(variable);
        resolver.body.results.extend(place);
    }
    for variable in &function.params {
        let place = resolver.declare(variable);
        resolver.body.params.extend(place);
    }
    resolver.collect_labels(statements);
    resolver.run(statements);
    if resolver.errors.is_empty() { Ok(resolver.body) } else { Err(resolver.errors) }
}

impl<'a, 's> Resolver<'a, 's> {
    fn error(&mut self, at: usize, text: impl Into<String>) {
        if self.errors.len() < MOST_ERRORS {
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

    /// The bytes of an element of a variable.
    fn element_bytes(&self, var: Var) -> i64 {
        let of = |variable: &Variable<'_>| {
            let element = Variable { dims: SmallVec::new(), init: None, ..variable.clone() };
            element.bytes().map_or(1, |bytes| bytes as i64)
        };
        match var {
            Var::Local(index) => self.body.vars.get(index as usize).map_or(1, |variable| of(variable)),
            Var::Module(index) => match self.module.items.get(index) {
                Some(Item::Variable(variable)) => of(variable),
                _ => 1,
            },
        }
    }

    fn define(&mut self, name: Symbol, def: Def) {
        let before = self.defs.insert(name, def);
        self.hidden.push((name, before));
    }

    /// Labels are known in the whole block that they stand in, before them too.
    fn collect_labels(&mut self, statements: &[Statement<'_>]) {
        let mut open = vec![0u32];
        let mut blocks = 0;
        for statement in statements {
            match statement {
                Statement::Open => {
                    blocks += 1;
                    open.push(blocks);
                }
                Statement::Close => {
                    open.pop();
                }
                Statement::Label(name, at) => {
                    let block = open.last().copied().unwrap_or(0);
                    let label = Label::new(self.body.labels);
                    self.body.labels += 1;
                    if self.labels.insert((block, *name), label).is_some() {
                        let name = self.text(*name);
                        self.error(*at, format!("there is a label `{name}` already"));
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

    /// Makes a variable known. A row of registers is in no one place.
    fn declare(&mut self, variable: &'a Variable<'s>) -> Option<Place> {
        if variable.space == Word::Reg {
            if variable.vector.is_some() || !variable.dims.is_empty() {
                self.error(variable.at, "a register is one number here: declare one for each component");
            }
            match variable.range {
                Some(count) => {
                    let range = self.ranges.len() as u32;
                    self.ranges.push((variable.ty, count));
                    self.define(variable.name, Def::Range(range));
                    return None;
                }
                None => {
                    let reg = self.body.regs.push(variable.ty);
                    self.define(variable.name, Def::Reg(reg));
                    return Some(Place::Reg(reg));
                }
            }
        }
        let index = self.body.vars.len() as u32;
        self.body.vars.push(variable);
        self.define(variable.name, Def::Var(index));
        Some(Place::Var(index))
    }

    fn run(&mut self, statements: &'a [Statement<'s>]) {
        let mut blocks = 0;
        let mut loc = None;
        for statement in statements {
            if self.errors.len() >= MOST_ERRORS {
                return;
            }
            match statement {
                Statement::Open => {
                    blocks += 1;
                    if self.scopes.len() >= DEEPEST {
                        self.error(self.body.function.at, format!("blocks nest deeper than {DEEPEST}"));
                        return;
                    }
                    self.scopes.push((self.hidden.len(), blocks));
                }
                Statement::Close => {
                    if let Some((start, _)) = self.scopes.pop() {
                        for (name, before) in self.hidden.drain(start..).rev() {
                            match before {
                                Some(def) => self.defs.insert(name, def),
                                None => self.defs.remove(&name),
                            };
                        }
                    }
                }
                Statement::Label(name, _) => {
                    if let Some(label) = self.label(*name) {
                        self.body.steps.push(Step::Label(label));
                    }
                }
                Statement::Variable(variable) => {
                    self.declare(variable);
                }
                Statement::Targets { name, calls: false, list, .. } => {
                    self.define(*name, Def::Targets(list.clone()));
                }
                Statement::Targets { name, .. } | Statement::Prototype { name, .. } => {
                    self.define(*name, Def::Prototype);
                }
                Statement::Loc { place, .. } => {
                    loc = Some(place.map(|number| u32::try_from(number).unwrap_or(0)));
                }
                Statement::Pragma(_) => {}
                Statement::Instruction(instruction) => self.instruction(instruction, loc),
            }
        }
    }

    fn register(&mut self, name: Symbol) -> Option<Reg> {
        match self.defs.get(&name) {
            Some(Def::Reg(reg)) => return Some(*reg),
            Some(_) => return None,
            None => {}
        }
        let text = self.text(name);
        let prefix = text.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = &text[prefix.len()..];
        // Digits may belong to the name: `%f3<2>` declares `%f30` and `%f31`.
        for cut in 0..digits.len().min(20) {
            let number = &digits[cut..];
            if number.len() > 1 && number.starts_with('0') {
                continue;
            }
            let Some(Def::Range(range)) =
                self.module.names.find(&text[..prefix.len() + cut]).and_then(|name| self.defs.get(&name))
            else {
                continue;
            };
            let (range, number) = (*range, number.parse::<u64>().ok()?);
            let (ty, count) = self.ranges[range as usize];
            if number < count {
                let regs = &mut self.body.regs;
                return Some(*self.ranged.entry((range, number)).or_insert_with(|| regs.push(ty)));
            }
        }
        None
    }

    fn instruction(&mut self, instruction: &Instruction<'s>, loc: Option<[u32; 3]>) {
        let at = instruction.at;
        let form = &table::FORMS[usize::from(instruction.form)];
        let mut guard = None;
        if let Some(source) = instruction.guard {
            match self.register(source.register) {
                Some(reg) if self.body.regs[reg] == Word::Pred => guard = Some((reg, source.negated)),
                _ => {
                    let name = self.text(source.register);
                    self.error(at, format!("`{name}` is no predicate register"));
                }
            }
        }
        let words: SmallVec<[Word; 6]> =
            instruction.modifiers.iter().filter_map(|symbol| symbol.word()).collect();
        let mut args = SmallVec::new();
        if form.verdict == Verdict::Done {
            for operand in &instruction.operands {
                match self.operand(operand) {
                    Ok(arg) => args.push(arg),
                    Err(text) => {
                        self.error(at, text);
                        return;
                    }
                }
            }
            if let Err(text) = self.fit(instruction, &words, &args) {
                self.error(at, text);
            }
        }
        self.body.steps.push(Step::Inst(Inst { at, form: instruction.form, guard, words, args, loc }));
    }

    fn operand(&mut self, operand: &Operand<'s>) -> Result<Arg, String> {
        let int = |value: NumberValue| match value {
            NumberValue::Int(value) => Ok(value as i64),
            _ => Err("an offset is an integer".to_string()),
        };
        Ok(match operand {
            Operand::Name(name) => self.named(*name)?,
            Operand::Number(number) => Arg::Number(number.value),
            Operand::Not(name) => match self.register(*name) {
                Some(reg) => Arg::Not(reg),
                None => return Err(format!("`{}` is no predicate register", self.text(*name))),
            },
            Operand::Pair(first, second) => {
                let mut one = |name: Symbol| match self.register(name) {
                    Some(reg) => Ok(Some(reg)),
                    None if self.module.names.text(name) == "_" => Ok(None),
                    None => Err(format!("`{}` is no register", self.module.names.text(name))),
                };
                Arg::Pair(one(*first)?, one(*second)?)
            }
            Operand::Component(name, component) => {
                let dimension = match component.word() {
                    Some(Word::X) => 0,
                    Some(Word::Y) => 1,
                    Some(Word::Z) => 2,
                    _ => 3,
                };
                let (name, component) = (self.text(*name), self.text(*component));
                let special = match name {
                    "%tid" => Special::Tid(dimension),
                    "%ntid" => Special::Ntid(dimension),
                    "%ctaid" => Special::Ctaid(dimension),
                    "%nctaid" => Special::Nctaid(dimension),
                    _ => {
                        return Err(format!("`{name}.{component}` is no register that lock-step code knows"));
                    }
                };
                if dimension == 3 {
                    return Err(format!("`{name}` has no component `{component}` but x, y and z"));
                }
                Arg::Special(special)
            }
            Operand::Sum(name, number) => match self.named(*name)? {
                Arg::Variable(var, offset) => Arg::Variable(var, offset.wrapping_add(int(number.value)?)),
                _ => return Err(format!("`{}` is no variable, so nothing is added to it", self.text(*name))),
            },
            Operand::Element(name, number) => match self.named(*name)? {
                Arg::Variable(var, offset) => {
                    let size = self.element_bytes(var);
                    Arg::Variable(var, offset.wrapping_add(int(number.value)?.wrapping_mul(size)))
                }
                _ => return Err(format!("`{}` is no variable, so it has no elements", self.text(*name))),
            },
            // A vector of one is what it has: Triton writes such ones.
            Operand::Vector(parts) if parts.len() == 1 => self.operand(&parts[0])?,
            Operand::Vector(parts) => {
                Arg::Vector(parts.iter().map(|part| self.operand(part)).collect::<Result<_, _>>()?)
            }
            Operand::List(parts) => {
                Arg::List(parts.iter().map(|part| self.operand(part)).collect::<Result<_, _>>()?)
            }
            Operand::Address { base, offset, more } => {
                if !more.is_empty() {
                    return Err("an address has no coordinates here".into());
                }
                let base = Box::new(self.operand(base)?);
                let offset = offset.map_or(Ok(0), |number| int(number.value))?;
                Arg::Address { base, offset }
            }
        })
    }

    fn named(&mut self, name: Symbol) -> Result<Arg, String> {
        if let Some(reg) = self.register(name) {
            return Ok(Arg::Reg(reg));
        }
        match self.defs.get(&name) {
            Some(Def::Var(index)) => return Ok(Arg::Variable(Var::Local(*index), 0)),
            Some(Def::Targets(list)) => {
                let list = list.clone();
                let labels: Option<Vec<Label>> = list.iter().map(|&name| self.label(name)).collect();
                return labels
                    .map(Arg::Targets)
                    .ok_or_else(|| format!("`{}` names labels that there are none of", self.text(name)));
            }
            Some(Def::Prototype) => return Ok(Arg::Other),
            Some(Def::Range(_)) => {
                return Err(format!(
                    "`{}` is a row of registers; name one, with its number",
                    self.text(name)
                ));
            }
            Some(Def::Reg(_)) | None => {}
        }
        if let Some(label) = self.label(name) {
            return Ok(Arg::Label(label));
        }
        match self.globals.by_name.get(&name) {
            Some(Global::Variable(index)) => return Ok(Arg::Variable(Var::Module(*index), 0)),
            Some(Global::Function(index)) => return Ok(Arg::Function(*index)),
            None => {}
        }
        Ok(Arg::Special(match self.text(name) {
            "_" => return Ok(Arg::Sink),
            "%laneid" => Special::Laneid,
            "%warpid" => Special::Warpid,
            "%nwarpid" => Special::Nwarpid,
            "%lanemask_eq" => Special::LanemaskEq,
            "%lanemask_le" => Special::LanemaskLe,
            "%lanemask_lt" => Special::LanemaskLt,
            "%lanemask_ge" => Special::LanemaskGe,
            "%lanemask_gt" => Special::LanemaskGt,
            "%clock" | "%clock_lo" => Special::Clock,
            "%clock_hi" => Special::ClockHi,
            "%clock64" | "%globaltimer" => Special::Clock64,
            "%globaltimer_lo" => Special::Clock,
            "%globaltimer_hi" => Special::ClockHi,
            "%smid" => Special::Smid,
            "%nsmid" => Special::Nsmid,
            "%gridid" => Special::Gridid,
            "%dynamic_smem_size" => Special::DynamicSharedSize,
            "%total_smem_size" => Special::TotalSharedSize,
            "%envreg1" => Special::Workspace { is_high: true },
            "%envreg2" => Special::Workspace { is_high: false },
            "WARP_SZ" => Special::WarpSize,
            other => return Err(format!("`{other}` is declared nowhere")),
        }))
    }

    // Types.

    fn fit(&self, instruction: &Instruction<'_>, words: &[Word], args: &[Arg]) -> Result<(), String> {
        let specs = table::specs(instruction.form);
        let loose = matches!(self.text(instruction.mnemonic), "ld" | "ldu" | "st" | "cvt" | "mov");
        let types: SmallVec<[Word; 3]> = words.iter().copied().filter(|word| word.is_type()).collect();
        let count = specs.len();
        for (index, spec) in specs.iter().enumerate() {
            if spec.role == Role::Rest {
                return Ok(());
            }
            let Some(arg) = args.get(index) else {
                if spec.optional {
                    continue;
                }
                return Err(format!(
                    "an operand is missing: there are {}, and {count} are needed",
                    args.len()
                ));
            };
            self.fit_one(spec, arg, words, &types, loose)
                .map_err(|reason| format!("operand {} does not fit: {reason}", index + 1))?;
        }
        if args.len() > count {
            return Err(format!("there are {} operands, and at most {count} are known", args.len()));
        }
        Ok(())
    }

    fn fit_one(
        &self,
        spec: &Spec,
        arg: &Arg,
        words: &[Word],
        types: &[Word],
        loose: bool,
    ) -> Result<(), String> {
        let resolve = |of: TypeOf| match of {
            TypeOf::Last => types.last().copied(),
            TypeOf::First => types.first().copied(),
            TypeOf::Second => types.get(1).or(types.last()).copied(),
            TypeOf::Wide => types.last().map(|&ty| wide(ty)),
            TypeOf::Fixed(ty) => Some(ty),
            TypeOf::Any => None,
        };
        match spec.role {
            Role::Value(of) => self.fit_value(resolve(of), arg, spec.is_dest, loose),
            Role::WithPredicate(of) => match arg {
                Arg::Pair(first, second) => {
                    if second.is_some_and(|reg| self.body.regs[reg] != Word::Pred) {
                        return Err("what stands behind `|` is no predicate".into());
                    }
                    first.map_or(Ok(()), |reg| self.fit_value(resolve(of), &Arg::Reg(reg), true, loose))
                }
                _ => self.fit_value(resolve(of), arg, true, loose),
            },
            Role::Predicate => match arg {
                Arg::Not(reg) | Arg::Reg(reg) if self.body.regs[*reg] == Word::Pred => {
                    if spec.is_dest && matches!(arg, Arg::Not(_)) {
                        return Err("a destination is not negated".into());
                    }
                    Ok(())
                }
                Arg::Sink if spec.is_dest => Ok(()),
                Arg::Number(NumberValue::Int(_)) if !spec.is_dest => Ok(()),
                _ => Err("it is no predicate".into()),
            },
            Role::Vector => {
                let lanes = match words.iter().find(|word| matches!(word, Word::V2 | Word::V4 | Word::V8)) {
                    Some(Word::V2) => Some(2),
                    Some(Word::V4) => Some(4),
                    Some(_) => Some(8),
                    None => None,
                };
                match (lanes, arg) {
                    (Some(lanes), Arg::Vector(parts)) if parts.len() == lanes => parts
                        .iter()
                        .try_for_each(|part| self.fit_value(types.last().copied(), part, spec.is_dest, true)),
                    (Some(lanes), _) => Err(format!("it is no vector of {lanes} registers")),
                    (None, _) => self.fit_value(types.last().copied(), arg, spec.is_dest, true),
                }
            }
            Role::Memory => match arg {
                Arg::Address { base, .. } => match &**base {
                    Arg::Reg(reg)
                        if !self.body.regs[*reg].is_float() && self.body.regs[*reg].bits() >= Some(32) =>
                    {
                        Ok(())
                    }
                    Arg::Variable(..) | Arg::Number(NumberValue::Int(_)) => Ok(()),
                    _ => Err("an address is a variable or an integer register of 32 or 64 bits".into()),
                },
                _ => Err("it is no address in brackets".into()),
            },
            Role::Constant => match arg {
                Arg::Number(NumberValue::Int(_)) => Ok(()),
                _ => Err("it is no integer constant".into()),
            },
            Role::Label => match arg {
                Arg::Label(_) => Ok(()),
                _ => Err("it is no label of this function".into()),
            },
            Role::Rest => Ok(()),
        }
    }

    fn fit_value(&self, ty: Option<Word>, arg: &Arg, is_dest: bool, loose: bool) -> Result<(), String> {
        match arg {
            Arg::Reg(reg) => {
                let has = self.body.regs[*reg];
                match ty {
                    Some(ty) if !fits(has, ty, loose) => {
                        Err(format!("its register is of type .{has}, the instruction of type .{ty}"))
                    }
                    _ => Ok(()),
                }
            }
            Arg::Sink if is_dest => Ok(()),
            Arg::Not(reg)
                if !is_dest && self.body.regs[*reg] == Word::Pred && ty.is_none_or(|ty| ty == Word::Pred) =>
            {
                Ok(())
            }
            _ if is_dest && !matches!((ty, arg), (None, Arg::Vector(_))) => Err("it is no register".into()),
            Arg::Number(_) => Ok(()),
            Arg::Special(_) | Arg::Variable(..) | Arg::Vector(_) | Arg::Function(_)
                if loose || ty.is_none() =>
            {
                Ok(())
            }
            Arg::Special(Special::WarpSize) => Ok(()),
            Arg::Targets(_) if ty.is_none() => Ok(()),
            _ => Err("it is neither a register nor a constant".into()),
        }
    }
}

/// The integer type of twice the width.
pub(crate) fn wide(ty: Word) -> Word {
    match ty {
        Word::U16 => Word::U32,
        Word::S16 => Word::S32,
        Word::U32 => Word::U64,
        Word::S32 => Word::S64,
        other => other,
    }
}

/// Whether a register of one type may stand where an instruction asks for another.
fn fits(has: Word, ty: Word, loose: bool) -> bool {
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
