//! One computation in many forms: the time of each form next to that of the best one, and next to the fastest other implementation.
//!
//! Forms are generated from the templates of `opencl/forms` ([`super::form_template`]). Each form runs in a process of its own, and
//! its results are compared with those of the first form. On one thread the measure is processor time.

use super::form_template::{FormTemplate, GeneratedKernel};
use super::kit::{AimBound, BenchReport, ReportTable, geomean};
use super::opencl::{
    ClBench, ClImplementation, ClVendor, Threads, WAYS, command, done, in_folder, processors,
};
use super::opencl_choice::quantile;
use std::path::Path;

/// Maximum difference of the sums of results, relative to the norm of the results.
const TOLERANCE: f64 = 1e-4;
/// Milliseconds of launches before the final speed is measured, of its measurement, and number of processes, whole and quick.
const EFFORT: [FormEffort; 2] = [
    FormEffort { settling: 1500.0, budget: 60.0, processes: 2 },
    FormEffort { settling: 300.0, budget: 20.0, processes: 1 },
];
/// Other implementations need no time to choose their code.
const WARMING: f64 = 60.0;

#[derive(Clone, Copy)]
struct FormEffort {
    settling: f64,
    budget: f64,
    processes: usize,
}

/// Measurement of a form by an implementation.
#[derive(Clone, Copy)]
struct FormTimes {
    /// Seconds of building and the first ten launches.
    first: f64,
    /// Seconds of a launch after the first ones.
    last: f64,
    /// Weighted sum of the results, and their norm.
    check: [f64; 2],
}

/// A form and its measurements by implementation.
struct FormRow {
    kernel: GeneratedKernel,
    times: Vec<Option<FormTimes>>,
}

impl FormRow {
    /// Returns the fastest other implementation, and its time relative to Heddle's.
    fn bar(&self, ways: &[ClImplementation], of: fn(&FormTimes) -> f64) -> Option<(&'static str, f64)> {
        let ours = of(self.times[0].as_ref()?);
        let others = ways.iter().zip(&self.times).skip(1);
        let ratios = others.filter_map(|(way, times)| Some((way.name, of(times.as_ref()?) / ours)));
        ratios.min_by(|(_, one), (_, other)| one.total_cmp(other))
    }
}

/// Measures all forms of all computations.
pub(super) fn run(report: &mut BenchReport) {
    in_folder(report, WAYS, |report, bench| {
        let templates = templates(&bench.sources.join("forms"))?;
        for threads in [Threads::One, Threads::All] {
            if threads == Threads::All && (processors() == 1 || report.is_quick()) {
                continue;
            }
            let mut all = Vec::new();
            for template in &templates {
                if report.is_on(&template.name) {
                    let rows = measure(report, bench, template, threads)?;
                    print_table(report, bench.ways, &template.name, &rows, threads);
                    all.push((template.name.clone(), rows));
                }
            }
            print_summary(report, bench.ways, &all, threads);
        }
        Ok(())
    });
}

/// Templates of a folder, by name.
fn templates(folder: &Path) -> Result<Vec<FormTemplate>, String> {
    let failed = |path: &Path, reason: std::io::Error| format!("{}: {reason}", path.display());
    let entries = std::fs::read_dir(folder).map_err(|reason| failed(folder, reason))?;
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    let parse = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).map_err(|reason| failed(path, reason))?;
        FormTemplate::parse(&path.file_stem().unwrap_or_default().to_string_lossy(), &text)
    };
    files.iter().map(parse).collect()
}

/// Measures all forms of a computation, and compares their results with those of the first one.
fn measure(
    report: &mut BenchReport,
    bench: &ClBench,
    template: &FormTemplate,
    threads: Threads,
) -> Result<Vec<FormRow>, String> {
    let effort = EFFORT[usize::from(report.is_quick())];
    let mut rows: Vec<FormRow> = Vec::new();
    for kernel in template.kernels() {
        rows.push(FormRow { times: vec![None; bench.ways.len()], kernel });
    }
    for _ in 0..effort.processes {
        for (number, row) in rows.iter_mut().enumerate() {
            report.progress(format!("{} {}", template.name, row.kernel.label));
            let file = format!("{}-{number}.cl", template.name);
            std::fs::write(bench.folder().join(&file), &row.kernel.source)
                .map_err(|reason| format!("{file}: {reason}"))?;
            for ((way, vendor), times) in bench.ways.iter().zip(&bench.vendors).zip(&mut row.times) {
                let Some(vendor) = vendor else { continue };
                match times_of(bench, way, vendor, &file, threads, effort) {
                    Ok(one) => {
                        let least = times.map_or(one, |before| FormTimes {
                            first: before.first.min(one.first),
                            last: before.last.min(one.last),
                            check: one.check,
                        });
                        *times = Some(least);
                    }
                    Err(reason) => {
                        let text = format!("{}, {}: {reason}", template.name, row.kernel.label);
                        report.check(way.maker != ClVendor::Heddle, || text.clone());
                        if way.maker != ClVendor::Heddle {
                            report.say(text);
                        }
                    }
                }
            }
        }
    }
    check_results(report, bench.ways, &template.name, &mut rows);
    Ok(rows)
}

/// Checks results against those of Heddle's first form with the same results; wrong ones of others set no bar.
fn check_results(report: &mut BenchReport, ways: &[ClImplementation], name: &str, rows: &mut [FormRow]) {
    for at in 0..rows.len() {
        let class = rows[at].kernel.result_class;
        let first = rows.iter().filter(|row| row.kernel.result_class == class);
        let Some([sum, norm]) = first.filter_map(|row| row.times[0]).map(|times| times.check).next() else {
            continue;
        };
        let row = &mut rows[at];
        for (way, times) in ways.iter().zip(&mut row.times) {
            let Some([own, own_norm]) = times.map(|times| times.check) else { continue };
            let is_right =
                (own - sum).abs() <= TOLERANCE * norm && (own_norm - norm).abs() <= TOLERANCE * norm;
            if !is_right {
                let text = format!(
                    "{name}, {} by {}: {own:e} of {own_norm:e} instead of {sum:e} of {norm:e}",
                    row.kernel.label, way.name
                );
                report.check(way.maker != ClVendor::Heddle, || text.clone());
                if way.maker != ClVendor::Heddle {
                    report.say(text);
                    *times = None;
                }
            }
        }
    }
}

/// Runs a form in a new process.
fn times_of(
    bench: &ClBench,
    way: &ClImplementation,
    vendor: &Path,
    file: &str,
    threads: Threads,
    effort: FormEffort,
) -> Result<FormTimes, String> {
    let mut command = command(bench, way, vendor, threads);
    let settling = if way.maker == ClVendor::Heddle { effort.settling } else { WARMING };
    command.arg("form").arg(bench.folder()).arg(format!("{file}:form"));
    command.args([settling, effort.budget].map(|figure| figure.to_string()));
    let text = done(&mut command)?;
    let wrong = || format!("{}: not understood: {text}", way.name);
    let figures = |head: &str| -> Option<[f64; 2]> {
        let line = text.lines().find_map(|line| line.strip_prefix(head))?;
        let (one, other) = line.split_once(';')?;
        Some([one.parse().ok()?, other.parse().ok()?])
    };
    let of = |[wall, processor]: [f64; 2]| if threads == Threads::One { processor } else { wall };
    Ok(FormTimes {
        first: of(figures("first;").ok_or_else(wrong)?),
        last: of(figures("last;").ok_or_else(wrong)?),
        check: figures("check;").ok_or_else(wrong)?,
    })
}

fn last(times: &FormTimes) -> f64 {
    times.last
}

fn first(times: &FormTimes) -> f64 {
    times.first
}

/// Time of each comparable form over the best comparable one.
fn ratios(rows: &[FormRow]) -> Vec<f64> {
    let comparable = rows.iter().filter(|row| row.kernel.is_comparable);
    let times: Vec<f64> = comparable.filter_map(|row| Some(row.times[0]?.last)).collect();
    let best = times.iter().copied().fold(f64::INFINITY, f64::min);
    times.iter().map(|time| time / best).collect()
}

fn print_table(
    report: &mut BenchReport,
    ways: &[ClImplementation],
    name: &str,
    rows: &[FormRow],
    threads: Threads,
) {
    let mut table = ReportTable::new(&["form", "ms", "over best", "last", "first ten", "best other"]);
    let comparable = rows.iter().filter(|row| row.kernel.is_comparable);
    let best = comparable.filter_map(|row| Some(row.times[0]?.last)).fold(f64::INFINITY, f64::min);
    for row in rows {
        let own = row.times[0].map(|times| times.last);
        let mark = if row.kernel.is_comparable { "" } else { " *" };
        let bar = |of| row.bar(ways, of);
        let ratio = |bar: Option<(&str, f64)>| bar.map_or("-".into(), |(_, ratio)| format!("{ratio:.2}"));
        table.row([
            format!("{}{mark}", row.kernel.label),
            own.map_or("-".into(), |own| format!("{:.4}", own * 1e3)),
            own.map_or("-".into(), |own| format!("{:.2}", own / best)),
            ratio(bar(last)),
            ratio(bar(first)),
            bar(last).map_or("-".into(), |(way, _)| way.into()),
        ]);
    }
    report.say(format!(
        "{name}, {}: time of a launch over that of the best form, and time of the fastest other implementation over Heddle's",
        threads.text()
    ));
    report.say(&table);
}

fn print_summary(
    report: &mut BenchReport,
    ways: &[ClImplementation],
    all: &[(String, Vec<FormRow>)],
    threads: Threads,
) {
    let mut table = ReportTable::new(&[
        "computation",
        "forms",
        "median",
        "worst",
        "form",
        "last",
        "least",
        "first ten",
        "least",
    ]);
    let (mut forms, mut lasts, mut firsts) = (Vec::new(), Vec::new(), Vec::new());
    let least = |figures: &[f64]| figures.iter().copied().fold(f64::INFINITY, f64::min);
    for (name, rows) in all {
        let own = ratios(rows);
        if own.is_empty() {
            continue;
        }
        let comparable = rows.iter().filter(|row| row.kernel.is_comparable && row.times[0].is_some());
        let worst = comparable.zip(&own).max_by(|(_, one), (_, other)| one.total_cmp(other));
        let bars = |of: fn(&FormTimes) -> f64| -> Vec<f64> {
            rows.iter().filter_map(|row| Some(row.bar(ways, of)?.1)).collect()
        };
        let (last, first) = (bars(last), bars(first));
        let figure = |figures: &[f64], of: fn(&[f64]) -> f64| match figures.is_empty() {
            true => "-".to_string(),
            false => format!("{:.2}", of(figures)),
        };
        table.row([
            name.clone(),
            rows.len().to_string(),
            format!("{:.2}", quantile(&own, 0.5)),
            worst.map_or("-".into(), |(_, ratio)| format!("{ratio:.2}")),
            worst.map_or("-".into(), |(row, _)| row.kernel.label.clone()),
            figure(&last, geomean),
            figure(&last, least),
            figure(&first, geomean),
            figure(&first, least),
        ]);
        forms.extend(own);
        lasts.extend(last);
        firsts.extend(first);
    }
    if forms.is_empty() {
        return;
    }
    report.say(format!(
        "{}: forms over the best form (those without * above), and the fastest other implementation over Heddle",
        threads.text()
    ));
    report.say(&table);
    let name = |what: &str| format!("forms.{}.{what}", threads.name());
    report.aim(name("median"), quantile(&forms, 0.5), AimBound::AtMost(1.05), "× the best form");
    report.aim(name("95"), quantile(&forms, 0.95), AimBound::AtMost(1.5), "× the best form");
    if lasts.is_empty() {
        return;
    }
    report.aim(name("mean"), geomean(&lasts), AimBound::AtLeast(2.0), "× the best other");
    report.aim(name("least"), least(&lasts), AimBound::AtLeast(0.97), "× the best other");
    report.aim(name("first.least"), least(&firsts), AimBound::AtLeast(0.95), "× the best other");
}
