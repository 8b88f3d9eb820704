//! Emission of a body: registers, φs as copies, instructions in order.

use super::{
    FunctionRaising, REGISTER_CLASSES, RaiseResult, approximation, name_of, param_type, prototype,
    register_class, scope_word, space_word,
};
use heddle_ir::entity::Entity as _;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::module::{Declaration, FunctionKind};
use heddle_ir::ops::InstFormat;
use heddle_ir::words::{AtomicOrdering, SyncScope};
use heddle_ir::{Block, Constant, Inst, Op, Scalar, Space, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::fmt::Write as _;

/// Register of a value; two for 128 bits.
type RegisterNames = SmallVec<[String; 2]>;

impl FunctionRaising<'_> {
    pub(super) fn function(&mut self) -> Result<String, (Option<Inst>, String)> {
        let func = self.func;
        let is_kernel = matches!(func.kind, FunctionKind::Kernel(_));
        if !func.signature.results.is_empty() && is_kernel {
            return Err((None, "kernel with results".into()));
        }
        let name = name_of(&func.name);
        for (index, &param) in func.params().iter().enumerate() {
            self.parameter(&name, index, param, is_kernel).map_err(|reason| (None, reason))?;
        }
        let blocks: Vec<Block> = func.blocks().collect();
        // Values that each predecessor copies to φs.
        let mut phi_copies: FxHashMap<Block, Vec<(RegisterNames, Value)>> = FxHashMap::default();
        let mut taken: FxHashMap<Value, RegisterNames> = FxHashMap::default();
        for &block in &blocks {
            for phi in func.phis(block) {
                let data = func.inst(phi);
                if data.shadow().is_some() {
                    return Err((Some(phi), "φ with a shadow".into()));
                }
                let Some(result) = func.result(phi) else { continue };
                let scalars: &[Scalar] = match func.value_type(result).scalar() {
                    Scalar::I128 => &[Scalar::I64, Scalar::I64],
                    scalar => &[scalar],
                };
                let registers: RegisterNames = (scalars.iter().map(|&scalar| self.fresh(scalar)))
                    .collect::<RaiseResult<_>>()
                    .map_err(|reason| (Some(phi), reason))?;
                for (from, value) in data.incoming() {
                    phi_copies.entry(from).or_default().push((registers.clone(), value));
                }
                taken.insert(result, registers);
            }
        }
        for &block in &blocks {
            if func.predicate(block).is_some() {
                return Err((None, format!("{block} has a predicate; write PTX before `linearize`")));
            }
            let _ = writeln!(self.text, "$L_{}:", block.as_u32());
            for inst in func.block_insts(block) {
                self.emit_loc(inst);
                if func.inst(inst).op.is_terminator() {
                    for (registers, value) in phi_copies.remove(&block).unwrap_or_default() {
                        self.copy_to(&registers, value).map_err(|reason| (Some(inst), reason))?;
                    }
                }
                let done = match func.inst(inst).op {
                    Op::Phi => {
                        let result = func.result(inst).filter(|result| taken.contains_key(result));
                        result.map_or(Ok(()), |result| {
                            let scalar = func.value_type(result).scalar();
                            if let [low, high] = &taken[&result][..] {
                                let pair = self.pair(result)?;
                                self.copy(Scalar::I64, &pair[0], low);
                                self.copy(Scalar::I64, &pair[1], high);
                                return Ok(());
                            }
                            let to = self.register(result)?;
                            self.copy(scalar, &to, &taken[&result][0]);
                            Ok(())
                        })
                    }
                    _ => self.instruction(block, inst, &name),
                };
                done.map_err(|reason| (Some(inst), reason))?;
            }
        }
        let mut text = prototype(&func.name, &func.signature, is_kernel);
        if let FunctionKind::Kernel(Some([x, y, z])) = func.kind {
            let _ = write!(text, "\n.reqntid {x}, {y}, {z}");
        }
        text.push_str("\n{\n");
        for (&count, (prefix, ty)) in self.counts.iter().zip(REGISTER_CLASSES) {
            if count > 0 {
                let _ = writeln!(text, "\t.reg .{ty} {prefix}<{count}>;");
            }
        }
        text.push_str(&self.objects);
        text.push_str(&self.text);
        text.push_str("}\n\n");
        Ok(text)
    }

    /// Copies a value to one register, or to two for 128 bits.
    fn copy_to(&mut self, registers: &[String], value: Value) -> RaiseResult<()> {
        if let [low, high] = registers {
            let pair = self.pair(value)?;
            self.copy(Scalar::I64, low, &pair[0]);
            self.copy(Scalar::I64, high, &pair[1]);
            return Ok(());
        }
        let scalar = self.scalar(value);
        let value = self.read(value)?;
        self.copy(scalar, &registers[0], &value);
        Ok(())
    }

    /// Refuses instructions that the target architecture lacks.
    pub(super) fn require_target(&self, min: u32, what: &str) -> RaiseResult<()> {
        let digits =
            self.options.target.trim_start_matches("sm_").trim_end_matches(|c: char| !c.is_ascii_digit());
        match digits.parse::<u32>() {
            Ok(number) if number < min => {
                Err(format!("{what} needs sm_{min}, and the target is {}", self.options.target))
            }
            _ => Ok(()),
        }
    }

    /// Returns a fresh label for an emitted loop.
    pub(super) fn loop_label(&mut self) -> String {
        self.loops += 1;
        format!("$R_{}", self.loops)
    }

    pub(super) fn emit_loc(&mut self, inst: Inst) {
        let Some(loc) = self.func.loc(inst) else { return };
        let here = (loc.file.as_u32() + 1, loc.line, loc.column);
        if self.loc != Some(here) {
            self.loc = Some(here);
            let _ = writeln!(self.text, "\t.loc {} {} {}", here.0, here.1, here.2);
        }
    }

    // Registers.

    pub(super) fn fresh(&mut self, scalar: Scalar) -> RaiseResult<String> {
        let kind = register_class(scalar).ok_or("no registers for integers of 128 bits")?;
        let number = self.counts[kind];
        self.counts[kind] += 1;
        Ok(format!("{}{number}", REGISTER_CLASSES[kind].0))
    }

    pub(super) fn register(&mut self, value: Value) -> RaiseResult<String> {
        if let Some(register) = self.registers.get(&value) {
            return Ok(register.clone());
        }
        let ty = self.func.value_type(value);
        if ty.is_vector() {
            return Err("vectors belong to stage Wide; write PTX before `widen`".into());
        }
        let register = self.fresh(ty.scalar())?;
        self.registers.insert(value, register.clone());
        Ok(register)
    }

    pub(super) fn scalar(&self, value: Value) -> Scalar {
        self.func.value_type(value).scalar()
    }

    /// Returns the register of a read operand; materializes constants.
    pub(super) fn read(&mut self, value: Value) -> RaiseResult<String> {
        let Some(constant) = self.func.constant(value).cloned() else { return self.register(value) };
        let scalar = self.scalar(value);
        let register = self.fresh(scalar)?;
        match constant {
            Constant::Address(space, name) => {
                put!(self, "mov.u64 {register}, {}", name_of(&name));
                if space == Space::Generic {
                    return Err("address of a global without a space".into());
                }
            }
            Constant::Scalar(_, bits) => self.constant(&register, scalar, bits),
            Constant::Poison(_) => self.constant(&register, scalar, 0),
            Constant::Vector(..) => return Err("vectors belong to stage Wide".into()),
        }
        Ok(register)
    }

    pub(super) fn constant(&mut self, register: &str, scalar: Scalar, bits: u128) {
        match scalar {
            Scalar::I1 => put!(self, "mov.pred {register}, {bits}"),
            Scalar::F32 => put!(self, "mov.f32 {register}, 0f{bits:08X}"),
            Scalar::F64 => put!(self, "mov.f64 {register}, 0d{bits:016X}"),
            _ => put!(self, "mov.b{} {register}, {bits:#x}", scalar.bits().max(16)),
        }
    }

    pub(super) fn copy(&mut self, scalar: Scalar, to: &str, from: &str) {
        match scalar {
            Scalar::I1 => put!(self, "mov.pred {to}, {from}"),
            Scalar::F32 => put!(self, "mov.f32 {to}, {from}"),
            Scalar::F64 => put!(self, "mov.f64 {to}, {from}"),
            _ => put!(self, "mov.b{} {to}, {from}", scalar.bits().max(16)),
        }
    }

    pub(super) fn parameter(
        &mut self,
        name: &str,
        index: usize,
        param: Value,
        is_kernel: bool,
    ) -> RaiseResult<()> {
        let scalar = self.scalar(param);
        let register = self.register(param)?;
        match (scalar, is_kernel) {
            (Scalar::I1, true) => {
                let byte = self.fresh(Scalar::I16)?;
                put!(self, "ld.param.u8 {byte}, [{name}_param_{index}]");
                put!(self, "setp.ne.u16 {register}, {byte}, 0");
            }
            (Scalar::I8, true) => put!(self, "ld.param.u8 {register}, [{name}_param_{index}]"),
            (Scalar::Ptr(space), true) => {
                put!(self, "ld.param.u64 {register}, [{name}_param_{index}]");
                // A launch passes generic addresses.
                if let Some(word) = space_word(space).filter(|_| space != Space::Local) {
                    put!(self, "cvta.to.{word}.u64 {register}, {register}");
                }
            }
            (_, true) => put!(self, "ld.param.b{} {register}, [{name}_param_{index}]", scalar.bits()),
            (_, false) => self.load_param(scalar, &register, &format!("{name}_param_{index}"), 0)?,
        }
        Ok(())
    }

    /// Loads a parameter or result, which is at least 32 bits wide.
    pub(super) fn load_param(
        &mut self,
        scalar: Scalar,
        register: &str,
        from: &str,
        at: usize,
    ) -> RaiseResult<()> {
        if scalar.bits() >= 32 {
            put!(self, "ld.param.b{} {register}, [{from}+{at}]", scalar.bits());
            return Ok(());
        }
        let wide = self.fresh(Scalar::I32)?;
        put!(self, "ld.param.b32 {wide}, [{from}+{at}]");
        match scalar {
            Scalar::I1 => put!(self, "setp.ne.b32 {register}, {wide}, 0"),
            _ => put!(self, "cvt.u16.u32 {register}, {wide}"),
        }
        Ok(())
    }

    pub(super) fn store_param(
        &mut self,
        scalar: Scalar,
        register: &str,
        to: &str,
        at: usize,
    ) -> RaiseResult<()> {
        if scalar.bits() >= 32 {
            put!(self, "st.param.b{} [{to}+{at}], {register}", scalar.bits());
            return Ok(());
        }
        let wide = self.fresh(Scalar::I32)?;
        match scalar {
            Scalar::I1 => put!(self, "selp.b32 {wide}, 1, 0, {register}"),
            _ => put!(self, "cvt.u32.u16 {wide}, {register}"),
        }
        put!(self, "st.param.b32 [{to}+{at}], {wide}");
        Ok(())
    }

    // Instructions.

    pub(super) fn instruction(&mut self, block: Block, inst: Inst, name: &str) -> RaiseResult<()> {
        let func = self.func;
        let data = func.inst(inst);
        if data.is_total() {
            return Err("`total` instruction: inactive lanes of PTX execute nothing".into());
        }
        match data.op {
            Op::Br => self.branch(block, data),
            Op::Switch => self.switch(data),
            Op::Ret => {
                let results = &func.signature.results;
                for (index, (&value, result)) in data.args.iter().zip(results).enumerate() {
                    let register = self.read(value)?;
                    self.store_param(result.ty.scalar(), &register, &format!("{name}_result"), index * 16)?;
                }
                put!(self, "ret");
                Ok(())
            }
            Op::Unreachable => {
                put!(self, "trap");
                Ok(())
            }
            Op::Call => self.call(data, inst),
            Op::Assume => Ok(()),
            Op::Store if !self.is_double(inst, data) => self.store(data),
            Op::Fence => {
                let Detail::Fence(ordering, scope) = data.detail else { return Ok(()) };
                let word = match ordering {
                    AtomicOrdering::SeqCst => "sc",
                    _ => "acq_rel",
                };
                if let Some(scope) = scope_word(scope) {
                    put!(self, "fence.{word}.{scope}");
                }
                Ok(())
            }
            Op::Barrier => {
                match data.detail {
                    Detail::Barrier(SyncScope::Group) => put!(self, "bar.sync 0"),
                    Detail::Barrier(SyncScope::Brush) => put!(self, "bar.warp.sync 0xffffffff"),
                    _ => return Err("no barrier of PTX for it".into()),
                }
                Ok(())
            }
            Op::Memcpy | Op::Memmove | Op::Memset => self.bulk(data),
            _ if self.is_double(inst, data) => self.double(inst, data),
            _ => {
                let results = func.results(inst).to_vec();
                let Some(&result) = results.first() else {
                    return Err(format!("PTX has no instruction for `{}`", data.op));
                };
                let to = self.register(result)?;
                let second = results.get(1).map(|&second| self.register(second)).transpose()?;
                let args: Vec<String> =
                    data.args.iter().map(|&arg| self.read(arg)).collect::<RaiseResult<_>>()?;
                self.value(inst, data, &to, second.as_deref(), &args)
            }
        }
    }

    pub(super) fn branch(&mut self, block: Block, data: &InstData) -> RaiseResult<()> {
        match data.targets() {
            [only] => put!(self, "bra.uni $L_{}", only.as_u32()),
            [then, otherwise, ..] => {
                let condition = self.read(data.args[0])?;
                let uni = if self.facts.uniform.contains(&block) { ".uni" } else { "" };
                put!(self, "@{condition} bra{uni} $L_{}", then.as_u32());
                put!(self, "bra.uni $L_{}", otherwise.as_u32());
            }
            [] => {}
        }
        Ok(())
    }

    pub(super) fn switch(&mut self, data: &InstData) -> RaiseResult<()> {
        let Detail::Switch(switch) = &data.detail else { return Ok(()) };
        let bits = self.scalar(data.args[0]).bits();
        let value = self.read(data.args[0])?;
        if bits < 8 {
            return Err("it chooses by a truth value; run `canonicalize`".into());
        }
        for (case, target) in switch.cases.iter().zip(&switch.targets[1..]) {
            let is = self.fresh(Scalar::I1)?;
            put!(self, "setp.eq.b{} {is}, {value}, {case:#x}", bits.max(16));
            put!(self, "@{is} bra $L_{}", target.as_u32());
        }
        put!(self, "bra.uni $L_{}", switch.targets[0].as_u32());
        Ok(())
    }

    pub(super) fn call(&mut self, data: &InstData, inst: Inst) -> RaiseResult<()> {
        let Some(callee) = self.func.callee_of(data) else { return Ok(()) };
        let callee: &Declaration = callee;
        if callee.name == "llvm.trap" {
            put!(self, "trap");
            return Ok(());
        }
        if callee.name.starts_with("heddle.texture.") || callee.name.starts_with("heddle.surface.") {
            return Err("accesses to textures and surfaces have no way back to PTX".into());
        }
        let results = self.func.results(inst).to_vec();
        if let (Some(word), true) = (approximation(&callee.name), self.options.approximate) {
            let (to, from) = (self.register(results[0])?, self.read(data.args[0])?);
            put!(self, "{word} {to}, {from}");
            return Ok(());
        }
        let number = self.calls;
        self.calls += 1;
        let name = name_of(&callee.name);
        let mut list = Vec::new();
        self.text.push_str("\t{\n");
        for (index, (&arg, param)) in data.args.iter().zip(&callee.signature.params).enumerate() {
            let scalar = param.ty.scalar();
            put!(self, ".param .{} $arg{number}_{index}", param_type(scalar, false));
            let value = self.read(arg)?;
            self.store_param(scalar, &value, &format!("$arg{number}_{index}"), 0)?;
            list.push(format!("$arg{number}_{index}"));
        }
        let list = list.join(", ");
        let result_name = format!("$result{number}");
        match &callee.signature.results[..] {
            [] => put!(self, "call {name}, ({list})"),
            [one] => {
                put!(self, ".param .{} {result_name}", param_type(one.ty.scalar(), false));
                put!(self, "call ({result_name}), {name}, ({list})");
            }
            many => {
                put!(self, ".param .align 16 .b8 {result_name}[{}]", many.len() * 16);
                put!(self, "call ({result_name}), {name}, ({list})");
            }
        }
        for (index, &result) in results.iter().enumerate() {
            let scalar = self.scalar(result);
            let register = self.register(result)?;
            self.load_param(scalar, &register, &result_name, index * 16)?;
        }
        self.text.push_str("\t}\n");
        Ok(())
    }

    pub(super) fn value(
        &mut self,
        inst: Inst,
        data: &InstData,
        to: &str,
        second: Option<&str>,
        args: &[String],
    ) -> RaiseResult<()> {
        let func = self.func;
        let result = func.results(inst)[0];
        let scalar = self.scalar(result);
        let from = data.args.first().map_or(scalar, |&arg| self.scalar(arg));
        match data.op {
            Op::Select => self.select(scalar, to, args),
            Op::Freeze => {
                self.copy(scalar, to, &args[0]);
                Ok(())
            }
            Op::Icmp => self.compare(data, from, to, args),
            Op::Fcmp => self.compare_floats(data, from, to, args),
            Op::FloatClass => self.class(data, from, to, &args[0]),
            Op::Load => self.load(inst, data, to, &args[0]),
            Op::AtomicRmw | Op::CompareExchange => self.atomic(data, from, to, second, args),
            Op::Alloca => {
                let Detail::Alloca { bytes, align } = data.detail else { return Ok(()) };
                if func.layout.block_of(inst) != func.layout.entry() {
                    return Err("alloca in a loop: the stack of PTX does not grow".into());
                }
                let name = format!("$object{}", inst.index());
                let _ = writeln!(self.objects, "\t.local .align {align} .b8 {name}[{}];", bytes.max(1));
                put!(self, "mov.u64 {to}, {name}");
                Ok(())
            }
            Op::PtrAdd => {
                let offset = self.long(data.args[1], &args[1])?;
                put!(self, "add.s64 {to}, {}, {offset}", args[0]);
                Ok(())
            }
            Op::Ptrtoint | Op::Inttoptr | Op::SpaceCast => self.address(from, scalar, to, &args[0]),
            Op::Bitcast => self.bitcast(from, scalar, to, &args[0]),
            Op::Trunc | Op::Zext | Op::Sext => self.resize(data.op, from, scalar, to, &args[0]),
            op if op.info().format == InstFormat::Dimension => self.query(data, scalar, to),
            Op::Mask
            | Op::Any
            | Op::All
            | Op::Ballot
            | Op::Popcount
            | Op::Shuffle
            | Op::Broadcast
            | Op::First
            | Op::Reduce => self.horizontal(data, from, scalar, to, args),
            _ if scalar.is_float() || from.is_float() => self.float(data.op, from, scalar, to, args),
            _ => self.integer(data.op, scalar, to, args),
        }
    }

    pub(super) fn select(&mut self, scalar: Scalar, to: &str, args: &[String]) -> RaiseResult<()> {
        if scalar == Scalar::I1 {
            let (then, not, other) = (self.fresh(scalar)?, self.fresh(scalar)?, self.fresh(scalar)?);
            put!(self, "and.pred {then}, {}, {}", args[0], args[1]);
            put!(self, "not.pred {not}, {}", args[0]);
            put!(self, "and.pred {other}, {not}, {}", args[2]);
            put!(self, "or.pred {to}, {then}, {other}");
            return Ok(());
        }
        let ty = match scalar {
            Scalar::F32 => "f32".into(),
            Scalar::F64 => "f64".into(),
            _ => format!("b{}", scalar.bits().max(16)),
        };
        put!(self, "selp.{ty} {to}, {}, {}, {}", args[1], args[2], args[0]);
        Ok(())
    }

    pub(super) fn query(&mut self, data: &InstData, scalar: Scalar, to: &str) -> RaiseResult<()> {
        let Detail::Dimension(dimension) = data.detail else { return Ok(()) };
        let axis = ["x", "y", "z"][usize::from(dimension.unwrap_or(0)).min(2)];
        let value = self.fresh(Scalar::I32)?;
        match data.op {
            Op::Lane => put!(self, "mov.u32 {value}, %laneid"),
            Op::Width => put!(self, "mov.u32 {value}, 32"),
            Op::LocalId => put!(self, "mov.u32 {value}, %tid.{axis}"),
            Op::LocalSize | Op::EnqueuedSize => put!(self, "mov.u32 {value}, %ntid.{axis}"),
            Op::GroupId => put!(self, "mov.u32 {value}, %ctaid.{axis}"),
            Op::NumGroups => put!(self, "mov.u32 {value}, %nctaid.{axis}"),
            Op::GlobalOffset => put!(self, "mov.u32 {value}, 0"),
            Op::WorkDim => put!(self, "mov.u32 {value}, 3"),
            _ => {
                let (group, size) = (self.fresh(Scalar::I32)?, self.fresh(Scalar::I32)?);
                put!(self, "mov.u32 {size}, %ntid.{axis}");
                if data.op == Op::GlobalId {
                    let local = self.fresh(Scalar::I32)?;
                    put!(self, "mov.u32 {group}, %ctaid.{axis}");
                    put!(self, "mov.u32 {local}, %tid.{axis}");
                    put!(self, "mad.lo.u32 {value}, {group}, {size}, {local}");
                } else {
                    put!(self, "mov.u32 {group}, %nctaid.{axis}");
                    put!(self, "mul.lo.u32 {value}, {group}, {size}");
                }
            }
        }
        match scalar {
            Scalar::I32 => self.copy(scalar, to, &value),
            _ => self.resize(
                if scalar.bits() > 32 { Op::Zext } else { Op::Trunc },
                Scalar::I32,
                scalar,
                to,
                &value,
            )?,
        }
        Ok(())
    }
}
