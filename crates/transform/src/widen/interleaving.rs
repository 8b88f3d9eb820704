//! Emits interleave groups: vectors of memory that are deinterleaved after loads, interleaved before stores.
//!
//! A group covers the lanes' elements one lane after the other; with a negative stride, the last lane first. Each lane
//! has as many elements as its stride, the *factor*. A *chunk* is one vector of the group, so there are as many chunks
//! as the factor. A member has one position per lane; a position without a member is a gap.
//!
//! *Touched memory.* If lanes are inactive, or a store has gaps, a mask selects exactly the elements of active lanes. A
//! load in all lanes also reads gaps, but nothing before the first or after the last element: its last chunk starts
//! early instead. A gap is shorter than a page, with accessed elements on both sides. Objects are at least 4096 bytes
//! apart (docs/ir.md), so the gap is in the same object, and no machine can protect it separately.

use super::interleave_groups::InterleaveGroup;
use super::widener::Widener;
use crate::address_pattern::AddressPattern;
use crate::target::AccessDirection;
use heddle_analysis::Shape;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::{Constant, Op, Scalar, Type, Value};
use smallvec::SmallVec;

/// Permutation of two vectors; a missing one is poison.
#[derive(Clone, PartialEq, Eq, Debug)]
struct ShuffleStep {
    of: [Option<usize>; 2],
    lanes: Box<[u16]>,
}

/// Sequence of permutations over the given vectors and earlier results.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
struct ShuffleSequence {
    inputs: usize,
    steps: Vec<ShuffleStep>,
    results: Vec<Option<usize>>,
}

impl ShuffleSequence {
    fn step(&mut self, of: [Option<usize>; 2], lanes: Box<[u16]>) -> Option<usize> {
        if of == [None; 2] {
            return None;
        }
        self.steps.push(ShuffleStep { of, lanes });
        Some(self.inputs + self.steps.len() - 1)
    }

    /// Picks one vector out of several concatenated ones.
    fn pick(
        &mut self,
        lanes: usize,
        from: &[Option<usize>],
        element: impl Fn(usize) -> usize,
    ) -> Option<usize> {
        let mut picked = from[0];
        for (number, &next) in from.iter().enumerate().skip(1) {
            let index = |lane: usize| {
                let (vector, within) = (element(lane) / lanes, element(lane) % lanes);
                match vector {
                    vector if vector == number => lanes + within,
                    vector if vector < number && number > 1 => lane,
                    0 => within,
                    _ => 0,
                }
            };
            picked = self.step([picked, next], (0..lanes).map(|lane| index(lane) as u16).collect());
        }
        picked
    }
}

/// Element layout of an interleave group or structure group.
#[derive(Clone, Debug)]
pub(super) struct InterleaveLayout {
    lanes: usize,
    factor: usize,
    is_reversed: bool,
    /// Per position: true if a member has it.
    is_member: Vec<bool>,
    positions: SmallVec<[usize; 4]>,
}

impl InterleaveLayout {
    pub(super) fn new(
        lanes: usize,
        factor: usize,
        is_reversed: bool,
        positions: &[usize],
    ) -> InterleaveLayout {
        let is_member = (0..factor).map(|position| positions.contains(&position)).collect();
        InterleaveLayout { lanes, factor, is_reversed, is_member, positions: positions.into() }
    }

    /// Interleave factor: elements from a lane's to the next one's, and number of chunks.
    pub(super) fn factor(&self) -> usize {
        self.factor
    }

    /// True if each position has a member.
    pub(super) fn is_gapless(&self) -> bool {
        self.is_member.iter().all(|&is_member| is_member)
    }

    /// Number of permutations that a load or a store takes.
    pub(super) fn permutes(&self, direction: AccessDirection) -> u32 {
        let shuffles = match direction {
            AccessDirection::Load => self.deinterleave(),
            AccessDirection::Store => self.interleave(),
        };
        shuffles.steps.len() as u32
    }

    /// Number of elements up to the last member of the last lane.
    fn len(&self) -> usize {
        let last = self.positions.iter().max().copied().unwrap_or(0);
        (self.lanes - 1) * self.factor + last + 1
    }

    /// Lane that owns an element; none for gaps.
    fn owner(&self, element: usize) -> Option<usize> {
        let number = element / self.factor;
        let lane = if self.is_reversed { (self.lanes - 1).checked_sub(number)? } else { number };
        self.is_member[element % self.factor].then_some(lane)
    }

    /// Deinterleaves chunks into the members' vectors.
    ///
    /// ```text
    ///     x0 y0 z0 w0  x1 y1 z1 w1  x2 …       split neighbouring chunks into even and odd elements,
    ///     x0 z0 x1 z1  x2 z2 x3 z3  y0 w0 …    until each position has its own vectors
    ///     x0 x1 x2 x3  z0 z1 z2 z3  y0 y1 …
    /// ```
    fn deinterleave(&self) -> ShuffleSequence {
        let lanes = self.lanes;
        let mirrored = |lane: usize| if self.is_reversed { lanes - 1 - lane } else { lane };
        let mut shuffles = ShuffleSequence { inputs: self.factor, ..ShuffleSequence::default() };
        let mut at: Vec<Option<usize>> = vec![None; self.factor];
        // Each entry: concatenated vectors that hold the elements at `first`, `first + step`, …
        let mut work = vec![(0, 1, (0..self.factor).map(Some).collect::<Vec<_>>())];
        while let Some((first, step, vectors)) = work.pop() {
            let is_wanted =
                |first: usize, step: usize| self.positions.iter().any(|position| position % step == first);
            if vectors.len() == 1 {
                at[first] = vectors[0];
            } else if vectors.len().is_multiple_of(2) {
                for parity in [0, 1].into_iter().filter(|parity| is_wanted(first + parity * step, 2 * step)) {
                    let is_last = vectors.len() == 2;
                    let element = |lane| 2 * if is_last { mirrored(lane) } else { lane } + parity;
                    let halves =
                        vectors.chunks(2).map(|pair| shuffles.pick(lanes, pair, element)).collect::<Vec<_>>();
                    work.push((first + parity * step, 2 * step, halves));
                }
            } else {
                for number in 0..vectors.len() {
                    let position = first + number * step;
                    if is_wanted(position, self.factor) {
                        let element = |lane| mirrored(lane) * vectors.len() + number;
                        at[position] = shuffles.pick(lanes, &vectors, element);
                    }
                }
            }
        }
        shuffles.results = self.positions.iter().map(|&position| at[position]).collect();
        shuffles
    }

    /// Interleaves the members' vectors into chunks; the inverse of `deinterleave`.
    fn interleave(&self) -> ShuffleSequence {
        let lanes = self.lanes;
        let mut shuffles = ShuffleSequence { inputs: self.positions.len(), ..ShuffleSequence::default() };
        let mut at: Vec<Option<usize>> = vec![None; self.factor];
        for (number, &position) in self.positions.iter().enumerate() {
            at[position] = Some(number);
            if self.is_reversed {
                let back = (0..lanes as u16).rev().collect();
                at[position] = shuffles.step([Some(number); 2], back);
            }
        }
        let odd = self.factor >> self.factor.trailing_zeros();
        let mut step = self.factor / odd;
        // For each residue modulo `step`: concatenated vectors with the elements at these positions.
        let mut vectors: Vec<Vec<Option<usize>>> = (0..step)
            .map(|first| {
                let members: Vec<Option<usize>> = (0..odd).map(|number| at[first + number * step]).collect();
                let chunk = |chunk: usize| {
                    move |lane: usize| {
                        let element = chunk * lanes + lane;
                        element % odd * lanes + element / odd
                    }
                };
                (0..odd).map(|number| shuffles.pick(lanes, &members, chunk(number))).collect()
            })
            .collect();
        while step > 1 {
            step /= 2;
            let (even, odd) = vectors.split_at(step);
            let zipped = even.iter().zip(odd).map(|(even, odd)| {
                let mut chunks = Vec::with_capacity(2 * even.len());
                for (&a, &b) in even.iter().zip(odd) {
                    for half in 0..2 {
                        let element = |lane: usize| {
                            let element = half * lanes + lane;
                            element % 2 * lanes + element / 2
                        };
                        chunks.push(shuffles.pick(lanes, &[a, b], element));
                    }
                }
                chunks
            });
            vectors = zipped.collect();
        }
        shuffles.results = vectors.swap_remove(0);
        shuffles
    }
}

/// Addressing of an interleave group in the wide function.
struct InterleavedAccess {
    layout: InterleaveLayout,
    /// Address of the first element.
    start: Value,
    /// Alignment of `start`.
    align: u32,
    data: InstData,
    mask: Option<Value>,
    ty: Type,
}

impl InterleavedAccess {
    /// Lane of a chunk's only element, if all lanes are active. LLVM 22 stores too many elements for a mask known to have
    /// one lane if the value was truncated.
    fn sole_lane(&self, chunk: usize) -> Option<usize> {
        let lanes = self.layout.lanes;
        let mut owned = (0..lanes).filter(|lane| self.layout.owner(chunk * lanes + lane).is_some());
        let lane = owned.next()?;
        (self.mask.is_none() && owned.next().is_none()).then_some(lane)
    }
}

impl Widener<'_> {
    /// Emits an interleave group.
    pub(super) fn interleaved_access(&mut self, group: &InterleaveGroup) {
        self.merge_origins(group.members.iter().map(|member| member.inst));
        let values = if group.has_versions() {
            let holds = self.emit_conditions(&group.conditions);
            let scattered = |widener: &mut Self| {
                let inst = group.members[0].inst;
                widener.access_by(inst, AddressPattern::Scattered, &[]).into_iter().collect()
            };
            self.emit_if_else(holds, |widener| widener.grouped(group), scattered)
        } else {
            self.grouped(group)
        };
        for (member, value) in group.members.iter().zip(values) {
            self.define(member.inst, value);
        }
    }

    /// Emits the group combined; returns the loaded values.
    fn grouped(&mut self, group: &InterleaveGroup) -> Vec<Value> {
        match group.pattern() {
            Some(pattern) => {
                self.access_by(group.members[0].inst, pattern, &group.conditions).into_iter().collect()
            }
            None if group.direction.is_store() => {
                self.store_interleaved(group);
                Vec::new()
            }
            None => self.load_interleaved(group),
        }
    }

    fn interleaved(&mut self, group: &InterleaveGroup) -> InterleavedAccess {
        let first = group.members[0];
        let layout = group.layout(self.lanes);
        let lane_0 = self.lane_0_address(first.inst, first.address, group.stride, &group.conditions);
        let back = if group.stride < 0 { group.stride.wrapping_mul(i64::from(self.lanes) - 1) } else { 0 };
        let distance = group.lowest().wrapping_sub(first.offset).wrapping_add(back);
        let start = self.offset_address(lane_0, distance);
        let mut data = self.old.inst(first.inst).clone();
        let promised = data.access().map_or(1, |access| access.align).min(alignment_of(group.stride));
        let known = match self.facts.shape(first.address) {
            shape @ Shape::Strided { .. } => shape.base().align().min(1 << 12) as u32,
            _ => 1,
        };
        let align = promised.max(known).min(alignment_of(distance));
        if let Detail::Access(access) = data.detail {
            data.detail = Detail::Access(self.wide_access(access, align));
        }
        let mask = self.mask(first.inst);
        InterleavedAccess { layout, start, align, data, mask, ty: Type::Vector(group.scalar, self.lanes) }
    }

    fn load_interleaved(&mut self, group: &InterleaveGroup) -> Vec<Value> {
        let access = self.interleaved(group);
        let chunks: Vec<Value> =
            (0..access.layout.factor).map(|chunk| self.load_chunk(&access, chunk)).collect();
        let shuffles = access.layout.deinterleave();
        self.shuffle(&shuffles, &chunks, access.ty)
    }

    fn load_chunk(&mut self, access: &InterleavedAccess, chunk: usize) -> Value {
        let lanes = access.layout.lanes;
        let first = chunk * lanes;
        // Start early: nothing after the last element may be read.
        let early = (first + lanes).saturating_sub(access.layout.len());
        if access.mask.is_none() && early > 0 {
            let loaded = self.access_chunk(access, first - early, None, None);
            let loaded = loaded.expect("a load gives a value");
            let on = (0..lanes).map(|lane| (lane + early).min(lanes - 1) as u16).collect();
            let detail = Detail::Permute(on);
            return self.emit(InstData::new(Op::Permute, [loaded, loaded], detail), Some(access.ty));
        }
        let mask = self.chunk_mask(access, chunk, false);
        self.access_chunk(access, first, mask, None).expect("a load gives a value")
    }

    fn store_interleaved(&mut self, group: &InterleaveGroup) {
        let access = self.interleaved(group);
        let inputs: Vec<Value> = group
            .members
            .iter()
            .map(|member| self.old.inst(member.inst).args[0])
            .map(|stored| self.vector(stored))
            .collect();
        let shuffles = access.layout.interleave();
        let chunks = self.shuffle(&shuffles, &inputs, access.ty);
        for (chunk, value) in chunks.into_iter().enumerate() {
            if let Some(lane) = access.sole_lane(chunk) {
                self.store_element(&access, chunk, lane, value);
                continue;
            }
            let mask = self.chunk_mask(&access, chunk, !access.layout.is_gapless());
            self.access_chunk(&access, chunk * access.layout.lanes, mask, Some(value));
        }
    }

    /// Stores a chunk's only element.
    fn store_element(&mut self, access: &InterleavedAccess, chunk: usize, lane: usize, value: Value) {
        let lane_number = self.new.make_int(Scalar::I32, lane as i128);
        let element = self.emit(InstData::plain(Op::Extract, [value, lane_number]), None);
        self.access_chunk(access, chunk * access.layout.lanes + lane, None, Some(element));
    }

    /// Mask of a chunk's elements that active lanes access; none if all are, or if gaps may be read.
    fn chunk_mask(&mut self, access: &InterleavedAccess, chunk: usize, has_gaps: bool) -> Option<Value> {
        if access.mask.is_none() && !has_gaps {
            return None;
        }
        let lanes = access.layout.lanes;
        let owners = (0..lanes).map(|lane| access.layout.owner(chunk * lanes + lane));
        let ty = Type::mask(self.lanes);
        let Some(mask) = access.mask else {
            let bits = owners.map(|owner| u128::from(owner.is_some())).collect();
            return Some(self.new.make_const(Constant::Vector(Scalar::I1, bits)));
        };
        let none = self.new.make_const(Constant::splat(ty, 0));
        let spread = owners.map(|owner| owner.unwrap_or(lanes) as u16).collect();
        Some(self.emit(InstData::new(Op::Permute, [mask, none], Detail::Permute(spread)), Some(ty)))
    }

    /// Loads or stores a chunk that starts at this element.
    fn access_chunk(
        &mut self,
        access: &InterleavedAccess,
        element: usize,
        mask: Option<Value>,
        stored: Option<Value>,
    ) -> Option<Value> {
        let distance = element as i64 * i64::from(access.ty.scalar().bytes());
        let address = self.offset_address(access.start, distance);
        let mut data = access.data.clone();
        if let Detail::Access(one) = &mut data.detail {
            one.align = access.align.min(alignment_of(distance));
        }
        match stored {
            Some(value) => {
                self.store_vector(data, value, address, mask);
                None
            }
            None => Some(self.load_vector(data, address, mask, access.ty)),
        }
    }

    /// Deinterleaves chunks into the members' vectors.
    pub(super) fn deinterleave(
        &mut self,
        layout: &InterleaveLayout,
        chunks: &[Value],
        ty: Type,
    ) -> Vec<Value> {
        self.shuffle(&layout.deinterleave(), chunks, ty)
    }

    /// Interleaves the members' vectors into chunks.
    pub(super) fn interleave(
        &mut self,
        layout: &InterleaveLayout,
        members: &[Value],
        ty: Type,
    ) -> Vec<Value> {
        self.shuffle(&layout.interleave(), members, ty)
    }

    fn shuffle(&mut self, shuffles: &ShuffleSequence, inputs: &[Value], ty: Type) -> Vec<Value> {
        let mut all = inputs.to_vec();
        let poison = self.new.make_poison(ty);
        let of = |all: &[Value], number: Option<usize>| number.map_or(poison, |number| all[number]);
        for step in &shuffles.steps {
            let args = step.of.map(|number| of(&all, number));
            let detail = Detail::Permute(step.lanes.clone());
            all.push(self.emit(InstData::new(Op::Permute, args, detail), Some(ty)));
        }
        shuffles.results.iter().map(|&number| of(&all, number)).collect()
    }

    /// Address plus a constant number of bytes.
    pub(super) fn offset_address(&mut self, address: Value, distance: i64) -> Value {
        if distance == 0 {
            return address;
        }
        let distance = self.new.make_int(Scalar::I64, distance.into());
        self.emit(InstData::plain(Op::PtrAdd, [address, distance]), None)
    }
}

/// Largest power of two that divides a number of bytes, as an alignment.
fn alignment_of(bytes: i64) -> u32 {
    1 << bytes.trailing_zeros().min(12)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Evaluates permutations on vectors of numbers; none is poison.
    fn shuffled(shuffles: &ShuffleSequence, inputs: &[Vec<Option<usize>>]) -> Vec<Vec<Option<usize>>> {
        let mut all = inputs.to_vec();
        let lanes = inputs[0].len();
        let of = |all: &[Vec<Option<usize>>], number: Option<usize>| {
            number.map_or(vec![None; lanes], |number: usize| all[number].clone())
        };
        for step in &shuffles.steps {
            let both = step.of.map(|number| of(&all, number)).concat();
            all.push(step.lanes.iter().map(|&lane| both[usize::from(lane)]).collect());
        }
        shuffles.results.iter().map(|&number| of(&all, number)).collect()
    }

    /// All sets of member positions.
    fn layouts() -> impl Iterator<Item = InterleaveLayout> {
        (2..=16).flat_map(|lanes| {
            (2..=lanes.min(8)).flat_map(move |factor| {
                (1usize..1 << factor).filter(|taken| taken & 1 == 1).flat_map(move |taken| {
                    let mut positions: Vec<usize> = (0..factor).filter(|at| taken >> at & 1 == 1).collect();
                    if taken % 3 == 0 {
                        positions.reverse();
                    }
                    [false, true]
                        .map(|is_reversed| InterleaveLayout::new(lanes, factor, is_reversed, &positions))
                })
            })
        })
    }

    #[test]
    fn members_get_the_elements_at_their_positions() {
        for layout in layouts() {
            let (lanes, factor) = (layout.lanes, layout.factor);
            let chunks: Vec<Vec<Option<usize>>> =
                (0..factor).map(|chunk| (chunk * lanes..(chunk + 1) * lanes).map(Some).collect()).collect();
            let found = shuffled(&layout.deinterleave(), &chunks);
            for (member, &position) in found.iter().zip(&layout.positions) {
                let lane_at = |lane| if layout.is_reversed { lanes - 1 - lane } else { lane };
                let expected: Vec<_> =
                    (0..lanes).map(|lane| Some(lane_at(lane) * factor + position)).collect();
                assert_eq!(*member, expected, "{layout:?}");
            }
        }
    }

    #[test]
    fn lines_get_the_members_lanes() {
        for layout in layouts() {
            let (lanes, factor) = (layout.lanes, layout.factor);
            let members: Vec<Vec<Option<usize>>> = (0..layout.positions.len())
                .map(|member| (0..lanes).map(|lane| Some(member * lanes + lane)).collect())
                .collect();
            let chunks = shuffled(&layout.interleave(), &members).concat();
            assert_eq!(chunks.len(), lanes * factor);
            for (element, found) in chunks.into_iter().enumerate() {
                let Some(owner) = layout.owner(element) else { continue };
                let member = layout.positions.iter().position(|&at| at == element % factor);
                assert_eq!(found, member.map(|member| member * lanes + owner), "{layout:?}");
            }
        }
    }

    #[test]
    fn powers_of_two_take_few_permutations() {
        let all: Vec<usize> = (0..4).collect();
        let layout = InterleaveLayout::new(8, 4, false, &all);
        let (load, store) = (AccessDirection::Load, AccessDirection::Store);
        assert_eq!((layout.permutes(load), layout.permutes(store)), (8, 8));
        assert_eq!(InterleaveLayout::new(8, 2, false, &[0]).permutes(load), 1);
        assert_eq!(InterleaveLayout::new(8, 3, false, &[0, 1, 2]).permutes(store), 6);
    }
}
