//! Which accesses of a block are done together: their lanes step so that whole lines of memory hold what they want.
//!
//! ```text
//!     load x, a[4 * i]          x y z w x y z w …    one run of memory, read line by line and taken apart,
//!     load y, a[4 * i + 1]                           or put together and written
//!     …
//! ```
//!
//! Loads are done where the first of them stands, stores where the last one does. So what comes between must not care:
//! a load moves up past stores that it does not meet, a store moves down past loads and stores that do not meet it.
//! Calls, copies, atomics, fences and barriers end all clusters. Two accesses do not meet
//!
//! * if their spaces or the objects that they start from are different, or
//! * if they are of one access group, whose lanes step by `s`, and do not overlap modulo `s`: then no lane's meets
//!   another's.
//!
//! An access whose lanes lie regularly if conditions hold is a cluster of its own. It becomes two versions, behind a branch
//! on what is computed as far out as the conditions' values do not change.
//!
//! Whether a cluster pays is told by what it costs on the target.

use super::kinds::{Kind, Kinds};
use super::lines::Layout;
use super::{ChosenForm, Remark, Versions, WidenOptions, access_form, place_of};
use heddle_analysis::{AccessGroups, Condition};
use heddle_ir::ops::Effect;
use heddle_ir::words::{Flag, Flags};
use heddle_ir::{Constant, Function, Inst, Op, Scalar, Space, Value, ValueDef};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Clusters that may be open at a time, and accesses that one looks back at.
const MOST_OPEN: usize = 8;
const MOST_BETWEEN: usize = 16;
/// The most elements from a lane's to the next one's.
const MOST_PERIOD: i64 = 8;

/// An access of a cluster.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) inst: Inst,
    /// Its address, and the constant of it.
    pub(super) address: Value,
    pub(super) offset: i64,
}

/// Accesses of one block that are done together.
#[derive(Clone, Debug)]
pub(super) struct Cluster {
    /// In the order of the block.
    pub(super) members: SmallVec<[Member; 4]>,
    /// From a lane to the next.
    pub(super) stride: i64,
    pub(super) scalar: Scalar,
    pub(super) writes: bool,
    /// What must hold for that; nothing if it always does.
    pub(super) conditions: Vec<Condition>,
}

impl Cluster {
    pub(super) fn has_versions(&self) -> bool {
        !self.conditions.is_empty()
    }

    /// The lowest constant.
    pub(super) fn lowest(&self) -> i64 {
        self.members.iter().map(|member| member.offset).min().unwrap_or(0)
    }

    /// Where the elements of a lane lie in its share of the run.
    pub(super) fn positions(&self) -> SmallVec<[usize; 4]> {
        let (lowest, size) = (self.lowest(), i64::from(self.scalar.bytes()));
        self.members.iter().map(|member| ((member.offset - lowest) / size) as usize).collect()
    }

    pub(super) fn layout(&self, lanes: u16) -> Layout {
        let period = self.stride.unsigned_abs() as usize / self.scalar.bytes() as usize;
        Layout::new(lanes.into(), period, self.stride < 0, &self.positions())
    }
}

/// The clusters of a function.
#[derive(Debug, Default)]
pub(super) struct Clusters {
    all: Vec<Cluster>,
    of: FxHashMap<Inst, u32>,
    /// What was chosen, and why.
    pub(super) remarks: Vec<Remark>,
}

impl Clusters {
    /// Decides for every access.
    pub(super) fn new(
        func: &Function,
        accesses: &AccessGroups,
        kinds: &Kinds,
        lanes: u16,
        options: &WidenOptions,
    ) -> Clusters {
        let mut this = Clusters::default();
        if lanes < 2 {
            return this;
        }
        let order = Order { func, accesses, is_ignored: options.ignores_order };
        for block in func.blocks() {
            let is_masked = func.predicate(block).is_some();
            let mut open: Vec<Open> = Vec::new();
            let mut done: Vec<Open> = Vec::new();
            for inst in func.block_insts(block) {
                let Some(touch) = touch_of(func, accesses, inst) else {
                    if !is_harmless(func, inst) {
                        done.append(&mut open);
                    }
                    continue;
                };
                let candidate = order.candidate(&touch, kinds, lanes, options);
                let joined = candidate.as_ref().and_then(|candidate| {
                    open.iter().position(|cluster| order.may_join(cluster, candidate, &touch))
                });
                // What moves down to here stands here now.
                let mut here: SmallVec<[Touch; 4]> = SmallVec::from_iter([touch]);
                if let Some(at) = joined {
                    open[at].touches.push(touch);
                    if touch.writes {
                        here = open[at].touches.clone();
                    }
                }
                for (at, cluster) in open.iter_mut().enumerate() {
                    if joined != Some(at) {
                        cluster.between.extend(here.iter().filter(|it| it.writes || cluster.writes));
                    }
                }
                open.extend(candidate.filter(|_| joined.is_none()));
                let is_full = |cluster: &mut Open| cluster.between.len() > MOST_BETWEEN;
                done.extend(open.extract_if(.., is_full));
                if open.len() > MOST_OPEN {
                    done.push(open.remove(0));
                }
            }
            done.append(&mut open);
            for cluster in done {
                let cluster = cluster.finish();
                let is_masked = is_masked && !func.inst(cluster.members[0].inst).is_total();
                let costs = Costs::new(&cluster, lanes, is_masked, options);
                let chosen = costs.pay() || cluster.has_versions() && options.versions == Versions::Force;
                this.remarks.push(remark(func, &cluster, &costs, chosen, options));
                if chosen {
                    let number = this.all.len() as u32;
                    this.of.extend(cluster.members.iter().map(|member| (member.inst, number)));
                    this.all.push(cluster);
                }
            }
        }
        this
    }

    /// The cluster that an access is done in, if it is one of several or of more than its own lanes.
    pub(super) fn of(&self, inst: Inst) -> Option<&Cluster> {
        self.of.get(&inst).map(|&number| &self.all[number as usize])
    }
}

/// What a cluster costs, and what it costs to do each of its accesses alone, in tenths of a plain operation.
struct Costs {
    together: u32,
    alone: u32,
}

impl Costs {
    fn new(cluster: &Cluster, lanes: u16, is_masked: bool, options: &WidenOptions) -> Costs {
        let layout = cluster.layout(lanes);
        let (lanes, target) = (u32::from(lanes), &options.target);
        let bits = lanes * cluster.scalar.bytes() * 8;
        let costs = if cluster.writes { &target.store } else { &target.load };
        // What lies between elements may be read, but not be written.
        let needs_mask = is_masked || cluster.writes && !layout.is_gapless();
        let line = if needs_mask { costs.masked } else { costs.whole };
        let alone = if is_masked { costs.masked_scattered } else { costs.scattered };
        let cost = |cost| target.cost(cost, lanes, bits);
        let mut together = match layout.period() {
            0 => costs.whole.register + costs.whole.lane,
            1 => cost(line) + if cluster.stride < 0 { cost(target.permute) } else { 0 },
            period => period as u32 * cost(line) + layout.permutes(cluster.writes) * cost(target.permute),
        };
        if cluster.has_versions() {
            together += target.branch;
        }
        Costs { together, alone: cluster.members.len() as u32 * cost(alone) }
    }

    fn pay(&self) -> bool {
        self.together < self.alone
    }
}

fn remark(func: &Function, cluster: &Cluster, costs: &Costs, chosen: bool, options: &WidenOptions) -> Remark {
    let Member { inst, address, .. } = cluster.members[0];
    let size = i64::from(cluster.scalar.bytes());
    let how = match cluster.stride {
        0 => "at one address".to_string(),
        stride if stride == size => "side by side".into(),
        stride if stride == -size => "side by side, backwards".into(),
        stride => format!("in whole lines, by {stride} bytes"),
    };
    let conditions: Vec<String> = cluster.conditions.iter().map(|it| it.in_words(func)).collect();
    let when = match &conditions[..] {
        [] => String::new(),
        all => format!(" if {}", all.join(" and ")),
    };
    let (more, than) =
        if costs.pay() { ("instead of", "") } else { ("which is no less than", " each alone") };
    let number = cluster.members.len();
    let what = match (cluster.writes, number) {
        (false, 1) => "a load".to_string(),
        (true, 1) => "a store".into(),
        (false, _) => format!("{number} loads"),
        (true, _) => format!("{number} stores"),
    };
    let form = match (chosen, cluster.has_versions()) {
        (false, _) => ChosenForm::Alone,
        (true, true) => ChosenForm::Version,
        (true, false) => ChosenForm::Lines,
    };
    let is_not = if chosen { "" } else { "not " };
    let text = format!(
        "{what} {}: {is_not}{how}{when}: cost {} {more} {}{than} on {}",
        place_of(func, address),
        costs.together,
        costs.alone,
        options.target.name
    );
    Remark { form, accesses: number, told: access_form(func, inst, text) }
}

/// What an access touches.
#[derive(Clone, Copy, Debug)]
struct Touch {
    inst: Inst,
    address: Value,
    writes: bool,
    bytes: i64,
    /// Its access group, and the constant of its address.
    place: Option<(usize, i64)>,
}

/// A cluster that more may join.
#[derive(Debug)]
struct Open {
    group: usize,
    stride: i64,
    scalar: Scalar,
    writes: bool,
    is_total: bool,
    flags: Flags,
    touches: SmallVec<[Touch; 4]>,
    /// What happened since the first one: for loads, what was stored.
    between: Vec<Touch>,
    conditions: Vec<Condition>,
}

impl Open {
    fn finish(self) -> Cluster {
        let member = |touch: &Touch| Member {
            inst: touch.inst,
            address: touch.address,
            offset: touch.place.map_or(0, |(_, offset)| offset),
        };
        let members = self.touches.iter().map(member).collect();
        let Open { stride, scalar, writes, conditions, .. } = self;
        Cluster { members, stride, scalar, writes, conditions }
    }
}

/// A plain load or store; none of what else may touch memory.
fn touch_of(func: &Function, accesses: &AccessGroups, inst: Inst) -> Option<Touch> {
    let data = func.inst(inst);
    let (address, accessed) = match data.op {
        Op::Load => (data.args[0], func.result(inst)?),
        Op::Store => (data.args[1], data.args[0]),
        _ => return None,
    };
    if data.flags.has(Flag::Volatile) || data.access().is_none_or(|access| access.atomic.is_some()) {
        return None;
    }
    let bytes = func.value_type(accessed).bytes().into();
    let place = accesses.place(inst).map(|(group, access)| (group, access.offset));
    Some(Touch { inst, address, writes: data.op == Op::Store, bytes, place })
}

/// Whether accesses may be moved past an instruction that is none itself.
fn is_harmless(func: &Function, inst: Inst) -> bool {
    matches!(
        func.inst(inst).op.info().effect,
        Effect::Pure | Effect::Traps | Effect::Horizontal | Effect::Joins | Effect::Allocates
    )
}

/// What must stay in order.
pub(super) struct Order<'a> {
    pub(super) func: &'a Function,
    pub(super) accesses: &'a AccessGroups,
    /// Whether nothing is said to meet.
    pub(super) is_ignored: bool,
}

impl Order<'_> {
    /// A cluster of this access alone, if it may become one.
    fn candidate(&self, touch: &Touch, kinds: &Kinds, lanes: u16, options: &WidenOptions) -> Option<Open> {
        let (number, _) = touch.place?;
        let group = &self.accesses.groups()[number];
        let data = self.func.inst(touch.inst);
        let accessed = if touch.writes { data.args[0] } else { self.func.result(touch.inst)? };
        let scalar = self.func.value_type(accessed).scalar();
        let period = group.stride.checked_abs().filter(|stride| stride % touch.bytes == 0)? / touch.bytes;
        // Addresses of private objects are refused where they are stored one by one.
        let is_vector = match touch.writes {
            true => !kinds.is_rebased(accessed),
            false => kinds.of(accessed) == Kind::Lanes,
        };
        let is_plain = is_vector && scalar != Scalar::I1 && touch.bytes.count_ones() == 1;
        let has_versions = !group.conditions.is_empty();
        let least = match has_versions {
            true if options.versions == Versions::None || kinds.of(touch.address) != Kind::Lanes => {
                return None;
            }
            true => 0,
            false => 2,
        };
        let fits = (least..=MOST_PERIOD.min(lanes.into())).contains(&period);
        // A scalar that steps is lane 0's number.
        let is_told = |condition: &Condition| {
            let steps = match (self.func.constant(condition.value), kinds.of(condition.value)) {
                (None, Kind::Steps(steps)) => steps,
                _ => return false,
            };
            let is_uniform = |value| match kinds.of(value) {
                Kind::Steps(steps) => kinds.lane_step(steps) == Some(0),
                Kind::Lanes => false,
            };
            kinds.lane_step(steps) == Some(condition.stride)
                && condition.bound.is_none_or(|bound| is_uniform(bound.value))
        };
        let is_known = group.conditions.iter().all(is_told) && !kinds.is_rebased(touch.address);
        (fits && is_plain && is_known).then(|| Open {
            group: number,
            stride: group.stride,
            scalar,
            writes: touch.writes,
            is_total: data.is_total(),
            flags: data.flags,
            touches: SmallVec::from_iter([*touch]),
            between: Vec::new(),
            conditions: group.conditions.clone(),
        })
    }

    fn may_join(&self, cluster: &Open, candidate: &Open, touch: &Touch) -> bool {
        let is_alike = (cluster.group, cluster.scalar, cluster.writes, cluster.is_total, cluster.flags)
            == (candidate.group, candidate.scalar, candidate.writes, candidate.is_total, candidate.flags);
        if !is_alike || !cluster.conditions.is_empty() {
            return false;
        }
        let offset = |touch: &Touch| touch.place.map_or(0, |(_, offset)| offset);
        let all = || cluster.touches.iter().chain([touch]).map(offset);
        let (Some(lowest), Some(highest)) = (all().min(), all().max()) else { return false };
        let span = highest.checked_sub(lowest).and_then(|span| span.checked_add(touch.bytes));
        let fits = span.is_some_and(|span| span <= cluster.stride.abs())
            && all().all(|offset| offset.wrapping_sub(lowest) % touch.bytes == 0);
        let is_free = if touch.writes {
            let is_new = cluster.touches.iter().all(|it| offset(it) != offset(touch));
            let mut pairs =
                cluster.touches.iter().flat_map(|it| cluster.between.iter().map(move |at| (it, at)));
            is_new && pairs.all(|(it, at)| !self.may_meet(it, at))
        } else {
            cluster.between.iter().all(|it| !self.may_meet(it, touch))
        };
        fits && is_free
    }

    /// Whether two accesses may touch one byte, each in any lane.
    fn may_meet(&self, a: &Touch, b: &Touch) -> bool {
        if self.is_ignored {
            return false;
        }
        if let (Some((group, from)), Some((other, to))) = (a.place, b.place)
            && group == other
            && self.accesses.groups()[group].conditions.is_empty()
        {
            let stride = i128::from(self.accesses.groups()[group].stride).abs();
            let apart = (i128::from(to) - i128::from(from)).checked_rem_euclid(stride);
            return apart.is_none_or(|apart| apart < a.bytes.into() || apart + i128::from(b.bytes) > stride);
        }
        !self.are_apart(a.address, b.address)
    }

    /// Whether no access at one address meets one at the other, since their spaces or their objects are different.
    pub(super) fn are_apart(&self, a: Value, b: Value) -> bool {
        let space = |address: Value| match self.func.value_type(address).scalar() {
            Scalar::Ptr(space) => space,
            _ => Space::Generic,
        };
        let spaces = [space(a), space(b)];
        if spaces[0] != spaces[1] && !spaces.contains(&Space::Generic) {
            return true;
        }
        let roots = [self.root(a), self.root(b)];
        let are_objects = roots.iter().all(|&root| self.is_object(root));
        let is_apart = roots.iter().any(|&root| self.is_alone(root))
            || roots.iter().all(|&root| self.func.constant(root).is_some());
        roots[0] != roots[1] && are_objects && is_apart
    }

    /// What an address was computed from.
    fn root(&self, mut address: Value) -> Value {
        while let Some(inst) = self.func.def_inst(address) {
            match self.func.inst(inst).op {
                Op::PtrAdd | Op::SpaceCast => address = self.func.inst(inst).args[0],
                _ => break,
            }
        }
        address
    }

    fn is_param(&self, value: Value) -> bool {
        matches!(self.func.value_def(value), ValueDef::Param(_))
    }

    /// Whether no other parameter and no global leads to this object.
    fn is_alone(&self, root: Value) -> bool {
        match self.func.value_def(root) {
            ValueDef::Param(index) => self.func.signature.params[index as usize].noalias,
            _ => self.is_alloca(root),
        }
    }

    fn is_alloca(&self, value: Value) -> bool {
        self.func.def_inst(value).is_some_and(|inst| self.func.inst(inst).op == Op::Alloca)
    }

    /// Whether a value is where an object starts, as far as the function is told of them.
    fn is_object(&self, value: Value) -> bool {
        let is_global = matches!(self.func.constant(value), Some(Constant::Address(..)));
        self.is_param(value) || is_global || self.is_alloca(value)
    }
}
