//! Composites: vectors, arrays and structures.

use crate::binary::SpirvInst;
use crate::error::SpirvResult;
use crate::function::FunctionWriter;
use crate::types::SpirvTypeKind;
use spirv::Op;

/// Limit of parts that a logical copy writes one by one.
const LOGICAL_PARTS: u64 = 4096;

impl FunctionWriter<'_, '_> {
    pub(crate) fn construct(&mut self, inst: &SpirvInst<'_>, op: Op) -> SpirvResult<()> {
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let text = self.sized_text(inst, ty)?;
        let types = &self.module.types;
        let Some(count) = types.part_count(ty) else { return Err(inst.invalid("the type has no parts")) };
        let mut parts = inst.words.get(2..).unwrap_or_default().to_vec();
        if let (Op::CompositeConstructReplicateEXT, [part], 1..=4096) = (op, &parts[..], count) {
            parts = vec![*part; count as usize];
        }
        let mut whole = "undef".to_string();
        let number = types.number(ty);
        let mut index = 0u64;
        for part in parts {
            let value = self.value(inst, part)?;
            let name = self.module.show(part);
            if let Some(number) = number {
                let of = self.number_of(inst, &value)?;
                if of.kind != number.kind {
                    return Err(inst.invalid(format!("{name} has another type than the elements")));
                }
                for lane in 0..of.count {
                    let item = match of.is_vector {
                        true => self.temporary(&format!("extractelement {}, i64 {lane}", value.typed())),
                        false => value.text.clone(),
                    };
                    let element = number.kind.text();
                    if index < count {
                        whole = self.temporary(&format!(
                            "insertelement {text} {whole}, {element} {item}, i64 {index}"
                        ));
                    }
                    index += 1;
                }
                continue;
            }
            let member = self.module.types.member(ty, Some(index));
            if !member.is_some_and(|member| self.module.same_type(member, value.ty)) {
                return Err(inst.invalid(format!("{name} has another type than its part")));
            }
            if index < count {
                whole = self.temporary(&format!("insertvalue {text} {whole}, {}, {index}", value.typed()));
            }
            index += 1;
        }
        if index != count {
            return Err(inst.invalid(format!("there are {index} parts for {count}")));
        }
        self.alias(id, &text, &whole);
        Ok(())
    }

    /// Copies a value part by part into a type whose parts match its own.
    pub(crate) fn copy_logical(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let text = self.sized_text(inst, ty)?;
        let value = self.operand(inst, 2)?;
        let mut whole = "undef".to_string();
        let mut parts = 0u64;
        let mut work = vec![(value.ty, ty, Vec::new())];
        while let Some((from, to, path)) = work.pop() {
            let types = &self.module.types;
            if self.module.same_type(from, to) {
                let part_type = self.sized_text(inst, to)?;
                let list: String = path.iter().map(|index| format!(", {index}")).collect();
                whole = match list.is_empty() {
                    true => value.text.clone(),
                    false => {
                        let part = self.temporary(&format!("extractvalue {}{list}", value.typed()));
                        self.temporary(&format!("insertvalue {text} {whole}, {part_type} {part}{list}"))
                    }
                };
                continue;
            }
            let is_composite = types.number(from).is_none() && types.number(to).is_none();
            let count = match (types.part_count(from), types.part_count(to)) {
                (Some(count), Some(of)) if count == of && is_composite => count,
                _ => return Err(inst.invalid(format!("{} has other parts", self.module.show(value.id)))),
            };
            parts = parts.saturating_add(count);
            if parts > LOGICAL_PARTS {
                let reason = format!("logical copies of more than {LOGICAL_PARTS} parts are not supported");
                return Err(inst.unsupported(reason, "copy the parts in a loop"));
            }
            for index in (0..count).rev() {
                let member = |ty| types.member(ty, Some(index));
                let (Some(from), Some(to)) = (member(from), member(to)) else {
                    return Err(inst.invalid("the type has no parts"));
                };
                work.push((from, to, [&path[..], &[index]].concat()));
            }
        }
        self.alias(id, &text, &whole);
        Ok(())
    }

    /// Follows literal indices into a type. Returns the indices of aggregates, the index of a vector, and the type.
    fn path(&self, inst: &SpirvInst<'_>, ty: u32, path: &[u32]) -> SpirvResult<(Vec<u32>, u32, Option<u32>)> {
        let types = &self.module.types;
        let (mut of, mut outer) = (ty, Vec::new());
        for (position, &index) in path.iter().enumerate() {
            let is_vector = matches!(types.get(of).map(|ty| &ty.kind), Some(SpirvTypeKind::Vector { .. }));
            let count = types.part_count(of).filter(|&count| u64::from(index) < count);
            let member = count.and_then(|_| types.member(of, Some(index.into())));
            let Some(member) = member else {
                return Err(inst.invalid(format!("the index {index} selects no part of its type")));
            };
            if is_vector {
                if position + 1 != path.len() {
                    return Err(inst.invalid("an index selects a part of a number"));
                }
                return Ok((outer, of, Some(index)));
            }
            outer.push(index);
            of = member;
        }
        Ok((outer, of, None))
    }

    pub(crate) fn extract(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let text = self.sized_text(inst, ty)?;
        let value = self.operand(inst, 2)?;
        let (outer, inner, lane) = self.path(inst, value.ty, inst.words.get(3..).unwrap_or_default())?;
        let part = match (lane, self.module.types.member(inner, Some(0))) {
            (Some(_), Some(element)) => element,
            _ => inner,
        };
        if !self.module.same_type(part, ty) {
            return Err(inst.invalid("the part has another type than the result"));
        }
        let list: String = outer.iter().map(|index| format!(", {index}")).collect();
        let read = format!("extractvalue {}{list}", value.typed());
        match (outer.is_empty(), lane) {
            (true, None) => self.alias(id, &text, &value.text),
            (true, Some(lane)) => self.result(id, &format!("extractelement {}, i64 {lane}", value.typed())),
            (false, None) => self.result(id, &read),
            (false, Some(lane)) => {
                let vector = self.temporary(&read);
                let of = self.type_text(inst, inner)?;
                self.result(id, &format!("extractelement {of} {vector}, i64 {lane}"));
            }
        }
        Ok(())
    }

    pub(crate) fn insert(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let text = self.sized_text(inst, ty)?;
        let object = self.operand(inst, 2)?;
        let whole = self.operand_of(inst, 3, &text)?;
        let (outer, inner, lane) = self.path(inst, ty, inst.words.get(4..).unwrap_or_default())?;
        let part = match (lane, self.module.types.member(inner, Some(0))) {
            (Some(_), Some(element)) => element,
            _ => inner,
        };
        if !self.module.same_type(part, object.ty) {
            return Err(
                inst.invalid(format!("{} has another type than its part", self.module.show(object.id)))
            );
        }
        let list: String = outer.iter().map(|index| format!(", {index}")).collect();
        match (outer.is_empty(), lane) {
            (true, None) => self.alias(id, &text, &object.text),
            (true, Some(lane)) => {
                self.result(id, &format!("insertelement {}, {}, i64 {lane}", whole.typed(), object.typed()));
            }
            (false, None) => {
                self.result(id, &format!("insertvalue {}, {}{list}", whole.typed(), object.typed()));
            }
            (false, Some(lane)) => {
                let of = self.type_text(inst, inner)?;
                let vector = self.temporary(&format!("extractvalue {}{list}", whole.typed()));
                let vector =
                    self.temporary(&format!("insertelement {of} {vector}, {}, i64 {lane}", object.typed()));
                self.result(id, &format!("insertvalue {}, {of} {vector}{list}", whole.typed()));
            }
        }
        Ok(())
    }

    /// Picks elements of two vectors, which may have different lengths.
    pub(crate) fn shuffle(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let number = self.number_type(inst, ty)?;
        let (left, right) = (self.operand(inst, 2)?, self.operand(inst, 3)?);
        let (first, second) = (self.vector_of(inst, &left)?, self.vector_of(inst, &right)?);
        let picks = inst.words.get(4..).unwrap_or_default();
        let fits = number.is_vector && picks.len() == number.count as usize;
        if !fits || first.kind != number.kind || second.kind != number.kind {
            return Err(inst.invalid("the vectors and the result do not fit together"));
        }
        let total = first.count + second.count;
        if picks.iter().any(|&pick| pick >= total && pick != u32::MAX) {
            return Err(inst.invalid("an index is beyond both vectors"));
        }
        if first == second {
            let mask: Vec<String> = picks
                .iter()
                .map(|&pick| if pick == u32::MAX { "i32 poison".into() } else { format!("i32 {pick}") })
                .collect();
            let mask = format!("<{} x i32> <{}>", picks.len(), mask.join(", "));
            self.result(id, &format!("shufflevector {}, {}, {mask}", left.typed(), right.typed()));
            return Ok(());
        }
        let (text, element) = (number.text(), number.kind.text());
        let mut whole = "undef".to_string();
        for (index, &pick) in picks.iter().enumerate().filter(|(_, pick)| **pick != u32::MAX) {
            let (from, lane) = if pick < first.count { (&left, pick) } else { (&right, pick - first.count) };
            let item = self.temporary(&format!("extractelement {}, i64 {lane}", from.typed()));
            whole = self.temporary(&format!("insertelement {text} {whole}, {element} {item}, i64 {index}"));
        }
        self.alias(id, &text, &whole);
        Ok(())
    }
}
