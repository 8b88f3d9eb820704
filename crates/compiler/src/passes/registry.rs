//! Registration of passes.

/// Declares the modules of passes, the enum of passes with their options, and their table. A pass's module has the constant `INFO` and
/// the function `run(options, module, context)`, or `run(module, context)` for a pass without options.
macro_rules! passes {
    ($($(#[doc = $doc:literal])* $module:ident => $variant:ident $(($options:ty))?;)*) => {
        $(mod $module;)*

        /// A pass with its options.
        #[derive(Clone, Debug)]
        pub enum Pass { $($(#[doc = $doc])* $variant $(($options))?,)* }

        /// All passes, in the order of the pipeline.
        pub const PASSES: &[&PassInfo] = &[$(&$module::INFO,)*];

        impl Pass {
            /// Returns the pass's description.
            pub fn info(&self) -> &'static PassInfo {
                match self { $(passes!(@pattern $variant _options $(($options))?) => &$module::INFO,)* }
            }

            /// Runs the pass on a module at the required stage.
            pub(crate) fn run(&self, module: &mut Module, context: &mut PassContext<'_>) -> Result<(), Diagnostic> {
                match self {
                    $(passes!(@pattern $variant options $(($options))?) => passes!(@run $module options module context $(($options))?),)*
                }
            }
        }
    };
    (@pattern $variant:ident $name:ident ($options:ty)) => { Pass::$variant($name) };
    (@pattern $variant:ident $name:ident) => { Pass::$variant };
    (@run $pass:ident $options_name:ident $program:ident $context:ident ($options:ty)) => { $pass::run($options_name, $program, $context) };
    (@run $pass:ident $options_name:ident $program:ident $context:ident) => { $pass::run($program, $context) };
}

pub(super) use passes;
