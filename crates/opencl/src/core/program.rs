//! Programs: from source, SPIR-V or binary to kernels.

use crate::cl::*;
use crate::core::binary::{self, Binary};
use crate::core::compiler::{self, CompiledProgram, LinkOutput};
use crate::core::context::{ClContext, Destructors};
use crate::core::device::Device;
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::launch::ClExecutable;
use crate::core::registry::ObjectHandle;
use heddle_ir::Space;
use heddle_runtime::exit::busy;
use heddle_spirv::{SpecializationConstant, SpirvOptions};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
struct ProgramState {
    status: i32,
    options: String,
    log: String,
    /// Binary of a successful build.
    binary: Option<Arc<Binary>>,
    /// Executable of a linked program.
    code: Option<Arc<ClExecutable>>,
}

/// Origin of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    Source,
    /// SPIR-V.
    Il,
    Binary,
    /// Linked from compiled programs.
    Linking,
}

/// Program.
pub struct ClProgram {
    pub(crate) handle: ObjectHandle<ClProgram>,
    /// Owning context.
    pub context: Arc<ClContext>,
    /// Devices of the program. They run the same code, so a build for one of them is a build for all.
    pub devices: Vec<Arc<Device>>,
    /// Source text; empty without one.
    pub source: String,
    /// SPIR-V module; empty without one.
    pub il: Vec<u8>,
    /// Specialization constants of the module.
    specializable: Vec<SpecializationConstant>,
    /// Values given to them.
    specialized: Mutex<SpirvOptions>,
    origin: Origin,
    state: Mutex<ProgramState>,
    /// Number of live kernels.
    kernels: AtomicUsize,
    /// Destructor callbacks.
    pub destructors: Destructors,
}

crate::object!(ClProgram, CL_INVALID_PROGRAM);

impl fmt::Debug for ClProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Program({:?})", self.handle)
    }
}

impl ClProgram {
    fn new(
        context: &Arc<ClContext>,
        devices: Vec<Arc<Device>>,
        origin: Origin,
        source: String,
        binary: Option<Binary>,
    ) -> ClProgram {
        ClProgram {
            handle: ObjectHandle::default(),
            context: context.clone(),
            devices,
            origin,
            source,
            il: Vec::new(),
            specializable: Vec::new(),
            specialized: Mutex::default(),
            state: Mutex::new(ProgramState {
                status: CL_BUILD_NONE,
                options: String::new(),
                log: String::new(),
                binary: binary.map(Arc::new),
                code: None,
            }),
            kernels: AtomicUsize::new(0),
            destructors: Destructors::default(),
        }
    }

    /// Creates a program from source.
    pub fn of_source(context: &Arc<ClContext>, source: String) -> ClProgram {
        ClProgram::new(context, context.devices.clone(), Origin::Source, source, None)
    }

    /// Creates a program from a SPIR-V module. A malformed one is an error of the build, with its reason.
    pub fn of_il(context: &Arc<ClContext>, il: Vec<u8>) -> ClResult<ClProgram> {
        ensure(heddle_spirv::is_spirv(&il), CL_INVALID_VALUE)?;
        let specializable = heddle_spirv::specialization_constants(&il).unwrap_or_default();
        let mut program = ClProgram::new(context, context.devices.clone(), Origin::Il, String::new(), None);
        program.specializable = specializable;
        program.il = il;
        Ok(program)
    }

    /// Sets a specialization constant for later builds.
    pub fn specialize(&self, id: u32, size: usize, value: Option<&[u8]>) -> ClResult<()> {
        ensure(self.origin == Origin::Il, CL_INVALID_PROGRAM)?;
        let known = self.specializable.iter().find(|constant| constant.id == id);
        let known = known.ok_or(ClError(CL_INVALID_SPEC_ID))?;
        let value = value.ok_or(ClError(CL_INVALID_VALUE))?;
        ensure(size == known.bytes && value.len() == size, CL_INVALID_VALUE)?;
        let mut bits = [0; 8];
        bits[..size].copy_from_slice(value);
        let mut specialized = self.specialized.lock().unwrap_or_else(PoisonError::into_inner);
        specialized.constants.retain(|(known, _)| *known != id);
        specialized.constants.push((id, u64::from_le_bytes(bits)));
        specialized.constants.sort_unstable();
        Ok(())
    }

    /// Compiles the source or the SPIR-V module.
    fn compiled(
        &self,
        options: &str,
        headers: Vec<(String, String)>,
        is_object: bool,
        code: i32,
    ) -> ClResult<CompiledProgram> {
        if self.origin != Origin::Il {
            return compiler::compile(&self.source, options, headers, is_object, code);
        }
        let specialized = self.specialized.lock().unwrap_or_else(PoisonError::into_inner).clone();
        compiler::compile_il(&self.il, &specialized, options, is_object, code)
    }

    /// True if the options and the language allow a smaller last work-group.
    fn allows_rest(&self, options: &str) -> bool {
        match self.origin {
            Origin::Il => compiler::allows_il_rest(options),
            _ => compiler::allows_rest(options),
        }
    }

    /// True for a program that is compiled from what it was created with.
    fn is_compiled(&self) -> bool {
        matches!(self.origin, Origin::Source | Origin::Il)
    }

    /// Creates a program from the binary of an earlier one.
    pub fn of_binary(
        context: &Arc<ClContext>,
        devices: Vec<Arc<Device>>,
        bytes: &[u8],
    ) -> ClResult<ClProgram> {
        Ok(ClProgram::new(context, devices, Origin::Binary, String::new(), Some(binary::read(bytes)?)))
    }

    fn state(&self) -> MutexGuard<'_, ProgramState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the build status.
    pub fn status(&self) -> i32 {
        self.state().status
    }

    /// Build options.
    pub fn options(&self) -> String {
        self.state().options.clone()
    }

    /// True if argument information is available: the build options keep it, or the program has no source.
    pub fn tells_of_arguments(&self) -> bool {
        self.origin != Origin::Source || compiler::keeps_arguments(&self.options())
    }

    /// Returns the build log.
    pub fn log(&self) -> String {
        self.state().log.clone()
    }

    /// Returns the binary type: `CL_PROGRAM_BINARY_TYPE_…`.
    pub fn kind(&self) -> u32 {
        self.state().binary.as_ref().map_or(CL_PROGRAM_BINARY_TYPE_NONE, |binary| binary.kind)
    }

    /// Returns the serialized binary; empty without one.
    pub fn binary(&self) -> Vec<u8> {
        let binary = self.state().binary.clone();
        binary.map(|binary| binary::write(&binary)).unwrap_or_default()
    }

    /// Returns the executable of a built program.
    pub fn code(&self) -> ClResult<Arc<ClExecutable>> {
        self.state().code.clone().ok_or(ClError(CL_INVALID_PROGRAM_EXECUTABLE))
    }

    /// Returns the bytes of variables in global memory; 0 before the build.
    pub fn variable_bytes(&self) -> usize {
        let code = self.state().code.clone();
        let globals = code.iter().flat_map(|code| &code.module().globals);
        let in_global_memory = globals.filter(|global| global.space == Space::Global);
        in_global_memory.map(|global| global.bytes() as usize).fold(0, usize::saturating_add)
    }

    /// Adjusts the number of live kernels.
    pub fn count_kernel(&self, more: bool) {
        if more {
            self.kernels.fetch_add(1, Ordering::AcqRel);
        } else {
            self.kernels.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Begins a build. An error while another build runs or kernels exist.
    fn begin(&self) -> ClResult<()> {
        ensure(self.kernels.load(Ordering::Acquire) == 0, CL_INVALID_OPERATION)?;
        let mut state = self.state();
        ensure(state.status != CL_BUILD_IN_PROGRESS, CL_INVALID_OPERATION)?;
        state.status = CL_BUILD_IN_PROGRESS;
        Ok(())
    }

    /// Ends a build and records its result.
    fn end(
        &self,
        compiled: ClResult<CompiledProgram>,
        options: &str,
        allows_rest: bool,
        kind: u32,
        failure: i32,
    ) -> ClResult<()> {
        let mut compiled = match compiled {
            Ok(compiled) => compiled,
            Err(error) => {
                let mut state = self.state();
                state.status = CL_BUILD_ERROR;
                state.options = options.into();
                state.log = format!("error: unknown build options: `{options}`\n");
                return Err(error);
            }
        };
        let _busy = busy();
        let mut code = None;
        let mut binary = None;
        if let Some((module, bitcode)) = compiled.module {
            let mut made = Ok(());
            if kind == CL_PROGRAM_BINARY_TYPE_EXECUTABLE {
                let wants_remarks = compiler::wants_remarks(options);
                let executable = ClExecutable::new(&module, &bitcode, allows_rest, wants_remarks);
                made = executable.map(|(made, warnings)| {
                    code = Some(Arc::new(made));
                    compiled.log.push_str(&warnings);
                });
            }
            match made {
                Ok(()) => {
                    binary = Some(Arc::new(Binary { kind, options: options.into(), allows_rest, bitcode }));
                }
                Err(log) => compiled.log.push_str(&log),
            }
        }
        let done = binary.is_some();
        let mut state = self.state();
        state.status = if done { CL_BUILD_SUCCESS } else { CL_BUILD_ERROR };
        state.options = options.into();
        state.log = compiled.log;
        state.code = code;
        if done || self.is_compiled() {
            state.binary = binary;
        }
        ensure(done, failure)
    }

    /// Compiles and links the program.
    pub fn build(&self, options: &str) -> ClResult<()> {
        ensure(self.origin != Origin::Linking, CL_INVALID_OPERATION)?;
        self.begin()?;
        let binary = self.state().binary.clone();
        let is_compiled = self.is_compiled();
        let (compiled, rest) = if is_compiled {
            let compiled = self.compiled(options, Vec::new(), false, CL_INVALID_BUILD_OPTIONS);
            (compiled, self.allows_rest(options))
        } else {
            match &binary {
                Some(binary) => {
                    let linked = match binary.kind {
                        CL_PROGRAM_BINARY_TYPE_EXECUTABLE => LinkOutput::Again,
                        _ => LinkOutput::Executable,
                    };
                    (compiler::link(&[binary], linked), binary.allows_rest)
                }
                None => (Err(ClError(CL_INVALID_BINARY)), false),
            }
        };
        let options = binary.filter(|_| !is_compiled).map_or(options.into(), |binary| binary.options.clone());
        self.end(compiled, &options, rest, CL_PROGRAM_BINARY_TYPE_EXECUTABLE, CL_BUILD_PROGRAM_FAILURE)
    }

    /// Compiles the program with named headers, for a later link.
    pub fn compile(&self, options: &str, headers: Vec<(String, String)>) -> ClResult<()> {
        ensure(self.is_compiled(), CL_INVALID_OPERATION)?;
        self.begin()?;
        let compiled = self.compiled(options, headers, true, CL_INVALID_COMPILER_OPTIONS);
        let (kind, failure) = (CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT, CL_COMPILE_PROGRAM_FAILURE);
        self.end(compiled, options, self.allows_rest(options), kind, failure)
    }

    /// Links compiled programs and libraries. The new program exists even if linking fails, for its log.
    pub fn link(
        context: &Arc<ClContext>,
        devices: Vec<Arc<Device>>,
        options: &str,
        programs: &[Arc<ClProgram>],
    ) -> ClResult<(ClProgram, ClResult<()>)> {
        let linked = compiler::link_options(options)?;
        let mut binaries = Vec::new();
        for program in programs {
            let state = program.state();
            let binary = state.binary.clone().ok_or(ClError(CL_INVALID_OPERATION))?;
            ensure(binary.kind != CL_PROGRAM_BINARY_TYPE_EXECUTABLE, CL_INVALID_OPERATION)?;
            binaries.push(binary);
        }
        let pieces: Vec<&Binary> = binaries.iter().map(|binary| &**binary).collect();
        let rest = binaries.iter().all(|binary| binary.allows_rest);
        let program = ClProgram::new(context, devices, Origin::Linking, String::new(), None);
        let kind = match linked {
            LinkOutput::Executable | LinkOutput::Again => CL_PROGRAM_BINARY_TYPE_EXECUTABLE,
            LinkOutput::Library => CL_PROGRAM_BINARY_TYPE_LIBRARY,
        };
        let done = program.end(compiler::link(&pieces, linked), options, rest, kind, CL_LINK_PROGRAM_FAILURE);
        Ok((program, done))
    }
}

impl Drop for ClProgram {
    fn drop(&mut self) {
        self.destructors.run();
    }
}
