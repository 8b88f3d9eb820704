//! Reports of compiled functions and kernels: counts over their vector code, including callees, and remarks.

use heddle_builtins::texel::accesses_images;
use heddle_ir::diagnostic::{AccessLowering, DiagnosticLocation};
use heddle_ir::function::RegisterArray;
use heddle_ir::module::Param;
use heddle_ir::{Code, Detail, Diagnostic, Function, Inst, Module, Op, Scalar, Type, Value};
use heddle_transform::kernels::{VectorDimension, vector_dimension};
use heddle_transform::{AxisOrder, GroupFunction, KernelOptions, WorkItemLayout};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;
use std::fmt;

/// Counts of memory accesses by how they were lowered.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct AccessCounts {
    /// One access for all lanes.
    pub scalar: usize,
    /// Contiguous vector accesses.
    pub contiguous: usize,
    /// Contiguous vector accesses under a mask; `contiguous` includes them.
    pub masked: usize,
    /// Gathers and scatters.
    pub scattered: usize,
}

/// Report of a vectorized function.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct VectorReport {
    /// Lanes of all brushes together.
    pub lanes: u32,
    /// Number of brushes side by side.
    pub brushes: u32,
    /// Branches in the source and in the vector code.
    pub branches: [usize; 2],
    /// Loads and stores.
    pub accesses: AccessCounts,
    /// Scalar and vector instructions.
    pub instructions: [usize; 2],
    /// Names of operations that run lane by lane.
    pub lane_by_lane: Vec<String>,
    /// Definitions that the importer refused; calls to them are treated as external.
    pub warnings: Vec<Diagnostic>,
    /// Remarks of the passes, such as how accesses were lowered and how many brushes were chosen.
    pub remarks: Vec<Diagnostic>,
}

/// Returns a function and its transitive callees.
pub fn reachable(module: &Module, name: &str) -> FxHashSet<String> {
    reachable_from(module, vec![name.to_string()])
}

/// Returns some functions and their transitive callees.
pub(crate) fn reachable_from(module: &Module, names: Vec<String>) -> FxHashSet<String> {
    let mut wanted: FxHashSet<String> = FxHashSet::default();
    let mut work = names;
    while let Some(next) = work.pop() {
        let Some(func) = module.function(&next).filter(|_| !wanted.contains(&next)) else { continue };
        work.extend(func.callees.values().map(|callee| callee.name.clone()));
        wanted.insert(next);
    }
    wanted
}

/// Counts the branches of a function and its callees, without Heddle's own mathematical functions.
pub(crate) fn branches(module: &Module, name: &str) -> usize {
    let leads_apart =
        |func: &Function| func.blocks().filter(|&block| func.successors(block).len() > 1).count();
    user_functions(module, name).map(leads_apart).sum()
}

/// Iterates over a function and its callees in module order, without Heddle's own mathematical functions.
fn user_functions<'m>(module: &'m Module, name: &str) -> impl Iterator<Item = &'m Function> {
    user_functions_in(module, reachable(module, name))
}

/// Iterates over the reached functions in module order, without Heddle's own mathematical functions.
fn user_functions_in(module: &Module, reached: FxHashSet<String>) -> impl Iterator<Item = &Function> {
    let is_own = |func: &Function| func.name.starts_with(heddle_math::PREFIX) && !accesses_images(&func.name);
    module.functions.iter().filter(move |func| reached.contains(&func.name) && !is_own(func))
}

/// Merges the remarks on accesses of one source line that were lowered alike into one.
pub fn merge_access_remarks(remarks: &[Diagnostic]) -> Vec<Diagnostic> {
    let is_alike = |one: &Diagnostic, other: &Diagnostic| {
        let of =
            |it: &Diagnostic| (it.place.file.clone(), it.place.number, it.place.line, it.place.func.clone());
        let (Some(a), Some(b)) = (&one.access, &other.access) else { return false };
        let costs = |of: &AccessLowering| of.costs.map(|it| (it.together, it.separate));
        one.place.line > 0
            && of(one) == of(other)
            && (a.is_store, &a.lowering, &a.condition, a.is_chosen, costs(a))
                == (b.is_store, &b.lowering, &b.condition, b.is_chosen, costs(b))
    };
    let mut merged: Vec<Diagnostic> = Vec::new();
    for remark in remarks {
        let (Some(known), Some(more)) =
            (merged.iter_mut().find(|known| is_alike(known, remark)), &remark.access)
        else {
            merged.push(remark.clone());
            continue;
        };
        let Some(access) = &mut known.access else { continue };
        access.accesses += more.accesses;
        let new = more.objects.iter().filter(|object| !access.objects.contains(object)).cloned();
        let new: Vec<String> = new.collect();
        access.objects.extend(new);
        if let (Some(costs), Some(more)) = (&mut access.costs, more.costs) {
            costs.times += more.times;
        }
        known.text = access.to_string();
        known.place.column = 0;
    }
    merged
}

impl VectorReport {
    /// Returns the report as remarks: a summary of the function, then the remarks of the passes.
    pub fn diagnostics(&self, func: &str) -> Vec<Diagnostic> {
        let VectorReport { lanes, brushes, branches, accesses, instructions, .. } = self;
        let text = match brushes {
            0 | 1 => format!("vectorized for {lanes} lanes"),
            count => format!("vectorized for {lanes} lanes, {count} brushes of {}", lanes / count),
        };
        let shape = Diagnostic::remark(Code::CodeShape, text)
            .of_func(func)
            .note(format!("branches: {} in the source, {} in the vector code", branches[0], branches[1]))
            .note(format!("instructions: {} vector, {} scalar", instructions[1], instructions[0]))
            .note(format!(
                "loads and stores: {} contiguous, {} gathered or scattered, {} scalar",
                accesses.contiguous, accesses.scattered, accesses.scalar
            ));
        std::iter::once(shape).chain(merge_access_remarks(&self.remarks)).collect()
    }

    /// Adds the instructions of a wide function and its callees to the counts.
    pub(crate) fn count(&mut self, module: &Module, name: &str) {
        user_functions(module, name).for_each(|func| self.count_function(func));
    }

    fn count_function(&mut self, func: &Function) {
        func.blocks().flat_map(|block| func.block_insts(block)).for_each(|inst| self.count_inst(func, inst));
    }

    fn count_inst(&mut self, func: &Function, inst: Inst) {
        let data = func.inst(inst);
        let is_vector = |value: &Value| func.value_type(*value).is_vector();
        let on_vectors = data.args.iter().chain(func.results(inst)).any(is_vector);
        self.instructions[usize::from(on_vectors)] += 1;
        match (data.op, &data.detail) {
            (Op::Load | Op::Store, _) if !on_vectors => self.accesses.scalar += 1,
            (Op::Load | Op::Store, _) => self.accesses.contiguous += 1,
            (Op::MaskedLoad | Op::MaskedStore, _) => {
                self.accesses.contiguous += 1;
                self.accesses.masked += 1;
            }
            (Op::Gather | Op::Scatter, _) => self.accesses.scattered += 1,
            (Op::Call, Detail::Call(callee)) if !on_vectors && has_extracted_operand(func, inst) => {
                self.lane_by_lane.push(format!("call of @{}", func.callees[*callee].name));
            }
            (Op::AtomicRmw | Op::CompareExchange, _) => self.lane_by_lane.push(data.op.to_string()),
            _ => {}
        }
    }
}

/// True if an instruction has an operand that is extracted from a vector.
fn has_extracted_operand(func: &Function, inst: Inst) -> bool {
    let is_extracted = |&arg: &Value| func.def_inst(arg).is_some_and(|it| func.inst(it).op == Op::Extract);
    func.inst(inst).args.iter().any(is_extracted)
}

/// Report of a kernel: counts over its regions, in their version for whole brushes. The loops over the brushes of a work-group
/// are not counted.
///
/// `Display` writes one line for each fact, as the command and the drivers print it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelReport {
    /// Name of the kernel.
    pub kernel: String,
    /// Work-item layout.
    pub fold: WorkItemLayout,
    /// Work-item dimensions that the axes of a brush span.
    pub axes: AxisOrder,
    /// Estimate that chose another dimension than 0 for the lanes.
    pub vector_dimension: Option<VectorDimension>,
    /// Lanes of a brush along each axis.
    pub brush: Vec<u32>,
    /// Barriers after inlining.
    pub barriers: usize,
    /// States: pieces of code between barriers.
    pub states: usize,
    /// Bytes of spill slots per brush for values that live across barriers.
    pub brush_bytes: u64,
    /// Bytes of local memory that the kernel declares.
    pub local_bytes: u64,
    /// Counts and remarks of the regions.
    pub code: VectorReport,
    /// Source lines of the remaining branches.
    pub branch_lines: Vec<String>,
    /// Source lines of gathers and scatters.
    pub scattered_lines: Vec<String>,
    /// Source lines of code that runs lane by lane.
    pub lane_by_lane_lines: Vec<String>,
}

/// Attributes a diagnostic of a region to its kernel.
#[must_use]
pub fn attribute_to_kernel(mut diagnostic: Diagnostic, kernel: &str) -> Diagnostic {
    let is_region = |name: &str| name.strip_prefix(kernel).is_some_and(|rest| rest.starts_with(".region"));
    if diagnostic.place.func.as_deref().is_some_and(is_region) {
        diagnostic.place.func = Some(kernel.to_string());
    }
    diagnostic
}

/// Returns the wide functions of a kernel: its regions for whole brushes, and their callees.
fn wide_functions<'m>(wide: &'m Module, kernel: &str) -> Vec<&'m Function> {
    let Some(group) = wide.function(kernel) else { return Vec::new() };
    let is_mask = |param: &Param| matches!(param.ty, Type::Vector(Scalar::I1, _));
    let is_masked =
        |name: &str| wide.function(name).is_some_and(|func| func.signature.params.iter().any(is_mask));
    let regions = || group.callees.values().map(|callee| callee.name.clone());
    let mut entered: Vec<String> = regions().filter(|name| !is_masked(name)).collect();
    if entered.is_empty() {
        entered = regions().collect();
    }
    user_functions_in(wide, reachable_from(wide, entered)).collect()
}

/// Private arrays of a kernel and its callees that are values.
fn promoted_arrays<'a>(
    group: &'a GroupFunction,
    counted: &'a [&Function],
) -> impl Iterator<Item = &'a RegisterArray> {
    group.register_arrays.iter().chain(counted.iter().flat_map(|func| &func.register_arrays))
}

/// Returns the file and line of an instruction.
fn line_of(module: &Module, func: &Function, inst: Inst) -> Option<(u32, u32)> {
    func.loc(inst).filter(|loc| module.files.get(loc.file).is_some()).map(|loc| (loc.file.as_u32(), loc.line))
}

impl KernelReport {
    /// Returns what to change in the source for faster code.
    fn advice(&self) -> Vec<String> {
        let mut advice = Vec::new();
        let mut add = |lines: &[String], text: &str| {
            if !lines.is_empty() {
                advice.push(format!("{}: {text}", LineList(lines)));
            }
        };
        let needs_test = |remark: &&Diagnostic| {
            let is_tested = |it: &AccessLowering| it.is_chosen && it.is_wrap_test;
            remark.place.line > 0 && remark.access.as_deref().is_some_and(is_tested)
        };
        let tested: BTreeSet<u32> =
            self.code.remarks.iter().filter(needs_test).map(|remark| remark.place.line).collect();
        let tested: Vec<String> = tested.iter().map(u32::to_string).collect();
        add(
            &self.always_scattered_lines(),
            "let neighbouring work-items access neighbouring elements, or copy them to local memory first",
        );
        add(
            &self.lane_by_lane_lines,
            "runs one work-item at a time; combine values in local memory, or move it out of loops",
        );
        add(&tested, "compute the index in 64 bits (`size_t`), which needs no test at run time");
        advice
    }

    /// Returns source lines of gathers and scatters without those whose accesses are contiguous under a condition.
    pub fn always_scattered_lines(&self) -> Vec<String> {
        let is_conditional = |it: &AccessLowering| it.is_chosen && !it.condition.is_empty();
        let remarks = self.code.remarks.iter();
        let conditional = remarks.filter(|remark| remark.access.as_deref().is_some_and(is_conditional));
        let conditional: BTreeSet<String> = conditional.map(|remark| remark.place.line.to_string()).collect();
        self.scattered_lines.iter().filter(|line| !conditional.contains(*line)).cloned().collect()
    }

    /// True if the vector code has fewer branches than the source.
    pub fn has_converted_branches(&self) -> bool {
        self.code.branches[1] < self.code.branches[0]
    }

    /// Builds the report of a kernel of `source` that became `group`, with its regions in `wide`.
    pub fn new(
        source: &Module,
        wide: &Module,
        group: &GroupFunction,
        made: &KernelOptions,
        remarks: &[Diagnostic],
    ) -> KernelReport {
        let kernel = &group.name;
        let mut code = VectorReport {
            lanes: made.lanes(),
            branches: [branches(source, kernel), 0],
            ..VectorReport::default()
        };
        let (mut branch_lines, mut scattered_lines, mut lane_by_lane_lines) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let counted = wide_functions(wide, kernel);
        for func in &counted {
            for block in func.blocks() {
                if func.successors(block).len() > 1 {
                    code.branches[1] += 1;
                    branch_lines.extend(func.terminator(block).and_then(|inst| line_of(wide, func, inst)));
                }
                for inst in func.block_insts(block) {
                    let before = (code.accesses.scattered, code.lane_by_lane.len());
                    code.count_inst(func, inst);
                    if code.accesses.scattered > before.0 {
                        scattered_lines.extend(line_of(wide, func, inst));
                    }
                    if code.lane_by_lane.len() > before.1 {
                        lane_by_lane_lines.extend(line_of(wide, func, inst));
                    }
                }
            }
        }
        // Versions that are not counted, such as that for the last brush of a row, repeat the remarks.
        let is_form =
            |name: &str, wide: &str| wide.strip_prefix(name).is_some_and(|rest| rest.starts_with(".w"));
        let is_counted = |diagnostic: &&Diagnostic| {
            let Some(name) = diagnostic.place.func.as_deref() else { return true };
            let of_name = |func: &Function| is_form(name, &func.name);
            counted.iter().any(|func| of_name(func)) || !wide.functions.iter().any(of_name)
        };
        for diagnostic in remarks.iter().filter(is_counted) {
            let diagnostic = attribute_to_kernel(diagnostic.clone(), kernel);
            if !code.remarks.contains(&diagnostic) {
                code.remarks.push(diagnostic);
            }
        }
        for array in promoted_arrays(group, &counted) {
            let text = format!(
                "private array `{}` of {} bytes: in registers: all its indices are constant",
                array.name, array.bytes
            );
            let place = DiagnosticLocation::of_func(kernel).at(array.loc);
            let remark = Diagnostic::remark(Code::PrivateArray, text).at(place).in_module(source);
            if !code.remarks.contains(&remark) {
                code.remarks.push(remark);
            }
        }
        let first = source.function(kernel).and_then(|func| {
            func.blocks()
                .flat_map(|block| func.block_insts(block))
                .find_map(|inst| line_of(source, func, inst))
        });
        let words = |lines: BTreeSet<(u32, u32)>| -> Vec<String> {
            let word = |&(file, line): &(u32, u32)| match wide.files.values().nth(file as usize) {
                Some(name) if first.is_some_and(|(first, _)| first != file) => format!("{name}:{line}"),
                _ => line.to_string(),
            };
            lines.iter().map(word).collect()
        };
        KernelReport {
            kernel: kernel.clone(),
            fold: made.layout,
            axes: made.axes,
            vector_dimension: (made.axes != AxisOrder::WORK_ITEMS).then(|| vector_dimension(source, kernel)),
            brush: made.brush.to_vec(),
            barriers: group.barriers,
            states: group.synchronization_points + 1,
            brush_bytes: group.brush_bytes,
            local_bytes: group.local_bytes,
            code,
            branch_lines: words(branch_lines),
            scattered_lines: words(scattered_lines),
            lane_by_lane_lines: words(lane_by_lane_lines),
        }
    }
}

/// List of source lines, in each file in ascending order, displayed as `line 5` or `lines 5, 7 to 9, k.h:2, 4`.
struct LineList<'a>(&'a [String]);

impl LineList<'_> {
    /// Returns the list in brackets after a space; nothing if it is empty.
    fn in_brackets(&self) -> String {
        if self.0.is_empty() { String::new() } else { format!(" ({self})") }
    }
}

impl fmt::Display for LineList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Lines of the main file have no name, so they come first.
        let mut files: Vec<(&str, Vec<&str>)> = vec![("", Vec::new())];
        for text in self.0 {
            let (file, line) = text.rsplit_once(':').unwrap_or(("", text));
            match files.iter_mut().find(|(name, _)| *name == file) {
                Some((_, lines)) => lines.push(line),
                None => files.push((file, vec![line])),
            }
        }
        let follows = |one: &&str, next: &&str| {
            one.parse()
                .ok()
                .zip(next.parse().ok())
                .is_some_and(|(one, next): (u64, u64)| one.checked_add(1) == Some(next))
        };
        let of_run = |run: &[&str]| match run {
            [first, _, .., last] => format!("{first} to {last}"),
            _ => run.join(", "),
        };
        let of_file = |(file, lines): &(&str, Vec<&str>)| {
            let runs: Vec<String> = lines.chunk_by(follows).map(of_run).collect();
            let gap = if file.is_empty() { "" } else { ":" };
            format!("{file}{gap}{}", runs.join(", "))
        };
        let lists: Vec<String> = files.iter().filter(|(_, lines)| !lines.is_empty()).map(of_file).collect();
        write!(f, "{} {}", if self.0.len() == 1 { "line" } else { "lines" }, lists.join(", "))
    }
}

impl fmt::Display for KernelReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let VectorReport { lanes, branches, accesses, instructions, lane_by_lane, remarks, .. } = &self.code;
        let fold = match (self.fold, &self.brush[..]) {
            (WorkItemLayout::Rows, [] | [_]) => {
                format!("consecutive work-items along dimension {}", self.axes.dimension(0))
            }
            (WorkItemLayout::Rows, extents) => {
                let extents: Vec<String> = extents.iter().map(u32::to_string).collect();
                format!("tiles of {} work-items", extents.join(" x "))
            }
            (WorkItemLayout::Linear, _) => "work-items in the linear order of their group".to_string(),
        };
        writeln!(f, "kernel {}: {lanes} lanes, {fold}", self.kernel)?;
        if let Some(dimension) = &self.vector_dimension {
            writeln!(f, "  {dimension}")?;
        }
        writeln!(f, "  barriers: {}, states: {}", self.barriers, self.states)?;
        if self.brush_bytes != 0 {
            writeln!(f, "  spill slots across barriers: {} bytes for {lanes} work-items", self.brush_bytes)?;
        }
        if self.local_bytes != 0 {
            writeln!(f, "  local memory: {} bytes per group", self.local_bytes)?;
        }
        let [of_source, left] = branches;
        writeln!(
            f,
            "  branches: {of_source} in the source, {left} in the vector code{}",
            LineList(&self.branch_lines).in_brackets()
        )?;
        writeln!(
            f,
            "  loads and stores: {} contiguous, {} of them masked; {} gathers or scatters{}; {} scalar",
            accesses.contiguous,
            accesses.masked,
            accesses.scattered,
            LineList(&self.scattered_lines).in_brackets(),
            accesses.scalar
        )?;
        writeln!(f, "  instructions: {} vector, {} scalar", instructions[1], instructions[0])?;
        if !lane_by_lane.is_empty() {
            let what: BTreeSet<&str> = lane_by_lane.iter().map(String::as_str).collect();
            let what: Vec<&str> = what.into_iter().collect();
            writeln!(
                f,
                "  one lane at a time: {}{}",
                what.join(", "),
                LineList(&self.lane_by_lane_lines).in_brackets()
            )?;
        }
        // The line above summarizes code that runs lane by lane. Functions that are inlined several times repeat their remarks.
        let mut printed: BTreeSet<String> = BTreeSet::new();
        for mut remark in merge_access_remarks(remarks) {
            remark.place.func = None;
            let text = remark.to_string();
            if remark.code != Code::LaneByLane && !printed.contains(&text) {
                writeln!(f, "  {text}")?;
                printed.insert(text);
            }
        }
        self.advice().iter().try_for_each(|advice| writeln!(f, "  help: {advice}"))
    }
}

#[cfg(test)]
mod tests {
    use super::LineList;

    #[test]
    fn lines_are_listed_by_file_and_in_ranges() {
        let text = |lines: &[&str]| {
            let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
            LineList(&lines).in_brackets()
        };
        assert_eq!(text(&[]), "");
        assert_eq!(text(&["5"]), " (line 5)");
        assert_eq!(
            text(&["h/k.h:2", "h/k.h:4", "5", "7", "8", "9", "11", "12"]),
            " (lines 5, 7 to 9, 11, 12, h/k.h:2, 4)"
        );
        assert_eq!(text(&["k.h:3"]), " (line k.h:3)");
    }
}
