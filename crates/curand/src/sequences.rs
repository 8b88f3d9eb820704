//! Sequences that outputs are dealt to in turn, and units of draws that outputs are made of.

use crate::mt19937::Mt19937;
use crate::philox;
use std::collections::VecDeque;

/// Recurrences that step together.
pub trait Recurrence: Send {
    /// Returns the number of sequences.
    fn sequences(&self) -> usize;
    /// Goes to a row: the outputs of all sequences after so many steps.
    fn seek(&mut self, row: u64);
    /// Writes the next row.
    fn next_row(&mut self, row: &mut Vec<u32>);
}

/// Rows that units are made of: as many as the largest unit has, and those that the next call may begin with.
const KEPT: usize = 8;

/// Rows of recurrences, in order.
#[allow(missing_debug_implementations)]
pub struct SequenceRows {
    recurrence: Box<dyn Recurrence>,
    /// The row after the last one that is kept.
    next: u64,
    kept: VecDeque<Vec<u32>>,
}

impl SequenceRows {
    /// Returns the rows of recurrences at their begin.
    pub fn new(recurrence: impl Recurrence + 'static) -> SequenceRows {
        SequenceRows { recurrence: Box::new(recurrence), next: 0, kept: VecDeque::new() }
    }

    /// Makes some rows the last ones that are kept.
    fn keep(&mut self, first: u64, count: u64) {
        let oldest = self.next - self.kept.len() as u64;
        if first < oldest || first > self.next + 64 {
            self.recurrence.seek(first);
            self.kept.clear();
            self.next = first;
        }
        while self.next < first + count {
            let mut row =
                if self.kept.len() >= KEPT { self.kept.pop_front().unwrap_or_default() } else { Vec::new() };
            self.recurrence.next_row(&mut row);
            self.kept.push_back(row);
            self.next += 1;
        }
    }

    /// Returns a row that is kept.
    fn row(&self, row: u64) -> &[u32] {
        &self.kept[self.kept.len() - (self.next - row) as usize]
    }
}

/// Source of draws.
#[allow(missing_debug_implementations)]
pub enum Draws {
    /// Recurrences of which each gives one unit in turn.
    Rows(SequenceRows),
    /// Philox, whose sequences give four outputs in turn.
    Philox {
        /// The seed.
        seed: u64,
    },
    /// One sequence.
    Twister(Mt19937),
}

/// Position of a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct DrawPosition {
    /// Draws that were skipped at first.
    pub offset: u64,
    /// Outputs since.
    pub outputs: u64,
}

/// Returns the first draw of a unit's sequence. At first each sequence skips its part of the offset, one draw in turn; then it gives `width`
/// draws at each turn.
fn first_draw(offset: u64, unit: u64, sequences: u64, width: u64) -> u64 {
    let (row, rest) = (offset / sequences, offset % sequences);
    let skipped = if unit % sequences < rest { width - 1 } else { 0 };
    row + width * ((rest + unit - offset) / sequences) - skipped
}

impl Draws {
    /// Calls with units of `WIDTH` draws for `OUTPUTS` outputs each.
    pub fn units<const WIDTH: usize, const OUTPUTS: usize>(
        &mut self,
        position: DrawPosition,
        count: u64,
        mut call: impl FnMut([u32; WIDTH]),
    ) {
        let outputs = OUTPUTS as u64;
        let width = WIDTH as u64;
        match self {
            Draws::Rows(rows) => {
                let sequences = rows.recurrence.sequences() as u64;
                let rest = position.offset % sequences;
                let mut unit = position.offset + position.outputs.div_ceil(outputs);
                let end = unit + count;
                while unit < end {
                    let sequence = unit % sequences;
                    // Sequences on both sides of the offset are in different rows.
                    let stop = if sequence < rest { rest } else { sequences }.min(sequence + (end - unit));
                    let first = first_draw(position.offset, unit, sequences, width);
                    rows.keep(first, width);
                    let unit_rows: [&[u32]; WIDTH] = std::array::from_fn(|draw| {
                        &rows.row(first + draw as u64)[sequence as usize..stop as usize]
                    });
                    for i in 0..(stop - sequence) as usize {
                        call(unit_rows.map(|row| row[i]));
                    }
                    unit += stop - sequence;
                }
            }
            Draws::Philox { seed } => {
                // Four outputs in turn are of one sequence.
                let (per_group, blocks) = (4 / outputs, width / outputs);
                let mut unit = (position.offset + position.outputs).div_ceil(outputs);
                let end = unit + count;
                while unit < end {
                    let group = unit / per_group;
                    let counter = first_draw(position.offset / 4, group, philox::SEQUENCES, blocks);
                    let mut draws = [[0; 4]; 4];
                    for (block, draws) in draws.iter_mut().enumerate().take(blocks as usize) {
                        *draws = philox::block(*seed, group % philox::SEQUENCES, counter + block as u64);
                    }
                    let draws = draws.as_flattened();
                    while unit < end && unit / per_group == group {
                        let begin = (unit % per_group) as usize * WIDTH;
                        call(std::array::from_fn(|draw| draws[begin + draw]));
                        unit += 1;
                    }
                }
            }
            Draws::Twister(sequence) => {
                let unit = (position.offset + position.outputs).div_ceil(outputs);
                for unit in unit..unit + count {
                    call(std::array::from_fn(|draw| sequence.output(unit * width + draw as u64)));
                }
            }
        }
    }
}
