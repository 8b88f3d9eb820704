//! Programs and their kernels.

use crate::code::{BuildError, Compilation, Globals, GroupCode, Variant, compile};
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::module::Kind;
use heddle_ir::ops::Effect;
use heddle_ir::words::Scope;
use heddle_ir::{Module, Op, Space, Type};
use heddle_llvm::Cpu;
use heddle_math::Accuracy;
use heddle_transform::Target;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// How kernels are compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Lanes of a brush; none is what the machine's registers hold of 32 bits.
    pub lanes: Option<u32>,
    /// Lanes of the brushes of kernels that see their brush (votes, shuffles, the number of a lane), if a language fixes that.
    /// They lie in the linear order of the group.
    pub warp: Option<u32>,
    /// Whose mathematical functions are called.
    pub math: Accuracy,
}

impl Default for Options {
    fn default() -> Options {
        Options { lanes: None, warp: None, math: Accuracy::Exact }
    }
}

impl Options {
    pub(crate) fn lanes_on(&self, cpu: &Cpu) -> u32 {
        self.lanes.unwrap_or(cpu.vector_bits() / 32)
    }

    /// How vector code is made.
    pub(crate) fn of_passes(&self, cpu: &Cpu) -> heddle::Options {
        let target = Target::of_cpu(&cpu.name, cpu.vector_bits(), cpu.is_x86());
        heddle::Options { math: Some(self.math), target, ..heddle::Options::default() }
    }
}

/// What a kernel takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Its type.
    pub ty: Type,
    /// Of a pointer, where it points to. What is passed by value is a pointer to private memory.
    pub space: Option<Space>,
    /// The bytes that a value has; of a pointer, of the pointer itself.
    pub bytes: u32,
}

/// What is known of a kernel without compiling it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelInfo {
    /// Its name.
    pub name: String,
    /// What it takes.
    pub parameters: Vec<Parameter>,
    /// The size of its work-groups, if the source fixes it.
    pub required_local: Option<[u32; 3]>,
    /// Whether it may see how work-items lie in groups.
    pub(crate) sees_groups: bool,
    /// Whether it may see how work-items lie in brushes.
    pub(crate) sees_brushes: bool,
}

/// A module with kernels, which share its globals.
#[derive(Clone, Debug)]
pub struct Program {
    inner: Arc<Inner>,
}

struct Inner {
    module: Module,
    options: Options,
    globals: Option<Globals>,
    kernels: Vec<KernelInfo>,
    /// Functions that the program declares, and where they are.
    outside: Vec<(String, usize)>,
    codes: Mutex<FxHashMap<(usize, Variant), Arc<GroupCode>>>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program").field("kernels", &self.kernels).finish_non_exhaustive()
    }
}

impl Program {
    /// A program of a module at stage Source.
    pub fn new(module: Module, options: &Options) -> Result<Program, BuildError> {
        // SAFETY: there are none.
        unsafe { Program::with_functions(module, options, &[]) }
    }

    /// A program that calls functions of the driver's by the names that it declares them with.
    ///
    /// # Safety
    /// At each address is a function of C that takes and gives what the program declares, as long as the program is there.
    pub unsafe fn with_functions(
        module: Module,
        options: &Options,
        functions: &[(&str, usize)],
    ) -> Result<Program, BuildError> {
        let globals = Globals::new(&module)?;
        let sees_groups = module.functions.iter().any(|func| {
            let mut insts = func.blocks().flat_map(|block| func.block_insts(block));
            insts.any(|inst| sees_group(func.inst(inst).op))
        });
        let seeing = seeing_brushes(&module);
        let kernels = module.functions.iter().filter_map(|func| {
            let Kind::Kernel(required_local) = func.kind else { return None };
            let parameters = func.signature.params.iter().map(|param| Parameter {
                ty: param.ty,
                space: match param.ty.scalar() {
                    heddle_ir::Scalar::Ptr(space) => Some(space),
                    _ => None,
                },
                bytes: param.ty.bytes(),
            });
            let parameters: Vec<Parameter> = parameters.collect();
            let takes_local = parameters.iter().any(|it| it.space == Some(Space::Local));
            let sees_groups =
                sees_groups || takes_local || module.globals.iter().any(|it| it.space == Space::Local);
            let name = func.name.clone();
            let sees_brushes = seeing.contains(&*name);
            Some(KernelInfo { name, parameters, required_local, sees_groups, sees_brushes })
        });
        let kernels = kernels.collect();
        let outside = functions.iter().map(|&(name, address)| (name.to_string(), address)).collect();
        let inner = Inner { module, options: *options, globals, kernels, outside, codes: Mutex::default() };
        Ok(Program { inner: Arc::new(inner) })
    }

    /// Its kernels, in the order of the module.
    pub fn kernels(&self) -> &[KernelInfo] {
        &self.inner.kernels
    }

    /// Where a global of the program is, and how many bytes it has.
    pub fn global(&self, name: &str) -> Option<(usize, u64)> {
        let globals = self.inner.globals.as_ref()?;
        let global = self.inner.module.globals.iter().find(|global| &*global.name == name)?;
        Some((globals.address(name)?, global.bytes()))
    }

    /// The kernel of this name.
    pub fn kernel(&self, name: &str) -> Option<Kernel> {
        let number = self.inner.kernels.iter().position(|kernel| kernel.name == name)?;
        Some(Kernel { program: self.clone(), number })
    }
}

/// Whether an op tells work-items of their group.
fn sees_group(op: Op) -> bool {
    matches!(
        op,
        Op::LocalId | Op::LocalSize | Op::GroupId | Op::NumGroups | Op::Barrier | Op::Lane | Op::Width
    )
}

/// Whether an op tells work-items of their brush.
fn sees_brush(data: &InstData) -> bool {
    matches!(data.op, Op::Lane | Op::Width)
        || data.op.info().effect == Effect::Horizontal
        || data.op == Op::Barrier && data.detail == Detail::Barrier(Scope::Brush)
}

/// The functions that see their brush, or call one that does.
fn seeing_brushes(module: &Module) -> FxHashSet<String> {
    let mut callers: FxHashMap<&str, Vec<&str>> = FxHashMap::default();
    let (mut found, mut work) = (FxHashSet::default(), Vec::new());
    for func in &module.functions {
        for callee in func.callees.values() {
            callers.entry(&callee.name).or_default().push(&func.name);
        }
        let mut insts = func.blocks().flat_map(|block| func.block_insts(block));
        if insts.any(|inst| sees_brush(func.inst(inst))) {
            work.push(func.name.as_str());
        }
    }
    while let Some(name) = work.pop() {
        if found.insert(name.to_string()) {
            work.extend(callers.get(name).into_iter().flatten());
        }
    }
    found
}

/// A kernel of a program.
#[derive(Clone, Debug)]
pub struct Kernel {
    program: Program,
    number: usize,
}

impl Kernel {
    /// What is known of it.
    pub fn info(&self) -> &KernelInfo {
        &self.program.inner.kernels[self.number]
    }

    /// How the program is compiled.
    pub fn options(&self) -> &Options {
        &self.program.inner.options
    }

    /// The lanes of its brushes on this machine.
    pub(crate) fn lanes(&self) -> u32 {
        let options = self.options();
        self.warp().unwrap_or_else(|| options.lanes_on(&Cpu::host()))
    }

    /// The lanes of its brushes, if its language fixes them and it sees them.
    pub(crate) fn warp(&self) -> Option<u32> {
        self.options().warp.filter(|_| self.info().sees_brushes)
    }

    /// The code for some launches, compiled at the first of them.
    pub(crate) fn code(&self, variant: Variant) -> Result<Arc<GroupCode>, BuildError> {
        let inner = &*self.program.inner;
        let codes = || inner.codes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(code) = codes().get(&(self.number, variant)) {
            return Ok(Arc::clone(code));
        }
        // Two threads may compile the same at once; the first to be done is kept.
        let globals = inner.globals.as_ref();
        let busy = crate::exit::busy();
        let what = Compilation {
            program: &inner.module,
            globals,
            outside: &inner.outside,
            kernel: &self.info().name,
            lanes: self.lanes(),
            options: &inner.options,
        };
        let code = compile(&what, variant)?;
        drop(busy);
        Ok(Arc::clone(codes().entry((self.number, variant)).or_insert_with(|| Arc::new(code))))
    }
}
