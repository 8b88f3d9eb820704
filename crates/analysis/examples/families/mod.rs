//! Graph families on which careless analyses turn quadratic.

/// Graph family: name, reducibility, and a generator of the edges for about a given number of blocks.
pub(crate) struct GraphFamily {
    pub(crate) name: &'static str,
    pub(crate) is_reducible: bool,
    pub(crate) edges: fn(usize) -> GraphShape,
}

/// Number of blocks and edges; block 0 is the entry.
pub(crate) type GraphShape = (usize, Vec<(usize, usize)>);

/// All families.
pub(crate) const FAMILIES: &[GraphFamily] = &[
    GraphFamily { name: "chain", is_reducible: true, edges: chain },
    GraphFamily { name: "ladder", is_reducible: true, edges: ladder },
    GraphFamily { name: "upward ladder", is_reducible: true, edges: upward_ladder },
    GraphFamily { name: "nested loops, depth sqrt(n)", is_reducible: true, edges: loops_of_sqrt_depth },
    GraphFamily { name: "nested loops, depth n/2", is_reducible: true, edges: loops_of_full_depth },
    GraphFamily { name: "breaks out of sqrt(n) loops", is_reducible: true, edges: breaks },
    GraphFamily { name: "if cascade", is_reducible: true, edges: if_cascade },
    GraphFamily { name: "switch", is_reducible: true, edges: switch },
    GraphFamily { name: "mesh", is_reducible: false, edges: mesh },
    GraphFamily { name: "nest entered everywhere", is_reducible: false, edges: irreducible_nest },
];

fn chain(size: usize) -> GraphShape {
    (size, (1..size).map(|to| (to - 1, to)).collect())
}

/// Two rails with rungs from the first to the second: only the start dominates the second rail.
fn ladder(size: usize) -> GraphShape {
    let half = size / 2;
    let mut edges = Vec::new();
    for at in 0..half {
        if at + 1 < half {
            edges.push((at, at + 1));
            edges.push((half + at, half + at + 1));
        }
        edges.push((at, half + at));
    }
    (2 * half, edges)
}

/// A chain down, and rungs to a second chain that runs back up: the common dominator of each of its blocks is far away.
fn upward_ladder(size: usize) -> GraphShape {
    let half = size / 2;
    let mut edges = Vec::new();
    for at in 0..half {
        if at + 1 < half {
            edges.push((at, at + 1));
            edges.push((half + at + 1, half + at));
        }
        edges.push((at, half + at));
    }
    (2 * half, edges)
}

/// `depth` nested loops, `for (..) for (..) ..`, with each header as exit.
fn nest(edges: &mut Vec<(usize, usize)>, first: usize, depth: usize) {
    for level in 0..depth {
        let (header, latch) = (first + level, first + 2 * depth - 1 - level);
        edges.push((latch, header));
        if level + 1 < depth {
            edges.push((header, header + 1));
            edges.push((header + 1, latch));
        } else {
            edges.push((header, latch));
        }
    }
}

fn loops_of_full_depth(size: usize) -> GraphShape {
    let depth = size / 2;
    let mut edges = Vec::new();
    nest(&mut edges, 0, depth);
    edges.push((0, 2 * depth));
    (2 * depth + 1, edges)
}

fn loops_of_sqrt_depth(size: usize) -> GraphShape {
    let depth = size.isqrt();
    let count = size / (2 * depth);
    let mut edges = Vec::new();
    for nth in 0..count {
        nest(&mut edges, 2 * depth * nth, depth);
        edges.push((2 * depth * nth, 2 * depth * (nth + 1)));
    }
    (2 * depth * count + 1, edges)
}

/// One deep nest; the remaining blocks are in its innermost loop, and each may leave any of the loops.
fn breaks(size: usize) -> GraphShape {
    let depth = size.isqrt();
    let body = size - 2 * depth - 1;
    let mut edges = Vec::new();
    nest(&mut edges, 0, depth);
    edges.push((0, size - 1));
    let first = 2 * depth;
    edges.push((depth - 1, first));
    for at in 0..body {
        let next = if at + 1 < body { first + at + 1 } else { depth };
        edges.push((first + at, next));
        edges.push((first + at, 2 * depth - 1 - at % depth));
    }
    (size, edges)
}

/// `if (..) goto end;` repeated.
fn if_cascade(size: usize) -> GraphShape {
    let last = size - 1;
    (size, (0..last).flat_map(|at| [(at, at + 1), (at, last)]).collect())
}

fn switch(size: usize) -> GraphShape {
    let last = size - 1;
    (size, (1..last).flat_map(|arm| [(0, arm), (arm, last)]).collect())
}

/// A square of blocks, each with edges right and down, and some back up and left.
fn mesh(size: usize) -> GraphShape {
    let side = size.isqrt();
    let mut edges = Vec::new();
    for row in 0..side {
        for column in 0..side {
            let at = row * side + column;
            if column + 1 < side {
                edges.push((at, at + 1));
            }
            if row + 1 < side {
                edges.push((at, at + side));
            }
            if row > 0 && column > 0 && (row * 7 + column * 3) % 5 == 0 {
                edges.push((at, at - side - 1));
            }
        }
    }
    (side * side, edges)
}

/// Nested cycles, each also entered in its middle by the entry.
fn irreducible_nest(size: usize) -> GraphShape {
    let depth = size / 2;
    let mut edges = Vec::new();
    nest(&mut edges, 1, depth);
    edges.insert(0, (0, 1));
    edges.extend((1..=2 * depth).map(|at| (0, at)));
    (2 * depth + 1, edges)
}
