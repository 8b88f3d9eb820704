//! Vector code of outlined loops.

use heddle::llvm::{Cpu, LlvmModule, read_ir};
use heddle::transform::Promises;
use heddle::{Failure, LoopLanes, LoopRequest, Session, VectorLoop};

/// What is asked for: an outlined loop, the machine of its function, what its pragma says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Request {
    pub(crate) name: String,
    pub(crate) cpu: String,
    pub(crate) features: String,
    /// How many iterations may run together at most; 0 if nothing is said.
    pub(crate) width: u32,
    pub(crate) is_parallel: bool,
}

impl Request {
    /// A number at a loop without dependences is wanted (`simdlen`), any other is a bound (`safelen`).
    fn lanes(&self) -> LoopLanes {
        match (self.width, self.is_parallel) {
            (0, _) => LoopLanes::Auto,
            (width, true) => LoopLanes::Exactly(width),
            (width, false) => LoopLanes::AtMost(width),
        }
    }
}

/// What became of a loop: code, and what is said of it.
pub(crate) type Made = Result<(VectorLoop, String), String>;

/// Vector code of each loop that is asked for, or why there is none.
pub(crate) fn vectorize_loops(bitcode: &[u8], requests: &[Request]) -> Vec<Made> {
    let session = |request: &Request, llvm: &LlvmModule| {
        let name = if request.cpu.is_empty() { "x86-64".into() } else { request.cpu.clone() };
        Session::new(Cpu { name, features: request.features.clone(), triple: Some(llvm.triple()) })
    };
    let read = read_ir("the module", bitcode).map_err(|reason| reason.to_string());
    let imported = read.and_then(|llvm| {
        let any = Session::default().import(llvm, "the module");
        any.map_err(|failure| in_words(&failure))
    });
    let source = match imported {
        Ok(source) => source,
        Err(reason) => return requests.iter().map(|_| Err(reason.clone())).collect(),
    };
    let one = |request: &Request| {
        let Some(llvm) = source.llvm.as_ref().filter(|_| !request.name.is_empty()) else {
            return Err("it is not asked for".to_string());
        };
        let Request { name, is_parallel, .. } = request;
        let promises = Promises { is_parallel: *is_parallel };
        let asked = LoopRequest { func: name.clone(), lanes: request.lanes(), promises };
        let made = session(request, llvm).vectorize_loop(&source, &asked);
        made.map(|made| {
            let remark = remark(&made);
            (made, remark)
        })
        .map_err(|failure| in_words(&failure))
    };
    requests.iter().map(one).collect()
}

fn remark(made: &VectorLoop) -> String {
    let mut text = format!("loop vectorized: {} iterations at a time", made.lanes);
    if made.interleaved > 1 {
        text += &format!(", in {} vectors side by side", made.interleaved);
    }
    text
}

/// What a failure says, without the names of functions that nobody wrote.
fn in_words(failure: &Failure) -> String {
    let one = |told: &heddle::ir::Diagnostic| {
        let mut text = told.text.clone();
        if told.place.line > 0 {
            text += &format!(" (line {})", told.place.line);
        }
        if !told.way_out.is_empty() {
            text += &format!("; {}", told.way_out);
        }
        text
    };
    failure.diagnostics.iter().map(one).collect::<Vec<_>>().join("; ")
}
