//! `heddle clc`.

use crate::report::{fail, note, say_times, tell};
use crate::{CliError, CliResult};
use clap::Args;
use heddle_compiler::builtins::texel::{ComponentOrder, TexelKind};
use heddle_compiler::context::PassContext;
use heddle_compiler::ir::verify::Stage;
use heddle_compiler::ir::{Code, Diagnostic, Module};
use heddle_compiler::llvm::{CodeFormat, Cpu, KernelInfo, Language, LlvmModule, ParamPassing};
use heddle_compiler::math::Accuracy;
use heddle_compiler::options::parse_accuracy;
use heddle_compiler::{KernelReport, Session};
use heddle_runtime::{
    AxisOrder, BuildError, BuildOptions, BuildServices, CodeVariant, DescriptorFields, GroupFunctions,
    KernelFacts, KernelModule, KnownArgument, KnownImages, KnownStrides, LaunchPromises, PreparedKernel,
    sub_group_size_error, undefined_functions,
};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// Compile the kernels of a file in OpenCL C or SPIR-V, and report how they were vectorized
///
/// Each kernel becomes a function that runs one work-group (docs/runtime.md), and is reported: work-item layout,
/// barriers, remaining branches, masked accesses, gathers, and code that runs one lane at a time, with the lines of the source. The options of clBuildProgram are taken as they are: -DN=4, -I include, -cl-std=CL3.0, -cl-fast-relaxed-math.
#[derive(Args)]
pub(crate) struct Clc {
    /// OpenCL C, or SPIR-V (`.spv`)
    file: PathBuf,
    /// Report each kernel; the default without `--output` and `--dump`
    #[arg(long)]
    report: bool,
    /// Print the program at a stage: `source`, `groups` (functions that run work-groups), `canonical`, `uniform`, `linear`,
    /// `wide`, `llvm`, `assembly`
    #[arg(long, value_name = "STAGE", value_parser = parse_dump)]
    dump: Option<Dump>,
    /// Output file: `.o`, `.s`, `.ll`, `.bc` or `.hed`. A kernel's function has the kernel's name
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Compile only this kernel, or form of one (`k.divided`) that `--report` names; may be given several times
    #[arg(long = "kernel", value_name = "NAME")]
    kernels: Vec<String>,
    /// Number of work-items in a brush; default: the 32-bit lanes of a vector register
    #[arg(long)]
    lanes: Option<u32>,
    /// Compile for groups of this size only, as in `16,4`
    #[arg(long, value_name = "X[,Y[,Z]]", value_delimiter = ',')]
    local: Vec<u32>,
    /// Compile also for launches whose indices reach 2^31 - 2^22, or wrap around where those of most launches do not
    #[arg(long)]
    large: bool,
    /// Compile for launches whose pointers lead to different objects, as the drivers do where that is so
    #[arg(long)]
    distinct: bool,
    /// Compile for launches whose strides are those of dense arrays, as the drivers do where that is so
    #[arg(long)]
    dense: bool,
    /// Compile for launches whose images have this format, as the drivers do for each: the kind of a channel and the number of channels, as in
    /// `unorm8x4` or `floatx1`
    #[arg(long, value_name = "FORMAT", value_parser = parse_image)]
    image: Option<DescriptorFields>,
    /// Numbers of each kernel's parameters that are images
    #[arg(skip)]
    image_parameters: BTreeMap<String, Vec<usize>>,
    /// The machine to generate code for: `native`, an instruction set (`sse4.2`, `avx2`, `avx512`, `neon`), or a CPU of x86-64
    /// by LLVM's name (`znver4`)
    #[arg(long, value_name = "CPU", default_value = "native", value_parser = Cpu::named)]
    target: Cpu,
    /// Mathematical functions: `exact` is Heddle's own, at most one unit in the last place off; `fast` at most four units;
    /// `libm` the C library's, lane by lane
    #[arg(long, default_value = "exact", value_parser = parse_accuracy)]
    math: Accuracy,
    /// Print the time of each pass
    #[arg(long)]
    time_passes: bool,
    /// A macro
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
    /// Folder with headers, besides the folder of the file
    #[arg(short = 'I', value_name = "FOLDER")]
    include: Vec<String>,
    /// Further options of clBuildProgram: `-cl-…` is taken as it is, all others after `--`
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    build_option: Vec<String>,
    #[arg(last = true, hide = true)]
    more: Vec<String>,
}

/// A stage that is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Dump {
    Groups,
    At(Stage),
    Llvm,
    Assembly,
}

fn parse_dump(word: &str) -> Result<Dump, String> {
    match word {
        "groups" => Ok(Dump::Groups),
        "llvm" => Ok(Dump::Llvm),
        "assembly" => Ok(Dump::Assembly),
        _ => Stage::from_name(word).map(Dump::At).ok_or_else(|| {
            let names: Vec<&str> = Stage::ALL.iter().map(|stage| stage.name()).collect();
            format!("the stages are {}, groups, llvm, assembly", names.join(", "))
        }),
    }
}

/// Parses a format of images.
fn parse_image(text: &str) -> Result<DescriptorFields, String> {
    let parsed = text.rsplit_once('x').and_then(|(kind, channels)| {
        let (_, kind) = TexelKind::NAMED.into_iter().find(|&(name, _)| name == kind)?;
        let channels = channels.parse().ok().filter(|channels| matches!(channels, 1 | 2 | 4))?;
        Some(DescriptorFields {
            layout: kind.code(channels),
            order: ComponentOrder::InOrder as i32,
            modes: None,
        })
    });
    parsed.ok_or_else(|| {
        let kinds = TexelKind::NAMED.map(|(name, _)| name).join(", ");
        format!("write a kind of channel, `x` and 1, 2 or 4 channels; the kinds are {kinds}")
    })
}

/// Returns the numbers of the parameters of imported kernels that are images, by name.
fn image_parameters(module: &LlvmModule) -> BTreeMap<String, Vec<usize>> {
    let of_kernel = |kernel: KernelInfo| {
        let (mut images, mut number) = (Vec::new(), 0);
        for param in &kernel.params {
            if matches!(param.passing, ParamPassing::Image(_)) {
                images.push(number);
            }
            number += match &param.passing {
                ParamPassing::Value { pieces, .. } => pieces.len(),
                _ => 1,
            };
        }
        (!images.is_empty()).then_some((kernel.name, images))
    };
    heddle_compiler::llvm::kernels(module).into_iter().filter_map(of_kernel).collect()
}

/// Returns the sizes of sub-groups that kernels require, by name.
fn required_lanes(module: &LlvmModule) -> BTreeMap<String, u32> {
    let required = |kernel: KernelInfo| Some((kernel.name, kernel.required_lanes?));
    heddle_compiler::llvm::kernels(module).into_iter().filter_map(required).collect()
}

/// Name of a kernel, or of the kernel that a second form is one of.
fn own_name(kernel: &KernelFacts) -> &str {
    kernel.name.split('.').next().unwrap_or(&kernel.name)
}

/// The words of a command line, with `-cl-…` as options that clap understands.
pub(crate) fn build_options_first(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    if words.get(1).is_some_and(|verb| verb == "clc") {
        let own = words.iter().position(|word| word == "--").unwrap_or(words.len());
        for word in &mut words[2..own.max(2)] {
            if word.to_str().is_some_and(|text| text.starts_with("-cl-")) {
                let mut long = OsString::from("--build-option=");
                long.push(&*word);
                *word = long;
            }
        }
    }
    words
}

impl Clc {
    pub(crate) fn run(mut self) -> CliResult {
        let session = Session::new(self.target.clone());
        let name = self.file.display().to_string();
        let source = match heddle_compiler::llvm::language_of(&self.file) {
            Some(Language::Spirv) => {
                let options = self.build_options();
                let words: Vec<&str> = options.iter().map(String::as_str).collect();
                session.read(&self.file, Stage::Source, &words).map_err(fail)?
            }
            _ => {
                let source = heddle_compiler::llvm::read_source(&self.file).map_err(fail)?;
                session.compile_opencl(&source, &name, &self.build_options()).map_err(fail)?
            }
        };
        source.refused.iter().for_each(tell);
        let undefined = undefined_functions(&source.module);
        if !undefined.is_empty() {
            let diagnostics = undefined.into_iter().map(|message| message.in_file(&name)).collect();
            return Err(fail(heddle_compiler::DiagnosticError { diagnostics }));
        }
        let options = BuildOptions { lanes: self.lanes, math: self.math, ..BuildOptions::default() };
        self.image_parameters = source.llvm.as_ref().map(image_parameters).unwrap_or_default();
        let required_lanes = source.llvm.as_ref().map(required_lanes).unwrap_or_default();
        let services = BuildServices { required_lanes, ..BuildServices::default() };
        let program = KernelModule::making(source.module, &options, services)
            .map_err(|reason| fail(reason.diagnostic(&Module::default())))?;
        let kernels = self.requested(&program)?;
        let count = kernels.len();
        let refused = source.refused.iter().any(|message| message.place.func.is_some());
        let (mut good, mut reports) = (Vec::new(), Vec::new());
        for kernel in kernels {
            let report = self
                .check_lanes(kernel.info())
                .and_then(|()| self.report_of(&kernel).map_err(|reason| reason.diagnostic(program.module())));
            match report {
                Ok(report) => {
                    reports.push(report.to_string());
                    reports.extend(self.note_of_strides(kernel.info()));
                    reports.extend(self.note_of_images(kernel.info()));
                    reports.extend(self.reports_of_forms(&kernel));
                    good.push(kernel);
                }
                Err(message) => tell(&message.in_file(&name)),
            }
        }
        let is_complete = !refused && good.len() == count;
        if self.output.is_some() || self.dump.is_some() {
            self.check_together(&good).map_err(|message| fail(message.in_file(&name)))?;
        }
        if !good.is_empty() {
            self.give(&program, &good).map_err(|reason| fail(reason.diagnostic(program.module())))??;
        }
        for report in &reports {
            match self.dump {
                None if self.report || self.output.is_none() => say!("{report}"),
                Some(_) if self.report => note(report),
                _ => {}
            }
        }
        if is_complete { Ok(()) } else { Err(CliError::Program) }
    }

    /// Options passed to clang.
    fn build_options(&self) -> Vec<String> {
        let folder = self.file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.map_or(".".into(), |folder| folder.display().to_string());
        let define = self.define.iter().flat_map(|it| ["-D".to_string(), it.clone()]);
        let include = self.include.iter().chain([&folder]).flat_map(|it| ["-I".to_string(), it.clone()]);
        define.chain(include).chain(self.build_option.iter().chain(&self.more).cloned()).collect()
    }

    /// The requested kernels.
    fn requested(&self, program: &KernelModule) -> Result<Vec<PreparedKernel>, CliError> {
        let there = || {
            let names: Vec<&str> = program.kernels().iter().map(|kernel| &*kernel.name).collect();
            if names.is_empty() {
                "the file has none".into()
            } else {
                format!("the kernels are {}", names.join(", "))
            }
        };
        let own: Vec<PreparedKernel> =
            program.kernels().iter().filter_map(|it| program.kernel(&it.name)).collect();
        let name = |kernel: &PreparedKernel| kernel.info().name.clone();
        let kernels = if self.kernels.is_empty() {
            own
        } else {
            let forms: Vec<PreparedKernel> = own.iter().flat_map(PreparedKernel::second_forms).collect();
            let all = [own, forms].concat();
            if let Some(unknown) = self.kernels.iter().find(|&it| !all.iter().any(|own| name(own) == *it)) {
                let message = Diagnostic::error(Code::UnknownFunction, format!("no kernel `{unknown}`"));
                return Err(fail(message.help(there())));
            }
            all.into_iter().filter(|it| self.kernels.contains(&name(it))).collect()
        };
        if kernels.is_empty() {
            let text = format!("{} has no kernel", self.file.display());
            return Err(fail(
                Diagnostic::error(Code::UnknownFunction, text).help("write `kernel void f(…)`"),
            ));
        }
        Ok(kernels)
    }

    /// Returns the lanes of a kernel's brushes: those that its source requires, or those of the options.
    fn lanes_of(&self, kernel: &KernelFacts) -> u32 {
        let options = BuildOptions { lanes: self.lanes, math: self.math, ..BuildOptions::default() };
        kernel.required_lanes.unwrap_or_else(|| options.lanes_on(&self.target))
    }

    /// Checks the size of sub-groups that a kernel requires.
    fn check_lanes(&self, kernel: &KernelFacts) -> Result<(), Diagnostic> {
        let Some(required) = kernel.required_lanes else { return Ok(()) };
        let name = &kernel.name;
        let error = |reason: String| {
            Diagnostic::error(Code::KernelForm, format!("the kernel `{name}` cannot be compiled: {reason}"))
        };
        if let Some((reason, help)) = sub_group_size_error(required) {
            return Err(error(format!("it requires {reason}")).help(help));
        }
        match self.lanes {
            Some(lanes) if lanes != required => {
                let reason = format!(
                    "it requires sub-groups of {required} work-items, and `--lanes {lanes}` asks for others"
                );
                Err(error(reason).help(format!("leave out `--lanes`, or write `--lanes {required}`")))
            }
            _ => Ok(()),
        }
    }

    /// Checks that kernels which are compiled together have sub-groups of the same size.
    fn check_together(&self, kernels: &[PreparedKernel]) -> Result<(), Diagnostic> {
        let kernels: Vec<&KernelFacts> = kernels.iter().map(PreparedKernel::info).collect();
        let [first, others @ ..] = &kernels[..] else { return Ok(()) };
        let size = self.lanes_of(first);
        let Some(other) = others.iter().find(|other| self.lanes_of(other) != size) else { return Ok(()) };
        let text = format!(
            "the kernels `{}` and `{}` cannot be compiled together: their sub-groups have {size} and {} work-items",
            first.name,
            other.name,
            self.lanes_of(other)
        );
        let help = format!("compile them one at a time: `--kernel {}`", first.name);
        Err(Diagnostic::error(Code::KernelForm, text).help(help))
    }

    /// For what launches code of a kernel is made.
    fn variant(&self, kernel: &PreparedKernel) -> CodeVariant {
        let axes = kernel.vector_dimension().axes;
        let kernel = kernel.info();
        let variant = match self.local[..] {
            [] => CodeVariant::usual(kernel, self.lanes_of(kernel), axes),
            _ => {
                let mut local = [1; 3];
                local.iter_mut().zip(&self.local).for_each(|(to, &size)| *to = size);
                let variant = CodeVariant::of_groups(kernel, self.lanes_of(kernel), local, axes, true, true);
                CodeVariant { local: Some(local), ..variant }
            }
        };
        let promises = self.promises(&[kernel], kernel.usual_strides());
        CodeVariant { is_small: !self.large, promises, ..variant }
    }

    /// Properties of launches of kernels, with these strides of dense arrays.
    fn promises(&self, kernels: &[&KernelFacts], dense: KnownStrides) -> LaunchPromises {
        let numbers = kernels.iter().filter_map(|kernel| self.image_parameters.get(own_name(kernel)));
        let numbers: Vec<&[usize]> = numbers.map(Vec::as_slice).collect();
        // Kernels whose images are other parameters are together only in the form for all formats.
        let images = match (&numbers[..], self.image) {
            ([first, others @ ..], Some(format))
                if others.iter().all(|it| it == first) && numbers.len() == kernels.len() =>
            {
                let given = KnownArgument::Descriptor(format);
                KnownImages::of_launch(first.iter().map(|&number| (number, given)))
            }
            _ => KnownImages::default(),
        };
        LaunchPromises {
            distinct_pointers: self.distinct,
            bounded_indices: !self.large,
            strides: if self.dense { dense } else { KnownStrides::default() },
            images,
        }
    }

    /// Launches of a kernel that run code for the formats of their images, where that is not reported.
    fn note_of_images(&self, kernel: &KernelFacts) -> Option<String> {
        let name = &kernel.name;
        let is_noted = self.image.is_none() && self.image_parameters.contains_key(own_name(kernel));
        is_noted.then(|| {
            format!("kernel {name}: launches have code for the formats of their images, see `--image`\n")
        })
    }

    /// Launches of a kernel that run code for dense arrays, where that is not reported.
    fn note_of_strides(&self, kernel: &KernelFacts) -> Option<String> {
        let strides = kernel.dense_strides().filter(|_| !self.dense)?;
        let name = &kernel.name;
        Some(format!("kernel {name}: launches with {strides} have code for dense arrays, see `--dense`\n"))
    }

    /// Reports of a kernel's second forms, after the launches that take them.
    fn reports_of_forms(&self, kernel: &PreparedKernel) -> Vec<String> {
        let Some(launches) = kernel.launches_of_second_form() else { return Vec::new() };
        let forms = kernel.second_forms();
        let names: Vec<String> = forms.iter().map(|form| format!("`{}`", form.info().name)).collect();
        let header = format!("kernel {}: {launches}, run {}\n", kernel.info().name, names.join(" or "));
        let report = |form: &PreparedKernel| Some(self.report_of(form).ok()?.to_string());
        std::iter::once(header).chain(forms.iter().filter_map(report)).collect()
    }

    fn report_of(&self, kernel: &PreparedKernel) -> Result<KernelReport, BuildError> {
        let (program, name) = (kernel.program(), &kernel.info().name);
        let source = program.module();
        let groups = GroupFunctions::new(source, &[name], self.variant(kernel))?;
        let mut context = PassContext::new();
        let mut code = groups.vectorize(source, &self.target, program.options(), &mut context)?;
        if self.time_passes {
            note(name);
            say_times(&context.times);
        }
        code.reports.pop().ok_or_else(|| BuildError::Unknown(name.clone()))
    }

    /// Compiles the kernels together; writes the code, and prints the requested stage.
    fn give(&self, program: &KernelModule, kernels: &[PreparedKernel]) -> Result<CliResult, BuildError> {
        let source = program.module();
        if self.dump == Some(Dump::At(Stage::Source)) {
            say!("{source}");
        }
        let infos: Vec<&KernelFacts> = kernels.iter().map(PreparedKernel::info).collect();
        // Kernels for groups of different forms are together only in the form that serves all groups.
        let variant = match kernels.iter().map(|kernel| self.variant(kernel)).collect::<Vec<_>>()[..] {
            [first, ref others @ ..] if others.iter().all(|&it| it == first) => first,
            _ => CodeVariant {
                promises: self.promises(&infos, KnownStrides::DENSE),
                ..CodeVariant::of_rows(self.lanes_of(kernels[0].info()), AxisOrder::WORK_ITEMS, !self.large)
            },
        };
        let names: Vec<&str> = kernels.iter().map(|kernel| &*kernel.info().name).collect();
        let groups = GroupFunctions::new(source, &names, variant)?;
        if self.dump == Some(Dump::Groups) {
            say!("{}", groups.module);
        }
        let (mut stage, mut text) = (Stage::Source, String::new());
        let mut context = PassContext::new().watched(|pass, module| {
            stage = pass.ensures.unwrap_or(stage);
            if stage != Stage::Source && self.dump == Some(Dump::At(stage)) {
                text = module.to_string();
            }
        });
        let code = groups.vectorize(source, &self.target, program.options(), &mut context)?;
        drop(context);
        say!("{text}");
        let printed = match self.dump {
            Some(Dump::Llvm) => Some(CodeFormat::Text),
            Some(Dump::Assembly) => Some(CodeFormat::Assembly),
            _ => None,
        };
        if let Some(output) = printed {
            say!("{}", String::from_utf8_lossy(&code.write(&self.target, output)?));
        }
        let Some(path) = &self.output else { return Ok(Ok(())) };
        let bytes = match path.extension().and_then(|extension| extension.to_str()) {
            Some("hed") => code.module.to_string().into_bytes(),
            Some("ll") => code.write(&self.target, CodeFormat::Text)?,
            Some("bc") => code.write(&self.target, CodeFormat::Bitcode)?,
            Some("s") => code.write(&self.target, CodeFormat::Assembly)?,
            Some("o") => code.write(&self.target, CodeFormat::Object)?,
            _ => {
                let text = format!("{}: unknown output format", path.display());
                let message = Diagnostic::error(Code::Output, text);
                return Ok(Err(fail(message.help("use a name that ends in .o, .s, .ll, .bc or .hed"))));
            }
        };
        Ok(crate::report::write(Some(path), &bytes))
    }
}
