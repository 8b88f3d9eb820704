//! Facts of a program's kernels that need no compilation, found by walking its functions.

use heddle_compiler::builtins::texel::accesses_images;
use heddle_ir::diagnostic::{Code, DiagnosticLocation};
use heddle_ir::inst::Detail;
use heddle_ir::module::{Effects, FunctionKind, Global};
use heddle_ir::ops::Observed;
use heddle_ir::{Constant, Diagnostic, Function, Inst, Module, Op, Space, Type, Value};
use heddle_llvm::PRINTF;
use heddle_transform::kernels::{
    IndexRanges, KnownImages, KnownStrides, LaunchPromises, ObjectParameter, StrideParameter,
    has_unknown_base, object_parameters, repeats_stores, stride_parameters,
};
use heddle_transform::progress::polls;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::collections::hash_map::Entry;

/// Sizes of sub-groups that kernels may require.
pub const SUB_GROUP_SIZES: [u32; 3] = [8, 16, 32];

/// Returns the reason for refusing a required size of sub-groups, with its help; none if kernels may require it.
pub fn sub_group_size_error(lanes: u32) -> Option<(String, String)> {
    let sizes = SUB_GROUP_SIZES.map(|size| size.to_string()).join(", ");
    let text = || (format!("sub-groups of {lanes} work-items"), format!("require one of {sizes}"));
    (!SUB_GROUP_SIZES.contains(&lanes)).then(text)
}

/// Parameter of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelParameter {
    /// Its type.
    pub ty: Type,
    /// Of a pointer, where it points to. What is passed by value is a pointer to private memory.
    pub space: Option<Space>,
    /// The bytes that a value has; of a pointer, of the pointer itself.
    pub bytes: u32,
}

/// Properties of a kernel that need no compilation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelFacts {
    /// Its name.
    pub name: String,
    /// Parameters, in order.
    pub parameters: Vec<KernelParameter>,
    /// The size of its work-groups, if the source fixes it.
    pub required_local: Option<[u32; 3]>,
    /// Width of its work-groups if they are squares, as far as the source tells: work-items see their row in the group.
    pub(crate) square: Option<u32>,
    /// The lanes of its brushes, if the source fixes them.
    pub required_lanes: Option<u32>,
    /// True if it may observe its work-group.
    pub sees_groups: bool,
    /// True if it may observe which work-items form a brush.
    pub(crate) observes_brush: bool,
    /// True if work-items of a group share neither local memory nor a brush.
    pub(crate) shares_nothing: bool,
    /// True if it reads memory that other work-items may write meanwhile: groups may wait for earlier ones.
    pub(crate) polls: bool,
    /// The bytes that it says a work-item stores in global memory, loops counted once.
    pub(crate) stored_bytes: u64,
    /// Parameters that lead to objects, if code is faster where these are different ones.
    pub(crate) distinct_objects: Vec<ObjectParameter>,
    /// Ranges of its indices, if code is faster where these do not wrap around.
    pub(crate) index_ranges: Option<IndexRanges>,
    /// True if it reads or writes images or textures: code for their formats is much smaller.
    pub(crate) takes_images: bool,
    /// Parameters that are strides, if code is faster where it knows them.
    pub(crate) stride_parameters: Vec<StrideParameter>,
    /// The most work-items of a group, where its local memory has a place for each.
    pub(crate) most_items: Option<u64>,
}

impl KernelFacts {
    /// Properties of most launches that code is faster for.
    pub(crate) fn usual_promises(&self) -> LaunchPromises {
        LaunchPromises {
            distinct_pointers: !self.distinct_objects.is_empty(),
            bounded_indices: self.index_ranges.is_some(),
            strides: self.usual_strides(),
            images: KnownImages::default(),
        }
    }

    /// Strides of most launches that code is faster for.
    pub fn usual_strides(&self) -> KnownStrides {
        KnownStrides::usual(&self.stride_parameters)
    }

    /// Arguments of these launches; none if there are none.
    pub fn dense_strides(&self) -> Option<String> {
        let usual: Vec<String> =
            self.stride_parameters.iter().filter(|it| it.is_usual).map(ToString::to_string).collect();
        (!usual.is_empty()).then(|| usual.join(" and "))
    }
}

/// Returns the kernels of a program, in the order of the module. The source fixes the lanes of some, by name.
pub(crate) fn kernels_of(module: &Module, required_lanes: &BTreeMap<String, u32>) -> Vec<KernelFacts> {
    let [see_groups, see_brush, name_local, poll, unknown_base] =
        [sees_group, observes_brush, names_local, polls, has_unknown_base]
            .map(|sees| functions_that(module, sees));
    let of_images = module.functions.iter().filter(|func| accesses_images(&func.name));
    let take_images = with_callers(module, of_images.map(|func| (&*func.name, ())));
    let repeating = module.functions.iter().filter(|func| repeats_stores(func));
    let repeat_stores = with_callers(module, repeating.map(|func| (&*func.name, ())));
    // Collectives lay the value of each work-item into local memory.
    let slots = module.globals.iter().find(|global| &*global.name == SLOTS);
    let most_items = slots.map(|slots| slots.bytes() / 8);
    let squares = squares(module);
    let kernels = module.functions.iter().filter_map(|func| {
        let FunctionKind::Kernel(required_local) = func.kind else { return None };
        let parameters = func.signature.params.iter().map(|param| KernelParameter {
            ty: param.ty,
            space: match param.ty.scalar() {
                heddle_ir::Scalar::Ptr(space) => Some(space),
                _ => None,
            },
            bytes: param.ty.bytes(),
        });
        let parameters: Vec<KernelParameter> = parameters.collect();
        let takes_local = parameters.iter().any(|it| it.space == Some(Space::Local));
        let name = func.name.clone();
        let observes_brush = see_brush.contains_key(&*name);
        let sees_groups = takes_local || observes_brush || see_groups.contains_key(&*name);
        let shares_nothing = !takes_local && !observes_brush && !name_local.contains_key(&*name);
        let gains = repeat_stores.contains_key(&*name) && !unknown_base.contains_key(&*name);
        let objects = if gains { object_parameters(func) } else { Vec::new() };
        let is_pair = objects.len() > 1 && objects.iter().any(|it| it.is_written);
        Some(KernelFacts {
            distinct_objects: if is_pair { objects } else { Vec::new() },
            square: squares.get(&*name).copied(),
            name,
            parameters,
            required_local,
            required_lanes: required_lanes.get(&*func.name).copied(),
            sees_groups,
            observes_brush,
            shares_nothing,
            polls: poll.contains_key(&*func.name),
            stored_bytes: stored_bytes(func),
            takes_images: take_images.contains_key(&*func.name),
            most_items,
            index_ranges: IndexRanges::of(func),
            stride_parameters: stride_parameters(func),
        })
    });
    kernels.collect()
}

/// An error for each function that is called and that nothing defines, at its first call. Mathematical functions, which do
/// nothing but give a value, are the pipeline's affair, and printing is the runtime's.
pub fn undefined_functions(module: &Module) -> Vec<Diagnostic> {
    let mut known: FxHashSet<&str> = module.functions.iter().map(|func| &*func.name).collect();
    let mut errors = Vec::new();
    for func in &module.functions {
        for inst in func.blocks().flat_map(|block| func.block_insts(block)) {
            let Some(callee) = func.callee_of(func.inst(inst)) else { continue };
            let name = &*callee.name;
            let is_provided = callee.signature.effects == Effects::PURE || name.starts_with(PRINTF);
            if !is_provided && known.insert(name) {
                let text = format!("undefined function @{name}");
                let error = Diagnostic::error(Code::UnknownFunction, text)
                    .at(DiagnosticLocation::line_of(func, inst))
                    .help("define it in the program, or link a program that does");
                errors.push(error.in_module(module));
            }
        }
    }
    errors
}

/// Returns an error for each function that calls itself, directly or through others, at the call. OpenCL C forbids
/// recursion, and a group's stack has a fixed size.
pub fn recursive_functions(module: &Module) -> Vec<Diagnostic> {
    let calls_of = |func: &Function| -> Vec<(Inst, String)> {
        let insts = func.blocks().flat_map(|block| func.block_insts(block));
        insts.filter_map(|inst| Some((inst, func.callee_of(func.inst(inst))?.name.to_string()))).collect()
    };
    let mut graph: FxHashMap<&str, Vec<(Inst, String)>> =
        module.functions.iter().map(|func| (&*func.name, calls_of(func))).collect();
    // Removes functions whose callees are all removed, until only functions that lead to a cycle are left.
    loop {
        let left = |calls: &[(Inst, String)]| calls.iter().any(|(_, callee)| graph.contains_key(&**callee));
        let done: Vec<&str> = graph.iter().filter(|(_, calls)| !left(calls)).map(|(name, _)| *name).collect();
        if done.is_empty() {
            break;
        }
        for name in done {
            graph.remove(name);
        }
    }
    let reaches = |from: &str, to: &str| {
        let (mut seen, mut work) = (FxHashSet::default(), vec![from]);
        while let Some(name) = work.pop() {
            if name == to {
                return true;
            }
            if seen.insert(name) {
                work.extend(graph.get(name).into_iter().flatten().map(|(_, callee)| &**callee));
            }
        }
        false
    };
    let mut errors = Vec::new();
    for func in &module.functions {
        let mut calls = graph.get(&*func.name).into_iter().flatten();
        if let Some((inst, callee)) = calls.find(|(_, callee)| reaches(callee, &func.name)) {
            let text = match *callee == func.name {
                true => "recursion: the kernel calls itself".to_string(),
                false => format!("recursion: the kernel calls itself through @{callee}"),
            };
            let error = Diagnostic::error(Code::KernelForm, text)
                .at(DiagnosticLocation::line_of(func, *inst))
                .help("write a loop; OpenCL C has no recursion");
            errors.push(error.in_module(module));
        }
    }
    errors
}

/// The bytes that a function says it stores in global memory, loops counted once.
fn stored_bytes(func: &Function) -> u64 {
    let insts = func.blocks().flat_map(|block| func.block_insts(block)).map(|inst| func.inst(inst));
    let stores = insts.filter_map(|data| match (data.op, &data.args[..]) {
        (Op::Store, &[stored, address]) => {
            let is_global = func.value_type(address) == Type::ptr(Space::Global);
            is_global.then(|| u64::from(func.value_type(stored).bytes()))
        }
        _ => None,
    });
    stores.sum()
}

/// True if an instruction observes the work-group.
fn sees_group(func: &Function, inst: Inst) -> bool {
    func.inst(inst).observes(Observed::Group) || names_local(func, inst)
}

/// True if an instruction names local memory.
fn names_local(func: &Function, inst: Inst) -> bool {
    let is_local = |&arg: &Value| matches!(func.constant(arg), Some(Constant::Address(Space::Local, _)));
    func.inst(inst).args.iter().any(is_local)
}

/// Returns the width of work-groups of functions whose work-items see their row in the group, but no third dimension, which is in all linear
/// indices. The largest object of local memory mostly has an element for each work-item, with some at the border. An object of narrow elements is
/// aligned like them.
fn squares(module: &Module) -> FxHashMap<&str, u32> {
    /// Usual widths.
    const WIDTHS: [u32; 3] = [32, 16, 8];
    const USUAL: u32 = 16;
    const WIDEST: u32 = 4;
    let sees = |dimension: u8| {
        let is_index = move |func: &Function, inst: Inst| {
            let data = func.inst(inst);
            data.op == Op::LocalId && data.detail == Detail::Dimension(Some(dimension))
        };
        functions_that(module, is_index)
    };
    let deep = sees(2);
    let elements = |global: &Global| global.bytes() / u64::from(global.align.clamp(1, WIDEST));
    let elements_of = |name: &str| module.globals.iter().find(|it| &*it.name == name).map_or(0, elements);
    let largest = |func: &Function| {
        let insts = func.blocks().flat_map(|block| func.block_insts(block));
        let objects =
            insts.flat_map(|inst| &func.inst(inst).args).filter_map(|&arg| match func.constant(arg) {
                Some(Constant::Address(Space::Local, name)) => Some(elements_of(name)),
                _ => None,
            });
        objects.max()
    };
    let mut objects: Vec<(&str, u64)> =
        module.functions.iter().filter_map(|func| Some((&*func.name, largest(func)?))).collect();
    objects.sort_by_key(|&(_, elements)| std::cmp::Reverse(elements));
    let largest = with_callers(module, objects);
    let width = |name: &&str| {
        let elements = largest.get(name).copied().unwrap_or(0);
        let fits = |width: &&u32| u64::from(**width).pow(2) <= elements;
        WIDTHS.iter().find(fits).copied().unwrap_or(USUAL)
    };
    sees(1).into_keys().filter(|name| !deep.contains_key(name)).map(|name| (name, width(&name))).collect()
}

/// True if the result depends on which work-items form a brush.
fn observes_brush(func: &Function, inst: Inst) -> bool {
    // Accesses to images compare lanes to find rows of texels, and do the same with any lanes.
    func.inst(inst).observes(Observed::Lanes) && !accesses_images(&func.name)
}

/// Propagates facts from callees to callers; the first fact found wins.
pub fn with_callers<'m, T: Copy>(
    module: &'m Module,
    known: impl IntoIterator<Item = (&'m str, T)>,
) -> FxHashMap<&'m str, T> {
    let mut callers: FxHashMap<&str, Vec<&str>> = FxHashMap::default();
    for func in &module.functions {
        for callee in func.callees.values() {
            callers.entry(&callee.name).or_default().push(&func.name);
        }
    }
    let mut found = FxHashMap::default();
    for (name, fact) in known {
        let mut work = vec![name];
        while let Some(name) = work.pop() {
            if let Entry::Vacant(place) = found.entry(name) {
                place.insert(fact);
                work.extend(callers.get(name).into_iter().flatten());
            }
        }
    }
    found
}

/// The functions with an instruction like this, and those that call them.
pub(crate) fn functions_that(module: &Module, has: impl Fn(&Function, Inst) -> bool) -> FxHashMap<&str, ()> {
    let is_one = |func: &&Function| {
        func.blocks().flat_map(|block| func.block_insts(block)).any(|inst| has(func, inst))
    };
    with_callers(module, module.functions.iter().filter(is_one).map(|func| (&*func.name, ())))
}

/// The local memory of collectives, as the library of OpenCL C's builtins calls it.
const SLOTS: &str = "heddle.slots";

#[cfg(test)]
mod tests {
    use super::*;
    use heddle_ir::text::parse_module;

    /// Width of the groups of a kernel with an object of local memory.
    fn width(bytes: u32, align: u32) -> Option<u32> {
        let text = format!(
            "global @tile: ptr(local) align {align} = [zero {bytes}]\n\
             kernel @k(v0: ptr(global) uniform) {{\nblock0:\n  v1 = local_id i64, 1\n  v2 = ptradd @tile, v1\n  store i8 1, v2\n  ret\n}}\n"
        );
        let module = parse_module(&text).unwrap_or_else(|errors| panic!("{errors:?}"));
        squares(&module).get("k").copied()
    }

    #[test]
    fn groups_are_as_wide_as_their_local_memory() {
        assert_eq!(width(34 * 34 * 4, 4), Some(32));
        assert_eq!(width(18 * 18 * 4, 4), Some(16));
        assert_eq!(width(18 * 18, 1), Some(16), "elements of one byte");
        assert_eq!(width(18 * 18 * 2, 2), Some(16));
        assert_eq!(width(16 * 16 * 16, 16), Some(32), "four cells for each work-item, or vectors");
        assert_eq!(width(10 * 10, 1), Some(8));
    }
}
