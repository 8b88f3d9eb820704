//! Which private objects one copy serves, and which become an array with one object for each lane.

use super::Refusal;
use heddle_analysis::Divergence;
use heddle_ir::entity::{EntitySet, SecondaryMap};
use heddle_ir::inst::Detail;
use heddle_ir::verify::MAX_ALLOCA_BYTES;
use heddle_ir::{Function, Inst, Op};

/// What becomes of private objects.
#[derive(Debug, Default)]
pub(super) struct Objects {
    strides: SecondaryMap<Inst, u64>,
    /// Whether addresses of objects are kept in memory. Then no object is shared: the addresses in it differ.
    pub(super) are_kept: bool,
}

impl Objects {
    /// Decides for every object.
    pub(super) fn new(func: &Function, facts: &Divergence, lanes: u32) -> Result<Objects, Refusal> {
        let allocas: Vec<Inst> = func
            .blocks()
            .flat_map(|block| func.block_insts(block))
            .filter(|&inst| func.inst(inst).op == Op::Alloca)
            .collect();
        let mut this = Objects { are_kept: are_kept(func, &allocas), ..Objects::default() };
        for inst in allocas {
            if facts.object(inst).is_some() && !this.are_kept {
                continue;
            }
            let Detail::Alloca { bytes, align } = func.inst(inst).detail else { continue };
            let stride = bytes.next_multiple_of(align.into());
            if stride.checked_mul(lanes.into()).is_none_or(|all| all > MAX_ALLOCA_BYTES) {
                let reason =
                    format!("{lanes} private objects of {bytes} bytes, one a lane, are too large together");
                return Err(Refusal::at(func, inst, reason));
            }
            this.strides[inst] = stride;
        }
        Ok(this)
    }

    /// How many bytes the object of a lane lies behind that of the lane before; 0 if they share one.
    pub(super) fn stride(&self, alloca: Inst) -> u64 {
        self.strides[alloca]
    }
}

/// Whether an address that depends on one of these objects may be written to memory or be made from a number.
fn are_kept(func: &Function, allocas: &[Inst]) -> bool {
    let mut derived = EntitySet::new();
    allocas.iter().flat_map(|&inst| func.results(inst)).for_each(|&value| _ = derived.insert(value));
    if derived.is_empty() {
        return false;
    }
    let mut changed = true;
    while changed {
        changed = false;
        for inst in func.blocks().flat_map(|block| func.block_insts(block)) {
            let data = func.inst(inst);
            let follows = matches!(
                data.op,
                Op::PtrAdd | Op::Phi | Op::Select | Op::Freeze | Op::SpaceCast | Op::Ptrtoint | Op::Inttoptr
            );
            if follows && data.args.iter().any(|&arg| derived.contains(arg)) {
                changed |= func.results(inst).iter().fold(false, |new, &it| derived.insert(it) || new);
            }
        }
    }
    func.blocks().flat_map(|block| func.block_insts(block)).any(|inst| {
        let data = func.inst(inst);
        match data.op {
            Op::Store => derived.contains(data.args[0]),
            Op::AtomicRmw | Op::CompareExchange => data.args[1..].iter().any(|&arg| derived.contains(arg)),
            Op::Call => data.args.iter().any(|&arg| derived.contains(arg)),
            _ => false,
        }
    })
}
