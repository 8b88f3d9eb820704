//! Marks stores to several rows whose loop goes on to write what follows them, so that code fetches those lines.
//!
//! Requires: Stage::Wide.  Ensures: Stage::Wide.
//! Invariant: only the flag `ahead` is added, which is a hint.
//!
//! ```text
//!     for i in steps of 8                      for i in steps of 8
//!       store v4, b + i              ──►         store ahead v4, b + i
//!       store v5, b + n + i                      store ahead v5, b + n + i
//! ```
//!
//! A loop that writes one row has its lines fetched by the hardware. One that alternates between several rows waits for the second-level
//! cache at each line. Decision: only stores, and only of several rows. A 5-point stencil of doubles by hand (Sapphire Rapids, AVX-512, four
//! rows at a time, busy machine, least of 20) took 389 ps for a point of 128x256, and 206 with prefetches; 727 and 544 at
//! 512x512; 159 and 164 in the first-level cache. With a single row it took 258 and 297 at 256x256.

use crate::induction::find_induction;
use crate::widen::AddressPolynomial;
use heddle_analysis::{Cfg, Cycle, CycleForest};
use heddle_ir::words::Flag;
use heddle_ir::{Function, Inst, Module, Op, Value};
use rustc_hash::FxHashMap;

/// Minimum number of rows that a loop writes.
const LEAST_ROWS: usize = 2;

/// Marks stores of innermost loops that write several rows. Returns their number.
pub fn fetch_rows_ahead(module: &mut Module) -> usize {
    module.functions.iter_mut().map(fetch_rows_ahead_of).sum()
}

fn fetch_rows_ahead_of(func: &mut Function) -> usize {
    let forest = CycleForest::new(&Cfg::new(func));
    let innermost = forest.cycles().filter(|&cycle| forest.children(cycle).is_empty());
    let found: Vec<Inst> = innermost.flat_map(|cycle| row_stores(func, &forest, cycle)).collect();
    for &inst in &found {
        let data = func.inst_mut(inst);
        data.flags = data.flags.with(Flag::Ahead);
    }
    found.len()
}

/// Stores of whole rows in a loop whose next iteration writes what follows; none if they are of too few rows.
fn row_stores(func: &Function, forest: &CycleForest, cycle: Cycle) -> Vec<Inst> {
    let inside = |block| forest.contains(cycle, block);
    let inductions = func.phis(forest.header(cycle)).filter_map(|phi| find_induction(func, phi, inside));
    let steps: FxHashMap<Value, i128> = inductions
        .filter_map(|induction| Some((induction.value, func.signed_constant(induction.step)?)))
        .collect();
    let insts = forest.blocks(cycle).iter().flat_map(|&block| func.block_insts(block));
    let stores: Vec<Inst> = insts
        .filter(|&inst| {
            stored_bytes(func, inst)
                .is_some_and(|(address, bytes)| step_of(func, address, &steps, inside) == Some(bytes))
        })
        .collect();
    if stores.len() < LEAST_ROWS { Vec::new() } else { stores }
}

/// Address and size of a plain store of a vector.
fn stored_bytes(func: &Function, inst: Inst) -> Option<(Value, i128)> {
    let data = func.inst(inst);
    let (Op::Store | Op::MaskedStore, &[stored, address, ..]) = (data.op, &data.args[..]) else {
        return None;
    };
    let ty = func.value_type(stored);
    let is_plain = !data.flags.has(Flag::Volatile) && !data.flags.has(Flag::Nontemporal);
    (is_plain && ty.is_vector()).then(|| (address, i128::from(ty.bytes())))
}

/// Distance of an address from that of the iteration before; none if it is not a constant.
fn step_of(
    func: &Function,
    address: Value,
    steps: &FxHashMap<Value, i128>,
    inside: impl Fn(heddle_ir::Block) -> bool,
) -> Option<i128> {
    let is_inside =
        |value: Value| func.def_inst(value).and_then(|inst| func.layout.block_of(inst)).is_some_and(&inside);
    let mut sum = 0i128;
    for (factors, times) in AddressPolynomial::new(func, address).terms() {
        match &factors[..] {
            [value] if steps.contains_key(value) => {
                sum += steps[value].checked_mul(i128::from(times as i64))?
            }
            _ if factors.iter().any(|&value| is_inside(value)) => return None,
            _ => {}
        }
    }
    Some(sum)
}
