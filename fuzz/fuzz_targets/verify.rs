//! Bytes as a program: violations at each stage, or a program that passes bring to the next one.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| heddle_testing::bytes::verify(bytes));
