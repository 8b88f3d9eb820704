//! The linker: which definitions stay, which names are changed, what is refused.
#![forbid(unsafe_code)]

use heddle_ptx::{LowerOptions, link, lower, parse};

const HEAD: &str = ".version 7.0\n.target sm_75\n.address_size 64\n";

/// Links units, each with a head before it, and returns the text with the names of what is refused when it is lowered.
fn linked(units: &[&str]) -> (String, Vec<String>) {
    let texts: Vec<String> = units.iter().map(|unit| format!("{HEAD}{unit}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let text = link(&texts).unwrap_or_else(|errors| panic!("{}", errors[0]));
    let module = parse(&text).unwrap_or_else(|errors| panic!("{text}\n{}", errors[0]));
    let lowered = lower(&module, "k.ptx", LowerOptions::default())
        .unwrap_or_else(|errors| panic!("{text}\n{}", errors[0]));
    let refused = lowered.refused.iter().map(ToString::to_string).collect();
    (text.clone(), refused)
}

fn error(units: &[&str]) -> String {
    let texts: Vec<String> = units.iter().map(|unit| format!("{HEAD}{unit}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    link(&texts).err().map(|errors| errors[0].to_string()).unwrap_or_default()
}

const CALLS: &str = "
.extern .func (.param .b32 r) scale (.param .b32 x);
.extern .global .align 4 .u32 counter;
.visible .entry k (.param .u64 out) {
  .reg .b32 %r<3>;
  .reg .b64 %a;
  ld.param.u64 %a, [out];
  ld.global.u32 %r1, [counter];
  { .param .b32 x; st.param.b32 [x], %r1; .param .b32 r; call (r), scale, (x); ld.param.b32 %r2, [r]; }
  st.global.u32 [%a], %r2;
  ret;
}
";
const DEFINES: &str = "
.visible .global .align 4 .u32 counter = 7;
.visible .func (.param .b32 r) scale (.param .b32 x) {
  .reg .b32 %r<2>;
  ld.param.b32 %r1, [x];
  add.u32 %r1, %r1, %r1;
  st.param.b32 [r], %r1;
  ret;
}
";

#[test]
fn definitions_satisfy_declarations_in_either_order() {
    for units in [[CALLS, DEFINES], [DEFINES, CALLS]] {
        let (text, refused) = linked(&units);
        assert!(refused.is_empty(), "{text}\n{refused:?}");
        assert!(text.contains("counter = 7") && !text.contains(".extern .global"), "{text}");
    }
}

#[test]
fn a_caller_may_expect_a_result_of_a_function_without_one() {
    let void = ".visible .func scale (.param .b32 x) { ret; } .visible .global .align 4 .u32 counter = 7;";
    let (text, refused) = linked(&[CALLS, void]);
    assert!(refused.is_empty(), "{text}\n{refused:?}");
}

#[test]
fn an_undefined_variable_refuses_its_kernel_only() {
    let fine = ".visible .entry other () { ret; }";
    let defines = DEFINES.replace(".visible .global .align 4 .u32 counter = 7;", "");
    let (_, refused) = linked(&[CALLS, &defines, fine]);
    assert!(refused.iter().any(|reason| reason.contains("counter")), "{refused:?}");
    assert!(!refused.iter().any(|reason| reason.contains("other")), "{refused:?}");
}

#[test]
fn names_without_linkage_belong_to_their_unit() {
    let unit = |value: u32, kernel: &str| {
        format!(
            ".global .align 4 .u32 own = {value};
             .visible .entry {kernel} (.param .u64 out) {{
               .reg .b32 %r; .reg .b64 %a;
               ld.param.u64 %a, [out]; ld.global.u32 %r, [own]; st.global.u32 [%a], %r; ret; }}"
        )
    };
    let (text, refused) = linked(&[&unit(1, "first"), &unit(2, "second")]);
    assert!(refused.is_empty(), "{refused:?}");
    for number in 0..2 {
        assert!(text.contains(&format!("own__unit{number} = {}", number + 1)), "{text}");
        assert_eq!(text.matches(&format!("[own__unit{number}]")).count(), 1, "{text}");
    }
    // A global name stays as it is, and a fresh name is one that no unit has.
    let global = ".visible .global .align 4 .u32 own = 3; .visible .global .align 4 .u32 own__unit1 = 4;";
    let (text, _) = linked(&[global, &unit(2, "second")]);
    assert!(text.contains(" own = 3") && text.contains(" own__unit1_ = 2"), "{text}");
}

#[test]
fn one_definition_of_a_weak_name_stays() {
    let weak = |value: u32| format!(".weak .global .align 4 .u32 shared_by_all = {value};");
    let strong = ".visible .global .align 4 .u32 shared_by_all = 9;";
    let (text, _) = linked(&[&weak(1), &weak(2)]);
    assert!(text.contains("= 1") && !text.contains("= 2"), "{text}");
    for units in [[weak(1), strong.into()], [strong.into(), weak(1)]] {
        let (text, _) = linked(&[&units[0], &units[1]]);
        assert!(text.contains("= 9") && !text.contains("= 1"), "{text}");
    }
    let kernel = ".weak .entry k () { ret; }";
    let (text, _) = linked(&[kernel, kernel]);
    assert_eq!(text.matches(".entry k").count(), 1, "{text}");
    let common = |count: u32| format!(".common .global .align 4 .b8 buffer[{count}];");
    let (text, _) = linked(&[&common(4), &common(16), &common(8)]);
    assert!(text.contains("buffer[16]") && text.matches("buffer").count() == 1, "{text}");
}

#[test]
fn what_cannot_be_linked_is_named() {
    assert!(error(&[DEFINES, DEFINES]).contains("multiple definitions of `counter`"));
    let own = ".global .align 4 .u32 max = 1;";
    assert!(error(&[own, own]).contains("`max`"));
    assert!(error(&[own, "garbage"]).contains("garbage"));
    assert_eq!(link(&[]).map(|text| text.contains(".version")), Ok(true));
}

#[test]
fn the_head_is_the_newest_and_files_keep_their_lines() {
    let old = ".version 6.3\n.target sm_50\n.address_size 64\n.file 1 \"a.cu\"\n.visible .entry a () { .loc 1 5 0\n ret; }";
    let new = ".version 8.10\n.target sm_90a\n.address_size 64\n.file 1 \"b.cu\"\n.file 2 \"c.cu\"\n\
               .section .debug_str\n{\ninfo_string0:\n.b8 1\n}\n\
               .visible .entry b () { .loc 2 6 0\n ret; }";
    let text = link(&[old, new, old.replace("entry a", "entry c").as_str()]).expect("it can be linked");
    assert!(text.starts_with(".version 8.10\n.target sm_90a\n"), "{text}");
    for line in [
        ".file 1 \"a.cu\"",
        ".file 2 \"b.cu\"",
        ".file 3 \"c.cu\"",
        ".file 4 \"a.cu\"",
        ".loc 1 5",
        ".loc 3 6",
        ".loc 4 5",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(!text.contains(".section"), "{text}");
}
