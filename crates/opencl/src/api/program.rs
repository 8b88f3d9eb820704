//! Programs.

use super::device::{devices, devices_or_all};
use super::info::Info;
use super::pointer::{In, Out, Text, UserData, binary, sources};
use crate::cl::*;
use crate::core::context::Context;
use crate::core::device::{Device, device};
use crate::core::error::{Answer, Error, ensure};
use crate::core::program::Program;
use crate::core::registry::{find, handle_of, publish, references, release, retain};
use std::ffi::c_void;
use std::sync::Arc;

/// What is called when a build is done, or when a program ends.
pub type ProgramFunction = unsafe extern "C" fn(Handle, *mut c_void);

fn tell(function: Option<ProgramFunction>, program: Handle, data: UserData) {
    if let Some(function) = function {
        // SAFETY: the application's function, with what it asked for.
        unsafe { function(program, data.get()) };
    }
}

/// With a function to call, a build that went wrong is told by the program's status.
fn built(done: Answer<()>, function: Option<ProgramFunction>, program: Handle, data: UserData) -> Answer<()> {
    let went_wrong = [CL_BUILD_PROGRAM_FAILURE, CL_COMPILE_PROGRAM_FAILURE, CL_LINK_PROGRAM_FAILURE];
    match done {
        Err(Error(code)) if !went_wrong.contains(&code) => done,
        _ => {
            tell(function, program, data);
            if function.is_some() { Ok(()) } else { done }
        }
    }
}

makers! {
    fn clCreateProgramWithSource(context: Handle, count: cl_uint, texts: In<Text>, lengths: In<usize>) {
        let context = find::<Context>(context)?;
        Ok(publish(Arc::new(Program::of_source(&context, sources(count, texts, lengths)?))))
    }

    fn clCreateProgramWithBinary(
        context: Handle, count: cl_uint, named: In<Handle>, lengths: In<usize>, binaries: In<In<c_void>>,
        statuses: Out<cl_int>,
    ) {
        let context = find::<Context>(context)?;
        devices(count, named)?;
        let lengths = lengths.list(count as usize)?;
        let binaries = binaries.list(count as usize)?;
        let mut program = None;
        for (index, (bytes, length)) in binaries.into_iter().zip(lengths).enumerate() {
            let Some(bytes) = binary(bytes, length) else {
                statuses.write_at(index, CL_INVALID_VALUE);
                return Err(Error(CL_INVALID_VALUE));
            };
            let made = Program::of_binary(&context, &bytes);
            statuses.write_at(index, made.as_ref().map_or_else(|&Error(code)| code, |_| CL_SUCCESS));
            program.get_or_insert(made?);
        }
        Ok(publish(Arc::new(program.ok_or(Error(CL_INVALID_VALUE))?)))
    }

    fn clLinkProgram(
        context: Handle, count: cl_uint, named: In<Handle>, options: Text, inputs: cl_uint, programs: In<Handle>,
        function: Option<ProgramFunction>, data: UserData,
    ) {
        let context = find::<Context>(context)?;
        devices_or_all(count, named)?;
        ensure(function.is_some() || data.get().is_null(), CL_INVALID_VALUE)?;
        ensure(inputs != 0, CL_INVALID_VALUE)?;
        let programs: Answer<Vec<Arc<Program>>> = programs.list(inputs as usize)?.into_iter().map(find).collect();
        let (program, done) = Program::link(&context, &options.get().unwrap_or_default(), &programs?)?;
        // A program that was not linked has no handle: its log is told to the context.
        if done.is_err() && function.is_none() {
            context.report(&program.log());
        }
        let program = publish(Arc::new(program));
        if let Err(error) = built(done, function, program, data) {
            release::<Program>(program)?;
            return Err(error);
        }
        Ok(program)
    }
}

entries! {
    fn clRetainProgram(of: Handle) {
        retain::<Program>(of)
    }

    fn clReleaseProgram(of: Handle) {
        release::<Program>(of).map(|_| ())
    }

    fn clBuildProgram(
        of: Handle, count: cl_uint, named: In<Handle>, options: Text, function: Option<ProgramFunction>,
        data: UserData,
    ) {
        let program = find::<Program>(of)?;
        devices_or_all(count, named)?;
        ensure(function.is_some() || data.get().is_null(), CL_INVALID_VALUE)?;
        built(program.build(&options.get().unwrap_or_default()), function, of, data)
    }

    fn clCompileProgram(
        of: Handle, count: cl_uint, named: In<Handle>, options: Text, headers: cl_uint, header_programs: In<Handle>,
        header_names: In<Text>, function: Option<ProgramFunction>, data: UserData,
    ) {
        let program = find::<Program>(of)?;
        devices_or_all(count, named)?;
        ensure(function.is_some() || data.get().is_null(), CL_INVALID_VALUE)?;
        let programs = header_programs.list(headers as usize)?;
        let names = header_names.list(headers as usize)?;
        let mut included = Vec::new();
        for (handle, name) in programs.into_iter().zip(names) {
            let header = find::<Program>(handle)?;
            included.push((name.get().ok_or(Error(CL_INVALID_VALUE))?, header.source.clone()));
        }
        built(program.compile(&options.get().unwrap_or_default(), included), function, of, data)
    }

    fn clGetProgramInfo(of: Handle, name: cl_uint, size: usize, value: Out<c_void>, needed: Out<usize>) {
        let program = find::<Program>(of)?;
        let info = Info::new(size, value, needed);
        match name {
            CL_PROGRAM_REFERENCE_COUNT => info.value(references(&*program)),
            CL_PROGRAM_CONTEXT => info.value(handle_of(&*program.context)),
            CL_PROGRAM_NUM_DEVICES => info.value(1u32),
            CL_PROGRAM_DEVICES => info.value(handle_of(&**device())),
            CL_PROGRAM_SOURCE => info.text(&program.source),
            CL_PROGRAM_IL => info.bytes(&[]),
            CL_PROGRAM_BINARY_SIZES => info.value(program.binary().len()),
            CL_PROGRAM_BINARIES => {
                let (size, value, needed) = info.places();
                ensure(value.is_null() || size >= size_of::<usize>(), CL_INVALID_VALUE)?;
                if !value.is_null() {
                    let place = In::<Out<c_void>>::of(value).read().unwrap_or(Out::NONE);
                    place.write_bytes(&program.binary());
                }
                needed.write(size_of::<usize>());
                Ok(())
            }
            CL_PROGRAM_NUM_KERNELS => info.value(program.code()?.kernels.len()),
            CL_PROGRAM_KERNEL_NAMES => {
                let code = program.code()?;
                let names: Vec<&str> = code.kernels.iter().map(|kernel| &*kernel.name).collect();
                info.text(&names.join(";"))
            }
            CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT | CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT => info.truth(false),
            _ => Err(Error(CL_INVALID_VALUE)),
        }
    }

    fn clGetProgramBuildInfo(
        of: Handle, on: Handle, name: cl_uint, size: usize, value: Out<c_void>, needed: Out<usize>,
    ) {
        let program = find::<Program>(of)?;
        find::<Device>(on)?;
        let info = Info::new(size, value, needed);
        match name {
            CL_PROGRAM_BUILD_STATUS => info.value(program.status()),
            CL_PROGRAM_BUILD_OPTIONS => info.text(&program.options()),
            CL_PROGRAM_BUILD_LOG => info.text(&program.log()),
            CL_PROGRAM_BINARY_TYPE => info.value(program.kind()),
            CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE => info.value(program.variable_bytes()),
            _ => Err(Error(CL_INVALID_VALUE)),
        }
    }
}
