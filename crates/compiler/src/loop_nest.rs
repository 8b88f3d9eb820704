//! Vectorization of loop nests over brushes of two dimensions: tensors.
//!
//! After: S. Moll, *The Region Vectorizer*, chapter 11. Differs in: rows of the nest that fill no brush run by code of one row, so that a
//! brush has no masks along the outer level.

use crate::context::PassContext;
use crate::marked_loop::begun_at_multiples;
use crate::marked_loop::{LoopCode, error, lanes_in_register, observe_lanes};
use crate::passes::{Pass, SpreadOptions};
use crate::pipeline::run;
use crate::report::merge_access_remarks;
use crate::session::{DiagnosticError, Session, SourceModule};
use heddle_ir::module::DeclaredShape;
use heddle_ir::types::{MAX_DEFAULT_LANES, MAX_LANES};
use heddle_ir::{Code, Diagnostic, Module};
use heddle_transform::widen::wide_name;
use heddle_transform::{NestLevels, fetch_rows_ahead, innermost_time};

/// Brush of a nest: iterations of the outer level times those of the inner one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NestBrush {
    /// Rows: iterations of the outer level.
    pub height: u32,
    /// Iterations of the inner level.
    pub width: u32,
}

/// Request to vectorize a nest of two loops.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NestRequest {
    /// Function that holds the nest and nothing else. Iterations of both levels are independent.
    pub func: String,
    /// Brush; none lets the cost model choose.
    pub brush: Option<NestBrush>,
    /// Trip counts, for the cost model.
    pub trips: NestTrips,
    /// Number of the parameter with the outer level's first iteration. Code of whole brushes begins at a multiple of the brush's height.
    pub first: Option<usize>,
}

/// Trip counts of a nest's levels; none if they are not constant.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct NestTrips {
    /// Number of rows.
    pub outer: Option<u32>,
    /// Length of a row.
    pub inner: Option<u32>,
}

impl NestTrips {
    /// Widest row of a brush that a row of the nest may fill at least half of.
    fn widest(self) -> u32 {
        self.inner.map_or(u32::MAX, |trips| trips.checked_next_power_of_two().unwrap_or(u32::MAX).max(2))
    }

    /// Lanes that run for each iteration of the inner level.
    fn lanes_for_iteration(self, width: u32) -> f64 {
        self.inner.map_or(1.0, |trips| f64::from(trips.next_multiple_of(width)) / f64::from(trips))
    }

    /// True if a row ends before lines that are fetched ahead of it could be written.
    fn is_short_row(self, width: u32) -> bool {
        self.inner.is_some_and(|trips| trips <= SHORT_ROW * width)
    }

    /// Share of rows that fill no brush.
    fn leftover(self, height: u32) -> f64 {
        self.outer.map_or(0.0, |trips| f64::from(trips % height) / f64::from(trips))
    }
}

/// Vector code of a nest.
#[derive(Debug)]
pub struct VectorNest {
    /// Code of whole brushes: the outer level's trip count must be a multiple of the brush's height.
    pub tensor: LoopCode,
    /// Code of single rows, for the others.
    pub rows: LoopCode,
    /// Brush of the tensor.
    pub brush: NestBrush,
    /// Remarks on how loads and stores of the tensor were lowered.
    pub remarks: Vec<Diagnostic>,
}

impl NestBrush {
    /// Extents of the brush's dimensions: the inner level's first.
    fn extents(self) -> [u32; 2] {
        [self.width, self.height]
    }
}

/// Heights of brushes to choose among.
const HEIGHTS: [u32; 3] = [2, 4, 8];

/// Registers of a row to choose among, of brushes and of code of single rows.
const REGISTERS_OF_BRUSH: [u32; 2] = [1, 2];
const REGISTERS_OF_ROW: [u32; 4] = [1, 2, 4, 8];

/// Iterations of the inner loop of code for brushes that write no line which was fetched ahead in the same row.
const SHORT_ROW: u32 = 8;

/// Share of the time of single rows that a brush of several rows must not exceed.
const LEAST_GAIN: f64 = 0.92;

/// Time of a loop's counter and branch, in tenths of a cycle.
const LOOP_OVERHEAD: f64 = 10.0;

/// Lanes of a brush that costs twice its time: where trip counts are small, remainders count.
const LANES_OF_DOUBLE_COST: f64 = 4096.0;

/// Share of the time of a smaller brush that a larger one must not exceed.
const LEAST_GAIN_OF_LARGER: f64 = 0.95;

/// Returns the time of an iteration for a lane with the loop's own, and with what wider brushes lose to remainders.
fn with_overhead(time: f64, lanes: u32) -> f64 {
    let lanes = f64::from(lanes);
    (time + LOOP_OVERHEAD / lanes) * (1.0 + lanes / LANES_OF_DOUBLE_COST)
}

fn check_brush(brush: NestBrush) -> Result<(), Diagnostic> {
    let NestBrush { height, width } = brush;
    let is_brush = height > 1 && width > 1 && height.saturating_mul(width) <= MAX_LANES;
    if is_brush && height.is_power_of_two() && width.is_power_of_two() {
        return Ok(());
    }
    let reason = format!("{height}x{width} is no brush of a nest");
    let help =
        format!("both extents are powers of two from 2 on, and at most {MAX_LANES} lanes run together");
    Err(error(Code::MarkedLoop, &reason).help(help))
}

impl Session {
    /// Vectorizes both levels of the only nest of a function whose arguments are all uniform.
    pub fn vectorize_nest(
        &self,
        source: &SourceModule,
        request: &NestRequest,
    ) -> Result<VectorNest, DiagnosticError> {
        let name = &request.func;
        let (callees, alone) = self.isolate(source, name)?;
        if observe_lanes(&callees.functions, &callees) || observe_lanes(&alone.functions, &callees) {
            let reason = "lanes of the nest observe each other, so one level runs in lanes";
            return Err(error(Code::MarkedLoop, &reason).into());
        }
        let rows = self.spread_nest(&callees, &alone, NestLevels::Inner)?;
        let tensor = self.spread_nest(&callees, &alone, NestLevels::BothInWholeBrushes)?;
        let (brush, mut wide_tensor, remarks) = match request.brush {
            Some(brush) => {
                check_brush(brush)?;
                let tensor = begun_at_multiples(&tensor, name, request.first, brush.height);
                let (wide, remarks) = self.widen_loop(&tensor, name, &brush.extents())?;
                (brush, wide, remarks)
            }
            None => self.choose_brush(&rows, &tensor, request)?,
        };
        let (wide_rows, _) = self.widen_loop(&rows, name, &[brush.width])?;
        if self.cpu.is_x86() && !request.trips.is_short_row(brush.width) {
            fetch_rows_ahead(&mut wide_tensor);
        }
        Ok(VectorNest {
            tensor: self.loop_code(source, &wide_tensor, wide_name(name, &brush.extents()))?,
            rows: self.loop_code(source, &wide_rows, wide_name(name, &[brush.width]))?,
            brush,
            remarks: merge_access_remarks(&remarks),
        })
    }

    /// Returns the brush whose code the cost model estimates to be fastest, with that code and the remarks on it. Refused if code of
    /// single rows is about as fast.
    fn choose_brush(
        &self,
        rows: &Module,
        tensor: &Module,
        request: &NestRequest,
    ) -> Result<(NestBrush, Module, Vec<Diagnostic>), DiagnosticError> {
        let NestRequest { func: name, trips, .. } = request;
        let target = &self.options.target;
        let register = rows.function(name).map_or(2, |func| lanes_in_register(func, self.cpu.vector_bits()));
        let time = |wide: &Module, brush: &[u32]| {
            let lanes = brush.iter().product();
            let innermost = innermost_time(wide, &wide_name(name, brush), lanes, target);
            let time = innermost.map_or(f64::INFINITY, |time| with_overhead(time, lanes));
            time * trips.lanes_for_iteration(brush[0])
        };
        let widths = |registers: &[u32]| {
            let mut widths: Vec<u32> = registers.iter().map(|registers| registers * register).collect();
            widths.push(trips.widest().min(register * registers.iter().max().unwrap_or(&1)));
            widths.retain(|&width| width <= trips.widest() && width <= MAX_DEFAULT_LANES);
            widths.sort_unstable();
            widths.dedup();
            widths
        };
        let mut times_of_rows = Vec::new();
        for width in widths(&REGISTERS_OF_ROW) {
            let (wide, _) = self.widen_loop(rows, name, &[width])?;
            times_of_rows.push((width, time(&wide, &[width])));
        }
        let least_of_rows = times_of_rows.iter().map(|&(_, time)| time).fold(f64::INFINITY, f64::min);
        let mut best: Option<(f64, NestBrush, Module, Vec<Diagnostic>)> = None;
        let brushes = HEIGHTS
            .into_iter()
            .flat_map(|height| widths(&REGISTERS_OF_BRUSH).into_iter().map(move |width| (height, width)));
        for (height, width) in brushes {
            let brush = NestBrush { height, width };
            let is_too_large = (height * width).div_ceil(register) > target.registers / 2;
            if is_too_large || check_brush(brush).is_err() || trips.outer.is_some_and(|trips| trips < height)
            {
                continue;
            }
            let tensor = begun_at_multiples(tensor, name, request.first, height);
            let (wide, remarks) = self.widen_loop(&tensor, name, &brush.extents())?;
            let of_row = times_of_rows.iter().find(|row| row.0 == width).map_or(least_of_rows, |row| row.1);
            let leftover = trips.leftover(height);
            let time = (1.0 - leftover) * time(&wide, &brush.extents()) + leftover * of_row;
            if best.as_ref().is_none_or(|(least, ..)| time < LEAST_GAIN_OF_LARGER * *least) {
                best = Some((time, brush, wide, remarks));
            }
        }
        match best {
            Some((time, brush, wide, remarks)) if time < LEAST_GAIN * least_of_rows => {
                Ok((brush, wide, remarks))
            }
            _ => Err(error(Code::MarkedLoop, &"several rows at a time are not faster than one").into()),
        }
    }

    /// Returns the module with the nest's levels spread over lanes.
    fn spread_nest(
        &self,
        callees: &Module,
        alone: &Module,
        levels: NestLevels,
    ) -> Result<Module, DiagnosticError> {
        let mut alone = alone.clone();
        let mut context = PassContext::verifying(self.verify);
        let spread = SpreadOptions { nest: Some(levels), ..SpreadOptions::default() };
        let passes = [Pass::Simplify, Pass::Canonicalize, Pass::Spread(spread), Pass::Simplify];
        run(&mut alone, &passes, &mut context)?;
        let mut module = callees.clone();
        for mut func in alone.functions {
            for param in &mut func.signature.params {
                param.shape = Some(DeclaredShape::Uniform);
            }
            module.functions.push(func);
        }
        Ok(module)
    }
}
