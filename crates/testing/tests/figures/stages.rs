//! Programs after each pass, and as vector code for each machine.

use crate::code::code;
use crate::programs::Program;
use crate::{Column, Figures, kind_of_message};
use heddle_compiler::Session;
use heddle_ir::Module;
use heddle_ir::verify::Stage;
use heddle_transform::brushes::LoopEstimate;
use heddle_transform::widen::RemarkKind;
use heddle_transform::{Remark, TargetInfo, choose_brushes, tidy};

/// Counts the program after each pass; for passes that need a brush, with it.
pub(crate) fn stages(figures: &mut Figures, kind: &str, program: &Program) {
    let brushes: Vec<Vec<u32>> = match &program.case {
        Some(_) => vec![program.brush()],
        None => vec![vec![4], vec![8], vec![4, 2], vec![4, 3]],
    };
    for (number, brush) in brushes.into_iter().enumerate() {
        let lanes = brush.iter().product();
        let brush: Vec<String> = brush.iter().map(u32::to_string).collect();
        let brush = brush.join("x");
        let name = if program.case.is_some() { "generated".into() } else { format!("{kind}, {brush} lanes") };
        if program.case.is_none() && number == 0 {
            side_by_side(&mut figures.column(&format!("brushes of {kind}"), "auto"), program);
        }
        let Some(module) = passes(figures, &name, program, &brush) else { continue };
        for &(machine, options) in MACHINES {
            // One brush for each of the machines is enough for written ones.
            if number > 0 && machine != "avx2" && machine != "force" {
                continue;
            }
            let pass = format!("widen:{brush}{options}");
            let column = &mut figures.column(&format!("vector code of {name}"), machine);
            let mut module = module.clone();
            match Session::default().run_passes(&mut module, &[&pass, "simplify"], false, |_, _| {}) {
                Ok(remarks) => {
                    code(column, &module);
                    remarks.iter().for_each(|it| remark(column, it));
                    brush_choices(
                        column,
                        &module,
                        lanes,
                        &TargetInfo::named(machine).unwrap_or(TargetInfo::AVX2),
                    );
                }
                Err(error) => column.add(format!("refused: {}", kind_of_message(&error.to_string())), 1),
            }
        }
    }
}

const MACHINES: &[(&str, &str)] = &[
    ("avx2", ""),
    ("avx512", "+target=avx512"),
    ("sse4.2", "+target=sse4.2"),
    ("neon", "+target=neon"),
    ("force", "+versions=force"),
    ("none", "+target=sse4.2+versions=none"),
];

/// Counts the code after each pass up to stage Linear.
fn passes(figures: &mut Figures, name: &str, program: &Program, brush: &str) -> Option<Module> {
    let mut module = program.module.clone();
    if program.stage == Stage::Linear {
        let column = &mut figures.column(&format!("{name}, folded: tidied"), "tidy");
        for func in &mut module.functions {
            let before = func.to_string();
            let is_changed = tidy(func);
            assert!(is_changed || func.to_string() == before, "changed, but reported as unchanged:\n{func}");
            column.add("functions changed", usize::from(is_changed));
        }
        code(column, &module);
        return Some(module);
    }
    let table = format!("{name}: after each pass");
    code(&mut figures.column(&table, "source"), &module);
    let specialize = format!("specialize:{brush}");
    let mut names = vec!["simplify", "canonicalize", &specialize, "loops", "boscc", "linearize", "tidy"];
    if program.case.is_none() {
        names.insert(0, if brush == "8" { "params:uniform" } else { "params:varying" });
    }
    let done = Session::default().run_passes(&mut module, &names, false, |pass, module| {
        code(&mut figures.column(&table, pass.name), module);
    });
    match done {
        Ok(_) => Some(module),
        Err(error) => {
            let row = format!("refused: {}", kind_of_message(&error.to_string()));
            figures.column(&table, "refused").add(row, 1);
            None
        }
    }
}

/// Counts the profitable brushes of eight lanes, and the reasons.
fn side_by_side(column: &mut Column<'_>, program: &Program) {
    if program.stage != Stage::Source {
        return;
    }
    let words = ["vectorize", "W=8", "params=varying", "target=avx2", "brushes=auto"];
    match Session::default().run_passes(&mut program.module.clone(), &words, false, |_, _| {}) {
        Ok(remarks) => {
            for remark in remarks.iter().filter(|remark| remark.kind == RemarkKind::Brushes) {
                column.sign(&remark.diagnostic.text);
                column.add(format!("remark: {}", kind_of_message(&remark.diagnostic.text)), 1);
            }
        }
        Err(error) => column.add(format!("refused: {}", kind_of_message(&error.to_string())), 1),
    }
}

/// Prints the cycles per loop of vector code, as estimated by the model of side-by-side brushes, and the model's
/// choice.
fn brush_choices(column: &mut Column<'_>, module: &Module, lanes: u32, target: &TargetInfo) {
    for func in &module.functions {
        let choice = choose_brushes(module, func, lanes, target);
        column.sign(choice);
        let Some(LoopEstimate { latency, busy, shared, registers, masks, .. }) = choice.deciding_loop else {
            continue;
        };
        column.add("loops: brushes next to each other", choice.brushes);
        column.add("loops: tenths of cycles until the next values", latency);
        column.add("loops: tenths of cycles busy", busy + shared);
        column.add("loops: registers", registers + masks);
    }
}

/// Counts a remark, its costs and its wording.
fn remark(column: &mut Column<'_>, remark: &Remark) {
    let text = &remark.diagnostic.text;
    column.sign(text);
    column.add(format!("accesses in remarks: {:?}", remark.kind), remark.accesses);
    column.add("with a location", usize::from(remark.diagnostic.place.line > 0));
    let Some(access) = &remark.diagnostic.access else {
        return column.add(format!("remark: {}", kind_of_message(text)), 1);
    };
    let negation = if access.is_chosen { "" } else { "not " };
    let condition = if access.condition.is_empty() { "" } else { ", versioned" };
    column.add(format!("remark: {negation}{}{condition}", kind_of_message(&access.lowering)), 1);
    if let Some(costs) = access.costs {
        column.add("remark: cost together", costs.together);
        column.add("remark: cost of separate accesses", costs.separate);
    }
}
