//! Operations of work-groups and sub-groups, as calls of OpenCL C's builtins.

use crate::binary::SpirvInst;
use crate::error::SpirvResult;
use crate::function::{ANY, FunctionWriter, PURE, SpirvValue};
use crate::mangle::{MangledNumber, MangledType, mangle};
use crate::types::{NumberKind, NumberType, SpirvTypeKind};
use spirv::{GroupOperation, Op, Scope};

/// Integer parameter type of builtins.
fn int(bits: u32, is_signed: bool) -> MangledType {
    MangledType::Number(MangledNumber { kind: NumberKind::Int(bits), is_signed, count: 1 })
}

/// Argument of a builtin: its type in the mangled name, and its text with the type.
type GroupArgument = (MangledType, (String, String));

fn argument(bits: u32, is_signed: bool, text: &str) -> GroupArgument {
    (int(bits, is_signed), (format!("i{bits}"), text.into()))
}

/// Returns the operation of a reduction or scan, and whether its integers are signed.
fn reduction(op: Op) -> Option<(&'static str, bool)> {
    Some(match op {
        Op::GroupIAdd | Op::GroupFAdd | Op::GroupNonUniformIAdd | Op::GroupNonUniformFAdd => ("add", true),
        Op::GroupSMin | Op::GroupFMin | Op::GroupNonUniformSMin | Op::GroupNonUniformFMin => ("min", true),
        Op::GroupUMin | Op::GroupNonUniformUMin => ("min", false),
        Op::GroupSMax | Op::GroupFMax | Op::GroupNonUniformSMax | Op::GroupNonUniformFMax => ("max", true),
        Op::GroupUMax | Op::GroupNonUniformUMax => ("max", false),
        Op::GroupIMulKHR | Op::GroupFMulKHR | Op::GroupNonUniformIMul | Op::GroupNonUniformFMul => {
            ("mul", true)
        }
        Op::GroupBitwiseAndKHR
        | Op::GroupLogicalAndKHR
        | Op::GroupNonUniformBitwiseAnd
        | Op::GroupNonUniformLogicalAnd => ("and", true),
        Op::GroupBitwiseOrKHR
        | Op::GroupLogicalOrKHR
        | Op::GroupNonUniformBitwiseOr
        | Op::GroupNonUniformLogicalOr => ("or", true),
        Op::GroupBitwiseXorKHR
        | Op::GroupLogicalXorKHR
        | Op::GroupNonUniformBitwiseXor
        | Op::GroupNonUniformLogicalXor => ("xor", true),
        _ => return None,
    })
}

impl FunctionWriter<'_, '_> {
    /// Writes an operation of a group; false for other instructions.
    pub(crate) fn group(&mut self, inst: &SpirvInst<'_>, op: Op) -> SpirvResult<bool> {
        if let Some((name, is_signed)) = reduction(op) {
            self.reduce(inst, name, is_signed)?;
            return Ok(true);
        }
        match op {
            Op::GroupAsyncCopy => self.async_copy(inst)?,
            Op::GroupWaitEvents => self.wait_events(inst)?,
            Op::GroupAll | Op::GroupAny => {
                let prefix = self.prefix(inst, 2)?;
                let name = if op == Op::GroupAll { "all" } else { "any" };
                self.vote(inst, &format!("{prefix}_{name}"), 3)?;
            }
            Op::GroupNonUniformAll => self.sub_group_vote(inst, "sub_group_non_uniform_all")?,
            Op::GroupNonUniformAny => self.sub_group_vote(inst, "sub_group_non_uniform_any")?,
            Op::SubgroupAllKHR => self.vote(inst, "sub_group_non_uniform_all", 2)?,
            Op::SubgroupAnyKHR => self.vote(inst, "sub_group_non_uniform_any", 2)?,
            Op::GroupNonUniformElect => {
                self.only_sub_groups(inst)?;
                self.predicate(inst, "sub_group_elect", Vec::new())?;
            }
            Op::GroupNonUniformAllEqual | Op::SubgroupAllEqualKHR => self.all_equal(inst, op)?,
            Op::GroupBroadcast => self.broadcast(inst)?,
            Op::GroupNonUniformBroadcast => self.exchange(inst, "sub_group_non_uniform_broadcast", 3)?,
            Op::GroupNonUniformBroadcastFirst => self.exchange(inst, "sub_group_broadcast_first", 3)?,
            Op::SubgroupFirstInvocationKHR => self.exchange(inst, "sub_group_broadcast_first", 2)?,
            Op::SubgroupReadInvocationKHR | Op::SubgroupShuffleINTEL => {
                self.exchange(inst, "sub_group_shuffle", 2)?
            }
            Op::SubgroupShuffleXorINTEL => self.exchange(inst, "sub_group_shuffle_xor", 2)?,
            Op::GroupNonUniformShuffle => self.exchange(inst, "sub_group_shuffle", 3)?,
            Op::GroupNonUniformShuffleXor => self.exchange(inst, "sub_group_shuffle_xor", 3)?,
            Op::GroupNonUniformShuffleUp => self.exchange(inst, "sub_group_shuffle_up", 3)?,
            Op::GroupNonUniformShuffleDown => self.exchange(inst, "sub_group_shuffle_down", 3)?,
            Op::SubgroupShuffleUpINTEL | Op::SubgroupShuffleDownINTEL => {
                self.shuffle_pair(inst, op == Op::SubgroupShuffleDownINTEL)?;
            }
            Op::GroupNonUniformRotateKHR => self.rotate(inst)?,
            Op::GroupNonUniformBallot | Op::SubgroupBallotKHR => {
                let index = if op == Op::SubgroupBallotKHR { 2 } else { 3 };
                if index == 3 {
                    self.only_sub_groups(inst)?;
                }
                let id = inst.operand(1)?;
                self.check_type(inst, inst.operand(0)?, "<4 x i32>")?;
                let bit = self.predicate_operand(inst, index)?;
                let call = self.call_group("sub_group_ballot", "<4 x i32>", &[argument(32, true, &bit)], ANY);
                self.result(id, &call);
            }
            Op::GroupNonUniformInverseBallot => {
                self.only_sub_groups(inst)?;
                let mask = self.mask(inst, 3)?;
                self.predicate(inst, "sub_group_inverse_ballot", vec![mask])?;
            }
            Op::GroupNonUniformBallotBitExtract => {
                self.only_sub_groups(inst)?;
                let mask = self.mask(inst, 3)?;
                let index = self.lane_operand(inst, 4)?;
                self.predicate(inst, "sub_group_ballot_bit_extract", vec![mask, index])?;
            }
            Op::GroupNonUniformBallotBitCount => {
                self.only_sub_groups(inst)?;
                let name = match GroupOperation::from_u32(inst.operand(3)?) {
                    Some(GroupOperation::Reduce) => "sub_group_ballot_bit_count",
                    Some(GroupOperation::InclusiveScan) => "sub_group_ballot_inclusive_scan",
                    Some(GroupOperation::ExclusiveScan) => "sub_group_ballot_exclusive_scan",
                    _ => {
                        let reason = "this kind of count is not supported";
                        return Err(inst.unsupported(reason, "count the bits of the whole ballot"));
                    }
                };
                self.count(inst, name, 4)?;
            }
            Op::GroupNonUniformBallotFindLSB => {
                self.only_sub_groups(inst)?;
                self.count(inst, "sub_group_ballot_find_lsb", 3)?;
            }
            Op::GroupNonUniformBallotFindMSB => {
                self.only_sub_groups(inst)?;
                self.count(inst, "sub_group_ballot_find_msb", 3)?;
            }
            Op::SubgroupBlockReadINTEL => self.block_read(inst)?,
            Op::SubgroupBlockWriteINTEL => self.block_write(inst)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn call_group(&mut self, name: &str, result: &str, args: &[GroupArgument], attributes: &str) -> String {
        let (types, texts): (Vec<MangledType>, Vec<(String, String)>) = args.iter().cloned().unzip();
        self.builtin_call(name, result, &types, &texts, attributes)
    }

    /// Returns the prefix of the builtins of an operation's scope.
    fn prefix(&self, inst: &SpirvInst<'_>, index: usize) -> SpirvResult<&'static str> {
        match self.scope(inst, inst.operand(index)?)? {
            Scope::Workgroup => Ok("work_group"),
            Scope::Subgroup => Ok("sub_group"),
            other => {
                let reason = format!("operations of the scope {other:?} are not supported");
                Err(inst.unsupported(reason, "use the scopes Workgroup and Subgroup"))
            }
        }
    }

    fn only_sub_groups(&self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        match self.prefix(inst, 2)? {
            "sub_group" => Ok(()),
            _ => Err(inst.unsupported("the operation has another scope than Subgroup", "use Subgroup")),
        }
    }

    /// Returns a bool operand as an `int`.
    fn predicate_operand(&mut self, inst: &SpirvInst<'_>, index: usize) -> SpirvResult<String> {
        let value = self.operand_of(inst, index, "i1")?;
        Ok(self.temporary(&format!("zext i1 {} to i32", value.text)))
    }

    /// Writes a call of a builtin that gives an `int`, and its test.
    fn predicate(&mut self, inst: &SpirvInst<'_>, name: &str, args: Vec<GroupArgument>) -> SpirvResult<()> {
        let id = inst.operand(1)?;
        self.check_type(inst, inst.operand(0)?, "i1")?;
        let call = self.call_group(name, "i32", &args, ANY);
        let value = self.temporary(&call);
        self.result(id, &format!("icmp ne i32 {value}, 0"));
        Ok(())
    }

    fn vote(&mut self, inst: &SpirvInst<'_>, name: &str, index: usize) -> SpirvResult<()> {
        let bit = self.predicate_operand(inst, index)?;
        self.predicate(inst, name, vec![argument(32, true, &bit)])
    }

    fn sub_group_vote(&mut self, inst: &SpirvInst<'_>, name: &str) -> SpirvResult<()> {
        self.only_sub_groups(inst)?;
        self.vote(inst, name, 3)
    }

    /// Returns a ballot operand.
    fn mask(&mut self, inst: &SpirvInst<'_>, index: usize) -> SpirvResult<GroupArgument> {
        let value = self.operand_of(inst, index, "<4 x i32>")?;
        let number = MangledNumber { kind: NumberKind::Int(32), is_signed: false, count: 4 };
        Ok((MangledType::Number(number), (value.type_text, value.text)))
    }

    /// Returns an integer operand as a `uint`.
    fn lane_operand(&mut self, inst: &SpirvInst<'_>, index: usize) -> SpirvResult<GroupArgument> {
        let value = self.index(inst, index)?;
        let bits = self.number_of(inst, &value)?.kind.bits();
        let text = self.resized(&value.text, bits, 32);
        Ok(argument(32, false, &text))
    }

    fn count(&mut self, inst: &SpirvInst<'_>, name: &str, index: usize) -> SpirvResult<()> {
        let id = inst.operand(1)?;
        self.check_type(inst, inst.operand(0)?, "i32")?;
        let mask = self.mask(inst, index)?;
        let call = self.call_group(name, "i32", &[mask], ANY);
        self.result(id, &call);
        Ok(())
    }

    /// Applies a function to each element of a value, in a type that the builtins have.
    fn each_element(
        &mut self,
        value: &SpirvValue,
        number: NumberType,
        is_signed: bool,
        mut apply: impl FnMut(&mut Self, MangledType, (String, String)) -> String,
    ) -> String {
        let wide = match number.kind {
            NumberKind::Float(16) | NumberKind::BFloat => NumberKind::Float(32),
            NumberKind::Bool | NumberKind::Int(8 | 16) => NumberKind::Int(32),
            kind => kind,
        };
        let (element, text) = (number.kind.text(), number.text());
        let [widen, narrow] = match (number.kind.is_float(), is_signed) {
            (true, _) => ["fpext", "fptrunc"],
            (false, true) if number.kind != NumberKind::Bool => ["sext", "trunc"],
            _ => ["zext", "trunc"],
        };
        let mangled = MangledType::Number(MangledNumber { kind: wide, is_signed, count: 1 });
        let mut whole = "undef".to_string();
        for lane in 0..number.count {
            let mut item = match number.is_vector {
                true => self.temporary(&format!("extractelement {}, i64 {lane}", value.typed())),
                false => value.text.clone(),
            };
            if wide != number.kind {
                item = self.temporary(&format!("{widen} {element} {item} to {}", wide.text()));
            }
            let call = apply(self, mangled.clone(), (wide.text().into(), item));
            let mut result = self.temporary(&call);
            if wide != number.kind {
                result = self.temporary(&format!("{narrow} {} {result} to {element}", wide.text()));
            }
            whole = match number.is_vector {
                true => {
                    self.temporary(&format!("insertelement {text} {whole}, {element} {result}, i64 {lane}"))
                }
                false => result,
            };
        }
        whole
    }

    fn reduce(&mut self, inst: &SpirvInst<'_>, name: &str, is_signed: bool) -> SpirvResult<()> {
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let prefix = self.prefix(inst, 2)?;
        let kind = match GroupOperation::from_u32(inst.operand(3)?) {
            Some(GroupOperation::Reduce) => "reduce",
            Some(GroupOperation::InclusiveScan) => "scan_inclusive",
            Some(GroupOperation::ExclusiveScan) => "scan_exclusive",
            Some(GroupOperation::ClusteredReduce) if prefix == "sub_group" => "clustered_reduce",
            _ => {
                return Err(
                    inst.unsupported("this kind of reduction is not supported", "reduce the whole group")
                );
            }
        };
        let text = self.type_text(inst, ty)?;
        let value = self.operand_of(inst, 4, &text)?;
        let number = self.number_of(inst, &value)?;
        let is_logical = matches!(name, "and" | "or" | "xor");
        if is_logical && number.kind.is_float() || !is_logical && number.kind == NumberKind::Bool {
            return Err(inst.invalid(format!("{text} has no such reduction")));
        }
        let name = format!("{prefix}_{kind}_{name}");
        let size = match kind {
            "clustered_reduce" => Some(self.lane_operand(inst, 5)?),
            _ => None,
        };
        let whole = self.each_element(&value, number, is_signed, |this, mangled, (ty, item)| {
            let mut args = vec![(mangled, (ty.clone(), item))];
            args.extend(size.clone());
            this.call_group(&name, &ty, &args, ANY)
        });
        self.alias(id, &text, &whole);
        Ok(())
    }

    fn all_equal(&mut self, inst: &SpirvInst<'_>, op: Op) -> SpirvResult<()> {
        let index = if op == Op::SubgroupAllEqualKHR { 2 } else { 3 };
        if index == 3 {
            self.only_sub_groups(inst)?;
        }
        let id = inst.operand(1)?;
        self.check_type(inst, inst.operand(0)?, "i1")?;
        let value = self.operand(inst, index)?;
        let number = self.number_of(inst, &value)?;
        let scalar = NumberType::scalar(number.kind);
        let mut all = "true".to_string();
        for lane in 0..number.count {
            let item = match number.is_vector {
                true => self.temporary(&format!("extractelement {}, i64 {lane}", value.typed())),
                false => value.text.clone(),
            };
            let (ty, item) = match scalar.kind {
                NumberKind::Bool | NumberKind::Int(8 | 16) => {
                    ("i32", self.temporary(&format!("zext {} {item} to i32", scalar.text())))
                }
                NumberKind::Float(16) | NumberKind::BFloat => {
                    ("float", self.temporary(&format!("fpext {} {item} to float", scalar.text())))
                }
                kind => (kind.text(), item),
            };
            let kind = match ty {
                "i32" => NumberKind::Int(32),
                "float" => NumberKind::Float(32),
                _ => scalar.kind,
            };
            let mangled = MangledType::Number(MangledNumber { kind, is_signed: true, count: 1 });
            let call = self.call_group(
                "sub_group_non_uniform_all_equal",
                "i32",
                &[(mangled, (ty.into(), item))],
                ANY,
            );
            let found = self.temporary(&call);
            let found = self.temporary(&format!("icmp ne i32 {found}, 0"));
            all = self.temporary(&format!("and i1 {all}, {found}"));
        }
        self.alias(id, "i1", &all);
        Ok(())
    }

    fn broadcast(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let prefix = self.prefix(inst, 2)?;
        let text = self.type_text(inst, ty)?;
        let value = self.operand_of(inst, 3, &text)?;
        let number = self.number_of(inst, &value)?;
        let local = self.operand(inst, 4)?;
        let of = self.number_of(inst, &local)?;
        if !of.kind.is_int() || of.count > 3 || prefix == "sub_group" && of.is_vector {
            return Err(inst.invalid(format!("{} is no local id", self.module.show(local.id))));
        }
        let bits = if prefix == "sub_group" { 32 } else { 64 };
        let mut ids = Vec::new();
        for lane in 0..of.count {
            let item = match of.is_vector {
                true => self.temporary(&format!("extractelement {}, i64 {lane}", local.typed())),
                false => local.text.clone(),
            };
            let item = self.resized(&item, of.kind.bits(), bits);
            ids.push(argument(bits, false, &item));
        }
        let name = format!("{prefix}_broadcast");
        let whole = self.each_element(&value, number, true, |this, mangled, (ty, item)| {
            let mut args = vec![(mangled, (ty.clone(), item))];
            args.extend(ids.iter().cloned());
            this.call_group(&name, &ty, &args, ANY)
        });
        self.alias(id, &text, &whole);
        Ok(())
    }

    /// Writes an exchange of values between lanes: value, and perhaps a lane.
    fn exchange(&mut self, inst: &SpirvInst<'_>, name: &str, index: usize) -> SpirvResult<()> {
        if index == 3 {
            self.only_sub_groups(inst)?;
        }
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let text = self.type_text(inst, ty)?;
        let value = self.operand_of(inst, index, &text)?;
        let number = self.number_of(inst, &value)?;
        let lane = match name {
            "sub_group_broadcast_first" => None,
            _ => Some(self.lane_operand(inst, index + 1)?),
        };
        let whole = self.each_element(&value, number, true, |this, mangled, (ty, item)| {
            let mut args = vec![(mangled, (ty.clone(), item))];
            args.extend(lane.clone());
            this.call_group(name, &ty, &args, ANY)
        });
        self.alias(id, &text, &whole);
        Ok(())
    }

    /// Writes a query of the sub-group.
    fn sub_group_query(&mut self, name: &str) -> String {
        let call = self.builtin_call(name, "i32", &[], &[], PURE);
        self.temporary(&call)
    }

    /// Shuffle of two values that are laid one behind the other.
    fn shuffle_pair(&mut self, inst: &SpirvInst<'_>, is_down: bool) -> SpirvResult<()> {
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let text = self.type_text(inst, ty)?;
        let (first, second) = (self.operand_of(inst, 2, &text)?, self.operand_of(inst, 3, &text)?);
        let number = self.number_of(inst, &first)?;
        let (_, (_, delta)) = self.lane_operand(inst, 4)?;
        let lane = self.sub_group_query("get_sub_group_local_id");
        let size = self.sub_group_query("get_max_sub_group_size");
        // Position among the lanes of the first value, followed by those of the second one.
        let position = match is_down {
            true => self.temporary(&format!("add i32 {lane}, {delta}")),
            false => {
                let end = self.temporary(&format!("add i32 {lane}, {size}"));
                self.temporary(&format!("sub i32 {end}, {delta}"))
            }
        };
        let beyond = self.temporary(&format!("sub i32 {position}, {size}"));
        let is_first = self.temporary(&format!("icmp ult i32 {position}, {size}"));
        let [first, second] = [(first, position), (second, beyond)].map(|(value, lane)| {
            self.each_element(&value, number, true, |this, mangled, (ty, item)| {
                let args = [(mangled, (ty.clone(), item)), argument(32, false, &lane)];
                this.call_group("sub_group_shuffle", &ty, &args, ANY)
            })
        });
        self.result(id, &format!("select i1 {is_first}, {text} {first}, {text} {second}"));
        Ok(())
    }

    fn rotate(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        self.only_sub_groups(inst)?;
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let text = self.type_text(inst, ty)?;
        let value = self.operand_of(inst, 3, &text)?;
        let number = self.number_of(inst, &value)?;
        let (_, (_, delta)) = self.lane_operand(inst, 4)?;
        let lane = self.sub_group_query("get_sub_group_local_id");
        let size = match inst.words.len() > 5 {
            true => self.lane_operand(inst, 5)?.1.1,
            false => self.sub_group_query("get_max_sub_group_size"),
        };
        let bits = self.temporary(&format!("sub i32 {size}, 1"));
        let outside = self.temporary(&format!("xor i32 {bits}, -1"));
        let base = self.temporary(&format!("and i32 {lane}, {outside}"));
        let moved = self.temporary(&format!("add i32 {lane}, {delta}"));
        let inside = self.temporary(&format!("and i32 {moved}, {bits}"));
        let from = self.temporary(&format!("or i32 {base}, {inside}"));
        let whole = self.each_element(&value, number, true, |this, mangled, (ty, item)| {
            let args = [(mangled, (ty.clone(), item)), argument(32, false, &from)];
            this.call_group("sub_group_shuffle", &ty, &args, ANY)
        });
        self.alias(id, &text, &whole);
        Ok(())
    }

    fn async_copy(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let event = self.type_text(inst, ty)?;
        if self.prefix(inst, 2)? != "work_group" {
            return Err(inst.unsupported("the copy has another scope than Workgroup", "use Workgroup"));
        }
        let (target, to, pointee) = self.pointer(inst, 3)?;
        let (source, from, other) = self.pointer(inst, 4)?;
        if !self.module.same_type(pointee, other) || !matches!((to, from), (1, 3) | (3, 1)) {
            return Err(inst.invalid("it copies between global and local memory of one type"));
        }
        let number = self.number_type(inst, pointee)?;
        let number = MangledNumber { kind: number.kind, is_signed: true, count: number.count };
        let [count, stride] = [5, 6].map(|index| -> SpirvResult<String> {
            let value = self.index(inst, index)?;
            let bits = self.number_of(inst, &value)?.kind.bits();
            Ok(self.resized(&value.text, bits, 64))
        });
        let (count, stride) = (count?, stride?);
        let before = self.operand_of(inst, 7, &event)?;
        let is_plain = self.module.constant_bits(inst.operand(6)?) == Some(1);
        let pointer = |space, is_const| MangledType::Pointer { space, is_const, pointee: number };
        let mut types = vec![pointer(to, false), pointer(from, true), int(64, false)];
        let mut args = vec![
            (target.type_text, target.text),
            (source.type_text, source.text),
            ("i64".to_string(), count),
        ];
        if !is_plain {
            types.push(int(64, false));
            args.push(("i64".into(), stride));
        }
        types.push(MangledType::Event);
        args.push((before.type_text, before.text));
        let name = if is_plain { "async_work_group_copy" } else { "async_work_group_strided_copy" };
        let call = self.call_text(&mangle(name, &types), &event, &args, ANY);
        self.result(id, &call);
        Ok(())
    }

    fn wait_events(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let count = self.index(inst, 1)?;
        let bits = self.number_of(inst, &count)?.kind.bits();
        let count = self.resized(&count.text, bits, 32);
        let (events, space, _) = self.pointer(inst, 2)?;
        let mut list = events.text.clone();
        if space != 4 {
            list = self.temporary(&format!("addrspacecast {} to ptr addrspace(4)", events.typed()));
        }
        let args = [("i32".to_string(), count), ("ptr addrspace(4)".to_string(), list)];
        let types = [int(32, true), MangledType::GenericEvents];
        let call = self.builtin_call("wait_group_events", "void", &types, &args, ANY);
        self.line(&call);
        Ok(())
    }

    /// Address of each element of a block: consecutive lanes have consecutive elements.
    fn block_addresses(
        &mut self,
        inst: &SpirvInst<'_>,
        pointer: &SpirvValue,
        number: NumberType,
    ) -> SpirvResult<Vec<String>> {
        if number.kind == NumberKind::Bool
            || !matches!(
                self.module.types.get(pointer.ty).map(|ty| &ty.kind),
                Some(SpirvTypeKind::Pointer { .. })
            )
        {
            return Err(inst.invalid("the block is not of numbers"));
        }
        let lane = self.sub_group_query("get_sub_group_local_id");
        let size = self.sub_group_query("get_max_sub_group_size");
        let mut list = Vec::new();
        let mut index = lane;
        for part in 0..number.count {
            if part > 0 {
                index = self.temporary(&format!("add i32 {index}, {size}"));
            }
            let wide = self.temporary(&format!("zext i32 {index} to i64"));
            list.push(self.temporary(&format!(
                "getelementptr inbounds {}, {}, i64 {wide}",
                number.kind.text(),
                pointer.typed()
            )));
        }
        Ok(list)
    }

    fn block_read(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let number = self.number_type(inst, ty)?;
        let (pointer, ..) = self.pointer(inst, 2)?;
        let text = number.text();
        let element = number.kind.text();
        let mut whole = "undef".to_string();
        for (lane, address) in self.block_addresses(inst, &pointer, number)?.into_iter().enumerate() {
            let item = self.temporary(&format!("load {element}, {} {address}", pointer.type_text));
            whole = match number.is_vector {
                true => {
                    self.temporary(&format!("insertelement {text} {whole}, {element} {item}, i64 {lane}"))
                }
                false => item,
            };
        }
        self.alias(id, &text, &whole);
        Ok(())
    }

    fn block_write(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (pointer, ..) = self.pointer(inst, 0)?;
        let value = self.operand(inst, 1)?;
        let number = self.number_of(inst, &value)?;
        for (lane, address) in self.block_addresses(inst, &pointer, number)?.into_iter().enumerate() {
            let item = match number.is_vector {
                true => self.temporary(&format!("extractelement {}, i64 {lane}", value.typed())),
                false => value.text.clone(),
            };
            self.line(&format!("store {} {item}, {} {address}", number.kind.text(), pointer.type_text));
        }
        Ok(())
    }
}
