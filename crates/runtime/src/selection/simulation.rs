//! Simulated kernels, for which the true time of each code is known: exploration stays within its budget, launches stay close to the
//! incumbent's time, and the choice ends close to the best code.

use super::*;

/// Specification of a simulated code.
#[derive(Clone, Copy, PartialEq, Debug)]
struct SimulatedSpec {
    number: usize,
    promise: f64,
}

impl CandidateSpec for SimulatedSpec {
    fn promise(&self) -> f64 {
        self.promise
    }

    fn key(&self) -> u64 {
        self.number as u64
    }
}

/// Nanoseconds for a work-item of a code, at a time in nanoseconds.
type TruePace = Box<dyn Fn(usize, f64) -> f64>;

struct SimulatedKernel {
    selection: Selection<SimulatedSpec, usize>,
    pace: TruePace,
    specs: Vec<SimulatedSpec>,
    /// Relative deviation of each measurement.
    noise: f64,
    /// Interval in which another process takes part of the processor: of each slice or launch, at random.
    disturbed: std::ops::Range<f64>,
    /// Number of the launch that is stalled, since nothing of the process runs meanwhile, and for how long.
    stall: Option<(u64, f64)>,
    compile_time: f64,
    has_idle: bool,
    /// True if other processes take each processor that seems idle.
    is_starved: bool,
    clock: f64,
    seed: u64,
    /// Build that is under way, and when it ends.
    build: Option<(BuildRequest, f64)>,
    builds: usize,
    /// True time of all launches, and true excess over the better of both codes.
    run: f64,
    lost: f64,
    lost_to_builds: f64,
    largest_slice: f64,
    worst_launch: f64,
    settled: usize,
}

/// Choice of launches.
#[derive(Clone, Copy)]
struct Launches {
    items: u64,
    groups: u64,
    threads: usize,
}

impl Launches {
    fn class(&self) -> LaunchClass {
        LaunchClass::new(self.items, [64, 1, 1], true, self.threads)
    }
}

/// Launches of so many work-items in groups of 64 by one thread.
fn launches(items: u64) -> Launches {
    Launches { items, groups: items / 64, threads: 1 }
}

const COMPILE: f64 = 60e6;
const STALL: f64 = 4e6;

impl SimulatedKernel {
    fn new(promises: &[f64], pace: impl Fn(usize, f64) -> f64 + 'static) -> SimulatedKernel {
        SimulatedKernel::kept(promises, Vec::new(), Trials::On, pace)
    }

    fn kept(
        promises: &[f64],
        kept: Vec<KeptChoice>,
        trials: Trials,
        pace: impl Fn(usize, f64) -> f64 + 'static,
    ) -> SimulatedKernel {
        let spec = |(at, &promise): (usize, &f64)| SimulatedSpec { number: at + 1, promise };
        let first = SimulatedSpec { number: 0, promise: 1.0 };
        let time = Duration::from_nanos(COMPILE as u64);
        SimulatedKernel {
            selection: Selection::new(first, trials, time, kept),
            pace: Box::new(pace),
            specs: promises.iter().enumerate().map(spec).collect(),
            noise: 0.02,
            disturbed: 0.0..0.0,
            stall: None,
            compile_time: COMPILE,
            has_idle: true,
            is_starved: false,
            clock: 0.0,
            seed: 1,
            build: None,
            builds: 0,
            run: 0.0,
            lost: 0.0,
            lost_to_builds: 0.0,
            largest_slice: 0.0,
            worst_launch: 0.0,
            settled: 0,
        }
    }

    fn random(&mut self) -> f64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 40) as f64 / (1u64 << 24) as f64
    }

    /// Measured time of some work.
    fn measure(&mut self, time: f64) -> f64 {
        let noise = 1.0 + self.noise * (self.random() + self.random() + self.random() - 1.5) * 2.0;
        let stolen = match self.disturbed.contains(&self.clock) && self.random() < 0.5 {
            true => self.random() * (2.0 * time).max(3e6 * f64::from(u8::from(self.random() < 0.02))),
            false => 0.0,
        };
        let launches = self.selection.total().launches;
        let stalled = self.stall.take_if(|stall| stall.0 == launches).map_or(0.0, |stall| stall.1);
        let measured = time * noise + stolen + stalled;
        self.clock += measured;
        measured
    }

    fn launch(&mut self, size: Launches) -> f64 {
        if let Some((request, end)) = self.build.filter(|it| it.1 <= self.clock) {
            self.build = None;
            let time = if request.compiles { self.compile_time } else { 0.0 };
            self.lost_to_builds += time * request.weight();
            self.builds += usize::from(request.compiles);
            let ready = request.compiles.then(|| Arc::new(request.code));
            self.selection.end_build(request, Duration::from_nanos(time as u64), ready);
            assert!(end <= self.clock);
        }
        let specs = self.specs.clone();
        if let Some(code) = self.selection.open_class(size.class(), || specs) {
            self.selection.add_chosen_code(code, Some(Arc::new(code)));
        }
        let before = self.incumbent(size);
        let work = LaunchWork { items: size.items, groups: size.groups, threads: size.threads };
        let picked = self.selection.pick(&size.class(), &work);
        let own = picked.code.as_deref().copied().unwrap_or(0);
        let pace = |this: &Self, code| (this.pace)(code, this.clock);
        let (incumbent_pace, own_pace) = (pace(self, before), pace(self, own));
        let group_items = (size.items / size.groups) as f64;
        let mut times = LaunchTimes { items: size.items, ..LaunchTimes::default() };
        let (mut rest, mut true_time, mut loss) = (size.items as f64, 0.0, 0.0);
        if let Some((trial, code)) = &picked.slices {
            let candidate = code.as_deref().copied().unwrap_or(0);
            let items = trial.groups() as f64 * group_items;
            for number in (0..size.groups / (2 * trial.groups())).filter(|&it| trial.is_sampled(it)) {
                let Some(_) = trial.begin(number) else { continue };
                let paces = [own, candidate].map(|code| pace(self, code));
                let time = self.measure(items * paces[0]);
                let of_candidate = self.measure(items * paces[1]);
                trial.end(SlicePair {
                    paces: [time / items, of_candidate / items],
                    time: of_candidate,
                    items,
                });
                times.time += time + of_candidate;
                true_time += items * (paces[0] + paces[1]);
                loss += items * (paces[1] - paces[0]);
                self.largest_slice = self.largest_slice.max(items * paces[0].max(paces[1]));
                rest -= 2.0 * items;
            }
            times.slices = trial.take();
        }
        times.time += self.measure(rest * own_pace);
        true_time += rest * own_pace;
        if picked.slices.is_none() && own != before {
            loss += size.items as f64 * (own_pace - incumbent_pace);
            self.largest_slice = self.largest_slice.max(size.items as f64 * own_pace);
        } else {
            self.worst_launch = self.worst_launch.max(true_time / (size.items as f64 * incumbent_pace));
        }
        self.run += true_time;
        self.lost += loss.max(0.0);
        match self.selection.add_launch(picked.ticket, &times, || self.has_idle) {
            FollowUp::Nothing => {}
            FollowUp::Build(request) => {
                let time = if request.compiles { self.compile_time } else { 0.0 };
                // Where other processes leave no processor idle, only a build that the budget pays for ends.
                let is_starved = self.is_starved && !request.is_paid();
                self.build = Some((request, if is_starved { f64::INFINITY } else { self.clock + time }));
            }
            FollowUp::Settled(_) => self.settled += 1,
        }
        self.check();
        true_time
    }

    /// Asserts the budget, as the selection counts it and as it truly is.
    fn check(&self) {
        let total = self.selection.total();
        let is_disturbed = self.disturbed.end > self.disturbed.start && self.clock > self.disturbed.start;
        let (factor, stolen) = if is_disturbed { (4.0, 1e7) } else { (1.2, 0.0) };
        let slack = self.largest_slice * factor + stolen;
        assert!(
            total.lost <= 0.05 * total.run + slack,
            "counted {} of {}, slack {slack}",
            total.lost,
            total.run
        );
        let lost = self.lost + self.lost_to_builds;
        // Time that other processes take from launches counts as time run.
        let run = if is_disturbed { self.clock } else { self.run };
        assert!(lost <= 0.055 * run + slack, "lost {lost} of {run}, slack {slack}");
        // Compilations that promises repay: a first one may take longer than expected.
        assert!(total.invested <= (1.0 - self.best_promise()) * run + self.compile_time, "{total:?}");
    }

    fn best_promise(&self) -> f64 {
        self.specs.iter().fold(1.0, |best, it| it.promise.min(best))
    }

    fn incumbent(&self, size: Launches) -> usize {
        let classes = self.selection.classes();
        classes.iter().find(|it| it.0 == size.class()).map_or(0, |it| it.1)
    }

    /// Launches for so long.
    fn run_for(&mut self, seconds: f64, size: Launches) {
        let end = self.clock + seconds * 1e9;
        while self.clock < end {
            self.launch(size);
        }
    }

    /// Time of the incumbent, divided by that of the best code.
    fn gap(&self, size: Launches) -> f64 {
        let pace = |code| (self.pace)(code, self.clock);
        let best = (0..=self.specs.len()).map(pace).fold(f64::MAX, f64::min);
        pace(self.incumbent(size)) / best
    }
}

/// Sizes of launches from 10 us to 100 ms, of a kernel that takes a nanosecond for a work-item.
const SIZES: [u64; 5] = [10_240, 102_400, 1_024_000, 10_240_000, 102_400_000];
const PROMISES: [f64; 4] = [0.8, 0.9, 1.0, 2.0];

#[test]
fn the_best_code_is_found_within_the_budget() {
    for paces in [
        [1.0, 0.5, 0.8, 2.0, 12.0],
        [1.0, 12.0, 1.3, 0.95, 0.9],
        [1.0, 1.1, 1.2, 1.02, 3.0],
        [12.0, 20.0, 9.0, 1.0, 13.0],
    ] {
        for items in SIZES {
            for has_idle in [true, false] {
                let mut kernel = SimulatedKernel::new(&PROMISES, move |code, _| paces[code]);
                kernel.has_idle = has_idle;
                let size = launches(items);
                let launches = items as f64 * paces[0] * 40e-9;
                kernel.run_for(launches.max(if has_idle { 4.0 } else { 30.0 }), size);
                let gap = kernel.gap(size);
                assert!(gap < 1.03, "{paces:?}, {items} items: {gap}, {} builds", kernel.builds);
                assert!(kernel.worst_launch < 1.1, "{paces:?}, {items} items: {}", kernel.worst_launch);
            }
        }
    }
}

#[test]
fn few_launches_try_nothing() {
    for items in SIZES {
        for count in [1, 3] {
            let mut kernel = SimulatedKernel::new(&PROMISES, |code, _| [1.0, 0.5, 2.0, 2.0, 2.0][code]);
            (0..count).for_each(|_| _ = kernel.launch(launches(items)));
            assert_eq!((kernel.builds, kernel.lost), (0, 0.0), "{items} items");
        }
    }
}

#[test]
fn a_single_long_launch_loses_nothing_and_a_few_find_the_best() {
    // Launches of a second.
    let mut kernel = SimulatedKernel::new(&PROMISES, |code, _| [1.0, 1.4, 0.6, 2.0, 5.0][code]);
    let size = launches(1_024_000_000);
    kernel.launch(size);
    assert_eq!(kernel.builds, 0);
    (0..12).for_each(|_| _ = kernel.launch(size));
    assert!(
        kernel.gap(size) < 1.03 && kernel.worst_launch < 1.1,
        "{} {}",
        kernel.gap(size),
        kernel.worst_launch
    );
}

#[test]
fn launches_of_few_large_groups_are_compared_within_the_budget() {
    let mut kernel = SimulatedKernel::new(&PROMISES, |code, _| [1.0, 4.0, 0.6, 2.0, 5.0][code]);
    let size = Launches { items: 20_000_000, groups: 8, threads: 2 };
    kernel.run_for(30.0, size);
    assert!(kernel.gap(size) < 1.03, "{}", kernel.gap(size));
}

#[test]
fn a_change_of_behaviour_is_followed() {
    // Sorted data, then random data: the other code is best, and the incumbent becomes slower.
    let change = 5e9;
    for items in SIZES {
        let mut kernel = SimulatedKernel::new(&PROMISES, move |code, clock| match clock < change {
            true => [1.0, 0.5, 2.0, 2.0, 12.0][code],
            false => [4.0, 5.0, 9.0, 3.0, 2.0][code],
        });
        let size = launches(items);
        kernel.run_for(4.8, size);
        assert!(kernel.gap(size) < 1.03, "{items} items: {}, {} builds", kernel.gap(size), kernel.builds);
        let (lost, run) = (kernel.lost + kernel.lost_to_builds, kernel.run);
        kernel.run_for(10.0, size);
        assert!(kernel.gap(size) < 1.03, "{items} items: {}", kernel.gap(size));
        let share = (kernel.lost + kernel.lost_to_builds - lost) / (kernel.run - run);
        assert!(share < 0.05, "{items} items: {share}");
    }
}

#[test]
fn a_disturbance_does_not_flip_a_choice_for_good() {
    for seed in 1..=8 {
        for items in SIZES {
            let mut kernel = SimulatedKernel::new(&PROMISES, |code, _| [1.0, 0.8, 0.9, 2.0, 12.0][code]);
            kernel.seed = seed;
            // During the first examinations, and again later.
            kernel.disturbed = 0.1e9..1.5e9;
            let size = launches(items);
            kernel.run_for(6.0, size);
            assert!(kernel.gap(size) < 1.03, "{items} items, seed {seed}: {}", kernel.gap(size));
            kernel.disturbed = 6e9..7e9;
            kernel.run_for(8.0, size);
            assert!(kernel.gap(size) < 1.03, "{items} items, seed {seed}: {}", kernel.gap(size));
        }
    }
}

#[test]
fn a_stall_does_not_keep_a_class_open() {
    let paces = [1.0, 1.8, 1.9, 6.0, 12.0];
    for items in [10_240, 61_440, 1_024_000] {
        // Returns the numbers of the launches with which an examination goes on.
        let examined_launches = |stall| {
            let mut kernel = SimulatedKernel::new(&PROMISES, move |code, _| paces[code]);
            // The stall counts as lost if it is that of a candidate.
            (kernel.stall, kernel.largest_slice) = (Some((stall, STALL)), STALL);
            let mut examined = Vec::new();
            while kernel.settled == 0 && kernel.clock < 5e9 {
                if kernel.selection.state().classes.iter().any(|class| class.examination.is_some()) {
                    examined.push(kernel.selection.total().launches);
                }
                kernel.launch(launches(items));
            }
            assert!(kernel.settled > 0, "{items} items, launch {stall} is stalled");
            examined
        };
        let examined = examined_launches(u64::MAX);
        assert!(!examined.is_empty(), "{items} items");
        examined.into_iter().for_each(|stall| _ = examined_launches(stall));
    }
}

#[test]
fn a_class_settles_on_a_busy_machine() {
    for (items, seeds) in [(10_240, 100), (61_440, 100), (1_024_000, 8), (102_400_000, 2)] {
        for seed in 1..=seeds {
            let mut kernel = SimulatedKernel::new(&PROMISES, |code, _| [1.0, 1.8, 1.9, 2.0, 6.0][code]);
            (kernel.seed, kernel.disturbed) = (seed, 0.0..f64::MAX);
            let end = 30e9 + 200.0 * items as f64;
            while kernel.settled == 0 {
                assert!(kernel.clock < end, "{items} items, seed {seed}");
                kernel.launch(launches(items));
            }
        }
    }
}

#[test]
fn a_build_that_waits_for_an_idle_processor_is_overtaken() {
    let mut kernel = SimulatedKernel::new(&PROMISES, |code, _| [1.0, 0.8, 0.9, 2.0, 12.0][code]);
    kernel.is_starved = true;
    let size = launches(1_024_000);
    kernel.run_for(20.0, size);
    assert_eq!(kernel.settled, 1);
    assert!(kernel.gap(size) < 1.03);
}

#[test]
fn nothing_is_tried_again_while_the_pace_stays() {
    let mut kernel = SimulatedKernel::new(&PROMISES, |code, _| [1.0, 0.8, 0.9, 2.0, 12.0][code]);
    let size = launches(1_024_000);
    kernel.run_for(5.0, size);
    let lost = kernel.lost;
    assert_eq!(kernel.settled, 1);
    kernel.run_for(20.0, size);
    assert_eq!((kernel.lost, kernel.settled), (lost, 1));
}

#[test]
fn a_new_class_starts_with_the_nearest_choice() {
    let mut kernel = SimulatedKernel::new(&PROMISES, |code, _| [1.0, 0.5, 0.9, 2.0, 12.0][code]);
    kernel.run_for(5.0, launches(1_024_000));
    for items in [512_000, 2_048_000, 8_192_000] {
        kernel.launch(launches(items));
        assert_eq!(kernel.incumbent(launches(items)), 1);
    }
    let all = Launches { threads: 8, ..launches(1_024_000) };
    kernel.launch(all);
    assert_eq!(kernel.incumbent(all), 1);
    // An auto-tuner: one launch for each size.
    for octave in 8..24 {
        let items = 1 << octave;
        assert!(kernel.launch(launches(items)) <= items as f64 * 0.55);
    }
    // Many sizes, in launches that slices fit in.
    kernel.worst_launch = 0.0;
    (20..200).for_each(|step| _ = kernel.launch(launches(step * 64 * 500)));
    assert!(kernel.worst_launch < 1.1, "{}", kernel.worst_launch);
}

#[test]
fn a_second_process_starts_with_the_kept_choice() {
    let pace = |code: usize, _| [1.0, 0.5, 0.9, 2.0, 12.0][code];
    let size = launches(1_024_000);
    let mut kernel = SimulatedKernel::new(&PROMISES, pace);
    kernel.run_for(5.0, size);
    let kept = parse_choices(&print_choices(&kernel.selection.choices()));
    assert_eq!((kept.len(), kept[0].code), (1, 1));
    for trials in [Trials::Off, Trials::Kept, Trials::On] {
        let mut kernel = SimulatedKernel::kept(&PROMISES, kept.clone(), trials, pace);
        kernel.launch(size);
        assert_eq!(kernel.incumbent(size), usize::from(trials != Trials::Off));
        kernel.run_for(3.0, size);
        assert_eq!(kernel.incumbent(size), usize::from(trials != Trials::Off));
        // Other codes were far slower.
        assert_eq!(kernel.builds, 0);
    }
    // The machine or the data differ now: what was kept is examined as well.
    let mut kernel = SimulatedKernel::kept(&PROMISES, kept.clone(), Trials::On, |code, _| {
        [1.0, 1.5, 0.9, 2.0, 12.0][code]
    });
    kernel.run_for(5.0, size);
    assert!(kernel.gap(size) < 1.03);
    // The code is gone from the cache: the first code runs.
    let selection = Selection::<SimulatedSpec, usize>::new(
        SimulatedSpec { number: 0, promise: 1.0 },
        Trials::On,
        Duration::ZERO,
        kept,
    );
    let specs = kernel.specs.clone();
    assert_eq!(selection.open_class(size.class(), || specs), Some(1));
    selection.add_chosen_code(1, None);
    assert_eq!(selection.classes()[0].1, 0);
}

#[test]
fn a_code_that_cannot_be_compiled_is_no_candidate() {
    let selection = Selection::<SimulatedSpec, usize>::new(
        SimulatedSpec { number: 0, promise: 1.0 },
        Trials::On,
        Duration::from_millis(1),
        Vec::new(),
    );
    let size = launches(1_024_000);
    assert_eq!(selection.open_class(size.class(), || vec![SimulatedSpec { number: 1, promise: 0.5 }]), None);
    let work = LaunchWork { items: size.items, groups: size.groups, threads: 1 };
    let mut requested = Vec::new();
    for _ in 0..1000 {
        let picked = selection.pick(&size.class(), &work);
        assert!(picked.slices.is_none());
        let times = LaunchTimes { items: size.items, time: 1e6, ..LaunchTimes::default() };
        match selection.add_launch(picked.ticket, &times, || true) {
            FollowUp::Build(request) => {
                requested.push((request.code, request.compiles));
                selection.end_build(request, Duration::from_millis(1), None);
            }
            FollowUp::Settled(report) => assert!(report.others.is_empty()),
            FollowUp::Nothing => {}
        }
    }
    assert_eq!(requested, [(1, false), (1, true)]);
}

/// Seconds until a kernel runs code 1 without an idle processor; it promises half of the time.
fn time_to_promise(pace: f64, seconds: f64) -> Option<f64> {
    let mut kernel = SimulatedKernel::new(&[0.5], move |code, _| [1.0, pace][code]);
    kernel.has_idle = false;
    let size = launches(1_024_000);
    while kernel.clock < seconds * 1e9 {
        kernel.launch(size);
        if kernel.incumbent(size) == 1 {
            return Some(kernel.clock / 1e9);
        }
    }
    None
}

#[test]
fn clear_promises_are_compiled_once_they_repay_it() {
    // 1.5 times the first compilation's 60 ms is expected, and half of the time saved; the budget alone would take 1.8 s.
    let time = time_to_promise(0.5, 10.0).expect("it is chosen");
    assert!((0.18..0.5).contains(&time), "{time}");
    assert_eq!(time_to_promise(1.2, 10.0), None, "a broken promise is no choice");
}
