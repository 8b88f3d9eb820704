//! Initial facts: shapes of parameters, geometry, and entry activation.

use heddle_ir::Function;
use heddle_ir::module::{DeclaredShape, FunctionKind};
use std::sync::Arc;

use super::ResultSummaries;
use crate::shape::{Activation, Fact, Geometry, TransferContext, UniformityLevel, declared_fact};

/// Facts that hold on entry to a function.
#[derive(Clone, Debug)]
pub struct InitialShapes {
    /// Facts of the parameters.
    pub params: Vec<Fact>,
    /// Geometry of brush, work-group and launch.
    pub geometry: Geometry,
    /// Lanes that enter the function.
    pub entry: Activation,
    /// Result summaries of the callees.
    pub callees: Arc<ResultSummaries>,
}

impl InitialShapes {
    /// Facts as the function declares them. Parameters of a kernel are uniform across the launch. Any lanes may enter.
    pub fn declared(func: &Function, geometry: Geometry) -> Self {
        Self::with(func, geometry, None)
    }

    /// Declared facts, with parameters without a declared shape taken as uniform.
    pub fn uniform(func: &Function, geometry: Geometry) -> Self {
        Self::with(func, geometry, Some(DeclaredShape::Uniform))
    }

    fn with(func: &Function, geometry: Geometry, otherwise: Option<DeclaredShape>) -> Self {
        let is_kernel = matches!(func.kind, FunctionKind::Kernel(_));
        let otherwise = if is_kernel { Some(DeclaredShape::Uniform) } else { otherwise };
        let context = TransferContext::new(geometry.clone());
        let params = func.signature.params.iter().map(|param| {
            let shape = param.shape.as_ref().or(otherwise.as_ref());
            let fact = declared_fact(param.ty, shape, param.align, &context);
            if is_kernel && fact.is_uniform() { fact.with_level(UniformityLevel::Launch) } else { fact }
        });
        Self { params: params.collect(), geometry, entry: Activation::Varying, callees: Arc::default() }
    }

    /// Adds result summaries of callees.
    #[must_use]
    pub fn with_summaries(self, callees: &Arc<ResultSummaries>) -> Self {
        Self { callees: Arc::clone(callees), ..self }
    }

    /// Sets the lanes that enter the function.
    #[must_use]
    pub fn with_entry(self, entry: Activation) -> Self {
        Self { entry, ..self }
    }
}
