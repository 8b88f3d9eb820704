//! Brushes of nests: each of two dimensions against vectors in the innermost loop, as heat maps next to those of thesis figure
//! 13.11, and `brush=auto` against the best one.

use super::ways::{self, FILES, NestRows, NestTimes, NestWay, THESIS};
use super::{AUTO, INNERMOST, ONE_LEVEL, REFERENCE, SCALAR, UNMARKED};
use crate::bench::kit::{AimBound, BenchReport, ReportTable, geomean};
use std::fmt::Write as _;

/// Sizes of a brush in one loop.
const SIZES: [u32; 4] = [2, 4, 8, 16];

/// Figures of all brushes: rows are sizes in the outer loop, columns those in the inner one. Not all were measured.
type BrushTable = [[Option<f64>; 4]; 4];

/// One map of thesis figure 13.11.
struct ThesisMap {
    stencil: &'static str,
    /// Speedups on one core, with the unchanged layout and with that of tiles of 2×2.
    plain: [&'static [f64]; 4],
    tiled: [&'static [f64]; 4],
}

/// Rows of the figure begin with the column of 4 (2 has none of its own), else of 2.
const THESIS_MAPS: [ThesisMap; 6] = [
    ThesisMap {
        stencil: "jacobi-5",
        plain: [&[0.94, 0.95, 0.98], &[0.96, 0.97, 0.98], &[0.82, 0.92], &[0.75]],
        tiled: [&[0.90, 0.90, 0.94], &[0.92, 0.93, 0.87], &[1.03, 0.93], &[1.11]],
    },
    ThesisMap {
        stencil: "seidel-9",
        plain: [&[0.94, 0.92, 0.95], &[0.87, 1.00, 1.04], &[0.70, 0.91], &[0.67]],
        tiled: [&[0.88, 0.94, 1.00], &[0.87, 0.91, 0.98], &[0.99, 1.04], &[0.98]],
    },
    ThesisMap {
        stencil: "jacobi-9",
        plain: [&[1.04, 0.95, 1.03], &[0.90, 1.09, 1.02], &[0.78, 1.05], &[0.74]],
        tiled: [&[1.16, 1.02, 1.12], &[1.18, 1.19, 1.15], &[1.25, 1.23], &[1.24]],
    },
    ThesisMap {
        stencil: "seidel-25",
        plain: [&[0.93, 1.19, 1.10], &[0.65, 1.01, 1.29], &[0.56, 0.89], &[0.49]],
        tiled: [&[0.92, 1.10, 1.03], &[0.85, 0.96, 1.20], &[0.80, 1.01], &[0.72]],
    },
    ThesisMap {
        stencil: "sparse jacobi-5",
        plain: [&[0.96, 0.94, 0.97], &[0.96, 0.95, 1.02], &[0.96, 0.99], &[0.90]],
        tiled: [&[1.05, 0.96, 1.03], &[1.06, 1.09, 1.06], &[1.15, 1.16], &[1.26]],
    },
    ThesisMap {
        stencil: "matrix transpose",
        plain: [&[1.59, 1.31, 1.26], &[2.30, 2.37, 2.00], &[3.79, 3.78], &[3.92]],
        tiled: [&[], &[], &[], &[]],
    },
];

impl ThesisMap {
    /// Spreads rows over the columns of the figure.
    fn table(rows: &[&[f64]; 4]) -> BrushTable {
        let mut table = BrushTable::default();
        for (row, figures) in rows.iter().enumerate() {
            let first = usize::from(row == 0);
            for (column, &figure) in figures.iter().enumerate() {
                table[row][first + column] = Some(figure);
            }
        }
        table
    }
}

/// Nests whose brushes are measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BrushSelection {
    /// The stencils of the thesis, on doubles.
    Thesis,
    /// All nests.
    All,
}

/// Returns the selection if the report is on a family of brushes.
pub(super) fn selected(report: &mut BenchReport) -> Option<BrushSelection> {
    match report.is_full() {
        true => None,
        false if report.is_on("brushes") => Some(BrushSelection::Thesis),
        false => report.is_on("all brushes").then_some(BrushSelection::All),
    }
}

fn brush_name(outer: u32, inner: u32) -> String {
    format!("brush_{outer}x{inner}")
}

fn all_brushes() -> impl Iterator<Item = (u32, u32)> {
    SIZES.into_iter().flat_map(|outer| SIZES.map(move |inner| (outer, inner)))
}

fn ways_of_brushes() -> Vec<NestWay> {
    let mut ways = vec![
        NestWay::by_clang(REFERENCE, SCALAR),
        NestWay::by_clang("clang", UNMARKED),
        NestWay::ours("inner", INNERMOST),
        NestWay::ours("levels", ONE_LEVEL),
        NestWay::ours("auto", AUTO),
    ];
    ways.extend(all_brushes().map(|(outer, inner)| {
        let option = format!("-heddle-loops=brush={outer}x{inner}");
        NestWay::ours(&brush_name(outer, inner), &["-DMARKS=2", "-mllvm", &option])
    }));
    ways
}

pub(super) fn run(report: &mut BenchReport, selection: BrushSelection) -> Result<(), String> {
    let ways = ways_of_brushes();
    let files = match selection {
        BrushSelection::Thesis => std::slice::from_ref(&THESIS),
        BrushSelection::All => FILES,
    };
    let rows = ways::measure(report, &ways, files.iter(), None)?;
    super::check(report, &ways, &rows);
    if selection == BrushSelection::Thesis {
        print_maps(report, &ways, &rows)?;
    }
    print_best(report, &ways, &rows);
    Ok(())
}

/// Speedups of all brushes over a time.
fn table_of(row: &NestTimes, ways: &[NestWay], inner: f64) -> BrushTable {
    SIZES.map(|outer| SIZES.map(|size| Some(inner / super::time_of(row, ways, &brush_name(outer, size)))))
}

fn print_maps(report: &mut BenchReport, ways: &[NestWay], rows: &NestRows) -> Result<(), String> {
    let mut maps = Vec::new();
    for map in &THESIS_MAPS {
        // The interior of 1024 x 1024, with its border.
        let of_layout = |layout: &str| {
            let start = format!("{}{layout}, double, 102", map.stencil);
            rows.rows.iter().find(|row| row.timed.name.starts_with(&start))
        };
        let Some(row) = of_layout("") else { continue };
        // As in the thesis, both layouts are compared with vectors in the innermost loop over rows.
        let inner = super::time_of(row, ways, "inner");
        let measured = table_of(row, ways, inner);
        let in_tiles =
            of_layout(" in tiles").map_or_else(BrushTable::default, |row| table_of(row, ways, inner));
        let (plain, tiled) = (ThesisMap::table(&map.plain), ThesisMap::table(&map.tiled));
        let mut table = ReportTable::new(&[map.stencil, "2", "4", "8", "16"]);
        for (index, outer) in SIZES.into_iter().enumerate() {
            let cell = |column: usize| {
                let figures =
                    [measured, in_tiles, plain, tiled].map(|figures| text_of(figures[index][column]));
                format!("{} {} ({} {})", figures[0], figures[1], figures[2], figures[3])
            };
            table.row(std::iter::once(outer.to_string()).chain((0..4).map(cell)));
        }
        report.say(&table);
        maps.push((map.stencil, [measured, in_tiles, plain, tiled]));
    }
    report.say(
        "rows: size in the outer loop; columns: in the inner one; times faster than vectors in the innermost loop over rows: unchanged layout, \
         tiles of 2×2 (thesis figure 13.11: the same)",
    );
    let here = std::env::current_exe().map_err(|reason| reason.to_string())?;
    let folder = here.ancestors().nth(2).ok_or("the program has no target folder")?.join("bench");
    let path = folder.join("brushes.svg");
    let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, picture(&maps)));
    written.map_err(|reason| format!("{}: {reason}", path.display()))?;
    report.say(format!("{}\n", path.display()));
    Ok(())
}

fn text_of(figure: Option<f64>) -> String {
    figure.map_or("-".into(), |figure| format!("{figure:.2}"))
}

fn print_best(report: &mut BenchReport, ways: &[NestWay], rows: &NestRows) {
    let mut table = ReportTable::new(&[
        "nest, element, size",
        "clang",
        "levels",
        "auto",
        "best brush",
        "its speedup",
        "auto/best",
    ]);
    let mut ratios = Vec::new();
    for row in &rows.rows {
        let inner = super::time_of(row, ways, "inner");
        let speed = |name: &str| inner / super::time_of(row, ways, name);
        let named =
            all_brushes().map(|(outer, size)| (format!("{outer}x{size}"), speed(&brush_name(outer, size))));
        // One dimension is a brush, too.
        let plain = [("levels".to_string(), speed("levels")), ("inner".to_string(), 1.0)];
        let Some((name, best)) = named.chain(plain).max_by(|one, other| one.1.total_cmp(&other.1)) else {
            continue;
        };
        let auto = speed("auto");
        ratios.push(auto / best);
        let figures = [speed("clang"), speed("levels"), auto].map(|figure| format!("{figure:.2}"));
        let ends = [name, format!("{best:.2}"), format!("{:.2}", auto / best)];
        table.row(std::iter::once(row.timed.name.clone()).chain(figures).chain(ends));
    }
    report.say("times faster than vectors in the innermost loop");
    report.say(&table);
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    report.aim("tensor.auto", geomean(&ratios), AimBound::AtLeast(0.97), "× the best brush");
    report.aim("tensor.auto.least", least, AimBound::AtLeast(0.97), "× the best brush");
}

const CELL: usize = 46;
const LABEL: usize = 26;
const MAP_WIDTH: usize = LABEL + 4 * CELL + 14;
const MAP_HEIGHT: usize = 4 * CELL + 46;
const TEXT: &str = "font-family='sans-serif' font-size='11' fill='#222'";

/// Draws a row of four maps for each stencil: measured in rows and in tiles, and the thesis'.
fn picture(maps: &[(&str, [BrushTable; 4])]) -> String {
    let (width, height) = (4 * MAP_WIDTH + 20, 10 + maps.len() * MAP_HEIGHT);
    let mut svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}'>\n"
    );
    svg += &format!("<rect width='{width}' height='{height}' fill='#fff'/>\n");
    for (index, (stencil, figures)) in maps.iter().enumerate() {
        let top = 10 + index * MAP_HEIGHT;
        let titles = ["measured", "measured, tiles", "thesis", "thesis, tiles"];
        for (column, (title, figures)) in titles.iter().zip(figures).enumerate() {
            draw_map(&mut svg, 10 + column * MAP_WIDTH, top, &format!("{stencil}, {title}"), figures);
        }
    }
    svg + "</svg>\n"
}

fn draw_map(svg: &mut String, left: usize, top: usize, title: &str, figures: &BrushTable) {
    let mut text = |x: usize, y: usize, words: &str| {
        // Writing to a string does not fail.
        _ = writeln!(svg, "<text x='{x}' y='{y}' text-anchor='middle' {TEXT}>{words}</text>");
    };
    text(left + LABEL + 2 * CELL, top + 12, title);
    for (index, size) in SIZES.into_iter().enumerate() {
        text(left + LABEL + index * CELL + CELL / 2, top + 26, &size.to_string());
        text(left + LABEL / 2, top + 34 + index * CELL + CELL / 2, &size.to_string());
    }
    for (row, figures) in figures.iter().enumerate() {
        for (column, &figure) in figures.iter().enumerate() {
            let (x, y) = (left + LABEL + column * CELL, top + 30 + row * CELL);
            let side = CELL - 2;
            _ = writeln!(
                svg,
                "<rect x='{x}' y='{y}' width='{side}' height='{side}' fill='{}'/>",
                colour(figure)
            );
            if let Some(figure) = figure {
                let (x, y) = (x + side / 2, y + side / 2 + 4);
                _ = writeln!(svg, "<text x='{x}' y='{y}' text-anchor='middle' {TEXT}>{figure:.2}</text>");
            }
        }
    }
}

/// Returns white for 1, red for half of it, and blue for twice of it, by the logarithm.
fn colour(figure: Option<f64>) -> String {
    let Some(figure) = figure else { return "#eee".into() };
    let share = figure.log2().clamp(-1.0, 1.0);
    let full = if share < 0.0 { [0xc8, 0x55, 0x3d] } else { [0x1b, 0x6c, 0xa8] };
    let mixed = full.map(|channel: i32| (255.0 - share.abs() * f64::from(255 - channel)).round() as u8);
    format!("#{:02x}{:02x}{:02x}", mixed[0], mixed[1], mixed[2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_thesis_begin_at_their_columns() {
        let table = ThesisMap::table(&THESIS_MAPS[2].tiled);
        // The example of section 13.4.2: 8x4 with tiles of 2x2.
        assert_eq!(
            (table[2][1], table[0][0], table[0][3], table[3][1]),
            (Some(1.23), None, Some(1.12), None)
        );
    }

    #[test]
    fn colours_meet_in_white() {
        assert_eq!(
            (colour(Some(1.0)), colour(Some(0.25)), colour(Some(9.0))),
            ("#ffffff".into(), "#c8553d".into(), "#1b6ca8".into())
        );
        assert_eq!(colour(None), "#eee");
    }

    #[test]
    fn maps_have_all_cells() {
        let map = ThesisMap::table(&THESIS_MAPS[0].plain);
        let drawn = picture(&[("jacobi-5", [map; 4])]);
        assert_eq!(drawn.matches(">0.94<").count(), 4);
        assert_eq!(drawn.matches("<rect").count(), 1 + 4 * 16);
    }

    #[test]
    fn each_brush_is_a_way() {
        let ways = ways_of_brushes();
        assert_eq!(ways.len(), 21);
        assert!(ways.iter().any(|way| way.name == "brush_4x16"));
    }
}
