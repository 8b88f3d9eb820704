//! Calls of functions outside of the module: built-in library functions, and regions launched by sequential code.

use crate::brush::{Brush, LaneFault, RunContext};
use crate::fault::FaultKind;
use crate::lanes::LaneMask;
use crate::math;
use crate::program::PreparedFunction;
use crate::run::{BrushPosition, Datum, LaunchGeometry, linear, tile_of};
use heddle_ir::inst::LaunchDetail;
use heddle_ir::module::{Declaration, DeclaredShape};
use heddle_ir::{Detail, Inst, InstData, Scalar};
use smallvec::SmallVec;

impl<M: LaneMask> Brush<'_, '_, M> {
    /// Calls a declared function that is built into the interpreter.
    pub(crate) fn call_builtin(
        &mut self,
        inst: Inst,
        data: &InstData,
        code: &PreparedFunction<'_>,
        declaration: &Declaration,
        mask: M,
        cx: &mut RunContext<'_>,
    ) -> Result<(), LaneFault> {
        let params: SmallVec<[Scalar; 4]> =
            data.args.iter().map(|&arg| code.func.value_type(arg).scalar()).collect();
        let unknown = || (FaultKind::UnknownFunction(declaration.name.clone()), None);
        let Some(result) = code.func.result(inst) else { return Err(unknown()) };
        let scalar = self.scalar_of(code, result);
        if math::call(&declaration.name, &params, scalar, &vec![0; params.len()]).is_none() {
            return Err(unknown());
        }
        self.write_passive_results(inst, code, mask, cx);
        for lane in mask.lanes() {
            for element in 0..self.elements(code, result) {
                let args: Option<SmallVec<[u128; 4]>> =
                    data.args.iter().map(|&arg| self.get(code, arg, lane, element)).collect();
                let bits = args.and_then(|args| math::call(&declaration.name, &params, scalar, &args));
                self.set(code, result, lane, element, bits);
            }
        }
        Ok(())
    }

    /// Runs a region with its own lanes.
    pub(crate) fn launch(
        &mut self,
        inst: Inst,
        data: &InstData,
        code: &PreparedFunction<'_>,
        mask: M,
        cx: &mut RunContext<'_>,
    ) -> Result<(), LaneFault> {
        let misplaced = |reason: &str| Err((FaultKind::Misplaced(reason.into()), None));
        let Detail::Launch(launch) = &data.detail else { return Ok(()) };
        if self.lanes != 1 {
            return misplaced("a region is launched from sequential code, which runs with one lane");
        }
        if mask.is_none() {
            return Ok(());
        }
        let Some(declaration) = code.func.callee_of(data) else {
            return misplaced("the region is not declared");
        };
        let Some(entry) = self.program.find_callee(declaration) else {
            return Err((FaultKind::UnknownFunction(declaration.name.clone()), None));
        };
        let args = self.launch_args(data, code, launch, declaration);
        let lanes = launch.lanes() as usize;
        let mut taking_part = M::first(lanes);
        if launch.masked {
            let Some(&mask) = data.args.last() else { return Ok(()) };
            taking_part = M::NONE;
            for lane in 0..lanes {
                match self.get(code, mask, 0, lane) {
                    None => return Err((FaultKind::ControlOnPoison(mask), None)),
                    Some(0) => {}
                    Some(_) => taking_part |= M::of(lane),
                }
            }
        }
        let position = self.region_position(launch);
        let dims = launch.brush.to_vec();
        let nested = Brush::with_mask(
            self.program,
            entry,
            &args,
            position,
            dims,
            self.number,
            taking_part,
            Some((&*self, inst)),
            cx,
        );
        // A launch is ordered after all earlier accesses and before all later ones.
        cx.epoch += 1;
        let results = nested
            .and_then(|mut region| region.run_region(cx))
            .map_err(|fault| (FaultKind::InRegion(fault.into()), None))?;
        cx.epoch += 1;
        for (&value, lanes_of_result) in code.func.results(inst).iter().zip(results) {
            for element in 0..self.elements(code, value) {
                let bits = match self.elements_if_vector(code, value) {
                    Some(_) => lanes_of_result[element].bits(),
                    // A uniform result is that of any participating lane.
                    None => taking_part.lanes().next().and_then(|lane| lanes_of_result[lane].bits()),
                };
                self.set(code, value, 0, element, bits);
            }
        }
        Ok(())
    }

    fn launch_args(
        &self,
        data: &InstData,
        code: &PreparedFunction<'_>,
        launch: &LaunchDetail,
        declaration: &Declaration,
    ) -> Vec<Vec<Datum>> {
        let lanes = launch.lanes() as usize;
        let params = declaration.signature.params.iter().zip(&data.args);
        params
            .map(|(param, &arg)| {
                let mask = param.ty.scalar().bit_mask();
                let lane_value = |lane: usize| match &param.shape {
                    None | Some(DeclaredShape::Varying) => self.get(code, arg, 0, lane),
                    Some(DeclaredShape::Uniform) => self.get(code, arg, 0, 0),
                    Some(DeclaredShape::Linear(strides)) => self
                        .get(code, arg, 0, 0)
                        .map(|base| linear(base, strides, lane, &launch.brush) & mask),
                };
                (0..lanes).map(|lane| lane_value(lane).into()).collect()
            })
            .collect()
    }

    /// Places the lanes of a region as the work-items of one group of its size.
    fn region_position(&self, launch: &LaunchDetail) -> BrushPosition {
        let local = tile_of(&launch.brush);
        let index = |lane: u32| [lane % local[0], lane / local[0] % local[1], lane / local[0] / local[1]];
        BrushPosition {
            geometry: LaunchGeometry {
                dims: launch.brush.len().min(3) as u32,
                local,
                groups: [1; 3],
                offset: [0; 3],
            },
            group: [0; 3],
            size: local,
            global: local.map(u64::from),
            group_number: self.position.group_number,
            local: (0..launch.lanes()).map(|lane| Some(index(lane))).collect(),
        }
    }
}
