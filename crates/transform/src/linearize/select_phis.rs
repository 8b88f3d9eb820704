//! φs after linearization: kept, replaced by selects, or both (thesis 8.4).
//!
//! A φ stays where the predecessors are unchanged. If every path to the join passes all edges, selects by the edge masks
//! replace it. Equal values share one arm, poison needs none, and the arm with the most expensive masks is the default.
//! If kept branches lie in between, the value is collected along the paths: selects at the end of the sources, which
//! are total since lanes of the join may be inactive there, and φs where paths merge.
//!
//! A shadow goes to the lanes outside of the join's predicate, now that all lanes pass the join.

use heddle_ir::inst::InstData;
use heddle_ir::{Block, Constant, Function, Inst, Op, Type, Value};
use rustc_hash::FxHashMap;

use super::LinearGraphs;
use super::joins::{JoinInputs, JoinPoint, latch_of};
use super::masks::{EdgeMasks, insert_at_end};
use crate::edges::{prepend_phi, set_incoming};

/// Removed φs and their replacements.
#[derive(Debug, Default)]
pub(super) struct PhiReplacements {
    values: FxHashMap<Value, Value>,
    phis: Vec<Inst>,
}

impl PhiReplacements {
    fn resolve(&self, mut value: Value) -> Value {
        while let Some(&other) = self.values.get(&value) {
            value = other;
        }
        value
    }

    /// Replaces all uses of the φs and removes them.
    pub(super) fn apply(self, func: &mut Function) {
        func.map_values(|value| self.resolve(value));
        self.phis.into_iter().for_each(|phi| func.remove_inst(phi));
    }
}

/// Lowers the φs of a join.
pub(super) fn select_phis(
    func: &mut Function,
    graphs: &LinearGraphs<'_>,
    masks: &mut EdgeMasks<'_>,
    join: &JoinPoint<'_>,
    replacements: &mut PhiReplacements,
) {
    let mut activation = None;
    for &phi in &join.phis {
        let result = func.results(phi)[0];
        let ty = func.value_type(result);
        // Lanes with a false predicate now pass the block, so the φ's own shadow does not apply to them.
        let shadow = func.inst(phi).shadow().filter(|_| masks.of_block(join.block).is_some());
        let mut select = PhiSelector { graphs, masks, join, replacements, phi, result, ty };
        let value = select.new_value(func, shadow.is_some());
        let shadow = shadow.or_else(|| func.inst(phi).shadow().filter(|_| value != Some(result)));
        let value = match (value, shadow) {
            (None, None) => func.make_poison(ty),
            (Some(value), None) if value == result => continue,
            (Some(value), None) => value,
            (value, Some(shadow)) => {
                let value = value.unwrap_or_else(|| func.make_poison(ty));
                let active = *activation
                    .get_or_insert_with(|| join.insert(func, InstData::plain(Op::Mask, []), Type::I1));
                let origin = func.inst(phi).origin;
                let data =
                    InstData { origin, ..InstData::plain(Op::Select, [active, value, shadow]).total() };
                join.insert(func, data, ty)
            }
        };
        replacements.values.insert(result, value);
        replacements.phis.push(phi);
    }
}

struct PhiSelector<'a, 'b> {
    graphs: &'a LinearGraphs<'a>,
    masks: &'a mut EdgeMasks<'b>,
    join: &'a JoinPoint<'a>,
    replacements: &'a PhiReplacements,
    phi: Inst,
    result: Value,
    ty: Type,
}

impl PhiSelector<'_, '_> {
    /// Value of the φ for lanes that reach the join; its own result if it stays. If `needs_new_phi`, a φ that is still needed
    /// is a new one.
    fn new_value(&mut self, func: &mut Function, needs_new_phi: bool) -> Option<Value> {
        let Self { join, phi, result, ty, .. } = *self;
        let phi_or_new = |func: &mut Function, data: InstData| match needs_new_phi {
            true => prepend_phi(func, join.block, data, ty),
            false => {
                let incoming: Vec<_> = data.incoming().collect();
                set_incoming(func, phi, incoming);
                result
            }
        };
        let latch = latch_of(self.graphs, join.block);
        if join.is_unchanged {
            if !needs_new_phi {
                return Some(result);
            }
            let incoming: Vec<_> = func.inst(phi).incoming().collect();
            return Some(phi_or_new(func, InstData::phi(incoming, None)));
        }
        let sources = self.sources(func);
        if let Some(latch) = latch {
            let back = func.inst(phi).incoming_from(latch);
            // The value of the φ itself is not needed for its edges.
            let JoinInputs { value, edges } = self.collect(func, &sources, |_, _| result);
            let edges = match edges.is_empty() {
                false => edges,
                true => {
                    let value = value.unwrap_or_else(|| func.make_poison(ty));
                    self.graphs.joins.preds(join.block).iter().map(|&pred| (pred, value)).collect()
                }
            };
            let back = back.map(|value| (latch, value));
            return Some(phi_or_new(func, InstData::phi(edges.into_iter().chain(back), None)));
        }
        if join.all_edges_pass {
            return self.select_at_join(func, &sources);
        }
        self.collect(func, &sources, phi_or_new).value
    }

    /// Value from each source; none for poison and for dead ends.
    fn sources(&self, func: &Function) -> Vec<Option<Value>> {
        let incoming: FxHashMap<Block, Value> = func.inst(self.phi).incoming().collect();
        let is_poison = |value: &Value| matches!(func.constant(*value), Some(Constant::Poison(_)));
        let value = |from| incoming.get(from).map(|&value| self.replacements.resolve(value));
        self.join.sources.iter().map(|from| value(from).filter(|value| !is_poison(value))).collect()
    }

    /// Selects among all edges at the join.
    fn select_at_join(&mut self, func: &mut Function, sources: &[Option<Value>]) -> Option<Value> {
        let mut arms: Vec<SelectArm> = Vec::new();
        let mut arm_of: FxHashMap<Value, usize> = FxHashMap::default();
        for (&from, value) in self.join.sources.iter().zip(sources) {
            let &Some(value) = value else { continue };
            let arm = *arm_of.entry(value).or_insert_with(|| {
                arms.push(SelectArm { value, sources: Vec::new(), cost: 0 });
                arms.len() - 1
            });
            arms[arm].sources.push(from);
            arms[arm].cost +=
                self.masks.cost(func, self.join, from) + usize::from(arms[arm].sources.len() > 1);
        }
        let is_constant = |arm: &SelectArm, bit| func.constant(arm.value) == Some(&Constant::bool(bit));
        // A select of `true` against `false` is the mask itself.
        if let [a, b] = &arms[..] {
            let falses = [a, b].map(|arm| is_constant(arm, false));
            let trues = [a, b].map(|arm| is_constant(arm, true));
            let extra = |at: usize| usize::from(falses[at] && trues[1 - at]);
            let extra = [extra(0), extra(1)];
            arms.iter_mut().zip(extra).for_each(|(arm, extra)| arm.cost += extra);
        }
        let last = |arm: &SelectArm| arm.sources.last().map(|&from| self.graphs.number(from));
        let default = (0..arms.len()).max_by_key(|&at| (arms[at].cost, last(&arms[at])))?;
        let mut value = arms[default].value;
        for (at, arm) in arms.iter().enumerate() {
            if at != default {
                value = self.choose(func, arm, value);
            }
        }
        Some(value)
    }

    fn choose(&mut self, func: &mut Function, arm: &SelectArm, otherwise: Value) -> Value {
        let mut chosen: Option<Value> = None;
        for &from in &arm.sources {
            let Some(mask) = self.masks.of_edge(func, self.join, from, false) else { return arm.value };
            chosen = Some(match chosen {
                None => mask,
                Some(other) if other == mask => mask,
                Some(other) => self.join.insert(func, InstData::plain(Op::Or, [other, mask]), Type::I1),
            });
        }
        let Some(mask) = chosen else { return otherwise };
        match select(func, self.phi, mask, arm.value, otherwise) {
            Ok(value) => value,
            Err(data) => self.join.insert(func, data, self.ty),
        }
    }

    /// Collects the value along the paths to the join.
    fn collect(
        &mut self,
        func: &mut Function,
        sources: &[Option<Value>],
        mut phi_at_join: impl FnMut(&mut Function, InstData) -> Value,
    ) -> JoinInputs {
        let Self { join, phi, ty, .. } = *self;
        let poison = func.make_poison(ty);
        let update = |func: &mut Function, source: usize, before: Option<Value>| {
            let Some(value) = sources[source] else { return before };
            let before = before.filter(|&before| before != value && before != poison);
            let Some(before) = before else { return Some(value) };
            let from = join.sources[source];
            let Some(mask) = self.masks.of_edge(func, join, from, true) else { return Some(value) };
            Some(match select(func, phi, mask, value, before) {
                Ok(value) => value,
                Err(data) => insert_at_end(func, from, data.total(), ty),
            })
        };
        join.evaluate(func, poison, update, |func, block, data| match block == join.block {
            true => phi_at_join(func, data),
            false => prepend_phi(func, block, data, ty),
        })
    }
}

struct SelectArm {
    value: Value,
    sources: Vec<Block>,
    cost: usize,
}

/// Select as an existing value, or as an instruction to insert.
fn select(func: &Function, phi: Inst, mask: Value, then: Value, otherwise: Value) -> Result<Value, InstData> {
    let is_bool = |value, bit| func.constant(value) == Some(&Constant::bool(bit));
    if is_bool(then, true) && is_bool(otherwise, false) {
        return Ok(mask);
    }
    let origin = func.inst(phi).origin;
    Err(InstData { origin, ..InstData::plain(Op::Select, [mask, then, otherwise]) })
}
