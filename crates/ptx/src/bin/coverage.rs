//! Lists the support of every instruction form of PTX.
#![forbid(unsafe_code)]

use heddle_ptx::operation::PtxOperation;
use heddle_ptx::table::FORMS;

fn main() {
    let mut done = 0;
    for form in FORMS {
        let name = if form.pattern.is_empty() {
            form.mnemonic.into()
        } else {
            format!("{} {}", form.mnemonic, form.pattern)
        };
        match form.operation {
            PtxOperation::Refused(reason) => println!("{name}: refused, {reason}"),
            _ => {
                done += 1;
                println!("{name}: done");
            }
        }
    }
    println!("instructions: {done} done, {} refused, 0 missing", FORMS.len() - done);
}
