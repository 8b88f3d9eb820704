//! Functions with single-lane vector parameters compile and compute the right results.

use heddle_llvm::{CodegenLevel, Jit, read_ir};

/// LLVM cannot select `@choose` as written.
const TEXT: &str = "
define void @heddle.entry.f(ptr %in, ptr %out) {
  %x = load i32, ptr %in
  %is_less = icmp slt i32 %x, 5
  %m = insertelement <1 x i1> poison, i1 %is_less, i64 0
  %place = insertelement <1 x ptr> poison, ptr %out, i64 0
  %first = call fastcc i32 @choose(<1 x ptr> %place, <1 x ptr> %place, <1 x ptr> %place, i32 range(i32 0, 99) %x, <1 x i1> %m)
  %not = xor <1 x i1> %m, splat (i1 true)
  %next = getelementptr i8, ptr %out, i64 4
  %places = insertelement <1 x ptr> poison, ptr %next, i64 0
  %second = call fastcc i32 @choose(<1 x ptr> %places, <1 x ptr> %places, <1 x ptr> %places, i32 range(i32 0, 99) %x, <1 x i1> %not)
  %end = getelementptr i8, ptr %out, i64 8
  %sum = add i32 %first, %second
  store i32 %sum, ptr %end
  ret void
}
define internal fastcc i32 @choose(<1 x ptr> %a, <1 x ptr> %b, <1 x ptr> %c, i32 range(i32 0, 99) %x, <1 x i1> %m) noinline {
  %goes = extractelement <1 x i1> %m, i64 0
  br i1 %goes, label %there, label %end
there:
  %place = extractelement <1 x ptr> %c, i64 0
  store i32 %x, ptr %place
  br label %end
end:
  %both = phi <1 x i1> [ %m, %there ], [ zeroinitializer, %0 ]
  %bit = bitcast <1 x i1> %both to i1
  %given = select i1 %bit, i32 10, i32 1
  ret i32 %given
}
";

#[test]
fn functions_take_vectors_of_one_lane() {
    for level in [CodegenLevel::Minimal, CodegenLevel::Default] {
        let module = read_ir("single.ll", TEXT.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        let jit = Jit::new(module, level, &[]).unwrap_or_else(|error| panic!("{error}"));
        let entry = jit.entry("f").unwrap_or_else(|error| panic!("{error}"));
        for (x, expected) in [(3i32, [3, -1, 11]), (7, [-1, 7, 11])] {
            let mut found = [-1i32; 3].map(i32::to_le_bytes).concat();
            // SAFETY: the function reads four bytes, and writes twelve.
            unsafe { entry.call(&x.to_le_bytes(), &mut found) };
            assert_eq!(found, expected.map(i32::to_le_bytes).concat(), "{x}");
        }
    }
}
