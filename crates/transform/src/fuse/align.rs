//! Optimal alignment of two sequences with affine gaps.
//!
//! After: Coutinho et al., PACT'11, Definition 4.2, by Gotoh's recurrence. Differs in: two values per cell, one after a
//! pair and one in a gap, since the printed recurrence adds a pair's gain on every arm and subtracts the gap cost on the
//! diagonal; and gaps at the ends cost the same as inner ones, since each is a branch.
//!
//! A gap is a maximal run of unpaired items of one or both sequences: one branch skips all of them.

/// Step of an alignment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AlignmentStep {
    /// An item of each sequence, merged.
    Both(usize, usize),
    /// An item of the left sequence only.
    Left(usize),
    /// An item of the right sequence only.
    Right(usize),
}

/// Profitability matrix of two sequences.
#[derive(Clone, Debug)]
pub struct AlignmentMatrix {
    left: usize,
    right: usize,
    gap: i64,
    /// Maximum profit of alignments that end with this pair.
    paired: Vec<i64>,
    /// Maximum profit of alignments that end in a gap here.
    open: Vec<i64>,
}

/// Lower bound of all sums of gains.
const NEVER: i64 = i64::MIN / 4;

impl AlignmentMatrix {
    /// Computes the matrix of sequences of these lengths. `gain` is the saving of merging two items minus its costs; none if
    /// they cannot be merged. Each gap costs `gap`.
    pub fn new(
        left: usize,
        right: usize,
        gap: i64,
        mut gain: impl FnMut(usize, usize) -> Option<i64>,
    ) -> AlignmentMatrix {
        let cells = (left + 1) * (right + 1);
        let mut matrix =
            AlignmentMatrix { left, right, gap, paired: vec![NEVER; cells], open: vec![NEVER; cells] };
        matrix.paired[0] = 0;
        for i in 0..=left {
            for j in 0..=right {
                let here = matrix.cell(i, j);
                if i > 0
                    && j > 0
                    && let Some(gain) = gain(i - 1, j - 1)
                {
                    matrix.paired[here] = gain + matrix.best(i - 1, j - 1);
                }
                if i > 0 {
                    matrix.open[here] = matrix.inside_gap(i - 1, j);
                }
                if j > 0 {
                    matrix.open[here] = matrix.open[here].max(matrix.inside_gap(i, j - 1));
                }
            }
        }
        matrix
    }

    fn cell(&self, i: usize, j: usize) -> usize {
        i * (self.right + 1) + j
    }

    /// Returns the profit of a gap that continues or opens after this cell.
    fn inside_gap(&self, i: usize, j: usize) -> i64 {
        let cell = self.cell(i, j);
        self.open[cell].max(self.paired[cell] - self.gap)
    }

    /// True if a gap after this cell opens there, after a pair.
    fn opens_gap(&self, i: usize, j: usize) -> bool {
        let cell = self.cell(i, j);
        self.paired[cell] - self.gap >= self.open[cell]
    }

    /// Returns the maximum profit for the first `i` items of the left and the first `j` items of the right sequence.
    pub fn best(&self, i: usize, j: usize) -> i64 {
        let cell = self.cell(i, j);
        self.paired[cell].max(self.open[cell])
    }

    /// Returns the maximum profit of the whole sequences.
    pub fn profit(&self) -> i64 {
        self.best(self.left, self.right)
    }

    /// True if the most profitable alignment of these prefixes ends with a pair.
    pub fn ends_with_pair(&self, i: usize, j: usize) -> bool {
        let cell = self.cell(i, j);
        self.paired[cell] >= self.open[cell]
    }

    /// Returns the most profitable alignment; within a gap the left items come first.
    pub fn alignment(&self) -> Vec<AlignmentStep> {
        let (mut i, mut j) = (self.left, self.right);
        let mut steps = Vec::with_capacity(i + j);
        let mut in_pair = self.ends_with_pair(i, j);
        while i + j > 0 {
            if in_pair {
                (i, j) = (i - 1, j - 1);
                steps.push(AlignmentStep::Both(i, j));
                in_pair = self.ends_with_pair(i, j);
                continue;
            }
            let here = self.open[self.cell(i, j)];
            let left = (i > 0).then(|| (i - 1, j)).filter(|&(i, j)| self.inside_gap(i, j) == here);
            let right = (j > 0).then(|| (i, j - 1)).filter(|&(i, j)| self.inside_gap(i, j) == here);
            // Ties prefer the step that reaches a pair.
            let opens = |&(i, j): &(usize, usize)| self.opens_gap(i, j);
            let goes_left = left.is_some_and(|before| opens(&before) || !right.as_ref().is_some_and(opens));
            if goes_left {
                i -= 1;
                steps.push(AlignmentStep::Left(i));
            } else {
                j -= 1;
                steps.push(AlignmentStep::Right(j));
            }
            in_pair = self.opens_gap(i, j);
        }
        steps.reverse();
        sort_gaps(&mut steps);
        steps
    }
}

/// Sorts the left items of each gap before its right ones.
fn sort_gaps(steps: &mut [AlignmentStep]) {
    for gap in steps.chunk_by_mut(|a, b| is_pair(a) == is_pair(b)) {
        if !is_pair(&gap[0]) {
            gap.sort_unstable();
        }
    }
}

fn is_pair(step: &AlignmentStep) -> bool {
    matches!(step, AlignmentStep::Both(..))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Gain = dyn Fn(u8, u8) -> Option<i64>;

    /// Returns all alignments of sequences of these lengths: their pairs, and the number of gaps.
    fn alignments(left: usize, right: usize) -> Vec<(Vec<(usize, usize)>, i64)> {
        let mut all = Vec::new();
        let mut open = vec![Vec::new()];
        while let Some(pairs) = open.pop() {
            let (i, j) = pairs.last().map_or((0, 0), |&(i, j): &(usize, usize)| (i + 1, j + 1));
            open.extend((i..left).flat_map(|i| (j..right).map(move |j| (i, j))).map(|pair| {
                let mut longer = pairs.clone();
                longer.push(pair);
                longer
            }));
            let (mut gaps, mut at) = (0, (0, 0));
            for &(i, j) in pairs.iter().chain([&(left, right)]) {
                gaps += i64::from((i, j) != at);
                at = (i + 1, j + 1);
            }
            all.push((pairs, gaps));
        }
        all
    }

    /// Computes an alignment's profit by definition; asserts that it visits both sequences in order.
    fn worth(steps: &[AlignmentStep], left: &[u8], right: &[u8], gap: i64, gain: &Gain) -> i64 {
        let (mut i, mut j, mut sum, mut in_gap) = (0, 0, 0, false);
        for &step in steps {
            match step {
                AlignmentStep::Both(x, y) => {
                    assert_eq!((x, y), (i, j));
                    sum += gain(left[x], right[y]).expect("only what can be merged is paired");
                    (i, j, in_gap) = (i + 1, j + 1, false);
                    continue;
                }
                AlignmentStep::Left(x) => {
                    assert_eq!(x, i);
                    i += 1;
                }
                AlignmentStep::Right(y) => {
                    assert_eq!(y, j);
                    j += 1;
                }
            }
            sum -= if in_gap { 0 } else { gap };
            in_gap = true;
        }
        assert_eq!((i, j), (left.len(), right.len()));
        sum
    }

    /// Returns all sequences up to a length.
    fn sequences(letters: u8, longest: usize) -> Vec<Vec<u8>> {
        let mut all = vec![Vec::new()];
        let mut from = 0;
        for _ in 0..longest {
            let until = all.len();
            for index in from..until {
                for letter in 0..letters {
                    let mut longer = all[index].clone();
                    longer.push(letter);
                    all.push(longer);
                }
            }
            from = until;
        }
        all
    }

    /// Compares with exhaustive search over all alignments.
    fn have_same_value(letters: u8, longest: usize, gap: i64, gain: &Gain) -> usize {
        let all = sequences(letters, longest);
        let gains: Vec<Option<i64>> =
            (0..letters).flat_map(|a| (0..letters).map(move |b| (a, b))).map(|(a, b)| gain(a, b)).collect();
        let gain_of = |a: u8, b: u8| gains[usize::from(a * letters + b)];
        for (n, m) in (0..=longest).flat_map(|n| (0..=longest).map(move |m| (n, m))) {
            let alignments = alignments(n, m);
            let of_length = |length: usize| all.iter().filter(move |letters| letters.len() == length);
            for (left, right) in of_length(n).flat_map(|left| of_length(m).map(move |right| (left, right))) {
                let worth_of = |(pairs, gaps): &(Vec<(usize, usize)>, i64)| {
                    let sum =
                        pairs.iter().try_fold(0, |sum, &(i, j)| Some(sum + gain_of(left[i], right[j])?));
                    sum.map(|sum| sum - gap * gaps)
                };
                let best = alignments.iter().filter_map(worth_of).max();
                let matrix = AlignmentMatrix::new(n, m, gap, |i, j| gain(left[i], right[j]));
                assert_eq!(Some(matrix.profit()), best, "{left:?} next to {right:?}");
                let steps = matrix.alignment();
                assert_eq!(Some(worth(&steps, left, right, gap, gain)), best, "{left:?} next to {right:?}");
            }
        }
        all.len() * all.len()
    }

    /// Gain of two letters: positive for equal ones, negative for the first two.
    fn gain(a: u8, b: u8) -> Option<i64> {
        match (a, b) {
            (0, 0) => Some(3),
            (1, 1) => Some(10),
            (0, 1) | (1, 0) => Some(-1),
            (2, 2) => Some(0),
            _ => None,
        }
    }

    #[test]
    fn no_alignment_of_short_sequences_is_better() {
        let pairs: usize = [0, 2, 5].iter().map(|&gap| have_same_value(3, 4, gap, &gain)).sum();
        let longer = have_same_value(2, 7, 2, &gain);
        assert_eq!((pairs, longer), (3 * 121 * 121, 255 * 255));
    }

    /// Fig. 12 with its scores: loads and stores 100, divisions 8, sums and products 2, a product paired with a sum 1, a gap 2.
    /// The selectors of the third and fourth products stand for those of Fig. 10: one pair of products shares an operand.
    #[test]
    fn the_example_of_the_paper_is_aligned_as_printed() {
        let (left, right) = (*b"LL****/+S", *b"LL**/-+S");
        let score = |i: usize, j: usize| {
            let shares = (i, j) == (2, 2) || (i, j) == (4, 3);
            let selectors = if shares { 0 } else { 3 };
            match (left[i], right[j]) {
                (b'L', b'L') | (b'S', b'S') => Some(100),
                (b'/', b'/') => Some(8),
                (b'*', b'*') => Some(2 - selectors),
                (b'+', b'+') => Some(2),
                (b'*', b'+') | (b'+', b'*') => Some(1 - selectors),
                _ => None,
            }
        };
        let matrix = AlignmentMatrix::new(left.len(), right.len(), 2, score);
        let pairs: Vec<(usize, usize)> = matrix
            .alignment()
            .into_iter()
            .filter_map(|step| match step {
                AlignmentStep::Both(i, j) => Some((i + 1, j + 1)),
                _ => None,
            })
            .collect();
        assert_eq!(pairs, [(1, 1), (2, 2), (3, 3), (5, 4), (7, 5), (8, 7), (9, 8)]);
        // 3 loads and stores, 2 products, a division, a sum, 3 gaps.
        assert_eq!(matrix.profit(), 300 + 4 + 8 + 2 - 3 * 2);
    }
}
