//! Rules on dominance, predicates and stages.

use crate::Case;
use crate::samples::{
    V4, add_edge, append, block, data, inst, launching, looping, predicated, put, result, split, touch,
    touching, wide,
};
use heddle_ir::Stage::{Canonical, Linear, Source, Uniform, Wide};
use heddle_ir::inst::SwitchDetail;
use heddle_ir::module::FunctionKind;
use heddle_ir::words::{Flag, Flags};
use heddle_ir::{Detail, InstData, Op, Type, Value};

#[rustfmt::skip]
pub(crate) const CASES: &[Case] = &[
    Case { faults: &["NotDominated"], stage: Source, good: looping, edit: |f| {
        data(f, 3, 1).args[0] = result(f, 2, 0);        // another block
    } },
    Case { faults: &["NotDominated"], stage: Source, good: looping, edit: |f| {
        data(f, 2, 0).args[0] = result(f, 2, 0);        // itself
    } },
    Case { faults: &["NotDominated"], stage: Source, good: touching, edit: |f| {
        let object = inst(f, 0, 0);
        let last = inst(f, 0, 11);
        f.layout.remove_inst(object);
        f.layout.insert_inst_before(object, last);      // after its use
    } },
    Case { faults: &["NotDominated"], stage: Source, good: || {
        let mut f = touching();
        touch(&mut f, 9).base = Some(result(&f, 0, 0)); // a base is a use
        f
    }, edit: |f| {
        let object = InstData::new(Op::Alloca, [], Detail::Alloca { bytes: 1, align: 1 });
        put(f, 0, 11, object, None);
        touch(f, 9).base = Some(result(f, 0, 11));
    } },
    Case { faults: &["NotDominated"], stage: Source, good: || {
        let mut f = looping();
        let next = result(&f, 1, 1);
        data(&mut f, 3, 0).args.push(next);             // a shadow from above
        append(&mut f, InstData::jump(block(5)));       // and a loop that control never enters
        f
    }, edit: |f| data(f, 3, 0).args[2] = result(f, 3, 0) },
    Case { faults: &["NotDominated"], stage: Source, good: || {
        let mut f = looping();                          // unreachable: anything that is defined will do
        let more = result(&f, 2, 0);
        append(&mut f, InstData::plain(Op::Ret, [more]));
        f
    }, edit: |f| {
        let number = f.params()[1];
        put(f, 5, 0, InstData::plain(Op::Add, [number, number]), None);
        data(f, 4, 2).args[0] = result(f, 5, 0);
    } },
    Case { faults: &["IncomingNotDominated"], stage: Source, good: looping, edit: |f| {
        data(f, 3, 0).args[0] = result(f, 2, 0);
    } },
    Case { faults: &["IncomingNotDominated"], stage: Source, good: || {
        let mut f = looping();
        data(&mut f, 1, 0).args[1] = result(&f, 1, 0);   // its own value, by the latch
        f
    }, edit: |f| data(f, 1, 0).args[0] = result(f, 1, 0) },

    // Predicates.
    Case { faults: &["Undefined"], stage: Linear, good: predicated, edit: |f| {
        f.set_predicate(block(2), Some(Value::from_u32(99)));
    } },
    Case { faults: &["PredicateType"], stage: Linear, good: predicated, edit: |f| {
        f.set_predicate(block(2), Some(f.params()[1]));
    } },
    Case { faults: &["PredicateNotDominated"], stage: Linear, good: predicated, edit: |f| {
        f.set_predicate(block(0), Some(result(f, 1, 1)));
    } },
    Case { faults: &["PredicateBehindPassive"], stage: Linear, good: predicated, edit: |f| {
        data(f, 1, 1).flags = Flags::NONE;
    } },
    Case { faults: &["PredicateBehindPassive"], stage: Linear, good: predicated, edit: |f| {
        data(f, 1, 2).flags = Flags::NONE;
    } },
    Case { faults: &["PredicateBehindPassive"], stage: Source, good: || {
        let mut f = predicated();                       // a φ may come before, and may be the predicate
        let flag = f.params()[2];
        let phi = f.make_inst(InstData::phi([(block(0), flag)], None), &[Type::I1]);
        f.layout.prepend_inst(phi, block(1));
        f.set_predicate(block(1), Some(f.results(phi)[0]));
        f
    }, edit: |f| {
        let mask = put(f, 1, 3, InstData::plain(Op::Mask, []), None);
        f.set_predicate(block(1), Some(f.results(mask)[0]));
    } },

    // Stages.
    Case { faults: &["EarlyVector"], stage: Source, good: looping, edit: |f| {
        let number = f.params()[1];
        put(f, 2, 0, InstData::plain(Op::Splat, [number]), Some(V4));
    } },
    Case { faults: &["EarlyVector"], stage: Linear, good: predicated, edit: |f| *f = wide() },
    Case { faults: &["EarlyPredicate"], stage: Canonical, good: looping, edit: |f| {
        f.set_predicate(block(2), Some(f.params()[2]));
    } },
    Case { faults: &["EarlyPredicate"], stage: Uniform, good: looping, edit: |f| {
        f.set_predicate(block(0), Some(f.params()[2]));
    } },
    Case { faults: &["Unreachable"], stage: Canonical, good: looping, edit: |f| {
        append(f, InstData::plain(Op::Unreachable, []));
    } },
    Case { faults: &["Unreachable"], stage: Linear, good: predicated, edit: |f| {
        append(f, InstData::plain(Op::Unreachable, []));
    } },
    Case { faults: &["Irreducible"], stage: Linear, good: looping, edit: |f| {
        add_edge(f, 2, 4);
        let number = f.params()[1];
        data(f, 4, 0).args[1] = number;
        add_edge(f, 0, 3);
    } },
    Case { faults: &["SecondReturn"], stage: Linear, good: || {
        let mut f = looping();
        let end = append(&mut f, InstData::plain(Op::Unreachable, []));
        add_edge(&mut f, 2, end.as_u32());
        f
    }, edit: |f| {
        let number = f.params()[1];
        *data(f, 5, 0) = InstData::plain(Op::Ret, [number]);
    } },
    Case { faults: &["SwitchLeft"], stage: Canonical, good: looping, edit: |f| {
        let switch = SwitchDetail { cases: vec![0], targets: vec![block(3), block(3)] };
        *data(f, 2, 1) = InstData::new(Op::Switch, [f.params()[1]], Detail::Switch(Box::new(switch)));
    } },
    Case { faults: &["Preheaders"], stage: Canonical, good: looping, edit: |f| {
        let one = split(f, 0, 1);
        add_edge(f, 0, 5);
        let two = append(f, InstData::jump(one));
        data(f, 0, 1).targets_mut()[1] = two;
        data(f, 6, 0).targets_mut()[0] = block(1);
        let phi = inst(f, 1, 0);
        let (number, joined) = (f.params()[1], result(f, 3, 0));
        *f.inst_mut(phi) = InstData::phi([(one, number), (two, number), (block(3), joined)], None);
    } },
    Case { faults: &["PreheaderBranches"], stage: Canonical, good: looping, edit: |f| {
        let end = append(f, InstData::plain(Op::Unreachable, []));
        add_edge(f, 0, end.as_u32());
    } },
    Case { faults: &["Latches"], stage: Canonical, good: looping, edit: |f| {
        add_edge(f, 2, 1);
        let next = result(f, 1, 1);
        data(f, 1, 0).args[2] = next;
    } },
    Case { faults: &["SharedExit"], stage: Uniform, good: looping, edit: |f| {
        let around = split(f, 0, 1);
        add_edge(f, 0, 4);
        data(f, 0, 1).targets_mut()[0] = around;
    } },
    Case { faults: &["NotClosed"], stage: Canonical, good: looping, edit: |f| {
        data(f, 4, 1).args[0] = result(f, 3, 0);
    } },
    Case { faults: &["NotClosed"], stage: Canonical, good: looping, edit: |f| {
        let (joined, number) = (result(f, 3, 0), f.params()[1]);
        *data(f, 4, 0) = InstData::phi([(block(3), number)], Some(joined));  // a shadow is used in the φ's block
    } },
    Case { faults: &["OneThread"], stage: Wide, good: wide, edit: |f| {
        data(f, 0, 0).flags = data(f, 0, 0).flags.with(Flag::Total);
    } },
    Case { faults: &["OneThread"], stage: Wide, good: wide, edit: |f| {
        let yes = f.make_bool(true);
        f.set_predicate(block(0), Some(yes));
    } },
    Case { faults: &["OneThread"], stage: Wide, good: wide, edit: |f| {
        put(f, 0, 0, InstData::new(Op::Lane, [], Detail::Dimension(None)), Some(Type::I32));
    } },
    Case { faults: &["OneThread"], stage: Wide, good: wide, edit: |f| {
        let yes = f.make_bool(true);
        put(f, 0, 0, InstData::plain(Op::Any, [yes]), None);
    } },
    Case { faults: &["OneThread"], stage: Source, good: launching, edit: |f| {
        put(f, 0, 0, InstData::plain(Op::Mask, []), None);
    } },
    Case { faults: &["OneThread"], stage: Linear, good: launching, edit: |f| {
        data(f, 0, 1).flags = data(f, 0, 1).flags.with(Flag::Total);
    } },
    Case { faults: &["OneThread"], stage: Wide, good: looping, edit: |f| {
        let number = f.params()[1];
        data(f, 3, 0).args.push(number);
    } },
    Case { faults: &["LateLaunch"], stage: Wide, good: wide, edit: |f| *f = launching() },
    Case { faults: &["LaunchInKernel"], stage: Source, good: || {
        let mut f = launching();
        f.signature.results.clear();
        data(&mut f, 0, 3).args.clear();
        f
    }, edit: |f| f.kind = FunctionKind::Kernel(None) },
];
