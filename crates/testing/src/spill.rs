//! Spills φs into private objects: a program that means the same, with its joins in memory.
//!
//! Generated programs seldom join anything in private memory. Spilled ones do at each join and each loop exit.

use heddle_ir::inst::Access;
use heddle_ir::{Detail, Function, Inst, InstData, Op, Type};

/// Spills the φs whose number satisfies `takes`; some of them share an object.
pub fn spill_phis(func: &mut Function, mut takes: impl FnMut(u32) -> bool) {
    let phis: Vec<Inst> = func
        .blocks()
        .flat_map(|block| func.phis(block).collect::<Vec<_>>())
        .filter(|&phi| func.inst(phi).shadow().is_none())
        .collect();
    let mut number = 0;
    let phis: Vec<Inst> = phis
        .into_iter()
        .filter(|&phi| {
            number += 1;
            func.result(phi).is_some_and(|result| !func.value_type(result).is_vector()) && takes(number)
        })
        .collect();
    for pair in phis.chunks(3) {
        let entry = func.entry();
        let data = InstData::new(Op::Alloca, [], Detail::Alloca { bytes: 48, align: 16 });
        let object = func.make_inst(data, &[Type::ptr(heddle_ir::Space::Private)]);
        let first = func.first_non_phi(entry).expect("a block has a terminator");
        func.layout.insert_inst_before(object, first);
        let object = func.result(object).expect("an alloca gives its address");
        for (offset, &phi) in (0..).step_by(16).zip(pair) {
            let offset = func.make_int(heddle_ir::Scalar::I64, offset);
            let address = func.make_inst(
                InstData::plain(Op::PtrAdd, [object, offset]),
                &[Type::ptr(heddle_ir::Space::Private)],
            );
            func.layout.insert_inst_before(address, first);
            let address = func.result(address).expect("a sum has a value");
            let access = Detail::Access(Access::aligned(1));
            let incoming: Vec<_> = func.inst(phi).incoming().collect();
            for (from, value) in incoming {
                let store = func.make_inst(InstData::new(Op::Store, [value, address], access.clone()), &[]);
                let terminator = func.terminator(from).expect("a block has a terminator");
                func.layout.insert_inst_before(store, terminator);
            }
            let block = func.layout.block_of(phi).expect("the φ stands in a block");
            let old = func.result(phi).expect("a φ has a value");
            let load = func.make_inst(InstData::new(Op::Load, [address], access), &[func.value_type(old)]);
            let new = func.result(load).expect("a load has a value");
            let place = func.first_non_phi(block).expect("a block has a terminator");
            func.layout.insert_inst_before(load, place);
            func.remove_inst(phi);
            func.map_values(|value| if value == old { new } else { value });
        }
    }
}
