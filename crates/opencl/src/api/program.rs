//! Programs.

use super::device::{device_among, devices_among, handles};
use super::info::Info;
use super::pointer::{ClInput, ClOutput, ClString, UserData, binary, sources};
use crate::cl::*;
use crate::core::context::ClContext;
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::program::ClProgram;
use crate::core::registry::{find, handle_of, publish, references, release, retain};
use std::ffi::c_void;
use std::sync::Arc;

/// Callback for a finished build or a destroyed program.
pub type ProgramFunction = unsafe extern "C" fn(ClHandle, *mut c_void);

fn tell(function: Option<ProgramFunction>, program: ClHandle, data: UserData) {
    if let Some(function) = function {
        // SAFETY: the application's function, with its own argument.
        unsafe { function(program, data.get()) };
    }
}

/// Reports a build result. With a callback, a failure shows in the program's status only.
fn built(
    done: ClResult<()>,
    function: Option<ProgramFunction>,
    program: ClHandle,
    data: UserData,
) -> ClResult<()> {
    let went_wrong = [CL_BUILD_PROGRAM_FAILURE, CL_COMPILE_PROGRAM_FAILURE, CL_LINK_PROGRAM_FAILURE];
    match done {
        Err(ClError(code)) if !went_wrong.contains(&code) => done,
        _ => {
            tell(function, program, data);
            if function.is_some() { Ok(()) } else { done }
        }
    }
}

makers! {
    fn clCreateProgramWithSource(context: ClHandle, count: cl_uint, texts: ClInput<ClString>, lengths: ClInput<usize>) {
        let context = find::<ClContext>(context)?;
        Ok(publish(Arc::new(ClProgram::of_source(&context, sources(count, texts, lengths)?))))
    }

    fn clCreateProgramWithBinary(
        context: ClHandle, count: cl_uint, named: ClInput<ClHandle>, lengths: ClInput<usize>, binaries: ClInput<ClInput<c_void>>,
        statuses: ClOutput<cl_int>,
    ) {
        let context = find::<ClContext>(context)?;
        ensure(count != 0 && !named.is_null(), CL_INVALID_VALUE)?;
        let devices = devices_among(&context.devices, count, named)?;
        let lengths = lengths.list(count as usize)?;
        let binaries = binaries.list(count as usize)?;
        let mut program = None;
        for (index, (bytes, length)) in binaries.into_iter().zip(lengths).enumerate() {
            let Some(bytes) = binary(bytes, length) else {
                statuses.write_at(index, CL_INVALID_VALUE);
                return Err(ClError(CL_INVALID_VALUE));
            };
            let made = ClProgram::of_binary(&context, devices.clone(), &bytes);
            statuses.write_at(index, made.as_ref().map_or_else(|&ClError(code)| code, |_| CL_SUCCESS));
            program.get_or_insert(made?);
        }
        Ok(publish(Arc::new(program.ok_or(ClError(CL_INVALID_VALUE))?)))
    }

    fn clCreateProgramWithIL(context: ClHandle, il: ClInput<c_void>, length: usize) {
        let context = find::<ClContext>(context)?;
        let il = binary(il, length).ok_or(ClError(CL_INVALID_VALUE))?;
        Ok(publish(Arc::new(ClProgram::of_il(&context, il)?)))
    }

    fn clLinkProgram(
        context: ClHandle, count: cl_uint, named: ClInput<ClHandle>, options: ClString, inputs: cl_uint, programs: ClInput<ClHandle>,
        function: Option<ProgramFunction>, data: UserData,
    ) {
        let context = find::<ClContext>(context)?;
        let devices = devices_among(&context.devices, count, named)?;
        ensure(function.is_some() || data.get().is_null(), CL_INVALID_VALUE)?;
        ensure(inputs != 0, CL_INVALID_VALUE)?;
        let programs: ClResult<Vec<Arc<ClProgram>>> = programs.list(inputs as usize)?.into_iter().map(find).collect();
        let (program, done) = ClProgram::link(&context, devices, &options.get().unwrap_or_default(), &programs?)?;
        let program = publish(Arc::new(program));
        match built(done, function, program, data) {
            // A program that failed to link is there, with its log.
            Err(ClError(CL_LINK_PROGRAM_FAILURE)) => Ok((program, CL_LINK_PROGRAM_FAILURE)),
            Err(error) => {
                release::<ClProgram>(program)?;
                Err(error)
            }
            Ok(()) => Ok((program, CL_SUCCESS)),
        }
    }
}

entries! {
    fn clRetainProgram(of: ClHandle) {
        retain::<ClProgram>(of)
    }

    fn clReleaseProgram(of: ClHandle) {
        release::<ClProgram>(of).map(|_| ())
    }

    fn clBuildProgram(
        of: ClHandle, count: cl_uint, named: ClInput<ClHandle>, options: ClString, function: Option<ProgramFunction>,
        data: UserData,
    ) {
        let program = find::<ClProgram>(of)?;
        devices_among(&program.devices, count, named)?;
        ensure(function.is_some() || data.get().is_null(), CL_INVALID_VALUE)?;
        built(program.build(&options.get().unwrap_or_default()), function, of, data)
    }

    fn clSetProgramSpecializationConstant(of: ClHandle, id: cl_uint, size: usize, value: ClInput<c_void>) {
        find::<ClProgram>(of)?.specialize(id, size, value.bytes(size))
    }

    fn clCompileProgram(
        of: ClHandle, count: cl_uint, named: ClInput<ClHandle>, options: ClString, headers: cl_uint, header_programs: ClInput<ClHandle>,
        header_names: ClInput<ClString>, function: Option<ProgramFunction>, data: UserData,
    ) {
        let program = find::<ClProgram>(of)?;
        devices_among(&program.devices, count, named)?;
        ensure(function.is_some() || data.get().is_null(), CL_INVALID_VALUE)?;
        let programs = header_programs.list(headers as usize)?;
        let names = header_names.list(headers as usize)?;
        let mut included = Vec::new();
        for (handle, name) in programs.into_iter().zip(names) {
            let header = find::<ClProgram>(handle)?;
            included.push((name.get().ok_or(ClError(CL_INVALID_VALUE))?, header.source.clone()));
        }
        built(program.compile(&options.get().unwrap_or_default(), included), function, of, data)
    }

    fn clGetProgramInfo(of: ClHandle, name: cl_uint, size: usize, value: ClOutput<c_void>, needed: ClOutput<usize>) {
        let program = find::<ClProgram>(of)?;
        let info = Info::new(size, value, needed);
        match name {
            CL_PROGRAM_REFERENCE_COUNT => info.value(references(&*program)),
            CL_PROGRAM_CONTEXT => info.value(handle_of(&*program.context)),
            CL_PROGRAM_NUM_DEVICES => info.value(program.devices.len() as u32),
            CL_PROGRAM_DEVICES => info.list(&handles(&program.devices)),
            CL_PROGRAM_SOURCE => info.text(&program.source),
            CL_PROGRAM_IL => info.bytes(&program.il),
            CL_PROGRAM_BINARY_SIZES => info.list(&vec![program.binary().len(); program.devices.len()]),
            CL_PROGRAM_BINARIES => {
                let (size, value, needed) = info.places();
                let bytes = size_of::<usize>() * program.devices.len();
                ensure(value.is_null() || size >= bytes, CL_INVALID_VALUE)?;
                if !value.is_null() {
                    let places = ClInput::<ClOutput<c_void>>::of(value).list(program.devices.len())?;
                    let binary = program.binary();
                    places.into_iter().for_each(|place| place.write_bytes(&binary));
                }
                needed.write(bytes);
                Ok(())
            }
            CL_PROGRAM_NUM_KERNELS => info.value(program.code()?.kernels.len()),
            CL_PROGRAM_KERNEL_NAMES => {
                let code = program.code()?;
                let names: Vec<&str> = code.kernels.iter().map(|kernel| &*kernel.name).collect();
                info.text(&names.join(";"))
            }
            CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT | CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT => info.truth(false),
            _ => Err(ClError(CL_INVALID_VALUE)),
        }
    }

    fn clGetProgramBuildInfo(
        of: ClHandle, on: ClHandle, name: cl_uint, size: usize, value: ClOutput<c_void>, needed: ClOutput<usize>,
    ) {
        let program = find::<ClProgram>(of)?;
        device_among(&program.devices, on)?;
        let info = Info::new(size, value, needed);
        match name {
            CL_PROGRAM_BUILD_STATUS => info.value(program.status()),
            CL_PROGRAM_BUILD_OPTIONS => info.text(&program.options()),
            CL_PROGRAM_BUILD_LOG => info.text(&program.log()),
            CL_PROGRAM_BINARY_TYPE => info.value(program.kind()),
            CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE => info.value(program.variable_bytes()),
            _ => Err(ClError(CL_INVALID_VALUE)),
        }
    }
}
