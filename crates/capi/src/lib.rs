//! Heddle for C: `libheddle.so`. What is here is declared in include/heddle/compiler.h, the modules `program`,
//! `call` and `elements` in include/heddle/program.h.
//!
//! Thin: each function turns C's strings and pointers into what a [`Session`] takes, and keeps what comes back for the
//! caller to look at. Nothing unwinds into C, and a null pointer is an error, not a crash.
#![deny(unsafe_op_in_unsafe_fn)]

pub mod program;
pub mod call;
pub mod elements;

use heddle_compiler::options::ParamShape;
use heddle_compiler::session::diagnostics_json;
use heddle_compiler::{
    Artifact, BrushExtents, DiagnosticError, Session, SourceModule, VectorizeOptions, VectorizeRequest,
};
use heddle_ir::verify::Stage;
use heddle_ir::{Code, Diagnostic};
use heddle_llvm::{CodeFormat, Cpu, Jit};
use std::ffi::{CStr, CString, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::ptr;

/// A session, or what is wrong with what it was opened with.
#[derive(Debug)]
pub struct HeddleSession(Result<Session, Diagnostic>);

/// Result of a request.
#[derive(Debug)]
pub struct HeddleCode {
    artifact: Option<Artifact>,
    diagnostics: Vec<Diagnostic>,
    messages: CString,
    json: CString,
    name: CString,
    written: Vec<u8>,
    jit: Option<Jit>,
}

/// `heddle_request`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HeddleRequest {
    file: *const c_char,
    text: *const c_void,
    text_size: usize,
    func: *const c_char,
    lanes: *const c_char,
    params: *const c_char,
    masked: bool,
    flags: *const *const c_char,
}

/// A text of the caller; none if it is null or no UTF-8.
///
/// # Safety
/// `text` is null or ends with a zero byte, and lives during the call.
unsafe fn text_of<'a>(text: *const c_char) -> Option<&'a str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller says that it ends with a zero byte.
    unsafe { CStr::from_ptr(text) }.to_str().ok()
}

fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// Diagnostics as text, a line or more for each.
fn messages_of(diagnostics: &[Diagnostic]) -> CString {
    let lines = diagnostics
        .iter()
        .map(|diagnostic| format!("{}: {diagnostic} [{}]\n", diagnostic.severity, diagnostic.code));
    c_text(&lines.collect::<String>())
}

/// Runs a call; returns a fallback if it panics, since nothing may unwind into C.
fn guarded<T>(fallback: T, call: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or(fallback)
}

fn open(cpu: Option<&str>, options: Option<&str>) -> Result<Session, Diagnostic> {
    let cpu = match cpu {
        None => Cpu::host(),
        Some(name) => {
            Cpu::named(name).map_err(|reason| Diagnostic::error(Code::PassOption, reason.to_string()))?
        }
    };
    let mut session = Session::new(cpu);
    let Some(text) = options else { return Ok(session) };
    for word in text.split(',').filter(|word| !word.is_empty()) {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        if !session.options.set(key, value)? {
            let diagnostic = Diagnostic::error(Code::PassOption, format!("unknown option `{word}`"));
            return Err(diagnostic.help(format!("the options are {}", VectorizeOptions::list_of_options())));
        }
    }
    Ok(session)
}

/// `heddle_open`.
///
/// # Safety
/// Texts are null or end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_open(cpu: *const c_char, options: *const c_char) -> *mut HeddleSession {
    // SAFETY: as the caller says.
    let (cpu, options) = unsafe { (text_of(cpu), text_of(options)) };
    guarded(ptr::null_mut(), || Box::into_raw(Box::new(HeddleSession(open(cpu, options)))))
}

/// `heddle_close`.
///
/// # Safety
/// The session is null, or comes from `heddle_open` and is closed once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_close(session: *mut HeddleSession) {
    if !session.is_null() {
        // SAFETY: as the caller says.
        drop(unsafe { Box::from_raw(session) });
    }
}

/// `heddle_cancel`.
///
/// # Safety
/// The session is null or open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_cancel(session: *const HeddleSession) {
    // SAFETY: as the caller says.
    if let Some(HeddleSession(Ok(session))) = unsafe { session.as_ref() } {
        session.cancel();
    }
}

/// Request decoded into Rust types.
struct DecodedRequest<'a> {
    file: &'a str,
    text: Option<&'a [u8]>,
    func: &'a str,
    lanes: &'a str,
    params: &'a str,
    masked: bool,
    flags: Vec<&'a str>,
}

fn missing(what: &str) -> Diagnostic {
    Diagnostic::error(Code::PassOption, format!("the request has no {what}"))
}

/// # Safety
/// What the request points to is as include/heddle/compiler.h says.
unsafe fn read_request<'a>(request: *const HeddleRequest) -> Result<DecodedRequest<'a>, Diagnostic> {
    if request.is_null() {
        return Err(Diagnostic::error(Code::PassOption, "no request"));
    }
    // SAFETY: as the caller says; flags end with a null pointer.
    unsafe {
        let request = &*request;
        let mut flags = Vec::new();
        let mut next = request.flags;
        while !next.is_null() && !(*next).is_null() {
            flags.extend(text_of(*next));
            next = next.add(1);
        }
        let text = (!request.text.is_null())
            .then(|| std::slice::from_raw_parts(request.text.cast::<u8>(), request.text_size));
        Ok(DecodedRequest {
            file: text_of(request.file).ok_or_else(|| missing("file"))?,
            text,
            func: text_of(request.func).ok_or_else(|| missing("function"))?,
            lanes: text_of(request.lanes).unwrap_or("8"),
            params: text_of(request.params).unwrap_or(""),
            masked: request.masked,
            flags,
        })
    }
}

impl DecodedRequest<'_> {
    fn source(&self, session: &Session) -> Result<SourceModule, DiagnosticError> {
        let path = Path::new(self.file);
        let Some(text) = self.text else { return session.read(path, Stage::Source, &self.flags) };
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("hed") => session.parse_hed(text).map_err(|failure| failure.in_file(self.file)),
            Some("ll" | "bc") => session.read_llvm(text, self.file),
            _ => {
                let text = format!("`{}` can be compiled from a file only", self.file);
                Err(Diagnostic::error(Code::FrontEnd, text).help("write it to a file").into())
            }
        }
    }

    fn vectorize(&self, session: &Session) -> Result<(Artifact, Vec<Diagnostic>), DiagnosticError> {
        let source = self.source(session)?;
        let refused = source.refused.clone();
        let params = self.params.split(',').filter(|word| !word.is_empty());
        let shapes: Result<Vec<ParamShape>, Diagnostic> = params.map(str::parse).collect();
        let brush: BrushExtents = self.lanes.parse()?;
        let request = VectorizeRequest {
            shapes: shapes?,
            is_masked: self.masked,
            ..VectorizeRequest::new(self.func, brush)
        };
        Ok((session.vectorize(source, &request)?, refused))
    }
}

impl HeddleCode {
    fn new(made: Result<(Artifact, Vec<Diagnostic>), DiagnosticError>) -> HeddleCode {
        let (artifact, diagnostics) = match made {
            Ok((mut artifact, refused)) => {
                // Where the ABI has no form, the wide form has Heddle's name.
                let name = artifact.add_abi_variant().unwrap_or_else(|_| artifact.wide.clone());
                artifact.wide = name;
                let diagnostic = [refused, artifact.report.remarks.clone()].concat();
                (Some(artifact), diagnostic)
            }
            Err(failure) => (None, failure.diagnostics),
        };
        let name = artifact.as_ref().map_or_else(CString::default, |artifact| c_text(&artifact.wide));
        let mut code = HeddleCode {
            artifact,
            diagnostics,
            messages: CString::default(),
            json: CString::default(),
            name,
            written: Vec::new(),
            jit: None,
        };
        code.render();
        code
    }

    fn render(&mut self) {
        self.messages = messages_of(&self.diagnostics);
        self.json = c_text(&diagnostics_json(&self.diagnostics));
    }

    /// Returns the result of a step; records messages on failure.
    fn diagnostic<T>(&mut self, result: Result<T, Diagnostic>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(diagnostic) => {
                self.diagnostics.push(diagnostic);
                self.render();
                None
            }
        }
    }
}

/// `heddle_vectorize`.
///
/// # Safety
/// The session is null or open; the request is null, or what it points to is as include/heddle/compiler.h says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_vectorize(
    session: *const HeddleSession,
    request: *const HeddleRequest,
) -> *mut HeddleCode {
    // SAFETY: as the caller says.
    let (session, requested) = unsafe { (session.as_ref(), read_request(request)) };
    guarded(ptr::null_mut(), || {
        let made = match (session, requested) {
            (None, _) => Err(Diagnostic::error(Code::PassOption, "no session").into()),
            (Some(HeddleSession(Err(diagnostic))), _) => Err(diagnostic.clone().into()),
            (_, Err(diagnostic)) => Err(diagnostic.into()),
            (Some(HeddleSession(Ok(session))), Ok(requested)) => requested.vectorize(session),
        };
        Box::into_raw(Box::new(HeddleCode::new(made)))
    })
}

/// `heddle_free`.
///
/// # Safety
/// The code is null, or comes from `heddle_vectorize` and is freed once; nothing of it is used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_free(code: *mut HeddleCode) {
    if !code.is_null() {
        // SAFETY: as the caller says.
        drop(unsafe { Box::from_raw(code) });
    }
}

/// `heddle_ok`.
///
/// # Safety
/// The code is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_ok(code: *const HeddleCode) -> bool {
    // SAFETY: as the caller says.
    unsafe { code.as_ref() }.is_some_and(|code| code.artifact.is_some())
}

/// A text of an object, or null without the object.
///
/// # Safety
/// The code is null or live.
unsafe fn text_in(code: *const HeddleCode, text: fn(&HeddleCode) -> &CString) -> *const c_char {
    // SAFETY: as the caller says.
    unsafe { code.as_ref() }.map_or(ptr::null(), |code| text(code).as_ptr())
}

/// `heddle_messages`.
///
/// # Safety
/// The code is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_messages(code: *const HeddleCode) -> *const c_char {
    // SAFETY: as the caller says.
    unsafe { text_in(code, |code| &code.messages) }
}

/// `heddle_messages_json`.
///
/// # Safety
/// The code is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_messages_json(code: *const HeddleCode) -> *const c_char {
    // SAFETY: as the caller says.
    unsafe { text_in(code, |code| &code.json) }
}

/// `heddle_name`.
///
/// # Safety
/// The code is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_name(code: *const HeddleCode) -> *const c_char {
    // SAFETY: as the caller says.
    unsafe { text_in(code, |code| &code.name) }
}

/// `heddle_bytes`.
///
/// # Safety
/// The code is null or live and used by no other thread; `size` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_bytes(code: *mut HeddleCode, output: u32, size: *mut usize) -> *const c_void {
    // SAFETY: as the caller says.
    let Some(code) = (unsafe { code.as_mut() }) else { return ptr::null() };
    let written = guarded(None, || {
        let artifact = code.artifact.as_ref()?;
        let bytes = match output {
            0 => artifact.code(CodeFormat::Text),
            1 => artifact.code(CodeFormat::Bitcode),
            2 => artifact.code(CodeFormat::Assembly),
            3 => artifact.code(CodeFormat::Object),
            4 => Ok(artifact.module.to_string().into_bytes()),
            _ => Err(Diagnostic::error(Code::PassOption, format!("unknown output {output}"))),
        };
        code.diagnostic(bytes)
    });
    let Some(bytes) = written else { return ptr::null() };
    code.written = bytes;
    if !size.is_null() {
        // SAFETY: as the caller says.
        unsafe { *size = code.written.len() };
    }
    code.written.as_ptr().cast()
}

/// `heddle_function`.
///
/// # Safety
/// The code is null or live and used by no other thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_function(code: *mut HeddleCode) -> *mut c_void {
    // SAFETY: as the caller says.
    let Some(code) = (unsafe { code.as_mut() }) else { return ptr::null_mut() };
    let address = guarded(None, || {
        if code.jit.is_none() {
            let jit = code.artifact.as_mut()?.jit();
            code.jit = Some(code.diagnostic(jit)?);
        }
        let name = &code.artifact.as_ref()?.wide;
        code.jit.as_ref()?.address(name).ok()
    });
    address.map_or(ptr::null_mut(), |address| address as usize as *mut c_void)
}
