//! `heddle profile`, as a user runs it.
#![forbid(unsafe_code)]

mod common;

use common::{Folder, heddle, says, succeed};

/// What a profile prints first, but for spaces that align columns.
fn profile(folder: &Folder, file: &str, more: &[&str]) -> String {
    let args = ["profile", file, "--lanes", "4", "--arg", "[1, 9, 1, 1]", "--arg", "[9, 1, 9, 9]"];
    let text = succeed(heddle(&folder.0, &[&args[..], more].concat()));
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect()
}

/// The nest of Bulavintsev's Fig. 5: flattened, lanes with little to do in the inner loop no longer wait for the one with
/// much to do.
#[test]
fn a_flattened_nest_keeps_lanes_busy() {
    let folder = Folder::new("profile");
    let nest = format!("{}/../../tests/transform/flatten-fig-5.hed", env!("CARGO_MANIFEST_DIR"));
    let before = profile(&folder, &nest, &[]);
    for expected in [
        "@nest: 96 warp-instructions, about 96 cycles; 60.4 % of 4 lanes active on average (ipdom)\n",
        "block2 17 52.9 % 0 8 0 8 0 1 68 68\n",
        "block3 9 77.8 % 0 0 0 8 0 1 27 27\n",
        "block2 17 1 5.9 % divergent block2 8, block3 28\n",
        "block1 4 7.00 1x1/9x3\n",
        "block2 28 1.29 1x27/9x1\n",
    ] {
        assert!(before.contains(expected), "{expected}{before}");
    }
    let passes = ["opt", &nest, "-p", "canonicalize,flatten:block1,simplify", "-o", "flat.hed"];
    succeed(heddle(&folder.0, &passes));
    let after = profile(&folder, "flat.hed", &[]);
    for expected in [
        "@nest: 84 warp-instructions, about 84 cycles; 92.9 % of 4 lanes active on average (ipdom)\n",
        "block2 9 100.0 % 0 0 0 0 0 9 36 36\n",
        "block5 10 0 0.0 % uniform block2 36, block1 4\n",
        "block5 4 10.00 10x4\n",
    ] {
        assert!(after.contains(expected), "{expected}{after}");
    }
    let json = succeed(heddle(
        &folder.0,
        &["profile", "flat.hed", "--json", "--lanes", "4", "--arg", "[1, 9, 1, 1]", "--arg", "[9, 1, 9, 9]"],
    ));
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["functions"][0]["warp_instructions"], 84);
    assert_eq!(json["functions"][0]["loops"][0]["trips"][0], serde_json::json!([10, 4]));
    assert_eq!(json["functions"][0]["loops"][0]["lanes"], 4);
    assert_eq!(json["functions"][0]["loops"][0]["iterations"], 10);
    assert_eq!(json["false_negatives"], 0);
}

#[test]
fn accesses_are_classified_by_their_addresses() {
    let folder = Folder::new("profile-memory");
    folder.write(
        "k.hed",
        "kernel @k(v0: ptr(global) uniform, v1: ptr(global) uniform) {
block0:
  v2 = global_id i64, 0
  v3 = shl v2, 2
  v4 = ptradd v0, v3
  v5 = load i32, v4 align 4
  v6 = shl v2, 5
  v7 = ptradd v1, v6
  store v5, v7 align 4
  v8 = load i32, v0 align 4
  v9 = zext i64, v5
  v10 = shl v9, 2
  v11 = ptradd v0, v10
  v12 = load i32, v11 align 4
  ret
}
",
    );
    let args =
        ["profile", "k.hed", "--lanes", "8", "--local", "16", "--groups", "2", "--arg", "&a", "--arg", "&b"];
    let objects = ["--mem", "a: i32 zero 32", "--mem", "b: i32 zero 256"];
    let text = succeed(heddle(&folder.0, &[&args[..], &objects].concat()));
    let rows: Vec<String> =
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for expected in [
        "block0 4 0 4 0 0 1.0 1.0 v5 = load i32, v4",
        "block0 4 0 0 4 0 8.0 2.0 store v5, v7",
        "block0 4 4 0 0 0 1.0 1.0 v8 = load i32, v0",
        "block0 4 4 0 0 0 1.0 1.0 v12 = load i32, v11",
    ] {
        assert!(rows.iter().any(|row| row.starts_with(expected)), "{expected}\n{text}");
    }
}

#[test]
fn profiling_errors_are_reported() {
    let folder = Folder::new("profile-wrong");
    folder.write("f.hed", "func @f(v0: i32) -> i32 {\nblock0:\n  v1 = udiv 1, v0\n  ret v1\n}\n");
    says(&folder, &["profile", "f.hed", "--arg", "0"], 1, "division by zero");
    says(&folder, &["profile", "f.hed", "--lanes", "513", "--arg", "1"], 2, "a brush has 1 to 512 lanes");
    says(&folder, &["profile", "f.hed", "--func", "g", "--arg", "1"], 2, "@g");
    says(&folder, &["profile", "f.hed", "--local", "x", "--arg", "1"], 2, "sizes are written");
}

/// Output of passes for a file; with arguments, the passes use its profile of a run with them.
fn chosen(folder: &Folder, file: &str, passes: &str, profiled: Option<&[&str]>) -> String {
    let mut command = vec!["opt", file, "-p", passes, "--verify"];
    if let Some(args) = profiled {
        let json =
            succeed(heddle(&folder.0, &[&["profile", file, "--json", "--lanes", "4"][..], args].concat()));
        folder.write("profile.json", &json);
        command.extend(["--profile", "profile.json"]);
    }
    succeed(heddle(&folder.0, &command))
}

/// Passes choose by the profile of a run: flattening by how often loops go round, fusion by how often lanes part, guards by how
/// often no lane takes a way.
#[test]
fn passes_choose_by_what_was_seen() {
    let folder = Folder::new("profile-fed");
    let nest = format!("{}/../../tests/transform/flatten-fig-5.hed", env!("CARGO_MANIFEST_DIR"));
    let flatten = "canonicalize,flatten:lanes=4+races=excluded";
    let is_flat = |seen: &[&str]| {
        // The profile stands at the branches of both.
        chosen(&folder, &nest, flatten, Some(seen)) != chosen(&folder, &nest, "canonicalize", Some(seen))
    };
    assert!(is_flat(&["--arg", "[64, 1, 1, 1]", "--arg", "[64, 64, 64, 64]"]));
    assert!(!is_flat(&["--arg", "[3, 3, 3, 3]", "--arg", "[1, 1, 1, 1]"]));
    folder.write(
        "sides.hed",
        "func @f(v0: f32, v1: f32, v2: i1) -> f32 {
block0:
  br v2, block1, block2
block1:
  v3 = fdiv v0, v1
  br block3
block2:
  v4 = fdiv v1, 2.0
  br block3
block3:
  v5 = phi f32 [block1: v3], [block2: v4]
  ret v5
}
",
    );
    let numbers = ["--arg", "[1.0, 2.0, 3.0, 4.0]", "--arg", "[1.0, 2.0, 3.0, 4.0]", "--arg"];
    let [part, together] = ["[true, false, true, true]", "[true, true, true, true]"]
        .map(|requested| [&numbers[..], &[requested]].concat());
    let quotients = |passes: &str, seen: Option<&[&str]>| {
        chosen(&folder, "sides.hed", passes, seen).matches("= fdiv").count()
    };
    let fuse = "canonicalize,fuse:4+target=warps";
    assert_eq!([None, Some(&part[..]), Some(&together)].map(|seen| quotients(fuse, seen)), [1, 1, 2]);
    folder.write(
        "long.hed",
        "func @f(v0: f32, v1: f32, v2: i1) -> f32 {
block0:
  br v2, block1, block2
block1:
  v3 = fdiv v0, v1
  br block3
block2:
  v4 = fdiv v1, v0
  v6 = fdiv v4, v0
  v7 = fdiv v6, v0
  v8 = fdiv v7, v0
  br block3
block3:
  v5 = phi f32 [block1: v3], [block2: v8]
  ret v5
}
",
    );
    let is_guarded = |text: &str| text.contains("= any") || text.contains("= all");
    // The longer side is skipped if no lane takes it, for which a run has to tell that this is often so.
    let guards = |seen| is_guarded(&chosen(&folder, "long.hed", "canonicalize,loops,boscc", seen));
    assert_eq!([None, Some(&part[..]), Some(&together)].map(guards), [false, false, true]);
    let wide = |file: &str, more: &[&str]| {
        let vectorize = ["vectorize", file, "--func", "f", "--lanes", "4", "-o", "f.hed"];
        succeed(heddle(&folder.0, &[&vectorize[..], more].concat()));
        std::fs::read_to_string(folder.0.join("f.hed")).expect("it was written")
    };
    assert!(!is_guarded(&wide("long.hed", &["--options", "fuse=no"])));
    assert!(is_guarded(&wide("long.hed", &["--options", "fuse=no", "--profile", "profile.json"])));
    assert_eq!(wide("sides.hed", &["--options", "fuse=force"]).matches("= fdiv").count(), 1);
}

#[test]
fn a_profile_of_another_program_is_refused() {
    let folder = Folder::new("profile-other");
    for (name, target) in [("f", 2), ("g", 1)] {
        let text = format!(
            "func @{name}(v0: i1) {{\nblock0:\n  br v0, block1, block{target}\nblock1:\n  ret\nblock2:\n  ret\n}}\n"
        );
        folder.write(&format!("{name}.hed"), &text);
    }
    let json =
        succeed(heddle(&folder.0, &["profile", "f.hed", "--json", "--lanes", "2", "--arg", "[true, false]"]));
    folder.write("f.json", &json);
    let opt = |file| ["opt", file, "-p", "canonicalize", "--profile", "f.json"];
    says(&folder, &opt("g.hed"), 1, "the profile has @f, and the program has @g");
    folder.write("f.hed", "func @f(v0: i1) {\nblock0:\n  br block1\nblock1:\n  ret\n}\n");
    says(
        &folder,
        &opt("f.hed"),
        1,
        "the profile is of another program: in the profile block0 branches to block1 or block2",
    );
    folder.write("f.json", "{}");
    says(&folder, &opt("f.hed"), 1, "not a profile");
    says(&folder, &["opt", "f.hed", "--profile", "missing.json"], 2, "missing.json");
    says(
        &folder,
        &["vectorize", "f.hed", "--func", "f", "--options", "fuses=no"],
        1,
        "unknown option `fuses=no`",
    );
}
