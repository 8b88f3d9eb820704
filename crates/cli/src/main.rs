//! The `heddle` command.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    heddle_cli::run().into()
}
