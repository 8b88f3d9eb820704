//! One broken rule at a time: the function verifies before the edit and has exactly these violations after it.
#![forbid(unsafe_code)]

mod samples;
mod structure;
mod types;
mod flow;
mod modules;

use Stage::{Canonical, Linear, Source, Uniform, Wide};
use heddle_ir::entity::Entity as _;
use heddle_ir::inst::Access;
use heddle_ir::module::FunctionKind;
use heddle_ir::verify::{Violation, ViolationKind, ViolationLocation, verify, verify_module};
use heddle_ir::words::{Flag, Flags};
use heddle_ir::{Block, Detail, Function, InstData, Op, Stage};
use samples::{append, block, data, inst, launching, looping, predicated, region, wide};
use std::collections::BTreeSet;

/// An edit that breaks rules of a valid function.
struct Case {
    faults: &'static [&'static str],
    stage: Stage,
    good: fn() -> Function,
    edit: fn(&mut Function),
}

/// All cases of functions.
fn cases() -> impl Iterator<Item = &'static Case> {
    [structure::CASES, types::CASES, flow::CASES].into_iter().flatten()
}

fn names<'a>(violations: impl IntoIterator<Item = &'a Violation>) -> BTreeSet<String> {
    let name = |fault: &ViolationKind| {
        let text = format!("{fault:?}");
        text.chars().take_while(|c| c.is_alphanumeric()).collect()
    };
    violations.into_iter().map(|violation| name(&violation.kind)).collect()
}

fn expected(faults: &[&str]) -> BTreeSet<String> {
    faults.iter().map(|fault| fault.to_string()).collect()
}

#[test]
fn each_rule_is_enforced_where_it_is_broken_and_only_there() {
    for (index, case) in cases().enumerate() {
        let mut func = (case.good)();
        if let Err(violations) = verify(&func, case.stage) {
            panic!("case {index}, {:?}, before the edit: {violations}", case.faults);
        }
        (case.edit)(&mut func);
        let Err(violations) = verify(&func, case.stage) else {
            panic!("case {index}: {:?} at stage {} is not noticed", case.faults, case.stage);
        };
        assert_eq!(names(&violations), expected(case.faults), "case {index}: {violations}");
    }
}

#[test]
fn each_rule_of_modules_is_enforced() {
    verify_module(&modules::module(), Source).unwrap();
    for (index, (faults, edit)) in modules::CASES.iter().enumerate() {
        let mut module = modules::module();
        edit(&mut module);
        let Err(violations) = verify_module(&module, Source) else {
            panic!("case {index}: {faults:?} is not noticed");
        };
        let found = names(&violations);
        let wanted = expected(faults);
        assert!(wanted.is_subset(&found), "case {index}: {violations}");
        // Lock-step code that reaches a launch also has vectors at a stage without them.
        assert!(wanted == found || wanted.contains("NestedLaunch"), "case {index}: {violations}");
    }
}

macro_rules! variants {
    ($($variant:ident)*) => {
        const VARIANTS: &[&str] = &[$(stringify!($variant)),*];
        /// Does not compile while a variant is missing above.
        #[expect(dead_code)]
        fn is_complete(fault: ViolationKind) {
            match fault { $(ViolationKind::$variant { .. } => {})* }
        }
    };
}

variants! {
    NoEntry UnknownBlock UnknownInst EntryPredecessor EntryPhi NoTerminator TerminatorInside PhiNotAtStart
    UnplacedTarget PhiStranger PhiTwice PhiMissing SwitchTwice Undefined UnknownOrigin
    ParamCount ParamType Signature Kernel
    Type Results Return Lanes Constant Flag FloatFlag Align Base NotAtomic CannotBeAtomic Ordering AtomicType
    AtomicAlign BarrierScope WritesConstant WritesInvariant AllocaBytes FloatClasses Weights LaunchedVector
    NotDominated IncomingNotDominated
    PredicateType PredicateNotDominated PredicateBehindPassive
    EarlyVector EarlyPredicate Unreachable Irreducible SecondReturn SwitchLeft Preheaders
    PreheaderBranches Latches SharedExit NotClosed OneThread LateLaunch LaunchInKernel
    NameTwice NoName UnknownFunction Differs Declaration UnknownGlobal GlobalSpace Global UnknownFile NestedLaunch
    Convergent
}

#[test]
fn every_fault_has_a_case() {
    let cases = cases().map(|case| case.faults).chain(modules::CASES.iter().map(|(faults, _)| *faults));
    let shown: BTreeSet<&str> = cases.flatten().copied().collect();
    let missing: Vec<_> = VARIANTS.iter().filter(|variant| !shown.contains(*variant)).collect();
    assert!(missing.is_empty(), "no case breaks {missing:?}");
}

#[test]
fn what_is_fine_at_its_stages_is_fine() {
    for stage in [Source, Canonical, Uniform, Linear] {
        verify(&looping(), stage).unwrap();
        verify(&launching(), stage).unwrap();
        verify(&region(), stage).unwrap();
    }
    for stage in [Source, Linear] {
        verify(&predicated(), stage).unwrap();
    }
    verify(&wide(), Wide).unwrap();
    verify(&looping(), Wide).unwrap();
    // A second edge to one block is one predecessor.
    let mut func = looping();
    let flag = func.params()[2];
    *data(&mut func, 2, 1) = InstData::branch(flag, block(3), block(3));
    *data(&mut func, 0, 1) = InstData::branch(flag, block(1), block(1));
    verify(&func, Canonical).unwrap();
    // A kernel may be called like any function.
    let mut module = modules::module();
    modules::add_caller(&mut module, "k", FunctionKind::Kernel(None), 1);
    modules::add_caller(&mut module, "g", FunctionKind::Function, 2);
    verify_module(&module, Source).unwrap();
}

#[test]
fn all_violations_are_reported_in_layout_order() {
    let mut func = looping();
    func.signature.params[0].align = 0;
    data(&mut func, 2, 0).flags = Flags::of(&[Flag::Exact, Flag::Volatile]);
    data(&mut func, 0, 0).detail = Detail::Access(Access::aligned(7));
    append(&mut func, InstData::plain(Op::Unreachable, []));
    let violations = verify(&func, Canonical).unwrap_err();
    let locations: Vec<ViolationLocation> = violations.iter().map(|violation| violation.location).collect();
    let (load, add) = (inst(&func, 0, 0), inst(&func, 2, 0));
    let expected = [
        ViolationLocation::Function,
        ViolationLocation::Inst(block(0), load),
        ViolationLocation::Inst(block(2), add),
        ViolationLocation::Inst(block(2), add),
        ViolationLocation::Block(block(5)),
    ];
    assert_eq!(locations, expected, "{violations}");
    let text = "\
5 violations at stage canonical:
func @f(v0: ptr(global) align 0, v1: i32, v2: i1) -> i32 {
; ^ parameter 0: its alignment is not a power of two
block0:
  v4 = load i32, v0 align 7
  ; ^ an alignment is a power of two, not 7
  br block1
block1:
";
    assert!(violations.to_string().starts_with(text), "{violations}");
    assert!(
        violations.to_string().ends_with("block5:\n; ^ unreachable block\n  unreachable\n}"),
        "{violations}"
    );
}

#[test]
fn stages_are_words() {
    for stage in Stage::ALL {
        assert_eq!(Stage::from_name(&stage.to_string()), Some(*stage));
    }
    assert_eq!(Stage::from_name("linear"), Some(Linear));
    assert_eq!(Block::new(0), block(0));
}
