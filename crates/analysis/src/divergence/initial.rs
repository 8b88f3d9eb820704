//! What is known before: shapes of parameters, places of lanes, which of them enter.

use heddle_ir::Function;
use heddle_ir::module::{DeclaredShape, FunctionKind};
use std::sync::Arc;

use super::ResultSummaries;
use crate::shape::{Activation, Fact, Geometry, TransferContext, UniformityLevel, declared_fact};

/// What is known before.
#[derive(Clone, Debug)]
pub struct InitialShapes {
    /// Of each parameter.
    pub params: Vec<Fact>,
    /// The lanes' places.
    pub geometry: Geometry,
    /// Which lanes enter the function.
    pub entry: Activation,
    /// What functions return that it calls.
    pub callees: Arc<ResultSummaries>,
}

impl InitialShapes {
    /// What the function itself declares; of a kernel, parameters are the same for the whole launch. Any lanes may
    /// enter.
    pub fn declared(func: &Function, geometry: Geometry) -> Self {
        Self::with(func, geometry, None)
    }

    /// The same, and parameters of which nothing is declared are uniform.
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
            if is_kernel && fact.is_uniform() { fact.at(UniformityLevel::Launch) } else { fact }
        });
        Self { params: params.collect(), geometry, entry: Activation::Varying, callees: Arc::default() }
    }

    /// The same, where this is known of functions that it calls.
    #[must_use]
    pub fn with_summaries(self, callees: &Arc<ResultSummaries>) -> Self {
        Self { callees: Arc::clone(callees), ..self }
    }

    /// The same, entered by these lanes.
    #[must_use]
    pub fn with_entry(self, entry: Activation) -> Self {
        Self { entry, ..self }
    }
}
