//! Greedy schedules against their definition.
//!
//! The definition here has no latches: a lane waits before a block, in some iteration of each loop around it. Another
//! lane must run first if it may still reach that block in that iteration. It may if it is in an earlier iteration of a
//! common loop, or if a path to the block takes no back edge of a loop that both are in, in the same iteration.

use crate::parse;
use heddle_interp::{Argument, Datum, FaultKind, Memory, RunOptions, Schedule, ScheduleStep, Scheduler, run};
use heddle_ir::Block;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Control flow graph whose last block returns. The second of two successors is a later block, so that a lane without
/// further decisions reaches the end.
#[derive(Clone, Debug)]
struct Graph {
    successors: Vec<Vec<usize>>,
}

struct Loop {
    header: usize,
    body: BTreeSet<usize>,
}

/// Position of a lane: before a block, in an iteration of each loop by its index in the list.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Place {
    block: usize,
    rounds: Vec<usize>,
    taken: usize,
}

impl Graph {
    fn reaches(&self, from: usize, to: usize, without: usize) -> bool {
        self.reaches_along(from, to, |_, next| next != without) && from != without
    }

    fn reaches_along(&self, from: usize, to: usize, allows: impl Fn(usize, usize) -> bool) -> bool {
        let (mut seen, mut work) = (vec![false; self.successors.len()], vec![from]);
        while let Some(here) = work.pop() {
            if here == to {
                return true;
            }
            for &next in &self.successors[here] {
                if allows(here, next) && !std::mem::replace(&mut seen[next], true) {
                    work.push(next);
                }
            }
        }
        false
    }

    fn dominates(&self, above: usize, below: usize) -> bool {
        above == below || !self.reaches(0, below, above)
    }

    /// Returns the natural loops; none if control flow is irreducible.
    fn loops(&self) -> Option<Vec<Loop>> {
        let blocks = self.successors.len();
        let is_back = |from: usize, to: usize| self.dominates(to, from);
        let mut loops: Vec<Loop> = Vec::new();
        for header in 0..blocks {
            let latches: Vec<usize> = (0..blocks)
                .filter(|&from| self.successors[from].contains(&header) && is_back(from, header))
                .collect();
            if !latches.is_empty() {
                let inside = |&block: &usize| {
                    block == header || latches.iter().any(|&latch| self.reaches(block, latch, header))
                };
                loops.push(Loop { header, body: (0..blocks).filter(inside).collect() });
            }
        }
        let forward = |from: usize, to: usize| !is_back(from, to);
        let is_cyclic = (0..blocks).any(|block| {
            self.successors[block]
                .iter()
                .any(|&next| forward(block, next) && self.reaches_along(next, block, forward))
        });
        (!is_cyclic).then_some(loops)
    }

    /// True if a lane at `other` may still reach the position of a lane at `place`.
    fn leads_to(&self, loops: &[Loop], other: &Place, place: &Place) -> bool {
        let common = |l: &&(usize, &Loop)| l.1.body.contains(&other.block) && l.1.body.contains(&place.block);
        let mut shared: Vec<(usize, &Loop)> = loops.iter().enumerate().collect();
        shared.retain(|l| common(&l));
        // Outer loops first.
        shared.sort_by_key(|(_, l)| std::cmp::Reverse(l.body.len()));
        for (index, _) in &shared {
            if other.rounds[*index] != place.rounds[*index] {
                return other.rounds[*index] < place.rounds[*index];
            }
        }
        let goes_round =
            |from: usize, to: usize| shared.iter().any(|(_, l)| l.header == to && l.body.contains(&from));
        other.block != place.block
            && self.reaches_along(other.block, place.block, |from, to| !goes_round(from, to))
    }

    /// Enumerates the schedules that the definition allows for lanes with these decisions, up to a number.
    fn legal(&self, loops: &[Loop], decisions: &[u32], most: usize) -> Option<BTreeSet<Vec<usize>>> {
        let start = Place { block: 0, rounds: vec![0; loops.len()], taken: 0 };
        let mut found = BTreeSet::new();
        let mut work: Vec<(Vec<Option<Place>>, Vec<usize>)> =
            vec![(vec![Some(start); decisions.len()], Vec::new())];
        while let Some((lanes, schedule)) = work.pop() {
            if found.len() > most {
                return None;
            }
            let waiting: Vec<&Place> = lanes.iter().flatten().collect();
            if waiting.is_empty() {
                found.insert(schedule);
                continue;
            }
            let legal: BTreeSet<&Place> = waiting
                .iter()
                .copied()
                .filter(|place| !waiting.iter().any(|other| self.leads_to(loops, other, place)))
                .collect();
            let places: BTreeSet<(usize, &Vec<usize>)> =
                legal.iter().map(|place| (place.block, &place.rounds)).collect();
            for (block, rounds) in places {
                let mut next = lanes.clone();
                for (lane, place) in next.iter_mut().enumerate() {
                    if place.as_ref().is_some_and(|place| place.block == block && place.rounds == *rounds) {
                        *place = place.take().and_then(|place| self.step(loops, place, decisions[lane]));
                    }
                }
                let mut longer = schedule.clone();
                longer.push(block);
                work.push((next, longer));
            }
        }
        Some(found)
    }

    fn step(&self, loops: &[Loop], mut place: Place, decisions: u32) -> Option<Place> {
        let to = match self.successors[place.block][..] {
            [] => return None,
            [only] => only,
            ref two => {
                place.taken += 1;
                two[usize::from(decisions >> (place.taken - 1) & 1 == 0)]
            }
        };
        for (index, l) in loops.iter().enumerate() {
            if l.header == to && l.body.contains(&place.block) {
                place.rounds[index] += 1;
            } else if !l.body.contains(&to) || l.header == to {
                place.rounds[index] = 0;
            }
        }
        Some(Place { block: to, ..place })
    }

    /// Prints the graph as a function; each lane reads its decisions from a private word.
    fn text(&self) -> String {
        let mut text = String::from(
            "func @f(v0: i32) {\nblock100:\n  v1 = alloca 4 align 4\n  store v0, v1\n  br block0\n",
        );
        for (block, successors) in self.successors.iter().enumerate() {
            let _ = writeln!(text, "block{block}:");
            let v = 10 + block * 3;
            let _ = match successors[..] {
                [] => writeln!(text, "  ret"),
                [only] => writeln!(text, "  br block{only}"),
                ref two => writeln!(
                    text,
                    "  v{v} = load i32, v1\n  v{} = lshr v{v}, 1\n  store v{}, v1\n  v{} = trunc i1, v{v}\n  br v{}, block{}, block{}",
                    v + 1,
                    v + 1,
                    v + 2,
                    v + 2,
                    two[0],
                    two[1]
                ),
            };
        }
        text + "}\n"
    }
}

/// Pseudo-random generator.
struct Stream(u64);

impl Stream {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % count as u64) as usize
    }
}

fn random_graph(stream: &mut Stream) -> Graph {
    let blocks = 3 + stream.below(5);
    let successors = (0..blocks).map(|block| match blocks - 1 - block {
        0 => Vec::new(),
        later => {
            let second = block + 1 + stream.below(later.min(3));
            // The entry has no predecessors but block100.
            let forward = stream.below(3) > 0;
            let first = if forward { block + 1 + stream.below(later) } else { stream.below(blocks) };
            if stream.below(4) == 0 || first == second { vec![second] } else { vec![first, second] }
        }
    });
    Graph { successors: successors.collect() }
}

/// Returns the blocks that a run executes after its first, which is not in the graph.
fn schedule_of(text: &str, decisions: &[u32], scheduler: Scheduler) -> Result<Vec<usize>, FaultKind> {
    let module = parse(text);
    let args = [Argument::Varying(decisions.iter().map(|&bits| Datum::Bits(bits.into())).collect())];
    let options = RunOptions { scheduler, ..RunOptions::lanes(decisions.len() as u32) };
    let outcome = run(&module, "f", &args, &mut Memory::new(), &options).map_err(|fault| fault.kind)?;
    Ok(outcome.schedule.steps().skip(1).map(|step| step.block.as_u32() as usize).collect())
}

fn replay(schedule: &[usize]) -> Scheduler {
    let blocks = std::iter::once(100).chain(schedule.iter().copied());
    Scheduler::Replay(Schedule::of_blocks(blocks.map(|block| Block::from_u32(block as u32))))
}

#[test]
fn random_schedules_are_those_of_the_definition() {
    let mut stream = Stream(1);
    let (mut graphs, mut several, mut with_loops, mut with_choice_in_loops) = (0, 0, 0, 0);
    while several < 150 || with_choice_in_loops < 50 {
        let graph = random_graph(&mut stream);
        let Some(loops) = graph.loops() else { continue };
        let decisions: Vec<u32> = (0..2 + stream.below(3)).map(|_| stream.below(64) as u32).collect();
        let Some(legal) = graph.legal(&loops, &decisions, 24) else { continue };
        // Most graphs have a single schedule: a few of them suffice.
        if legal.len() == 1 && graphs > several + 150 {
            continue;
        }
        graphs += 1;
        with_loops += usize::from(!loops.is_empty());
        several += usize::from(legal.len() > 1);
        with_choice_in_loops += usize::from(legal.len() > 1 && !loops.is_empty());
        let text = graph.text();
        let mut seen = BTreeSet::from([schedule_of(&text, &decisions, Scheduler::Greedy).unwrap()]);
        // Some schedules are rare: repeat until all have occurred, and at least a few times.
        for seed in 0..20_000 {
            if seed >= 5 + 20 * (legal.len() as u64 - 1) && seen.len() >= legal.len() {
                break;
            }
            seen.insert(schedule_of(&text, &decisions, Scheduler::Random(seed)).unwrap());
        }
        assert_eq!(seen, legal, "{decisions:?}\n{text}");
        for schedule in &legal {
            assert_eq!(schedule_of(&text, &decisions, replay(schedule)).as_ref(), Ok(schedule), "{text}");
        }
    }
    println!(
        "{several} of {graphs} graphs with a choice, {with_loops} with loops, {with_choice_in_loops} with both"
    );
    assert!(with_loops >= 100);
}

#[test]
fn a_schedule_that_lets_no_lane_wait_is_illegal() {
    // A branches to B and C; both jump to D.
    let graph = Graph { successors: vec![vec![1, 2], vec![3], vec![3], vec![]] };
    let text = graph.text();
    let illegal = FaultKind::IllegalSchedule(Block::from_u32(3));
    assert_eq!(schedule_of(&text, &[1, 0], replay(&[0, 1, 2, 3])), Ok(vec![0, 1, 2, 3]));
    assert_eq!(schedule_of(&text, &[1, 0], replay(&[0, 2, 1, 3])), Ok(vec![0, 2, 1, 3]));
    assert_eq!(schedule_of(&text, &[1, 0], replay(&[0, 1, 3, 2, 3])), Err(illegal));
}

#[test]
fn blocks_where_no_lane_waits_are_passed_over() {
    let graph = Graph { successors: vec![vec![1, 2], vec![3], vec![3], vec![]] };
    let text = graph.text();
    assert_eq!(schedule_of(&text, &[1, 1], replay(&[0, 2, 1, 2, 3])), Ok(vec![0, 1, 3]));
    assert_eq!(schedule_of(&text, &[1, 0], replay(&[0])), Ok(vec![0, 1, 2, 3]), "what is left is greedy");
}

#[test]
fn a_replay_goes_call_by_call() {
    // Where lanes diverge in @f, block1 and block2 may run in either order.
    let text = "\
func @f(v0: i32) {
block0:
  v1 = icmp eq v0, 0
  br v1, block1, block2
block1:
  br block3
block2:
  br block3
block3:
  ret
}
func @main() {
block0:
  v0 = lane i32
  call @f(v0)
  call @f(0)
  call @f(v0)
  ret
}
";
    let module = parse(text);
    let follow = |scheduler: Scheduler| {
        let options = RunOptions { scheduler, ..RunOptions::lanes(2) };
        run(&module, "main", &[], &mut Memory::new(), &options).unwrap().schedule
    };
    let blocks = |schedule: &Schedule| -> Vec<Vec<u32>> {
        let blocks = |steps: &[ScheduleStep]| steps.iter().map(|step| step.block.as_u32()).collect();
        schedule.invocations.iter().map(|invocation| blocks(&invocation.steps)).collect()
    };
    let [forth, back] = [[0, 1, 2, 3], [0, 2, 1, 3]];
    let schedules = (0..64).map(|seed| follow(Scheduler::Random(seed)));
    let chosen: Vec<Schedule> = schedules
        .filter(|schedule| {
            let blocks = blocks(schedule);
            blocks[1] == forth && blocks[3] == back
        })
        .collect();
    let chosen = chosen.first().expect("some seed chooses these");
    assert_eq!(follow(Scheduler::Replay(chosen.clone())), *chosen);
    // Without one of its calls, the others replay as before, and that one is free.
    for dropped in [1, 2] {
        let mut without = chosen.clone();
        without.invocations.remove(dropped);
        let replayed = follow(Scheduler::Replay(without));
        assert_eq!(blocks(&replayed), [&[0][..], &forth, &[0, 1, 3], &back], "without call {dropped}");
    }
}
