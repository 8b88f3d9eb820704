//! Lines of memory that hold several elements for each lane: read and taken apart, put together and written.
//!
//! The elements of all lanes make one *run*: lane after lane (from the last one on, if lanes step back), each with as many
//! elements as its step is long, the *period*. A *line* is as much of a run as there are lanes, so a run has as many lines
//! as its period. A member has one position in the period; what no member has is a gap.
//!
//! *What is touched.* Where not all lanes are active, or a store has a gap, exactly the elements that active lanes access
//! are, by the mask of the lanes, spread over the run. A load in all lanes also reads the gaps between elements, never what
//! lies before the first or behind the last one: the last line starts early instead. A gap is shorter than a page, and
//! both sides of it are accessed; objects are 4096 bytes apart at least (docs/ir.md), so it is part of the same object,
//! and no machine has memory to guard in between.

use super::clusters::{Cluster, Clusters, Member};
use super::kinds::Kind;
use super::memory::Pattern;
use super::writer::{Writer, Written};
use heddle_analysis::Shape;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::{Constant, Inst, Op, Scalar, Type, Value};
use smallvec::SmallVec;

/// A permutation of two vectors; one that is missing is ⊤.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Step {
    of: [Option<usize>; 2],
    lanes: Box<[u16]>,
}

/// Permutations, each of vectors that were given or made before, and what comes out.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
struct Shuffles {
    given: usize,
    steps: Vec<Step>,
    results: Vec<Option<usize>>,
}

impl Shuffles {
    fn step(&mut self, of: [Option<usize>; 2], lanes: Box<[u16]>) -> Option<usize> {
        if of == [None; 2] {
            return None;
        }
        self.steps.push(Step { of, lanes });
        Some(self.given + self.steps.len() - 1)
    }

    /// Picks one vector from several that lie side by side.
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

/// Where the elements of a run lie.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    lanes: usize,
    period: usize,
    is_reversed: bool,
    /// Which positions of the period a member has.
    taken: Vec<bool>,
    positions: SmallVec<[usize; 4]>,
}

impl Layout {
    pub(super) fn new(lanes: usize, period: usize, is_reversed: bool, positions: &[usize]) -> Layout {
        let taken = (0..period).map(|position| positions.contains(&position)).collect();
        Layout { lanes, period, is_reversed, taken, positions: positions.into() }
    }

    /// Elements from a lane's to the next one's: as many lines as there are.
    pub(super) fn period(&self) -> usize {
        self.period
    }

    /// Whether each element of the run is some member's.
    pub(super) fn is_gapless(&self) -> bool {
        self.taken.iter().all(|&taken| taken)
    }

    /// The permutations that it takes to load or to store.
    pub(super) fn permutes(&self, writes: bool) -> u32 {
        let shuffles = if writes { self.put_together() } else { self.take_apart() };
        shuffles.steps.len() as u32
    }

    /// The elements up to the last member's of the last lane.
    fn len(&self) -> usize {
        let last = self.positions.iter().max().copied().unwrap_or(0);
        (self.lanes - 1) * self.period + last + 1
    }

    /// The lane that an element of the run belongs to, if a member has it.
    fn owner(&self, element: usize) -> Option<usize> {
        let number = element / self.period;
        let lane = if self.is_reversed { (self.lanes - 1).checked_sub(number)? } else { number };
        self.taken[element % self.period].then_some(lane)
    }

    /// Takes lines apart: for each member its lanes.
    ///
    /// ```text
    ///     x0 y0 z0 w0  x1 y1 z1 w1  x2 …       even and odd elements of neighbouring lines,
    ///     x0 z0 x1 z1  x2 z2 x3 z3  y0 w0 …    until each position is by itself
    ///     x0 x1 x2 x3  z0 z1 z2 z3  y0 y1 …
    /// ```
    fn take_apart(&self) -> Shuffles {
        let lanes = self.lanes;
        let turned = |lane: usize| if self.is_reversed { lanes - 1 - lane } else { lane };
        let mut shuffles = Shuffles { given: self.period, ..Shuffles::default() };
        let mut at: Vec<Option<usize>> = vec![None; self.period];
        // Vectors that hold, one behind the other, the elements at `first`, `first + step`, …
        let mut work = vec![(0, 1, (0..self.period).map(Some).collect::<Vec<_>>())];
        while let Some((first, step, vectors)) = work.pop() {
            let is_wanted =
                |first: usize, step: usize| self.positions.iter().any(|position| position % step == first);
            if vectors.len() == 1 {
                at[first] = vectors[0];
            } else if vectors.len().is_multiple_of(2) {
                for parity in [0, 1].into_iter().filter(|parity| is_wanted(first + parity * step, 2 * step)) {
                    let is_last = vectors.len() == 2;
                    let element = |lane| 2 * if is_last { turned(lane) } else { lane } + parity;
                    let halves =
                        vectors.chunks(2).map(|pair| shuffles.pick(lanes, pair, element)).collect::<Vec<_>>();
                    work.push((first + parity * step, 2 * step, halves));
                }
            } else {
                for number in 0..vectors.len() {
                    let position = first + number * step;
                    if is_wanted(position, self.period) {
                        let element = |lane| turned(lane) * vectors.len() + number;
                        at[position] = shuffles.pick(lanes, &vectors, element);
                    }
                }
            }
        }
        shuffles.results = self.positions.iter().map(|&position| at[position]).collect();
        shuffles
    }

    /// Puts lines together from the members' lanes: the other way round.
    fn put_together(&self) -> Shuffles {
        let lanes = self.lanes;
        let mut shuffles = Shuffles { given: self.positions.len(), ..Shuffles::default() };
        let mut at: Vec<Option<usize>> = vec![None; self.period];
        for (number, &position) in self.positions.iter().enumerate() {
            at[position] = Some(number);
            if self.is_reversed {
                let back = (0..lanes as u16).rev().collect();
                at[position] = shuffles.step([Some(number); 2], back);
            }
        }
        let odd = self.period >> self.period.trailing_zeros();
        let mut step = self.period / odd;
        // For each residue modulo `step`: the elements at these positions, one behind the other.
        let mut vectors: Vec<Vec<Option<usize>>> = (0..step)
            .map(|first| {
                let members: Vec<Option<usize>> = (0..odd).map(|number| at[first + number * step]).collect();
                let line = |line: usize| {
                    move |lane: usize| {
                        let element = line * lanes + lane;
                        element % odd * lanes + element / odd
                    }
                };
                (0..odd).map(|number| shuffles.pick(lanes, &members, line(number))).collect()
            })
            .collect();
        while step > 1 {
            step /= 2;
            let (even, odd) = vectors.split_at(step);
            let zipped = even.iter().zip(odd).map(|(even, odd)| {
                let mut lines = Vec::with_capacity(2 * even.len());
                for (&a, &b) in even.iter().zip(odd) {
                    for half in 0..2 {
                        let element = |lane: usize| {
                            let element = half * lanes + lane;
                            element % 2 * lanes + element / 2
                        };
                        lines.push(shuffles.pick(lanes, &[a, b], element));
                    }
                }
                lines
            });
            vectors = zipped.collect();
        }
        shuffles.results = vectors.swap_remove(0);
        shuffles
    }
}

/// A run, ready to be accessed.
struct Run {
    layout: Layout,
    /// Where it starts.
    start: Value,
    /// The alignment of that.
    align: u32,
    data: InstData,
    mask: Option<Value>,
    ty: Type,
}

impl Run {
    /// The lane of a line's only element, if all lanes are active. LLVM 22 stores too much where a mask is known to be of
    /// one lane and the value was truncated.
    fn only_lane(&self, line: usize) -> Option<usize> {
        let lanes = self.layout.lanes;
        let mut owned = (0..lanes).filter(|lane| self.layout.owner(line * lanes + lane).is_some());
        let lane = owned.next()?;
        (self.mask.is_none() && owned.next().is_none()).then_some(lane)
    }
}

impl Writer<'_> {
    /// An access of a cluster: loads are done at the first one, stores at the last one.
    pub(super) fn clustered(&mut self, inst: Inst, clusters: &Clusters) -> Option<Written> {
        let cluster = clusters.of(inst)?;
        let members = &cluster.members;
        let at = if cluster.writes { members.last() } else { members.first() };
        if at.is_none_or(|member| member.inst != inst) {
            return Some(Ok(()));
        }
        self.merge_origins(members.iter().map(|member| member.inst));
        let values = if cluster.has_versions() {
            let holds = self.all_hold(&cluster.conditions);
            self.either(holds, |writer| writer.together(cluster), |writer| writer.apart(cluster))
        } else {
            self.together(cluster)
        };
        for (member, value) in members.iter().zip(values) {
            self.define(member.inst, value);
        }
        Some(Ok(()))
    }

    /// A cluster, done together; what its loads give.
    fn together(&mut self, cluster: &Cluster) -> Vec<Value> {
        let Member { inst, address, .. } = cluster.members[0];
        let size = i64::from(cluster.scalar.bytes());
        let pattern = match cluster.stride {
            0 => Pattern::One(self.first_of(inst, address, &cluster.conditions)),
            stride if stride == size => {
                Pattern::Contiguous(self.base_of(inst, address, stride, &cluster.conditions))
            }
            stride if stride == -size => {
                Pattern::Reversed(self.base_of(inst, address, stride, &cluster.conditions))
            }
            _ if cluster.writes => {
                self.store_lines(cluster);
                return Vec::new();
            }
            _ => return self.load_lines(cluster),
        };
        self.one_by(cluster, pattern)
    }

    /// The same, each lane at an address of its own.
    fn apart(&mut self, cluster: &Cluster) -> Vec<Value> {
        self.one_by(cluster, Pattern::Scattered)
    }

    fn one_by(&mut self, cluster: &Cluster, pattern: Pattern) -> Vec<Value> {
        let inst = cluster.members[0].inst;
        if cluster.writes {
            self.store_by(inst, pattern);
            return Vec::new();
        }
        vec![self.load_by(inst, pattern)]
    }

    fn run(&mut self, cluster: &Cluster) -> Run {
        let first = cluster.members[0];
        let layout = cluster.layout(self.lanes);
        let lane_0 = match self.kinds.of(first.address) {
            Kind::Steps(_) => self.scalar(first.address),
            Kind::Lanes => self.base_of(first.inst, first.address, cluster.stride, &cluster.conditions),
        };
        let back =
            if cluster.stride < 0 { cluster.stride.wrapping_mul(i64::from(self.lanes) - 1) } else { 0 };
        let distance = cluster.lowest().wrapping_sub(first.offset).wrapping_add(back);
        let start = self.further(lane_0, distance);
        let mut data = self.old.inst(first.inst).clone();
        let promised = data.access().map_or(1, |access| access.align).min(power_in(cluster.stride));
        let known = match self.facts.shape(first.address) {
            shape @ Shape::Strided { .. } => shape.base().align().min(1 << 12) as u32,
            _ => 1,
        };
        let align = promised.max(known).min(power_in(distance));
        if let Detail::Access(access) = data.detail {
            data.detail = Detail::Access(self.hinted(access, align));
        }
        let mask = self.mask(first.inst);
        Run { layout, start, align, data, mask, ty: Type::Vector(cluster.scalar, self.lanes) }
    }

    fn load_lines(&mut self, cluster: &Cluster) -> Vec<Value> {
        let run = self.run(cluster);
        let lines: Vec<Value> = (0..run.layout.period).map(|line| self.load_line(&run, line)).collect();
        let shuffles = run.layout.take_apart();
        self.shuffle(&shuffles, &lines, run.ty)
    }

    fn load_line(&mut self, run: &Run, line: usize) -> Value {
        let lanes = run.layout.lanes;
        let first = line * lanes;
        // Nothing is read behind the last element.
        let early = (first + lanes).saturating_sub(run.layout.len());
        if run.mask.is_none() && early > 0 {
            let loaded = self.access_line(run, first - early, None, None);
            let loaded = loaded.expect("a load gives a value");
            let on = (0..lanes).map(|lane| (lane + early).min(lanes - 1) as u16).collect();
            let detail = Detail::Permute(on);
            return self.emit(InstData::new(Op::Permute, [loaded, loaded], detail), Some(run.ty));
        }
        let mask = self.line_mask(run, line, false);
        self.access_line(run, first, mask, None).expect("a load gives a value")
    }

    fn store_lines(&mut self, cluster: &Cluster) {
        let run = self.run(cluster);
        let given: Vec<Value> = cluster
            .members
            .iter()
            .map(|member| self.old.inst(member.inst).args[0])
            .map(|stored| self.vector(stored))
            .collect();
        let shuffles = run.layout.put_together();
        let lines = self.shuffle(&shuffles, &given, run.ty);
        for (line, value) in lines.into_iter().enumerate() {
            if let Some(lane) = run.only_lane(line) {
                self.store_element(&run, line, lane, value);
                continue;
            }
            let mask = self.line_mask(&run, line, !run.layout.is_gapless());
            self.access_line(&run, line * run.layout.lanes, mask, Some(value));
        }
    }

    /// Stores the one element that a line has.
    fn store_element(&mut self, run: &Run, line: usize, lane: usize, value: Value) {
        let lane_number = self.new.make_int(Scalar::I32, lane as i128);
        let element = self.emit(InstData::plain(Op::Extract, [value, lane_number]), None);
        self.access_line(run, line * run.layout.lanes + lane, None, Some(element));
    }

    /// The elements of a line that active lanes access; none if that is all of them, or if those between may be read.
    fn line_mask(&mut self, run: &Run, line: usize, has_gaps: bool) -> Option<Value> {
        if run.mask.is_none() && !has_gaps {
            return None;
        }
        let lanes = run.layout.lanes;
        let owners = (0..lanes).map(|lane| run.layout.owner(line * lanes + lane));
        let ty = Type::mask(self.lanes);
        let Some(mask) = run.mask else {
            let bits = owners.map(|owner| u128::from(owner.is_some())).collect();
            return Some(self.new.make_const(Constant::Vector(Scalar::I1, bits)));
        };
        let none = self.new.make_const(Constant::splat(ty, 0));
        let spread = owners.map(|owner| owner.unwrap_or(lanes) as u16).collect();
        Some(self.emit(InstData::new(Op::Permute, [mask, none], Detail::Permute(spread)), Some(ty)))
    }

    /// Loads or stores a line from an element of a run on.
    fn access_line(
        &mut self,
        run: &Run,
        element: usize,
        mask: Option<Value>,
        stored: Option<Value>,
    ) -> Option<Value> {
        let distance = element as i64 * i64::from(run.ty.scalar().bytes());
        let address = self.further(run.start, distance);
        let mut data = run.data.clone();
        if let Detail::Access(access) = &mut data.detail {
            access.align = run.align.min(power_in(distance));
        }
        match stored {
            Some(value) => {
                self.store_vector(data, value, address, mask);
                None
            }
            None => Some(self.load_vector(data, address, mask, run.ty)),
        }
    }

    /// Takes lines apart: for each member its lanes.
    pub(super) fn take_apart(&mut self, layout: &Layout, lines: &[Value], ty: Type) -> Vec<Value> {
        self.shuffle(&layout.take_apart(), lines, ty)
    }

    fn shuffle(&mut self, shuffles: &Shuffles, given: &[Value], ty: Type) -> Vec<Value> {
        let mut all = given.to_vec();
        let poison = self.new.make_poison(ty);
        let of = |all: &[Value], number: Option<usize>| number.map_or(poison, |number| all[number]);
        for step in &shuffles.steps {
            let args = step.of.map(|number| of(&all, number));
            let detail = Detail::Permute(step.lanes.clone());
            all.push(self.emit(InstData::new(Op::Permute, args, detail), Some(ty)));
        }
        shuffles.results.iter().map(|&number| of(&all, number)).collect()
    }

    /// An address some bytes on.
    pub(super) fn further(&mut self, address: Value, distance: i64) -> Value {
        if distance == 0 {
            return address;
        }
        let distance = self.new.make_int(Scalar::I64, distance.into());
        self.emit(InstData::plain(Op::PtrAdd, [address, distance]), None)
    }
}

/// The largest power of two that divides a number of bytes, as an alignment.
fn power_in(bytes: i64) -> u32 {
    1 << bytes.trailing_zeros().min(12)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs permutations on vectors of numbers; ⊤ is none.
    fn shuffled(shuffles: &Shuffles, given: &[Vec<Option<usize>>]) -> Vec<Vec<Option<usize>>> {
        let mut all = given.to_vec();
        let lanes = given[0].len();
        let of = |all: &[Vec<Option<usize>>], number: Option<usize>| {
            number.map_or(vec![None; lanes], |number: usize| all[number].clone())
        };
        for step in &shuffles.steps {
            let both = step.of.map(|number| of(&all, number)).concat();
            all.push(step.lanes.iter().map(|&lane| both[usize::from(lane)]).collect());
        }
        shuffles.results.iter().map(|&number| of(&all, number)).collect()
    }

    /// All positions that members may have.
    fn layouts() -> impl Iterator<Item = Layout> {
        (2..=16).flat_map(|lanes| {
            (2..=lanes.min(8)).flat_map(move |period| {
                (1usize..1 << period).filter(|taken| taken & 1 == 1).flat_map(move |taken| {
                    let mut positions: Vec<usize> = (0..period).filter(|at| taken >> at & 1 == 1).collect();
                    if taken % 3 == 0 {
                        positions.reverse();
                    }
                    [false, true].map(|is_reversed| Layout::new(lanes, period, is_reversed, &positions))
                })
            })
        })
    }

    #[test]
    fn members_get_the_elements_at_their_positions() {
        for layout in layouts() {
            let (lanes, period) = (layout.lanes, layout.period);
            let lines: Vec<Vec<Option<usize>>> =
                (0..period).map(|line| (line * lanes..(line + 1) * lanes).map(Some).collect()).collect();
            let found = shuffled(&layout.take_apart(), &lines);
            for (member, &position) in found.iter().zip(&layout.positions) {
                let place = |lane| if layout.is_reversed { lanes - 1 - lane } else { lane };
                let expected: Vec<_> = (0..lanes).map(|lane| Some(place(lane) * period + position)).collect();
                assert_eq!(*member, expected, "{layout:?}");
            }
        }
    }

    #[test]
    fn lines_get_the_members_lanes() {
        for layout in layouts() {
            let (lanes, period) = (layout.lanes, layout.period);
            let members: Vec<Vec<Option<usize>>> = (0..layout.positions.len())
                .map(|member| (0..lanes).map(|lane| Some(member * lanes + lane)).collect())
                .collect();
            let lines = shuffled(&layout.put_together(), &members).concat();
            assert_eq!(lines.len(), lanes * period);
            for (element, found) in lines.into_iter().enumerate() {
                let Some(owner) = layout.owner(element) else { continue };
                let member = layout.positions.iter().position(|&at| at == element % period);
                assert_eq!(found, member.map(|member| member * lanes + owner), "{layout:?}");
            }
        }
    }

    #[test]
    fn powers_of_two_take_few_permutations() {
        let all: Vec<usize> = (0..4).collect();
        let layout = Layout::new(8, 4, false, &all);
        assert_eq!((layout.permutes(false), layout.permutes(true)), (8, 8));
        assert_eq!(Layout::new(8, 2, false, &[0]).permutes(false), 1);
        assert_eq!(Layout::new(8, 3, false, &[0, 1, 2]).permutes(true), 6);
    }
}
