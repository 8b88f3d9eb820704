//! Functions as native vector code.

use heddle_compiler::math::{Accuracy, MathFunction};
use heddle_compiler::{Artifact, BrushExtents, Session, VectorizeRequest};
use heddle_ir::text::parse_module;
use heddle_ir::{Code, Module, Type};
use heddle_llvm::{CodegenLevel, Cpu, EmitOptions, Jit, OptimizeOptions, emit, optimize, slot_bytes};
use heddle_transform::TargetInfo;

/// A module with one function that calls another.
pub(crate) fn caller(own: &MathFunction) -> Module {
    let ty = if own.ty == Type::F32 { "f32" } else { "f64" };
    let types = vec![ty; own.params].join(", ");
    let params: Vec<String> = (0..own.params).map(|index| format!("v{index}: {ty}")).collect();
    let args: Vec<String> = (0..own.params).map(|index| format!("v{index}")).collect();
    let text = format!(
        "declare @{name}({types}) -> {ty} pure\nfunc @f({params}) -> {ty} {{\nblock0:\n  v9 = call @{name}({args})\n  ret v9\n}}\n",
        name = own.name,
        params = params.join(", "),
        args = args.join(", ")
    );
    parse_module(&text).unwrap_or_else(|messages| panic!("{}\n{text}", messages[0]))
}

/// A function as native vector code.
pub(crate) struct Wide {
    jit: Jit,
    name: String,
    lanes: usize,
    ty: Type,
}

impl Wide {
    pub(crate) fn new(module: Module, name: &str, lanes: usize, accuracy: Accuracy) -> Wide {
        let ty = module.function(name).expect("it is there").signature.results[0].ty;
        let mut session = Session::default();
        (session.options.math, session.options.target) = (Some(accuracy), TargetInfo::default());
        let request = VectorizeRequest::new(name, BrushExtents::new(&[lanes as u32]).expect("it is a brush"));
        let made = session.vectorize(module, &request).unwrap_or_else(|error| panic!("{error}"));
        let Artifact { module, wide, report, .. } = made;
        let serialized = report.remarks.iter().find(|message| message.code == Code::LaneByLane);
        assert_eq!(serialized, None);
        let options = EmitOptions { entries: true, ..EmitOptions::default() };
        let llvm = emit(&module, options).unwrap_or_else(|error| panic!("{error}\n{module}"));
        optimize(&llvm, &Cpu::host(), OptimizeOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        let jit = Jit::new(llvm, CodegenLevel::Default, &[]).unwrap_or_else(|error| panic!("{error}"));
        Wide { jit, name: wide, lanes, ty }
    }

    /// The bits of the results for the bits of each parameter.
    pub(crate) fn call(&self, columns: &[Vec<u64>]) -> Vec<u64> {
        let entry = self.jit.entry(&self.name).unwrap_or_else(|error| panic!("{error}"));
        let size = if self.ty == Type::F32 { 4 } else { 8 };
        let slot = slot_bytes(Type::Vector(self.ty.scalar(), self.lanes as u16));
        let mut results = Vec::with_capacity(columns[0].len());
        let mut out = vec![0; slot];
        for first in (0..columns[0].len()).step_by(self.lanes) {
            let mut arguments = Vec::with_capacity(slot * columns.len());
            for column in columns {
                let start = arguments.len();
                for lane in 0..self.lanes {
                    let bits = column.get(first + lane).copied().unwrap_or(0);
                    arguments.extend_from_slice(&bits.to_le_bytes()[..size]);
                }
                arguments.resize(start + slot, 0);
            }
            // SAFETY: functions of numbers have no undefined behaviour; both slices are made of whole slots.
            unsafe { entry.call(&arguments, &mut out) };
            for lane in 0..self.lanes.min(columns[0].len() - first) {
                let mut bytes = [0; 8];
                bytes[..size].copy_from_slice(&out[lane * size..][..size]);
                results.push(u64::from_le_bytes(bytes));
            }
        }
        results
    }
}
