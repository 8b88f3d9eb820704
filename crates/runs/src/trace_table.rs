//! A run's trace as the tables of the thesis: a row for each step, and as JSON for tools.

use crate::spec::show_datum;
use heddle_interp::{LaneSet, LaneSuccessor, Trace};
use heddle_ir::{Block, Module, Value};
use std::fmt::Write as _;

/// The trace as a table: block, where lanes come from, control, predicate and activation masks, where lanes go, and
/// the requested values (each lane of each).
pub fn trace_table(trace: &Trace, module: &Module, watched: &[Value]) -> String {
    let mut head = vec!["block".to_string(), "from".into(), "control".into()];
    let has_predicates = trace.steps.iter().any(|step| !(step.control & !step.predicate).is_empty());
    if has_predicates {
        head.extend(["predicate".to_string(), "active".into()]);
    }
    head.push("next".into());
    head.extend(watched.iter().map(ToString::to_string));
    let several = trace.steps.iter().any(|step| step.func != trace.steps[0].func || step.brush != 0);
    let mut rows = vec![head];
    for step in &trace.steps {
        let lanes = step.next.len();
        let func = module.functions.get(step.func as usize);
        let mut name = step.block.to_string();
        if several {
            let func_name = func.map_or("", |func| &func.name);
            name = format!("{}{}:@{func_name} {name}", "  ".repeat(step.depth as usize), step.brush);
        }
        let from = step.from.iter().map(|from| from.map_or("-".into(), |block| block.as_u32().to_string()));
        let next = step.next.iter().map(|next| match next {
            LaneSuccessor::Block(block) => block.as_u32().to_string(),
            LaneSuccessor::Returned => "ret".into(),
            LaneSuccessor::Absent => "-".into(),
        });
        let mut row = vec![name, from.collect::<Vec<_>>().join(" "), mask(step.control, lanes)];
        if has_predicates {
            row.extend([mask(step.predicate, lanes), mask(step.active, lanes)]);
        }
        row.push(next.collect::<Vec<_>>().join(" "));
        for value in watched {
            let data = step.values.iter().find(|(known, _)| known == value).map(|(_, data)| data);
            let scalar = func.map(|func| func.value_type(*value).scalar());
            row.push(match (data, scalar) {
                (Some(data), Some(scalar)) => {
                    let shown = data.iter().map(|&datum| show_datum(datum, scalar));
                    shown.collect::<Vec<_>>().join(" ")
                }
                _ => String::new(),
            });
        }
        rows.push(row);
    }
    align(&rows)
}

fn mask(set: LaneSet, lanes: usize) -> String {
    (0..lanes).map(|lane| if set.contains(lane) { '1' } else { '0' }).collect()
}

/// Columns side by side, each as wide as its widest cell.
pub fn align(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The trace as JSON: `{"lanes", "steps": [{"brush", "function", "depth", "block", "from", "control", "predicate",
/// "active", "next", "values": {"v1": [..]}}]}`; masks are lists of lanes, values as the text format writes them.
pub fn trace_json(trace: &Trace, module: &Module) -> String {
    let quote = |text: String| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let list = |items: Vec<String>| format!("[{}]", items.join(","));
    let lanes_of = |set: LaneSet| list(set.iter().map(|lane| lane.to_string()).collect());
    let block = |block: Option<Block>| block.map_or("null".into(), |block| quote(block.to_string()));
    let mut steps = Vec::new();
    for step in &trace.steps {
        let func = module.functions.get(step.func as usize);
        let next = step.next.iter().map(|next| match next {
            LaneSuccessor::Block(target) => block(Some(*target)),
            LaneSuccessor::Returned => quote("ret".into()),
            LaneSuccessor::Absent => "null".into(),
        });
        let values = step.values.iter().filter_map(|(value, data)| {
            let scalar = func?.value_type(*value).scalar();
            let data = data.iter().map(|&datum| quote(show_datum(datum, scalar))).collect();
            Some(format!("{}:{}", quote(value.to_string()), list(data)))
        });
        steps.push(format!(
            "{{\"brush\":{},\"function\":{},\"depth\":{},\"block\":{},\"from\":{},\"control\":{},\"predicate\":{},\"active\":{},\"next\":{},\"values\":{{{}}}}}",
            step.brush,
            quote(func.map_or(String::new(), |func| func.name.clone())),
            step.depth,
            block(Some(step.block)),
            list(step.from.iter().map(|&from| block(from)).collect()),
            lanes_of(step.control),
            lanes_of(step.control & step.predicate),
            lanes_of(step.active),
            list(next.collect()),
            values.collect::<Vec<_>>().join(",")
        ));
    }
    format!("{{\"lanes\":{},\"steps\":[\n{}\n]}}\n", trace.lanes, steps.join(",\n"))
}
