//! Bytes as a text: diagnostics, or a module that prints to what parses to the same.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| heddle_testing::bytes::parse(bytes));
