//! PTX on hardware against the oracle: `./x gpu`. LD_LIBRARY_PATH may name another CUDA driver.

use crate::builds::tool;
use crate::run::{XtaskResult, at, pass, program, target};
use std::fs;

/// `./x gpu`
pub(crate) fn gpu(is_timed: bool) -> XtaskResult {
    let folder = target().join("gpu");
    at(&folder, fs::create_dir_all(&folder))?;
    let file = folder.join(if is_timed { "timed.jsonl" } else { "cases.jsonl" });
    let timed = is_timed.then_some("--timed");
    pass(tool("gpu")?.arg("export").arg(&file).args(timed))?;
    let mut script = program("python3", ["tests/cuda/gpu.py"]);
    pass(script.args(timed).arg(&file).arg("--out").arg(&folder))?;
    if is_timed { Ok(()) } else { pass(&mut program("python3", ["tests/cuda/gpu_textures.py"])) }
}
