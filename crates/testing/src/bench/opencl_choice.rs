//! The choice of a kernel's first code: its time next to those of all codes that it was chosen from.
//!
//! Each code runs in a process of its own, without trials. Workloads with several kernels are left out, since their codes are chosen
//! one by one.

use super::kit::{AimBound, BenchReport, ReportTable};
use super::opencl::{ClBench, Threads, WAYS, Workload, command, each_workload, in_folder};
use super::opencl_first::unseen_workloads;

/// Line of a report before the estimates, and before the choice.
const ESTIMATES: &str = ": estimated cycles for a work-item: ";
const CHOICE: &str = "; chosen: ";

/// Name of a code, and its estimated cycles for a work-item.
type NamedEstimate = (String, Option<f64>);

/// Code of a kernel.
struct MeasuredCode {
    name: String,
    /// Estimated cycles for a work-item.
    estimate: Option<f64>,
    /// Seconds of a launch.
    time: f64,
}

/// Codes of a workload, and which of them is chosen.
struct ChoiceRow {
    label: String,
    chosen: usize,
    codes: Vec<MeasuredCode>,
}

/// Measures the choice for all kernels of the benchmarks `opencl` and `unseen`.
pub(super) fn run(report: &mut BenchReport) {
    in_folder(report, &WAYS[..1], |report, bench| {
        let mut rows = Vec::new();
        let mut measure = |report: &mut BenchReport, workload: &Workload| {
            let row = ChoiceRow::measure(bench, workload)?;
            report
                .note(row.as_ref().map_or(format!("{}: several kernels", workload.label()), ChoiceRow::text));
            rows.extend(row);
            Ok(())
        };
        each_workload(report, bench, &mut measure)?;
        for (file, workload) in unseen_workloads(&bench.sources.join("unseen"))? {
            if report.is_on(&file) {
                report.progress(workload.label());
                measure(report, &workload)?;
            }
        }
        print_table(report, &rows);
        Ok(())
    });
}

/// Seconds of a launch after the first ones, and the lines about estimates.
fn measure_code(
    bench: &ClBench,
    workload: &Workload,
    number: Option<usize>,
) -> Result<(f64, Vec<String>), String> {
    let vendor = bench.vendors[0].as_ref().ok_or("Heddle's driver is not built")?;
    let mut command = command(bench, &bench.ways[0], vendor, Threads::One);
    command.envs([("HEDDLE_REPORT", "1"), ("HEDDLE_TRIALS", "off")]);
    command.envs(number.map(|number| ("HEDDLE_CODE", number.to_string())));
    command.arg("first").arg(&bench.sources).arg(&workload.name).arg(workload.size());
    let output = command.output().map_err(|reason| format!("{command:?}: {reason}"))?;
    let (printed, messages) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let sum_of = |line: &str| {
        let (count, rest) = line.split_once(';')?;
        let count = count.parse::<f64>().ok().filter(|&count| count > 0.0)?;
        Some((count, rest.split(';').nth(1)?.parse::<f64>().ok()?))
    };
    let sums: Vec<(f64, f64)> = printed.lines().filter_map(sum_of).collect();
    let time = match sums[..] {
        [.., (fewer, before), (count, sum)] => (sum - before) / (count - fewer),
        [(count, sum)] => sum / count,
        [] => return Err(format!("{}: {messages}", workload.label())),
    };
    let lines = messages.lines().filter(|line| line.contains(ESTIMATES)).map(Into::into).collect();
    Ok((time, lines))
}

/// Returns the names of codes with their estimates, and the name of the chosen one.
fn parse_estimates(line: &str) -> Option<(Vec<NamedEstimate>, &str)> {
    let (estimates, chosen) = line.split_once(ESTIMATES)?.1.rsplit_once(CHOICE)?;
    let parse = |code: &str| {
        let (time, name) = code.split_once(" (")?;
        let name = name.strip_suffix(')')?;
        let size = name.strip_suffix(" instructions").and_then(|it| it.rsplit_once(", "));
        Some((size.map_or(name, |(name, _)| name).to_string(), time.parse().ok()))
    };
    Some((estimates.split("; ").map(parse).collect::<Option<_>>()?, chosen))
}

impl ChoiceRow {
    /// Measures all codes of a workload; none if it has several kernels.
    fn measure(bench: &ClBench, workload: &Workload) -> Result<Option<ChoiceRow>, String> {
        let (_, lines) = measure_code(bench, workload, None)?;
        // A file of unseen kernels has other kernels, too; the last line is about the launches.
        let line = match (workload.kernel(), &lines[..]) {
            (Some(kernel), lines) => {
                let start = format!("kernel {kernel}: ");
                lines.iter().rfind(|line| line.starts_with(&start))
            }
            (None, [line]) => Some(line),
            (None, _) => None,
        };
        let Some(line) = line else { return Ok(None) };
        let (names, chosen_name) = parse_estimates(line).ok_or_else(|| format!("not understood: {line}"))?;
        // A code that the passes refuse has no estimate.
        let exists =
            |(_, (name, estimate)): &(usize, NamedEstimate)| name == chosen_name || estimate.is_some();
        let measure = |(number, (name, estimate)): (usize, NamedEstimate)| {
            let (time, _) = measure_code(bench, workload, Some(number))?;
            Ok(MeasuredCode { name, estimate, time })
        };
        let codes = names.into_iter().enumerate().filter(exists).map(measure);
        let codes: Vec<MeasuredCode> = codes.collect::<Result<_, String>>()?;
        let chosen = codes.iter().position(|it| it.name == chosen_name);
        let chosen = chosen.ok_or_else(|| format!("no code is called {chosen_name}: {line}"))?;
        Ok(Some(ChoiceRow { label: workload.label(), chosen, codes }))
    }

    fn best(&self) -> &MeasuredCode {
        let best = self.codes.iter().min_by(|one, other| one.time.total_cmp(&other.time));
        best.unwrap_or(&self.codes[self.chosen])
    }

    /// Time of the chosen code above that of the best one, in per cent.
    fn loss(&self) -> f64 {
        100.0 * (self.codes[self.chosen].time / self.best().time - 1.0)
    }

    /// Rank correlation of estimates and times (Spearman's); none for fewer than three codes.
    fn rank_correlation(&self) -> Option<f64> {
        let pairs: Vec<(f64, f64)> =
            self.codes.iter().filter_map(|it| Some((it.estimate?, it.time))).collect();
        if pairs.len() < 3 {
            return None;
        }
        let ranks = |of: fn(&(f64, f64)) -> f64| -> Vec<f64> {
            let below = |it: f64| pairs.iter().filter(|other| of(other) < it).count() as f64;
            let equal = |it: f64| pairs.iter().filter(|other| of(other) == it).count() as f64;
            pairs.iter().map(|pair| below(of(pair)) + (equal(of(pair)) - 1.0) / 2.0).collect()
        };
        let (of_estimates, of_times) = (ranks(|it| it.0), ranks(|it| it.1));
        let mean = (pairs.len() - 1) as f64 / 2.0;
        let product = |one: &[f64], other: &[f64]| -> f64 {
            one.iter().zip(other).map(|(one, other)| (one - mean) * (other - mean)).sum()
        };
        let scale = (product(&of_estimates, &of_estimates) * product(&of_times, &of_times)).sqrt();
        (scale > 0.0).then(|| product(&of_estimates, &of_times) / scale)
    }

    fn text(&self) -> String {
        let of = |it: &MeasuredCode| {
            let estimate = it.estimate.map_or("-".into(), |estimate| format!("{estimate:.1}"));
            format!("{} {:.4} ms ({estimate})", it.name, 1e3 * it.time)
        };
        let codes: Vec<String> = self.codes.iter().map(of).collect();
        let chosen = &self.codes[self.chosen].name;
        format!("{}: {chosen}, loss {:.0} %: {}", self.label, self.loss(), codes.join("; "))
    }
}

/// Returns the figure below which this share of the figures lies.
pub(super) fn quantile(figures: &[f64], share: f64) -> f64 {
    let mut figures = figures.to_vec();
    figures.sort_by(f64::total_cmp);
    let at = (share * figures.len() as f64).ceil() as usize;
    figures.get(at.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

fn print_table(report: &mut BenchReport, rows: &[ChoiceRow]) {
    if rows.is_empty() {
        return;
    }
    let mut table = ReportTable::new(&["kernel", "chosen", "best", "loss", "rank correlation"]);
    let mut sorted: Vec<&ChoiceRow> = rows.iter().collect();
    sorted.sort_by(|one, other| other.loss().total_cmp(&one.loss()));
    for row in sorted {
        let correlation = row.rank_correlation().map_or("-".into(), |it| format!("{it:.2}"));
        let chosen = row.codes[row.chosen].name.clone();
        let loss = format!("{:.0} %", row.loss());
        table.row([row.label.clone(), chosen, row.best().name.clone(), loss, correlation]);
    }
    report.say(
        "time of the chosen code above that of the best one, and rank correlation of estimates and times",
    );
    report.say(&table);
    let losses: Vec<f64> = rows.iter().map(ChoiceRow::loss).collect();
    let correlations: Vec<f64> = rows.iter().filter_map(ChoiceRow::rank_correlation).collect();
    report.aim("choice.loss.median", quantile(&losses, 0.5), AimBound::AtMost(3.0), "%");
    report.aim("choice.loss.95", quantile(&losses, 0.95), AimBound::AtMost(25.0), "%");
    report.aim("choice.rank", quantile(&correlations, 0.5), AimBound::AtLeast(0.8), "median correlation");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_parsed() {
        let line = "kernel k: estimated cycles for a work-item: 1.5 (16 lanes, 20 instructions); none (8 x 4 lanes); chosen: 16 lanes";
        let (codes, chosen) = parse_estimates(line).expect("it is a line of a report");
        assert_eq!(codes, [("16 lanes".into(), Some(1.5)), ("8 x 4 lanes".into(), None)]);
        assert_eq!(chosen, "16 lanes");
    }

    #[test]
    fn ranks_are_correlated() {
        let code = |(estimate, time)| MeasuredCode { name: String::new(), estimate: Some(estimate), time };
        let row = |pairs: [(f64, f64); 3]| ChoiceRow {
            label: String::new(),
            chosen: 0,
            codes: pairs.into_iter().map(code).collect(),
        };
        let same = row([(1.0, 10.0), (2.0, 20.0), (3.0, 90.0)]);
        assert_eq!((same.rank_correlation(), same.loss()), (Some(1.0), 0.0));
        let reversed = row([(1.0, 4.0), (2.0, 3.0), (3.0, 2.0)]);
        assert_eq!((reversed.rank_correlation(), reversed.loss()), (Some(-1.0), 100.0));
    }
}
