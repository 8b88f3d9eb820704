//! Tables that LLVM makes at its first compilation in a process, and destroys at the process's end.
//!
//! LLVM registers their destructors when it makes them. A function of `atexit` that has to run before these is registered afterwards. The
//! first compilation is long, so a small function is compiled before it: the tables are made within milliseconds.

use crate::compiler_threads::while_waiting;
use crate::{CodegenLevel, compile_host_object, read_ir};
use heddle_ir::Diagnostic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Function with types that no machine has, which have a table of their own.
const PROGRAM: &str = "\
define void @tables(ptr %p) {
  %a = load <3 x i17>, ptr %p
  %b = load i24, ptr %p
  %c = add <3 x i17> %a, %a
  %d = add i24 %b, %b
  store <3 x i17> %c, ptr %p
  store i24 %d, ptr %p
  ret void
}
";

static MADE: Once = Once::new();

/// Makes LLVM's tables by a small compilation, once in a process. Calls `done` after that, before another thread compiles.
pub fn make_lazy_tables(done: fn()) {
    static IS_TAKEN: AtomicBool = AtomicBool::new(false);
    if MADE.is_completed() {
        return;
    }
    if IS_TAKEN.swap(true, Ordering::SeqCst) {
        return while_waiting(|| MADE.wait());
    }
    MADE.call_once(|| {
        // The tables are there also if the program is refused.
        let _ = compile();
        done();
    });
}

fn compile() -> Result<Vec<u8>, Diagnostic> {
    compile_host_object(&read_ir("tables", PROGRAM.as_bytes())?, CodegenLevel::Default)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_program_compiles() {
        super::compile().expect("it compiles");
    }
}
