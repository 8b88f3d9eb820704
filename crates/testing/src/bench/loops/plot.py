#!/usr/bin/env python3
"""Draws what `./x bench loops` has measured, in the manner of figures 13.3 to 13.7 of Moll's thesis.

    python3 crates/testing/src/bench/loops/plot.py target/bench/loops.txt docs/figures

writes `searches.svg` (how many times faster than scalar code, by the spread of queries) and `loops.svg` (each loop, by compiler).
"""

import math
import re
import sys
from pathlib import Path

COLOURS = ["#1b6ca8", "#c8553d", "#3a7d44", "#8e5aa8"]
SEARCHES = ["kd", "vp", "pc", "mpc"]
KINDS = [("f32", "random"), ("f64", "random"), ("f32", "clustered"), ("f64", "clustered")]
STYLE = "font-family='sans-serif' font-size='11' fill='#222'"


def read(path):
    """Rows of the table of ways, and curves over spreads."""
    rows, curves, ways = [], {}, []
    for line in Path(path).read_text().splitlines():
        cells = [cell for cell in re.split(r"\s{2,}", line.strip()) if cell]
        if cells and cells[0] == "loop":
            ways = cells[1:]
        elif ways and len(cells) == len(ways) + 1 and all(re.fullmatch(r"\d+\.\d+|-", cell) for cell in cells[1:]):
            rows.append((cells[0], [0 if cell == "-" else float(cell) for cell in cells[1:]]))
        elif len(cells) == 2 and re.fullmatch(r"\d+\.\d+( \d+\.\d+){4,}", cells[1]):
            curves[cells[0]] = [float(figure) for figure in cells[1].split()]
    return ways, rows, curves


def text(x, y, words, anchor="start", more=""):
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' {STYLE} {more}>{words}</text>"


def line(points, colour, width=1.0, more=""):
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='{width}' {more}/>"


def picture(width, height, parts):
    head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}'>"
    return "\n".join([head, f"<rect width='{width}' height='{height}' fill='#fff'/>", *parts, "</svg>"]) + "\n"


def searches(curves):
    """Small multiples: a column for each search, a row for each number of dimensions."""
    wide, high, low_figure, high_figure = 190, 150, 0.5, 16.0
    parts = []

    def y_of(figure, top):
        share = math.log(min(max(figure, low_figure), high_figure) / low_figure) / math.log(high_figure / low_figure)
        return top + high - share * high

    for row, dims in enumerate(["2D", "9D"]):
        for column, search in enumerate(SEARCHES):
            left, top = 45 + column * (wide + 30), 30 + row * (high + 50)
            parts.append(text(left + wide / 2, top - 8, f"{search}, {dims}", "middle"))
            for figure in [0.5, 1, 2, 4, 8, 16]:
                y = y_of(figure, top)
                parts.append(line([(left, y), (left + wide, y)], "#888" if figure == 1 else "#ddd"))
                parts.append(text(left - 5, y + 4, f"{figure:g}", "end"))
            for spread in range(2, 11, 2):
                parts.append(text(left + (spread - 1) / 9 * wide, top + high + 15, f"{spread / 10:g}", "middle"))
            for (kind, data), colour in zip(KINDS, COLOURS):
                figures = curves.get(f"{search} {dims} {kind} {data}", [])
                points = [(left + at / 9 * wide, y_of(figure, top)) for at, figure in enumerate(figures)]
                if points:
                    parts.append(line(points, colour, 1.8))
    bottom = 30 + 2 * (high + 50) + 5
    for at, ((kind, data), colour) in enumerate(zip(KINDS, COLOURS)):
        left = 45 + at * 170
        parts.append(line([(left, bottom), (left + 25, bottom)], colour, 2.5))
        parts.append(text(left + 31, bottom + 4, f"{kind}, {data} points"))
    words = "times faster than scalar code, by the spread of queries"
    parts.append(text(45 + 4 * (wide + 30) - 30, bottom + 4, words, "end"))
    return picture(45 + 4 * (wide + 30), bottom + 20, parts)


def bars(ways, rows):
    """A bar for each compiler and loop."""
    shown = [(at, way) for at, way in enumerate(ways) if way in ("clang", "gcc", "heddle", "ispc")]
    each, left, wide = 9, 210, 520
    most = max(max(figures) for _, figures in rows)
    scale = wide / math.log2(max(most, 2) * 4)
    parts, y = [], 30
    for way, (_, name) in enumerate(shown):
        parts.append(f"<rect x='{left + way * 90}' y='8' width='12' height='9' fill='{COLOURS[way]}'/>")
        parts.append(text(left + way * 90 + 17, 17, name))
    for name, figures in rows:
        parts.append(text(left - 8, y + each * 2, name, "end"))
        for way, (at, _) in enumerate(shown):
            # Not all loops are written in all languages.
            if not figures[at]:
                continue
            length = max(math.log2(max(figures[at], 0.25) * 4) * scale, 1)
            parts.append(f"<rect x='{left}' y='{y + way * each}' width='{length:.1f}' height='{each - 1}' fill='{COLOURS[way]}'/>")
            parts.append(text(left + length + 4, y + way * each + 8, f"{figures[at]:.2f}", more="style='font-size:9px'"))
        y += each * len(shown) + 8
    parts.append(line([(left + 2 * scale, 25), (left + 2 * scale, y)], "#444", 1, "stroke-dasharray='3 3'"))
    return picture(left + wide + 60, y + 10, parts)


def main():
    source, folder = sys.argv[1], Path(sys.argv[2])
    ways, rows, curves = read(source)
    if not rows:
        sys.exit(f"{source} holds no table of `./x bench loops`")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "searches.svg").write_text(searches(curves))
    (folder / "loops.svg").write_text(bars(ways, rows))


main()
