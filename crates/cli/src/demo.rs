//! `heddle demo`.

use crate::Failure;

pub(crate) fn run() -> Result<(), Failure> {
    Ok(())
}
