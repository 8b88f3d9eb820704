//! Mathematical and integer functions of OpenCL C against true values: `./x math`.

use crate::builds::build_installed;
use crate::run::{XtaskResult, at, pass, program, release, target, tee, write};
use clap::Args;
use std::fs;

/// Arguments of `./x math`.
#[derive(Args, Debug)]
pub(crate) struct MathArguments {
    /// Functions and operators: `sin`, `lgamma_r`, `x / y`; default: all
    #[arg(value_name = "FUNCTION")]
    functions: Vec<String>,
    /// Number of random arguments of each function and type, also 1e8
    #[arg(long, value_name = "N", default_value = "1e6", value_parser = parse_count)]
    numbers: u64,
    /// Seed of the random arguments
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Type of the elements; default: all three
    #[arg(long, value_parser = ["half", "float", "double"])]
    r#type: Option<String>,
    /// Number of elements, 1 for scalars; default: scalars, and some vectors
    #[arg(long, value_parser = ["1", "2", "3", "4", "8", "16"])]
    width: Option<String>,
    /// Check integer functions, operators and shuffles instead: all types and widths
    #[arg(long, conflicts_with_all = ["functions", "type", "width"])]
    integers: bool,
    /// Replace functions by wrong ones, each of which has to be found
    #[arg(long)]
    faults: bool,
}

/// Reads a whole number, which may be written as a power of ten.
fn parse_count(text: &str) -> Result<u64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_string())?;
    let is_count = (0.0..1e18).contains(&number) && number.fract() == 0.0;
    if is_count { Ok(number as u64) } else { Err("not a whole number".into()) }
}

/// `./x math`
pub(crate) fn math(arguments: &MathArguments) -> XtaskResult {
    build_installed()?;
    let folder = target().join("math");
    let name = if arguments.integers { "integers" } else { "math" };
    let (vendors, tests) = (folder.join("vendors"), folder.join(name));
    at(&folder, fs::create_dir_all(&folder))?;
    write(&vendors.join("heddle.icd"), format!("{}\n", release().join("libheddle_opencl.so").display()))?;
    // A contracted reference would not be rounded where the kernel has to be.
    let mut cc = program("cc", ["-std=gnu11", "-O2", "-ffp-contract=off", &format!("tests/opencl/{name}.c")]);
    pass(cc.args(["-lOpenCL", "-lm", "-o"]).arg(&tests))?;
    let (numbers, seed) = (arguments.numbers.to_string(), arguments.seed.to_string());
    let mut run = program(&tests, ["--numbers", &numbers, "--seed", &seed]);
    run.args(arguments.integers.then_some("--all"));
    run.args(arguments.r#type.iter().flat_map(|ty| ["--type", ty]));
    run.args(arguments.width.iter().flat_map(|width| ["--width", width]));
    run.args(arguments.faults.then_some("--faults")).args(&arguments.functions);
    tee(run.env("OCL_ICD_VENDORS", vendors), &folder.join(format!("{name}.txt")))
}

#[cfg(test)]
mod tests {
    use super::parse_count;

    #[test]
    fn numbers_may_be_powers_of_ten() {
        assert_eq!(parse_count("1e8"), Ok(100_000_000));
        assert_eq!(parse_count("20000"), Ok(20_000));
        for wrong in ["", "1.5", "-1", "1e30", "nan"] {
            assert!(parse_count(wrong).is_err(), "{wrong}");
        }
    }
}
