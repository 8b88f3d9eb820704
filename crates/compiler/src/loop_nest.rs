//! Vectorization of loop nests over brushes of two dimensions: tensors.
//!
//! After: S. Moll, *The Region Vectorizer*, chapter 11. Differs in: rows of the nest that fill no brush run by code of one level, so that a
//! brush has no masks along the outer level; the model chooses the projection, by code of the smallest brush.

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
use heddle_transform::{LoopPromises, NestLevels, NestProjection, fetch_rows_ahead, innermost_time};

/// Extents of a nest's brush: iterations of the outer level times those of the inner one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NestExtents {
    /// Rows: iterations of the outer level.
    pub height: u32,
    /// Iterations of the inner level.
    pub width: u32,
}

/// Brush of a nest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NestBrush {
    /// Iterations that run together.
    pub extents: NestExtents,
    /// Order of these iterations as lanes.
    pub projection: NestProjection,
}

/// Request to vectorize a nest of two loops.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NestRequest {
    /// Function that holds the nest and nothing else. Iterations of both levels are independent.
    pub func: String,
    /// Extents of the brush; none lets the cost model choose.
    pub extents: Option<NestExtents>,
    /// Projection of the brush; none lets the cost model choose.
    pub projection: Option<NestProjection>,
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
    /// Trip counts of the levels along dimension 0 and along dimension 1.
    fn in_order(self, projection: NestProjection) -> [Option<u32>; 2] {
        projection.in_order(self.inner, self.outer)
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

/// Most lanes of which a level fills at least half.
fn most_lanes(trips: Option<u32>) -> u32 {
    trips.map_or(u32::MAX, |trips| trips.checked_next_power_of_two().unwrap_or(u32::MAX).max(2))
}

/// Lanes that run for each iteration of a level.
fn lanes_for_iteration(trips: Option<u32>, lanes: u32) -> f64 {
    trips.map_or(1.0, |trips| f64::from(trips.next_multiple_of(lanes)) / f64::from(trips))
}

/// Vector code of a nest.
#[derive(Debug)]
pub struct VectorNest {
    /// Code of whole brushes: the outer level's trip count must be a multiple of the brush's height.
    pub tensor: LoopCode,
    /// Code for any number of rows, for the others: one level runs in lanes.
    pub rows: LoopCode,
    /// Brush of the tensor.
    pub brush: NestBrush,
    /// Bytes of the first-level cache, if the cost model chose the brush: rows that evict one another run faster one at a time.
    pub cache: Option<u32>,
    /// Remarks on how loads and stores of the tensor were lowered.
    pub remarks: Vec<Diagnostic>,
}

impl NestBrush {
    /// Returns the brush whose lanes along dimension 0 and along dimension 1 are so many.
    fn of_lanes(lanes: [u32; 2], projection: NestProjection) -> NestBrush {
        let [width, height] = projection.in_order(lanes[0], lanes[1]);
        NestBrush { extents: NestExtents { height, width }, projection }
    }

    /// Lanes along each dimension.
    fn lanes(self) -> [u32; 2] {
        self.projection.in_order(self.extents.width, self.extents.height)
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

/// Share of the time of the usual projection that the other one must not exceed.
const LEAST_GAIN_OF_PROJECTION: f64 = 0.8;

/// Returns the time of an iteration for a lane with the loop's own, and with what wider brushes lose to remainders.
fn with_overhead(time: f64, lanes: u32) -> f64 {
    let lanes = f64::from(lanes);
    (time + LOOP_OVERHEAD / lanes) * (1.0 + lanes / LANES_OF_DOUBLE_COST)
}

fn check_extents(extents: NestExtents) -> Result<(), Diagnostic> {
    let NestExtents { height, width } = extents;
    let is_brush = height > 1 && width > 1 && height.saturating_mul(width) <= MAX_LANES;
    if is_brush && height.is_power_of_two() && width.is_power_of_two() {
        return Ok(());
    }
    let reason = format!("{height}x{width} is no brush of a nest");
    let help =
        format!("both extents are powers of two from 2 on, and at most {MAX_LANES} lanes run together");
    Err(error(Code::MarkedLoop, &reason).help(help))
}

/// Code of a brush, and remarks on it.
type WidenedBrush = (Module, Vec<Diagnostic>);

/// Nest with its levels in lanes, not widened yet.
struct SpreadNest {
    projection: NestProjection,
    /// Both levels in lanes.
    tensor: Module,
    /// The level along dimension 0 in lanes.
    single: Module,
}

/// Choice of a nest's brush.
struct NestChoice<'a> {
    session: &'a Session,
    request: &'a NestRequest,
    nest: &'a SpreadNest,
    /// Lanes that fill a register.
    register: u32,
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
        if let Some(extents) = request.extents {
            check_extents(extents)?;
        }
        let spread = |projection| self.spread_both(&callees, &alone, projection);
        let nest = match request.projection {
            Some(projection) => spread(projection)?,
            None => {
                let usual = spread(NestProjection::InnerFirst)?;
                // A level that does not become lanes by itself leaves the usual projection.
                match spread(NestProjection::OuterFirst) {
                    Ok(other) => self.choose_projection(request, usual, other)?,
                    Err(_) => usual,
                }
            }
        };
        let choice = NestChoice::new(self, request, &nest);
        let (brush, (mut wide_tensor, remarks)) = match request.extents {
            Some(extents) => {
                let brush = NestBrush { extents, projection: nest.projection };
                (brush, choice.widen(brush)?)
            }
            None => choice.choose()?,
        };
        let [along, _] = brush.lanes();
        let (wide_rows, _) = self.widen_loop(&nest.single, name, &[along])?;
        let writes_rows = brush.projection == NestProjection::InnerFirst;
        if self.cpu.is_x86() && writes_rows && !request.trips.is_short_row(along) {
            fetch_rows_ahead(&mut wide_tensor);
        }
        Ok(VectorNest {
            tensor: self.loop_code(source, &wide_tensor, wide_name(name, &brush.lanes()))?,
            rows: self.loop_code(source, &wide_rows, wide_name(name, &[along]))?,
            brush,
            cache: self.options.target.first_level_cache.filter(|_| request.extents.is_none()),
            remarks: merge_access_remarks(&remarks),
        })
    }

    /// Returns the nest whose small brushes are estimated to be faster: the usual one, unless the other one is clearly so.
    fn choose_projection(
        &self,
        request: &NestRequest,
        usual: SpreadNest,
        other: SpreadNest,
    ) -> Result<SpreadNest, DiagnosticError> {
        let time = |nest: &SpreadNest| -> Result<f64, DiagnosticError> {
            let choice = NestChoice::new(self, request, nest);
            let brush = match request.extents {
                Some(extents) => NestBrush { extents, projection: nest.projection },
                None => NestBrush::of_lanes([choice.register, HEIGHTS[0]], nest.projection),
            };
            let (wide, _) = choice.widen(brush)?;
            Ok(choice.time(&wide, &brush.lanes()))
        };
        let is_faster = time(&other)? < LEAST_GAIN_OF_PROJECTION * time(&usual)?;
        Ok(if is_faster { other } else { usual })
    }

    /// Spreads both levels of the nest over lanes, and the level along dimension 0 alone.
    fn spread_both(
        &self,
        callees: &Module,
        alone: &Module,
        projection: NestProjection,
    ) -> Result<SpreadNest, DiagnosticError> {
        let nest = Some(NestLevels::BothInWholeBrushes);
        let both = SpreadOptions { nest, projection, ..SpreadOptions::default() };
        let single = match projection {
            NestProjection::InnerFirst => {
                SpreadOptions { nest: Some(NestLevels::Inner), ..SpreadOptions::default() }
            }
            NestProjection::OuterFirst => {
                SpreadOptions { promises: LoopPromises { is_parallel: true }, ..SpreadOptions::default() }
            }
        };
        Ok(SpreadNest {
            projection,
            tensor: self.spread_nest(callees, alone, both)?,
            single: self.spread_nest(callees, alone, single)?,
        })
    }

    /// Returns the module with levels of the nest spread over lanes.
    fn spread_nest(
        &self,
        callees: &Module,
        alone: &Module,
        spread: SpreadOptions,
    ) -> Result<Module, DiagnosticError> {
        let mut alone = alone.clone();
        let mut context = PassContext::verifying(self.verify);
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

impl<'a> NestChoice<'a> {
    fn new(session: &'a Session, request: &'a NestRequest, nest: &'a SpreadNest) -> NestChoice<'a> {
        let func = nest.single.function(&request.func);
        let register = func.map_or(2, |func| lanes_in_register(func, session.cpu.vector_bits()));
        NestChoice { session, request, nest, register }
    }

    fn widen(&self, brush: NestBrush) -> Result<WidenedBrush, DiagnosticError> {
        let NestRequest { func, first, .. } = self.request;
        let tensor = begun_at_multiples(&self.nest.tensor, func, *first, brush.extents.height);
        Ok(self.session.widen_loop(&tensor, func, &brush.lanes())?)
    }

    /// Estimates the time of an iteration for a lane of code for such lanes.
    fn time(&self, wide: &Module, lanes: &[u32]) -> f64 {
        let name = wide_name(&self.request.func, lanes);
        let lanes = lanes.iter().product();
        let time = innermost_time(wide, &name, lanes, &self.session.options.target);
        time.map_or(f64::INFINITY, |time| with_overhead(time, lanes))
    }

    /// Numbers of lanes along dimension 0 to choose among.
    fn lanes_along(&self, registers: &[u32]) -> Vec<u32> {
        let [trips, _] = self.request.trips.in_order(self.nest.projection);
        let most = most_lanes(trips);
        let mut lanes: Vec<u32> = registers.iter().map(|registers| registers * self.register).collect();
        lanes.push(most.min(self.register * registers.iter().max().unwrap_or(&1)));
        lanes.retain(|&lanes| lanes <= most && lanes <= MAX_DEFAULT_LANES);
        lanes.sort_unstable();
        lanes.dedup();
        lanes
    }

    /// Returns the brush whose code the cost model estimates to be fastest, with that code and the remarks on it. Refused if code of
    /// one level in lanes is about as fast.
    fn choose(&self) -> Result<(NestBrush, WidenedBrush), DiagnosticError> {
        let NestRequest { func: name, trips, .. } = self.request;
        let [trips_along, _] = trips.in_order(self.nest.projection);
        let mut times_of_single = Vec::new();
        for lanes in self.lanes_along(&REGISTERS_OF_ROW) {
            let (wide, _) = self.session.widen_loop(&self.nest.single, name, &[lanes])?;
            let time = self.time(&wide, &[lanes]) * lanes_for_iteration(trips_along, lanes);
            times_of_single.push((lanes, time));
        }
        let least_of_single = times_of_single.iter().map(|&(_, time)| time).fold(f64::INFINITY, f64::min);
        let mut best: Option<(f64, NestBrush, WidenedBrush)> = None;
        let across_and_along = HEIGHTS.into_iter().flat_map(|across| {
            self.lanes_along(&REGISTERS_OF_BRUSH).into_iter().map(move |along| (across, along))
        });
        for (across, along) in across_and_along {
            let brush = NestBrush::of_lanes([along, across], self.nest.projection);
            let NestExtents { height, width } = brush.extents;
            let is_too_large =
                (height * width).div_ceil(self.register) > self.session.options.target.registers / 2;
            let is_too_high = trips.outer.is_some_and(|trips| trips < height);
            if is_too_large || is_too_high || check_extents(brush.extents).is_err() {
                continue;
            }
            let wide = self.widen(brush)?;
            let of_single = times_of_single.iter().find(|(lanes, _)| *lanes == along);
            let of_single = of_single.map_or(least_of_single, |&(_, time)| time);
            let of_brush = self.time(&wide.0, &brush.lanes()) * lanes_for_iteration(trips.inner, width);
            let leftover = trips.leftover(height);
            let time = (1.0 - leftover) * of_brush + leftover * of_single;
            if best.as_ref().is_none_or(|(least, ..)| time < LEAST_GAIN_OF_LARGER * *least) {
                best = Some((time, brush, wide));
            }
        }
        match best {
            Some((time, brush, wide)) if time < LEAST_GAIN * least_of_single => Ok((brush, wide)),
            _ => Err(error(Code::MarkedLoop, &"several rows at a time are not faster than one").into()),
        }
    }
}
