//! Compiled code that is kept: taken where nothing differs, and only there.

use heddle_ir::Type;
use heddle_ir::text::parse_bytes;
use heddle_llvm::{CodegenLevel, EmitOptions, Jit, ObjectCache, SharedMapping, emit, slot_bytes};
use std::path::PathBuf;

/// True if the code of a function that adds `added` came from the cache; the code must be right in any case.
fn is_taken(cache: &ObjectCache, added: u32, level: CodegenLevel, options: EmitOptions) -> bool {
    let text = format!("func @f(v0: i32) -> i32 {{\nblock0:\n  v1 = add v0, {added}\n  ret v1\n}}\n");
    let module = parse_bytes(text.as_bytes()).unwrap_or_else(|error| panic!("{error:?}"));
    let options = EmitOptions { entries: true, ..options };
    let llvm = emit(&module, options).unwrap_or_else(|error| panic!("{error}"));
    let jit = Jit::cached(llvm, level, &[], cache).unwrap_or_else(|error| panic!("{error}"));
    let entry = jit.entry("f").unwrap_or_else(|error| panic!("{error}"));
    let slot = slot_bytes(Type::I32);
    let mut memory = SharedMapping::new(2 * slot).expect("there is memory");
    memory.bytes_mut()[..4].copy_from_slice(&100u32.to_le_bytes());
    entry.call_in_child(&mut memory, [0, slot], None).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(memory.bytes()[slot..slot + 4], (100 + added).to_le_bytes());
    jit.is_from_cache()
}

fn files(folder: &PathBuf) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("it can be listed");
    entries.map(|entry| entry.expect("it can be listed").path()).collect()
}

#[test]
fn objects_are_compiled_once() {
    let folder = std::env::temp_dir().join(format!("heddle-cached-{}", std::process::id()));
    let cache = ObjectCache::at(&folder);
    let plain = EmitOptions::default();
    assert!(!is_taken(&cache, 5, CodegenLevel::Default, plain));
    assert!(is_taken(&cache, 5, CodegenLevel::Default, plain));
    // Different inputs have different entries.
    assert!(!is_taken(&cache, 6, CodegenLevel::Default, plain));
    assert!(!is_taken(&cache, 5, CodegenLevel::Minimal, plain));
    assert!(is_taken(&cache, 6, CodegenLevel::Default, plain));
    assert!(is_taken(&cache, 5, CodegenLevel::Minimal, plain));
    assert_eq!(files(&folder).len(), 3);
    // Corrupt entries are recompiled, and valid again.
    for bend in [
        |bytes: &mut Vec<u8>| bytes.truncate(40),
        |bytes: &mut Vec<u8>| *bytes.last_mut().expect("a byte") ^= 1,
    ] {
        for path in files(&folder) {
            let mut bytes = std::fs::read(&path).expect("it is there");
            bend(&mut bytes);
            std::fs::write(&path, bytes).expect("it can be written");
        }
        assert!(!is_taken(&cache, 5, CodegenLevel::Default, plain));
        assert!(is_taken(&cache, 5, CodegenLevel::Default, plain));
    }
    // Where nothing can be written, nothing is kept.
    let nowhere = ObjectCache::at(files(&folder)[0].join("below a file"));
    assert!(!is_taken(&nowhere, 5, CodegenLevel::Default, plain));
    assert!(!is_taken(&nowhere, 5, CodegenLevel::Default, plain));
    std::fs::remove_dir_all(&folder).expect("it can be removed");
}
