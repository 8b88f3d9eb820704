//! Computations written once, and the forms of a kernel that are generated from each.
//!
//! A template is a file of `opencl/forms`. Lines that begin with `//!` declare the computation, the rest is the body: OpenCL C that
//! computes the value `r` of the element at the indices `x`, `y` and `z` of a domain of `w`, `h` and `d` elements; `x` is the contiguous
//! one.
//!
//! ```text
//! extent W [H [D]]         size of the domain
//! input ARGUMENT DECL      argument in the words of `unseen.c`, and its declaration
//! output TYPE KIND [N]     type of an element, kind of the buffer in `unseen.c`, number of elements unless it is the domain's
//! at EXPRESSION            index of the element in the output unless it is the linear one
//! group X [Y [Z]]          a work-group that the body may rely on as `GX`, `GY`, `GZ`, with the local indices `lx`, `ly`, `lz`; each
//!                          line is one choice. Without such a line work-items are independent
//! local DECL               declaration in local memory
//! top TEXT                 text before the kernel
//! variant NAME [x/N TYPE]  the body with the macro NAME (in capitals) defined; an item computes N elements as one of this type
//! layout NAME              a variant that reads its inputs in another order: it has results of its own
//! ```

use std::fmt::Write as _;

/// Computation that is written once.
#[derive(Clone, Debug, Default)]
pub(super) struct FormTemplate {
    pub(super) name: String,
    extent: Vec<usize>,
    /// Arguments and declarations.
    inputs: Vec<(String, String)>,
    /// Type of an element, and the kind of the buffer.
    output: (String, String),
    /// Number of elements of the output where it is not the domain's.
    count: Option<usize>,
    at: Option<String>,
    groups: Vec<Vec<usize>>,
    locals: Vec<String>,
    top: String,
    variants: Vec<TemplateVariant>,
    body: String,
}

/// Other way to write the body.
#[derive(Clone, Debug)]
struct TemplateVariant {
    name: String,
    /// Elements that an item computes, and their type.
    vector: Option<(usize, String)>,
    /// True if the results differ from those of the other forms.
    has_own_results: bool,
}

/// Type of the indices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum IndexType {
    Int,
    Uint,
    Size,
}

/// Kind of test that excludes items beyond the domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DomainGuard {
    If,
    Return,
    /// Items beyond the domain repeat the last element.
    Clamp,
}

/// Distribution of elements over items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Distribution {
    /// An item for each element.
    Each,
    /// One dimension, with `/` and `%`.
    Flat,
    /// A fixed number of items, each with elements at that distance.
    Stride,
    /// A fixed number of items, each with consecutive elements.
    Chunk,
    /// One item with loops.
    Single,
}

/// Function that computes an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ElementFunction {
    None,
    /// Returns the value.
    Value,
    /// Writes the value through a pointer.
    Pointer,
}

/// Form of a kernel: one value for each parameter of the template.
#[derive(Clone, PartialEq, Eq, Debug)]
struct KernelForm {
    /// Dimension of the domain by dimension of the launch.
    order: Vec<usize>,
    /// Size of a group by dimension of the launch; `None` leaves it open.
    local: Option<Vec<usize>>,
    index: IndexType,
    guard: DomainGuard,
    distribution: Distribution,
    function: ElementFunction,
    variant: Option<usize>,
}

/// Kernel generated from a template.
#[derive(Clone, Debug)]
pub(super) struct GeneratedKernel {
    pub(super) label: String,
    pub(super) source: String,
    /// True if the form has the memory traffic and the parallelism of the first one.
    pub(super) is_comparable: bool,
    /// Kernels with the same number have the same results.
    pub(super) result_class: usize,
}

/// Items of a launch whose items compute several elements each.
const STRIDE_ITEMS: usize = 4096;
const CHUNK_ITEMS: usize = 256;

impl FormTemplate {
    /// Parses a template.
    pub(super) fn parse(name: &str, text: &str) -> Result<FormTemplate, String> {
        let mut template = FormTemplate { name: name.into(), ..FormTemplate::default() };
        for line in text.lines() {
            let Some(line) = line.strip_prefix("//! ") else {
                if !line.starts_with("//") {
                    template.body.push_str(line);
                    template.body.push('\n');
                }
                continue;
            };
            let wrong = || format!("{name}: not understood: {line}");
            let (word, rest) = line.split_once(' ').ok_or_else(wrong)?;
            let numbers = || rest.split(' ').map(|it| it.parse().ok()).collect::<Option<Vec<usize>>>();
            match word {
                "extent" => template.extent = numbers().ok_or_else(wrong)?,
                "group" => template.groups.push(numbers().ok_or_else(wrong)?),
                "input" => {
                    let (argument, declaration) = rest.split_once(' ').ok_or_else(wrong)?;
                    template.inputs.push((argument.into(), declaration.into()));
                }
                "output" => match rest.split(' ').collect::<Vec<_>>()[..] {
                    [element, kind] => template.output = (element.into(), kind.into()),
                    [element, kind, count] => {
                        template.output = (element.into(), kind.into());
                        template.count = Some(count.parse().map_err(|_| wrong())?);
                    }
                    _ => return Err(wrong()),
                },
                "at" => template.at = Some(rest.into()),
                "local" => template.locals.push(rest.into()),
                "top" => template.top += &format!("{rest}\n"),
                "variant" | "layout" => {
                    let mut words = rest.split(' ');
                    let name = words.next().ok_or_else(wrong)?.into();
                    let vector = match (words.next(), words.next()) {
                        (None, _) => None,
                        (Some(divided), Some(element)) => {
                            let count = divided.strip_prefix("x/").and_then(|it| it.parse().ok());
                            Some((count.ok_or_else(wrong)?, element.into()))
                        }
                        _ => return Err(wrong()),
                    };
                    let has_own_results = word == "layout";
                    template.variants.push(TemplateVariant { name, vector, has_own_results });
                }
                _ => return Err(wrong()),
            }
        }
        let dimensions = template.extent.len();
        if !(1..=3).contains(&dimensions) || template.output.1.is_empty() {
            return Err(format!("{name}: no extent or no output"));
        }
        if template.groups.iter().any(|group| group.len() != dimensions) {
            return Err(format!("{name}: groups have other dimensions than the domain"));
        }
        Ok(template)
    }

    /// Generates the kernels of all forms; the first is the one that others are compared with.
    pub(super) fn kernels(&self) -> Vec<GeneratedKernel> {
        self.forms().iter().map(|form| self.generate(form)).collect()
    }

    fn forms(&self) -> Vec<KernelForm> {
        let plain = KernelForm {
            order: (0..self.extent.len()).collect(),
            local: self.groups.first().cloned(),
            index: IndexType::Int,
            guard: DomainGuard::If,
            distribution: Distribution::Each,
            function: ElementFunction::None,
            variant: None,
        };
        let mut forms = vec![plain.clone()];
        let mut add = |form: KernelForm| {
            if !forms.contains(&form) {
                forms.push(form);
            }
        };
        let locals: &[&[usize]] = match (&self.groups[..], self.extent.len()) {
            ([_, ..], _) => &[],
            (_, 1) => &[&[64], &[100], &[192], &[256]],
            (_, 2) => &[&[16, 16], &[64, 1], &[1, 64], &[8, 8], &[7, 11]],
            _ => &[&[8, 8, 4], &[64, 1, 1], &[1, 1, 64], &[4, 4, 4], &[7, 3, 5]],
        };
        let mut sizes: Vec<Option<Vec<usize>>> = locals.iter().map(|local| Some(local.to_vec())).collect();
        if self.groups.is_empty() {
            sizes.insert(0, None);
        }
        for order in orders(self.extent.len()) {
            for local in &sizes {
                add(KernelForm { order: order.clone(), local: local.clone(), ..plain.clone() });
            }
            for group in &self.groups {
                let local = Some(order.iter().map(|&dimension| group[dimension]).collect());
                add(KernelForm { order: order.clone(), local, ..plain.clone() });
            }
        }
        for variant in 0..self.variants.len() {
            add(KernelForm { variant: Some(variant), ..plain.clone() });
            let order: Vec<usize> = plain.order.iter().rev().copied().collect();
            let local = plain.local.clone().map(|local| local.into_iter().rev().collect());
            add(KernelForm { order, local, variant: Some(variant), ..plain.clone() });
        }
        for index in [IndexType::Uint, IndexType::Size] {
            add(KernelForm { index, ..plain.clone() });
        }
        if self.groups.is_empty() {
            for guard in [DomainGuard::Return, DomainGuard::Clamp] {
                add(KernelForm { guard, ..plain.clone() });
                let local = locals.last().map(|local| local.to_vec());
                add(KernelForm { guard, local, ..plain.clone() });
            }
            let several = [Distribution::Stride, Distribution::Chunk, Distribution::Single];
            for distribution in several {
                add(KernelForm { distribution, ..plain.clone() });
            }
            if self.extent.len() > 1 {
                let distribution = Distribution::Flat;
                for index in [IndexType::Int, IndexType::Uint, IndexType::Size] {
                    add(KernelForm { index, distribution, ..plain.clone() });
                }
            }
            for function in [ElementFunction::Value, ElementFunction::Pointer] {
                add(KernelForm { function, ..plain.clone() });
            }
        } else if self.extent.len() > 1 {
            add(KernelForm { distribution: Distribution::Flat, ..plain });
        }
        forms
    }

    fn variant(&self, form: &KernelForm) -> Option<&TemplateVariant> {
        self.variants.get(form.variant?)
    }

    /// Size of the domain of a form.
    fn extent(&self, form: &KernelForm) -> Vec<usize> {
        let mut extent = self.extent.clone();
        if let Some((count, _)) = self.variant(form).and_then(|variant| variant.vector.as_ref()) {
            extent[0] /= count;
        }
        extent
    }

    fn label(&self, form: &KernelForm) -> String {
        const NAMES: [char; 3] = ['x', 'y', 'z'];
        let mut words: Vec<String> = Vec::new();
        if form.distribution == Distribution::Each {
            words.push(form.order.iter().map(|&dimension| NAMES[dimension]).collect());
            words.push(form.local.as_ref().map_or("open".into(), |local| {
                local.iter().map(usize::to_string).collect::<Vec<_>>().join("×")
            }));
        }
        words.extend(match form.distribution {
            Distribution::Each => None,
            Distribution::Flat => Some("flat".into()),
            Distribution::Stride => Some("stride".into()),
            Distribution::Chunk => Some("chunk".into()),
            Distribution::Single => Some("single".into()),
        });
        words.extend(match form.index {
            IndexType::Int => None,
            IndexType::Uint => Some("uint".into()),
            IndexType::Size => Some("size_t".into()),
        });
        words.extend(match form.guard {
            DomainGuard::If => None,
            DomainGuard::Return => Some("return".into()),
            DomainGuard::Clamp => Some("clamp".into()),
        });
        words.extend(match form.function {
            ElementFunction::None => None,
            ElementFunction::Value => Some("function".into()),
            ElementFunction::Pointer => Some("function by pointer".into()),
        });
        words.extend(self.variant(form).map(|variant| variant.name.clone()));
        words.join(" ")
    }

    fn generate(&self, form: &KernelForm) -> GeneratedKernel {
        let extent = self.extent(form);
        let variant = self.variant(form);
        let several = [Distribution::Chunk, Distribution::Single];
        let vector = variant.is_some_and(|variant| variant.vector.is_some());
        let own_results = form.variant.filter(|_| variant.is_some_and(|variant| variant.has_own_results));
        GeneratedKernel {
            label: self.label(form),
            source: self.source(form, &extent),
            is_comparable: !several.contains(&form.distribution) && !vector && own_results.is_none(),
            result_class: own_results.map_or(0, |variant| variant + 1),
        }
    }

    fn source(&self, form: &KernelForm, extent: &[usize]) -> String {
        const INDICES: [&str; 3] = ["x", "y", "z"];
        const SIZES: [&str; 3] = ["w", "h", "d"];
        let (index, number) = match form.index {
            IndexType::Int => ("int", "int"),
            IndexType::Uint => ("uint", "uint"),
            IndexType::Size => ("size_t", "uint"),
        };
        let dimensions = extent.len();
        let element = match self.variant(form).and_then(|variant| variant.vector.as_ref()) {
            Some((_, element)) => element,
            None => &self.output.0,
        };
        let mut text = format!("#define INDEX {index}\n");
        if let Some(variant) = self.variant(form) {
            _ = writeln!(text, "#define {} 1", variant.name.to_uppercase());
        }
        // Sizes of a group by dimension of the domain.
        let group = form.local.as_ref().filter(|_| !self.groups.is_empty());
        for (dimension, name) in ["GX", "GY", "GZ"].into_iter().enumerate().take(dimensions) {
            let at = form.order.iter().position(|&it| it == dimension);
            if let Some(size) = at.zip(group).map(|(at, group)| group[at]) {
                _ = writeln!(text, "#define {name} {size}");
            }
        }
        text += &self.top;

        let declared: String =
            self.inputs.iter().map(|(_, declaration)| format!("{declaration}, ")).collect();
        let names: String =
            self.inputs.iter().map(|(_, declaration)| format!("{}, ", last_word(declaration))).collect();
        let of_all = |of: &dyn Fn(usize) -> String| (0..dimensions).map(of).collect::<Vec<_>>().join(", ");
        let at = self.at.clone().unwrap_or_else(|| match dimensions {
            1 => "x".into(),
            2 => "y * w + x".into(),
            _ => "(z * h + y) * w + x".into(),
        });
        let parameters = of_all(&|it| format!("INDEX {}", INDICES[it]));
        let sizes = of_all(&|it| format!("const {number} {}", SIZES[it]));
        let passed =
            format!("{names}{}, {}", of_all(&|it| INDICES[it].into()), of_all(&|it| SIZES[it].into()));
        let body = &self.body;
        let store = match form.function {
            ElementFunction::None => format!("{element} r;\n{body}out[{at}] = r;\n"),
            ElementFunction::Value => {
                _ = write!(
                    text,
                    "static {element} element({declared}{parameters}, {sizes}) {{\n{element} r;\n{body}return r;\n}}\n"
                );
                format!("out[{at}] = element({passed});\n")
            }
            ElementFunction::Pointer => {
                _ = write!(
                    text,
                    "static void element({declared}{parameters}, {sizes}, private {element} *result) {{\n{element} r;\n{body}*result = r;\n}}\n"
                );
                format!("{element} value;\nelement({passed}, &value);\nout[{at}] = value;\n")
            }
        };

        let total: usize = extent.iter().product();
        let round_up = |size: usize, unit: usize| size.div_ceil(unit) * unit;
        let (global, local): (Vec<usize>, Option<Vec<usize>>) = match form.distribution {
            Distribution::Each => {
                let size = |(at, &dimension): (usize, &usize)| {
                    round_up(extent[dimension], form.local.as_ref().map_or(1, |local| local[at]))
                };
                (form.order.iter().enumerate().map(size).collect(), form.local.clone())
            }
            Distribution::Flat => (vec![total], group.map(|group| vec![group.iter().product()])),
            Distribution::Stride => (vec![STRIDE_ITEMS], None),
            Distribution::Chunk => (vec![CHUNK_ITEMS], None),
            Distribution::Single => (vec![1], None),
        };
        let join = |sizes: &[usize]| sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        _ = write!(text, "//! global={}", join(&global));
        if let Some(local) = &local {
            _ = write!(text, " local={}", join(local));
        }
        let arguments: String = self.inputs.iter().map(|(argument, _)| format!("{argument},")).collect();
        let count = self.count.unwrap_or_else(|| self.extent.iter().product());
        let numbers: String = extent.iter().map(|size| format!(",n={size}")).collect();
        _ = writeln!(text, " args={arguments}{}:{count}{numbers}", self.output.1);
        _ = writeln!(text, "kernel void form({declared}global {element} *out, {sizes}) {{");
        for local in &self.locals {
            _ = writeln!(text, "local {local}");
        }
        let linear = |text: &mut String, of: &str| {
            let split: &[&str] = match dimensions {
                1 => &["const INDEX x = {};"],
                2 => &["const INDEX x = {} % w, y = {} / w;"],
                _ => &["const INDEX x = {} % w, y = {} / w % h, z = {} / w / h;"],
            };
            for line in split {
                _ = writeln!(text, "{}", line.replace("{}", of));
            }
        };
        let inside = of_all(&|it| format!("{} < {}", INDICES[it], SIZES[it])).replace(", ", " && ");
        let product = SIZES[..dimensions].join(" * ");
        let guarded = |text: &mut String, inside: &str| match form.guard {
            _ if group.is_some() => text.push_str(&store),
            DomainGuard::Return => _ = write!(text, "if (!({inside}))\nreturn;\n{store}"),
            DomainGuard::If => _ = write!(text, "if ({inside}) {{\n{store}}}\n"),
            DomainGuard::Clamp => text.push_str(&store),
        };
        match form.distribution {
            Distribution::Each => {
                for (at, &dimension) in form.order.iter().enumerate() {
                    let (name, size) = (INDICES[dimension], SIZES[dimension]);
                    _ = match form.guard {
                        DomainGuard::Clamp => {
                            writeln!(
                                text,
                                "const INDEX {name} = min((INDEX)get_global_id({at}), (INDEX)({size} - 1));"
                            )
                        }
                        _ => writeln!(text, "const INDEX {name} = get_global_id({at});"),
                    };
                    if group.is_some() {
                        _ = writeln!(text, "const INDEX l{name} = get_local_id({at});");
                    }
                }
                guarded(&mut text, &inside);
            }
            Distribution::Flat if group.is_some() => {
                // Groups of one dimension, which lie in the domain as those of several would.
                const GROUPS: [&str; 3] = ["GX", "GY", "GZ"];
                text += "const INDEX local_index = get_local_id(0), group_index = get_group_id(0);\n";
                let (mut inner, mut outer) = ("local_index".to_string(), "group_index".to_string());
                for dimension in 0..dimensions {
                    let (name, group, size) = (INDICES[dimension], GROUPS[dimension], SIZES[dimension]);
                    _ = writeln!(text, "const INDEX l{name} = {inner} % {group};");
                    _ = writeln!(
                        text,
                        "const INDEX {name} = {outer} % ({size} / {group}) * {group} + l{name};"
                    );
                    inner += &format!(" / {group}");
                    outer += &format!(" / ({size} / {group})");
                }
                text += &store;
            }
            Distribution::Flat => {
                text += "const INDEX item = get_global_id(0);\n";
                linear(&mut text, "item");
                guarded(&mut text, &format!("item < {product}"));
            }
            Distribution::Stride => {
                _ = writeln!(
                    text,
                    "for (INDEX item = get_global_id(0); item < {product}; item += get_global_size(0)) {{"
                );
                linear(&mut text, "item");
                text += &store;
                text += "}\n";
            }
            Distribution::Chunk => {
                _ = writeln!(
                    text,
                    "const INDEX chunk = ({product} + get_global_size(0) - 1) / get_global_size(0);"
                );
                text += "const INDEX begin = get_global_id(0) * chunk;\n";
                _ = writeln!(text, "const INDEX end = min((INDEX)(begin + chunk), (INDEX)({product}));");
                text += "for (INDEX item = begin; item < end; item++) {\n";
                linear(&mut text, "item");
                text += &store;
                text += "}\n";
            }
            Distribution::Single => {
                for dimension in (0..dimensions).rev() {
                    let (name, size) = (INDICES[dimension], SIZES[dimension]);
                    _ = writeln!(text, "for (INDEX {name} = 0; {name} < {size}; {name}++)");
                }
                _ = write!(text, "{{\n{store}}}\n");
            }
        }
        text + "}\n"
    }
}

/// Returns all orders of so many dimensions, the natural one first.
fn orders(dimensions: usize) -> Vec<Vec<usize>> {
    match dimensions {
        1 => vec![vec![0]],
        2 => vec![vec![0, 1], vec![1, 0]],
        _ => [[0, 1, 2], [1, 0, 2], [0, 2, 1], [1, 2, 0], [2, 0, 1], [2, 1, 0]].map(Vec::from).into(),
    }
}

/// Returns the name that a declaration declares.
fn last_word(declaration: &str) -> &str {
    declaration.rsplit([' ', '*']).next().unwrap_or(declaration)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = "\
// Sum of two arrays.
//! extent 8 4
//! input f:32 global const float *a
//! output float F
//! variant float4 x/4 float4
//! layout turned
r = a[y * w + x];
";

    fn kernel(label: &str) -> GeneratedKernel {
        let template = FormTemplate::parse("sum", TEMPLATE).expect("it is a template");
        template.kernels().into_iter().find(|kernel| kernel.label == label).expect("there is this form")
    }

    #[test]
    fn forms_are_generated_from_one_body() {
        let rows_first = kernel("yx 7×11").source;
        assert!(rows_first.contains("//! global=7,11 local=7,11 args=f:32,F:32,n=8,n=4\n"), "{rows_first}");
        assert!(rows_first.contains("y = get_global_id(0);\n"), "{rows_first}");
        assert!(rows_first.contains("if (x < w && y < h) {\nfloat r;\nr = a[y * w + x];\n"), "{rows_first}");
        let vectors = kernel("xy open float4");
        assert!(vectors.source.contains("//! global=2,4 args=f:32,F:32,n=2,n=4\n"), "{}", vectors.source);
        assert!(!vectors.is_comparable && vectors.result_class == 0);
        assert_eq!(kernel("xy open turned").result_class, 2);
        let flat = kernel("flat size_t").source;
        assert!(
            flat.contains("const size_t x = item % w") || flat.contains("#define INDEX size_t"),
            "{flat}"
        );
    }

    #[test]
    fn forms_have_different_labels_and_sources() {
        let template = FormTemplate::parse("sum", TEMPLATE).expect("it is a template");
        let kernels = template.kernels();
        for (at, kernel) in kernels.iter().enumerate() {
            for other in &kernels[..at] {
                assert!(kernel.label != other.label && kernel.source != other.source, "{}", kernel.label);
            }
        }
    }

    #[test]
    fn bad_templates_are_refused() {
        for line in
            ["//! extent x", "//! nothing here", "//! group 4", "//! output float", "//! variant v x/4"]
        {
            let text = format!("//! extent 8 4\n//! output float F\n{line}\n");
            assert!(FormTemplate::parse("t", &text).is_err(), "{line}");
        }
    }
}
